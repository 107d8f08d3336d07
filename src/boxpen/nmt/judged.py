"""Evaluate trained models on suites, which are checked before training starts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from boxpen.errors import NmtError
from boxpen.nmt.config import NmtConfig
from boxpen.text.normal import base_language

if TYPE_CHECKING:
    from boxpen.items import Suite
    from boxpen.runs.run import Run

__all__ = ["Measure", "SuiteResult", "evaluate_on_suites", "load_suites"]


class Measure(TypedDict):
    """A number with its 95 % interval and what it was taken over."""

    value: float
    low: float
    high: float
    n: int


class SuiteResult(TypedDict):
    """The results of a model on a suite.

    Attributes:
        suite: Its name.
        accuracy: Over all items; None if there was nothing to choose between.
        sets: Accuracy in each of its sets, if it has any.
        bleu: Of translations of the sources against the right candidates.
        bleu_signature: How BLEU was made, beam and sacreBLEU's own part included.
        run: The folder of the run, below that of the experiment.
        signature: How the accuracies were made.
    """

    suite: str
    accuracy: Measure | None
    sets: dict[str, Measure]
    bleu: Measure | None
    bleu_signature: str | None
    run: str
    signature: str


def load_suites(names: Sequence[str], recipe: str, config: NmtConfig) -> list[Suite]:
    """Load the suites and check that models can be evaluated on them, before hours of training.

    Raises:
        BoxpenError: If a suite or its recipe cannot be used, it has no item of these languages,
            two have one name, or a library is missing.
    """
    if not names:
        return []
    from boxpen.catalog import load_suite, recipes_of
    from boxpen.errors import PolicyError, nearest
    from boxpen.metrics.bleu import require_sacrebleu

    if find_spec("polars") is None:
        raise NmtError("runs of suites are written by polars; install it with: pip install polars")
    require_sacrebleu()
    out: dict[str, Suite] = {}
    for name in dict.fromkeys(names):
        suite = load_suite(name)
        if suite.name in out:
            raise NmtError(f"two suites have the name '{suite.name}', expected one")
        known = recipes_of(suite)
        if recipe not in known:
            raise PolicyError(
                f"suite '{suite.name}' has no recipe '{recipe}', {nearest(recipe, sorted(known))}"
            )
        languages = base_language(config.target), base_language(config.source)
        if not any(suite.languages_of(item) == languages for item in suite):
            raise NmtError(
                f"suite '{suite.name}' has no items to translate from {languages[1]} to "
                f"{languages[0]}, so models cannot be evaluated on it"
            )
        out[suite.name] = suite
    return list(out.values())


def evaluate_on_suites(
    folder: Path,
    suites: Sequence[Suite],
    out: Path,
    device: str,
    recipe: str,
    cache: Path | str | None,
) -> list[SuiteResult]:
    """Evaluate a model on the suites, and save the runs.

    Args:
        folder: The model.
        suites: From ``load_suites``.
        out: The folder of the experiment; runs go into ``runs`` there.
        device: ``auto``, ``cpu`` or ``cuda``.
        recipe: How to score the suites.
        cache: The score cache; the user's own if None.
    """
    if not suites:
        return []
    from boxpen.evaluate import evaluate
    from boxpen.folders import default_cache
    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.cache import ScoreCache

    model = resolve_model(
        f"hf:{folder}", device=None if device == "auto" else device, trust_remote_code=False
    )
    with ScoreCache(cache or default_cache()) as opened:
        runs = [evaluate(model, suite, recipe=recipe, cache=opened) for suite in suites]
    return [_result(run, run.save(out / "runs").relative_to(out)) for run in runs]


def _result(run: Run, place: Path) -> SuiteResult:
    rows = {(row.metric, row.slice): row for row in run.summary()}
    found = {
        key: Measure(value=row.value, low=row.low, high=row.high, n=row.n)
        for key, row in rows.items()
    }
    bleu = rows.get(("bleu", "all"))
    return SuiteResult(
        suite=run.info.suite.name,
        accuracy=found.get(("accuracy", "all")),
        sets={
            part.removeprefix("set="): measure
            for (metric, part), measure in found.items()
            if metric == "accuracy" and part.startswith("set=")
        },
        bleu=found.get(("bleu", "all")),
        bleu_signature=None if bleu is None else bleu.signature,
        run=place.as_posix(),
        signature=run.signature,
    )
