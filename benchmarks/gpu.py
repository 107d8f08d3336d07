"""boxpen and a padded loop on a GPU: a Llama of 0.1, 1.2 or 7 B parameters, random, bfloat16.

    python benchmarks/texts.py build/gpu          # where the suites are
    python benchmarks/gpu.py --tokenizer build/gpu/tokenizer --texts build/gpu/texts.json

The second command needs a GPU, and of boxpen only what scores: torch, transformers and numpy.
Timed is the way from strings to sums, and again from token ids to sums. boxpen is run once to warm
up, and that pass is reported by itself; then the fastest of ``--rounds`` counts. The loop gets the
best of its batch sizes, found on a sample, and then the same rounds.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import loop
import torch
import transformers
from history import labelled
from rate import rate
from tools import boxpen_records
from work import causal_work, linears

from report import gpu_table

CHECKED = 64  # texts that are also scored in float32
SEED = 1960
SHAPES = {  # width, inner width, layers, heads, of which for keys and values
    "0.1b": (576, 1536, 30, 9, 3),
    "1.2b": (2048, 8192, 18, 32, 8),
    "7b": (4096, 14336, 32, 32, 8),
    "tiny": (64, 128, 2, 4, 2),  # to try the script out
}
Scorer = Callable[[Sequence[str]], list[float]]


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "src"))  # boxpen need not be installed
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokenizer", type=Path, required=True, help="folder of a tokenizer")
    parser.add_argument("--texts", type=Path, required=True, help="JSON: a list of strings")
    parser.add_argument("--out", type=Path, default=Path("build/gpu.json"))
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 64, 128, 256, 512])
    parser.add_argument("--trial", type=int, default=4096, help="texts to find a batch size with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, help="only the first so many texts")
    parser.add_argument("--shape", choices=SHAPES, default="1.2b")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()

    texts = json.loads(options.texts.read_text("utf-8"))[: options.limit]
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.tokenizer)
    module = llama(options.shape, len(tokenizer), options.device)
    peak = rate(8192 if options.device == "cuda" else 512, torch.bfloat16, options.device)
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    work = causal_work(module.config, linears(module), rows, tokenizer.bos_token_id)

    # The loop first: what boxpen may do to a module must not touch it.
    sample = random.Random(SEED).sample(texts, min(options.trial, len(texts)))
    loops = {size: looped(module, tokenizer, size) for size in options.batch_sizes}
    timed(loops[options.batch_sizes[0]], sample)
    trials = {size: timed(scorer, sample)[0] for size, scorer in loops.items()}
    best = min(trials, key=lambda size: trials[size])
    passes = [timed(loops[best], texts) for _ in range(options.rounds)]
    seconds, theirs = min(passes)
    framed = [[tokenizer.bos_token_id, *row] for row in rows]
    on_ids = min(timed(looped_rows(module, best), framed)[0] for _ in range(options.rounds))
    exact = looped(copy.deepcopy(module).float(), tokenizer, 1)(texts[:CHECKED])

    ours, model = boxpen_scorer(module, tokenizer)
    first, _ = timed(ours, texts)
    before = tally_of(model)
    own = [timed(ours, texts) for _ in range(options.rounds)]
    fastest, scores = min(own)
    tally = {name: (n - before[name]) // options.rounds for name, n in tally_of(model).items()}
    found_rows: list[dict[str, Any]] = [
        {"tool": "boxpen", "batch_size": None, "seconds": fastest,
         "on_ids": on_encoded(model, texts, options.rounds), "first": first, "tally": tally,
         "engine": model.engine, "rounds": [each for each, _ in own]}
    ]  # fmt: skip

    found = {
        "model": options.shape,
        "machine": machine(options.device),
        "parameters": sum(p.numel() for p in module.parameters()),
        "rate": peak,
        "work": {"texts": work.texts, "tokens": work.tokens, "nodes": work.nodes,
                 "flops": work.flops},
        "checked": min(CHECKED, len(texts)),
        "differences": {
            "boxpen-loop": apart(scores, theirs),
            "boxpen-float32": apart(scores, exact),
            "loop-float32": apart(theirs, exact),
        },
        "rows": [
            *found_rows,
            {"tool": "loop", "texts": work.texts, "batch_size": best, "seconds": seconds,
             "on_ids": on_ids, "trials": trials, "rounds": [each for each, _ in passes]},
        ],
    } | labelled()  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    # The table of the document is that of 1.2 B; the others are kept beside it.
    name = "gpu" if options.shape == "1.2b" else f"gpu-{options.shape}"
    options.out.write_text(json.dumps({name: found}, indent=1) + "\n", "utf-8")
    print(gpu_table(found))


def llama(shape: str, vocabulary: int, device: str) -> Any:
    """Return a random Llama; 1.2b is Llama-3.2-1B with two layers more, for fewer words."""
    width, inner, layers, heads, shared = SHAPES[shape]
    config = transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=inner,
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=shared,
        head_dim=width // heads, max_position_embeddings=8192, tie_word_embeddings=True,
        initializer_range=0.04,
    )  # fmt: skip
    torch.manual_seed(SEED)
    with torch.device(device):
        return transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()


def boxpen_scorer(module: Any, tokenizer: Any) -> tuple[Scorer, Any]:
    """Return boxpen, and its model, which counts what it computes."""
    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.requests import Request

    model = resolve_model((module, tokenizer))

    def scores(texts: Sequence[str]) -> list[float]:
        return [r.total for r in boxpen_records(model, [Request(t) for t in texts], bos="always")]

    return scores, model


def on_encoded(model: Any, texts: Sequence[str], rounds: int) -> float:
    """Return the seconds that boxpen takes for texts that are tokenised already."""
    from boxpen.scoring.policy import ScoringPolicy
    from boxpen.scoring.requests import Request

    resolved_policy = model.resolve_policy(ScoringPolicy(bos="always"))
    encoded = model.encode([Request(t) for t in texts], resolved_policy)

    def run(every: Sequence[Any]) -> list[float]:
        distinct = sorted(set(every), key=lambda e: e.ids)
        return [float(v.sum()) for batch in model.run(distinct, resolved_policy) for _, v in batch]

    return min(timed(run, encoded)[0] for _ in range(rounds))


def looped_rows(module: Any, batch_size: int) -> Callable[[Sequence[list[int]]], list[float]]:
    """Return the padded loop on token ids."""
    return lambda rows: loop.causal_rows(module, rows, batch_size)


def looped(module: Any, tokenizer: Any, batch_size: int) -> Scorer:
    """Return the padded loop at one batch size."""
    return lambda texts: loop.causal(module, tokenizer, texts, batch_size)


def timed(scorer: Callable[[Any], list[float]], texts: Sequence[Any]) -> tuple[float, list[float]]:
    """Return the seconds that a scorer takes, and its scores; these are on the CPU at the end."""
    started = time.perf_counter()
    scores = scorer(texts)
    return time.perf_counter() - started, scores


def tally_of(model: Any) -> dict[str, int]:
    """Return what boxpen says it has computed so far, if it does."""
    tally = getattr(model, "tally", None)
    names = ("texts", "tokens", "nodes", "computed")
    return {name: getattr(tally, name) for name in names} if tally is not None else {}


def apart(some: Sequence[float], others: Sequence[float]) -> float:
    """Return the largest difference of the texts that both have."""
    return max(abs(a - b) for a, b in zip(some, others, strict=False))


def machine(device: str) -> dict[str, str]:
    """Return what a reader must know of the machine."""
    return {
        "gpu": torch.cuda.get_device_name() if device == "cuda" else platform.processor(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


if __name__ == "__main__":
    main()
