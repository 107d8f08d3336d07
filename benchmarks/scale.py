"""What a run costs besides computing, from a thousand to a million items: time, memory, cache.

    python benchmarks/scale.py --sizes 1000 10000 100000 1000000

Items are made up: a context that ten of them share, and two candidates. The model is a stub: its
tokens are words, and its log-probabilities come from a hash, so that next to nothing is computed.
What is left is what boxpen itself takes: reading the suite, planning, tokenising, the tree, keys
and the cache, verdicts, writing, and reading runs again for ``report --html`` and ``compare``. Each
size has a process of its own. Times are of the CPU, all threads together; memory is the largest
that the process had when the step ended. Loading, the report and the comparison run in processes of
their own.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from boxpen import Model
from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request
from boxpen.scoring.tree import Tree

WORDS = (
    "the",
    "box",
    "is",
    "in",
    "a",
    "pen",
    "near",
    "every",
    "old",
    "house",
    "by",
    "some",
    "river",
)
ROOT = Path(__file__).parents[1]
OUT = ROOT / "build" / "scale.json"


class Stub(Model):
    """Words are tokens; what a log-probability is follows from a hash of the text."""

    kind = "causal"
    dtype = "float32"

    def __init__(self, seed: int = 0) -> None:
        self.name, self.fingerprint, self._seed = f"stub{seed}", f"{seed:064d}", seed
        self.spent = dict.fromkeys(("tokenise", "tree"), 0.0)

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:  # noqa: ARG002
        return ResolvedPolicy(bos=True, eos=False, max_length=512)

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:  # noqa: ARG002
        started = time.thread_time()
        out = []
        for request in requests:
            before = request.prefix.split()
            words = [*before, *request.text.split()]
            ids = tuple(zlib.crc32(word.encode()) & 0xFFFF for word in words)
            out.append(Encoded((1, *ids), range(len(before) + 1, len(ids) + 1)))
        self.spent["tokenise"] += time.thread_time() - started
        return out

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        started = time.thread_time()
        tree = Tree([each.ids for each in encoded])
        self.tally.add(tokens=tree.tokens, nodes=tree.nodes, computed=tree.nodes)
        self.spent["tree"] += time.thread_time() - started
        for start in range(0, len(encoded), 256):
            yield [
                (number, _values(each, self._seed))
                for number, each in enumerate(encoded[start : start + 256], start)
            ]


def _values(text: Encoded, seed: int) -> Any:
    drawn = zlib.crc32(repr((seed, text.ids)).encode())
    return -np.linspace(1, 2 + drawn / 2**32, len(text.scored), dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--one", type=int, help="only this size, in this process, as JSON")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one)))
        return
    found = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else {}
    for size in options.sizes:
        command = [sys.executable, __file__, "--one", str(size)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[str(size)] = json.loads(done.stdout)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        print(table(found), flush=True)


def measured(size: int) -> dict[str, Any]:
    """Return CPU seconds and peak megabytes of every step with so many items."""
    steps: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_suite(folder / "suite.jsonl", size)
        place, other, spent, cached = scored(folder, _Steps(steps))
        gc.collect()  # the parent of the processes below should be small
        for name, code in {
            "load a run": f"boxpen.Run.load('{place}').summary()",
            "report --html": f"cli(['report', '{place}', '--html', '{folder / 'r.html'}'])",
            "compare": f"cli(['compare', '{place}', '{other}'])",
        }.items():
            steps[name] = _alone(code)
        page = (folder / "r.html").stat().st_size
        stored = sum(path.stat().st_size for path in place.iterdir())
    return {"steps": steps, "within": spent, "cache": cached, "run": stored, "html": page}


def scored(folder: Path, done: _Steps) -> tuple[Path, Path, dict[str, float], int]:
    """Make two runs of a suite; return where they are, what was spent, and the cache's size."""
    import boxpen
    from boxpen.evaluate import run_plans
    from boxpen.plans import plan
    from boxpen.scoring.cache import ScoreCache

    suite = done("read the suite", lambda: boxpen.load_suite(folder / "suite.jsonl"))
    models = [Stub(0), Stub(1)]
    plans = done("plan", lambda: [plan(models[0], suite)])
    with ScoreCache(folder / "cache.db") as cache:
        (run,) = done("score and decide", lambda: run_plans(plans, cache))
    cached = sum(path.stat().st_size for path in folder.glob("cache.db*"))
    place = done("write", lambda: run.save(folder / "runs"))
    model = replace(run.info.model, name="other", short="other", fingerprint="f" * 64)
    other = replace(run, info=replace(run.info, model=model).signed())
    return place, other.save(folder / "runs"), models[0].spent, cached


def write_suite(path: Path, size: int) -> None:
    """Write made-up items."""
    random = np.random.default_rng(1960)
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, size, 10):
            context = " ".join(random.choice(WORDS, 8)) + f" {start}."
            for number in range(start, min(size, start + 10)):
                pair = [f"{' '.join(random.choice(WORDS, 6))} {number} {c}" for c in "ab"]
                item = {"id": f"i{number}", "context": context, "candidates": pair, "gold": 0}
                stream.write(json.dumps(item | {"tags": {"set": f"s{number % 7}"}}) + "\n")


class _Steps:
    def __init__(self, steps: dict[str, list[float]]) -> None:
        self._steps = steps

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        result = work()
        self._steps[name] = [time.process_time() - started, _peak()]
        return result


def _alone(code: str) -> list[float]:
    """Return CPU seconds and peak megabytes of a line of Python in a process of its own."""
    lines = f"""
import io, sys, time, contextlib
import boxpen
def cli(words):
    from boxpen.cli import main
    sys.argv = ["boxpen", *words]
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            assert not end.code, end
started = time.process_time()
{code}
spent = time.process_time() - started
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print("MEASURED", spent, int(peak.split()[1]) / 1024)
"""
    command = [sys.executable, "-c", lines]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split("MEASURED")[1].split()]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(found: dict[str, Any]) -> str:
    """Return CPU seconds and peak memory of every step by number of items."""
    sizes = sorted(found, key=int)
    lines = [
        "| step | " + " | ".join(f"{int(size):,} items" for size in sizes) + " |",
        "|---" + "|--:" * len(sizes) + "|",
    ]
    for name in found[sizes[0]]["steps"]:
        cells = [found[size]["steps"][name] for size in sizes]
        shown = " | ".join(f"{spent:,.1f} s, {peak:,.0f} MB" for spent, peak in cells)
        lines.append(f"| {name} | {shown} |")
    for name in found[sizes[0]]["within"]:
        shown = " | ".join(f"{found[size]['within'][name]:,.1f} s" for size in sizes)
        lines.append(f"| of scoring: {name} | {shown} |")
    for name, label in (("cache", "score cache"), ("run", "run directory"), ("html", "HTML page")):
        shown = " | ".join(f"{found[size][name] / 2**20:,.1f} MB" for size in sizes)
        lines.append(f"| {label} | {shown} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
