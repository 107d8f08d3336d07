"""The build of a suite from knowledge graphs.

``read`` → ``filter`` → ``rank`` → ``sample`` → (``accept``) → ``negatives`` → ``render``.
"""

from __future__ import annotations

from dataclasses import asdict

from boxpen.build.builders import Builder
from boxpen.build.kg.config import EXAMPLE, KgConfig, read_config
from boxpen.build.kg.work import (
    ACCEPTED,
    BROKEN,
    DROPPED,
    DROPPED_BY_RANK,
    DROPPED_BY_SAMPLE,
    FILTERED,
    NEGATIVES,
    OPEN,
    RANKED,
    REJECTED,
    SAMPLED,
    TESTS,
    TRIPLES,
    Work,
)
from boxpen.build.libraries import need_libraries
from boxpen.build.runner import Progress, Stage
from boxpen.config import one_of
from boxpen.errors import ConfigError

__all__ = ["BUILDER"]

_VERSION = 3


def _stages(config: KgConfig, progress: Progress) -> list[Stage]:
    need_libraries()
    _check_templates(config)  # before hours of reading and ranking
    work, review, seed = Work(config, progress), config.review, {"seed": config.seed}
    journals = [] if review is None else [review.journal_in(config.folder)]
    wrong = [] if review is None or review.wrong_journal is None else [review.wrong_journal]
    hint = "'boxpen review import' writes it"
    stages = [
        Stage(
            name="read",
            run=work.read,
            reads=[file for graph in config.graphs for file in graph.files],
            writes=[TRIPLES, BROKEN],
            settings={
                "graphs": [asdict(graph) for graph in config.graphs],
                "strict": config.strict,
                "language": config.filter.language,
            },
            reread={"language": work.in_other_languages},
        ),
        Stage(
            name="filter",
            run=work.filter,
            reads=[TRIPLES],
            writes=[FILTERED, DROPPED],
            settings=asdict(config.filter),
            dropped=DROPPED,
        ),
        Stage(
            name="rank",
            run=work.rank,
            reads=[FILTERED],
            writes=[RANKED, DROPPED_BY_RANK],
            settings=seed | asdict(config.rank),
            dropped=DROPPED_BY_RANK,
        ),
        Stage(
            name="sample",
            run=work.sample,
            reads=[RANKED],
            writes=[SAMPLED, DROPPED_BY_SAMPLE],
            settings=seed | asdict(config.sample) | {"relations": config.filter.relations},
            dropped=DROPPED_BY_SAMPLE,
        ),
        Stage(
            name="accept",
            run=work.accept,
            reads=[SAMPLED, *journals],
            writes=[ACCEPTED, REJECTED, OPEN],
            settings={} if review is None else asdict(review),
            dropped=REJECTED,
            hint=hint,
        ),
        Stage(
            name="negatives",
            run=work.negatives,
            reads=[work.chosen, RANKED, TRIPLES],
            writes=[NEGATIVES],
            settings=seed | asdict(config.negatives) | {"language": config.filter.language},
        ),
        Stage(
            name="render",
            run=work.render,
            reads=[NEGATIVES, *config.render.templates, *wrong],
            writes=[TESTS, work.suite_file],
            settings=seed | {"name": config.name, **asdict(config.render)},
            hint=hint,
        ),
    ]
    return [stage for stage in stages if stage.name != "accept" or review is not None]


BUILDER: Builder[KgConfig] = Builder(
    load=read_config,
    stages=_stages,
    version=_VERSION,
    example=EXAMPLE,
    shown=("relation", "head", "tail"),
)


def _check_templates(config: KgConfig) -> None:
    from boxpen.build.kg.wording.templates import load_templates

    known = load_templates(config.render.templates).tasks
    try:
        for task in config.render.tasks:
            one_of(task, list(known), "a task of render.tasks")
    except ConfigError as error:
        raise ConfigError(f"{config.path}: {error}") from None
