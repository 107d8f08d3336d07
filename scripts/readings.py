"""Draw translations for readers, and measure how the reading judge agrees with them.

readings.py sheets RUN SAMPLED OUT      two blind sheets: 240 translations of one run, and 80 of
                                        another (scripts/sampled.py)
"""

from __future__ import annotations

import argparse
from pathlib import Path

from boxpen.review import write_sheet
from boxpen.review.assignment import ordered
from boxpen.review.judgement import lot
from boxpen.review.readings import FreeTranslation, ReadingTask
from boxpen.runs.run import Run

SEED = 22
DRAWN = (240, 80)
READERS = ("reader-a", "reader-b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["sheets"])
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args()
    *runs, out = given.paths
    sheets([Run.load(path) for path in runs], out)


def sheets(runs: list[Run], out: Path) -> None:
    """Write the same questions for both readers, in two orders."""
    questions = [one.question for one in drawn(runs)]
    for reader in READERS:
        own = [
            question.shuffled(reader, SEED) for question in ordered(questions, "own", reader, SEED)
        ]
        write_sheet(out / f"{reader}.csv", own, reader, blind=True)


def drawn(runs: list[Run]) -> list[FreeTranslation]:
    """Draw translations of different items."""
    found: list[FreeTranslation] = []
    for run, size in zip(runs, DRAWN, strict=True):
        known = {one.id for one in found}
        made = ReadingTask.translations([("", [run])])
        rest = sorted(
            (one for one in made if one.id not in known), key=lambda one: lot(SEED, one.id)
        )
        found += rest[:size]
    return found


def halves(made: list[FreeTranslation]) -> tuple[list[FreeTranslation], list[FreeTranslation]]:
    """Split translations by block: one half to develop the rule on, the other to test it."""
    blocks = sorted({one.cluster for one in made}, key=lambda block: lot(SEED, "half", block))
    first = set(blocks[: len(blocks) // 2])
    return (
        [one for one in made if one.cluster in first],
        [one for one in made if one.cluster not in first],
    )


if __name__ == "__main__":
    main()
