"""llama.cpp reads the texts that boxpen scores, with the same GGUF file and threads.

    python benchmarks/llama_cpp.py --share 0.1

llama.cpp has no call that returns the log-probabilities of a prompt, so what is timed is less than
scoring: its prompt processing, on the weights as they are stored (``--embedding`` mode: every text
goes through all layers, in batches, and no output layer is evaluated). boxpen scores the same texts
from the same file, dequantised to float32, with the output layer. The two take turns, as in
``speed.py``; seconds are those of the CPU, all threads together. Needs the package ``xllamacpp``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from history import labelled
from speed import machine
from texts import flat, items_of, sample, suites_at_hand
from tools import boxpen_records

BATCH = 2048  # tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.1, help="of the texts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("build/llama_cpp.json"))
    options = parser.parse_args()

    import torch

    from boxpen.models.loading.embedded import smollm2_path
    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.requests import Request

    torch.set_num_threads(options.threads)
    items = items_of(suites_at_hand()["causal"])
    texts = [t for _, t in flat(sample(items, round(options.share * len(flat(items)))))]
    model: Any = resolve_model("smollm2", device="cpu", dtype="float32")
    rows = [[model.tokenizer.bos_token_id, *ids] for ids in model.tokenizer(texts)["input_ids"]]
    reader = Reader(smollm2_path(), options.threads)
    model.load()
    requests = [Request(text) for text in texts]
    reader.read(rows[:16])
    boxpen_records(model, requests[:16], bos="always")
    rounds: dict[str, list[float]] = {"boxpen": [], "llama.cpp": []}
    for number in range(options.rounds):
        order = [
            ("boxpen", lambda: boxpen_records(model, requests, bos="always")),
            ("llama.cpp", lambda: reader.read(rows)),
        ]
        for name, work in order[:: -1 if number % 2 else 1]:
            started = time.process_time()
            work()
            rounds[name].append(time.process_time() - started)
            print(f"{name}: {rounds[name][-1]:.1f} s", flush=True)
    found = {
        "model": "smollm2",
        "tokens": sum(map(len, rows)),
        "xllamacpp": version("xllamacpp"),
        "machine": machine(options.threads) | {"clock": "cpu"},
        "rows": [
            {"tool": name, "part": "share", "texts": len(texts), "rounds": each}
            for name, each in rounds.items()
        ],
    } | labelled()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"llama.cpp": found}, indent=1) + "\n", "utf-8")


class Reader:
    """llama.cpp with a model in memory."""

    def __init__(self, path: Path, threads: int) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_LAST
        params.n_ctx = 2 * BATCH
        params.n_batch = params.n_ubatch = BATCH
        params.n_parallel = 64
        params.kv_unified = True
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.warmup = False
        params.verbosity = 0
        self._server = xllamacpp.Server(params)

    def read(self, rows: Sequence[Sequence[int]]) -> None:
        """Read texts, given as token ids."""
        for start in range(0, len(rows), 512):
            few = rows[start : start + 512]
            answer = self._server.handle_embeddings({"input": [list(row) for row in few]})
            if isinstance(answer, str):
                answer = json.loads(answer)
            if len(answer.get("data", ())) != len(few):
                raise SystemExit(f"llama.cpp answered {str(answer)[:200]}")


if __name__ == "__main__":
    main()
