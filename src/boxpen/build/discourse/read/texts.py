"""Ordered parallel text with documents, read as a stream of pairs, whatever form it has.

A pair knows its document and its number there. Neighbours are pairs of one document whose numbers
follow one another: what is missing in between, for whatever reason, leaves a gap in the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from boxpen.config import AtLeast1, ConfigPath, NotNegative, check_keys
from boxpen.errors import BuildError, ConfigError
from boxpen.printable import excerpt
from boxpen.text.corpus import Pair
from boxpen.text.lines import blocks

__all__ = ["Progress", "TextSpec", "lines_of", "read_text", "text_files"]

Progress = Callable[[float, int], None]
"""Called with the share of a file that has been read, and its lines so far."""
_COLUMNS = ("doc", "line", "source", "target")
_FORMS = {
    "tsv": ("tsv",),
    "moses": ("source", "target", "ids"),
    "xml": ("alignment", "folder"),
}


@dataclass(frozen=True, kw_only=True)
class TextSpec:
    """Where a text stands and how it is written; files may be plain, gzip, xz or bzip2.

    Attributes:
        name: What the text is called; the names of its documents begin with it.
        tsv: A table, one pair a line, columns parted by tabs.
        columns: Which columns of the table hold what, from 0: doc, source, target, perhaps line.
        header: Whether the first line of the table has the names of its columns.
        source: The English side in Moses form, one sentence a line.
        target: The Chinese side.
        ids: The names of both documents, and perhaps the sentences, of every line.
        alignment: The links of OPUS between sentences, in XML.
        folder: What the names of documents in the alignment start from.
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
    limit: AtLeast1 | None = None

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise ConfigError(f"name is {self.name!r}, expected printable characters")
        given = tuple(n for form in _FORMS.values() for n in form if getattr(self, n) is not None)
        if given not in _FORMS.values():
            raise ConfigError(
                f"found {' and '.join(given) or 'no file'}, expected tsv, or source, target and "
                "ids, or alignment and folder"
            )
        check_keys(self.columns, _COLUMNS, "columns")
        for needed in ("doc", "source", "target"):
            if needed not in self.columns:
                raise ConfigError(f"columns.{needed} is missing")


def read_text(
    spec: TextSpec, counts: Counter[str], progress: Progress = lambda *_: None
) -> Iterator[Pair]:
    """Yield the pairs of a text in their order, as they are written.

    Args:
        spec: Where it stands.
        counts: Gains 'lines', all that were read, and what was left out of them: 'empty', a side
            says nothing; 'encoding', it is not UTF-8.
        progress: Called as the work goes on.

    Raises:
        BuildError: If a file is missing, damaged, or not what it must be; the message names it
            and the line.
    """
    if spec.tsv is not None:
        pairs = _table(spec, spec.tsv, counts, progress)
    elif spec.alignment is not None:
        from boxpen.build.discourse.read.xml import read_xml

        pairs = read_xml(spec, counts, progress)
    else:
        from boxpen.build.discourse.read.moses import read_moses

        pairs = read_moses(spec, counts, progress)
    for pair in islice(pairs, spec.limit):
        if pair.source.strip() and pair.target.strip():
            yield pair
        else:
            counts["empty"] += 1


def text_files(spec: TextSpec) -> list[Path]:
    """Return all files that a text is made of.

    Raises:
        BuildError: If one is not there.
    """
    named = (spec.tsv, spec.source, spec.target, spec.ids, spec.alignment)
    files = [path for path in named if path is not None]
    for path in files:
        if not path.is_file():
            raise BuildError(f"text '{spec.name}' has a file that is not there: {path}")
    if spec.alignment is not None:
        from boxpen.build.discourse.read.xml import documents

        files += documents(spec)
    return files


def lines_of(
    path: Path, counts: Counter[str], progress: Progress = lambda *_: None
) -> Iterator[str]:
    """Yield the lines of a file; one that is not UTF-8 is counted, and empty."""
    for block in blocks(path, size=_BLOCK):
        counts["encoding"] += len(block.undecodable)
        for line in block.data[:-1].decode().split("\n"):
            yield line.removesuffix("\r")
        progress(block.share, block.first + block.lines - 1)


_BLOCK = 1 << 20  # as lines become objects, small blocks use less memory and take no longer


def _table(spec: TextSpec, path: Path, counts: Counter[str], progress: Progress) -> Iterator[Pair]:
    doc, place, source, target = (spec.columns.get(column, -1) for column in _COLUMNS)
    needed = max(spec.columns.values()) + 1
    for line, row in enumerate(lines_of(path, counts, progress), start=1):
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
        number = line
        if place >= 0:
            number = _number(cells[place], f"{path}, line {line}")
        yield Pair(cells[source], cells[target], f"{spec.name}/{cells[doc]}", number, spec.name)


def _number(cell: str, where: str) -> int:
    try:
        return int(cell)
    except ValueError:
        raise BuildError(
            f"{where}: found {excerpt(cell)} for the number of the line, expected a whole number"
        ) from None
