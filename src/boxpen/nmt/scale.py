"""The effect of more training data: one model per share of the corpus, evaluated on suites.

This is the experiment of Figure 5 of He et al. (2020). The corpus is prepared once, so that all
models have the same subwords, and smaller shares are parts of larger ones. A folder of

share-0.0625/ …         the models, as any training leaves them
runs/                   the results of each model on each suite
scale.json              the points of the last call so far
scale.svg               their curves, if a function that draws them is given

If it is killed, rerun the same call to resume: finished models are not trained again, others resume
from their last checkpoint, and scores come from the score cache.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TypedDict

from boxpen.errors import NmtError
from boxpen.files import replaced
from boxpen.nmt.config import NmtConfig, TrainConfig
from boxpen.nmt.data.feed import nested_share
from boxpen.nmt.data.prepared import Prepared, prepare
from boxpen.nmt.folder import check_folder
from boxpen.nmt.judged import Measure, SuiteResult, evaluate_on_suites, load_suites
from boxpen.nmt.training import Training, TrainState

__all__ = ["Measure", "ScalePoint", "SuiteResult", "parse_share", "run_scale"]

_SHARE = re.compile(r"\d{1,12}/\d{1,12}|(\d?\.)?\d{1,15}", re.ASCII)


class ScalePoint(TypedDict):
    """One model of the experiment.

    Attributes:
        share: Share of the corpus it was trained on.
        pairs: Pairs in that share.
        target_tokens: Target tokens of these pairs.
        steps: Number of training steps.
        valid_loss: Its loss on the validation set.
        valid_bleu: BLEU there, if computed.
        valid_bleu_signature: The sacreBLEU signature.
        folder: The model, below the folder of the experiment.
        suites: Its results on each suite.
    """

    share: float
    pairs: int
    target_tokens: int
    steps: int
    valid_loss: float
    valid_bleu: float | None
    valid_bleu_signature: str | None
    folder: str
    suites: list[SuiteResult]


def run_scale(
    config: NmtConfig,
    shares: Sequence[float],
    *,
    suites: Sequence[str],
    out: Path,
    device: str = "auto",
    watch: Callable[[TrainState], None] = lambda _: None,
    note: Callable[[str], None] = lambda _: None,
    begin: Callable[[TrainConfig], None] = lambda _: None,
    recipe: str = "sound",
    cache: Path | str | None = None,
    steps_power: float = 0.0,
    plot: Callable[[Sequence[ScalePoint]], str] = lambda _: "",
) -> list[ScalePoint]:
    """Train one model on each share and evaluate them on suites, or resume doing so.

    Args:
        config: The training; its share and its folder are replaced.
        shares: Shares of the data, above 0 and at most 1.
        suites: Names or files; with none, models are trained only.
        out: The folder of the experiment.
        device: ``auto``, ``cpu`` or ``cuda``.
        watch: Called with the state of each training as it progresses.
        note: Called with messages for the user.
        begin: Called with the configuration of each training before it starts.
        recipe: How to score the suites.
        cache: The score cache; the user's own if None.
        steps_power: Steps, warm-up and validation interval are scaled by share ** steps_power:
            with 0 they are the same for all, with 1 all models see the same number of epochs.
        plot: Draws the points so far as an SVG, or returns nothing if there is nothing to draw.

    Returns:
        The points, from the smallest share to the largest.

    Raises:
        BoxpenError: If a suite, the folder or the corpus cannot be used; before anything is
            trained, unless it takes the prepared corpus to see that a folder is another training's.
    """
    if not shares:
        raise NmtError("no share of the data is given, expected one or more")
    for share in shares:
        if not 0 < share <= 1:
            raise NmtError(f"a share of the data is {share:g}, expected more than 0, 1 at most")
    wanted = sorted(set(shares))
    _check_power(steps_power, config)
    loaded = load_suites(suites, recipe, config)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NmtError(f"{out} cannot be created: {error.strerror}") from None
    trainings = [_of_share(config, share, out, steps_power) for share in wanted]
    for chosen in trainings:
        check_folder(chosen)
    prepared = prepare(config, note)
    points: list[ScalePoint] = []
    for share, chosen in zip(wanted, trainings, strict=True):
        pairs, tokens = _extent(prepared, share, config.seed)
        note(f"share {share:g}: {pairs:,} pairs, {tokens:,} target tokens")
        begin(chosen.train)
        training = Training(chosen, prepared, device=device, watch=watch, note=note)
        result = training.run()
        if not training.chief:  # only one of several processes evaluates and writes
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
                valid_bleu_signature=result["bleu_signature"],
                folder=chosen.folder.name,
                suites=evaluate_on_suites(chosen.folder, loaded, out, device, recipe, cache),
            )
        )
        with replaced(out / "scale.json", NmtError) as stream:
            made = json.dumps({"points": points}, indent=1, ensure_ascii=False)
            stream.write(f"{made}\n".encode())
        if drawn := plot(points):
            with replaced(out / "scale.svg", NmtError) as stream:
                stream.write(drawn.encode())
    return points


def parse_share(text: str) -> float:
    """Read a share of the data: ``1/16``, ``0.25``, ``1``.

    Raises:
        NmtError: If it is not a number above 0 and at most 1.
    """
    try:
        found = Fraction(text.strip()) if _SHARE.fullmatch(text.strip()) else Fraction(0)
    except ZeroDivisionError:
        found = Fraction(0)
    if not 0 < found <= 1:
        raise NmtError(
            f"'{text}' is not a share of the data; expected a number above 0 and at most 1, such "
            "as 1/16, 0.25 or 1"
        )
    return float(found)


def _check_power(power: float, config: NmtConfig) -> None:
    if not 0 <= power < math.inf:
        raise NmtError(f"the power of the steps is {power:g}, expected 0 or more, such as 0.75")
    if power and config.train.max_steps is None:
        raise NmtError(
            f"the power of the steps is {power:g}, but [train] of {config.path} has no max_steps; "
            "give it there"
        )


def _of_share(config: NmtConfig, share: float, out: Path, power: float) -> NmtConfig:
    train, part = config.train, share**power
    if train.max_steps is not None:
        train = replace(
            train,
            max_steps=max(1, round(part * train.max_steps)),
            warmup=max(min(1, train.warmup), round(part * train.warmup)),
            validate_every=max(1, round(part * train.validate_every)),
        )
    return replace(config, folder=out / f"share-{share:g}", train=replace(train, share=share))


def _extent(prepared: Prepared, share: float, seed: int) -> tuple[int, int]:
    """Return the pairs of a share, as a training takes them, and their target tokens."""
    lengths = prepared.train.target_lengths
    chosen = nested_share(len(prepared.train), share, seed)
    taken = lengths if chosen is None else lengths[chosen]
    return len(taken), int(taken.sum())


def _free() -> None:
    """Free the memory of a training, which the scorer would count as in use."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
