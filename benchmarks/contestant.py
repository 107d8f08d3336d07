"""One tool in one process: load a checkpoint, warm up, score the texts, say how long it took.

    python benchmarks/contestant.py lm-eval causal --model DIR --texts FILE --out FILE

Timed is the way from strings to sums of log-probabilities: tokenisation counts, loading does not.
A tool that has a batch size is tried at each of those given, on the first texts of ``--trial``, and
the best one scores the whole.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import asdict, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from tools import Loaded, Text, load

WARM = 16  # texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("kind", choices=("causal", "masked", "seq2seq"))
    parser.add_argument("--model", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--texts", type=Path, required=True, help="JSON: [[source, text], ...]")
    parser.add_argument("--out", type=Path, required=True, help="where the JSON goes")
    parser.add_argument("--trial", type=Path, help="JSON of texts to find the batch size with")
    parser.add_argument("--batch-sizes", type=int, nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pll", default="within_word_l2r")
    options = parser.parse_args()

    import torch

    torch.set_num_threads(options.threads)
    texts = _read(options.texts)
    tool = load(options.tool, options.kind, options.model, pll=options.pll, device=options.device)
    sizes = options.batch_sizes or [None]
    tool(texts[:WARM], sizes[0])

    trials = {}
    if len(sizes) > 1:
        trial = _read(options.trial) if options.trial else texts
        trials = {size: _timed(tool, trial, size).seconds for size in sizes}
    best = min(trials, key=lambda size: trials[size]) if trials else sizes[0]
    before = _tally(tool.model)
    done = _timed(tool, texts, best)
    result = {
        "seconds": done.seconds,
        "cpu_seconds": done.cpu,
        "batch_size": best,
        "trials": trials,
        "scores": done.scores,
        "tally": {name: n - before[name] for name, n in _tally(tool.model).items()},
        "engine": getattr(tool.model, "engine", ""),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
    }
    options.out.write_text(json.dumps(result), "utf-8")


class _Pass(NamedTuple):
    scores: list[float]
    seconds: float
    cpu: float


def _timed(tool: Loaded, texts: list[Text], batch_size: int | None) -> _Pass:
    started, busy = time.perf_counter(), time.process_time()
    scores = tool(texts, batch_size)
    return _Pass(scores, time.perf_counter() - started, time.process_time() - busy)


def _tally(model: Any) -> dict[str, int]:
    """Return what boxpen says it has computed so far, if it does."""
    tally = getattr(model, "tally", None)
    if tally is None:
        return {}
    return asdict(tally) if is_dataclass(tally) else dict(vars(tally))


def _read(path: Path) -> list[Text]:
    return [(source, text) for source, text in json.loads(path.read_text("utf-8"))]


_PACKAGES = ("boxpen", "lm-eval", "minicons", "torch", "transformers", "tokenizers")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
