"""How fast, and in how much memory, subtitles of the size of OpenSubtitles are mined.

    python benchmarks/discourse_scale.py --folder /tmp/discourse-scale --lines 30000000

Writes a made-up corpus of subtitles (once; it stays in the folder), then lets ``boxpen build
discourse run`` mine it in a process of its own, twice: a small part and all of it. If memory is
bounded, the second takes not much more of it than the first. Ends with status 1 if it takes twice
as much.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="JSON file")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    found = [mined(args, max(DOCUMENT, args.lines // PART)), mined(args, args.lines)]
    result = {"cores": len(os.sched_getaffinity(0)), "runs": found}
    text = json.dumps(result, indent=2)
    print(text)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(text + "\n")
    if found[1]["megabytes"] > 2 * found[0]["megabytes"]:
        sys.exit("memory is not bounded")


def mined(args: argparse.Namespace, lines: int) -> dict[str, Any]:
    """Let boxpen build a suite of so many lines, and measure it."""
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
[mine]
processes = {args.processes}
[sample]
pronoun = 10
connective = 0
ellipsis = 10
""",
        "utf-8",
    )
    shutil.rmtree(args.folder / f"scale-{lines}", ignore_errors=True)
    started = time.perf_counter()
    command = [sys.executable, "-m", "boxpen", "build", "discourse", "run", str(config)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024  # of the largest process
    return {
        "lines": lines,
        "seconds": round(seconds, 1),
        "lines_per_second": round(lines / seconds),
        "megabytes": peak,
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
