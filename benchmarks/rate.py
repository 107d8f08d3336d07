"""How fast this machine multiplies float32 matrices at the shapes of a model.

    python benchmarks/rate.py SHAPES.json --out OUT.json --threads 2

``SHAPES.json`` holds [outputs, inputs, rows] for every weight matrix: rows is how many go through
it in all, which only weighs the shapes. Each is run as the model would run it, on a few hundred to
a few thousand rows at once, by the library that PyTorch takes and by oneDNN, and its best rate
counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

__all__ = ["measured", "rate"]

ROWS = (256, 512, 1024, 2048)
SECONDS = 0.25  # for each shape, number of rows and library
Shape = tuple[int, int, int]


def measured(shapes: Sequence[Shape], device: str = "cpu") -> dict[str, object]:
    """Return operations per second: the best of all shapes, and weighted as the model uses them."""
    from boxpen.models.engine.products import fast_products

    found = {(out, inputs): 0.0 for out, inputs, _ in shapes}
    for out, inputs in found:
        weight = torch.randn(out, inputs, device=device)
        for rows in ROWS:
            read = torch.randn(rows, inputs, device=device)
            for library in (contextlib.nullcontext(), fast_products(device)):
                with torch.inference_mode(), library:
                    seconds = fastest(lambda x=read, w=weight: product(x, w))
                found[out, inputs] = max(found[out, inputs], 2 * out * inputs * rows / seconds)
    flops = sum(2 * out * inputs * rows for out, inputs, rows in shapes)
    seconds = sum(2 * o * i * rows / found[o, i] for o, i, rows in shapes)
    return {
        "best": max(found.values()),
        "weighted": flops / seconds,
        "shapes": [[out, inputs, rate] for (out, inputs), rate in found.items()],
    }


def product(rows: torch.Tensor, weight: torch.Tensor) -> None:
    torch.nn.functional.linear(rows, weight)
    if rows.is_cuda:
        torch.cuda.synchronize()


def rate(size: int, dtype: torch.dtype, device: str) -> float:
    """Return operations per second of one square product."""
    left, right = (torch.randn(size, size, dtype=dtype, device=device) for _ in range(2))
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def run() -> None:
        for _ in range(8):
            torch.mm(left, right)
        wait()

    return 8 * 2 * size**3 / fastest(run, seconds=2.0)


def fastest(run: Callable[[], object], *, seconds: float = SECONDS) -> float:
    """Return the shortest time of one call, of as many as fit."""
    run()
    best, until = float("inf"), time.perf_counter() + seconds
    while (started := time.perf_counter()) < until:
        run()
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shapes", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    shapes = [tuple(shape) for shape in json.loads(options.shapes.read_text("utf-8"))]
    options.out.write_text(json.dumps(measured(shapes, options.device)), "utf-8")


if __name__ == "__main__":
    main()
