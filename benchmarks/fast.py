"""``--precision fast`` beside float32: time with rescoring included, and verdicts that differ.

    python benchmarks/fast.py --suites commonmt cats starter
    python benchmarks/fast.py --suites commonmt cats starter --cache FILE     # verdicts only

Both score the same items with the same model in one process, each from an empty cache; seconds are
those of the CPU, so that other work on the machine disturbs them less. With
``--cache``, scores are taken from there, so that whole suites need not be scored again to compare
verdicts; times are left out then.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from history import labelled
from speed import machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", nargs="+", default=["commonmt", "cats", "starter"])
    parser.add_argument("--limit", type=int, help="items of each suite")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cache", type=Path, help="take scores from this cache; no times")
    parser.add_argument("--out", type=Path, default=Path("build/fast.json"))
    options = parser.parse_args()

    import torch

    import boxpen
    from boxpen.sampling import draw_sample

    torch.set_num_threads(options.threads)
    model: Any = boxpen.resolve_model(options.model, dtype="float32")
    if model.rounded is None:
        raise SystemExit("this hardware does not multiply bfloat16 faster than float32")
    rows = []
    for name in options.suites:
        suite = draw_sample(boxpen.load_suite(name), options.limit)
        few = draw_sample(boxpen.load_suite(name), 10)
        runs, seconds = [], []
        for precision in ("full", "fast"):
            how: dict[str, Any] = {"precision": precision, "translate": False}
            if options.cache is None:  # load, check and warm up
                boxpen.evaluate(model, few, cache=":memory:", **how)
            started = time.process_time()
            runs.append(boxpen.evaluate(model, suite, cache=options.cache or ":memory:", **how))
            seconds.append(time.process_time() - started)
        full, fast = runs
        rows.append(
            {
                "suite": name,
                "items": len(full.verdicts),
                "seconds": None if options.cache else seconds,
                "rescored": sum(c[0].dtype == "float32" for c in fast.candidates.values()),
                "bound": (fast.info.rounding or {}).get(fast.info.policy.norm),
                "flips": len(flips(full, fast)),
                "moved": moved(full, fast),
            }
        )
        print(table(rows), flush=True)
    found = {"rows": rows, "machine": machine(options.threads)} | labelled()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps({"fast": found}, indent=1) + "\n", "utf-8")
    if any(row["flips"] for row in rows):
        raise SystemExit("verdicts differ")


def flips(full: Any, fast: Any) -> list[str]:
    """Return the items whose verdicts differ."""
    return [
        a.id
        for a, b in zip(full.verdicts, fast.verdicts, strict=True)
        if (a.id, a.winner, a.tied, a.credit) != (b.id, b.winner, b.tied, b.credit)
    ]


def moved(full: Any, fast: Any) -> float:
    """Return the largest change of a margin among the items that were scored in bfloat16 alone."""
    pairs = zip(full.verdicts, fast.verdicts, strict=True)
    found = [
        abs(a.margin - b.margin) for a, b in pairs if fast.candidates[b.id][0].dtype != "float32"
    ]
    return max(found, default=0.0)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return what was measured as a table."""
    lines = [
        "| suite | items | float32 | fast | faster by | scored again | bound "
        "| largest change beyond it | verdicts that differ |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        full, fast = row["seconds"] or (None, None)
        cells = (
            row["suite"],
            f"{row['items']:,}",
            f"{full:.1f} s" if full else "–",
            f"{fast:.1f} s" if fast else "–",
            f"{full / fast:.2f}×" if full else "–",
            f"{row['rescored'] / row['items']:.0%}",
            f"{row['bound']:.2f} nats",
            f"{row['moved']:.2f} nats",
            row["flips"],
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
