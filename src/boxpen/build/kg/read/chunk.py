"""What the readers of graphs give and take: the graph to read, tables of its rows, chunks.

A reader of a format turns a ``Table`` (rows cut into cells) into a ``Draft`` (how the columns of
the triple table come out of these cells), and ``settle`` turns a draft into a ``Chunk``: it asks
the caller's ``keep`` first, so that the dear columns are only made for rows that are wanted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from boxpen.build.kg.triples import schema
from boxpen.config import Convert

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Broken", "Chunk", "Draft", "GraphSpec", "Table", "broken_schema", "settle", "sound"]

WHITE = " \t\r\n\v\f\u00a0\u3000"
"""What is not part of a node at its edges."""
_LONGEST = 200  # characters of a broken row that are kept


def _files(value: object, folder: Path) -> tuple[Path, ...]:
    """Return the files that a list of paths and patterns names."""
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of files")
    files: list[Path] = []
    for name in value:
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError("expected the path of a file for each")
        path = folder / Path(name).expanduser()
        if any(sign in path.name for sign in "*?["):
            try:
                found = sorted(path.parent.glob(path.name))
            except ValueError as error:
                raise ValueError(f"expected a valid pattern ({error})") from None
            if not found:
                raise ValueError(f"expected existing files: nothing matches {path}")
            files += found
        elif not path.is_file():
            what = "a folder" if path.is_dir() else "missing"
            raise ValueError(f"expected existing files: {path} is {what}")
        else:
            files.append(path)
    return tuple(files)


@dataclass(frozen=True)
class GraphSpec:
    """A graph to read.

    Attributes:
        files: Its files, in order; all of one format unless that is ``auto``.
        name: What it is called in the column ``origin``.
        format: A name of ``read.FORMATS``, or ``auto`` to look at each file.
        columns: For tables of one's own: column of the triple table -> name of the file's column,
            or its number, from 1, if the file has no header, or ``=isa`` for a constant.
        language: Of heads and tails where the graph does not say.
        persons: Names that stand for people in events: ``{"John": "PersonX"}``.
        encoding: Of the text.
    """

    files: Annotated[tuple[Path, ...], Convert(_files)]
    name: str
    format: str = "auto"
    columns: Mapping[str, str | int] = field(default_factory=dict)
    language: str | None = None
    persons: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Chunk:
    """A part of a graph that fits in memory.

    Every row of the file is in one of ``triples``, ``broken`` and ``skipped()``, by its line; a row
    of a format that lists several tails may be in several triples, of which ``keep`` refuses some.

    Attributes:
        file: Where it was read from.
        rows: Rows of the file: lines that are neither blank nor the header.
        triples: The triple table.
        broken: Rows that could not be read: ``file``, ``line``, ``reason``, ``text``.
        refused: How many triples each expression of ``keep`` refused, in their order.
        skip: Makes what ``skipped`` returns.
        share: How much of the file has been read, from 0 to 1.
    """

    file: Path
    rows: int
    triples: pl.DataFrame
    broken: pl.DataFrame
    refused: tuple[int, ...]
    skip: Callable[[], pl.LazyFrame]
    share: float

    def skipped(self) -> pl.LazyFrame:
        """Return the triples that ``keep`` refused, which are made when they are collected.

        They have the columns of the triple table and ``refused_by``, the place of the expression,
        from 0. Their weight and surface may be null because they were not read.
        """
        return self.skip()


@dataclass(frozen=True)
class Broken:
    """A row that could not be read."""

    line: int
    reason: str


@dataclass(frozen=True)
class Table:
    """Rows of a file, cut into cells.

    Attributes:
        frame: The column ``line`` and the cells, as strings.
        rows: How many rows the file has here, broken ones included.
        broken: Rows that have no cells to speak of.
        texts: Returns rows as they are in the file, by their lines.
        share: How much of the file has been read, from 0 to 1.
    """

    frame: pl.DataFrame
    rows: int
    broken: Sequence[Broken]
    texts: Callable[[Iterable[int]], list[str]]
    share: float


@dataclass(frozen=True)
class Draft:
    """How triples come out of a table.

    Attributes:
        table: What was read.
        frame: The rows that can become triples.
        broken: Rows of the table that cannot.
        views: Column of the triple table -> what it is in terms of ``frame``.
        finish: Makes the triple table, without id and origin, of rows that are wanted, and says
            which of them are broken after all. Without it the views are all there is.
    """

    table: Table
    frame: pl.DataFrame
    broken: Sequence[Broken]
    views: Mapping[str, pl.Expr]
    finish: Callable[[pl.DataFrame], tuple[pl.DataFrame, list[Broken]]] | None = None


def settle(draft: Draft, spec: GraphSpec, file: Path, keep: Sequence[pl.Expr]) -> Chunk:
    """Return the chunk of a draft, with what ``keep`` refuses set aside."""
    frame, sifted = _sift(draft, spec, keep)
    broken = [*draft.table.broken, *draft.broken]
    if frame.is_empty():  # as nearly all are of a big file of which little is wanted
        triples = _no_triples()
    elif draft.finish is None:
        triples = _completed(frame.lazy().select(**draft.views), spec, schema()).collect()
    else:
        made, more = draft.finish(frame)
        triples = _completed(made.lazy(), spec, schema()).collect()
        broken += more
    return Chunk(
        file,
        draft.table.rows,
        triples.rechunk(),
        _listed(broken, draft.table, file),
        tuple(len(asked) - int(asked.sum()) for _, asked in sifted),
        lambda: _skipped(draft, spec, sifted),
        draft.table.share,
    )


def sound(frame: pl.DataFrame, flaws: Mapping[str, pl.Expr]) -> tuple[pl.DataFrame, list[Broken]]:
    """Part a frame into rows without a flaw and broken ones, with the first flaw that each has.

    Args:
        frame: Rows with their ``line``.
        flaws: Reason -> what is true of a row that has the flaw.
    """
    import polars as pl

    found = pl.coalesce(
        *(pl.when(flaw).then(pl.lit(reason)) for reason, flaw in flaws.items()),
        pl.lit(None, pl.String),
    )
    reasons = frame.select(found.alias("reason")).to_series()
    if reasons.null_count() == len(frame):
        return frame, []
    bad = frame.select("line", reason=reasons).filter(pl.col("reason").is_not_null())
    return frame.filter(reasons.is_null()), [Broken(*row) for row in bad.unique().iter_rows()]


def broken_schema() -> dict[str, type[pl.DataType]]:
    """Return the columns of the table of broken rows with their types."""
    import polars as pl

    return {"file": pl.String, "line": pl.Int64, "reason": pl.String, "text": pl.String}


def _sift(
    draft: Draft, spec: GraphSpec, keep: Sequence[pl.Expr]
) -> tuple[pl.DataFrame, list[tuple[pl.DataFrame, pl.Series]]]:
    """Ask each expression in turn about the rows that those before it have kept.

    Returns:
        What is kept in the end, and for each expression what it was asked and what it answered.
    """
    import polars as pl

    frame = draft.frame
    sifted = []
    known = dict(draft.views)
    spoken = pl.lit(spec.language, pl.String)  # as in ``_completed``
    known["language"] = pl.coalesce(known["language"], spoken) if "language" in known else spoken
    for wanted in keep:
        views = {name: known[name] for name in wanted.meta.root_names()}
        asked = (
            frame.with_columns(**views).select(wanted.fill_null(False).alias("wanted")).to_series()
        )
        sifted.append((frame, asked))
        # In one piece: of several, some would be empty, on which Polars' format and its like fail.
        frame = frame.filter(asked).rechunk()
    return frame, sifted


def _skipped(
    draft: Draft, spec: GraphSpec, sifted: Sequence[tuple[pl.DataFrame, pl.Series]]
) -> pl.LazyFrame:
    import polars as pl

    columns = schema() | {"refused_by": pl.Int64}
    parts = [
        frame.lazy().filter(~asked).select(**draft.views, refused_by=pl.lit(place, pl.Int64))
        for place, (frame, asked) in enumerate(sifted)
    ]
    return pl.concat([pl.LazyFrame(schema=columns), *(_completed(p, spec, columns) for p in parts)])


@cache
def _no_triples() -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(schema=schema())


def _completed(
    triples: pl.LazyFrame, spec: GraphSpec, columns: Mapping[str, type[pl.DataType]]
) -> pl.LazyFrame:
    """Add id, origin and what the format does not have, in the order of the triple table."""
    import polars as pl

    have = triples.collect_schema().names()
    language = pl.lit(spec.language, pl.String)
    if "language" in have:
        language = pl.coalesce("language", language)
    # What a refused row has no head or tail of is hashed as if they were empty.
    parts = (pl.col(name).fill_null("") for name in ("relation", "head", "tail"))
    key = pl.concat_str(*parts, separator="\t").cast(pl.Binary)
    made = triples.with_columns(
        pl.concat_str(
            "relation", key.map_batches(_ids, return_dtype=pl.String), separator="-"
        ).alias("id"),
        pl.lit(spec.name, pl.String).alias("origin"),
        language.alias("language"),
        *(
            pl.lit(None, kind).alias(name)
            for name, kind in columns.items()
            if name not in {*have, "id", "origin", "language"}
        ),
    )
    return made.select(pl.col(name).cast(kind) for name, kind in columns.items())


def _ids(keys: pl.Series) -> pl.Series:
    """Return the latter part of ``triple_id`` for what it hashes."""
    import polars as pl

    digests = [hashlib.sha256(key).hexdigest()[:10] for key in keys.to_list()]
    return pl.Series(keys.name, digests, dtype=pl.String)


def _listed(broken: Sequence[Broken], table: Table, file: Path) -> pl.DataFrame:
    import polars as pl

    if not broken:
        return pl.DataFrame(schema=broken_schema())
    broken = sorted(broken, key=lambda row: (row.line, row.reason))
    texts = table.texts([row.line for row in broken])
    rows = [
        (
            str(file),
            row.line,
            row.reason,
            text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…",
        )
        for row, text in zip(broken, texts, strict=True)
    ]
    return pl.DataFrame(rows, schema=broken_schema(), orient="row")
