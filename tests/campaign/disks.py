"""Commands on a disk that is full, or read-only, with little memory, and two at once.

    python tests/campaign/disks.py full --steps 24
    python tests/campaign/disks.py readonly memory pairs
    python tests/campaign/disks.py full --only "train lm"

``full`` mounts a file system that leaves room for a part of what the command writes: from none to
all of it. The command must refuse with one sentence; with more room, the same command must finish
and leave what it leaves when nothing disturbs it. Mounting needs the rights of root on Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from commands import WORKS, Ended, Work, begin, differences, outcome, prepared, run
from mutations import Told, keep

Check = Callable[["Disk", Told, int], None]


class Disk:
    """A command on a small file system of its own."""

    def __init__(self, work: Work, home: Path) -> None:
        self.work, self.home = work, home
        self.folder, self.expected = prepared(work, home)
        self.place = home / "disk"
        self.place.mkdir()

    @contextlib.contextmanager
    def mounted(self, room: int | None = None) -> Iterator[Path]:
        """Mount a file system with what the command needs, and so much room in pages."""
        mount("-t", "tmpfs", "-o", "size=1g", "tmpfs", str(self.place))
        try:
            folder = Path(shutil.copytree(self.folder, self.place / "work"))
            if room is not None:
                about = os.statvfs(self.place)
                self.room(f"size={(about.f_blocks - about.f_bfree + room) * about.f_frsize}")
            yield folder
        finally:
            subprocess.run(["umount", "-l", str(self.place)], check=True)

    def room(self, size: str) -> None:
        mount("-o", f"remount,{size}", str(self.place))

    def pages(self, steps: int) -> int:
        """Return how many pages are about enough for the command."""
        least, most = 0, 8
        while not self._enough(most):
            least, most = most, most * 2
        while most - least > 1 + least // steps:
            middle = (least + most) // 2
            least, most = (least, middle) if self._enough(middle) else (middle, most)
        return most

    def _enough(self, room: int) -> bool:
        with self.mounted(room) as folder:
            return run(self.work, folder).returncode == 0

    def again(self, folder: Path) -> str:
        """Run the command once more; return what is wrong."""
        done = run(self.work, folder)
        if done.returncode != 0:
            return f"run again: exit status {done.returncode}: {done.stderr[-300:]}"
        return "; ".join(differences(outcome(folder), self.expected)[:4])


def mount(*options: str) -> None:
    subprocess.run(["mount", *options], check=True, capture_output=True)


def sentence(done: Ended) -> str:
    """Return what is wrong with how a command ended that could not do its work."""
    if done.returncode in (0, 2) and "Traceback" not in done.stderr:
        last = re.search(r"(^|\n)boxpen: [^\n]+\n$", done.stderr)
        return "" if done.returncode == 0 or last else f"no sentence: {done.stderr[-200:]!r}"
    return f"exit status {done.returncode}: {done.stderr[-400:]}"


def count(told: Told, place: str, done: int, wrong: str) -> None:
    """Note how a command ended: refused, or done although little was left."""
    told.files += 1
    if wrong:
        told.findings.append(f"{place}: {wrong}")
    elif done == 0:
        told.loaded += 1
    else:
        told.refused += 1
    print(f"{place}: {wrong or ('finished' if done == 0 else 'refused')}", flush=True)


def full(disk: Disk, told: Told, steps: int) -> None:
    most = disk.pages(steps)
    for room in sorted({most * step // steps for step in range(steps)}):
        with disk.mounted(room) as folder:
            done = run(disk.work, folder)
            wrong = sentence(done)
            disk.room("size=1g")
            wrong = wrong or disk.again(folder)
        count(told, f"{disk.work.name}, {room} of {most} pages", done.returncode, wrong)


def readonly(disk: Disk, told: Told, _: int) -> None:
    with disk.mounted() as folder:
        disk.room("ro")
        done = run(disk.work, folder)
        wrong = sentence(done)
        disk.room("rw")
        wrong = wrong or disk.again(folder)
    count(told, f"{disk.work.name}, read-only", done.returncode, wrong)


def memory(disk: Disk, told: Told, steps: int) -> None:
    """Less and less address space; a library that ends the process must not spoil the work."""
    for step in range(steps):
        megabytes = 20 + 1200 * step // steps
        folder = Path(shutil.copytree(disk.folder, disk.home / "memory"))
        done = run(disk.work, folder, megabytes)
        wrong = "" if done.returncode < 0 else sentence(done)
        wrong = wrong or disk.again(folder)
        shutil.rmtree(folder)
        count(told, f"{disk.work.name}, {megabytes} MB more", done.returncode, wrong)


def pairs(disk: Disk, told: Told, steps: int) -> None:
    """Two processes do the same in one folder, with one cache, at the same time."""
    for number in range(max(1, steps // 4)):
        folder = Path(shutil.copytree(disk.folder, disk.home / "pairs"))
        waiting = [begin(disk.work, folder) for _ in range(2)]
        ends = [wait() for wait in waiting]
        wrong = "".join(sentence(end) for end in ends)
        if not wrong and all(end.returncode for end in ends):
            wrong = f"neither finished: {ends[0].stderr[-200:]}"
        wrong = wrong or "; ".join(differences(outcome(folder), disk.expected)[:4])
        wrong = wrong or disk.again(folder)
        shutil.rmtree(folder)
        place = f"{disk.work.name}, two at once, {number}"
        count(told, place, max(end.returncode for end in ends), wrong)


CHECKS: dict[str, Check] = {"full": full, "readonly": readonly, "memory": memory, "pairs": pairs}


def campaign(works: list[Work], check: str, steps: int) -> dict[str, Told]:
    told = {work.kind: Told() for work in works}
    for work in works:
        with tempfile.TemporaryDirectory() as home:
            CHECKS[check](Disk(work, Path(home)), told[work.kind], steps)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checks", nargs="+", choices=list(CHECKS))
    parser.add_argument("--only", nargs="*", default=[work.name for work in WORKS])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--json", type=Path, help="Add what was found to this file.")
    options = parser.parse_args()
    works = [work for work in WORKS if work.name in options.only]
    found = 0
    for check in options.checks:
        for kind, one in campaign(works, check, options.steps).items():
            print(check, kind, vars(one))
            found += len(one.findings)
            if options.json:
                keep(options.json, check, kind, vars(one))
    raise SystemExit(found > 0)


if __name__ == "__main__":
    main()
