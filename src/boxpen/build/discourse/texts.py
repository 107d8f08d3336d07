"""Ordered parallel text with documents, read as a stream of pairs, whatever its form.

A pair knows its document and its number there. Neighbours are pairs of one document with
consecutive numbers: whatever is missing in between leaves a gap in the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import cast

from boxpen.build.discourse.opus import documents, read_opus
from boxpen.config import AtLeast1, ConfigPath, NotNegative, check_keys
from boxpen.errors import BuildError, ConfigError
from boxpen.printable import excerpt
from boxpen.text.corpus import Pair
from boxpen.text.lines import blocks

__all__ = ["TextSpec", "read_text", "text_files"]

Progress = Callable[[float, int], None]
"""Called with the share of a file that has been read, and its lines so far."""
_BLOCK = 1 << 20  # as lines become objects, small blocks use less memory and take no longer
_COLUMNS = ("doc", "line", "source", "target")
_FORMS = (("tsv",), ("source", "target", "ids"), ("alignment", "folder"))


@dataclass(frozen=True, kw_only=True)
class TextSpec:
    """The location and format of a text; files may be plain, gzip, xz or bzip2.

    Attributes:
        name: Of the text; the names of its documents begin with it.
        tsv: A table, one pair per line, columns separated by tabs.
        columns: Columns of the table, from 0: doc, source, target, perhaps line.
        header: Whether the first line of the table has the names of its columns.
        source: The source side in Moses form, one sentence per line.
        target: The target side.
        ids: Per line, the names of both documents, and perhaps the sentences.
        alignment: The links of OPUS between sentences, in XML.
        folder: Base of the names of documents in the alignment.
        reversed: Whether the alignment names the target language first.
        limit: Maximum number of pairs to read.
    """

    name: str
    tsv: ConfigPath | None = None
    columns: Mapping[str, NotNegative] = field(
        default_factory=lambda: {"doc": 0, "line": 1, "source": 2, "target": 3}
    )
    header: bool = False
    source: ConfigPath | None = None
    target: ConfigPath | None = None
    ids: ConfigPath | None = None
    alignment: ConfigPath | None = None
    folder: ConfigPath | None = None
    reversed: bool = False
    limit: AtLeast1 | None = None

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name is {self.name!r}, expected printable characters")
        given = tuple(name for form in _FORMS for name in form if getattr(self, name) is not None)
        if given not in _FORMS:
            raise ConfigError(
                f"found {' and '.join(given) or 'no file'}, expected tsv, or source, target and "
                "ids, or alignment and folder"
            )
        if self.reversed and self.alignment is None:
            raise ConfigError(
                "reversed only applies to alignment; exchange source and target instead"
            )
        check_keys(self.columns, _COLUMNS, "columns")
        for needed in ("doc", "source", "target"):
            if needed not in self.columns:
                raise ConfigError(f"columns.{needed} is missing")


def read_text(
    spec: TextSpec,
    languages: tuple[str, str],
    counts: Counter[str],
    progress: Progress = lambda *_: None,
) -> Iterator[Pair]:
    """Yield the pairs of a text in their order, as they are written.

    Args:
        spec: The text.
        languages: Of its source and its target.
        counts: Gains 'lines', all that were read, and what was left out of them: 'empty', a side
            has no text; 'encoding', it is not UTF-8.
        progress: Called as the work goes on.

    Raises:
        BuildError: If a file is missing, damaged, or in the wrong form; the message names it and
            the line.
    """
    if spec.alignment is None:
        pairs = (_table if spec.tsv else _moses)(spec, counts, progress)
    else:
        order = languages[::-1] if spec.reversed else languages
        pairs = read_opus(
            spec.alignment, cast(Path, spec.folder), spec.name, order, counts, progress
        )
        if spec.reversed:
            pairs = (replace(pair, source=pair.target, target=pair.source) for pair in pairs)
    for pair in islice(pairs, spec.limit):
        if pair.source.strip() and pair.target.strip():
            yield pair
        else:
            counts["empty"] += 1


def text_files(spec: TextSpec) -> list[Path]:
    """Return all files of a text.

    Raises:
        BuildError: If one does not exist.
    """
    named = (spec.tsv, spec.source, spec.target, spec.ids, spec.alignment)
    files = [path for path in named if path is not None]
    for path in files:
        if not path.is_file():
            raise BuildError(f"text '{spec.name}' has a file that does not exist: {path}")
    if spec.alignment is not None:
        files += documents(spec.alignment, cast(Path, spec.folder))
    return files


def _table(spec: TextSpec, counts: Counter[str], progress: Progress) -> Iterator[Pair]:
    path = cast(Path, spec.tsv)
    doc, place, source, target = (spec.columns.get(column, -1) for column in _COLUMNS)
    needed = max(spec.columns.values()) + 1
    for line, row in enumerate(_lines(path, counts, progress), start=1):
        if spec.header and line == 1:
            continue
        counts["lines"] += 1
        cells = row.split("\t")
        if len(cells) < needed:
            if not row.strip():
                counts["empty"] += 1
                continue
            raise BuildError(
                f"{path}, line {line}: found {len(cells)} column(s), expected {needed} or more"
            )
        try:
            number = int(cells[place]) if place >= 0 else line
        except ValueError:
            raise BuildError(
                f"{path}, line {line}: found {excerpt(cells[place])} for the number of the "
                "line, expected a whole number"
            ) from None
        yield Pair(cells[source], cells[target], f"{spec.name}/{cells[doc]}", number, spec.name)


def _moses(spec: TextSpec, counts: Counter[str], progress: Progress) -> Iterator[Pair]:
    """Yield the pairs of two files of sentences, and one that names their documents.

    A line of the third is ``en/2001/1/2.xml.gz⇥zh/2001/1/3.xml.gz⇥12 13⇥15``: both documents, and
    the sentences of each that were joined. Sentences without a counterpart are in none of the
    files; only the numbers tell that something is missing between two lines.
    """
    paths = cast(tuple[Path, Path, Path], (spec.source, spec.target, spec.ids))
    streams = (_lines(path, counts, progress if path == paths[0] else _silent) for path in paths)
    document, number = "", 0
    last: list[int | None] = [None, None]
    for line, row in enumerate(zip_longest(*streams), start=1):
        if None in row:
            short = paths[row.index(None)]
            long = next(path for path, cell in zip(paths, row, strict=True) if cell is not None)
            raise BuildError(
                f"{short} ends after line {line - 1}, {long} has a line {line}; "
                "expected as many lines in both"
            )
        counts["lines"] += 1
        source, target, ids = row
        cells = ids.split("\t")
        if len(cells) < 2 or not cells[0] or not cells[1]:
            raise BuildError(
                f"{paths[2]}, line {line}: found {excerpt(ids)}, expected the names of two "
                "documents, separated by a tab"
            )
        name = f"{spec.name}/{cells[0]} {cells[1]}"
        sentences = [_ends(cell) for cell in cells[2:4]]
        gap = any(
            end is not None and ends is not None and ends[0] != end + 1
            for end, ends in zip(last, sentences, strict=False)
        )
        number = 1 if name != document else number + 1 + gap
        document = name
        last = [None if ends is None else ends[1] for ends in sentences]
        yield Pair(source, target, document, number, spec.name)


def _ends(cell: str) -> tuple[int, int] | None:
    """Return the first and the last of several sentences; None if they are not numbered."""
    numbers = cell.split()
    if not numbers or not all(number.isdecimal() for number in numbers):
        return None
    return int(numbers[0]), int(numbers[-1])


def _silent(share: float, lines: int) -> None:
    pass


def _lines(path: Path, counts: Counter[str], progress: Progress) -> Iterator[str]:
    """Yield the lines of a file; one that is not UTF-8 is counted, and empty."""
    for block in blocks(path, size=_BLOCK):
        counts["encoding"] += len(block.undecodable)
        for line in block.data[:-1].decode().split("\n"):
            yield line.removesuffix("\r")
        progress(block.share, block.first + block.lines - 1)
