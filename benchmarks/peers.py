"""How long boxpen and its peers take to score the same sentences with the same model.

    python benchmarks/peers.py

Every tool gets one smollm2 in memory, the same sentences and the same threads, and is timed from
strings to sums of log-probabilities: tokenisation counts, loading does not. boxpen as it comes and
every peer at several batch sizes take turns for a few rounds, so that other work on the machine
hits all alike. The fastest round of each counts, and of a peer the best batch size.

lm-evaluation-harness sorts by length itself. minicons scores the batches it is given, so it stands
in the table twice: in the order of the sentences, and sorted by length here.
"""

from __future__ import annotations

import argparse
import logging
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

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
    parser.add_argument("-n", type=int, default=48, help="sentences (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="timed rounds (%(default)s)")
    parser.add_argument("--threads", type=int, help="threads of PyTorch (default: its own choice)")
    arguments = parser.parse_args()

    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    model = resolve_model("smollm2", device="cpu")
    texts = sentences(arguments.n)
    # This also loads the model and warms it up.
    reference = boxpen_records(model, [Request(text) for text in texts], bos="always")
    print(_versions())
    print(
        f"{model.name}, {model.dtype}, on the CPU; {len(texts)} sentences, "
        f"{sum(len(r.token_ids) for r in reference)} scored tokens; "
        f"{torch.get_num_threads()} threads; fastest of {arguments.rounds} rounds"
    )
    print(flush=True)

    contestants = {"boxpen": {f"budget {model.token_budget}": _boxpen(model)}, **_peers(model)}
    fastest: dict[tuple[str, str], _Pass] = {}
    for _ in range(arguments.rounds):
        for name, settings in contestants.items():
            for setting, scorer in settings.items():
                done = _timed(scorer, texts)
                before = fastest.get((name, setting), done)
                fastest[name, setting] = min(before, done, key=lambda p: p.seconds)

    best = {
        name: min(settings, key=lambda s, name=name: fastest[name, s].seconds)
        for name, settings in contestants.items()
    }
    base = fastest["boxpen", best["boxpen"]].seconds
    print(
        f"{'tool':<24}{'best setting':<14}{'seconds':>9}{'ratio':>8}{'CPU seconds':>13}"
        f"{'max |difference|':>18}"
    )
    for name, setting in best.items():
        scores, seconds, cpu = fastest[name, setting]
        apart = max(abs(s - r.total) for s, r in zip(scores, reference, strict=True))
        print(
            f"{name:<24}{setting:<14}{seconds:>9.2f}{seconds / base:>8.2f}{cpu:>13.2f}"
            f"{apart:>13.0e} nats"
        )
    print(
        "\nratio: seconds of the tool divided by seconds of boxpen. All that was tried, in seconds:"
    )
    for name, settings in contestants.items():
        tried = (f"{setting} {fastest[name, setting].seconds:.2f}" for setting in settings)
        print(f"  {name}: {', '.join(tried)}")


def _boxpen(model: Model) -> Scorer:
    return lambda texts: [
        r.total for r in boxpen_records(model, [Request(t) for t in texts], bos="always")
    ]


def _peers(model: Model) -> dict[str, dict[str, Scorer]]:
    """Return, for every peer that is installed, its scorer at every batch size."""
    module, tokenizer = model.module, model.tokenizer  # type: ignore[attr-defined]
    found: dict[str, dict[str, Scorer]] = {}
    if _version("lm-eval"):
        from lm_eval.models.huggingface import HFLM

        logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it warns of a model in memory
        harnesses = {
            size: HFLM(pretrained=module, tokenizer=tokenizer, batch_size=size)
            for size in BATCH_SIZES
        }
        found["lm-eval"] = {
            f"batch {size}": lambda texts, harness=harness: lm_eval_scores(
                harness, [("", t) for t in texts]
            )
            for size, harness in harnesses.items()
        }
    if _version("minicons"):
        from minicons.scorer import IncrementalLMScorer

        scorer = IncrementalLMScorer(module, "cpu", tokenizer=tokenizer)
        for name, by_length in (("minicons", False), ("minicons, sorted here", True)):
            found[name] = {
                f"batch {size}": lambda texts, size=size, by_length=by_length: minicons_scores(
                    scorer, texts, size, by_length=by_length
                )
                for size in BATCH_SIZES
            }
    return found


class _Pass(NamedTuple):
    scores: list[float]
    seconds: float
    cpu: float


def _timed(scorer: Scorer, texts: Sequence[str]) -> _Pass:
    started, busy = time.perf_counter(), time.process_time()
    scores = scorer(texts)
    return _Pass(scores, time.perf_counter() - started, time.process_time() - busy)


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
