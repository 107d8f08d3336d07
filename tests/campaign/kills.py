"""Commands that are stopped at random moments, and then run again.

    python tests/campaign/kills.py --signal KILL --count 100
    python tests/campaign/kills.py "train lm" --signal INT TERM --count 10

A moment is drawn from the seed and lies between the first file that the command writes and its end;
half of the signals that can be caught come before that, while libraries are imported. Afterwards
the same command must succeed, and leave what it leaves when nothing disturbs it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from commands import WORKS, Outcome, Work, differences, environment, outcome, prepared, run
from mutations import Told, keep

STATUS = {"INT": 130, "TERM": 143}


class Ready(NamedTuple):
    """A command whose undisturbed end is known."""

    work: Work
    folder: Path
    expected: Outcome
    before: float
    """Seconds until it writes the first file."""
    after: float
    """Seconds from there to its end."""


def snapshot(folder: Path) -> set[tuple[str, int, int]]:
    found = set()
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                about = Path(base, name).stat()
                found.add((name, about.st_size, about.st_mtime_ns))
    return found


def started(work: Work, folder: Path) -> subprocess.Popen[str]:
    with (folder.parent / "stderr").open("w") as errors:
        return subprocess.Popen(
            work.command(), cwd=folder, env=environment(folder), text=True,
            stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip


def wait_for_a_file(process: subprocess.Popen[str], folder: Path, before: object) -> None:
    """Return when a command has written something, or ended."""
    while process.poll() is None and snapshot(folder) == before:
        time.sleep(0.005)


def ready(work: Work, home: Path) -> Ready:
    folder, expected = prepared(work, home)
    timed = Path(shutil.copytree(folder, home / "timed"))
    before, begun = snapshot(timed), time.monotonic()
    process = started(work, timed)
    wait_for_a_file(process, timed, before)
    written = time.monotonic()
    process.communicate()
    return Ready(work, folder, expected, written - begun, time.monotonic() - written)


def stop(one: Ready, name: str, number: int, home: Path) -> tuple[bool, str]:
    """Stop a command and run it again; return whether it was stopped, and what is wrong."""
    chance = random.Random(f"{one.work.name}-{name}-{number}")
    folder = Path(shutil.copytree(one.folder, home / f"{name}-{number}"))
    before = snapshot(folder)
    process = started(one.work, folder)
    if name != "KILL" and chance.random() < 0.5:
        time.sleep(chance.random() * one.before)
    else:
        wait_for_a_file(process, folder, before)
        time.sleep(chance.random() * one.after)
    process.send_signal(getattr(signal, f"SIG{name}"))
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        return True, "it did not stop within 60 s"
    said = (folder.parent / "stderr").read_text()
    stopped = process.returncode != 0
    wrong = ""
    starting = "KeyboardInterrupt" in said and "boxpen" not in said  # Python itself
    if name == "KILL":
        stopped = process.returncode == -signal.SIGKILL
    elif starting:
        pass
    elif process.returncode not in (0, STATUS[name], -getattr(signal, f"SIG{name}")):
        wrong = f"exit status {process.returncode}: {said[-300:]}"
    elif "Traceback" in said:
        wrong = f"a traceback: {said[-600:]}"
    elif process.returncode > 0 and not re.search(r"(^|\n)boxpen: [^\n]+\n$", said):
        wrong = f"no sentence at the end: {said[-200:]!r}"
    again = run(one.work, folder)
    if again.returncode != 0:
        wrong = wrong or f"run again: exit status {again.returncode}: {again.stderr[-300:]}"
    elif different := differences(outcome(folder), one.expected):
        wrong = wrong or f"run again: {'; '.join(different[:4])}"
    shutil.rmtree(folder)
    return stopped, wrong


def campaign(all_ready: list[Ready], name: str, count: int, first: int = 0) -> dict[str, Told]:
    """Stop commands in turn, ``count`` times in all; one that ended by itself is repeated."""
    told = {one.work.kind: Told() for one in all_ready}
    number, done = first, 0
    while done < count:
        one = all_ready[done % len(all_ready)]
        stopped, wrong = stop(one, name, number, one.folder.parent)
        number += 1
        if not stopped and not wrong and number < first + 5 * count:
            continue
        done += 1
        group = told[one.work.kind]
        group.files += 1
        if wrong:
            group.findings.append(f"{one.work.name}, {name} {number - 1}: {wrong}")
        else:
            group.loaded += 1
        print(f"{done} {one.work.name} {name} {number - 1}: {wrong or 'the same'}", flush=True)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[work.name for work in WORKS])
    parser.add_argument("--signal", nargs="+", choices=["KILL", *STATUS], default=["KILL"])
    parser.add_argument("--count", type=int, default=100, help="How often, for each signal.")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", type=Path, help="Add what was found to this file.")
    options = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        all_ready = []
        for work in WORKS:
            if work.name in options.names:
                home = Path(folder) / str(len(all_ready))
                home.mkdir()
                all_ready.append(ready(work, home))
        for name in options.signal:
            told = campaign(all_ready, name, options.count, options.first)
            for kind, one in told.items():
                print(name, kind, vars(one))
                found += len(one.findings)
                if options.json:
                    keep(options.json, name, kind, vars(one))
    raise SystemExit(found > 0)


if __name__ == "__main__":
    main()
