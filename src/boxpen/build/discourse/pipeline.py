"""The build of a suite from subtitles, stage by stage.

``read`` → ``mine`` → ``sample`` → (``accept``) → ``write``. Every stage reads the files of those
before it, writes its own into the build's folder, and is left out where nothing it rests on has
changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from boxpen.build.discourse.config import DiscourseConfig
from boxpen.build.discourse.read import text_files
from boxpen.build.discourse.work import Progress, Work
from boxpen.build.kg.pipeline import Done
from boxpen.build.stages import Stages
from boxpen.errors import BuildError

__all__ = ["STAGES", "build_discourse"]

STAGES = ("read", "mine", "sample", "accept", "write")
_VERSION = 4
"""Raised when a mend of the code changes what a stage makes of the same input."""
_PATHS = ("tsv", "source", "target", "ids", "alignment", "folder")


def build_discourse(
    config: DiscourseConfig,
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
    if stage == "accept" and config.review is None:
        raise BuildError(f"{config.path} has no table [review], so there is nothing to accept")
    build = _Build(config, progress or (lambda *_: None))
    for name in STAGES if stage is None else (stage,):
        if name != "accept" or config.review is not None:
            yield build.do(name, force=force)


class _Build:
    """The stages of one configuration, and what each of them rests on."""

    def __init__(self, config: DiscourseConfig, progress: Progress) -> None:
        self.config = config
        self.work = Work(config, progress)
        # A slip is told before hours of reading.
        self.excluded = {suite.name: suite.hash for suite in self.work.excluded}
        self.stages = Stages(config.folder)

    def do(self, name: str, *, force: bool) -> Done:
        settings, inputs, outputs = self._rests_on(name)
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
        config, at = self.config, self.work.at
        if name == "read":
            told = [
                {key: value for key, value in asdict(spec).items() if key not in _PATHS}
                for spec in config.texts
            ]  # where a text is does not matter: its content is looked at
            clean = {k: v for k, v in asdict(config.clean).items() if k != "exclude"}
            files = [file for spec in config.texts for file in text_files(spec)]
            return {"texts": told, "clean": clean}, files, ["lines.parquet"]
        if name == "mine":
            mine = {k: v for k, v in asdict(config.mine).items() if k != "processes"}
            inputs = [at("lines.parquet"), *_word_lists()]
            return {"mine": mine, "exclude": self.excluded}, inputs, ["candidates.parquet"]
        if name == "sample":
            sample = {**asdict(config.sample), "review": config.review is not None}
            return sample, [at("candidates.parquet")], ["sampled.parquet"]
        if name == "accept":
            assert config.review is not None
            if not config.journal.is_file():
                raise BuildError(
                    f"there is no {config.journal} with the judgements of people yet; "
                    "'boxpen review import' writes it"
                )
            review = {k: v for k, v in asdict(config.review).items() if k != "journal"}
            inputs = [at("sampled.parquet"), config.journal]
            return {**review, "wanted": config.sample.wanted}, inputs, ["accepted.parquet"]
        told_of_suite = {
            "name": config.name,
            "texts": [spec.name for spec in config.texts],
            "review": config.review is not None,
            **asdict(config.suite),
        }
        return told_of_suite, [self.work.chosen], [self.work.suite_file]


def _word_lists() -> list[Path]:
    """Return the files with the words that the rules go by."""
    folder = Path(str(resources.files("boxpen.build.discourse").joinpath("data")))
    return sorted(folder.glob("*.toml"))
