"""The builder of suites from knowledge graphs: its stages, and what each of them does.

``read`` → ``filter`` → ``rank`` → ``sample`` → (``accept``) → ``negatives`` → ``render``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import polars as pl

from boxpen.build.builders import Builder
from boxpen.build.kg.config import EXAMPLE, KgConfig, read_config
from boxpen.build.kg.filter.filters import dropped_schema, filter_triples
from boxpen.build.kg.negatives import Limits, sample_negatives
from boxpen.build.kg.rank_parts import RankParts
from boxpen.build.kg.read.chunk import broken_schema
from boxpen.build.kg.read.graph import read_graph
from boxpen.build.kg.sample import sample_triples
from boxpen.build.kg.triples import read_table, schema
from boxpen.build.kg.wording.render import render
from boxpen.build.kg.wording.templates import load_templates
from boxpen.build.libraries import need_libraries
from boxpen.build.runner import Parts, Progress, Report, Stage, steps_of
from boxpen.build.sink import ParquetSink
from boxpen.build.tables import write_table
from boxpen.config import one_of
from boxpen.errors import BuildError, ConfigError
from boxpen.items import Card, Suite

__all__ = ["BUILDER", "FILTERED"]

_VERSION = 5
_RULES = 2  # of wrong tails: raised instead of the version, so that nothing is ranked again

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
        self.suite_file = f"{config.name}.jsonl"
        self.chosen = SAMPLED if config.review is None else ACCEPTED
        language = pl.col("language")
        wanted = config.filter.language
        self.ranking = RankParts(self._at(FILTERED), config.rank, config.seed)
        self.keep = None if wanted is None else language.is_null() | (language == wanted)

    def stages(self) -> list[Stage]:
        """Return the stages in their order."""
        config, review, seed = self.config, self.config.review, {"seed": self.config.seed}
        wrong = [] if review is None or review.wrong_journal is None else [review.wrong_journal]
        decided = {} if review is None or not wrong else {"review": asdict(review)}
        language = {"language": config.filter.language}
        hint = "'boxpen review import' writes it"
        accept = []
        if review is not None:
            accept = [
                Stage(
                    name="accept",
                    run=self.accept,
                    reads=[SAMPLED, review.journal_in(config.folder)],
                    writes=[ACCEPTED, REJECTED, OPEN],
                    settings=asdict(review),
                    dropped=REJECTED,
                    hint=hint,
                )
            ]
        graphs = [asdict(graph) for graph in config.graphs]
        return [
            Stage(
                name="read",
                run=self.read,
                reads=[file for graph in config.graphs for file in graph.files],
                writes=[TRIPLES, BROKEN],
                settings={"graphs": graphs, "strict": config.strict} | language,
                reread={"language": self.in_other_languages},
            ),
            Stage(
                name="filter",
                run=self.filter,
                reads=[TRIPLES],
                writes=[FILTERED, DROPPED],
                settings=asdict(config.filter),
                dropped=DROPPED,
            ),
            Stage(
                name="rank",
                run=self.rank,
                parts=Parts(listed=self.ranking.listed, do=self.ranking.do),
                reads=[FILTERED],
                writes=[RANKED, DROPPED_BY_RANK],
                settings=seed | asdict(config.rank),
                dropped=DROPPED_BY_RANK,
            ),
            Stage(
                name="sample",
                run=self.sample,
                reads=[RANKED],
                writes=[SAMPLED, DROPPED_BY_SAMPLE],
                settings=seed | asdict(config.sample) | {"relations": config.filter.relations},
                dropped=DROPPED_BY_SAMPLE,
            ),
            *accept,
            Stage(
                name="negatives",
                run=self.negatives,
                reads=[self.chosen, RANKED, TRIPLES],
                writes=[NEGATIVES],
                settings=seed | asdict(config.negatives) | language | {"rules": _RULES},
            ),
            Stage(
                name="render",
                run=self.render,
                reads=[NEGATIVES, *config.render.templates, *wrong],
                writes=[TESTS, self.suite_file],
                settings=seed | {"name": config.name, **asdict(config.render)} | decided,
                hint=hint,
            ),
        ]

    def read(self) -> Report:
        """Read the graphs into one table."""
        rows: Counter[str] = Counter()
        refused = 0
        first = ""
        with (
            ParquetSink(self._at(TRIPLES), schema()) as triples,
            ParquetSink(self._at(BROKEN), broken_schema()) as broken,
        ):
            for graph in self.config.graphs:

                def progress(file: Path, share: float, rows: int, name: str = graph.name) -> None:
                    # The number of rows is unknown before the end: it is estimated from the share.
                    total = max(rows, round(rows / share) if share else rows)
                    self.progress(f"{name}: {file.name}", rows, total)

                for file in graph.files:
                    self.progress(f"{graph.name}: {file.name}", 0, 1)
                for chunk in read_graph(
                    graph, strict=self.config.strict, keep=self.keep, progress=progress
                ):
                    triples.add(chunk.triples)
                    broken.add(chunk.broken)
                    rows[graph.name] += chunk.rows
                    refused += chunk.refused
                    if not first and chunk.broken.height:
                        first = "; the first, {}, line {}: {}".format(*chunk.broken.row(0))
        if not triples.rows:
            wanted = self.config.filter.language
            other = f"{refused:,} triples are in other languages than '{wanted}', "
            listed = f" (listed in {self._at(BROKEN)})" if broken.rows else ""
            raise BuildError(
                f"no triple could be read: {other if refused else ''}{broken.rows:,} rows are "
                f"broken{listed}{first}"
            )
        note = f"; {broken.rows:,} broken rows in {BROKEN}" if broken.rows else ""
        dropped = {"language": refused} if refused else {}
        return {
            "says": f"{rows.total():,} rows, {triples.rows:,} triples{note}",
            "steps": steps_of(triples.rows + refused, dropped),
            "rows": dict(rows),
            "triples": triples.rows,
            "broken": broken.rows,
        }

    def in_other_languages(self) -> Iterator[pl.LazyFrame]:
        """Read the graphs again for the triples that were skipped: most of a big graph."""
        reason = pl.format("the language is {}", "language")
        for graph in self.config.graphs:
            for chunk in read_graph(graph, keep=self.keep):
                yield chunk.skipped().with_columns(step=pl.lit("language"), reason=reason)

    def filter(self) -> Report:
        """Drop triples that make no test."""
        refusal: BuildError | None = None
        with ParquetSink(self._at(DROPPED), dropped_schema()) as sink:
            try:
                found = filter_triples(self._at(TRIPLES), self.config.filter, sink.add)
            except BuildError as error:
                if not sink.rows:
                    raise
                refusal = error  # the dropped rows are written all the same
            else:
                write_table(found.kept, self._at(FILTERED))
        if refusal is not None:
            raise refusal
        report = found.report
        absent = f"; none of the relation {', '.join(report.absent)}" if report.absent else ""
        return {
            "says": f"{report.kept:,} of {report.rows:,} triples stay{absent}",
            "steps": steps_of(report.rows, report.totals),
            **report.as_dict(),
        }

    def rank(self, results: Iterator[bytes]) -> Report:
        """Word the triples and rank them."""
        ranked = self.ranking.ranked(results, self.progress)
        drawn = self.ranking.drawn
        triples = drawn.table.height + drawn.dropped.height
        undrawn = drawn.dropped.with_columns(step=pl.lit("draw"))
        dropped = pl.concat([undrawn, ranked.dropped.select(undrawn.columns)])
        write_table(dropped, self._at(DROPPED_BY_RANK))
        write_table(ranked.table, self._at(RANKED))
        went = Counter(dropped["step"])
        counts = {step: went[step] for step in ("draw", "wording", "fluency", "rank")}
        return {
            "says": f"{ranked.table.height:,} of {triples:,} triples stay",
            "steps": steps_of(triples, counts),
            "kept": ranked.table.height,
        }

    def sample(self) -> Report:
        """Draw triples of every relation."""
        config = self.config.sample
        table = read_table(self._at(RANKED), "tail_text")
        if not table.height:
            raise BuildError(f"{self._at(RANKED)} has no triple to draw")
        drawn = sample_triples(
            table,
            config.per_relation,
            self.config.seed,
            by=config.by,
            per_head=config.per_head,
            relations=self.config.filter.relations,
        )
        write_table(drawn.dropped, self._at(DROPPED_BY_SAMPLE))
        write_table(drawn.table, self._at(SAMPLED))
        few = ", ".join(f"{name} {count}" for name, count in drawn.short.items())
        return {
            "says": f"{drawn.table.height:,} triples" + (f"; short of: {few}" if few else ""),
            "kept": drawn.table.height,
            "short": drawn.short,
        }

    def accept(self) -> Report:
        """Keep what the judges accepted."""
        from boxpen.build.kg.review import TripleTask
        from boxpen.review import Journal

        review = self.config.review
        assert review is not None
        table = read_table(self._at(SAMPLED), "tail_text")
        task = TripleTask(table, Journal(review.journal_in(self.config.folder)))
        found = task.divide(task.review(review.decide_by(), review.min_judges))
        counts = dict(zip(("accepted", "rejected", "open"), map(len, found), strict=True))
        if not found.accepted.height:
            raise BuildError(
                f"the judges accepted none of {table.height:,} triples: {counts['rejected']:,} "
                f"are rejected, {counts['open']:,} still open"
            )
        write_table(found.dropped, self._at(REJECTED))
        write_table(found.open, self._at(OPEN))
        write_table(found.accepted, self._at(ACCEPTED))
        listed = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        return {"says": listed.replace(" accepted", " triples accepted"), **counts}

    def negatives(self) -> Report:
        """Draw wrong tails."""
        from boxpen.english.wordnet import open_wordnet

        config = self.config.negatives
        graph = read_table(self._at(TRIPLES), only=["id", "head", "relation", "tail", "language"])
        ranked = read_table(self._at(RANKED), "tail_text", "form")
        found = sample_negatives(
            read_table(self._at(self.chosen), "tail_text", "form"),
            graph if self.keep is None else graph.filter(self.keep),
            count=config.count,
            seed=self.config.seed,
            wordnet=open_wordnet() if config.wordnet else None,
            pool=ranked if config.pool == "ranked" else None,
            limits=Limits(open_ended=config.open_ended),
        )
        write_table(found.table, self._at(NEGATIVES))
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

        config = self.config.render
        items = render(
            self._answered(),
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
            notes="made by boxpen build run",
        )
        suite = Suite(self.config.name, tuple(items), card).validate()
        write_suite(suite, self._at(TESTS))
        write_suite(suite, self._at(self.suite_file))
        counts = Counter(item.tags["task"] for item in suite)
        made = ", ".join(f"{count:,} {task}" for task, count in counts.items())
        return {
            "says": f"{len(suite):,} tests ({made}) of {len(suite.blocks()):,} triples "
            f"in {self._at(self.suite_file)}",
            "tests": dict(counts),
        }

    def _answered(self) -> pl.DataFrame:
        """Return the triples with their wrong tails, without those that judges find right."""
        from boxpen.build.kg.review import WrongAnswerTask
        from boxpen.review import Journal

        table = read_table(self._at(NEGATIVES), "tail_text", "wrong_text")
        review = self.config.review
        if review is None or review.wrong_journal is None:
            return table
        task = WrongAnswerTask(table, Journal(review.wrong_journal))
        return task.divide(task.review(review.decide_by(), review.min_judges)).accepted

    def _at(self, name: str) -> Path:
        return self.config.folder / name


def _stages(config: KgConfig, progress: Progress) -> list[Stage]:
    need_libraries()
    known = load_templates(config.render.templates).tasks  # checked before hours of ranking
    try:
        for task in config.render.tasks:
            one_of(task, list(known), "a task of render.tasks")
    except ConfigError as error:
        raise ConfigError(f"{config.path}: {error}") from None
    return Work(config, progress).stages()


BUILDER: Builder[KgConfig] = Builder(
    load=read_config,
    stages=_stages,
    version=_VERSION,
    example=EXAMPLE,
    shown=("relation", "head", "tail"),
)
