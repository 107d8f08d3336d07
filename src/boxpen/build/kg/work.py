"""What each stage of a build from knowledge graphs does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.build.kg.config import KgConfig
from boxpen.build.kg.triples import read_table, schema
from boxpen.build.runner import Progress, Report, steps_of
from boxpen.build.sink import ParquetSink
from boxpen.build.tables import write_table
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.build.kg.read.graph import Chunk, GraphSpec
    from boxpen.items import Suite

__all__ = ["Work"]

TRIPLES, BROKEN = "triples.parquet", "broken.parquet"
FILTERED, DROPPED = "filtered.parquet", "dropped.parquet"
RANKED, DROPPED_BY_RANK = "ranked.parquet", "dropped-rank.parquet"
SAMPLED, DROPPED_BY_SAMPLE = "sampled.parquet", "dropped-sample.parquet"
ACCEPTED, REJECTED, OPEN = "accepted.parquet", "rejected.parquet", "open.parquet"
NEGATIVES, TESTS = "negatives.parquet", "tests.parquet"


class Work:
    """What the stages of one configuration do."""

    def __init__(self, config: KgConfig, progress: Progress) -> None:
        self.config = config
        self.progress = progress

    def read(self) -> Report:
        """Read the graphs into one table."""
        from boxpen.build.kg.read.chunk import broken_schema

        rows: dict[str, int] = {}
        refused = 0
        first = ""
        with (
            ParquetSink(self.at(TRIPLES), schema()) as triples,
            ParquetSink(self.at(BROKEN), broken_schema()) as broken,
        ):
            for graph in self.config.graphs:
                for chunk in self._chunks(graph):
                    triples.add(chunk.triples)
                    broken.add(chunk.broken)
                    rows[graph.name] = rows.get(graph.name, 0) + chunk.rows
                    refused += sum(chunk.refused)
                    if not first and chunk.broken.height:
                        first = "; the first, {}, line {}: {}".format(*chunk.broken.row(0))
        if not triples.rows:
            wanted = self.config.filter.language
            other = f"{refused:,} triples are in other languages than '{wanted}', "
            listed = f" (listed in {self.at(BROKEN)})" if broken.rows else ""
            raise BuildError(
                f"no triple could be read: {other if refused else ''}{broken.rows:,} rows are "
                f"broken{listed}{first}"
            )
        note = f"; {broken.rows:,} broken rows in {BROKEN}" if broken.rows else ""
        dropped = {"language": refused} if refused else {}
        return {
            "says": f"{sum(rows.values()):,} rows, {triples.rows:,} triples{note}",
            "steps": steps_of(triples.rows + refused, dropped),
            "rows": rows,
            "triples": triples.rows,
            "broken": broken.rows,
        }

    def filter(self) -> Report:
        """Drop triples that no test can be made of."""
        from boxpen.build.kg.filter.filters import filter_triples
        from boxpen.build.kg.filter.report import dropped_schema

        refusal: BuildError | None = None
        with ParquetSink(self.at(DROPPED), dropped_schema()) as sink:
            try:
                found = filter_triples(self.at(TRIPLES), self.config.filter, sink=sink)
            except BuildError as error:
                if not sink.rows:
                    raise
                refusal = error  # what was dropped is written all the same
            else:
                write_table(found.kept, self.at(FILTERED))
        if refusal is not None:
            raise refusal
        report = found.report
        absent = f"; none of the relation {', '.join(report.absent)}" if report.absent else ""
        return {
            "says": f"{report.kept:,} of {report.rows:,} triples stay{absent}",
            "steps": steps_of(report.rows, report.totals),
            **report.as_dict(),
        }

    def rank(self) -> Report:
        """Word the triples and rank them."""
        import polars as pl

        from boxpen.build.kg.rank import rank_triples
        from boxpen.build.kg.sample import sample_triples
        from boxpen.models.resolve import resolve_model

        config = self.config.rank
        table = read_table(self.at(FILTERED))
        model = None
        if config.model != "none":
            model = resolve_model(config.model, device=config.device)
        drawn = sample_triples(table, config.most, self.config.seed, by="random", per_head=None)
        ranked = rank_triples(
            drawn.table,
            model,
            fluent=config.fluent,
            keep=config.keep,
            least=config.least,
            progress=self.progress,
        )
        undrawn = drawn.dropped.with_columns(step=pl.lit("draw"))
        dropped = pl.concat([undrawn, ranked.dropped.select(undrawn.columns)])
        write_table(dropped, self.at(DROPPED_BY_RANK))
        write_table(ranked.table, self.at(RANKED))
        counts = {
            step: dropped.filter(pl.col("step") == step).height
            for step in ("draw", "wording", "fluency", "rank")
        }
        return {
            "says": f"{ranked.table.height:,} of {table.height:,} triples stay",
            "steps": steps_of(table.height, counts),
            "kept": ranked.table.height,
        }

    def sample(self) -> Report:
        """Draw triples of every relation."""
        from boxpen.build.kg.sample import sample_triples

        config = self.config.sample
        table = read_table(self.at(RANKED), "tail_text")
        drawn = sample_triples(
            table,
            config.per_relation,
            self.config.seed,
            by=config.by,
            per_head=config.per_head,
            relations=self.config.filter.relations,
        )
        if not drawn.table.height:
            raise BuildError(f"no triple could be drawn of {table.height:,}")
        write_table(drawn.dropped, self.at(DROPPED_BY_SAMPLE))
        write_table(drawn.table, self.at(SAMPLED))
        few = ", ".join(f"{name} {count}" for name, count in drawn.short.items())
        return {
            "says": f"{drawn.table.height:,} triples" + (f"; short of: {few}" if few else ""),
            "kept": drawn.table.height,
            "short": drawn.short,
        }

    def accept(self) -> Report:
        """Take what the judges accepted."""
        from boxpen.build.kg.review import TripleTask
        from boxpen.review import Journal

        review = self.config.review
        assert review is not None
        table = read_table(self.at(SAMPLED), "tail_text")
        task = TripleTask(table, Journal(review.journal_in(self.config.folder)))
        found = task.divide(task.review(review.decide_by(), review.min_judges))
        if not found.accepted.height:
            raise BuildError(
                f"the judges accepted none of {table.height:,} triples: {found.dropped.height:,} "
                f"are rejected, {found.open.height:,} still open"
            )
        write_table(found.dropped, self.at(REJECTED))
        write_table(found.open, self.at(OPEN))
        write_table(found.accepted, self.at(ACCEPTED))
        return {
            "says": f"{found.accepted.height:,} triples accepted, {found.dropped.height:,} "
            f"rejected, {found.open.height:,} open",
            "accepted": found.accepted.height,
            "rejected": found.dropped.height,
            "open": found.open.height,
        }

    def negatives(self) -> Report:
        """Draw wrong tails."""
        import polars as pl

        from boxpen.build.kg.negatives import sample_negatives
        from boxpen.english.wordnet import open_wordnet

        table = read_table(self.at(self.chosen), "tail_text", "form")
        graph = read_table(self.at(TRIPLES), only=["id", "head", "relation", "tail", "language"])
        if self.config.filter.language is not None:
            graph = graph.filter(
                pl.col("language").fill_null(self.config.filter.language)
                == self.config.filter.language
            )
        found = sample_negatives(
            table,
            graph,
            count=self.config.negatives.count,
            seed=self.config.seed,
            wordnet=open_wordnet() if self.config.negatives.wordnet else None,
            pool=read_table(self.at(RANKED), "tail_text", "form")
            if self.config.negatives.pool == "ranked"
            else None,
        )
        write_table(found.table, self.at(NEGATIVES))
        given = int(found.table["wrong"].list.len().sum())
        short = f"; {found.short.height:,} triples have fewer" if found.short.height else ""
        return {
            "says": f"{given:,} wrong tails for {found.table.height:,} triples{short}",
            "wrong": given,
            "short": found.short.to_dicts(),
        }

    def render(self) -> Report:
        """Put triples into templates."""
        from boxpen.catalog import write_suite

        suite = self._suite()
        write_suite(suite, self.at(TESTS))
        write_suite(suite, self.at(self.suite_file))
        counts: dict[str, int] = {}
        for item in suite:
            counts[item.tags["task"]] = counts.get(item.tags["task"], 0) + 1
        made = ", ".join(f"{count:,} {task}" for task, count in counts.items())
        return {
            "says": f"{len(suite):,} tests ({made}) of {len(suite.blocks()):,} triples "
            f"in {self.at(self.suite_file)}",
            "tests": counts,
        }

    def _suite(self) -> Suite:
        from boxpen.build.kg.wording.render import render
        from boxpen.build.kg.wording.templates import load_templates
        from boxpen.items import Card, Suite

        config = self.config.render
        table = self._answered()
        items = render(
            table,
            load_templates(config.templates),
            tasks=config.tasks,
            seed=self.config.seed,
            per_triple=config.forms,
        )
        graphs = ", ".join(graph.name for graph in self.config.graphs)
        card = Card(
            title=config.title or f"Tests from {graphs}",
            language="en",
            licence=config.licence,
            citation=config.citation,
            notes="made by boxpen build run (kg)",
        )
        return Suite(self.config.name, tuple(items), card).validate()

    def _answered(self) -> pl.DataFrame:
        """Return the triples with their wrong tails, less those that judges find right."""
        from boxpen.build.kg.review import WrongAnswerTask
        from boxpen.review import Journal

        table = read_table(self.at(NEGATIVES), "tail_text", "wrong_text")
        review = self.config.review
        if review is None or review.wrong_journal is None:
            return table
        task = WrongAnswerTask(table, Journal(review.wrong_journal))
        return task.divide(task.review(review.decide_by(), review.min_judges)).accepted

    @property
    def chosen(self) -> str:
        """The table of the triples that tests are made of."""
        return SAMPLED if self.config.review is None else ACCEPTED

    @property
    def suite_file(self) -> str:
        """The name of the suite's file."""
        return f"{self.config.name}.jsonl"

    def at(self, name: str) -> Path:
        """Return the path of a file of the build."""
        return self.config.folder / name

    def _chunks(self, graph: GraphSpec) -> Iterator[Chunk]:
        """Read a graph; rows in other languages are counted and skipped before they cost much."""
        from boxpen.build.kg.read.graph import read_graph

        def progress(file: Path, share: float, rows: int) -> None:
            # The number of rows is not known before the end: it is foretold from the share.
            foretold = max(rows, round(rows / share) if share else rows)
            self.progress(f"{graph.name}: {file.name}", rows, foretold)

        for file in graph.files:
            self.progress(f"{graph.name}: {file.name}", 0, 1)
        return read_graph(graph, strict=self.config.strict, keep=self._spoken(), progress=progress)

    def in_other_languages(self) -> Iterator[pl.LazyFrame]:
        """Read the graphs again for the triples that were skipped: most of a big graph."""
        import polars as pl

        from boxpen.build.kg.read.graph import read_graph

        reason = pl.format("the language is {}", "language")
        for graph in self.config.graphs:
            for chunk in read_graph(graph, keep=self._spoken()):
                yield chunk.skipped().with_columns(step=pl.lit("language"), reason=reason)

    def _spoken(self) -> list[pl.Expr]:
        """Return what a row must be to be read at all."""
        import polars as pl

        wanted = self.config.filter.language
        if wanted is None:
            return []
        return [pl.col("language").is_null() | (pl.col("language") == wanted)]
