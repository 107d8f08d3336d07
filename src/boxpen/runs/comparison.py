"""Comparison of runs; by default only of runs with the same settings."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from boxpen.errors import RunError
from boxpen.items import LABELS
from boxpen.metrics.compare import Pair, compare_verdicts, holm
from boxpen.notebook import Listed
from boxpen.runs.run import Run
from boxpen.scoring.labels import BINARY, NAMES, NOT_ENTAILMENT, names_of
from boxpen.scoring.verdicts import Scored, Verdict

__all__ = ["AGREE", "AGREE_WITHIN_KIND", "DIFFER", "comparable", "compare", "labels", "same_items"]

# The fields of a signature: those that must agree if numbers of two models are to be compared,
# those that must agree for models of one kind only, and those that may differ.
AGREE = (
    "suite", "sample", "recipe", "norm", "nli", "judge", "rule", "lead", "ties", "context",
    "version",
)  # fmt: skip
AGREE_WITHIN_KIND = ("bos", "eos", "pll")
DIFFER = ("model", "kind", "api", "dtype", "batch", "max", "hardware", "trust_remote_code")

_UNSAID = {"context": "given", "sample": "all"}  # what a signature means that lacks the field


def compare(*runs: Run, force: bool = False, common: bool = False) -> Listed[Pair]:
    """Compare the systems of runs, suite by suite, with paired tests.

    Args:
        *runs: Two or more; those of the same suite are compared with each other.
        force: Whether to compare runs with different settings anyway.
        common: Whether to leave out items that some runs of a suite lack, instead of failing.

    Raises:
        RunError: If there is nothing to compare, or runs are not comparable.
    """
    several = _by_suite(runs)
    if not several:
        if len(runs) < 2:
            raise RunError("only one run is given, expected two or more on the same suite")
        listed = ", ".join(dict.fromkeys(run.info.suite.name for run in runs)) or "none"
        raise RunError(f"no two runs are on the same suite (suites: {listed})")
    pairs: list[Pair] = []
    for suite, some in several.items():
        _refuse_twice(some)
        if not force:
            for a, b in itertools.combinations(some.values(), 2):
                _refuse(a, b, common)
        systems = dict(zip(some, _aligned(list(some.values())), strict=True))
        found = compare_verdicts(systems, suite, common=common)
        pairs += [_with_noise(pair, some[pair.a], some[pair.b]) for pair in found]
    return Listed(_corrected(pairs))


def comparable(runs: Sequence[Run]) -> tuple[list[Pair], list[str]]:
    """Compare what can be compared, on the items that two runs share; explain what cannot."""
    pairs: list[Pair] = []
    reasons: list[str] = []
    for suite, some in _by_suite(runs).items():
        try:
            _refuse_twice(some)
        except RunError as error:
            reasons.append(f"no comparison of {suite}: {error}")
            continue
        for (a, one), (b, other) in itertools.combinations(some.items(), 2):
            try:
                _refuse(one, other, common=True)
                systems = dict(zip((a, b), _aligned((one, other)), strict=True))
                (pair,) = compare_verdicts(systems, suite, common=True)
                pairs.append(_with_noise(pair, one, other))
            except RunError as error:
                reasons.append(str(error))
    return _corrected(pairs), reasons


def _by_suite(runs: Sequence[Run]) -> dict[str, dict[str, Run]]:
    """Return the runs of every suite that has more than one, by their names."""
    found: dict[str, dict[str, Run]] = {}
    for run, name in zip(runs, labels(runs), strict=True):
        found.setdefault(run.info.suite.name, {})[name] = run
    several = {suite: some for suite, some in found.items() if len(some) > 1}
    out = {}
    for suite, some in several.items():
        titles = {run.suite_title for run in some.values()}
        out[min(titles) if len(titles) == 1 else suite] = some
    return out


def _refuse_twice(runs: Mapping[str, Run]) -> None:
    """Raise if the same run is given under two names."""
    for (name, run), (_, other) in itertools.combinations(runs.items(), 2):
        if run is other:
            raise RunError(f"the same run is given twice: {name}")


def _with_noise(pair: Pair, a: Run, b: Run) -> Pair:
    """Add how far the scores of two runs differ, if their signatures are equal."""
    if a.signature != b.signature:
        return pair
    theirs = {v.id: v.scores for v in b.verdicts}
    gaps = [0.0]
    for v in a.verdicts:
        scores = theirs.get(v.id, v.scores)
        if len(v.scores) != len(scores):
            raise RunError(
                f"{pair.a} and {pair.b} have equal signatures but {len(v.scores)} and "
                f"{len(scores)} scores for item '{v.id}': one of the runs was edited"
            )
        gaps += (abs(x - y) for x, y in zip(v.scores, scores, strict=True))
    return replace(pair, noise=max(gaps))


def _corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """Correct p-values for the number of pairs, over all suites at once."""
    adjusted = holm([pair.p for pair in pairs])
    return [replace(pair, adjusted=p) for pair, p in zip(pairs, adjusted, strict=True)]


def _refuse(a: Run, b: Run, common: bool) -> None:
    """Raise if two runs are not comparable, naming the differences."""
    mine, theirs = _fields(a), _fields(b)
    name, other = a.info.model.name, b.info.model.name
    both = f"{name} and {other}" if name != other else f"two runs of {name}"
    suite = a.info.suite.name
    if common and not same_items(a, b):
        raise RunError(f"{both} have different items with the same name in {suite}")
    kinds = {a.info.model.kind, b.info.model.kind}
    which = ("suite", "sample")
    must = {*AGREE, *(AGREE_WITHIN_KIND if len(kinds) == 1 else ())}
    if "human" in kinds:  # people have neither recipe nor norm
        must = set(which)
    if common:
        must -= set(which)
    elif mine["suite"] == theirs["suite"]:  # the same items, however they were drawn
        must.discard("sample")
    differ = [k for k in mine if k in must and k in theirs and mine[k] != theirs[k]]
    if differ:
        shown = "; ".join(f"{key} {mine[key]} and {theirs[key]}" for key in differ)
        way = "use --force to compare them anyway"
        if set(differ) <= set(which):
            way = "use --common to compare the items that they share"
        elif differ == ["nli"] and BINARY not in (a.setting, b.setting):
            way = f"boxpen rescore --nli makes them alike; or {way}"
        raise RunError(f"{both} have different settings on {suite}: {shown} ({way})")


def labels(runs: Sequence[Run], groups: Sequence[object] | None = None) -> list[str]:
    """Name each run by its model, and by what differs between runs of the same model.

    What differs between two runs in one group is named in all groups, so that a model is called
    the same in every suite.

    Args:
        runs: The runs.
        groups: Which runs are shown side by side; those of one suite if None.
    """
    if groups is None:
        groups = [run.info.suite.name for run in runs]
    shorts = [run.info.model.short for run in runs]
    places = list(zip(shorts, groups, strict=True))
    fields = [_fields(run) for run in runs]
    differing: dict[object, list[str]] = {}
    for place, mine in zip(places, fields, strict=True):
        same = [f for p, f in zip(places, fields, strict=True) if p == place]
        found = [k for k in mine if len({f.get(k) for f in same}) > 1]
        # Which items a run has means nothing in other suites.
        differing.setdefault(place, []).extend(k for k in found if k in ("suite", "sample"))
        differing.setdefault(place[0], []).extend(k for k in found if k not in ("suite", "sample"))
    out = []
    for run, place, mine in zip(runs, places, fields, strict=True):
        wanted = {*differing[place], *differing[place[0]]}
        if "sample" in wanted:
            wanted.discard("suite")
        same_place = [r for r, p in zip(runs, places, strict=True) if p == place]
        details = [_detail(k, run, same_place) for k in mine if k in wanted]
        out.append(" · ".join([place[0], *details]))
    counts: Counter[tuple[object, str]] = Counter()
    for n, (label, group) in enumerate(zip(out, groups, strict=True)):
        counts[group, label] += 1
        if counts[group, label] > 1:
            out[n] = f"{label} ({counts[group, label]})"
    return out


def _detail(key: str, run: Run, others: Sequence[Run]) -> str:
    """Return one field of a signature, as short as possible to distinguish a run."""
    value = _fields(run)[key]
    values = {_fields(other).get(key, "") for other in others}
    name, _, digest = value.partition("@")
    if key == "suite" and len({r.info.suite.items for r in others}) == len(values):
        return f"{run.info.suite.items:,} items"
    if key == "sample":
        return run.sample_note or "all items"
    if key == "model":
        return f"weights={digest}"
    return f"{key}={name if len({v.partition('@')[0] for v in values}) == len(values) else value}"


def same_items(a: Run, b: Run) -> bool:
    """Whether the items that two runs share are the same: the same answers, the same texts."""
    one, other = _aligned((a, b))
    known = {v.id: (v.gold, len(v.scores)) for v in one}
    if any(known.get(v.id, (v.gold, len(v.scores))) != (v.gold, len(v.scores)) for v in other):
        return False
    if a.info.recipe.digest != b.info.recipe.digest:
        return True  # which may put the same candidate in another way, or accept other labels
    accepted = {v.id: v.also for v in one}
    if any(accepted.get(v.id, v.also) != v.also for v in other):
        return False
    shared = a.candidates.keys() & b.candidates.keys()
    return all(_texts(a, a.candidates[i]) == _texts(b, b.candidates[i]) for i in shared)


def _texts(run: Run, candidates: Sequence[Scored]) -> list[str]:
    """Return the texts that identify an item: premise and hypothesis, or the candidates.

    A language model reads the space after a context as part of the candidate, others do not.
    """
    if run.labels:
        return [text for c in candidates for text in (c.prefix, c.text)]
    return [c.text.strip() for c in candidates]


def _aligned(runs: Sequence[Run]) -> list[Sequence[Verdict]]:
    """Return the verdicts of runs, with right labels of inference by name and number everywhere.

    Which places they have among how many labels differs between settings, for one and the same
    item, and so does which of several is named first. People choose between all three.
    """
    binary = any(NOT_ENTAILMENT in run.labels for run in runs)
    inferred = {v.id for run in runs if run.labels for v in run.verdicts}

    def aligned(run: Run, verdict: Verdict) -> Verdict:
        names = LABELS if run.human and verdict.id in inferred else run.labels
        if not names:
            return verdict
        right = {names[verdict.gold], *verdict.also}
        if binary:
            right = {name if name == NAMES[0] else NOT_ENTAILMENT for name in right}
        numbers = sorted(map(NAMES.index, right))
        return replace(verdict, gold=numbers[0], also=names_of(numbers), scores=())

    return [[aligned(run, v) for v in run.verdicts] for run in runs]


def _fields(run: Run) -> dict[str, str]:
    said = dict(part.partition(":")[::2] for part in run.signature.split("|"))
    return said | {key: value for key, value in _UNSAID.items() if key not in said}
