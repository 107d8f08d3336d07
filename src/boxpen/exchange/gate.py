"""Gate files: what to run, and which rules the results must satisfy (see gate.md).

``boxpen check`` and the pytest plug-in read the same files and check them with the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import MinLen

from boxpen.config import ConfigPath, load_config
from boxpen.errors import ConfigError, RunError
from boxpen.evaluate import run_plans
from boxpen.folders import default_cache
from boxpen.matrix.settings import RunSettings
from boxpen.metrics.summary import possible_metrics
from boxpen.plans import Plan
from boxpen.runs.directory import check_writable, run_directories
from boxpen.runs.rulefile import RuleTable
from boxpen.runs.rules import (
    Outcome,
    Rule,
    check_number,
    check_rules,
    check_runs,
    unknown_metric,
)
from boxpen.runs.run import Run
from boxpen.scoring.cache import ScoreCache

if TYPE_CHECKING:
    from boxpen.models.cached import Progress

__all__ = ["CheckedGate", "Gate", "read_gate"]


@dataclass(frozen=True, kw_only=True)
class _GateFile:
    rule: Annotated[tuple[RuleTable, ...], MinLen(1)]
    run: RunSettings | None = None
    baseline: ConfigPath | None = None


@dataclass(frozen=True, kw_only=True)
class CheckedGate:
    """Runs that were checked.

    Attributes:
        runs: The runs.
        places: Their directories.
        outcomes: One for each rule and each run that it applies to.
    """

    runs: Sequence[Run]
    places: Sequence[Path]
    outcomes: Sequence[Outcome]

    @property
    def passed(self) -> bool:
        """Whether all runs satisfy all rules."""
        return all(outcome.passed for outcome in self.outcomes)

    def place(self, run: Run) -> Path:
        """Return the directory of a run."""
        return next(p for r, p in zip(self.runs, self.places, strict=True) if r is run)


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Rules, and where the runs come from that must satisfy them.

    Attributes:
        rules: The rules.
        run: What to run; None if only saved runs can be checked.
        baseline: A run or a folder of runs to compare with.
    """

    rules: tuple[Rule, ...] = ()
    run: RunSettings | None = None
    baseline: Path | None = None

    def check(self, note: Callable[[str], None], progress: Progress | None = None) -> CheckedGate:
        """Run what the gate runs, save the runs, and check them.

        A sample is accepted: it is the gate itself that asks for it.

        Args:
            note: Called with what the user should know.
            progress: Called as the work goes on.

        Raises:
            BoxpenError: If a suite, a model, a setting or a rule cannot be used; as far as
                possible, before anything is scored.
        """
        if self.run is None:
            raise RunError("the gate runs nothing; name runs to check, or add a table [run]")
        settings = self.run
        if self.baseline is not None:
            known = self.baseline.resolve()
            if settings.out.resolve() in (known, known.parent):
                raise RunError(f"{settings.out} has the baseline; save the runs elsewhere")
        baselines = _loaded(self.baseline)
        plans = settings.plans(note)
        pairs = [(p.suite.name, p.model.name, p.model.short) for p in plans]
        check_rules(self.rules, pairs, baselines)
        for planned, pair in zip(plans, pairs, strict=True):
            _check_numbers([rule for rule in self.rules if rule.names(*pair)], planned)
        check_writable(settings.out)
        with ScoreCache(settings.cache or default_cache()) as scores:
            runs = run_plans(plans, scores, progress=progress)
        places = [run.save(settings.out) for run in runs]
        return CheckedGate(
            runs=runs, places=places, outcomes=check_runs(runs, self.rules, baselines)
        )

    def check_saved(self, paths: Sequence[Path], *, allow_sample: bool = False) -> CheckedGate:
        """Check saved runs.

        Args:
            paths: Run directories or folders of them.
            allow_sample: Whether to accept runs on a sample of a suite.

        Raises:
            RunError: If a run cannot be read or compared, or a rule applies to none.
        """
        places = run_directories(paths)
        runs = [Run.load(path) for path in places]
        sampled = [path for path, run in zip(places, runs, strict=True) if run.sample_note]
        if sampled and not allow_sample:
            raise RunError(
                f"{sampled[0]} is a run on a sample of the suite; rerun without --limit (or with "
                "--full), or give --allow-sample"
            )
        known = run_directories([self.baseline]) if self.baseline is not None else []
        own = {path.resolve() for path in places} & {path.resolve() for path in known}
        if own:
            raise RunError(f"{min(own)} is both a run to check and a baseline")
        outcomes = check_runs(runs, self.rules, [Run.load(path) for path in known])
        return CheckedGate(runs=runs, places=places, outcomes=outcomes)


def read_gate(path: Path | str, *, runs: bool = False) -> Gate:
    """Read a gate file.

    Args:
        path: The file.
        runs: Whether it must have a table ``[run]``.

    Raises:
        ConfigError: If it cannot be read, or a setting or a rule is wrong; the message names it.
    """
    found = load_config(_GateFile, Path(path))
    if runs and found.run is None:
        raise ConfigError(f"{path}: run is missing; add a table [run]")
    for number, table in enumerate(found.rule):
        if unknown := unknown_metric(table.metric):
            raise ConfigError(f"{path}: rule[{number}]: {unknown}")
    return Gate(
        rules=tuple(table.rule() for table in found.rule), run=found.run, baseline=found.baseline
    )


def _check_numbers(rules: Sequence[Rule], planned: Plan) -> None:
    known = possible_metrics(planned.judged, planned.sources, asked=bool(planned.recipe.asks))
    for rule in rules:
        check_number(rule, f"the run of {planned.suite.name} × {planned.model.short}", known)


def _loaded(place: Path | None) -> list[Run]:
    return [] if place is None else [Run.load(path) for path in run_directories([place])]
