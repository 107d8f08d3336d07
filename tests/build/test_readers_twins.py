"""The fast readers against slow ones that read line by line, on files with random damage."""

from __future__ import annotations

import csv
import json
import math
import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boxpen.build.kg.read import cells as read_cells
from boxpen.build.kg.read.graph import GraphSpec, read_graph
from boxpen.build.kg.triples import canonical_relation, triple_id
from boxpen.text.lines import blocks

WHITE = " \t\r\n\v\f\u00a0\u3000"
Triple = tuple[str, str, str, float | None, str | None, str | None, int]

pytestmark = pytest.mark.usefixtures("small_blocks")
many = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(read_cells, "blocks", partial(blocks, size=150))
    monkeypatch.setattr(read_cells, "_RECORDS", 3)


def fast(
    path: Path, spec_format: str, columns: dict[str, str | int] | None = None
) -> tuple[list[Triple], list[int], int]:
    spec = GraphSpec((path,), "toy", spec_format, columns or {})
    triples: list[Triple] = []
    broken: list[int] = []
    rows = 0
    for chunk in read_graph(spec):
        for row in chunk.triples.iter_rows(named=True):
            assert row["id"] == triple_id(row["relation"], row["head"], row["tail"])
            names = ("head", "relation", "tail", "weight", "surface", "language", "line")
            triples.append(tuple(row[name] for name in names))  # type: ignore[arg-type]
        broken += chunk.broken["line"].to_list()
        rows += chunk.rows
    return triples, broken, rows


def lines_of(data: bytes) -> list[tuple[int, str | None]]:
    """Return the lines that are not blank, with None for what is no UTF-8."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    found: list[tuple[int, str | None]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            found.append((number, None))
            continue
        if text:
            found.append((number, text))
    return found


def node(uri: str) -> tuple[str, str | None] | None:
    if re.match(r"https?://[^\n]", uri):
        return uri, None
    parts = uri.split("/")
    if len(parts) < 4 or parts[:2] != ["", "c"] or not parts[2] or not parts[3]:
        return None
    return parts[3].replace("_", " ").strip(" "), parts[2]


def slow_assertion(line: int, text: str) -> Triple | None:
    cells = [cell.rstrip("\r") for cell in text.split("\t")]
    if len(cells) != 5 or not re.match("/r/.", cells[1]):
        return None
    head, tail = node(cells[2]), node(cells[3])
    if not head or not tail or not head[0] or not tail[0]:
        return None
    try:
        details = json.loads(cells[4])
    except ValueError:
        return None
    if not isinstance(details, dict):
        return None
    weight, surface = details.get("weight"), details.get("surfaceText")
    if weight is not None:
        if type(weight) not in (int, float) or not math.isfinite(weight):
            return None
        weight = float(weight)
    if surface is not None and (
        not isinstance(surface, str) or surface.encode(errors="replace").decode() != surface
    ):
        return None
    language = head[1] if head[1] == tail[1] else f"{head[1]}-{tail[1]}"
    if head[1] is None or tail[1] is None:
        language = None
    return head[0], canonical_relation(cells[1]), tail[0], weight, surface, language, line


def slow_row(line: int, cells: list[str | None]) -> Triple | None:
    """Read head, relation, tail and weight."""
    head, relation, tail, weight = ((cell or "").strip(WHITE) for cell in cells)
    if not (head and relation and tail):
        return None
    if weight and not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", weight):
        return None
    if weight and not math.isfinite(float(weight)):
        return None
    number = float(weight) if weight else None
    return head, canonical_relation(relation), tail, number, None, None, line


concepts = st.sampled_from(
    [
        *("/c/en/dog", "/c/en/hot_dog/n", "/c/en/cat/n/wn/animal", "/c/fr/thé", "/c/ru/собака/v/"),
        *("http://example.org/x", "https://", "/c/en/", "/c/en", "/c//dog", "dog", "/c/en/_", ""),
    ]
)
numbers = st.one_of(
    st.sampled_from(["1.0", "2", "-0.5", "1e3", "1e999", "NaN", '"1"', "true", "null", "01"]),
    st.floats(0, 20).map(repr),
)
surfaces = st.sampled_from(
    [
        "",
        '"surfaceText": "[[a]] is [[b]]", ',
        '"surfaceText": "say \\"hi\\"\\t", ',
        '"surfaceText": 5, ',
        '"surfaceText": null, ',
        '"surfaceText": "\\ud800", ',
        '"surfaceText": "\\u00e9", ',
        '"surfaceStart": "x", "surfaceText": "a", ',
    ]
)
sources = st.sampled_from(
    [
        '{"contributor": "/s/x"}',
        '{"a": "b", "weight": "9"}, {"surfaceText": "no", "weight": "3"}',
        "",
        '{"a": 1}',
        '{"weight": 7}',
    ]
)


@st.composite
def details(draw) -> str:
    text = (
        f'{{"dataset": "/d/x", "license": "cc", "sources": [{draw(sources)}], '
        f'{draw(surfaces)}"weight": {draw(numbers)}}}'
    )
    return draw(st.sampled_from([text] * 6 + ["{}", "[]", "", text[:-1], text + "x", '"x"']))


@st.composite
def assertions(draw) -> str:
    relation = draw(st.sampled_from(["/r/IsA"] * 4 + ["/r/CapableOf", "IsA", "/r/", ""]))
    cells = ["/a/[x]", relation, draw(concepts), draw(concepts), draw(details())]
    change = draw(st.sampled_from(["none"] * 8 + ["less", "more", "empty"]))
    cells = {"less": cells[:3], "more": [*cells, "x"], "empty": [*cells, ""]}.get(change, cells)
    return "\t".join(cells)


@st.composite
def files(draw, rows: st.SearchStrategy[str]) -> bytes:
    """Join rows in some way, among blank lines, and spoil a byte or two."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = "".join(
        row + end * draw(st.sampled_from([1, 1, 1, 2])) for row in draw(st.lists(rows, max_size=12))
    )
    data = bytearray(text.encode(errors="surrogatepass"))
    if draw(st.booleans()) and data:
        place = draw(st.integers(0, len(data) - 1))
        data[place] = draw(st.sampled_from(list(b'\xff\t\n"{x,')))
    if draw(st.booleans()):
        data = bytearray(bytes(data).rstrip(b"\r\n"))
    mark = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return mark + bytes(data)


@many
@given(files(assertions()))
def test_assertions(tmp_path, data: bytes) -> None:
    path = tmp_path / "assertions.csv"
    path.write_bytes(data)
    rows = lines_of(data)
    expected = [slow_assertion(n, text) for n, text in rows if text is not None]
    good = [triple for triple in expected if triple is not None]
    triples, broken, count = fast(path, "conceptnet")
    assert triples == good
    assert count == len(rows)
    assert sorted(broken) == sorted({n for n, _ in rows} - {triple[-1] for triple in good})


cell = st.one_of(
    st.text(st.characters(exclude_characters="\n\t\r", exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(["dog", " hot dog ", "\u00a0", "", 'a 5" nail', '"quoted"', "\ufeffx"]),
)
weights = st.sampled_from(["1", "0.25", "", " 3 ", "x", "1_0", "nan", "1e400", "-2e-3", "5."])


@st.composite
def tab_rows(draw) -> str:
    cells = [draw(cell), draw(st.sampled_from(["IsA", "/r/UsedFor", "xWant", ""])), draw(cell)]
    cells += [draw(weights), "not read"]
    width = draw(st.sampled_from([5] * 8 + [1, 4, 6]))
    return "\t".join([*cells, ""][:width])


@many
@given(files(tab_rows()))
def test_tab_separated(tmp_path, data: bytes) -> None:
    path = tmp_path / "graph.tsv"
    path.write_bytes(data)
    rows = lines_of(data)
    good = []
    first = next((len(text.split("\t")) for _, text in rows if text is not None), 0)
    if first != 5:
        return  # the first line says how many columns there are
    for line, text in rows:
        cells = text.split("\t") if text is not None else []
        triple = slow_row(line, cells[:4]) if len(cells) == 5 else None  # type: ignore[arg-type]
        good += [triple] if triple else []
    columns: dict[str, str | int] = {"head": 1, "relation": 2, "tail": 3, "weight": 4}
    triples, broken, count = fast(path, "tsv", columns)
    assert triples == good
    assert count == len(rows)
    assert sorted(broken) == sorted({n for n, _ in rows} - {triple[-1] for triple in good})


@st.composite
def comma_rows(draw) -> list[str]:
    inside = st.text("ab \",\n'é", max_size=5)
    return [draw(inside), draw(st.sampled_from(["IsA", "uses, for"])), draw(inside), draw(weights)]


@many
@given(st.lists(comma_rows(), max_size=9), st.sampled_from(["\n", "\r\n"]))
def test_comma_separated_rows_that_were_written_well(tmp_path, rows, end: str) -> None:
    path = tmp_path / "graph.csv"
    good, wrong = [], []
    line = 2
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator=end)
        writer.writerow(["head", "relation", "tail", "weight"])
        for row in rows:
            writer.writerow(row)
            triple = slow_row(line, row)
            good += [triple] if triple else []
            wrong += [] if triple else [line]
            line += 1 + "".join(row).count("\n")
    triples, broken, count = fast(path, "csv")
    assert triples == good
    assert broken == wrong
    assert count == len(rows)


@many
@given(
    files(
        st.sampled_from(
            ["a,isa,b,1", '"a, b",isa,c,2', "a,b", 'x,"isa', '"a"b,isa,c,1', "é,hasa,a,"]
        )
    )
)
def test_comma_separated_rows_with_damage_lose_no_line(tmp_path, data: bytes) -> None:
    path = tmp_path / "graph.csv"
    path.write_bytes(b"a,isa,b,1\n" + data.removeprefix(b"\xef\xbb\xbf"))
    columns: dict[str, str | int] = {"head": 1, "relation": 2, "tail": 3, "weight": 4}
    triples, broken, count = fast(path, "csv", columns)
    lines = lines_of(path.read_bytes())
    alone = set()
    for number, text in lines:
        try:
            [cells] = csv.reader([text or '"'], strict=True)
        except csv.Error:
            continue
        if len(cells) == 4 and (triple := slow_row(number, cells)):  # type: ignore[arg-type]
            alone.add(triple)
    assert count == len(triples) + len(broken)
    assert len({t[-1] for t in triples} | set(broken)) == count
    if b'"' not in data.replace(b'"a, b"', b""):  # no quote can swallow a line
        assert set(triples) == alone
        assert count == len(lines)


@st.composite
def json_rows(draw) -> str:
    values = st.one_of(cell, st.sampled_from([None, 5, 2.5, True, ["x"], {"a": 1}, "\ud800"]))
    found = {"subject": draw(values), "relation": draw(st.sampled_from(["IsA", "", None]))}
    found |= {
        "tail": draw(values),
        "weight": draw(st.sampled_from([1, 0.5, "2", "x", None, "1e999"])),
    }
    text = json.dumps(found, ensure_ascii=draw(st.booleans()))
    return (
        draw(st.sampled_from([text] * 6 + [text[:-1], "[]", "7", "{}"]))
        .encode(errors="replace")
        .decode()
    )


@many
@given(files(json_rows()))
def test_json_lines(tmp_path, data: bytes) -> None:
    path = tmp_path / "graph.jsonl"
    path.write_bytes(data)
    good = []
    rows = lines_of(data)
    for line, text in rows:
        try:
            found = json.loads(text or "")
        except ValueError:
            continue
        if not isinstance(found, dict):
            continue
        values = [found.get(key) for key in ("subject", "relation", "tail", "weight")]
        if any(type(value) not in (str, int, float, type(None)) for value in values):
            continue
        texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        if any(t is not None and t.encode(errors="replace").decode() != t for t in texts):
            continue
        triple = slow_row(line, texts)
        good += [triple] if triple else []
    columns: dict[str, str | int] = {"head": "subject", "relation": "relation", "tail": "tail"}
    triples, broken, count = fast(path, "jsonl", columns | {"weight": "weight"})
    assert triples == good
    assert count == len(rows)
    assert sorted(broken) == sorted({n for n, _ in rows} - {triple[-1] for triple in good})
