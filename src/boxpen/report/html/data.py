"""The data of the HTML report: runs side by side, suite by suite."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from boxpen.metrics.choice import (
    accuracy,
    both_right,
    both_wrong,
    chance,
    chance_of,
    consistency,
    flip_rate,
    margin,
)
from boxpen.metrics.intervals import Estimate
from boxpen.runs.comparison import labels, same_items
from boxpen.runs.info import SuiteInfo
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

__all__ = ["Blocks", "Cut", "Entry", "Finding", "Slice", "SuiteNotes", "SuiteView", "suite_views"]

NOTHING = Estimate(math.nan, math.nan, math.nan, 0)

_UNITS = {
    "sum": "nats",
    "token": "nats/token",
    "word": "nats/word",
    "char": "nats/character",
    "byte": "nats/byte",
    "pmi": "nats of PMI",
}


@dataclass(frozen=True)
class SuiteNotes:
    """Information about a suite besides its runs.

    Attributes:
        shortcuts: Name of a shortcut, and how often it alone picks the right answer.
    """

    shortcuts: Sequence[tuple[str, Estimate]] = ()


@dataclass(frozen=True, eq=False)
class Entry:
    """One run as the report shows it.

    Attributes:
        mark: Number of its colour and shape, the same in every suite; -1 for people.
    """

    run: Run
    label: str
    mark: int
    bleu: Estimate | None
    shares: Mapping[str, Estimate]

    @property
    def human(self) -> bool:
        """Whether people answered, not a model."""
        return self.mark < 0

    @property
    def unit(self) -> str:
        """What scores and margins are measured in."""
        if self.run.info.model.kind == "choice":
            return "logits"
        return _UNITS[self.run.info.policy.norm]


@dataclass(frozen=True)
class Slice:
    """One value of a cut: its chance level and what every run earned in it."""

    value: str
    chance: float
    shares: tuple[Estimate, ...]

    @property
    def n(self) -> int | None:
        """How many items every run has here; None if they do not all have the same number."""
        sizes = {e.n for e in self.shares}
        return min(sizes) if len(sizes) == 1 else None

    @property
    def empty(self) -> bool:
        """Whether no run has an item here."""
        return not any(e.n for e in self.shares)


@dataclass(frozen=True)
class Cut:
    """One way to cut a suite into slices."""

    name: str
    slices: tuple[Slice, ...]

    @property
    def long(self) -> bool:
        """Whether its chart would leave an empty column beside it, and takes the whole width."""
        return len(self.slices) > 10


@dataclass(frozen=True)
class Blocks:
    """How the blocks of a suite came out: shares of all right, split, all wrong."""

    label: str
    mark: int | None
    right: Estimate
    split: Estimate
    wrong: Estimate
    consistent: Estimate


@dataclass(frozen=True)
class Finding:
    """What lint found under one rule."""

    rule: str
    count: int
    examples: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class SuiteView:
    """A suite and all runs of it.

    Attributes:
        name: Its name; with the start of its hash, and the setting of inference classifiers, where
            two suites of one name are shown.
        entries: Its runs, models first, then people.
        guess: What guessing earns, metric by metric.
        blocks: How its blocks came out, guessing first; empty if it has none.
    """

    name: str
    card: SuiteInfo
    entries: tuple[Entry, ...]
    guess: Mapping[str, Estimate]
    cuts: tuple[Cut, ...]
    blocks: tuple[Blocks, ...]
    findings: tuple[Finding, ...]
    notes: SuiteNotes = field(default_factory=SuiteNotes)

    @property
    def sample(self) -> str:
        """Which items were drawn, if all runs have the same sample of a suite."""
        found = {e.run.sample_note for e in self.entries}
        return min(found) if len(found) == 1 else "runs of different samples"

    @property
    def title(self) -> str:
        """Its name, and the sample if it is one."""
        return f"{self.name} ({self.sample})" if self.sample else self.name

    @property
    def scored(self) -> tuple[Entry, ...]:
        """The runs that judged items."""
        return tuple(e for e in self.entries if e.run.verdicts)

    @property
    def sizes(self) -> list[int]:
        """How many items the runs judged, where they did not judge the same; else nothing."""
        suites = [e.run.info.suite for e in self.entries]
        different = len({suite.hash for suite in suites}) > 1
        return sorted({suite.items for suite in suites}) if different else []

    @property
    def main_cut(self) -> Cut | None:
        """The cut whose values stand as columns in a paper's table."""
        fitting = {c.name: c for c in self.cuts if 2 <= len(c.slices) <= 8}
        return fitting.get("set") or fitting.get("part")


def suite_views(
    runs: Sequence[Run], notes: Mapping[str, SuiteNotes] | None = None
) -> list[SuiteView]:
    """Group runs by suite, in order of first appearance.

    Runs of one suite may have judged different parts of it (``SuiteView.sizes`` tells); runs that
    contradict each other about an item are not of one suite, whatever its name. Runs that choose
    between labels are not grouped with others, nor with those with other labels.
    """
    groups: list[list[Run]] = []
    for run in runs:
        fitting = next((g for g in groups if _same_suite(g, run)), None)
        if fitting is None:
            groups.append([run])
        else:
            fitting.append(run)
    names = Counter(group[0].info.suite.name for group in groups)
    places = [n for n, group in enumerate(groups) for _ in group]
    named_runs = iter(labels([run for group in groups for run in group], places))
    every = [[next(named_runs) for _ in group] for group in groups]
    marks: dict[str, int] = {}
    for group, named in zip(groups, every, strict=True):
        for run, label in zip(group, named, strict=True):
            if not run.human:
                marks.setdefault(label, len(marks))
    views = []
    for group, named in zip(groups, every, strict=True):
        suite = group[0].info.suite
        shown = name = suite.name
        if names[name] > 1:
            shown = f"{name}@{suite.hash[:8]} {group[0].setting}".rstrip()
        entries = [_entry(run, label, marks) for run, label in zip(group, named, strict=True)]
        views.append(_view(shown, sorted(entries, key=lambda e: e.human), (notes or {}).get(name)))
    return views


def _same_suite(group: Sequence[Run], run: Run) -> bool:
    """Whether a run belongs to a group: the same suite, the same answers."""
    if run.info.suite.name != group[0].info.suite.name:
        return False
    if run.labels != group[0].labels:
        return False
    return all(same_items(other, run) for other in group)


def _entry(run: Run, label: str, marks: Mapping[str, int]) -> Entry:
    shares = {
        "accuracy": accuracy(run.verdicts),
        "consistency": consistency(run.verdicts),
        "both_right": both_right(run.verdicts),
        "margin": margin(run.verdicts) if run.verdicts else NOTHING,
    }
    rows = run.summary() if run.translations else []
    bleu = next((r for r in rows if r.metric == "bleu" and r.slice == "all"), None)
    score = None if bleu is None else Estimate(bleu.value, bleu.low, bleu.high, bleu.n)
    return Entry(run, label, -1 if run.human else marks[label], score, shares)


def _view(name: str, entries: Sequence[Entry], notes: SuiteNotes | None) -> SuiteView:
    widest = max((e.run.verdicts for e in entries), key=len)
    guessed = [replace(v, credit=chance_of(v)) for v in widest]
    guess = {
        "accuracy": chance(widest),
        "consistency": _bare(consistency(guessed)),
        "both_right": _bare(both_right(guessed)),
    }
    blocks = [_blocks("guessing", None, guessed)]
    blocks += [_blocks(e.label, e.mark, e.run.verdicts) for e in entries]
    return SuiteView(
        name=name,
        card=max((e.run.info.suite for e in entries), key=lambda card: card.items),
        entries=tuple(entries),
        guess=guess,
        cuts=tuple(_cuts([e for e in entries if e.run.verdicts])),
        blocks=tuple(b for b in blocks if b.right.n),
        findings=tuple(_findings([e.run for e in entries])),
        notes=notes or SuiteNotes(),
    )


def _cuts(entries: Sequence[Entry]) -> list[Cut]:
    from boxpen.analysis.slices import MEASURED, cuts

    found = [cuts(e.run, least=1) for e in entries]
    out = []
    for name in _union(found):
        parts = [f.get(name, {}) for f in found]
        if name in MEASURED and len({tuple(p) for p in parts if p}) > 1:
            continue  # runs of other items have other groups
        slices = tuple(_slice(v, [p.get(v, []) for p in parts]) for v in _union(parts))
        if len(slices) > 1:
            out.append(Cut(name, slices))
    return out


def _slice(value: str, verdicts: Sequence[Sequence[Verdict]]) -> Slice:
    widest = max(verdicts, key=len)
    return Slice(value, chance(widest).value, tuple(accuracy(v) for v in verdicts))


def _blocks(label: str, mark: int | None, verdicts: Sequence[Verdict]) -> Blocks:
    parts: tuple[Callable[[Sequence[Verdict]], Estimate], ...]
    parts = (both_right, flip_rate, both_wrong, consistency)
    return Blocks(label, mark, *(part(verdicts) for part in parts))


def _findings(runs: Sequence[Run]) -> list[Finding]:
    """Return what lint found in a suite, the commonest rule first; each finding once."""
    seen: dict[str, dict[tuple[str, str], None]] = {}
    for run in runs:
        for found in run.info.findings:
            seen.setdefault(found.rule, {})[str(found.item), found.message] = None
    ordered = sorted(seen.items(), key=lambda pair: -len(pair[1]))
    return [Finding(rule, len(found), tuple(found)[:5]) for rule, found in ordered]


def _bare(estimate: Estimate) -> Estimate:
    """Return an expected value without an interval, since it is not a sample."""
    return Estimate(estimate.value, estimate.value, estimate.value, estimate.n)


def _union(mappings: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))
