"""The build of a suite from knowledge graphs, stage by stage.

``read`` → ``filter`` → ``rank`` → ``sample`` → (``accept``) → ``negatives`` → ``render``. Every
stage reads the Parquet files of those before it, writes its own into the build's folder, and is
left out where nothing it rests on has changed. What a stage drops, it writes down with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.kg.config import KgConfig
from boxpen.build.kg.triples import (
    canonical_relation,
    read_table,
    scan_table,
    schema,
    write_table,
)
from boxpen.build.sink import ParquetSink
from boxpen.build.stages import Report, Stages
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.build.kg.read import Chunk, GraphSpec
    from boxpen.items import Suite
    from boxpen.judgements import Rule

__all__ = ["STAGES", "Done", "build_kg", "dropped_triples"]

Progress = Callable[[str, int, int], None]

STAGES = ("read", "filter", "rank", "sample", "accept", "negatives", "render")
_DROPPED = ("dropped.parquet", "dropped-rank.parquet", "dropped-sample.parquet", "rejected.parquet")
_VERSION = 2
"""Raised when a mend of the code changes what a stage makes of the same input."""


@dataclass(frozen=True)
class Done:
    """A stage that is up to date.

    Attributes:
        stage: Its name.
        report: What it has to say: ``says``, a sentence, and figures.
        fresh: Whether it was done just now.
    """

    stage: str
    report: Report
    fresh: bool


def build_kg(
    config: KgConfig,
    *,
    stage: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Iterator[Done]:
    """Do the stages of a build that are not up to date.

    Args:
        config: What is built.
        stage: Only this one; all, in their order, if None.
        force: Do them even if nothing has changed.
        progress: Called as the work goes on.

    Yields:
        Each stage as it is done.

    Raises:
        BuildError: If a stage fails, or nothing is left after it.
    """
    if stage in (None, "render"):
        _check_templates(config)  # a slip is told before hours of reading and ranking
    if stage == "accept" and config.review is None:
        raise BuildError(f"{config.path} has no table [review], so there is nothing to accept")
    build = _Build(config, Stages(config.folder), progress or (lambda *_: None))
    for name in STAGES if stage is None else (stage,):
        if name == "accept" and config.review is None:
            continue
        yield build.do(name, force=force)


def dropped_triples(
    config: KgConfig, *, step: str | None = None, relation: str | None = None, limit: int = 0
) -> tuple[list[dict[str, Any]], int]:
    """Return triples that the build dropped, with step and reason, and how many there are.

    Args:
        config: Of the build.
        step: Only what this step dropped.
        relation: Only triples of this relation.
        limit: How many to return; all if 0.

    Raises:
        BuildError: If no stage that drops anything has been done, or there is no such step.
    """
    import polars as pl

    if step == "language":
        return _in_other_languages(config, relation, limit)
    names = _DROPPED if config.review is not None else _DROPPED[:-1]  # of a review that is over
    files = [p for p in (config.folder / name for name in names) if p.is_file()]
    if not files:
        raise BuildError(f"nothing was dropped in {config.folder} yet; run the filter first")
    columns = [*schema(), "step", "reason"]
    found = pl.concat([scan_table(file, "step", "reason").select(columns) for file in files])
    if step is not None:
        known = found.select(pl.col("step").unique()).collect()["step"].sort().to_list()
        if step not in known:
            listed = ", ".join(known)
            raise BuildError(f"no triple was dropped by the step '{step}', but by {listed}")
        found = found.filter(pl.col("step") == step)
    if relation is not None:
        found = found.filter(pl.col("relation") == canonical_relation(relation))
    total = int(found.select(pl.len()).collect().item())
    return (found.head(limit) if limit else found).collect().to_dicts(), total


def _in_other_languages(
    config: KgConfig, relation: str | None, limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Read the graphs again for what was skipped: most of a big one, and so written nowhere."""
    import polars as pl

    from boxpen.build.kg.read import read_graph

    rows: list[dict[str, Any]] = []
    total = 0
    for graph in config.graphs:
        for chunk in read_graph(graph, keep=_spoken(config)):
            skipped = chunk.skipped()
            if relation is not None:
                skipped = skipped.filter(pl.col("relation") == canonical_relation(relation))
            total += int(skipped.select(pl.len()).collect().item())
            wanted = limit - len(rows) if limit else total
            if wanted > 0:
                rows += skipped.head(wanted).collect().to_dicts()
    said = "the language is {language}"
    return [{**row, "step": "language", "reason": said.format(**row)} for row in rows], total


def _spoken(config: KgConfig) -> list[pl.Expr]:
    """Return what a row must be to be read at all."""
    import polars as pl

    if config.filter.language is None:
        return []
    return [pl.col("language").is_null() | (pl.col("language") == config.filter.language)]


class _Build:
    """The stages of one configuration; each method is one of them."""

    def __init__(self, config: KgConfig, stages: Stages, progress: Progress) -> None:
        self.config = config
        self.stages = stages
        self.progress = progress

    def do(self, name: str, *, force: bool) -> Done:
        settings, inputs, outputs = self._rests_on(name)
        self._check_journals(inputs)
        report, fresh = self.stages.run(
            name,
            settings={"version": _VERSION, "seed": self.config.seed, **settings},
            inputs=inputs,
            outputs=outputs,
            work=getattr(self, name),
            force=force,
        )
        return Done(name, report, fresh)

    def _rests_on(self, name: str) -> tuple[dict[str, Any], list[Path], list[str]]:
        """Return the settings of a stage, the files it reads, and those it writes."""
        config, review = self.config, self.config.review
        table: dict[str, tuple[dict[str, Any], list[Path], list[str]]] = {
            "read": (
                {
                    "graphs": [asdict(g) for g in config.graphs],
                    "strict": config.strict,
                    "language": config.filter.language,
                },
                [file for graph in config.graphs for file in graph.files],
                ["triples.parquet", "broken.parquet"],
            ),
            "filter": (
                asdict(config.filter),
                [self._at("triples.parquet")],
                ["filtered.parquet", "dropped.parquet"],
            ),
            "rank": (
                asdict(config.rank),
                [self._at("filtered.parquet")],
                ["ranked.parquet", "dropped-rank.parquet"],
            ),
            "sample": (
                asdict(config.sample),
                [self._at("ranked.parquet")],
                ["sampled.parquet", "dropped-sample.parquet"],
            ),
        }
        if name in table:
            return table[name]
        if name == "accept":
            assert config.review is not None
            return (
                asdict(config.review),
                [self._at("sampled.parquet"), config.review.journal],
                ["accepted.parquet", "rejected.parquet", "open.parquet"],
            )
        if name == "negatives":
            return (
                asdict(config.negatives),
                [self._chosen, self._at("ranked.parquet"), self._at("triples.parquet")],
                ["negatives.parquet"],
            )
        return (
            {"name": config.name, **asdict(config.render)},
            [
                self._at("negatives.parquet"),
                *config.render.templates,
                *([review.wrong_journal] if review and review.wrong_journal else []),
            ],
            ["tests.parquet", self._suite_file],
        )

    def read(self) -> Report:
        """Read the graphs into one table."""
        from boxpen.build.kg.read_chunk import broken_schema

        rows: dict[str, int] = {}
        refused = 0
        first = ""
        with (
            ParquetSink(self._at("triples.parquet"), schema()) as triples,
            ParquetSink(self._at("broken.parquet"), broken_schema()) as broken,
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
            listed = f" (listed in {self._at('broken.parquet')})" if broken.rows else ""
            raise BuildError(
                f"no triple could be read: {other if refused else ''}{broken.rows:,} rows are "
                f"broken{listed}{first}"
            )
        note = f"; {broken.rows:,} broken rows in broken.parquet" if broken.rows else ""
        steps = [{"step": "language", "dropped": refused}] if refused else []
        return {
            "says": f"{sum(rows.values()):,} rows, {triples.rows:,} triples{note}",
            "steps": _left(triples.rows + refused, steps),
            "rows": rows,
            "triples": triples.rows,
            "broken": broken.rows,
        }

    def filter(self) -> Report:
        """Drop what is no use."""
        from boxpen.build.kg.filter_report import dropped_schema
        from boxpen.build.kg.filters import filter_triples

        refusal: BuildError | None = None
        with ParquetSink(self._at("dropped.parquet"), dropped_schema()) as sink:
            try:
                found = filter_triples(self._at("triples.parquet"), self.config.filter, sink=sink)
            except BuildError as error:
                if not sink.rows:
                    raise
                refusal = error  # what was dropped is written all the same
            else:
                write_table(found.kept, self._at("filtered.parquet"))
        if refusal is not None:
            raise refusal
        report = found.report
        steps = [{"step": step, "dropped": count} for step, count in report.totals.items()]
        absent = f"; none of the relation {', '.join(report.absent)}" if report.absent else ""
        return {
            "says": f"{report.kept:,} of {report.rows:,} triples stay{absent}",
            "steps": _left(report.rows, steps),
            **report.as_dict(),
        }

    def rank(self) -> Report:
        """Word the triples and rank them."""
        import polars as pl

        from boxpen.build.kg.rank import rank_triples
        from boxpen.build.kg.sample import sample_triples
        from boxpen.models.resolve import resolve_model

        config = self.config.rank
        table = read_table(self._at("filtered.parquet"))
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
        write_table(dropped, self._at("dropped-rank.parquet"))
        write_table(ranked.table, self._at("ranked.parquet"))
        steps = [
            {"step": step, "dropped": dropped.filter(pl.col("step") == step).height}
            for step in ("draw", "wording", "fluency", "rank")
        ]
        return {
            "says": f"{ranked.table.height:,} of {table.height:,} triples stay",
            "steps": _left(table.height, steps),
            "kept": ranked.table.height,
        }

    def sample(self) -> Report:
        """Draw triples of every relation."""
        from boxpen.build.kg.sample import sample_triples

        config = self.config.sample
        table = read_table(self._at("ranked.parquet"), "tail_text")
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
        write_table(drawn.dropped, self._at("dropped-sample.parquet"))
        write_table(drawn.table, self._at("sampled.parquet"))
        few = ", ".join(f"{name} {count}" for name, count in drawn.short.items())
        return {
            "says": f"{drawn.table.height:,} triples" + (f"; short of: {few}" if few else ""),
            "kept": drawn.table.height,
            "short": drawn.short,
        }

    def accept(self) -> Report:
        """Take what the judges accepted."""
        from boxpen.build.kg.review import review_triples
        from boxpen.judgements import Journal

        config = self.config.review
        assert config is not None
        table = read_table(self._at("sampled.parquet"), "tail_text")
        found = review_triples(
            table,
            Journal(config.journal).read().judgements,
            self._rule,
            config.min_judges,
        )
        if not found.accepted.height:
            raise BuildError(
                f"the judges accepted none of {table.height:,} triples: {found.dropped.height:,} "
                f"are rejected, {found.open.height:,} still open"
            )
        write_table(found.dropped, self._at("rejected.parquet"))
        write_table(found.open, self._at("open.parquet"))
        write_table(found.accepted, self._at("accepted.parquet"))
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
        from boxpen.build.wordnet import open_wordnet

        table = read_table(self._chosen, "tail_text", "form")
        graph = read_table(
            self._at("triples.parquet"), only=["id", "head", "relation", "tail", "language"]
        )
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
            pool=read_table(self._at("ranked.parquet"), "tail_text", "form"),
        )
        write_table(found.table, self._at("negatives.parquet"))
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
        tests = self._at("tests.parquet")
        write_suite(suite, tests)
        write_suite(suite, self._at(self._suite_file))
        counts: dict[str, int] = {}
        for item in suite:
            counts[item.tags["task"]] = counts.get(item.tags["task"], 0) + 1
        made = ", ".join(f"{count:,} {task}" for task, count in counts.items())
        return {
            "says": f"{len(suite):,} tests ({made}) of {len(suite.blocks()):,} triples "
            f"in {self._at(self._suite_file)}",
            "tests": counts,
        }

    def _suite(self) -> Suite:
        from boxpen.build.kg.render import render
        from boxpen.build.kg.templates import load_templates
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
            notes="made by boxpen build kg",
        )
        return Suite(self.config.name, tuple(items), card).validate()

    def _answered(self) -> pl.DataFrame:
        """Return the triples with their wrong tails, less those that judges find right."""
        from boxpen.build.kg.review import review_wrong_tails
        from boxpen.judgements import Journal

        table = read_table(self._at("negatives.parquet"), "tail_text", "wrong_text")
        review = self.config.review
        if review is None or review.wrong_journal is None:
            return table
        judgements = Journal(review.wrong_journal).read().judgements
        return review_wrong_tails(table, judgements, self._rule, review.min_judges).accepted

    def _check_journals(self, inputs: list[Path]) -> None:
        review = self.config.review
        for path in (review.journal, review.wrong_journal) if review else ():
            if path in inputs and not path.is_file():
                raise BuildError(
                    f"there is no {path} with the judgements of people yet; "
                    "'boxpen build kg review import' writes it"
                )

    @property
    def _rule(self) -> Rule:
        from boxpen.judgements import Rule

        review = self.config.review
        assert review is not None
        otherwise = "reject" if review.divided == "reject" else None
        return Rule(review.rule, otherwise=otherwise, adjudicator=review.adjudicator)

    @property
    def _chosen(self) -> Path:
        return self._at("sampled.parquet" if self.config.review is None else "accepted.parquet")

    @property
    def _suite_file(self) -> str:
        return f"{self.config.name}.jsonl"

    def _at(self, name: str) -> Path:
        return self.config.folder / name

    def _chunks(self, graph: GraphSpec) -> Iterator[Chunk]:
        """Read a graph; rows in other languages are counted and skipped before they cost much."""
        from boxpen.build.kg.read import read_graph

        def progress(file: Path, share: float, rows: int) -> None:
            # The number of rows is not known before the end: it is foretold from the share.
            foretold = max(rows, round(rows / share) if share else rows)
            self.progress(f"{graph.name}: {file.name}", rows, foretold)

        for file in graph.files:
            self.progress(f"{graph.name}: {file.name}", 0, 1)
        return read_graph(
            graph, strict=self.config.strict, keep=_spoken(self.config), progress=progress
        )


def _check_templates(config: KgConfig) -> None:
    from boxpen.build.kg.templates import load_templates
    from boxpen.errors import nearest

    known = load_templates(config.render.templates).tasks
    for task in config.render.tasks:
        if task not in known:
            raise BuildError(
                f"{config.path} [render] has the unknown task '{task}', "
                f"{nearest(task, list(known))}"
            )


def _left(rows: int, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say how many triples are left after every step."""
    out = []
    for step in steps:
        rows -= step["dropped"]
        out.append({**step, "left": rows})
    return out
