"""Reading a knowledge graph: files of any size and format as chunks of the triple table.

    for chunk in read_graph(GraphSpec((Path("conceptnet-assertions-5.7.0.csv.gz"),), "conceptnet")):
        chunk.triples, chunk.broken

A file is read once, in blocks, so memory use does not depend on its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from boxpen.build.kg.read.atomic import ATOMIC_FORMATS
from boxpen.build.kg.read.chunk import HOW, Chunk, GraphSpec, settle
from boxpen.build.kg.read.conceptnet import ASSERTIONS, HUNDRED_K
from boxpen.build.kg.read.plain import PLAIN
from boxpen.build.kg.read.sample import Format, Sample, sample_of
from boxpen.errors import BuildError
from boxpen.printable import excerpt

__all__ = ["FORMATS", "Chunk", "GraphSpec", "find_format", "read_graph"]

FORMATS = {fmt.name: fmt for fmt in (ASSERTIONS, *ATOMIC_FORMATS, HUNDRED_K, *PLAIN)}
"""The formats by name, in the order in which they are tried on a file."""


def read_graph(
    spec: GraphSpec,
    *,
    strict: bool = False,
    keep: pl.Expr | None = None,
    progress: Callable[[Path, float, int], None] | None = None,
) -> Iterator[Chunk]:
    """Read a graph, chunk by chunk.

    Rows are checked in this order: text with the right number of cells, then ``keep``, then
    everything else that the format requires.

    Args:
        spec: The files and their format.
        strict: Refuse the first broken row instead of listing it.
        keep: Which triples are wanted: an expression over ``head``, ``relation``, ``tail`` and
            ``language``. Refused rows are counted and can be listed, but cost little time.
        progress: Called after each chunk with the file, the share of it and the number of its
            rows that have been read.

    Raises:
        BuildError: If a file cannot be read or its format is unknown; if ``strict``, if a row is
            broken.
    """
    for file in spec.files:
        sample = sample_of(file, spec.encoding)
        fmt = find_format(sample, spec)
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


def find_format(sample: Sample, spec: GraphSpec) -> Format:
    """Return the format that a specification names, or that the first lines of a file have.

    Raises:
        BuildError: If it is none of the known ones.
    """
    if spec.format != "auto":
        return FORMATS[spec.format]
    if not sample.lines and not sample.parquet:
        with sample.path.open("rb") as stream:
            bare = not stream.read(1 << 16).strip()
        what = "is empty" if bare else f"has no line of text in {spec.encoding}"
        raise BuildError(f"{sample.path} {what}; expected the rows of a graph")
    for fmt in PLAIN if spec.columns else FORMATS.values():
        if fmt.fits(sample, spec):
            return fmt
    line, text = sample.lines[0]
    tabs, commas = text.split("\t"), sample.first_commas()
    cells, kind = (tabs, "tab") if len(tabs) >= len(commas) else (commas, "comma")
    if len(cells) == 1:
        found = f"line {line} is {excerpt(text)}, without tabs or commas"
    else:
        listed = ", ".join(map(excerpt, cells[:12]))
        found = f"line {line} has {len(cells)} {kind}-separated columns: {listed}"
    raise BuildError(
        f"{sample.path} has an unknown format: {found}; name the format ({', '.join(FORMATS)}), "
        f"or map the columns by name, or by number from 1: {HOW}"
    )
