"""Parallel text, read as a stream of pairs with their location."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Literal, cast

from boxpen.config import AtLeast1, ConfigPath, NotNegative, check_keys
from boxpen.errors import ConfigError, NmtError
from boxpen.text.lines import read_lines

__all__ = ["CorpusSpec", "Pair", "read_pairs"]

_COLUMNS = ("source", "target", "doc")


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its translation.

    Attributes:
        source: The sentence.
        target: Its translation.
        doc: Its document, if the corpus names documents.
        line: Its line in the file, from 1.
        corpus: The name of the corpus.
    """

    source: str
    target: str
    doc: str | None
    line: int
    corpus: str


@dataclass(frozen=True)
class CorpusSpec:
    """The location and format of a corpus: one table, or two files of equal length.

    Any file may be plain, gzip, xz or bzip2.

    Attributes:
        name: What the corpus is called.
        tsv: A tab-separated table with one pair per line.
        source: A file with one sentence per line; with ``target`` and without ``tsv``.
        target: The file of their translations.
        columns: Which columns of the table hold what, from 0: source, target, perhaps doc.
        documents: What ends a document: unknown ('none'), a line that is empty on both sides
            ('blank'), or a change of the doc column ('column').
        limit: Maximum number of pairs to read.
    """

    name: str
    tsv: ConfigPath | None = None
    source: ConfigPath | None = None
    target: ConfigPath | None = None
    columns: Mapping[str, NotNegative] = field(default_factory=lambda: {"source": 0, "target": 1})
    documents: Literal["none", "blank", "column"] = "none"
    limit: AtLeast1 | None = None

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name is {self.name!r}, expected printable characters")
        given = [n for n in ("tsv", "source", "target") if getattr(self, n) is not None]
        if given not in (["tsv"], ["source", "target"]):
            raise ConfigError(
                f"found {' and '.join(given) or 'no file'}, expected either tsv, or both source "
                "and target"
            )
        check_keys(self.columns, _COLUMNS, "columns")
        if self.tsv is None and self.documents == "column":
            raise ConfigError("documents is 'column', expected 'blank' or 'none' without tsv")
        for needed in ("source", "target", *(("doc",) if self.documents == "column" else ())):
            if needed not in self.columns:
                raise ConfigError(f"columns.{needed} is missing")


def read_pairs(spec: CorpusSpec, counts: Counter[str]) -> Iterator[Pair]:
    """Yield the pairs of a corpus, in order, as they are written.

    Args:
        spec: The corpus.
        counts: Gains 'lines', the lines read, and 'empty', those left out because a side is
            empty; lines that end a document are not counted as empty.

    Raises:
        NmtError: If a file is missing, damaged or not UTF-8, if the two files differ in length, if
            a row of the table has too few columns, or if a line that would end a document is empty
            on one side only.
    """
    rows = _table(spec, spec.tsv) if spec.tsv is not None else _two_files(spec)
    blank, column = spec.documents == "blank", spec.documents == "column"
    doc = 1
    inside = False  # a document has begun: several empty lines end it only once
    left = spec.limit
    for line, (source, target, name) in enumerate(rows, start=1):
        counts["lines"] += 1
        if not source or source.isspace() or not target or target.isspace():
            if not blank:
                counts["empty"] += 1
            elif source.strip() or target.strip():
                raise NmtError(_half_empty(spec, line, "target" if source.strip() else "source"))
            elif inside:
                doc, inside = doc + 1, False
            continue
        inside = True
        yield Pair(source, target, name if column else str(doc) if blank else None, line, spec.name)
        if left is not None and not (left := left - 1):
            return


def _half_empty(spec: CorpusSpec, line: int, side: str) -> str:
    path = spec.tsv or (spec.source if side == "source" else spec.target)
    return (
        f"{path}, line {line}: the {side} is empty and the other side is not; with documents = "
        "'blank' expected both or neither"
    )


def _two_files(spec: CorpusSpec) -> Iterator[tuple[str, str, None]]:
    source_path, target_path = cast(Path, spec.source), cast(Path, spec.target)
    both = zip_longest(read_lines(source_path, NmtError), read_lines(target_path, NmtError))
    for line, (source, target) in enumerate(both, start=1):
        if source is None or target is None:
            short, long = (
                (source_path, target_path) if source is None else (target_path, source_path)
            )
            raise NmtError(
                f"{short} ends after line {line - 1}, {long} has a line {line}; "
                "expected as many lines in both"
            )
        yield source, target, None


def _table(spec: CorpusSpec, path: Path) -> Iterator[tuple[str, str, str | None]]:
    source, target, doc = (spec.columns.get(column, -1) for column in _COLUMNS)
    needed = max(source, target, doc) + 1
    for line, row in enumerate(read_lines(path, NmtError), start=1):
        cells = row.split("\t")
        if len(cells) < needed:
            if not row.strip():
                yield "", "", None
                continue
            raise NmtError(
                f"{path}, line {line}: found {len(cells)} column(s), expected {needed} or more"
            )
        yield cells[source], cells[target], cells[doc] if doc >= 0 else None
