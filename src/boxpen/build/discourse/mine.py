"""From lines to candidates: neighbours become snippets, and rules search them for phenomena."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from boxpen.build import tables
from boxpen.build.discourse.candidates import Candidate, candidates
from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.discourse.phenomena.snippets import Snippet
from boxpen.build.tables import Row, parquet_errors, write_table
from boxpen.text.normal import key
from boxpen.text.overlap import Overlap

__all__ = [
    "CANDIDATES",
    "LINES",
    "Line",
    "Miner",
    "height",
    "read_lines",
    "read_rows",
    "snippets",
    "write_rows",
]

LINES = {"document": pl.String, "line": pl.Int64, "source": pl.String, "target": pl.String}
"""The columns of the table of lines."""
CANDIDATES: dict[str, Any] = {
    "id": pl.String,
    "set": pl.String,
    "class": pl.String,
    "word": pl.String,
    "score": pl.Float64,
    "reason": pl.String,
    "document": pl.String,
    "line": pl.Int64,
    "context_source": pl.String,
    "source": pl.String,
    "context_target": pl.String,
    "target": pl.String,
    "contrast": pl.List(pl.String),
    "text": pl.String,
}
"""The columns of the table of candidates.

``text`` is what makes two candidates the same: both source sentences, but for case and punctuation.
"""
Line = tuple[str, int, str, str]


def height(path: Path) -> int:
    """Return how many rows a table has.

    Raises:
        BuildError: If it cannot be read.
    """
    with parquet_errors(path):
        found: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    return found


def read_lines(path: Path, start: int, count: int) -> list[Line]:
    """Return rows of a table of lines, by number.

    Raises:
        BuildError: If it cannot be read.
    """
    with parquet_errors(path):
        return pl.scan_parquet(path, glob=False).slice(start, count).collect().rows()


def snippets(lines: Iterable[Line]) -> Iterator[Snippet]:
    """Yield every two neighbours: of one document, with consecutive numbers."""
    before: Line | None = None
    for line in lines:
        document, number, source, target = line
        if before is not None and before[0] == document and before[1] + 1 == number:
            yield Snippet(document, number, before[2], source, before[3], target)
        before = line


@dataclass(frozen=True)
class Miner:
    """Looks for candidates in a part of the table of lines.

    Attributes:
        path: The Parquet file, with the columns of ``LINES``.
        phenomena: The rules, one or more, all for the same languages.
        overlap: Texts that must not be found.
        min_score: Minimum score of a candidate.
    """

    path: Path
    phenomena: Sequence[Phenomenon]
    overlap: Overlap | None = None
    min_score: float = 0.0

    def __call__(self, start: int, count: int) -> tuple[list[Row], Counter[str]]:
        """Return the candidates of a part, in the order of the lines, and counts.

        Args:
            start: The first line.
            count: How many lines.

        Returns:
            The candidates, and how many 'lines' and 'snippets' there were and what was left out:
            'score', 'overlap SUITE, SIDE'.

        Raises:
            BuildError: If the file cannot be read.
        """
        # The last line of the part before is the context of the first one of this.
        before = min(start, 1)
        lines = read_lines(self.path, start - before, count + before)
        counts = Counter(lines=len(lines) - before)
        rows: list[Row] = []
        source_language, _ = self.phenomena[0].pair
        for snippet in snippets(lines):
            counts["snippets"] += 1
            for found in candidates(snippet, self.phenomena):
                if found.score < self.min_score:
                    counts["score"] += 1
                elif where := self._known(snippet):
                    counts[f"overlap {where}"] += 1
                else:
                    rows.append(_row(found, source_language))
        return rows, counts

    def _known(self, snippet: Snippet) -> str | None:
        """Return the suite that has one of both sentences, and on which side."""
        if self.overlap is None:
            return None
        languages = self.phenomena[0].pair
        for source, target in (
            (snippet.source, snippet.target),
            (snippet.context_source, snippet.context_target),
        ):
            found = self.overlap.find(key(source, languages[0]), key(target, languages[1]))
            if found is not None:
                return f"{found.suite}, {found.side}"
        return None


def _row(candidate: Candidate, language: str) -> Row:
    snippet = candidate.snippet
    sides = (snippet.context_source, snippet.source, snippet.context_target, snippet.target)
    digest = hashlib.sha256("\0".join((candidate.cls, *sides)).encode()).hexdigest()
    return {
        "id": f"{candidate.phenomenon}-{digest[:12]}",
        "set": candidate.phenomenon,
        "class": candidate.cls,
        "word": candidate.word,
        "score": candidate.score,
        "reason": candidate.reason,
        "document": snippet.document,
        "line": snippet.line,
        "context_source": snippet.context_source,
        "source": snippet.source,
        "context_target": snippet.context_target,
        "target": snippet.target,
        "contrast": list(candidate.contrast),
        "text": f"{key(snippet.context_source, language)}\t{key(snippet.source, language)}",
    }


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write a table of candidates."""
    write_table(pl.DataFrame(rows, schema=CANDIDATES), path)


def read_rows(path: Path) -> list[Row]:
    """Read a table of candidates.

    Raises:
        BuildError: If it does not exist, is damaged, or lacks a column.
    """
    return tables.read_rows(path, CANDIDATES)
