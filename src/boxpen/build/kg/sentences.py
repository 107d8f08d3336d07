"""Sentences from a knowledge graph: its triples, read and filtered as for tests, verbalised."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.errors import BuildError, TrainError
from boxpen.files import check_free, replaced, resolved
from boxpen.text.lines import read_lines
from boxpen.text.sentences import Row, Sentence

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Verbalised", "check_out", "check_ways", "verbalise", "write_sentences"]

_WRITTEN = (".tsv", ".txt")
_READABLE = (".txt", ".tsv", ".csv", ".jsonl", ".gz", ".xz", ".bz2")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Verbalised:
    """The sentences of a graph.

    Attributes:
        rows: The sentences, in the order of relation and triple.
        triples: How many triples were put into words, or could have been.
        unsaid: How many of these have no sentence.
        relations: Relations that have no sentence of their own, with their triples.
    """

    rows: list[Row]
    triples: int
    unsaid: int
    relations: dict[str, int]

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences, each with the normal form of its head and tail."""
        return [Sentence(row.sentence, row.pair) for row in self.rows]

    @property
    def says(self) -> str:
        """A one-line summary of the sentences."""
        other = sum(self.relations.values())
        less = f", {self.unsaid:,} cannot be expressed" if self.unsaid else ""
        less += f"; {other:,} more are of relations without a sentence" if other else ""
        return f"{len(self.rows):,} sentences of {self.triples:,} triples{less}"


def verbalise(source: str | Path, *, ways: int = 1, progress: Progress | None = None) -> Verbalised:
    """Verbalise the triples of a graph.

    Args:
        source: What holds the triples. A file of a graph that the builder ``kg`` reads, or a
            folder of such files: they are read and filtered with the settings that it has
            without a configuration, but for the relations. The TOML file of a build: its graphs
            are read and filtered as it says. A Parquet file of a stage: taken as it is, and where
            it has a column ``sentence`` (``ranked.parquet`` and what comes after) these sentences
            are taken, too. What ``write_sentences`` wrote to a ``.tsv`` file.
        ways: Most sentences of a triple; those of the file where it has them.
        progress: Called as the work goes on.

    Raises:
        BuildError: If the source cannot be read, or none of its triples can be expressed.
    """
    from boxpen.build.libraries import need_libraries

    check_ways(ways)
    if not str(source).strip():
        raise TrainError("--triples is empty, expected a file or folder of a graph")
    path = Path(source).expanduser()
    if (rows := _written(path)) is not None:
        return Verbalised(rows, len(rows), 0, {})
    need_libraries()
    table = _table(path)
    if "sentence" in table.columns:
        said = table.drop_nulls("sentence").select("sentence", "relation", "head", "tail")
        rows = [
            Row(" ".join(text.split()), relation, head, tail, _pair(head, tail))
            for text, relation, head, tail in said.iter_rows()
            if text.strip()
        ]
        if not rows:
            raise BuildError(f"{path} has no sentence in its column 'sentence'")
        return Verbalised(rows, table.height, table.height - len(rows), {})
    return _worded(table, path, ways, progress or (lambda *_: None))


def check_ways(ways: int) -> None:
    """Reject fewer than one sentence of a triple.

    Raises:
        TrainError: If there are fewer.
    """
    if ways < 1:
        raise TrainError(f"ways is {ways}, expected 1 or more")


def check_out(path: Path, *, overwrite: bool) -> None:
    """Reject a file that cannot be written, or would take another's place, before the work.

    Args:
        path: The output file.
        overwrite: Whether an existing file may be overwritten.

    Raises:
        TrainError: If it ends in another way than ``write_sentences`` writes, is there already, or
            the system refuses it.
    """
    place = resolved(path, TrainError)
    try:
        there, file = place.exists(), place.is_file()
        if place.is_dir():
            raise TrainError(f"{path} cannot be written: it is a folder")
        if there and not file:  # a pipe or a device, which may have any name
            return
        if path.suffix.lower() not in _WRITTEN:
            endings = " or ".join(_WRITTEN)
            raise TrainError(f"--out is {path}, expected a file that ends in {endings}")
        check_free(path, TrainError, overwrite=overwrite)
        with tempfile.TemporaryFile(dir=place.parent):
            pass
    except OSError as refused:
        raise TrainError(f"{path} cannot be written: {refused.strerror or refused}") from None


def write_sentences(found: Verbalised, path: Path) -> None:
    """Write sentences to a file: with their triples if it ends in ``.tsv``.

    Raises:
        TrainError: If it cannot be written.
    """
    with replaced(path, TrainError) as stream:
        if path.suffix.lower() == ".tsv":
            rows = (Row._fields, *found.rows)
            stream.writelines(("\t".join(row) + "\n").encode() for row in rows)
        else:
            stream.writelines(f"{row.sentence}\n".encode() for row in found.rows)


def _written(path: Path) -> list[Row] | None:
    """Return the rows that ``write_sentences`` wrote, or None for another file."""
    if path.suffix.lower() != ".tsv" or not path.is_file():
        return None
    lines = read_lines(path)
    if next(lines, "").split("\t") != list(Row._fields):
        return None
    out: list[Row] = []
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(Row._fields) or not cells[0].strip():
            raise BuildError(
                f"{path}, line {number} has {len(cells)} cell(s) or no sentence, expected "
                f"{', '.join(Row._fields)}"
            )
        out.append(Row(*cells))
    if not out:
        raise BuildError(f"{path} has no sentence below its header")
    return out


def _worded(table: pl.DataFrame, path: Path, ways: int, progress: Progress) -> Verbalised:
    from boxpen.build.kg.wording.sentence_wording import RELATIONS, sentences_of

    others: Counter[str] = Counter()
    rows: list[Row] = []
    triples = unsaid = 0
    wanted = table.sort("relation", "id").select("relation", "head", "tail")
    for number, (relation, head, tail) in enumerate(wanted.iter_rows(), 1):
        if number % 1000 == 0 or number == wanted.height:
            progress("sentences", number, wanted.height)
        if relation not in RELATIONS:
            others[relation] += 1
            continue
        triples += 1
        said = sentences_of(relation, head, tail, ways)
        unsaid += not said
        rows += [Row(sentence, relation, head, tail, _pair(head, tail)) for sentence in said]
    if not rows:
        raise BuildError(
            f"{path} yields no sentence: {triples:,} triples cannot be expressed in English, "
            f"{others.total():,} are of relations without a sentence; relations with one: "
            f"{', '.join(RELATIONS)}"
        )
    return Verbalised(rows, triples, unsaid, dict(sorted(others.items())))


def _table(path: Path) -> pl.DataFrame:
    """Return the triples of a source, filtered."""
    from boxpen.build.kg.triples import read_table

    if path.suffix.lower() == ".toml":
        from boxpen.build.kg.stages import BUILDER, FILTERED

        config = BUILDER.load(path)
        runner = BUILDER.runner(config)
        for stage in ("read", "filter"):
            list(runner.run(stage))
        return read_table(config.folder / FILTERED)
    if path.suffix.lower() == ".parquet":
        table = read_table(path)
        return read_table(path, "sentence") if "sentence" in table.columns else table
    return _filtered(_files(path))


def _files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        if not path.is_file():
            what = f"{path} is not a file" if path.exists() else f"{path} does not exist"
            raise BuildError(
                f"{what}, expected a file or folder of a graph, a TOML file of "
                "the builder 'kg', or a Parquet file of one of its stages"
            )
        return (path,)
    found = sorted(p for p in path.iterdir() if p.is_file() and p.suffix.lower() in _READABLE)
    if not found:
        raise BuildError(f"{path} has no file of a graph, expected {', '.join(_READABLE)}")
    return tuple(found)


def _filtered(files: Sequence[Path]) -> pl.DataFrame:
    from boxpen.build.kg.filter.filters import FilterConfig, filter_triples
    from boxpen.build.kg.read.graph import GraphSpec, read_graph

    def chunks() -> Iterator[pl.DataFrame]:
        for chunk in read_graph(GraphSpec(tuple(files), "graph", language="en")):
            yield chunk.triples

    # All relations: those without a sentence are counted, and not dropped unseen.
    return filter_triples(chunks(), FilterConfig(relations=())).kept


def _pair(head: str, tail: str) -> str:
    """Return what two triples share that speak of the same two things, in whatever direction."""
    from boxpen.english.normal import normal

    return " | ".join(sorted((normal(head), normal(tail))))
