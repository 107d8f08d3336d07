"""How fast boxpen and its peers score the same texts with the same model: ``make bench``.

    python benchmarks/speed.py --only causal masked --out build/speed.json

Every tool runs in a process of its own, one after another, with the same checkpoint, texts and
threads (``contestant.py``); in every second round in the opposite order. The fastest round counts.
A peer gets the best of four batch sizes; boxpen runs as it comes. Whole tasks are long, so peers
score a fixed random tenth of the items, and boxpen that tenth and, once, all of them. A run ends
with status 1 if two tools do not agree on the score of a text.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkpoints import checkpoint
from history import labelled
from texts import SUITES, flat, items_of, sample, suites_at_hand
from tools import Text
from work import Work, work_of

from report import table

HERE = Path(__file__).parent
TOLERANCE = 1e-3  # nats for a text of up to fifty tokens, all in float32
TOLERANCE_PER_TOKEN = 2e-5  # beyond: lm-eval's softmax rounds by about half of that, each time


@dataclass(frozen=True)
class Task:
    """One table: a model, texts, and the tools that stand in it."""

    kind: str
    texts: str
    tools: tuple[str, ...]
    pll: str = "within_word_l2r"
    short: bool = False  # enough for the peers to score all of it


CAUSAL = ("boxpen", "lm-eval", "minicons", "minicons-sorted", "loop")
MASKED = ("boxpen", "minicons", "minicons-sorted", "loop")
TASKS = {
    "causal": Task("causal", "causal", CAUSAL),
    "hellaswag": Task("causal", "hellaswag", CAUSAL),
    "masked": Task("masked", "masked", MASKED),
    "masked-original": Task("masked", "masked", MASKED, pll="original"),
    "seq2seq": Task("seq2seq", "seq2seq", ("boxpen", "loop"), short=True),
}
SCALING = Task("causal", "scaling", ("boxpen", "lm-eval", "minicons"))


def main() -> None:
    names = (*TASKS, "scaling")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="TASK")
    parser.add_argument("--out", type=Path, default=Path("build/speed.json"))
    parser.add_argument("--folder", type=Path, default=Path("build/bench"), help="of checkpoints")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu", help="cuda: on a GPU, in float32")
    parser.add_argument("--tools", nargs="+", choices=CAUSAL, default=CAUSAL)
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall",
        help="cpu: count the seconds of the CPU, if others use the machine (with --threads 1)",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1, help="of the items, for the peers")
    parser.add_argument("--limit", type=int, help="only so many texts, whole items at random")
    parser.add_argument("--trial", type=int, default=256, help="texts to find a batch size with")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 4000, 8000])
    parser.add_argument(
        "--minicons",
        type=Path,
        default=Path(f"{sys.prefix}-minicons/bin/python"),
        help="an interpreter in whose environment minicons' masked scorer works",
    )
    options = parser.parse_args()
    if "boxpen" not in options.tools:
        parser.error("--tools needs boxpen: every ratio is to it")

    suites = suites_at_hand()
    # Parts that are not run now keep the numbers of the last time.
    found = json.loads(options.out.read_text("utf-8")) if options.out.is_file() else {}
    apart = []
    for name in options.only:
        print(f"\n{name}", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            bench = Bench(options, suites, Path(scratch))
            if name == "scaling":
                found[name] = bench.scaling(found.get("causal", {}))
            else:
                found[name] = bench.task(TASKS[name]) | labelled()
                found[name]["machine"] = machine(options.threads, options.device)
                found[name]["machine"]["clock"] = options.clock
                print(table(found[name]), flush=True)
                apart += [f"{name}: {row['tool']}" for row in found[name]["rows"] if row["apart"]]
        found["machine"] = machine(options.threads)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if apart:
        raise SystemExit(f"scores differ from boxpen's by more than is allowed: {apart}")


@dataclass
class Bench:
    """What all the tasks of one call share."""

    options: argparse.Namespace
    suites: dict[str, tuple[str, ...]]
    scratch: Path
    done: int = field(default=0)

    def task(self, task: Task) -> dict[str, Any]:
        """Run every tool of a task, and return its numbers."""
        items = self._items(task)
        share = 1.0 if task.short else self.options.share
        some = sample(items, round(share * len(flat(items))))
        parts = {"all": flat(items), "share": flat(some)}
        folder = self._checkpoint(task)
        works = {part: work_of(task.kind, folder, t, pll=task.pll) for part, t in parts.items()}
        rate = self._rate(works["all"])
        rows = [(tool, "share") for tool in task.tools if tool in self.options.tools]
        if share < 1:
            rows.insert(0, ("boxpen", "all"))
        results: dict[tuple[str, str], list[dict[str, Any]]] = {row: [] for row in rows}
        for number in range(self.options.rounds):
            for tool, part in rows[:: -1 if number % 2 else 1]:
                before = results[tool, part]
                if part == "all" and before:
                    continue  # too long to be run twice
                if self._missing(tool, task.kind):
                    continue
                best = [before[0]["batch_size"]] if before else self.options.batch_sizes
                one = self._contestant(tool, task, folder, parts[part], best)
                before.append(one)
                print(f"  {tool}, {part}: {one['seconds']:.1f} s", file=sys.stderr, flush=True)
        reference = results["boxpen", "share"][0]["scores"]
        lengths = _lengths(folder, parts["share"])
        return {
            "suites": self.suites[task.texts],
            "kind": task.kind,
            "model": folder.name,
            "pll": task.pll if task.kind == "masked" else None,
            "rate": rate,
            "work": {part: _as_dict(work) for part, work in works.items()},
            "rows": [
                _row(tool, part, works[part], rate["weighted"], found)
                | (_agreement(found, reference, lengths) if part == "share" else _ALIKE)
                for (tool, part), found in results.items()
                if found
            ],
        }

    def scaling(self, causal: dict[str, Any]) -> dict[str, Any]:
        """Return seconds against the number of texts, each peer at its best batch size."""
        task = SCALING
        items = self._items(task)
        folder = self._checkpoint(task)
        known = {row["tool"]: row["batch_size"] for row in causal.get("rows", [])}
        sizes = [size for size in self.options.sizes if size <= len(flat(items))]
        seconds: dict[str, list[float]] = {tool: [] for tool in task.tools}
        for size in sizes:
            texts = flat(sample(items, size))
            for tool in task.tools:
                best = [known[tool]] if tool in known else self.options.batch_sizes
                one = self._contestant(tool, task, folder, texts, best)
                known.setdefault(tool, one["batch_size"])
                seconds[tool].append(one["seconds"])
                print(f"  {tool}, {size}: {one['seconds']:.1f} s", file=sys.stderr, flush=True)
        return {
            "suites": self.suites[task.texts],
            "sizes": sizes,
            "seconds": seconds,
            "batch_sizes": known,
            "model": folder.name,
        }

    def _items(self, task: Task) -> list[list[Text]]:
        items = items_of(self.suites[task.texts], encoder=task.kind == "seq2seq")
        return sample(items, self.options.limit) if self.options.limit else items

    def _checkpoint(self, task: Task) -> Path:
        whole = items_of(self.suites[task.texts], encoder=task.kind == "seq2seq")
        # The random models learn their vocabulary from the texts, so other texts, other models.
        root = self.options.folder / ("public" if self.suites is SUITES else "starter")
        return checkpoint(task.kind, root, flat(whole))

    def _missing(self, tool: str, kind: str) -> bool:
        apart = tool.startswith("minicons") and kind == "masked"
        if apart and not self.options.minicons.is_file():
            print(f"  {tool} is left out: there is no {self.options.minicons}", file=sys.stderr)
            return True
        return False

    def _contestant(
        self, tool: str, task: Task, folder: Path, texts: Sequence[Text], sizes: Sequence[int]
    ) -> dict[str, Any]:
        """Run one tool in a process of its own."""
        apart = tool.startswith("minicons") and task.kind == "masked"
        python = self.options.minicons if apart else sys.executable
        trial = flat(sample([[text] for text in texts], self.options.trial))
        batch_sizes = () if tool == "boxpen" else ("--batch-sizes", *map(str, sizes))
        one: dict[str, Any] = self._run(
            python, "contestant.py", tool, task.kind, "--pll", task.pll,
            "--device", self.options.device,
            "--model", folder,
            "--texts", self._file(texts), "--trial", self._file(trial), *batch_sizes,
            out="--out",
        )  # fmt: skip
        if self.options.clock == "cpu":
            one["seconds"] = one["cpu_seconds"]
        return one

    def _rate(self, work: Work) -> dict[str, Any]:
        shapes = [[*shape, rows] for shape, rows in work.matrices.items()]
        where = ("--device", self.options.device)
        return self._run(sys.executable, "rate.py", self._file(shapes), *where, out="--out")

    def _run(self, python: Path | str, script: str, *arguments: Any, out: str = "") -> Any:
        threads = str(self.options.threads)
        answer = self.scratch / "answer.json"
        command = [python, HERE / script, *arguments, *((out,) if out else ()), answer]
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
        quiet = {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
        environment = os.environ | dict.fromkeys(names, threads) | quiet
        done = subprocess.run(
            [*map(str, command), "--threads", threads],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command[1:4]))} failed:\n{done.stderr}")
        return json.loads(answer.read_text("utf-8"))

    def _file(self, content: object) -> Path:
        self.done += 1
        path = self.scratch / f"{self.done}.json"
        path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
        return path


def machine(threads: int, device: str = "cpu") -> dict[str, Any]:
    """Return what a reader must know of the machine to read the numbers."""
    import torch

    lines = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    models = [line.partition(":")[2].strip() for line in lines.split("\n") if "model name" in line]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": threads,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "gigabytes": round(memory / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        **({"gpu": torch.cuda.get_device_name()} if device != "cpu" else {}),
    }


_ALIKE = {"difference": None, "apart": False}


def _row(
    tool: str, part: str, work: Work, rate: float, found: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    best = min(found, key=lambda one: one["seconds"])
    kept = ("seconds", "cpu_seconds", "batch_size", "tally", "engine", "megabytes", "versions")
    return {
        "tool": tool,
        "part": part,
        "texts": work.texts,
        "tokens_per_second": work.tokens / best["seconds"],
        "of_rate": work.flops / best["seconds"] / rate,
        "rounds": [one["seconds"] for one in found],
        "trials": found[0]["trials"],
        **{name: best[name] for name in kept},
    }


def _agreement(
    found: Sequence[dict[str, Any]], reference: Sequence[float], lengths: Sequence[int]
) -> dict[str, Any]:
    """Return the largest difference from boxpen, and whether one is more than is allowed."""
    gaps = [
        (abs(ours - theirs), length)
        for one in found
        for ours, theirs, length in zip(reference, one["scores"], lengths, strict=True)
    ]
    return {
        "difference": max(gap for gap, _ in gaps),
        "apart": any(not gap <= max(TOLERANCE, n * TOLERANCE_PER_TOKEN) for gap, n in gaps),
    }


def _lengths(folder: Path, texts: Sequence[Text]) -> list[int]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [len(ids) for ids in tokenizer(text_target=[t for _, t in texts])["input_ids"]]


def _as_dict(work: Work) -> dict[str, int]:
    names = ("texts", "tokens", "positions", "nodes", "flops")
    return {name: getattr(work, name) for name in names}


if __name__ == "__main__":
    main()
