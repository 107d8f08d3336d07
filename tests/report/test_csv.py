"""CSV: one record a number, as RFC 4180 has it."""

import csv
import io
import math
from dataclasses import astuple, fields, replace

from boxpen import Row
from boxpen.report.formats.csv import rows_csv
from small_runs import small_run

ROW = Row("s", "all", "m", "accuracy", 0.1 + 0.2, 0.0, 1.0, 3, 0, "suite:s|model:m")


def test_reads_back_to_the_last_bit():
    rows = small_run("+-+=").summary()
    header, *records = csv.reader(io.StringIO(rows_csv(rows), newline=""), strict=True)
    assert header == [f.name for f in fields(Row)]
    for row, record in zip(rows, records, strict=True):
        assert record == [str(value) for value in astuple(row)]
        assert float(record[header.index("value")]) == row.value


def test_line_ends_quotes_and_what_is_no_number():
    text = rows_csv([replace(ROW, suite='a "b",\nc', low=math.nan)])
    assert text.endswith("\r\n")
    assert text.count("\r\n") == 2
    assert '\r\n"a ""b"",\nc",all,m,accuracy,0.30000000000000004,,1.0,3' in text


def test_no_rows_are_a_header():
    assert rows_csv([]).startswith("suite,slice,model,metric,value,low,high,n,ties,signature")
