"""Your own tables: tab-separated, comma-separated, JSON lines or Parquet, with a column map.

Without a map the file must call its columns ``head``, ``relation`` and ``tail``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import polars as pl

from boxpen.build.kg.read.cells import comma_tables, json_tables, parquet_tables, tab_tables
from boxpen.build.kg.read.chunk import HOW, MAPPED, NEEDED, WHITE, Draft, GraphSpec, Table, sound
from boxpen.build.kg.read.sample import Format, Sample, mostly
from boxpen.build.kg.triples import canonical_relation
from boxpen.errors import BuildError
from boxpen.failures import reason, refusals

__all__ = ["PLAIN", "plain_draft"]

_NUMBER = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def plain_draft(
    table: Table,
    *,
    constants: Mapping[str, str] | None = None,
    persons: Mapping[str, str] | None = None,
) -> Draft:
    """Draft triples of a table that has the column names of the triple table.

    Args:
        table: The rows.
        constants: Columns that are the same in every row.
        persons: Names of people in events; None if heads and tails are not events.
    """
    frame = table.frame.with_columns(
        pl.lit(value).alias(name) for name, value in (constants or {}).items()
    )
    given = [name for name in MAPPED if name in frame.columns]
    frame = frame.select("line", *(pl.col(name).str.strip_chars(WHITE) for name in given))
    flaws = {f"empty {name}": pl.col(name).fill_null("") == "" for name in NEEDED}
    frame = frame.with_columns(
        pl.when(pl.col(name) != "").then(pl.col(name)).alias(name)
        for name in given
        if name not in NEEDED
    )
    if "weight" in given:
        written = pl.when(pl.col("weight").str.contains(_NUMBER)).then(pl.col("weight"))
        number = written.cast(pl.Float64, strict=False)
        flaws["the weight is not a number"] = pl.col("weight").is_not_null() & ~(
            number.is_finite().fill_null(False)
        )
    frame, broken = sound(frame, flaws)
    names = frame["relation"].unique().to_list()
    spelled = [canonical_relation(name) for name in names]
    frame = frame.with_columns(
        pl.col("relation").replace_strict(names, spelled, return_dtype=pl.String),
    )
    if persons is not None:
        frame = frame.with_columns(_people(pl.col(name), persons) for name in ("head", "tail"))
    if "weight" in given:
        frame = frame.with_columns(pl.col("weight").cast(pl.Float64))
    return Draft(table, frame, broken, {name: pl.col(name) for name in frame.columns})


def _people(text: pl.Expr, names: Mapping[str, str]) -> pl.Expr:
    """Return events with people as ``PersonX``, ``PersonY`` and ``PersonZ``.

    Releases write ``PersonX``, ``person x``, or a name, in lower case too.
    """
    for name, person in names.items():
        text = text.str.replace_all(rf"(?i)\b{re.escape(name)}\b", person)
    for letter in "XYZ":
        text = text.str.replace_all(rf"(?i)\bperson[ _-]?{letter}\b", f"Person{letter}")
    return text


def _read(tables: Iterator[Table], spec: GraphSpec) -> Iterator[Draft]:
    for table in tables:
        yield plain_draft(table, constants=spec.constants, persons=spec.persons or None)


def _separated(sample: Sample, spec: GraphSpec, kind: str) -> Iterator[Draft]:
    """Read a table with or without a header."""
    if not sample.lines:
        raise BuildError(f"{sample.path} has no line of text; expected a table")
    cells = sample.tabs()[0] if kind == "tab" else sample.first_commas()
    names = [cell.strip(WHITE) for cell in cells]
    numbered = any(isinstance(value, int) for value in spec.columns.values())
    places = {}
    for name, column in _columns(sample, spec, None if numbered else names).items():
        place = column - 1 if isinstance(column, int) else names.index(column)
        if place < 0 or place >= len(cells):
            raise BuildError(
                f"{sample.path} has {len(cells)} columns, no column {column} for '{name}'; "
                "columns are numbered from 1"
            )
        places[place] = name
    yield from _read(
        (tab_tables if kind == "tab" else comma_tables)(
            sample.path,
            [places.get(at) for at in range(len(cells))],
            header=0 if numbered else sample.lines[0][0],
            encoding=spec.encoding,
        ),
        spec,
    )


def _json_lines(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    names = {str(column): name for name, column in _columns(sample, spec, None).items()}
    return _read(json_tables(sample.path, names, encoding=spec.encoding), spec)


def _parquet(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    try:
        have = list(pl.read_parquet_schema(sample.path))
    except refusals() as error:
        raise BuildError(f"{sample.path} is not a Parquet file ({reason(error)})") from None
    names = {str(column): name for name, column in _columns(sample, spec, have).items()}
    return _read(parquet_tables(sample.path, names), spec)


def _columns(sample: Sample, spec: GraphSpec, have: list[str] | None) -> dict[str, str | int]:
    """Return column of the triple table -> column of the file, which must have it."""
    given = dict(spec.columns) or {
        name: name for name in MAPPED if have is None or name in (*have, *NEEDED)
    }
    columns = {name: column for name, column in given.items() if name not in spec.constants}
    for name, column in columns.items():
        if have is not None and column not in have:
            raise BuildError(
                f"{sample.path} has no column '{column}' for '{name}', it has "
                f"{', '.join(have)}; give {HOW}"
            )
    return columns


def _has_names(cells: list[str], spec: GraphSpec) -> bool:
    """Return whether a first line is a header, or the map does without one."""
    return bool(spec.columns) or set(NEEDED) <= {cell.strip(WHITE) for cell in cells}


def _is_tab(sample: Sample, spec: GraphSpec) -> bool:
    rows = sample.tabs()
    same = mostly([len(row) == len(rows[0]) for row in rows])
    return same and len(rows[0]) > 1 and _has_names(rows[0], spec)


def _is_comma(sample: Sample, spec: GraphSpec) -> bool:
    cells = sample.first_commas()
    return len(cells) > 1 and _has_names(cells, spec)


PLAIN = (
    Format(
        "parquet", "a Parquet file with columns head, relation, tail",
        lambda sample, _: sample.parquet, _parquet,
    ),
    Format(
        "jsonl", "a JSON object in every line with head, relation, tail",
        lambda sample, _: mostly([text.lstrip()[:1] == "{" for _, text in sample.lines]),
        _json_lines,
    ),
    Format(
        "tsv", "tab-separated, with a header or numbered columns", _is_tab,
        lambda sample, spec: _separated(sample, spec, "tab"),
    ),
    Format(
        "csv", "comma-separated, with a header or numbered columns", _is_comma,
        lambda sample, spec: _separated(sample, spec, "comma"),
    ),
)  # fmt: skip
