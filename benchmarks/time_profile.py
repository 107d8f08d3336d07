"""Where the time of causal scoring goes on a CPU, operation by operation.

    python benchmarks/time_profile.py

A sample of the texts is scored under PyTorch's profiler. Each operation counts by the time that it
takes itself; what is left of the wall-clock time is Python, tokenising and packing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

import torch
from checkpoints import checkpoint
from texts import SUITES, flat, items_of, sample, suites_at_hand
from tools import boxpen_records
from torch.profiler import ProfilerActivity
from torch.profiler import profile as profiled

from report import profile_table

GROUPS = {
    "matrix products": r"::(mm|addmm|bmm|linear|matmul)$",
    "attention": r"scaled_dot_product|flash_attention",
    "log-sum-exp": r"::(exp_?|amax|logsumexp|log)$",
    "norms, rotary embeddings, activations": (
        r"::(mul_?|add_?|sub_?|div_?|pow|mean|rsqrt|sum|silu|neg|cat|copy_|where)$"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="of checkpoints")
    parser.add_argument("--out", type=Path, default=Path("build/profile.json"))
    options = parser.parse_args()

    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.requests import Request

    torch.set_num_threads(options.threads)
    suites = suites_at_hand()
    items = items_of(suites["causal"])
    root = options.folder / ("public" if suites is SUITES else "starter")
    model = resolve_model(f"hf:{checkpoint('causal', root, flat(items))}", device="cpu")
    requests = [Request(text) for _, text in flat(sample(items, options.texts))]
    boxpen_records(model, requests[:16], bos="always")
    with profiled(activities=[ProfilerActivity.CPU]) as profiler:
        started = time.perf_counter()
        boxpen_records(model, requests, bos="always")
        wall = time.perf_counter() - started

    seconds = dict.fromkeys(GROUPS, 0.0)
    counted = 0.0
    for event in profiler.key_averages():
        spent = event.self_cpu_time_total / 1e6
        counted += spent
        for group, pattern in GROUPS.items():
            if re.search(pattern, event.key):
                seconds[group] += spent
                break
    seconds["other operations"] = counted - sum(seconds.values())
    seconds["outside of PyTorch"] = max(0.0, wall - counted)
    found = {"suites": suites["causal"], "texts": len(requests), "wall": wall, "seconds": seconds}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"profile": found}, indent=1) + "\n", "utf-8")
    print(profile_table(found), file=sys.stdout)


if __name__ == "__main__":
    main()
