"""Rules: bounds on the results of runs, and checks against them.

A rule bounds one metric of one slice: by a number (``min``, ``above``, ``max``), or by the same
number of a baseline run. ``boxpen.exchange.gate`` reads rules from a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from boxpen.errors import RunError, nearest
from boxpen.metrics.compare import compare_verdicts
from boxpen.metrics.summary import METRICS
from boxpen.runs.run import Row, Run
from boxpen.scoring.verdicts import Verdict

__all__ = [
    "LOWER_IS_BETTER", "Outcome", "Rule", "check_number", "check_rules", "check_runs",
    "parse_bound", "unknown_metric",
]  # fmt: skip

Kind = Literal["min", "above", "max", "baseline"]
Test = Literal["value", "interval", "paired"]

_BOUNDLESS = frozenset({"bleu", "margin"})
LOWER_IS_BETTER = frozenset({"both_wrong", "failure_rate", "flip_rate"})
"""Metrics of which less is better: against a baseline they must not rise."""

_ROUNDING = 1e-12  # 0.62 - 0.02 is not quite 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A bound on a number.

    Attributes:
        kind: ``min`` (at least), ``above`` (more than), ``max`` (at most), or ``baseline`` (no
            worse than the baseline's).
        bound: What ``min``, ``above`` and ``max`` compare with.
        slice: ``all`` or ``tag=value``.
        by: How much worse than the baseline is still allowed.
        test: What counts as worse: the ``value`` alone; the whole 95 % ``interval`` below that of
            the baseline; or a ``paired`` test on the same items, see ``boxpen.metrics.compare``.
        alpha: Level of the paired test.
    """

    metric: str
    kind: Kind
    bound: float = 0.0
    slice: str = "all"
    suite: str | None = None
    model: str | None = None
    by: float = 0.0
    test: Test = "value"
    alpha: float = 0.05

    def __str__(self) -> str:
        """Return the rule in a few words: ``set=LA: accuracy >= 0.6``."""
        place = "" if self.slice == "all" else f"{self.slice}: "
        if self.kind != "baseline":
            sign = {"min": ">=", "above": ">", "max": "<="}[self.kind]
            return f"{place}{self.metric} {sign} {self.bound:g}"
        allowed = f" by more than {self.by:g}" if self.by else ""
        how = f"paired test at {self.alpha:g}" if self.test == "paired" else self.test
        return f"{place}{self.metric} no worse than the baseline{allowed} ({how})"

    def concerns(self, run: Run) -> bool:
        """Whether the rule applies to a run."""
        model = run.info.model
        return self.names(run.info.suite.name, model.name, model.short)

    def names(self, suite: str, *models: str) -> bool:
        """Whether the rule applies to a suite and a model with these names."""
        return self.suite in (None, suite) and self.model in (None, *models)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether one run satisfies one rule.

    Attributes:
        baseline: The number of the baseline, if the rule needs one.
        p: The p-value of the paired test, if there was one.
    """

    run: Run
    rule: Rule
    row: Row
    passed: bool
    baseline: Row | None = None
    p: float | None = None

    def __str__(self) -> str:
        """Return what was found: ``0.5433 [0.5139, 0.5725], baseline 0.5842, p 0.003``."""
        found = f"{self.row.value:.4f} [{self.row.low:.4f}, {self.row.high:.4f}]"
        if self.baseline is not None:
            base = self.baseline
            found += f", baseline {base.value:.4f} [{base.low:.4f}, {base.high:.4f}]"
        return found if self.p is None else f"{found}, p {self.p:.2g}"


def parse_bound(text: str) -> Rule:
    """Parse a rule such as ``accuracy>=0.6`` or ``set=LA:both_right>0.3``.

    Raises:
        RunError: If it is not a rule.
    """
    number = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    match = re.fullmatch(rf"(?:(.+):)?\s*(\w+)\s*(>=|>)\s*({number})", text.strip())
    if match is None:
        raise RunError(f"--min is {text!r}, expected something like 'accuracy>=0.6'")
    if unknown := unknown_metric(match[2]):
        raise RunError(f"--min is {text!r}, but {unknown}")
    kind: Kind = "min" if match[3] == ">=" else "above"
    return Rule(metric=match[2], kind=kind, bound=float(match[4]), slice=match[1] or "all")


def unknown_metric(name: str) -> str:
    """Return ``metric 'accurcy' is unknown, did you mean 'accuracy'``; empty if it is known."""
    return "" if name in METRICS else f"metric '{name}' is unknown, {nearest(name, list(METRICS))}"


def check_runs(
    runs: Sequence[Run], rules: Sequence[Rule], baselines: Sequence[Run] = ()
) -> list[Outcome]:
    """Check the rules on every run; nothing is skipped.

    Raises:
        RunError: If a rule applies to no run, a run lacks the number, or no baseline matches.
    """
    check_rules(rules, [_names(run) for run in runs], baselines)
    return [_outcome(run, rule, baselines) for run in runs for rule in rules if rule.concerns(run)]


def check_rules(
    rules: Sequence[Rule], pairs: Sequence[tuple[str, str, str]], baselines: Sequence[Run] = ()
) -> None:
    """Check what can be checked before there are results.

    Args:
        rules: The rules.
        pairs: Of each run, the suite, and the model's name and short name.
        baselines: The runs to compare with.

    Raises:
        RunError: If a rule applies to no run, lacks a bound, or needs a baseline; or none does.
    """
    if baselines and not any(rule.kind == "baseline" for rule in rules):
        raise RunError("a baseline is given, but no rule has no_worse_than_baseline")
    for rule in rules:
        if not any(rule.names(*pair) for pair in pairs):
            raise RunError(
                f"there is no run for the rule '{rule}'{_named(rule)}; {_present(pairs)}"
            )
        if rule.kind == "baseline" and not baselines:
            raise RunError(f"the rule '{rule}' needs a baseline; give one with --baseline")
        if rule.kind != "baseline" and rule.metric not in _BOUNDLESS and not 0 <= rule.bound <= 1:
            raise RunError(f"the rule '{rule}' bounds a share, expected a number from 0 to 1")


def check_number(rule: Rule, run: str, known: Mapping[str, Collection[str]]) -> None:
    """Check that a run will have the number that a rule bounds.

    Args:
        rule: The rule.
        run: What to call the run.
        known: The metrics that it may have, by slice.

    Raises:
        RunError: If it cannot have the number.
    """
    if rule.metric not in known.get(rule.slice, ()):
        raise _lacking(rule, run, known)


def _outcome(run: Run, rule: Rule, baselines: Sequence[Run]) -> Outcome:
    row = _row(run, rule, "run")
    # Written so that NaN, which no rule can bound, fails.
    if rule.kind == "min":
        return Outcome(run, rule, row, row.value >= rule.bound)
    if rule.kind == "above":
        return Outcome(run, rule, row, row.value > rule.bound)
    if rule.kind == "max":
        return Outcome(run, rule, row, row.value <= rule.bound)
    other = _baseline(run, baselines)
    base = _row(other, rule, "baseline")
    passed = _no_worse(rule, row, base)
    if rule.test != "paired":
        return Outcome(run, rule, row, passed, base)
    p = _paired(run, other, rule)
    return Outcome(run, rule, row, passed or p >= rule.alpha, base, p)


def _no_worse(rule: Rule, row: Row, base: Row) -> bool:
    """Whether a number, or the better end of its interval, comes up to the baseline's."""
    ends = rule.test == "interval"
    if rule.metric in LOWER_IS_BETTER:
        ours, theirs = (row.low, base.high) if ends else (row.value, base.value)
        return ours <= theirs + rule.by + _ROUNDING
    ours, theirs = (row.high, base.low) if ends else (row.value, base.value)
    return ours >= theirs - rule.by - _ROUNDING


def _paired(run: Run, other: Run, rule: Rule) -> float:
    """Return the p-value of what the two runs earn on the same items, block by block."""
    tag, _, value = rule.slice.partition("=")

    def chosen(one: Run) -> list[Verdict]:
        return [v for v in one.verdicts if rule.slice == "all" or v.tags.get(tag) == value]

    systems = {"run": chosen(run), "baseline": chosen(other)}
    (pair,) = compare_verdicts(systems, run.info.suite.name)
    return pair.p


def _row(run: Run, rule: Rule, what: str) -> Row:
    rows = run.summary()
    for row in rows:
        if (row.slice, row.metric) == (rule.slice, rule.metric):
            return row
    known: dict[str, list[str]] = {}
    for row in rows:
        known.setdefault(row.slice, []).append(row.metric)
    raise _lacking(rule, f"the {what} {run.name}", known)


def _lacking(rule: Rule, run: str, known: Mapping[str, Collection[str]]) -> RunError:
    of_slice = known.get(rule.slice)
    hint = nearest(rule.metric, list(of_slice)) if of_slice else nearest(rule.slice, list(known))
    return RunError(f"{run} has no {rule.metric} for {rule.slice}; {hint}")


def _baseline(run: Run, baselines: Sequence[Run]) -> Run:
    """Return the one baseline that a run is measured against."""
    suite, model = run.info.suite, run.info.model
    fit = [b for b in baselines if b.info.suite.name == suite.name]
    if not fit:
        raise RunError(
            f"the baseline has no run of suite '{suite.name}', as {run.name} needs; "
            + _present([_names(b) for b in baselines])
        )
    # Where several fit, the same model is meant, decided in the same way.
    fit = [b for b in fit if b.info.model.short == model.short] or fit
    fit = [b for b in fit if _settings(b) == _settings(run)] or fit
    if len(fit) > 1:
        names = ", ".join(b.name for b in fit)
        raise RunError(f"{run.name} could be measured against {names}; give one as --baseline")
    other = fit[0]
    if other.info.suite.hash != suite.hash or _ids(run) != _ids(other):
        raise RunError(
            f"suite '{suite.name}' is not the same in {run.name} ({_items(run)}) and in the "
            f"baseline {other.name} ({_items(other)}); run both on the same items"
        )
    if "human" not in (model.kind, other.info.model.kind):
        for name, ours in _settings(run).items():
            theirs = _settings(other)[name]
            if ours != theirs:
                raise RunError(
                    f"{run.name} was decided with {name} {ours}, the baseline {other.name} with "
                    f"{name} {theirs}; such numbers do not compare"
                )
    return other


def _settings(run: Run) -> dict[str, str]:
    """Return what must be equal for two numbers to compare, whatever the model."""
    recipe, policy = run.info.recipe, run.info.policy
    return {
        "recipe": f"{recipe.name}@{recipe.digest}",
        "norm": policy.norm,
        "ties": policy.ties,
    }


def _ids(run: Run) -> set[str]:
    return {v.id for v in run.verdicts}


def _items(run: Run) -> str:
    return f"{len(run.verdicts)} items, hash {run.info.suite.hash[:8]}"


def _named(rule: Rule) -> str:
    named = (("suite", rule.suite), ("model", rule.model))
    return "".join(f", {what} '{name}'" for what, name in named if name is not None)


def _names(run: Run) -> tuple[str, str, str]:
    return run.info.suite.name, run.info.model.name, run.info.model.short


def _present(pairs: Sequence[tuple[str, str, str]]) -> str:
    shown = dict.fromkeys(f"{suite} × {short}" for suite, _, short in pairs)
    return "there are: " + ", ".join(shown)
