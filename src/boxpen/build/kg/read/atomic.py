"""ATOMIC: the official tables of v4, ATOMIC-2020 in two forms, and the release with names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from boxpen.build.kg.read.cells import comma_tables, tab_tables
from boxpen.build.kg.read.chunk import Broken, Draft, GraphSpec
from boxpen.build.kg.read.people import NAMES, blanks
from boxpen.build.kg.read.plain import plain_draft
from boxpen.build.kg.read.sample import Format, Sample, mostly, relations_in
from boxpen.build.kg.triples import canonical_relation
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ATOMIC_FORMATS"]

_V4 = ("oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant")
_OF_THINGS = (
    "AtLocation CapableOf Causes Desires HasProperty HasSubEvent MadeUpOf NotDesires ObjectUse"
)
_OF_EVENTS = "HinderedBy isAfter isBefore isFilledBy xReason"
_2020 = frozenset(map(canonical_relation, (*_V4, *_OF_EVENTS.split(), *_OF_THINGS.split())))
_JOINT = " @@ "


def _v4(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """A row for an event, a column for a relation, a JSON list of tails in every cell."""
    header = sample.first_commas()
    if "event" not in header or not set(_V4) & set(header):
        raise BuildError(
            f"{sample.path} has no columns 'event' and 'xWant' as ATOMIC v4 has, it has "
            f"{', '.join(header) or 'no header'}"
        )
    relations = [name for name in header if name in _V4]
    names = [name if name == "event" or name in _V4 else None for name in header]
    line = sample.lines[0][0]
    for table in comma_tables(sample.path, names, header=line, encoding=spec.encoding):
        frame, broken = _listed(table.frame, relations)
        draft = plain_draft(replace(table, frame=frame), persons=spec.persons)
        yield replace(draft, broken=[*broken, *draft.broken])


def _listed(frame: pl.DataFrame, relations: list[str]) -> tuple[pl.DataFrame, list[Broken]]:
    """Return a row for every tail of every cell; a row with a cell that is no list is broken."""
    import polars as pl

    triples: list[tuple[int, str, str, str]] = []
    broken = []
    for row in frame.iter_rows(named=True):
        tails = {name: _tails(row[name]) for name in relations}
        wrong = [name for name, found in tails.items() if found is None]
        found = [
            (row["line"], row["event"], name, tail)
            for name in relations
            for tail in tails[name] or ()
            if tail.strip()
        ]
        if wrong:
            broken.append(Broken(row["line"], f"{wrong[0]} is no JSON list of strings"))
        elif not found:
            broken.append(Broken(row["line"], "no tail in any column"))
        else:
            triples += found
    kinds = {"line": pl.Int64, "head": pl.String, "relation": pl.String, "tail": pl.String}
    return pl.DataFrame(triples, schema=kinds, orient="row"), broken


def _tails(cell: str) -> list[str] | None:
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(tail, str) for tail in found):
        return None
    try:
        "".join(found).encode()
    except UnicodeEncodeError:
        return None
    return found


def _rows(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """Head, relation and tail, with the people as they are."""
    columns = ("head", "relation", "tail")
    for table in tab_tables(sample.path, columns, encoding=spec.encoding):
        yield plain_draft(table, persons=spec.persons)


def _named(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """Head, relation and tail, with names for people and without the blanks."""
    import polars as pl

    columns = ("head", "relation", "tail")
    for table in tab_tables(sample.path, columns, encoding=spec.encoding):
        head = pl.col("head")
        # A head of nothing but spaces is an empty one, not a blank.
        filled = pl.when(head.str.contains(r"\S")).then(blanks(head)).otherwise(head)
        frame = table.frame.with_columns(head=filled)
        yield plain_draft(replace(table, frame=frame), persons=spec.persons or NAMES)


def _merged(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """Head and relation in one cell, all their tails in the other."""
    import polars as pl

    for table in tab_tables(sample.path, ("joint", "tails"), encoding=spec.encoding):
        joint = pl.col("joint")
        cut = table.frame.with_columns(
            head=joint.str.extract(r"^(.*) @@ ", 1), relation=joint.str.extract(r"^.* @@ (.*)$", 1)
        )
        apart = cut["relation"].is_not_null()
        broken = [
            Broken(line, "no ' @@ ' between head and relation")
            for line in cut.filter(~apart)["line"]
        ]
        tails = (
            pl.col("tails").fill_null("").str.split("|").list.eval(pl.element().str.strip_chars())
        )
        # Nothing between two bars is no tail; but a row without any tail must be heard of.
        tails = tails.list.eval(pl.element().filter(pl.element() != ""))
        tails = pl.when(tails.list.len() == 0).then(pl.lit([""])).otherwise(tails)
        frame = cut.filter(apart).select("line", "head", "relation", tail=tails).explode("tail")
        draft = plain_draft(replace(table, frame=frame), persons=spec.persons)
        yield replace(draft, broken=[*broken, *draft.broken])


def _is_v4(sample: Sample, _: GraphSpec) -> bool:
    header = sample.first_commas()
    return "event" in header and bool(set(_V4) & set(header))


def _is_merged(sample: Sample, _: GraphSpec) -> bool:
    return mostly([len(row) == 2 and _JOINT in row[0] for row in sample.tabs()])


def _is_rows(sample: Sample, _: GraphSpec) -> bool:
    rows = sample.tabs()
    return mostly([len(row) == 3 for row in rows]) and relations_in(rows, 1, _2020)


def _is_named(sample: Sample, spec: GraphSpec) -> bool:
    heads = [row[0] for row in sample.tabs()]
    if not _is_rows(sample, spec) or any("personx" in head.lower() for head in heads):
        return False
    return mostly([any(name in head.split() for name in _possible(spec)) for head in heads])


def _possible(spec: GraphSpec) -> list[str]:
    names = list(spec.persons or NAMES)
    return [*names, *(f"{name}'s" for name in names)]


ATOMIC_FORMATS = (
    Format("atomic-v4", "comma-separated: event, oEffect, …, xWant, lists of tails", _is_v4, _v4),
    Format("atomic-2020-merged", "two cells: head @@ relation, tail| tail", _is_merged, _merged),
    Format("atomic-names", "three cells: John … , relation, tail", _is_named, _named),
    Format("atomic-2020", "three cells: PersonX … , relation, tail", _is_rows, _rows),
)
