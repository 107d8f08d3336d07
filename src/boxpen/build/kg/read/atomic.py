"""ATOMIC: the official tables of v4, ATOMIC-2020 in two forms, and the release with names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from boxpen.build.kg.read.cells import SURROGATE, comma_tables, tab_tables
from boxpen.build.kg.read.chunk import Broken, Draft, GraphSpec
from boxpen.build.kg.read.plain import plain_draft
from boxpen.build.kg.read.sample import Format, Sample, mostly, relations_in
from boxpen.build.kg.triples import ATOMIC_ALL, canonical_relation
from boxpen.errors import BuildError

__all__ = ["ATOMIC_FORMATS"]

NAMES = {"John": "PersonX", "Tom": "PersonY"}
"""The names that a well-known release of ATOMIC has instead of PersonX and PersonY."""

_V4 = ("oEffect", "oReact", "oWant", "xAttr", "xEffect", "xIntent", "xNeed", "xReact", "xWant")
_OF_THINGS = (
    "AtLocation CapableOf Causes Desires HasProperty HasSubEvent MadeUpOf NotDesires ObjectUse"
)
_2020 = frozenset(map(canonical_relation, (*ATOMIC_ALL, *_OF_THINGS.split())))
_JOINT = " @@ "
_COLUMNS = ("head", "relation", "tail")


def _v4(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """A row per event, a column per relation, a JSON list of tails in every cell."""
    header = sample.first_commas()
    if not _is_v4(sample, spec):
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
    """Return a row for every tail of every cell; a row with a cell that is not a list is broken."""
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
            broken.append((row["line"], f"{wrong[0]} is not a JSON list of strings"))
        elif not found:
            broken.append((row["line"], "no tail in any column"))
        else:
            triples += found
    kinds = {"line": pl.Int64} | dict.fromkeys(_COLUMNS, pl.String)
    return pl.DataFrame(triples, schema=kinds, orient="row"), broken


def _tails(cell: str) -> list[str] | None:
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    texts = isinstance(found, list) and all(isinstance(tail, str) for tail in found)
    return found if texts and not SURROGATE.search("".join(found)) else None


def _rows(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """Head, relation and tail, with the people as they are."""
    for table in tab_tables(sample.path, _COLUMNS, encoding=spec.encoding):
        yield plain_draft(table, persons=spec.persons)


def _named(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """Head, relation and tail, with names for people and without the blanks."""
    head = pl.col("head")
    # Where a blank was deleted, two spaces are left, or one at an edge.
    blanks = head
    for _ in range(2):  # three spaces are two blanks, and matches do not overlap
        blanks = blanks.str.replace_all("  ", " ___ ", literal=True)
    blanks = blanks.str.replace(r"^ ", "___ ").str.replace(r" $", " ___")
    # A head of spaces only is empty, not a blank.
    filled = pl.when(head.str.contains(r"\S")).then(blanks).otherwise(head)
    for table in tab_tables(sample.path, _COLUMNS, encoding=spec.encoding):
        frame = table.frame.with_columns(head=filled)
        yield plain_draft(replace(table, frame=frame), persons=spec.persons or NAMES)


def _merged(sample: Sample, spec: GraphSpec) -> Iterator[Draft]:
    """Head and relation in one cell, all their tails in the other."""
    for table in tab_tables(sample.path, ("joint", "tails"), encoding=spec.encoding):
        joint = pl.col("joint")
        cut = table.frame.with_columns(
            head=joint.str.extract(r"^(.*) @@ ", 1), relation=joint.str.extract(r"^.* @@ (.*)$", 1)
        )
        apart = cut["relation"].is_not_null()
        unjoined = cut.filter(~apart)["line"]
        broken = [(line, "no ' @@ ' between head and relation") for line in unjoined]
        tails = (
            pl.col("tails").fill_null("").str.split("|").list.eval(pl.element().str.strip_chars())
        )
        # Nothing between two bars is not a tail; but a row without any tail must be reported.
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
    names = [form for name in spec.persons or NAMES for form in (name, f"{name}'s")]
    return mostly([any(name in head.split() for name in names) for head in heads])


ATOMIC_FORMATS = (
    Format("atomic-v4", "comma-separated: event, oEffect, …, xWant, lists of tails", _is_v4, _v4),
    Format("atomic-2020-merged", "two cells: head @@ relation, tail| tail", _is_merged, _merged),
    Format("atomic-names", "three cells: John … , relation, tail", _is_named, _named),
    Format("atomic-2020", "three cells: PersonX … , relation, tail", _is_rows, _rows),
)
