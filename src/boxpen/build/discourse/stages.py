"""The build of a suite from subtitles.

``read`` → ``clean`` → ``mine`` → ``sample`` → (``accept``) → ``write``.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from boxpen.build.builders import Builder
from boxpen.build.discourse import work as files
from boxpen.build.discourse.config import EXAMPLE, DiscourseConfig
from boxpen.build.discourse.filters import LineFilter
from boxpen.build.discourse.texts import text_files
from boxpen.build.discourse.work import Work
from boxpen.build.runner import Parts, Progress, Stage
from boxpen.config import load_config

__all__ = ["BUILDER"]

_VERSION = 6
_PATHS = ("tsv", "source", "target", "ids", "alignment", "folder")


def _stages(config: DiscourseConfig, progress: Progress) -> list[Stage]:
    work, reviewed, seed = Work(config, progress), config.review is not None, {"seed": config.seed}
    excluded = {suite.name: suite.hash for suite in work.excluded}  # before hours of reading
    words = Path(str(resources.files("boxpen.build.discourse").joinpath("data", "words.toml")))
    stages = [
        Stage(
            name="read",
            run=work.read,
            reads=[file for spec in config.texts for file in text_files(spec)],
            writes=[files.TEXTS],
            settings={
                "texts": [_without(spec, *_PATHS) for spec in config.texts],
                "languages": config.languages,
            },
        ),
        Stage(
            name="clean",
            run=work.clean,
            parts=Parts(listed=partial(work.parts_of, files.TEXTS), do=work.clean_part),
            reads=[files.TEXTS],
            writes=[files.LINES],
            settings={
                "clean": _without(config.clean, "exclude"),
                "languages": config.languages,
            },
            reread={
                rule: partial(work.dropped_lines, rule)
                for rule in LineFilter(config.clean, *config.languages).counts
            },
        ),
        Stage(
            name="mine",
            run=work.mine,
            parts=Parts(listed=partial(work.parts_of, files.LINES), do=work.mine_part),
            reads=[files.LINES, words],
            writes=[files.CANDIDATES],
            settings=seed
            | {"mine": asdict(config.mine), "exclude": excluded}
            | {"languages": config.languages, "phenomena": [asdict(p) for p in config.phenomena]},
        ),
        Stage(
            name="sample",
            run=work.sample,
            reads=[files.CANDIDATES],
            writes=[files.SAMPLED, files.NOT_SAMPLED],
            settings=seed | asdict(config.sample) | {"review": reviewed, "wanted": config.wanted},
            dropped=files.NOT_SAMPLED,
        ),
        Stage(
            name="accept",
            run=work.accept,
            reads=[files.SAMPLED, config.journal],
            writes=[files.ACCEPTED, files.REJECTED],
            settings=_without(config.review, "journal") | {"wanted": config.wanted},
            dropped=files.REJECTED,
            hint="'boxpen review import' writes it",
        ),
        Stage(
            name="write",
            run=work.write,
            reads=[work.chosen],
            writes=[work.suite_file],
            settings={
                "name": config.name,
                "texts": [spec.name for spec in config.texts],
                "review": reviewed,
                "languages": config.languages,
                **asdict(config.suite),
            },
        ),
    ]
    return [stage for stage in stages if stage.name != "accept" or reviewed]


BUILDER: Builder[DiscourseConfig] = Builder(
    load=lambda path: load_config(DiscourseConfig, path),
    stages=_stages,
    version=_VERSION,
    example=EXAMPLE,
    shown=("class", "source", "target"),
)


def _without(table: Any, *names: str) -> dict[str, Any]:
    """Return the settings of a table, without those that do not change the result."""
    found = {} if table is None else asdict(table)
    return {name: value for name, value in found.items() if name not in names}
