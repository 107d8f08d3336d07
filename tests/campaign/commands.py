"""Small commands of every kind, where they work, and what they leave when nothing disturbs them."""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import rooms  # noqa: F401

Outcome = dict[str, Any]
# Times and speeds, temporary files that a database keeps, and logs of what was resumed.
_PASSED_OVER = re.compile(r"(-wal|-shm|\.db|scores\.sqlite|\.lock|log\.jsonl|training\.json)$")


@dataclass(frozen=True)
class Work:
    """A command, in a folder that ``prepare`` fills.

    Attributes:
        name: What it is called in results.
        kind: run, report, build, review, train or suite.
        prepare: Writes what the command needs into a folder.
        options: Of ``boxpen``.
    """

    name: str
    kind: str
    prepare: Callable[[Path], None]
    options: str

    def command(self) -> list[str]:
        return [sys.executable, "-m", "boxpen", *self.options.split()]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing is shared with other commands."""
    own = {"XDG_CACHE_HOME": str(folder / ".cache"), "OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    return os.environ | own | {"HF_HUB_OFFLINE": "1", "POLARS_MAX_THREADS": "2"}


def outcome(folder: Path) -> Outcome:
    """Return what a command left: the content of its files, of runs what is in their tables."""
    found: Outcome = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or name.startswith(".cache") or _PASSED_OVER.search(name):
            continue
        if path.name in ("run.json", "result.json", "build.json", "stages.json") or (
            path.suffix == ".json" and b'"seconds"' in path.read_bytes()
        ):
            found[name] = _untimed(json.loads(path.read_text("utf-8")))
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    for cache in folder.glob("scores.sqlite"):
        import sqlite3

        with sqlite3.connect(cache) as opened:
            rows = opened.execute(
                "SELECT key, token_ids, logprobs, unscored, unknown, truncated, crossing "
                "FROM scores ORDER BY key"
            ).fetchall()
        found["scores.sqlite"] = len(rows), hashlib.sha256(repr(rows).encode()).hexdigest()
    return found


_TIMES = ("seconds", "time", "times", "created", "tokens_per_second", "items_per_second", "date",
          "begun", "ended", "duration", "cached", "scored", "speed", "started", "finished", "batch",
          "texts_per_second", "elapsed", "engine")  # fmt: skip


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _untimed(v) for k, v in value.items() if k not in _TIMES}
    return [_untimed(one) for one in value] if isinstance(value, list) else value


def differences(found: Outcome, expected: Outcome) -> list[str]:
    """Return the names of files that differ, are missing, or should not be there."""
    names = sorted(found.keys() | expected.keys())
    return [f"{n} ({_how(found, expected, n)})" for n in names if found.get(n) != expected.get(n)]


def _how(found: Outcome, expected: Outcome, name: str) -> str:
    if name not in found:
        return "missing"
    if name not in expected:
        return "left over"
    one, other = found[name], expected[name]
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [k for k in one.keys() | other.keys() if one.get(k) != other.get(k)]
        return "differs in " + ", ".join(f"{k}: {one.get(k)!r:.60}" for k in keys[:3])
    return "differs"


class Ended(NamedTuple):
    """How a command ended; below 0, by a signal."""

    returncode: int
    stdout: str
    stderr: str


def begin(work: Work, folder: Path, megabytes: int | None = None) -> Callable[[], Ended]:
    """Start a command; return what waits for its end."""
    log = tempfile.mktemp()
    options = (work.options.split(), str(folder), environment(folder), log, megabytes)
    process = _context().Process(target=preloaded_run, args=options)
    process.start()

    def ended() -> Ended:
        process.join(300)
        if process.exitcode is None:
            process.kill()
            process.join()
            return Ended(-9, "", "it did not end in 300 s")
        texts = []
        for name in ("stdout", "stderr"):
            path = Path(f"{log}.{name}")
            texts.append(path.read_text() if path.exists() else "")
            path.unlink(missing_ok=True)
        return Ended(process.exitcode, *texts)

    return ended


def run(work: Work, folder: Path, megabytes: int | None = None) -> Ended:
    """Run a command to its end."""
    return begin(work, folder, megabytes)()


@functools.cache
def _context() -> Any:
    os.environ.update(environment(Path()))
    here = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, here))  # for the preloading process
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["preloaded"])
    return context


def preloaded_run(*options: Any) -> None:
    import preloaded

    preloaded.run(*options)


def suite(folder: Path) -> None:
    from boxpen import write_suite
    from small_runs import small_suite

    write_suite(small_suite(300), folder / "small.jsonl")


def model(folder: Path) -> None:
    import tiny

    suite(folder)
    module, tokenizer = tiny.gpt2()
    module.save_pretrained(folder / "gpt2")
    tokenizer.save_pretrained(folder / "gpt2")


def runs(folder: Path) -> None:
    from small_runs import small_run

    small_run("+-+-=" * 80).save(folder / "runs").rename(folder / "runs" / "one")


def sheets(folder: Path) -> None:
    import csv

    from typer.testing import CliRunner

    from boxpen.cli.app import app

    suite(folder)
    for judge in ("anna", "ben"):
        path = folder / f"{judge}.csv"
        CliRunner().invoke(app, ["review", "export", str(folder / "small.jsonl"), "--judge", judge,
                                 "--task", "tags", "--tag", "steps", "--values", "1", "2",
                                 "--out", str(path)])  # fmt: skip
        rows = list(csv.DictReader(path.open(encoding="utf-8-sig", newline="")))
        with path.open("w", encoding="utf-8", newline="") as stream:
            table = csv.DictWriter(stream, list(rows[0]))
            table.writeheader()
            table.writerows(row | {"verdict": "12"[len(row["item"]) % 2]} for row in rows)


def judged(folder: Path) -> None:
    from typer.testing import CliRunner

    from boxpen.cli.app import app

    sheets(folder)
    for judge in ("anna", "ben"):
        done = CliRunner().invoke(app, ["review", "import", str(folder / "small.jsonl"),
                                        str(folder / f"{judge}.csv"), "--tag", "steps", "--task",
                                        "tags"])  # fmt: skip
        assert done.exit_code == 0, done.output


def toy(name: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        from toy_builds import write_toy

        write_toy(folder, name)

    return prepare


def corpus(folder: Path) -> None:
    from toy_corpus import write_config, write_corpus

    write_corpus(folder, 120)
    write_config(folder)


def sentences(folder: Path) -> None:
    from sentence_rules import write_text

    write_text(folder / "text.txt", 300)


def table(folder: Path) -> None:
    rows = "".join(f"The box {n} is in the pen.,The pen {n} is in the box.\n" for n in range(2000))
    (folder / "mine.csv").write_text("good,bad\n" + rows)


TAGS = "--task tags --tag steps"
WORKS = [
    Work("run", "run", model, "run small.jsonl --model hf:gpt2 --cache scores.sqlite"),
    Work("report --html", "report", runs, "report runs --html report.html"),
    Work("report --to hf", "report", runs, "report runs --to hf exported --overwrite"),
    Work("rescore", "report", runs, "rescore runs/one --norm token --out rescored"),
    Work("build kg", "build", toy("kg"), "build run kg.toml"),
    Work("build discourse", "build", toy("discourse"), "build run discourse.toml"),
    Work("build duals", "build", toy("duals"), "build run duals.toml"),
    Work("review export", "review", suite,
         f"review export small.jsonl --judge anna {TAGS} --values 1 2 --out anna.csv --overwrite"),
    Work("review import", "review", sheets, f"review import small.jsonl anna.csv ben.csv {TAGS}"),
    Work("review apply", "review", judged,
         f"review apply small.jsonl {TAGS} --out tagged.jsonl --overwrite"),
    Work("train lm", "train", sentences,
         "train lm --kind causal --model new:tiny --text text.txt --out lm --epochs 2 "
         "--batch-size 16 --every 4 --patience 0 --device cpu"),
    Work("train nmt", "train", corpus, "train nmt toy.toml --device cpu"),
    Work("suite import", "suite", table, "suite import mine.csv --out mine.parquet --overwrite"),
    Work("suite export", "suite", suite, "suite export small.jsonl --out small.csv --overwrite"),
]  # fmt: skip


def prepared(work: Work, home: Path) -> tuple[Path, Outcome]:
    """Return a folder that is ready for a command, and what it leaves undisturbed."""
    whole = home / "prepared"
    whole.mkdir()
    work.prepare(whole)
    copy = Path(shutil.copytree(whole, home / "undisturbed"))
    done = run(work, copy)
    assert done.returncode == 0, f"{work.name}: {done.stdout}{done.stderr}"
    return whole, outcome(copy)
