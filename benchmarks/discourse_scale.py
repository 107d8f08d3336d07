"""How fast, and in how much memory, subtitles of the size of OpenSubtitles are mined.

    python benchmarks/discourse_scale.py --folder /tmp/discourse-scale --lines 30000000

Writes a made-up corpus of subtitles (once; it stays in the folder), then lets ``boxpen build run``
mine a small part of it and all of it, in one process and with workers, and compares the files. If
memory is bounded, all of it takes not much more than the small part. Ends with status 1 if it takes
twice as much, or if workers write other files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from boxpen.build.runner import RECORD

DOCUMENT = 700
"""Lines of an episode."""
PART = 20
"""One of so many lines make the small corpus."""

PEOPLE = {"girls": "女孩", "men": "男人", "dogs": "狗", "guests": "客人", "teachers": "老师"}
PRONOUNS = {"girls": "她们", "men": "他们", "dogs": "它们", "guests": "他们", "teachers": "他们"}
VERBS = {"sleep": "睡觉", "wait": "等着", "sing": "唱歌", "work": "干活", "laugh": "笑"}
PLACES = {"here": "这里", "outside": "外面", "in the garden": "花园里", "at home": "家里"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the corpus goes")
    parser.add_argument("--lines", type=int, default=30_000_000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2], help="0: no workers")
    parser.add_argument("--out", type=Path, help="JSON file")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    sizes = max(DOCUMENT, args.lines // PART), args.lines
    found = [mined(args, lines, workers) for workers in args.workers for lines in sizes]
    result = {"cores": len(os.sched_getaffinity(0)), "runs": found}
    text = json.dumps(result, indent=2)
    print(text)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(text + "\n")
    for small, large in zip(found[::2], found[1::2], strict=True):
        if large["megabytes"] > 2 * small["megabytes"]:
            sys.exit("memory is not bounded")
        if large["digest"] != found[1]["digest"]:
            sys.exit(f"{large['workers']} workers write other files")


def mined(args: argparse.Namespace, lines: int, workers: int) -> dict[str, Any]:
    """Let boxpen build a suite of so many lines with so many workers, and measure it."""
    table = args.folder / f"subtitles-{lines}-{args.seed}.tsv"
    if not table.is_file():
        write(table, lines, args.seed)
    config = args.folder / "scale.toml"
    config.write_text(
        f"""
name = "scale"
seed = 1
folder = "scale-{lines}"
[[texts]]
name = "made-up"
tsv = "{table.name}"
columns = {{doc = 0, line = 1, source = 2, target = 3}}
[sample]
pronoun = 10
connective = 0
ellipsis = 10
""",
        "utf-8",
    )
    shutil.rmtree(args.folder / f"scale-{lines}", ignore_errors=True)
    started = time.perf_counter()
    command = [sys.executable, "-m", "boxpen", "build", "run", str(config)]
    if workers:
        store = str(args.folder / "store")
        command += ["--executor", "local", "--workers", str(workers), "--store", store]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"boxpen build run {config} failed")
    seconds = time.perf_counter() - started
    out = args.folder / f"scale-{lines}"
    stages = json.loads((out / RECORD).read_text("utf-8"))
    digest = hashlib.sha256()
    for file in sorted(path for path in out.iterdir() if path.name != RECORD):
        digest.update(file.read_bytes())
    return {
        "lines": lines,
        "workers": workers,
        "seconds": round(seconds, 1),
        "lines_per_second": round(lines / seconds),
        "stages": {name: round(stage["seconds"], 1) for name, stage in stages.items()},
        "megabytes": used.ru_maxrss // 1024,  # of the largest process
        "digest": digest.hexdigest(),
    }


def write(table: Path, lines: int, seed: int) -> None:
    """Write subtitles that were never shown; one line in twenty names somebody."""
    dice = random.Random(seed)
    aside = table.with_suffix(".part")
    with aside.open("w", encoding="utf-8") as stream:
        who = "girls"
        for number in range(lines):
            document, line = divmod(number, DOCUMENT)
            kind = dice.random()
            verb, place = dice.choice(sorted(VERBS)), dice.choice(sorted(PLACES))
            if kind < 0.05:
                who = dice.choice(sorted(PEOPLE))
                pair = f"The {who} are {place}.", f"{PEOPLE[who]}在{PLACES[place]}"
            elif kind < 0.1:
                pair = f"They {verb} all day {number % 997}.", f"{PRONOUNS[who]}整天{VERBS[verb]}"
            else:
                pair = f"I {verb} {place}, number {number}.", f"我在{PLACES[place]}{VERBS[verb]}"
            stream.write(f"episode-{document}\t{line + 1}\t{pair[0]}\t{pair[1]}\n")
    aside.replace(table)


if __name__ == "__main__":
    main()
