"""How fast the training loop of ``boxpen train nmt`` runs on synthetic pairs, as one JSON object.

    nmt_step_speed.py --size base --tokens 32000 --steps 300

The loop is the real one: batches made ahead, compiled layers on a GPU, log lines. It is stopped
before its first validation, and the first quarter of the steps, in which layers are compiled, does
not count. Needs torch, transformers and numpy, and no corpus.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from boxpen.nmt.config import ModelConfig, NmtConfig, TrainConfig
from boxpen.nmt.data.examples import Examples
from boxpen.nmt.training import Training
from boxpen.text.corpus import CorpusSpec

EOS, PAD, FIRST = 0, 2, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="base")
    parser.add_argument("--architecture", default="transformer")
    parser.add_argument("--tokens", type=int, default=32_000)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        print(json.dumps(measure(given, Path(place))))


def measure(given: argparse.Namespace, place: Path) -> dict[str, Any]:
    """Train and return the median of the target tokens per second of the log lines."""
    config = NmtConfig(
        path=place / "config.toml",
        folder=place / "out",
        data=place / "data",
        source="zh",
        target="en",
        corpora=(),
        valid=CorpusSpec("valid", source=place / "zh", target=place / "en"),
        model=ModelConfig(architecture=given.architecture, size=given.size),
        train=TrainConfig(
            tokens=given.tokens,
            max_steps=10 * given.steps,
            validate_every=10 * given.steps,
            valid_beam=0,
            log_every=max(1, given.steps // 20),
        ),
    )
    rates: list[int] = []

    def watch(state: Any) -> None:
        if state.log and state.step > given.steps // 4:
            rates.append(state.log["tokens_per_second"])
        if state.step >= given.steps:
            raise KeyboardInterrupt

    training = Training(config, corpus(given, place), device=given.device, watch=watch)
    with contextlib.suppress(KeyboardInterrupt):
        training.run()
    cuda = training.learner.device.type == "cuda"
    return {
        "tokens_per_second": round(statistics.median(rates)),
        "low": min(rates),
        "high": max(rates),
        "steps": training.state.step,
        "architecture": f"{given.architecture} {given.size}",
        "tokens": given.tokens,
        "device": torch.cuda.get_device_name() if cuda else "CPU",
        "loss": training.state.log["loss"],
    }


def corpus(given: argparse.Namespace, place: Path) -> Any:
    """Return random pairs in the place of a prepared corpus; lengths are as in subtitles."""
    subwords = place / "data" / "subwords"
    subwords.mkdir(parents=True)
    vocabulary = {f"piece{number}": number for number in range(given.vocabulary)}
    (subwords / "vocab.json").write_text(json.dumps(vocabulary))
    return SimpleNamespace(
        folder=place / "data",
        subwords=subwords,
        train=pairs(given.pairs, given.vocabulary, seed=1),
        valid=pairs(100, given.vocabulary, seed=2),
        counts={},
        check_unchanged=lambda: None,
    )


def pairs(count: int, vocabulary: int, seed: int) -> Examples:
    dice = np.random.default_rng(seed)
    sides: dict[str, Any] = {}
    lengths = np.clip(dice.gamma(3.0, 8.0, count), 2, 120)
    for side, ratio in (("source", 1.0), ("target", 1.1)):
        own = np.clip(lengths * ratio * dice.uniform(0.8, 1.2, count), 2, 127).astype(np.int64)
        ends = own.cumsum()
        tokens = dice.integers(FIRST, vocabulary, ends[-1]).astype(np.int32)
        tokens[ends - 1] = EOS
        sides |= {side: tokens, f"{side}_ends": ends}
    none = np.full(count, -1, np.int32)
    return Examples(**sides, document=none, line=np.arange(1, count + 1, dtype=np.int32))


if __name__ == "__main__":
    main()
