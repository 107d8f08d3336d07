"""What the readers of graphs take and give: a ``GraphSpec`` in, ``Chunk`` after ``Chunk`` out.

The reader of a format cuts rows into cells (a ``Table``) and derives the columns of the triple
table from them (a ``Draft``). ``settle`` makes a ``Chunk`` of a draft. It applies the
caller's ``keep`` first, so that costly columns are only computed for rows that are wanted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from boxpen.build.kg.triples import schema
from boxpen.config import Convert, check_keys
from boxpen.errors import ConfigError

__all__ = ["Broken", "Chunk", "Draft", "GraphSpec", "Table", "broken_schema", "settle", "sound"]

WHITE = " \t\r\n\v\f\u00a0\u3000"
"""White space to strip from nodes."""
NEEDED = ("head", "relation", "tail")
MAPPED = (*NEEDED, "weight", "surface", "language")
HOW = "columns = {head = …, relation = …, tail = …}"
_LONGEST = 200  # characters of a broken row to keep
_LONGEST_PATH = 4096  # a pattern of 100,000 brackets would take minutes

Broken = tuple[int, str]
"""The line of a row that could not be read, and the reason."""


def _files(value: object, folder: Path) -> tuple[Path, ...]:
    """Return the files that a list of paths and patterns names."""
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of files")
    files: list[Path] = []
    for name in value:
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_PATH or "\0" in name:
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
        name: Its name in the column ``origin``.
        format: A name of ``FORMATS``, or ``auto`` to detect the format of each file.
        columns: For your own tables: column of the triple table -> name of the file's column, its
            number, from 1, if the file has no header, or ``=isa`` for a constant.
        language: Language of heads and tails if the graph does not name it.
        persons: Names of people in events: ``{"John": "PersonX"}``.
        encoding: Encoding of the text.
    """

    files: Annotated[tuple[Path, ...], Convert(_files)]
    name: str
    format: str = "auto"
    columns: Mapping[str, str | int] = field(default_factory=dict)
    language: str | None = None
    persons: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        check_keys(self.columns, MAPPED, "columns")
        missing = [name for name in NEEDED if name not in self.columns]
        if self.columns and missing:
            raise ConfigError(f"columns.{missing[0]} is missing; give {HOW}")
        mapped = [column for name, column in self.columns.items() if name not in self.constants]
        if len({type(column) for column in mapped}) > 1:
            raise ConfigError(
                "columns mixes names and numbers; numbers are for files without a header"
            )
        if len(set(mapped)) < len(mapped):
            raise ConfigError("columns uses a column twice")

    @property
    def constants(self) -> dict[str, str]:
        """Columns that are the same in every row."""
        given = self.columns.items()
        return {n: c[1:] for n, c in given if isinstance(c, str) and c.startswith("=")}


@dataclass(frozen=True)
class Chunk:
    """A part of a graph that fits in memory.

    Every row of the file is in one of ``triples``, ``broken`` and ``skipped()``, by its line. If a
    row lists several tails, some may be in ``triples`` and others in ``skipped()``.

    Attributes:
        file: The file it was read from.
        rows: Number of rows: lines that are neither blank nor the header.
        triples: The triple table.
        broken: Rows that could not be read: ``file``, ``line``, ``reason``, ``text``.
        refused: Number of triples that ``keep`` refused.
        skipped: Returns the triples that ``keep`` refused, computed when collected. Their weight
            and surface may be null because they were not read.
        share: Share of the file read so far, from 0 to 1.
    """

    file: Path
    rows: int
    triples: pl.DataFrame
    broken: pl.DataFrame
    refused: int
    skipped: Callable[[], pl.LazyFrame]
    share: float


@dataclass(frozen=True)
class Table:
    """Rows of a file, cut into cells.

    Attributes:
        frame: The column ``line`` and the cells, as strings.
        rows: Number of rows, broken ones included.
        broken: Rows that could not be cut into cells.
        texts: Returns rows as they are in the file, by their lines.
        share: Share of the file read so far, from 0 to 1.
    """

    frame: pl.DataFrame
    rows: int
    broken: Sequence[Broken]
    texts: Callable[[Iterable[int]], list[str]]
    share: float


@dataclass(frozen=True)
class Draft:
    """How triples follow from a table.

    Attributes:
        table: What was read.
        frame: The rows that can become triples.
        broken: Rows of the table that cannot.
        views: Column of the triple table -> expression over ``frame``.
        finish: Makes the triple table, without id and origin, of the wanted rows, and returns which
            of them turn out broken. Without it the views are the whole table.
    """

    table: Table
    frame: pl.DataFrame
    broken: Sequence[Broken]
    views: Mapping[str, pl.Expr]
    finish: Callable[[pl.DataFrame], tuple[pl.DataFrame, list[Broken]]] | None = None


def settle(draft: Draft, spec: GraphSpec, file: Path, keep: pl.Expr | None) -> Chunk:
    """Return the chunk of a draft, without what ``keep`` refuses."""
    wanted = draft.frame
    asked = pl.Series([True], dtype=pl.Boolean).new_from_index(0, len(wanted))
    if keep is not None:
        language = pl.coalesce(*_present(draft.views, "language"), pl.lit(spec.language, pl.String))
        views = {**draft.views, "language": language}
        needed = {name: views[name] for name in keep.meta.root_names()}
        answers = wanted.with_columns(**needed).select(keep.fill_null(False).alias("wanted"))
        asked = answers.to_series()
        # In one piece: Polars' format and the like fail on frames with empty pieces.
        wanted = wanted.filter(asked).rechunk()
    broken = [*draft.table.broken, *draft.broken]
    if wanted.is_empty():  # most blocks of a big file of which little is wanted
        triples = pl.DataFrame(schema=schema())
    elif draft.finish is None:
        triples = _completed(wanted.lazy().select(**draft.views), spec).collect()
    else:
        made, more = draft.finish(wanted)
        triples = _completed(made.lazy(), spec).collect()
        broken += more
    return Chunk(
        file,
        draft.table.rows,
        triples.rechunk(),
        _listed(broken, draft.table, file),
        len(asked) - int(asked.sum()),
        lambda: _completed(draft.frame.lazy().filter(~asked).select(**draft.views), spec),
        draft.table.share,
    )


def sound(frame: pl.DataFrame, flaws: Mapping[str, pl.Expr]) -> tuple[pl.DataFrame, list[Broken]]:
    """Divide a frame into rows without a flaw and broken ones, with the first flaw of each.

    Args:
        frame: Rows with their ``line``.
        flaws: Reason -> what is true of a row with this flaw.
    """
    found = pl.coalesce(
        *(pl.when(flaw).then(pl.lit(reason)) for reason, flaw in flaws.items()),
        pl.lit(None, pl.String),
    )
    reasons = frame.select(found.alias("reason")).to_series()
    if reasons.null_count() == len(frame):
        return frame, []
    bad = frame.select("line", reason=reasons).filter(pl.col("reason").is_not_null())
    return frame.filter(reasons.is_null()), list(bad.unique().iter_rows())


def broken_schema() -> dict[str, Any]:
    """Return the columns of the table of broken rows with their types."""
    return {"file": pl.String, "line": pl.Int64, "reason": pl.String, "text": pl.String}


def _present(views: Mapping[str, pl.Expr], name: str) -> list[pl.Expr]:
    return [views[name]] if name in views else []


def _completed(triples: pl.LazyFrame, spec: GraphSpec) -> pl.LazyFrame:
    """Add id, origin and what the format does not have, in the order of the triple table."""
    have = triples.collect_schema().names()
    # A refused row without a head or tail is hashed as if they were empty.
    parts = (pl.col(name).fill_null("") for name in ("relation", "head", "tail"))
    key = pl.concat_str(*parts, separator="\t").cast(pl.Binary)
    digest = key.map_batches(_ids, return_dtype=pl.String)
    own = {
        "id": pl.concat_str("relation", digest, separator="-"),
        "origin": pl.lit(spec.name, pl.String),
        "language": pl.coalesce(
            *(["language"] if "language" in have else []), pl.lit(spec.language, pl.String)
        ),
    }
    lacking = {n: pl.lit(None, kind) for n, kind in schema().items() if n not in {*have, *own}}
    made = triples.with_columns(**own, **lacking)
    return made.select(pl.col(name).cast(kind) for name, kind in schema().items())


def _ids(keys: pl.Series) -> pl.Series:
    """Return the latter part of ``triple_id`` for what it hashes."""
    digests = [hashlib.sha256(key).hexdigest()[:10] for key in keys.to_list()]
    return pl.Series(keys.name, digests, dtype=pl.String)


def _listed(broken: Sequence[Broken], table: Table, file: Path) -> pl.DataFrame:
    broken = sorted(broken)
    texts = table.texts([line for line, _ in broken]) if broken else []
    rows = [
        (str(file), line, reason, text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")
        for (line, reason), text in zip(broken, texts, strict=True)
    ]
    return pl.DataFrame(rows, schema=broken_schema(), orient="row")
