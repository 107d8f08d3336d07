"""What more training data does: one model per share of the corpus, each put to suites.

That is the experiment of Figure 5 of He et al. (2020). The corpus is prepared once, so that all
models have the same subwords, and smaller shares are parts of larger ones. A folder of

share-0.0625/ …         the models, as any training leaves them
runs/                   what each model did with each suite
scale.json, scale.svg   the points of the last call so far, and their curves

When it was killed, the same call goes on: finished models are not trained again, others go on from
their last checkpoint, and scores come from the score cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from boxpen.atomic import replaced
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.errors import NmtError
from boxpen.nmt.feed import nested_share
from boxpen.nmt.prepared import Prepared, prepare
from boxpen.nmt.text import base_language
from boxpen.nmt.training import Course, Training

if TYPE_CHECKING:
    from boxpen.analysis.curve import Point
    from boxpen.items import Suite
    from boxpen.runs import Run

__all__ = ["Measure", "ScalePoint", "SuiteResult", "parse_share", "run_scale"]

_SHARE = re.compile(r"\d{1,12}/\d{1,12}|(\d?\.)?\d{1,15}", re.ASCII)


class Measure(TypedDict):
    """A number with its 95 % interval and what it was taken over."""

    value: float
    low: float
    high: float
    n: int


class SuiteResult(TypedDict):
    """What a model did with a suite.

    Attributes:
        suite: Its name.
        accuracy: Over all items; None if there was nothing to choose between.
        sets: Accuracy in each of its sets, if it has any.
        bleu: Of translations of the sources against the right candidates.
        run: The folder of the run, below that of the experiment.
        signature: How the numbers were made.
    """

    suite: str
    accuracy: Measure | None
    sets: dict[str, Measure]
    bleu: Measure | None
    run: str
    signature: str


class ScalePoint(TypedDict):
    """One model of the experiment.

    Attributes:
        share: Share of the corpus it learnt from.
        pairs: Pairs in that share.
        target_tokens: Target tokens of these pairs.
        steps: How many it was trained for.
        valid_loss: Its loss on the validation set.
        valid_bleu: BLEU there, if it was taken.
        folder: The model, below the folder of the experiment.
        suites: What it did with each suite.
    """

    share: float
    pairs: int
    target_tokens: int
    steps: int
    valid_loss: float
    valid_bleu: float | None
    folder: str
    suites: list[SuiteResult]


def run_scale(
    config: NmtConfig,
    shares: Sequence[float],
    *,
    suites: Sequence[str],
    out: Path,
    device: str = "auto",
    watch: Callable[[Course], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
    recipe: str = "sound",
    cache: Path | str | None = None,
) -> list[ScalePoint]:
    """Train one model on each share and put them to suites, or go on with that.

    Args:
        config: The training; its share and its folder are replaced.
        shares: Above 0, 1 at most.
        suites: Names or files; with none, models are trained only.
        out: The folder of the experiment.
        device: ``auto``, ``cpu`` or ``cuda``.
        watch: Called as each training goes on.
        note: Told what is worth knowing.
        recipe: How suites are put.
        cache: The score cache; the user's own if None.

    Returns:
        The points, from the smallest share to the largest.

    Raises:
        BoxpenError: If a suite, the corpus or the folder cannot be used; the first before anything
            is trained.
    """
    wanted = _checked(shares)
    loaded = _loaded(suites, recipe, config)
    _make(out)
    prepared = prepare(config, note)
    points: list[ScalePoint] = []
    for share in wanted:
        folder = out / f"share-{share:g}"
        chosen = replace(config, folder=folder, train=replace(config.train, share=share))
        pairs, tokens = _extent(prepared, share, config.seed)
        note(f"share {share:g}: {pairs:,} pairs, {tokens:,} target tokens")
        training = Training(chosen, prepared, device=device, watch=watch, note=note)
        result = training.run()
        if not training.chief:  # of several processes, one judges and writes
            continue
        del training
        _free()
        points.append(
            ScalePoint(
                share=share,
                pairs=pairs,
                target_tokens=tokens,
                steps=result["steps"],
                valid_loss=result["loss"],
                valid_bleu=result["bleu"],
                folder=folder.name,
                suites=_judged(folder, loaded, out, device, recipe, cache),
            )
        )
        _write(points, out)
    return points


def parse_share(text: str) -> float:
    """Read a share of the data: ``1/16``, ``0.25``, ``1``.

    Raises:
        NmtError: If it is none, or not above 0 and 1 at most.
    """
    try:
        found = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else Fraction(0)
    except ZeroDivisionError:
        found = Fraction(0)
    if not 0 < found <= 1:
        raise NmtError(
            f"'{text}' is no share of the data; expected something like 1/16, 0.25 or 1, above 0 "
            "and 1 at most"
        )
    return float(found)


def _checked(shares: Sequence[float]) -> list[float]:
    """Return the shares from the smallest to the largest, each once."""
    if not shares:
        raise NmtError("no share of the data is given, expected one or more")
    for share in shares:
        if not 0 < share <= 1:
            raise NmtError(f"a share of the data is {share:g}, expected more than 0, 1 at most")
    return sorted(set(shares))


def _loaded(names: Sequence[str], recipe: str, config: NmtConfig) -> list[Suite]:
    """Load the suites and see that models can be put to them, before hours of training.

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
                f"suite '{suite.name}' has no item that is translated from {languages[1]} to "
                f"{languages[0]}, expected some to put the models to"
            )
        out[suite.name] = suite
    return list(out.values())


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NmtError(f"{out} cannot be made: {error.strerror}") from None


def _extent(prepared: Prepared, share: float, seed: int) -> tuple[int, int]:
    """Return the pairs of a share, as a training takes them, and their target tokens."""
    lengths = prepared.train.target_lengths
    chosen = nested_share(len(prepared.train), share, seed)
    taken = lengths if chosen is None else lengths[chosen]
    return len(taken), int(taken.sum())


def _free() -> None:
    """Give the memory of a training back, which the scorer would take to be in use."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _judged(
    folder: Path,
    suites: Sequence[Suite],
    out: Path,
    device: str,
    recipe: str,
    cache: Path | str | None,
) -> list[SuiteResult]:
    """Put a model to the suites, and keep the runs."""
    if not suites:
        return []
    from boxpen.evaluate import evaluate
    from boxpen.folders import default_cache
    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.cache import ScoreCache

    model = resolve_model(f"hf:{folder}", device=None if device == "auto" else device)
    with ScoreCache(cache or default_cache()) as opened:
        runs = [evaluate(model, suite, recipe=recipe, cache=opened) for suite in suites]
    return [_result(run, run.save(out / "runs").relative_to(out)) for run in runs]


def _result(run: Run, place: Path) -> SuiteResult:
    found = {
        (row.metric, row.slice): Measure(value=row.value, low=row.low, high=row.high, n=row.n)
        for row in run.summary()
    }
    return SuiteResult(
        suite=run.about["suite"]["name"],
        accuracy=found.get(("accuracy", "all")),
        sets={
            part.removeprefix("set="): measure
            for (metric, part), measure in found.items()
            if metric == "accuracy" and part.startswith("set=")
        },
        bleu=found.get(("bleu", "all")),
        run=place.as_posix(),
        signature=run.signature,
    )


def _write(points: Sequence[ScalePoint], out: Path) -> None:
    """Write the points and draw them."""
    from boxpen.report.curve import curve_svg

    with replaced(out / "scale.json", NmtError) as stream:
        stream.write((json.dumps({"points": points}, indent=1, ensure_ascii=False) + "\n").encode())
    drawn = _curves(points)
    if drawn:
        with replaced(out / "scale.svg", NmtError) as stream:
            stream.write(curve_svg(drawn, metric="accuracy", across="pairs of sentences").encode())


def _curves(points: Sequence[ScalePoint]) -> dict[str, list[Point]]:
    """Return the accuracy of every set, or of a suite that has none, against pairs."""
    from boxpen.analysis.curve import Point
    from boxpen.metrics.intervals import Estimate

    out: dict[str, list[Point]] = {}
    for point in points:
        for result in point["suites"]:
            suite = result["suite"]
            before = f"{suite}: " if len(point["suites"]) > 1 else ""
            named = {f"{before}{name}": measure for name, measure in result["sets"].items()}
            if not named and result["accuracy"] is not None:
                named = {suite: result["accuracy"]}
            for name, measure in named.items():
                out.setdefault(name, []).append(Point(point["pairs"], Estimate(**measure)))
    return out
