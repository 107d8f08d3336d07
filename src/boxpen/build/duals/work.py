"""A build of duals: the folder with its files, and the stages that write them.

``propose`` makes all duals that the rules can make; ``rank`` asks a language model how well they
read and keeps the best. Both are left out where nothing that they rest on has changed.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.duals.propose import (
    OPERATIONS,
    Proposal,
    Unchanged,
    check_operation,
    propose,
    sentence_pairs,
)
from boxpen.build.duals.rows import dual_rows, write_rows, write_unchanged
from boxpen.build.kg.pipeline import Done
from boxpen.build.libraries import need_libraries
from boxpen.build.stages import Report, Stages
from boxpen.errors import BuildError

if TYPE_CHECKING:
    from boxpen.items import Choice, Suite
    from boxpen.models.base import Model

__all__ = ["FILES", "PROPOSALS", "RECORD", "SOURCE", "UNCHANGED", "DualsConfig", "build_duals"]

PROPOSALS = "proposals.parquet"
"""The duals that people judge."""
SOURCE = "source.jsonl"
"""The suite that they are made of."""
UNCHANGED = "unchanged.parquet"
"""What was left as it is, and why."""
RECORD = "stages.json"
"""What was done; there is none before the first stage is."""
FILES = {
    PROPOSALS: "the duals that were proposed",
    SOURCE: "the originals",
    UNCHANGED: "what was left unchanged",
    RECORD: "the record of the build",
}
"""What the build writes, and what each of the files holds."""
_VERSION = 5  # raised when a mend of the rules changes what they make of the same sentences
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class DualsConfig:
    """What is proposed.

    Attributes:
        model: The language model that ranks; "none" ranks nothing.
        operations: What is done to pairs, each once; everything if empty.
        top: Duals of every item and operation.
        least: Least fluency of a dual; no limit if None.
        sample: So many pairs, drawn by the seed; all if None.
        seed: Decides the lots.
        device: Where the model computes.
    """

    model: str = "smollm2"
    operations: tuple[str, ...] = ()
    top: int = 2
    least: float | None = -1.0
    sample: int | None = None
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        for name in self.operations:
            check_operation(name)
        object.__setattr__(self, "operations", tuple(dict.fromkeys(self.operations)))
        for name, value in (("top", self.top), ("sample", self.sample)):
            if value is not None and value < 1:
                raise BuildError(f"{name} is {value}, expected 1 or more")
        if self.least is not None and self.least != self.least:
            raise BuildError("--min-fluency is not a number, expected one")


def build_duals(
    suite: Suite,
    folder: Path,
    config: DualsConfig,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Done]:
    """Propose and rank the duals of a suite.

    Args:
        suite: Pairs of sentences, perhaps among other items.
        folder: Where the files go.
        config: What is proposed.
        force: Do it even if nothing has changed.
        progress: Called as the work goes on.

    Raises:
        BuildError: If the suite has no pairs, the folder is another suite's, or nothing is left.
    """
    need_libraries()
    pairs, others = sentence_pairs(suite)
    _check_folder(folder, suite)
    model = _model(config)
    with _no_empty_folder(folder):
        return _stages(suite, pairs, others, folder, config, model, force=force, progress=progress)


def _stages(
    suite: Suite,
    pairs: Sequence[Choice],
    others: Sequence[Unchanged],
    folder: Path,
    config: DualsConfig,
    model: Model | None,
    *,
    force: bool,
    progress: Progress | None,
) -> list[Done]:
    stages = Stages(folder)
    made: list[Proposal] = []

    def proposals() -> list[Proposal]:
        # The rules are quick, and what they make is held in no file of its own.
        if not made:
            made.extend(propose(_drawn(pairs, config), config.operations or None).proposals)
        return made

    def first() -> Report:
        return _propose(suite, pairs, others, folder, config, made)

    def second() -> Report:
        return _rank(proposals(), pairs, folder, config, model, progress)

    asked = {
        "version": _VERSION,
        "suite": suite.hash,
        "operations": list(config.operations),
        "sample": config.sample,
        "seed": config.seed if config.sample else None,
    }
    lists = _word_lists()
    outputs = [SOURCE, UNCHANGED]
    report, fresh = stages.run(
        "propose", settings=asked, inputs=lists, outputs=outputs, work=first, force=force
    )
    done = [Done("propose", report, fresh)]
    ranking = {
        **asked,
        "model": None if model is None else model.fingerprint,
        "top": config.top,
        "least": config.least,
    }
    report, fresh = stages.run(
        "rank", settings=ranking, inputs=lists, outputs=[PROPOSALS], work=second, force=force
    )
    return [*done, Done("rank", report, fresh)]


def _propose(
    suite: Suite,
    pairs: Sequence[Choice],
    others: Sequence[Unchanged],
    folder: Path,
    config: DualsConfig,
    made: list[Proposal],
) -> Report:
    from boxpen.catalog import write_suite

    drawn = _drawn(pairs, config)
    found = propose(drawn, config.operations or None)
    if not found.proposals:
        reason, count = Counter(one.reason for one in found.unchanged).most_common(1)[0]
        raise BuildError(
            f"no rule can change any of {len(drawn):,} pairs of suite '{suite.name}'; most often "
            f"({count:,} times): {reason}"
        )
    made[:] = found.proposals
    write_suite(suite, folder / SOURCE)
    write_unchanged([*others, *found.unchanged], folder / UNCHANGED)
    changed = {one.item for one in found.proposals}
    whole = [one for one in found.unchanged if one.item not in changed]
    return {
        "says": f"{len(found.proposals):,} duals of {len(changed):,} of {len(drawn):,} pairs",
        "pairs": len(drawn),
        "changed": len(changed),
        "no_pairs": len(others),
        "duals": _counts(found.proposals),
        "unchanged": [
            {"reason": reason, "pairs": count}
            for reason, count in Counter(
                {one.item: one.reason for one in reversed(whole)}.values()
            ).most_common()
        ],
    }


def _rank(
    proposals: Sequence[Proposal],
    pairs: Sequence[Choice],
    folder: Path,
    config: DualsConfig,
    model: Model | None,
    progress: Progress | None,
) -> Report:
    from boxpen.build.duals.rank import rank_proposals, shortlist

    items = {item.id: item for item in pairs}
    ranked = rank_proposals(proposals, items, model, progress=progress)
    best = shortlist(ranked, config.top, config.least)
    if not best:
        raise BuildError(
            f"none of {len(ranked):,} duals has a fluency of {config.least} or more; give a "
            "smaller --min-fluency"
        )
    write_rows(dual_rows(best, items), folder / PROPOSALS)
    kept = [one.proposal for one in best]
    still = {one.item for one in kept}
    return {
        "says": f"{len(best):,} of {len(ranked):,} duals stay, of {len(still):,} pairs",
        "lost": len({one.item for one in proposals} - still),
        "duals": _counts(kept),
    }


def _counts(proposals: Sequence[Proposal]) -> list[dict[str, Any]]:
    """Return how many duals every kind of edit has."""
    found = Counter((p.edit.operation, p.edit.kind, p.expected) for p in proposals)
    order = list(OPERATIONS)
    return [
        {"operation": operation, "edit": kind, "expected": expected, "duals": count}
        for (operation, kind, expected), count in sorted(
            found.items(), key=lambda one: (order.index(one[0][0]), one[0])
        )
    ]


def _drawn(pairs: Sequence[Choice], config: DualsConfig) -> list[Choice]:
    """Return pairs by lot, in the order of the suite."""
    if config.sample is None or config.sample >= len(pairs):
        return list(pairs)
    lots = {item.id: random.Random(f"{config.seed} {item.id}").random() for item in pairs}
    first = set(sorted(lots, key=lambda one: (lots[one], one))[: config.sample])
    return [item for item in pairs if item.id in first]


def _model(config: DualsConfig) -> Model | None:
    if config.model == "none":
        return None
    from boxpen.build.ranker import check_ranker
    from boxpen.models.resolve import resolve_model

    model = resolve_model(config.model, device=config.device)
    check_ranker(model, "duals")
    return model


def _check_folder(folder: Path, suite: Suite) -> None:
    """Refuse to put the duals of one suite over those of another, which people may have judged."""
    path = folder / SOURCE
    if not path.is_file():
        return
    from boxpen.catalog import read_suite

    before = read_suite(path)
    if before.name != suite.name:
        raise BuildError(
            f"{folder} has the duals of suite '{before.name}', not of '{suite.name}'; give another "
            "--out"
        )


@contextlib.contextmanager
def _no_empty_folder(folder: Path) -> Iterator[None]:
    """Take back the folders that a build makes, if it fails or is stopped with nothing in them."""
    missing = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
    try:
        yield
    except BaseException:
        for one in missing:  # the innermost first; one that is not empty stays
            with contextlib.suppress(OSError):
                one.rmdir()
        raise


def _word_lists() -> list[Path]:
    """Return the files with the words that the rules go by."""
    folder = Path(str(resources.files("boxpen.build.duals").joinpath("data")))
    return sorted(folder.glob("*.toml"))
