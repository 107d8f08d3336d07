"""What sharing work out costs, and what it gains.

    python benchmarks/cluster.py overhead --units 100000 --workers 2 --out build/overhead.json
    python benchmarks/cluster.py crowd --workers 1000 --out build/crowd.json
    BOXPEN_MIRROR=/path/to/data python benchmarks/cluster.py matrix --out build/matrix.json
    python benchmarks/discourse_scale.py --folder build/scale --lines 2000000 --out build/build.json
    python benchmarks/cluster.py page build/{overhead,crowd,matrix,build}.json

``overhead`` runs units that cost nothing through the real store, scheduler and worker processes.
``crowd`` runs as many real workers as a large cluster has, as threads that sleep instead of
computing, and counts what they ask of the store. ``matrix`` runs models × suites with one local
worker of one thread and with several, in turn. ``page`` fills the tables of
docs/results/machines.md.
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
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster_units import KINDS

from boxpen.cluster.drive import Outcome, have_done
from boxpen.cluster.executors.local import LocalExecutor, cores
from boxpen.cluster.store import Store, open_store
from boxpen.cluster.units import Group, Job, Unit, submit
from boxpen.cluster.worker import Worker
from boxpen.plugins import UNITS

HERE = Path(__file__).parent
UNITS.builtin |= KINDS
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
    one.add_argument("--store", help="URL of an object store; a folder if not given")
    many = parts.add_parser("crowd")
    many.set_defaults(run=crowd)
    many.add_argument("--units", type=int, default=20_000)
    many.add_argument("--models", type=int, default=40)
    many.add_argument("--workers", type=int, default=1000)
    many.add_argument("--seconds", type=float, default=20, help="of a unit, on average")
    many.add_argument("--load", type=float, default=30, help="seconds to load a model")
    two = parts.add_parser("matrix")
    two.set_defaults(run=matrix)
    two.add_argument("--models", nargs="+", help="smollm2 and two of its shape if not given")
    two.add_argument("--suites", nargs="+", default=SUITES)
    two.add_argument("--limit", type=int, default=200)
    two.add_argument("--workers", type=int, nargs="+", default=[1, 2, 2, 1])
    three = parts.add_parser("page")
    three.set_defaults(run=page)
    three.add_argument("results", nargs="+", type=Path)
    for part in (one, many, two):
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
        "memory": memory.rows,
    }  # fmt: skip


def stubs(args: argparse.Namespace, count: int, first: int) -> Iterator[Unit]:
    """Yield units of several models."""
    text = "x" * args.payload_bytes
    each = -(-count // args.models)
    for model in range(args.models):
        group = Group("nothing", {"model": model, "result_bytes": args.result_bytes})
        for number in range(model * each, min(count, (model + 1) * each)):
            yield Unit(group, [first + number, text], 1.0 + number % 7, f"model {model}")


def crowd(args: argparse.Namespace) -> dict[str, Any]:
    """Run many workers as threads on a store in memory, and count what they ask of it."""
    threading.stack_size(1 << 20)
    store = Counted()
    shared = {"load": args.load, "seconds": args.seconds}
    groups = [Group("asleep", {"model": n} | shared) for n in range(args.models)]
    each = -(-args.units // args.models)
    job = submit(store, (
        Unit(group, number, 1.0 + number % 7) for group in groups for number in range(each)
    ))  # fmt: skip
    read_once(job)
    store.asked.clear()
    workers = [
        Worker(store, ordinal=n, name=f"worker-{n}")
        for n in range(args.workers)  # type: ignore[arg-type]
    ]
    started = time.monotonic()
    threads = [threading.Thread(target=worker.run, args=(job.id,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - started
    assert len(store.names("done/")) == len(job.rows)
    return {
        "what": "crowd", "units": len(job.rows), "models": args.models, "workers": args.workers,
        "unit_seconds": args.seconds, "load_seconds": args.load, "seconds": seconds,
        "busy": sum(w.told.working for w in workers) / seconds / len(workers),
        "loads": sum(w.told.loads for w in workers), "requests": store.rates(),
    }  # fmt: skip


def read_once(job: Job) -> None:
    """Let all workers of this process have the rows of a job in common, to save memory."""
    Job.read = classmethod(lambda *_: replace(job, _sheets={}))  # type: ignore[method-assign, assignment]


class Counted:
    """A store in memory that counts requests as S3 would: one for every 1,000 names listed."""

    url = "counted"

    def __init__(self) -> None:
        self.asked: list[tuple[float, str, int]] = []
        self._rooms: dict[str, dict[str, bytes]] = defaultdict(dict)  # by folder
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        return self._room(key, "read").get(key)

    def put(self, key: str, data: bytes) -> None:
        self._room(key, "write")[key] = data

    def put_new(self, key: str, data: bytes) -> bool:
        return self._room(key, "write").setdefault(key, data) is data

    def delete(self, key: str) -> None:
        self._room(key, "delete").pop(key, None)

    def names(self, prefix: str) -> set[str]:
        with self._lock:
            rooms = [room for folder, room in self._rooms.items() if folder.startswith(prefix)]
        keys = {key.removeprefix(prefix) for room in rooms for key in list(room)}
        self.asked.append((time.monotonic(), "list", max(1, -(-len(keys) // 1000))))
        return keys

    def rates(self) -> dict[str, dict[str, float]]:
        """Return the number of requests by kind, and the most in a second (mean of ten)."""
        found: dict[str, dict[str, float]] = {}
        for kind in sorted({kind for _, kind, _ in self.asked}):
            by_time: Counter[int] = Counter()
            for when, what, count in self.asked:
                by_time[int(when / 10)] += count if what == kind else 0
            found[kind] = {"all": by_time.total(), "most_per_second": max(by_time.values()) / 10}
        return found

    def _room(self, key: str, kind: str) -> dict[str, bytes]:
        self.asked.append((time.monotonic(), kind, 1))
        folder = key.rpartition("/")[0] + "/"
        with self._lock:
            return self._rooms[folder]


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
        name = found.get("what", "build")
        table = TABLES[name](found)
        name += f"-{found['store']}" if "store" in found else ""
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
    return "\n".join([
        "| | |", "|---|--:|",
        f"| units, models, workers, cores | {found['units']:,}, {found['models']}, "
        f"{found['workers']}, {found['cores']} |",
        f"| time of a worker per unit | {found['ms_per_unit']:.2f} ms |",
        f"| time to submit, per unit | {1000 * found['submit_seconds'] / found['units']:.2f} ms |",
        f"| memory of the driver at 10 % and at the end | {early['driver_mb']:.0f} MB, "
        f"{rows[-1]['driver_mb']:.0f} MB |",
        f"| memory of a worker at 10 % and at the end | {early['worker_mb']:.0f} MB, "
        f"{rows[-1]['worker_mb']:.0f} MB |",
    ])  # fmt: skip


LIMITS = {"read": 5500, "list": 5500, "write": 3500, "delete": 3500}
"""Requests per second that S3 promises for each prefix (its documentation)."""


def crowd_table(found: dict[str, Any]) -> str:
    """Return the table of what many workers ask of a store."""
    units_per_second = found["workers"] / found["unit_seconds"]
    head = (
        f"{found['workers']:,} workers, {found['models']} models that take "
        f"{found['load_seconds']:g} s to load, {found['units']:,} units of "
        f"{found['unit_seconds']:g} s. Models were loaded {found['loads']:,} times."
    )
    lines = [
        head, "",
        f"| requests | per unit | per second, at {units_per_second:.0f} units a second | "
        "most, over 10 s | S3 allows |",
        "|---|--:|--:|--:|--:|",
    ]  # fmt: skip
    for kind, row in found["requests"].items():
        each = row["all"] / found["units"]
        lines.append(
            f"| {kind} | {each:.1f} | {each * units_per_second:.0f} | "
            f"{row['most_per_second']:,.0f} | {LIMITS[kind]:,} |"
        )
    return "\n".join(lines)


def build_table(found: dict[str, Any]) -> str:
    """Return the table of a build with several numbers of workers (discourse_scale.py)."""
    lines = [
        "| subtitle lines | workers | seconds | lines per second | memory of the largest process |",
        "|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {r['lines']:,} | {r['workers'] or 'none'} | {r['seconds']:.0f} | "
        f"{r['lines_per_second']:,} | {r['megabytes']:,} MB |"
        for r in found["runs"]
    ]
    return "\n".join(lines)


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


TABLES = {
    "overhead": overhead_table, "crowd": crowd_table, "matrix": matrix_table, "build": build_table
}  # fmt: skip


if __name__ == "__main__":
    main()
