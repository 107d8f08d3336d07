"""The build of a suite from knowledge graphs, stage by stage.

``read`` → ``filter`` → ``rank`` → ``sample`` → (``accept``) → ``negatives`` → ``render``. Every
stage reads the Parquet files of those before it, writes its own into the build's folder, and is
left out where nothing it rests on has changed. What a stage drops, it writes down with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from boxpen.build.kg.config import KgConfig
from boxpen.build.kg.work import Progress, Work
from boxpen.build.libraries import need_libraries
from boxpen.build.stages import Report, Stages
from boxpen.errors import BuildError

__all__ = ["STAGES", "Done", "build_kg"]

STAGES = ("read", "filter", "rank", "sample", "accept", "negatives", "render")
_VERSION = 3
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
    need_libraries()
    if stage in (None, "render"):
        _check_templates(config)  # a slip is told before hours of reading and ranking
    if stage == "accept" and config.review is None:
        raise BuildError(f"{config.path} has no table [review], so there is nothing to accept")
    build = _Build(config, Stages(config.folder), progress or (lambda *_: None))
    for name in STAGES if stage is None else (stage,):
        if name == "accept" and config.review is None:
            continue
        yield build.do(name, force=force)


class _Build:
    """The stages of one configuration, and what each of them rests on."""

    def __init__(self, config: KgConfig, stages: Stages, progress: Progress) -> None:
        self.config = config
        self.stages = stages
        self.work = Work(config, progress)

    def do(self, name: str, *, force: bool) -> Done:
        settings, inputs, outputs = self._rests_on(name)
        self._check_journals(inputs)
        report, fresh = self.stages.run(
            name,
            settings={"version": _VERSION, "seed": self.config.seed, **settings},
            inputs=inputs,
            outputs=outputs,
            work=getattr(self.work, name),
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
                [self.work.at("triples.parquet")],
                ["filtered.parquet", "dropped.parquet"],
            ),
            "rank": (
                asdict(config.rank),
                [self.work.at("filtered.parquet")],
                ["ranked.parquet", "dropped-rank.parquet"],
            ),
            "sample": (
                asdict(config.sample),
                [self.work.at("ranked.parquet")],
                ["sampled.parquet", "dropped-sample.parquet"],
            ),
        }
        if name in table:
            return table[name]
        if name == "accept":
            assert config.review is not None
            return (
                asdict(config.review),
                [self.work.at("sampled.parquet"), config.review.journal],
                ["accepted.parquet", "rejected.parquet", "open.parquet"],
            )
        if name == "negatives":
            return (
                asdict(config.negatives),
                [self.work.chosen, self.work.at("ranked.parquet"), self.work.at("triples.parquet")],
                ["negatives.parquet"],
            )
        return (
            {"name": config.name, **asdict(config.render)},
            [
                self.work.at("negatives.parquet"),
                *config.render.templates,
                *([review.wrong_journal] if review and review.wrong_journal else []),
            ],
            ["tests.parquet", self.work.suite_file],
        )

    def _check_journals(self, inputs: list[Path]) -> None:
        review = self.config.review
        for path in (review.journal, review.wrong_journal) if review else ():
            if path in inputs and not path.is_file():
                raise BuildError(
                    f"there is no {path} with the judgements of people yet; "
                    "'boxpen review import' writes it"
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
