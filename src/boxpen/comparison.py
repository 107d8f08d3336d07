"""Runs compared: only what was made in the same way, unless told otherwise."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from boxpen.errors import RunError
from boxpen.metrics.compare import Pair, compare_verdicts, holm
from boxpen.runs import Run
from boxpen.scoring.labels import BINARY, NAMES, NOT_ENTAILMENT
from boxpen.scoring.verdicts import Scored, Verdict

__all__ = ["comparable", "compare", "labels", "same_items"]

_OWN = ("model", "kind", "dtype", "batch", "max")  # of a signature: what may differ between systems
_OF_KIND = ("bos", "eos", "pll")  # and between kinds of models


def compare(*runs: Run, force: bool = False, common: bool = False) -> list[Pair]:
    """Compare the systems of runs, suite by suite, with paired tests.

    Args:
        *runs: Two or more; those of the same suite are compared with each other.
        force: Whether runs that were made in different ways are compared all the same.
        common: Whether items that not all runs of a suite have are left out, and not refused.

    Raises:
        RunError: If there is nothing to compare, or runs are not comparable.
    """
    several = _by_suite(runs)
    if not several:
        if len(runs) < 2:
            raise RunError("only one run is given, expected two or more of the same suite")
        listed = ", ".join(dict.fromkeys(run.about["suite"]["name"] for run in runs)) or "none"
        raise RunError(f"no two runs are of the same suite (suites: {listed})")
    pairs: list[Pair] = []
    for suite, some in several.items():
        if not force:
            for a, b in itertools.combinations(some, 2):
                _refuse(a, b, common)
        systems = dict(zip(_names(some), _aligned(some), strict=True))
        pairs += compare_verdicts(systems, suite, common=common)
    return _corrected(pairs)


def comparable(runs: Sequence[Run]) -> tuple[list[Pair], list[str]]:
    """Compare what can be compared, on the items that two runs share; say why others cannot."""
    pairs: list[Pair] = []
    reasons: list[str] = []
    for suite, some in _by_suite(runs).items():
        try:
            names = _names(some)
        except RunError as error:
            reasons.append(f"no comparison of {suite}: {error}")
            continue
        for (a, one), (b, other) in itertools.combinations(zip(names, some, strict=True), 2):
            try:
                _refuse(one, other, common=True)
                systems = dict(zip((a, b), _aligned((one, other)), strict=True))
                pairs += compare_verdicts(systems, suite, common=True)
            except RunError as error:
                reasons.append(str(error))
    return _corrected(pairs), reasons


def _by_suite(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return the runs of every suite that has more than one."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.about["suite"]["name"], []).append(run)
    return {suite: some for suite, some in found.items() if len(some) > 1}


def _corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """Correct p-values for the number of pairs, over all suites at once."""
    adjusted = holm([pair.p for pair in pairs])
    return [replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)]


def _refuse(a: Run, b: Run, common: bool) -> None:
    """Raise if two runs are not comparable, and say what differs."""
    mine, theirs = _fields(a), _fields(b)
    name, other = a.about["model"]["name"], b.about["model"]["name"]
    both = f"{name} and {other}" if name != other else f"two runs of {name}"
    suite = a.about["suite"]["name"]
    if common and not same_items(a, b):
        raise RunError(f"{both} were put different items of one name on {suite}")
    kinds = {a.about["model"]["kind"], b.about["model"]["kind"]}
    free = {*_OWN, *(_OF_KIND if len(kinds) > 1 else ()), *(["suite"] if common else ())}
    if "human" in kinds:  # people have neither recipe nor norm
        free |= set(mine) - {"suite"}
    differ = [k for k in mine if k not in free and k in theirs and mine[k] != theirs[k]]
    if differ:
        shown = "; ".join(f"{key} {mine[key]} and {theirs[key]}" for key in differ)
        way = "--force compares them all the same"
        if differ == ["suite"]:
            way = "--common compares the items that they share"
        elif differ == ["nli"] and BINARY not in (a.setting, b.setting):
            way = f"boxpen rescore --nli decides one as the other; {way}"
        raise RunError(f"{both} were not made in the same way on {suite}: {shown} ({way})")


def labels(runs: Sequence[Run]) -> list[str]:
    """Name each run of a suite by its model, and by what else differs between runs of one model."""
    parts = [_fields(run) for run in runs]
    shorts = [str(run.about["model"]["short"]) for run in runs]
    out = []
    for short, mine in zip(shorts, parts, strict=True):
        same = [p for s, p in zip(shorts, parts, strict=True) if s == short]
        differing = [k for k in mine if len({p.get(k) for p in same}) > 1]
        out.append(" · ".join([short, *(f"{k}:{mine[k]}" for k in differing)]))
    counts: Counter[str] = Counter()
    for n, label in enumerate(out):
        counts[label] += 1
        if counts[label] > 1:
            out[n] = f"{label} ({counts[label]})"
    return out


def same_items(a: Run, b: Run) -> bool:
    """Whether the items that two runs share are the same: the same answers, the same texts."""
    one, other = _aligned((a, b))
    known = {v.id: (v.gold, len(v.scores)) for v in one}
    if any(known.get(v.id, (v.gold, len(v.scores))) != (v.gold, len(v.scores)) for v in other):
        return False
    if a.about["recipe"]["digest"] != b.about["recipe"]["digest"]:
        return True  # which may put the same candidate in another way
    shared = a.candidates.keys() & b.candidates.keys()
    return all(_texts(a, a.candidates[i]) == _texts(b, b.candidates[i]) for i in shared)


def _texts(run: Run, candidates: Sequence[Scored]) -> list[str]:
    """Return what tells items apart: premise and hypothesis, or the candidates.

    A language model reads the space after a context as part of the candidate, others do not.
    """
    if run.labels:
        return [text for c in candidates for text in (c.prefix, c.text)]
    return [c.text.strip() for c in candidates]


def _aligned(runs: Sequence[Run]) -> list[Sequence[Verdict]]:
    """Return the verdicts of runs, with the right label of inference by its number everywhere.

    Which place it has among how many labels differs between settings, for one and the same item.
    """
    binary = any(NOT_ENTAILMENT in run.labels for run in runs)

    def number(label: str) -> int:
        return NAMES.index(NOT_ENTAILMENT if binary and label != "entailment" else label)

    return [
        [replace(v, gold=number(run.labels[v.gold]), scores=()) for v in run.verdicts]
        if run.labels
        else run.verdicts
        for run in runs
    ]


def _names(runs: Sequence[Run]) -> list[str]:
    """Return names of systems, none of which may stand twice."""
    signatures = [run.signature for run in runs]
    names = labels(runs)
    for name, signature in zip(names, signatures, strict=True):
        if signatures.count(signature) > 1:
            raise RunError(f"the same run is given twice: {name}")
    return names


def _fields(run: Run) -> dict[str, str]:
    return dict(part.partition(":")[::2] for part in run.signature.split("|"))
