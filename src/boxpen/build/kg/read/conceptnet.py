"""ConceptNet: the official assertions of 5.7 and the hundred thousand of Li et al. (2016)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import polars as pl

from boxpen.build.kg.read.cells import SURROGATE, tab_tables
from boxpen.build.kg.read.chunk import Broken, Draft, GraphSpec, sound
from boxpen.build.kg.read.plain import plain_draft
from boxpen.build.kg.read.sample import Format, Sample, mostly, relations_in
from boxpen.build.kg.triples import CONCEPTNET_ALL, canonical_relation

__all__ = ["ASSERTIONS", "HUNDRED_K"]

_STRING = r'"[^"\\\x00-\x1f]*"'
_SOURCE = rf"\{{{_STRING}: {_STRING}(?:, {_STRING}: {_STRING})*\}}"
_LAYOUT = (
    rf'^\{{"dataset": {_STRING}, "license": {_STRING}, "sources": \[{_SOURCE}(?:, {_SOURCE})*\], '
    rf'(?:"surfaceEnd": {_STRING}, )?(?:"surfaceStart": {_STRING}, )?'
    rf'(?:"surfaceText": {_STRING}, )?"weight": -?(?:0|[1-9][0-9]{{0,9}})(?:\.[0-9]{{1,9}})?\}}$'
)
"""The last cell as the official file writes it. What matches is JSON, and its weight and surface
can be cut out; this is ten times as fast as a parser, which reads whatever does not match."""

_WEIGHT = r'"weight": ([^ ]+)\}$'
_SURFACE = r'"surfaceText": "([^"]*)", "weight": [^"]+\}$'
_CONCEPT = r"^/c/([^/]+)/([^/]+)(?:/.*)?$"
_ADDRESS = r"^https?://."


def _assertions(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    views = {
        "head": _node("start"),
        "relation": pl.col("uri").map_batches(
            _canonical, return_dtype=pl.String, is_elementwise=True
        ),
        "tail": _node("end"),
        "language": _language(),
        "line": pl.col("line"),
    }
    columns = (None, "uri", "start", "end", "details")
    for table in tab_tables(sample.path, columns, encoding=spec.encoding):
        yield Draft(table, table.frame, [], views, finish=_finished)


def _looks_official(sample: Sample, _: GraphSpec) -> bool:
    return mostly(
        [len(row) == 5 and row[1].startswith("/r/") and row[2][:1] == "/" for row in sample.tabs()]
    )


ASSERTIONS = Format(
    "conceptnet",
    "five cells: assertion, /r/relation, /c/start, /c/end, JSON with the weight",
    _looks_official,
    _assertions,
)


def _hundred_k(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    columns = ("relation", "head", "tail", "weight")
    width = 4 if mostly([len(row) == 4 for row in sample.tabs()]) else 3
    for table in tab_tables(sample.path, columns[:width], encoding=spec.encoding):
        yield plain_draft(table)


def _looks_100k(sample: Sample, _: GraphSpec) -> bool:
    rows = sample.tabs()
    return mostly([len(row) in (3, 4) for row in rows]) and relations_in(rows, 0, CONCEPTNET_ALL)


HUNDRED_K = Format(
    "conceptnet-100k",
    "three or four cells: relation, head, tail, score",
    _looks_100k,
    _hundred_k,
)


def _canonical(relations: pl.Series) -> pl.Series:
    names = relations.unique().drop_nulls().to_list()
    spelled = [canonical_relation(name) for name in names]
    return relations.replace_strict(names, spelled, default=None, return_dtype=pl.String)


def _node(column: str) -> pl.Expr:
    """Return the term of a concept, an address as it is, or null."""
    uri = pl.col(column)
    term = uri.str.extract(_CONCEPT, 2).str.replace_all("_", " ", literal=True).str.strip_chars(" ")
    return pl.when(uri.str.contains(_ADDRESS)).then(uri).otherwise(term)


def _language() -> pl.Expr:
    start, end = (pl.col(name).str.extract(_CONCEPT, 1) for name in ("start", "end"))
    # Not pl.format: it fails on frames with empty pieces.
    both = pl.concat_str(start, end, separator="-")
    return pl.when(start == end).then(start).otherwise(both)


def _finished(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
    made = frame.select(
        "line", "uri", head=_node("start"), tail=_node("end"), language=_language()
    ).with_columns(_canonical(frame["uri"]).alias("relation"))
    made = pl.concat([made, _details(frame["details"])], how="horizontal")
    neither = "is neither a concept (/c/language/term) nor an address"
    good, broken = sound(
        made,
        {
            "the second cell is not a relation (/r/…)": ~pl.col("uri")
            .str.contains(r"^/r/.")
            .fill_null(False),
            f"the start {neither}": pl.col("head").is_null(),
            f"the end {neither}": pl.col("tail").is_null(),
            "empty head": pl.col("head") == "",
            "empty tail": pl.col("tail") == "",
        },
    )
    flawed = good.filter(pl.col("flaw").is_not_null()).select("line", "flaw")
    good = good.filter(pl.col("flaw").is_null()).drop("uri", "flaw")
    return good, [*broken, *flawed.iter_rows()]


def _details(cells: pl.Series) -> pl.DataFrame:
    """Return weight, surface and flaw of the JSON in the last cells."""
    known = cells.str.contains(_LAYOUT).fill_null(False)
    frame = pl.select(
        weight=cells.str.extract(_WEIGHT).cast(pl.Float64, strict=False),
        surface=cells.str.extract(_SURFACE),
        flaw=pl.lit(None, pl.String),
    )
    if known.all():
        return frame
    others = (~known).arg_true()
    parsed = [_parsed(text) for text in cells.gather(others)]
    for at, name in enumerate(frame.columns):
        values = pl.Series([row[at] for row in parsed], dtype=frame[name].dtype)
        frame = frame.with_columns(frame[name].scatter(others, values))
    return frame


def _parsed(text: str | None) -> tuple[float | None, str | None, str | None]:
    """Return weight and surface of one last cell, or its flaw."""
    try:
        found = json.loads(text or "")
    except (ValueError, RecursionError):
        return None, None, "no JSON in the last cell"
    if not isinstance(found, dict):
        return None, None, "no JSON object in the last cell"
    weight, surface = found.get("weight"), found.get("surfaceText")
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            return None, None, "the weight is not a number"
        try:
            weight = float(weight)
        except OverflowError:
            weight = math.inf
        if not math.isfinite(weight):
            return None, None, "the weight is not finite"
    if surface is not None and not isinstance(surface, str):
        return None, None, "the surface text is not a string"
    if surface is not None and SURROGATE.search(surface):
        return None, None, "the surface text has half a character (a lone surrogate)"
    return weight, surface, None
