"""What sharing work out costs, and what it gains.

    python benchmarks/cluster.py overhead --units 100000 --workers 2 --out build/overhead.json
    BOXPEN_MIRROR=/path/to/data python benchmarks/cluster.py matrix --out build/matrix.json
    python benchmarks/cluster.py page build/overhead.json build/matrix.json

``overhead`` runs units that cost nothing through the real store, scheduler and worker processes,
and counts the requests of a worker that is alone at a model, and of many that share one.
``matrix`` runs models × suites with one local worker of one thread and with several, in turn.
``page`` fills the tables of docs/results/machines.md, and works out from them what a cluster would
ask of the store.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boxpen.cluster.drive import Outcome, have_done
from boxpen.cluster.executors.local import LocalExecutor, cores
from boxpen.cluster.store import DirectoryStore, Store, open_store
from boxpen.cluster.units import Group, Unit, submit
from boxpen.cluster.worker import Worker

HERE = Path(__file__).parent
SUITES = ("commonmt", "cats", "senmaking", "piqa", "starter")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(required=True)
    one = parts.add_parser("overhead")
    one.set_defaults(run=overhead)
    one.add_argument("--units", type=int, default=100_000)
    one.add_argument("--models", type=int, default=40)
    one.add_argument("--workers", type=int, default=2)
    one.add_argument("--payload-bytes", type=int, default=1000)
    one.add_argument("--result-bytes", type=int, default=10_000)
    one.add_argument("--counted", type=int, default=2000, help="units whose requests are counted")
    one.add_argument("--sharing", type=int, default=25, help="workers at one model, counted too")
    one.add_argument("--store", help="URL of an object store; a folder if not given")
    two = parts.add_parser("matrix")
    two.set_defaults(run=matrix)
    two.add_argument("--models", nargs="+", help="smollm2 and two of its shape if not given")
    two.add_argument("--suites", nargs="+", default=SUITES)
    two.add_argument("--limit", type=int, default=200)
    two.add_argument("--workers", type=int, nargs="+", default=[1, 2, 2, 1])
    three = parts.add_parser("page")
    three.set_defaults(run=page)
    three.add_argument("results", nargs="+", type=Path)
    for part in (one, two):
        part.add_argument("--out", type=Path, required=True, help="JSON file")
    args = parser.parse_args()
    found = args.run(args)
    if found is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(found, indent=1) + "\n")
        print(json.dumps(found, indent=1))


def overhead(args: argparse.Namespace) -> dict[str, Any]:
    """Run units that cost nothing."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(args.store or folder)
        started = time.perf_counter()
        submit(store, stubs(args, args.units, 0))
        submitted = time.perf_counter() - started
        watched = Watched(LocalExecutor(workers=args.workers, threads=1))
        memory = Memory(watched.executor)
        with memory:
            outcome = have_done(store, stubs(args, args.units, 0), watched, memory.note)
        assert not outcome.missing, next(iter(outcome.missing.values()))
        started = time.perf_counter()
        outcome.forget()
        forgotten = time.perf_counter() - started
    return {
        "what": "overhead", "units": args.units, "models": args.models, "workers": args.workers,
        "cores": cores(), "payload_bytes": args.payload_bytes, "result_bytes": args.result_bytes,
        "store": (args.store or "folder").partition(":")[0],
        "submit_seconds": submitted, "forget_seconds": forgotten, "seconds": watched.seconds,
        "ms_per_unit": 1000 * watched.seconds * args.workers / args.units,
        "memory": memory.rows, "requests_per_unit": counted(args, 1), "sharing": args.sharing,
        "requests_per_unit_sharing": counted(args, args.sharing),
    }  # fmt: skip


def stubs(
    args: argparse.Namespace, count: int, first: int, models: int = 0, seconds: float = 0
) -> Iterator[Unit]:
    """Yield units of several models."""
    text = "x" * args.payload_bytes
    models = models or args.models
    each = -(-count // models)
    for model in range(models):
        shared = {"model": model, "result_bytes": args.result_bytes, "seconds": seconds}
        group = Group("cluster_units:Nothing", shared)
        for number in range(model * each, min(count, (model + 1) * each)):
            yield Unit(group, [first + number, text], 1.0 + number % 7, f"model {model}")


def counted(args: argparse.Namespace, workers: int) -> dict[str, float]:
    """Return how many requests are made per unit, by operation.

    A worker that is alone does units of several models. Several share the units of one, each of
    which takes them so long that they wait for each other as little as on machines of their own.
    """
    sys.path.insert(0, str(HERE))
    alone = workers == 1
    count = args.counted if alone else 40 * workers
    units = stubs(args, count, 10**9, 0 if alone else 1, 0 if alone else workers / 25)
    with tempfile.TemporaryDirectory() as folder:
        store = Counting(DirectoryStore(Path(folder)))
        job = submit(store, units)
        store.requests.clear()
        names = [f"worker-{n}" for n in range(workers)]
        threads = [
            threading.Thread(target=Worker(store, ordinal=n, name=name).run, args=(job.id,))
            for n, name in enumerate(names)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {name: n / count for name, n in sorted(store.requests.items())}


@dataclass
class Counting:
    """A store that counts what is asked of it."""

    store: Store
    requests: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        return self.store.url

    def get(self, key: str) -> bytes | None:
        return self._counted("get", self.store.get, key)

    def put(self, key: str, data: bytes) -> None:
        self._counted("put", self.store.put, key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        return self._counted("put", self.store.put_new, key, data)

    def delete(self, key: str) -> None:
        self._counted("delete", self.store.delete, key)

    def names(self, prefix: str) -> set[str]:
        return self._counted("list", self.store.names, prefix)

    def _counted(self, name: str, call: Callable[..., Any], *args: Any) -> Any:
        self.requests[name] += 1
        return call(*args)


class Watched:
    """An executor whose time from the first start to the last stop is taken."""

    def __init__(self, executor: LocalExecutor) -> None:
        self.executor = executor
        self.seconds = 0.0
        self._since = 0.0

    @property
    def problems(self) -> list[str]:
        return self.executor.problems

    def start(self, store: Store, job: str) -> None:
        self._since = time.perf_counter()
        self.executor.start(store, job)

    def tend(self, done: int) -> bool:
        return self.executor.tend(done)

    def stop(self) -> None:
        self.executor.stop()
        self.seconds += time.perf_counter() - self._since


class Memory:
    """The memory of the driver and of its largest worker, by the share of units that are done."""

    def __init__(self, executor: LocalExecutor) -> None:
        self.rows: list[dict[str, float]] = []
        self._executor = executor
        self._done: dict[str, tuple[int, int]] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def note(self, label: str, done: int, total: int) -> None:
        """Take note of progress."""
        self._done[label] = done, total

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            counts = list(self._done.values())
            workers = [megabytes(pid) for pid in self._executor.pids]
            if counts and workers:
                done, total = map(sum, zip(*counts, strict=True))
                row = {"done": done / total, "driver_mb": megabytes(os.getpid())}
                self.rows.append(row | {"worker_mb": max(workers)})


def megabytes(pid: int) -> float:
    """Return the resident memory of a process."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def matrix(args: argparse.Namespace) -> dict[str, Any]:
    """Run models × suites with so many local workers of one thread each, in turn."""
    if not args.models:
        from checkpoints import random_smollm2

        folder = HERE.parent / "build" / "cluster"
        args.models = ["smollm2", *(f"hf:{random_smollm2(folder, seed)}" for seed in (1, 2))]
    rounds = []
    for workers in args.workers:
        rounds.append(one_round(args, workers))
        print(json.dumps(rounds[-1]), file=sys.stderr, flush=True)
    times = {n: statistics.median(r["seconds"] for r in rounds if r["workers"] == n)
             for n in set(args.workers)}  # fmt: skip
    return {
        "what": "matrix", "models": len(args.models), "suites": list(args.suites),
        "limit": args.limit, "cores": cores(), "rounds": rounds,
        "speedup": {str(n): times[1] / times[n] for n in sorted(times) if 1 in times},
    }  # fmt: skip


def one_round(args: argparse.Namespace, workers: int) -> dict[str, Any]:
    """Run the matrix once, from an empty store."""
    from boxpen.evaluate import asks
    from boxpen.matrix.cells import cells_of, plan_cells
    from boxpen.matrix.cut import cut
    from boxpen.matrix.settings import RunSettings
    from boxpen.scoring.cache import ScoreCache

    settings = RunSettings(model=tuple(args.models), suite=tuple(args.suites), limit=args.limit)
    cells = cells_of([settings])
    plan_cells(cells, lambda text: print(text, file=sys.stderr))
    with tempfile.TemporaryDirectory() as folder, ScoreCache(":memory:") as nothing:
        parts = [part for c in cells if c.plan for part in cut(asks([c.plan]), nothing)]
        watched = Watched(LocalExecutor(workers=workers, threads=1))
        outcome = have_done(open_store(folder), [part.unit for part in parts], watched)
        assert not outcome.missing, outcome.missing
        return {"workers": workers, "seconds": watched.seconds, **shares(outcome, watched.seconds)}


def shares(outcome: Outcome, seconds: float) -> dict[str, Any]:
    """Return how the workers spent their time."""
    results = [result for _, result in outcome.results()]
    names = {result.worker for result in results}
    working, loading = sum(r.seconds for r in results), sum(r.loading for r in results)
    return {
        "units": len(results),
        "longest_unit": max(r.seconds for r in results),
        "busy": working / seconds / len(names),
        "loading": loading / seconds / len(names),
        "loads": Counter(r.worker for r in results if r.loading).most_common(),
    }


def page(args: argparse.Namespace) -> None:
    """Fill the tables of docs/results/machines.md."""
    place = HERE.parent / "docs" / "results" / "machines.md"
    text = place.read_text("utf-8")
    for file in args.results:
        found = json.loads(file.read_text())
        name = f"{found['what']}-{found['store']}" if "store" in found else found["what"]
        table = {"overhead": overhead_table, "matrix": matrix_table}[found["what"]](found)
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        head, _, rest = text.partition(begin)
        _, mark, tail = rest.partition(end)
        if not mark:
            raise SystemExit(f"{place} has no table {name}")
        text = f"{head}{begin}{table}\n{end}{tail}"
    place.write_text(text, "utf-8")


def overhead_table(found: dict[str, Any]) -> str:
    """Return the table of units that cost nothing."""
    rows = found["memory"]
    early = next(r for r in rows if r["done"] >= 0.1)
    asked = ", ".join(f"{n:.2f} {name}" for name, n in found["requests_per_unit"].items())
    return "\n".join([
        "| | |", "|---|--:|",
        f"| units, models, workers, cores | {found['units']:,}, {found['models']}, "
        f"{found['workers']}, {found['cores']} |",
        f"| time of a worker per unit | {found['ms_per_unit']:.2f} ms |",
        f"| time to submit, per unit | {1000 * found['submit_seconds'] / found['units']:.2f} ms |",
        f"| requests of a worker per unit | {asked} |",
        f"| memory of the driver at 10 % and at the end | {early['driver_mb']:.0f} MB, "
        f"{rows[-1]['driver_mb']:.0f} MB |",
        f"| memory of a worker at 10 % and at the end | {early['worker_mb']:.0f} MB, "
        f"{rows[-1]['worker_mb']:.0f} MB |",
    ])  # fmt: skip


def matrix_table(found: dict[str, Any]) -> str:
    """Return the table of a matrix with several numbers of workers."""
    lines = [
        "| workers | seconds | computing | loading | units | longest unit | loads per worker |",
        "|--:|--:|--:|--:|--:|--:|---|",
    ]
    for r in found["rounds"]:
        loads = ", ".join(str(count) for _, count in r["loads"])
        lines.append(
            f"| {r['workers']} | {r['seconds']:.1f} | {r['busy']:.1%} | {r['loading']:.1%} | "
            f"{r['units']} | {r['longest_unit']:.1f} s | {loads} |"
        )
    ratios = ", ".join(f"{n} workers: {x:.2f}×" for n, x in found["speedup"].items() if n != "1")
    return "\n".join([*lines, "", f"Speed-up over one worker (medians): {ratios}."])


if __name__ == "__main__":
    main()
