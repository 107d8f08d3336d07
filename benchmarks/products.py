"""How fast one core multiplies the matrices of smollm2, by library and precision.

    python benchmarks/products.py

Each product is that of 1,024 positions with a weight matrix. The ways take turns, and the fastest
call of each counts. *Packed* weights are in oneDNN's own layout beforehand, a second copy of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from boxpen.models.engine.products import fast_products, fast_products_used

ROWS = 1024
SHAPES = {"q, o": (576, 576), "k, v": (192, 576), "gate, up": (1536, 576), "down": (576, 1536)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    if not fast_products_used("cpu"):
        print("oneDNN is not used on this CPU: both columns of float32 are the default library's")
    print("| matrix | shape | default | oneDNN | oneDNN, packed | bfloat16 |")
    print("|---|---|--:|--:|--:|--:|")
    for name, (out, inputs) in SHAPES.items():
        rows, weight = torch.randn(ROWS, inputs), torch.randn(out, inputs)
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
        halves = rows.bfloat16(), weight.bfloat16()
        ways: list[Callable[[], object]] = [
            lambda r=rows, w=weight: torch.nn.functional.linear(r, w),
            lambda r=rows, w=weight: by_onednn(r, w),
            lambda r=rows, p=packed: torch.ops.mkldnn._linear_pointwise(r, p, None, "none", [], ""),
            lambda h=halves: torch.nn.functional.linear(*h),
        ]
        best = fastest(ways, options.calls)
        cells = " | ".join(f"{2 * ROWS * out * inputs / each / 1e9:.0f}" for each in best)
        print(f"| {name} | {out} × {inputs} | {cells} |", flush=True)
    print("\nGFLOP/s.")


def by_onednn(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    with fast_products("cpu"):
        return torch.nn.functional.linear(rows, weight)


def fastest(ways: list[Callable[[], object]], calls: int) -> list[float]:
    """Return the seconds of the fastest call of each way."""
    best = [float("inf")] * len(ways)
    for _ in range(calls):
        for number, way in enumerate(ways):
            started = time.perf_counter()
            way()
            best[number] = min(best[number], time.perf_counter() - started)
    return best


if __name__ == "__main__":
    main()
