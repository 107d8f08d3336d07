"""What the sentence before tells a model: accuracy with and without it, and CXMI.

The runs of a system on one suite differ in their context alone: the one the item gives, none, or
that of another item. Conditional cross-mutual information (CXMI; Fernandes et al. 2021, "Measuring
and Increasing Context Usage in Context-Aware Machine Translation") is the mean over items of
log p(reference | source, context) - log p(reference | source), by the same model. A model may also
gain because it is seldom shown a sentence alone; so another item's context is the control: what
discourse tells must vanish with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from boxpen.analysis.discourse.class_judge import PHENOMENA, check_class
from boxpen.analysis.discourse.connective_judge import connective_classes
from boxpen.analysis.discourse.pronoun_judge import PRONOUNS
from boxpen.errors import RunError
from boxpen.metrics.choice import accuracy, clusters
from boxpen.metrics.compare import Pair, compare_verdicts, holm
from boxpen.metrics.intervals import Estimate, mean
from boxpen.metrics.randomise import randomisation
from boxpen.runs.comparison import labels, same_items
from boxpen.runs.run import Run
from boxpen.scoring.normalise import TIE_TOLERANCE
from boxpen.scoring.verdicts import Verdict

__all__ = ["CONTEXTS", "CONTRASTS", "ContextGains", "Gain", "System", "context_gains", "sign_flip"]

CONTEXTS = ("given", "none", "shuffled")
CONTRASTS = (("given", "none"), ("given", "shuffled"), ("shuffled", "none"))
"""What is set against what: CXMI, what a wrong context lacks, and CXMI of a wrong context."""

_STEPS = 1 << 16  # of the sums of a sign-flip test


@dataclass(frozen=True)
class System:
    """The runs of one model that differ in their context alone.

    Attributes:
        runs: By context, in the order of ``CONTEXTS``.
        items: How many items all of them have scored.
        most: How many the run with most of them has scored.
        reads: Whether the context changes any log-probability of a reference.
    """

    name: str
    runs: Mapping[str, Run]
    items: int
    most: int
    reads: bool


@dataclass(frozen=True, slots=True)
class Gain:
    """What one context gives a system over another one, on some items.

    Attributes:
        accuracy: The contrastive decisions compared: difference, paired test, p-value.
        sentence: Nats that a reference gains, with its 95 % interval.
        token: The same for a token of a reference, over all tokens.
        p: Of a two-sided sign-flip test of the nats.
        adjusted: The same, corrected by Holm for the number of systems.
    """

    n: int
    accuracy: Pair
    sentence: Estimate
    token: Estimate
    p: float
    adjusted: float


@dataclass(frozen=True)
class ContextGains:
    """What contexts give to systems, over all items, by set and by class.

    Attributes:
        slices: ``all``, then sets, each before its classes.
        accuracy: By system, slice and context.
        gains: By system, slice and contrast.
    """

    suite: str
    systems: tuple[System, ...]
    slices: tuple[str, ...]
    accuracy: Mapping[tuple[str, str, str], Estimate]
    gains: Mapping[tuple[str, str, tuple[str, str]], Gain]


def context_gains(runs: Sequence[Run]) -> ContextGains:
    """Set the runs of every system that differ in their context against each other.

    P-values are corrected for the number of systems, within a slice and a contrast.

    Raises:
        RunError: If runs are of several suites, cannot be used, stand alone, or were put other
            items of the same names.
    """
    suite = _one_suite(runs)
    groups = _groups(runs)
    names = labels([next(iter(group.values())) for group in groups])
    systems: list[System] = []
    right: dict[tuple[str, str, str], Estimate] = {}
    gains: dict[tuple[str, str, tuple[str, str]], Gain] = {}
    for name, group in zip(names, groups, strict=True):
        shared = _shared(name, group, suite)
        nats, reads = _nats(name, group, shared)
        most = max(sum(map(_has_phenomenon, run.verdicts)) for run in group.values())
        systems.append(System(name, group, len(shared), most, reads))
        for part, ids in _members(next(iter(group.values())), shared).items():
            verdicts = {context: _verdicts(run, ids) for context, run in group.items()}
            for context in group:
                right[name, part, context] = accuracy(verdicts[context])
            for contrast in CONTRASTS:
                if set(contrast) <= set(group):
                    gains[name, part, contrast] = _gain(suite, contrast, verdicts, nats)
    found = {part for _, part, _ in right}
    parts = tuple(part for part in _order() if part in found)
    return ContextGains(suite, tuple(systems), parts, right, _corrected(gains))


def sign_flip(sums: Sequence[float]) -> float:
    """Return the two-sided p-value that differences add up to so much by chance.

    If the context said nothing, each difference might as well have had the other sign. How likely
    every sum is follows without draws at random, once differences are rounded to 1/65,536 of what
    their amounts add up to, or finer: to a power of two, so that equal parts stay equal.
    """
    total = math.fsum(map(abs, sums))
    if not total:
        return 1.0
    unit = 2.0 ** math.ceil(math.log2(total / _STEPS))
    return randomisation([[float(round(value / unit))] for value in sums])


def _one_suite(runs: Sequence[Run]) -> str:
    """Return the suite of runs that all have scored references."""
    names = list(dict.fromkeys(run.info.suite.name for run in runs))
    if len(names) != 1:
        raise RunError(
            f"the runs are of {len(names)} suites ({', '.join(names) or 'none'}), expected one"
        )
    for run in runs:
        kind = run.info.model.kind
        if kind in ("human", "nli", "choice"):
            raise RunError(
                f"run {run.name} is of the kind '{kind}' and has no log-probabilities of texts; "
                "expected runs of translation models"
            )
        if not any(map(_has_phenomenon, run.verdicts)):
            raise RunError(
                f"run {run.name} of the suite '{names[0]}' has {len(run.verdicts)} scored item(s), "
                "none with the tag set=pronoun, connective or ellipsis; expected a suite with "
                "contrasts, such as starter.discourse"
            )
        _check_classes(run)
    return names[0]


def _check_classes(run: Run) -> None:
    for v in filter(_has_phenomenon, run.verdicts):
        try:
            check_class(v.tags["set"], v.tags.get("class", ""))
        except RunError as error:
            raise RunError(f"run {run.name}, item '{v.id}': {error}") from None


def _groups(runs: Sequence[Run]) -> list[dict[str, Run]]:
    """Return the runs of every system by context."""
    found: dict[str, dict[str, Run]] = {}
    for run in runs:
        context: str = run.info.policy.context
        group = found.setdefault(_made(run), {})
        if context in group:
            raise RunError(
                f"{run.info.model.short} has two runs with --context {context} "
                f"({group[context].name} and {run.name}), expected one"
            )
        group[context] = run
    for group in found.values():
        if len(group) == 1:
            ((context, run),) = group.items()
            other = "none" if context == "given" else "given"
            raise RunError(
                f"{run.info.model.short} has only a run with --context {context}, made as "
                f"{run.signature}; make one more: boxpen run --suite {run.suite_argument} "
                f"--model {run.info.model.name} --context {other}"
            )
    return [{c: group[c] for c in CONTEXTS if c in group} for group in found.values()]


def _made(run: Run) -> str:
    """Return all that changes a number, but for the context and for how many items there are."""
    info = run.info
    resolved = sorted(info.resolved_policy.items())
    how = replace(info.policy, context="given")
    made = (info.model.fingerprint, info.model.dtype, info.model.batch)
    return repr((*made, info.recipe.digest, resolved, how))


def _shared(name: str, group: Mapping[str, Run], suite: str) -> list[str]:
    """Return the ids that all runs have, sorted: sums do not depend on the order of a suite."""
    for (a, one), (b, other) in itertools.combinations(group.items(), 2):
        if not same_items(one, other):
            raise RunError(
                f"the runs of {name} with --context {a} and {b} were put different items of one "
                f"name on {suite}; expected the same suite"
            )
    ids = [{v.id for v in run.verdicts if _has_phenomenon(v)} for run in group.values()]
    shared = sorted(set.intersection(*ids))
    if not shared:
        raise RunError(f"the runs of {name} have no item of {suite} in common")
    return shared


def _members(run: Run, shared: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of every slice."""
    found: dict[str, list[str]] = {}
    for verdict in _verdicts(run, shared):
        for part in _slices(verdict):
            found.setdefault(part, []).append(verdict.id)
    return found


def _verdicts(run: Run, ids: Sequence[str]) -> list[Verdict]:
    by_id = {v.id: v for v in run.verdicts}
    return [by_id[i] for i in ids]


Nats = Mapping[str, Mapping[str, tuple[float, int]]]
"""By context and id: the log-probability of the reference, and how many tokens it has."""


def _nats(name: str, group: Mapping[str, Run], shared: Sequence[str]) -> tuple[Nats, bool]:
    """Return the log-probabilities of references, and whether the context changes any."""
    found: dict[str, dict[str, tuple[float, int]]] = {context: {} for context in group}
    reads = False
    for verdict in _verdicts(next(iter(group.values())), shared):
        i = verdict.id
        records = [run.candidates[i][verdict.gold].record for run in group.values()]
        if len({record.unscored for record in records}) > 1:
            raise RunError(
                f"{name} scores the first token of item '{i}' only after a context; expected runs "
                "with --bos always"
            )
        totals = [record.total for record in records]
        reads |= max(totals) - min(totals) > TIE_TOLERANCE
        for context, total in zip(group, totals, strict=True):
            found[context][i] = total, len(records[0].logprobs)
    if not reads:  # what is left is noise of sums, which no test should take for a gain
        return dict.fromkeys(found, next(iter(found.values()))), False
    return found, True


def _gain(
    suite: str,
    contrast: tuple[str, str],
    decided: Mapping[str, Sequence[Verdict]],
    nats: Nats,
) -> Gain:
    more, less = contrast
    verdicts = decided[more]
    (pair,) = compare_verdicts({more: verdicts, less: decided[less]}, suite)
    gaps = [nats[more][v.id][0] - nats[less][v.id][0] for v in verdicts]
    sizes = [nats[more][v.id][1] for v in verdicts]
    of = clusters(verdicts)
    owner: list[Hashable] = list(of or range(len(gaps)))
    sums: dict[Hashable, float] = {}
    for gap, cluster in zip(gaps, owner, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + gap
    # Tokens of an item are a cluster, so only their sum counts in the interval.
    rows = list(zip(gaps, sizes, owner, strict=True))
    tokens = [gap / size for gap, size, _ in rows for _ in range(size)]
    owners = [cluster for _, size, cluster in rows for _ in range(size)]
    p = sign_flip(list(sums.values()))
    return Gain(len(gaps), pair, mean(gaps, of), mean(tokens, owners), p, p)


def _corrected(
    gains: Mapping[tuple[str, str, tuple[str, str]], Gain],
) -> dict[tuple[str, str, tuple[str, str]], Gain]:
    """Correct p-values for the number of systems, within a slice and a contrast."""
    out = dict(gains)
    for key in dict.fromkeys(key[1:] for key in gains):
        mine = [k for k in gains if k[1:] == key]
        nats = holm([gains[k].p for k in mine])
        right = holm([gains[k].accuracy.p for k in mine])
        for k, p, q in zip(mine, nats, right, strict=True):
            pair = replace(gains[k].accuracy, adjusted=q)
            out[k] = replace(gains[k], adjusted=p, accuracy=pair)
    return out


def _has_phenomenon(verdict: Verdict) -> bool:
    return verdict.tags.get("set") in PHENOMENA


def _slices(verdict: Verdict) -> tuple[str, ...]:
    phenomenon = verdict.tags["set"]
    if phenomenon == "ellipsis":  # which has no classes
        return "all", phenomenon
    return "all", phenomenon, verdict.tags["class"]


def _order() -> Iterator[str]:
    yield "all"
    classes = {"pronoun": tuple(PRONOUNS), "connective": connective_classes()}
    for phenomenon in PHENOMENA:
        yield phenomenon
        yield from classes.get(phenomenon, ())
