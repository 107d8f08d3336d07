"""The build of duals from the sentence pairs of a suite.

``propose`` makes all duals that the rules can make; ``rank`` asks a language model how well they
read and keeps the best. Judges decide which of them are good.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from boxpen.build.builders import Builder
from boxpen.build.duals.propose import (
    OPERATIONS,
    Proposal,
    Proposed,
    contested,
    propose,
    sentence_pairs,
)
from boxpen.build.duals.rows import SCHEMA, dual_rows, write_rows
from boxpen.build.libraries import need_libraries
from boxpen.build.runner import RECORD, Progress, Report, Stage
from boxpen.build.tables import write_dropped, write_table
from boxpen.catalog import load_suite, read_suite, write_suite
from boxpen.config import AtLeast1, ConfigPath, load_config
from boxpen.errors import BuildError
from boxpen.items import Choice

if TYPE_CHECKING:
    from boxpen.models.base import Model

__all__ = ["BUILDER", "FILES", "PROPOSALS", "SOURCE", "UNCHANGED", "DualsConfig"]

PROPOSALS = "proposals.parquet"
SOURCE = "source.jsonl"
UNCHANGED = "unchanged.parquet"
DROPPED = "dropped-rank.parquet"
FILES = {
    PROPOSALS: "the duals that were proposed",
    SOURCE: "the originals",
    UNCHANGED: "what was left unchanged",
    DROPPED: "the duals that were dropped",
    RECORD: "the record of the build",
}
"""What the build writes, and what each of the files holds."""
_VERSION = 6

EXAMPLE = """\
# boxpen build run THIS_FILE
builder = "duals"
suite = "cats.sm"        # sentence pairs: the name of a suite, or a .jsonl file
folder = "my-duals"      # for the files of the build, beside this one

model = "smollm2"        # the language model that ranks duals by fluency; "none" ranks nothing
operations = ["add", "del", "sub", "swap"]
top = 2                  # duals per pair and operation
min_fluency = -1.0       # smallest change of the log-probability per token

# sample = 100           # draw this many pairs at random; all by default
seed = 0
"""


@dataclass(frozen=True, kw_only=True)
class DualsConfig:
    """The configuration; see ``EXAMPLE``. Without ``operations`` all are tried."""

    path: ConfigPath
    builder: Literal["duals"] = "duals"
    suite: str
    folder: ConfigPath
    model: str = "smollm2"
    operations: tuple[Literal["add", "del", "sub", "swap"], ...] = ()
    top: AtLeast1 = 2
    min_fluency: float | None = -1.0
    sample: AtLeast1 | None = None
    seed: int = 0
    device: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "operations", tuple(dict.fromkeys(self.operations)))


def _stages(config: DualsConfig, progress: Progress) -> list[Stage]:
    need_libraries()
    work = _Work(config, progress)
    words = [Path(str(resources.files("boxpen.english").joinpath("data", "sentences.toml")))]
    proposing = {
        "suite": work.suite.hash,
        "operations": list(config.operations),
        "sample": config.sample,
        "seed": config.seed if config.sample else None,
    }
    return [
        Stage(
            name="propose",
            run=work.propose,
            reads=words,
            writes=[SOURCE, UNCHANGED],
            settings=proposing,
            dropped=UNCHANGED,
        ),
        Stage(
            name="rank",
            run=work.rank,
            reads=words,
            writes=[PROPOSALS, DROPPED],
            settings={
                **proposing,
                "model": None if work.model is None else work.model.fingerprint,
                "top": config.top,
                "least": config.min_fluency,
            },
            dropped=DROPPED,
        ),
    ]


BUILDER: Builder[DualsConfig] = Builder(
    load=lambda path: load_config(DualsConfig, path),
    stages=_stages,
    version=_VERSION,
    example=EXAMPLE,
    shown=("item", "first", "second"),
)


class _Work:
    """What the stages of one configuration do."""

    def __init__(self, config: DualsConfig, progress: Progress) -> None:
        self.config = config
        self.progress = progress
        beside = config.path.parent / config.suite
        self.suite = load_suite(beside if beside.is_file() else config.suite)
        pairs, self.others = sentence_pairs(self.suite)
        self.contested = contested(pairs)
        self.pairs = _drawn(pairs, config)
        source = config.folder / SOURCE
        # Judges may have worked on the duals of another suite.
        if source.is_file() and (before := read_suite(source).name) != self.suite.name:
            raise BuildError(
                f"{config.folder} has the duals of suite '{before}', not of '{self.suite.name}'; "
                "give another folder"
            )
        self.model = _model(config)

    @cached_property
    def proposed(self) -> Proposed:
        """What the rules make: they are quick, so it is kept in no file of its own."""
        return propose(self.pairs, self.config.operations or None, self.contested)

    def propose(self) -> Report:
        """Make all duals that the rules can make."""
        found, drawn, folder = self.proposed, len(self.pairs), self.config.folder
        if not found.proposals:
            reason, count = Counter(one.reason for one in found.unchanged).most_common(1)[0]
            raise BuildError(
                f"no rule can change any of {drawn:,} pairs of suite '{self.suite.name}'; most "
                f"often ({count:,} times): {reason}"
            )
        write_suite(self.suite, folder / SOURCE)
        rows = [(one.operation or "all", one.reason, one.item) for one in found.unchanged]
        rows += [("pair", one.reason, one.item) for one in self.others]
        schema = dict.fromkeys(("step", "reason", "item"), pl.String)
        write_table(pl.DataFrame(rows, schema=schema, orient="row"), folder / UNCHANGED)
        changed = {one.item for one in found.proposals}
        whole = {o.item: o.reason for o in reversed(found.unchanged) if o.item not in changed}
        reasons = Counter(whole.values()).most_common()
        notes = [f"no dual of {n:,} pair(s): {reason}" for reason, n in reasons]
        if self.others:
            notes.insert(0, f"left out: {len(self.others):,} item(s) that are not pairs")
        return {
            "says": f"{len(found.proposals):,} duals of {len(changed):,} of {drawn:,} pairs",
            "notes": notes,
            "pairs": drawn,
            "changed": len(changed),
            "no_pairs": len(self.others),
            "duals": _counts(found.proposals),
            "unchanged": [{"reason": reason, "pairs": count} for reason, count in reasons],
        }

    def rank(self) -> Report:
        """Rank the duals, and keep the best."""
        from boxpen.build.duals.rank import rank_proposals, shortlist, sifted

        config, items = self.config, {item.id: item for item in self.pairs}
        top, least = config.top, config.min_fluency
        ranked = rank_proposals(self.proposed.proposals, items, self.model, progress=self.progress)
        refused = sifted(ranked)
        best = shortlist([one for one in ranked if id(one) not in refused], top, least)
        if not best:
            raise BuildError(
                f"none of {len(ranked):,} duals has a fluency of {least} or more; lower min_fluency"
            )
        kept = {id(one) for one in best}
        dropped = []
        for one, row in zip(ranked, dual_rows(ranked, items), strict=True):
            if id(one) in kept:
                continue
            if id(one) in refused:
                dropped.append((row, *refused[id(one)]))
                continue
            if one.fluency is not None and least is not None and one.fluency < least:
                dropped.append((row, "fluency", f"fluency {one.fluency} is below {least}"))
            else:
                dropped.append((row, "top", f"not among the best {top}"))
        write_dropped(dropped, SCHEMA, "expected_because", config.folder / DROPPED)
        write_rows(dual_rows(best, items), config.folder / PROPOSALS)
        still = {one.proposal.item for one in best}
        lost = len({one.item for one in self.proposed.proposals} - still)
        told = f"left out: {lost:,} pair(s) of which no dual is fluent enough"
        return {
            "says": f"{len(best):,} of {len(ranked):,} duals stay, of {len(still):,} pairs",
            "notes": [told] if lost else [],
            "table": _counts([one.proposal for one in best]),
            "lost": lost,
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


def _drawn(pairs: list[Choice], config: DualsConfig) -> list[Choice]:
    """Draw a sample; pairs keep the order of the suite."""
    if config.sample is None:
        return pairs
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
