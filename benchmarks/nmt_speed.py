"""How fast a Transformer base is trained, and how fast it translates, beside plain loops.

    nmt_speed.py train --data PREPARED                 target tokens a second
    nmt_speed.py translate --model FOLDER --source TXT sentences a second

The peer in training is the loop that most people write: batches of 32,000 tokens sorted by length,
bfloat16 autocast, AdamW, the model's own loss, nothing compiled. The peer in translation is
``generate`` over batches of 32 sentences in the order of the file, with the same limit: a
translation ends at two tokens, and ten, for each of the longest source of its batch. Both peers and
boxpen run in one process on the same data, one after the other; peers get bfloat16 and cached
attention too, and are spared cuDNN's, which is planned anew for every shape. A training goes over
its batches once before it is timed on them, so that every shape has been met. Results are added to
``build/nmt_speed.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch

from boxpen.ahead import ahead
from boxpen.models.engine.cudnn import unplanned_attention
from boxpen.nmt.config import ModelConfig, NmtConfig, TrainConfig
from boxpen.nmt.data.feed import Feed
from boxpen.nmt.data.inputs import batch_of
from boxpen.nmt.data.prepared import Prepared, open_prepared
from boxpen.nmt.data.subwords import PAD
from boxpen.nmt.folder import ModelFolder
from boxpen.nmt.learner import Learner
from boxpen.text.corpus import CorpusSpec
from boxpen.training.arithmetic import fast_arithmetic
from boxpen.training.loop import AHEAD
from boxpen.training.processes import Processes
from boxpen.training.state import Place, Step

RESULTS = Path(__file__).parents[1] / "build" / "nmt_speed.json"
RATIO = 2.0
"""Tokens of a translation for each of the longest source in its batch; ten more are allowed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("--data", type=Path, required=True)
    training.add_argument("--architecture", default="transformer")
    training.add_argument("--steps", type=int, default=200)
    training.add_argument("--tokens", type=int, default=32_000)
    training.add_argument("--size", default="base")
    translating = commands.add_parser("translate")
    translating.add_argument("--model", type=Path, required=True)
    translating.add_argument("--source", type=Path, required=True)
    translating.add_argument("--sentences", type=int, default=4000)
    translating.add_argument("--beam", type=int, default=5)
    given = parser.parse_args()
    found = train(given) if given.command == "train" else translate(given)
    RESULTS.parent.mkdir(exist_ok=True)
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else []
    RESULTS.write_text(json.dumps([*kept, found], indent=1))
    print(json.dumps(found, indent=1))


def train(given: argparse.Namespace) -> dict[str, Any]:
    """Measure the plain loop, then ours."""
    prepared = open_prepared(given.data)
    config = NmtConfig(
        path=Path("-"),
        folder=Path("-"),
        data=given.data,
        source="zh",
        target="en",
        corpora=(),
        valid=CorpusSpec("valid", source=Path("-"), target=Path("-")),
        model=ModelConfig(architecture=given.architecture, size=given.size),
        train=TrainConfig(tokens=given.tokens, max_steps=10**6),
    )
    with fast_arithmetic(torch.device("cuda" if torch.cuda.is_available() else "cpu")):
        rates = {
            "plain": _plain(config, prepared, given.steps),
            "boxpen": _ours(config, prepared, given.steps),
        }
    return {
        "what": "training, target tokens a second",
        "architecture": f"{given.architecture} {given.size}",
        "tokens": given.tokens,
        "device": _device_name(),
        **{name: round(rate) for name, rate in rates.items()},
        "ratio": round(rates["boxpen"] / rates["plain"], 2),
    }


def _learner(config: NmtConfig, prepared: Prepared) -> tuple[Learner, Feed]:
    """Return a new model with its optimiser, and what it learns from."""
    processes = Processes("auto")
    learner = Learner(
        config,
        ModelFolder(config, prepared).new_model(),
        processes,
        processes.device,
        prepared.train.mean_lengths,
    )
    feed = Feed(
        prepared.train, None, tokens=config.train.tokens, accumulate=1, seed=1, pad=PAD, start=PAD,
        pin=processes.device.type == "cuda",
    )  # fmt: skip
    return learner, feed


def _plain(config: NmtConfig, prepared: Prepared, steps: int) -> float:
    """The loop that most people write."""
    config = replace(config, train=replace(config.train, compile="no"))
    learner, feed = _learner(config, prepared)
    model, device = learner.model, learner.device
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    groups = feed.groups(0)

    def step(number: int) -> int:
        numbers = groups[number % len(groups)][0]
        batch = batch_of(prepared.train, numbers, pad=PAD, start=PAD)
        moved = {k: v.to(device) for k, v in batch.items() if k != "decoder_input_ids"}
        with torch.autocast(device.type, torch.bfloat16):
            loss = model(**moved).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        return int(prepared.train.target_lengths[numbers].sum())

    return _rate(lambda: map(step, range(steps)))


def _ours(config: NmtConfig, prepared: Prepared, steps: int) -> float:
    learner, feed = _learner(config, prepared)

    def step(made: Step) -> int:
        learner.step(made, rate=1e-4)
        return made.tokens

    def taken() -> Iterable[int]:
        source = ahead(feed.steps(Place()), depth=AHEAD)
        first = next(source)  # the order of an epoch is made once for thousands of steps
        return map(step, chain([first], islice(source, steps - 1)))

    return _rate(taken)


def _rate(taken: Callable[[], Iterable[int]]) -> float:
    """Return the tokens a second of steps the second time that they are taken."""
    rate = 0.0
    for _ in ("warm-up", "timed"):
        counts = taken()
        _wait()
        started = time.perf_counter()
        tokens = sum(counts)
        _wait()
        rate = tokens / (time.perf_counter() - started)
    return rate


def translate(given: argparse.Namespace) -> dict[str, Any]:
    """Measure ``generate`` over batches of 32, then ours."""
    from boxpen.nmt.loading import load_model
    from boxpen.nmt.reading import Reading
    from boxpen.nmt.translate import translate_lines

    cuda = torch.cuda.is_available()
    model, tokenizer = load_model(given.model)
    model = model.to("cuda" if cuda else "cpu")
    if cuda and model.config.model_type != "rnnsearch":
        model = model.bfloat16()
    limit = Reading(model, tokenizer).limit
    lines = given.source.read_text("utf-8").splitlines()[: given.sentences]

    def plain(some: list[str]) -> list[str]:
        out: list[str] = []
        for start in range(0, len(some), 32):
            read = tokenizer(some[start : start + 32], return_tensors="pt", padding=True)
            with torch.inference_mode():
                longest = int(RATIO * read["input_ids"].shape[1]) + 10
                made = model.generate(
                    **read.to(model.device), num_beams=given.beam, max_length=None,
                    max_new_tokens=min(limit, longest),
                )  # fmt: skip
            out += tokenizer.batch_decode(made, skip_special_tokens=True)
        return out

    def ours(some: list[str]) -> list[str]:
        tokens = 131_072 if cuda else 4096
        found = translate_lines(
            model, tokenizer, some, beam=given.beam, tokens=tokens, max_ratio=RATIO
        )
        return [t.text for t in found]

    rates, texts = {}, {}
    for name, work in (("plain", plain), ("boxpen", ours)):
        with unplanned_attention(model.device):
            work(lines[:64])
            _wait()
            started = time.perf_counter()
            texts[name] = work(lines)
            _wait()
            rates[name] = len(lines) / (time.perf_counter() - started)
    same = sum(a.strip() == b.strip() for a, b in zip(*texts.values(), strict=True))
    return {
        "what": "translation, sentences a second",
        "architecture": model.config.model_type,
        "beam": given.beam,
        "sentences": len(lines),
        "device": _device_name(),
        **{name: round(rate, 1) for name, rate in rates.items()},
        "ratio": round(rates["boxpen"] / rates["plain"], 2),
        "same": round(same / len(lines), 4),
    }


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _device_name() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"


if __name__ == "__main__":
    main()
