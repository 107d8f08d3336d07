"""How long boxpen and its peers take to score the same sentences with the same model.

    python benchmarks/peers.py

Every tool gets one smollm2 in memory, the same sentences and the same threads, and is timed from
strings to sums of log-probabilities: tokenisation counts, loading does not. A peer is tried at
several batch sizes, one pass each. Then boxpen as it comes and every peer at its best take turns
for a few rounds, and the medians are printed.

lm-evaluation-harness sorts by length itself. minicons scores the batches it is given, so it stands
in the table twice: in the order of the sentences, and sorted by length here.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sentences import sentences

from boxpen.models.base import Model
from boxpen.models.resolve import resolve_model
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

__all__ = ["boxpen_records", "lm_eval_scores", "minicons_scores"]

BATCH_SIZES = (1, 8, 16, 32, 64)
Scorer = Callable[[Sequence[str]], list[float]]


def boxpen_records(model: Model, requests: Sequence[Request], *, bos: str) -> list[Record]:
    """Score requests with boxpen, in their order."""
    settled = model.settle(ScoringPolicy(bos=bos))
    scored = dict(pair for batch in model.score(requests, settled) for pair in batch)
    return [scored[i] for i in range(len(requests))]


def lm_eval_scores(harness: Any, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Score (context, continuation) pairs with an HFLM; after an empty context stands BOS."""
    from lm_eval.api.instance import Instance

    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=i)
        for i, pair in enumerate(pairs)
    ]
    return [score for score, _ in harness.loglikelihood(requests, disable_tqdm=True)]


def minicons_scores(
    scorer: Any, texts: Sequence[str], batch_size: int, *, by_length: bool = False
) -> list[float]:
    """Score texts after BOS with an IncrementalLMScorer, in batches."""
    order = list(range(len(texts)))
    if by_length:
        order.sort(key=lambda i: len(scorer.tokenizer(texts[i]).input_ids), reverse=True)
    out = [0.0] * len(texts)
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        scores = scorer.sequence_score(
            [texts[i] for i in batch], reduction=lambda x: x.sum(0).item(), bos_token=True
        )
        for i, score in zip(batch, scores, strict=True):
            out[i] = score
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=96, help="sentences (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="timed rounds (%(default)s)")
    parser.add_argument("--threads", type=int, help="threads of PyTorch (default: its own choice)")
    arguments = parser.parse_args()

    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model = resolve_model("smollm2", device="cpu")
    texts = sentences(arguments.n)
    requests = [Request(text) for text in texts]
    reference = boxpen_records(model, requests, bos="always")  # loads and warms up
    print(_versions())
    print(
        f"{model.name}, {model.dtype}, on the CPU; {len(texts)} sentences, "
        f"{sum(len(r.token_ids) for r in reference)} scored tokens; "
        f"{torch.get_num_threads()} threads; median of {arguments.rounds} rounds"
    )
    print(flush=True)

    contestants: dict[str, tuple[str, Scorer]] = {
        "boxpen": (
            f"budget {model.token_budget}",
            lambda _: [r.total for r in boxpen_records(model, requests, bos="always")],
        )
    }
    for name, settings in _peers(model).items():
        passes = {size: _timed(scorer, texts) for size, scorer in settings.items()}
        best = min(passes, key=lambda size: passes[size])
        contestants[name] = (f"batch {best}", settings[best])
        tried = ", ".join(f"{size}: {seconds:.1f}" for size, seconds in passes.items())
        print(f"{name} at batch sizes, seconds: {tried}", file=sys.stderr, flush=True)

    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(arguments.rounds):
        for name, (_, scorer) in contestants.items():
            seconds[name].append(_timed(scorer, texts))
    base = statistics.median(seconds["boxpen"])
    print(f"{'tool':<24}{'best setting':<16}{'seconds':>8}{'ratio':>8}{'max |difference|':>20}")
    for name, (setting, scorer) in contestants.items():
        median = statistics.median(seconds[name])
        apart = max(
            abs(score - record.total)
            for score, record in zip(scorer(texts), reference, strict=True)
        )
        print(f"{name:<24}{setting:<16}{median:>8.2f}{median / base:>8.2f}{apart:>15.1e} nats")
    print("\nratio: seconds of the tool divided by seconds of boxpen")


def _peers(model: Model) -> dict[str, dict[int, Scorer]]:
    """Return, for every peer that is installed, its scorer at every batch size."""
    module, tokenizer = model.module, model.tokenizer  # type: ignore[attr-defined]
    found: dict[str, dict[int, Scorer]] = {}
    if _version("lm-eval"):
        from lm_eval.models.huggingface import HFLM

        harnesses = {
            size: HFLM(pretrained=module, tokenizer=tokenizer, batch_size=size)
            for size in BATCH_SIZES
        }
        found["lm-eval"] = {
            size: lambda texts, harness=harness: lm_eval_scores(harness, [("", t) for t in texts])
            for size, harness in harnesses.items()
        }
    if _version("minicons"):
        from minicons.scorer import IncrementalLMScorer

        scorer = IncrementalLMScorer(module, "cpu", tokenizer=tokenizer)
        for name, by_length in (("minicons", False), ("minicons, sorted here", True)):
            found[name] = {
                size: lambda texts, size=size, by_length=by_length: minicons_scores(
                    scorer, texts, size, by_length=by_length
                )
                for size in BATCH_SIZES
            }
    return found


def _timed(scorer: Scorer, texts: Sequence[str]) -> float:
    started = time.perf_counter()
    scorer(texts)
    return time.perf_counter() - started


def _versions() -> str:
    names = ("boxpen", "lm-eval", "minicons", "torch", "transformers")
    found = [f"{name} {_version(name) or 'is not installed'}" for name in names]
    return ", ".join([*found, f"Python {platform.python_version()}"])


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
