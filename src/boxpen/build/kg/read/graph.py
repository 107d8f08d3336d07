"""Reading a knowledge graph: files of any size and format as chunks of the triple table.

    for chunk in read_graph(GraphSpec((Path("conceptnet-assertions-5.7.0.csv.gz"),), "conceptnet")):
        chunk.triples, chunk.broken

A file is read once, from front to back, in blocks: the memory that it takes does not grow with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.build.kg.read.atomic import ATOMIC_FORMATS
from boxpen.build.kg.read.chunk import Chunk, GraphSpec, settle
from boxpen.build.kg.read.conceptnet import ASSERTIONS, HUNDRED_K
from boxpen.build.kg.read.plain import HOW, PLAIN
from boxpen.build.kg.read.sample import Format, Sample, sample_of
from boxpen.errors import BuildError, nearest
from boxpen.printable import excerpt

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FORMATS", "Chunk", "GraphSpec", "detect", "read_graph"]

FORMATS = {fmt.name: fmt for fmt in (ASSERTIONS, *ATOMIC_FORMATS, HUNDRED_K, *PLAIN)}
"""The formats by name, in the order in which a file is held against them."""


def read_graph(
    spec: GraphSpec,
    *,
    strict: bool = False,
    keep: Sequence[pl.Expr] = (),
    progress: Callable[[Path, float, int], None] | None = None,
) -> Iterator[Chunk]:
    """Read a graph, chunk by chunk.

    A row is checked in this order: that it is text with the right number of cells, then ``keep``,
    then the rest of what its format asks for.

    Args:
        spec: The files and what they are.
        strict: Refuse the first broken row instead of listing it.
        keep: What a triple must be to be wanted: expressions over ``head``, ``relation``,
            ``tail`` and ``language``, asked in turn. What they refuse is counted in
            ``Chunk.refused`` and can be listed by ``Chunk.skipped()``, but of a big file it costs
            little time: put the one first that refuses most.
        progress: Called after each chunk with the file, the share of it that has been read, and
            how many rows this was so far.

    Raises:
        BuildError: If a file cannot be read or is of no known format; if ``strict``, if a row is
            broken.
    """
    _check(spec, keep)
    for file in spec.files:
        sample = sample_of(file, spec.encoding)
        fmt = _format(sample, spec)
        rows = 0
        for draft in fmt.read(sample, spec):
            chunk = settle(draft, spec, file, keep)
            if strict and len(chunk.broken):
                _, line, reason, text = chunk.broken.row(0)
                raise BuildError(
                    f"{file}, line {line}: {reason}; expected {fmt.about}, found {excerpt(text)}"
                )
            rows += chunk.rows
            yield chunk
            if progress is not None:
                progress(file, chunk.share, rows)


def detect(path: Path, spec: GraphSpec) -> str:
    """Return the name of the format of a file, by its first lines.

    Raises:
        BuildError: If it is none that is known.
    """
    return _format(sample_of(path, spec.encoding), spec).name


def _check(spec: GraphSpec, keep: Sequence[pl.Expr]) -> None:
    if not spec.files:
        raise BuildError(f"the graph {spec.name} has no files")
    if spec.format != "auto" and spec.format not in FORMATS:
        known = ["auto", *FORMATS]
        raise BuildError(
            f"the graph {spec.name} has the format '{spec.format}': {nearest(spec.format, known)}"
        )
    for wanted in keep:
        for name in wanted.meta.root_names():
            if name not in {"head", "relation", "tail", "language"}:
                raise BuildError(
                    f"'{name}' is not known when rows are kept or skipped; "
                    "head, relation, tail and language are"
                )


def _format(sample: Sample, spec: GraphSpec) -> Format:
    if spec.format != "auto":
        return FORMATS[spec.format]
    if not sample.lines and not sample.parquet:
        with sample.path.open("rb") as stream:
            bare = not stream.read(1 << 16).strip()
        what = "is empty" if bare else f"has no line of text in {spec.encoding}"
        raise BuildError(f"{sample.path} {what}; expected the rows of a graph")
    formats = [*PLAIN] if spec.columns else [*FORMATS.values()]
    for fmt in formats:
        if fmt.fits(sample, spec):
            return fmt
    raise BuildError(_unknown(sample))


def _unknown(sample: Sample) -> str:
    """Say what a file is that fits no format, and the way out."""
    line, text = sample.lines[0]
    tabs, commas = text.split("\t"), sample.first_commas()
    cells, kind = (tabs, "tab") if len(tabs) >= len(commas) else (commas, "comma")
    if len(cells) == 1:
        found = f"line {line} is {excerpt(text)}, without tabs or commas"
    else:
        listed = ", ".join(excerpt(cell) for cell in cells[:12])
        found = f"line {line} has {len(cells)} {kind}-separated columns: {listed}"
    return (
        f"{sample.path} is of no known format: {found}; name the format "
        f"({', '.join(FORMATS)}), or say which column is which by name, or by number from 1: {HOW}"
    )
