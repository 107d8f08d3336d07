"""Put the counts of the reliability campaign into docs/explanation/reliability.md.

python -m pytest tests/campaign -m heavy
python scripts/reliability.py build/campaign.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from results import write

PAGE = "../explanation/reliability.md"
STOPS = {"KILL": "`kill -9`", "INT": "SIGINT (Ctrl-C)", "TERM": "SIGTERM"}
DISKS = {
    "full": "full disk",
    "readonly": "read-only disk",
    "memory": "little memory",
    "pairs": "two at once",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "results",
        nargs="+",
        type=Path,
        help="Files that the campaign has written; their counts add up.",
    )
    found: dict[str, Any] = {}
    for path in parser.parse_args().results:
        for part, told in json.loads(path.read_text("utf-8")).items():
            rooms = found.setdefault(part, {})
            for name, one in told.items():
                known = rooms.get(name)
                rooms[name] = {k: known[k] + v for k, v in one.items()} if known else one
    write(PAGE, "reliability-files", files(found["mutations"]))
    write(PAGE, "reliability-commands", commands(found))


def files(told: dict[str, Any]) -> str:
    """Return a table of damaged files, one line per format."""
    lines = ["| format | files | refused | loaded, and right | findings |", "|---|--:|--:|--:|--:|"]
    rows = [
        (name, one["files"], one["refused"], one["loaded"], len(one["findings"]))
        for name, one in told.items()
    ]
    total = ("**all**", *(sum(row[place] for row in rows) for place in range(1, 5)))
    return "\n".join([*lines, *map(_line, [*rows, total])])


def commands(told: dict[str, Any]) -> str:
    """Return a table of disturbed commands, one line per disturbance."""
    rooms = list(dict.fromkeys(room for part in (*STOPS, *DISKS) for room in told.get(part, ())))
    lines = [
        f"| | {' | '.join(rooms)} | all | survived |",
        "|---" + "|--:" * (len(rooms) + 2) + "|",
    ]
    for part, name in (STOPS | DISKS).items():
        if part not in told:
            continue
        counts = [told[part][room]["files"] if room in told[part] else 0 for room in rooms]
        failed = sum(len(one["findings"]) for one in told[part].values())
        lines.append(_line((name, *counts, sum(counts), sum(counts) - failed)))
    return "\n".join(lines)


def _line(cells: tuple[Any, ...]) -> str:
    return "| " + " | ".join(f"{c:,}" if isinstance(c, int) else str(c) for c in cells) + " |"


if __name__ == "__main__":
    main()
