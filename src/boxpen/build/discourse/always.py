"""What a system gets right that always gives the same answer, by what it is asked.

A system that translates every *while* as 而 reads no context. How many items it gets right shows
how much of a suite asks for more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.tables import Row

__all__ = ["constant_answers"]


def constant_answers(
    rows: Sequence[Row], phenomena: Iterable[Phenomenon]
) -> list[dict[str, str | int]]:
    """Return, for every question of several answers, the best of the answers that never change.

    Of translations, it is right in the items of its own classes. Of contrasts, it is wrong only
    where the wrong translation gives this answer; one that gives none is refused by a system that
    knows what the word can mean. The best answer may be another for each.

    Args:
        rows: Candidates that go into a suite.
        phenomena: The rules that found them.
    """
    found: list[dict[str, str | int]] = []
    for rule in phenomena:
        for asked, answers in rule.questions.items():
            of = [row for row in rows if any(row["class"] in classes for classes in answers)]
            if len(answers) < 2 or not of:
                continue
            right = {classes: sum(row["class"] in classes for row in of) for classes in answers}
            best = max(right, key=lambda classes: right[classes])
            with_contrast = [row for row in of if row["contrast"]]
            spared = max(
                sum(not _misled(rule, row, classes) for row in with_contrast) for classes in answers
            )
            found.append(
                {
                    "asked": asked,
                    "items": len(of),
                    "always": " ".join(cls.rpartition("-")[2] for cls in best),
                    "right": _percent(right[best], len(of)),
                    "contrasts": len(with_contrast),
                    "right of contrasts": _percent(spared, len(with_contrast)),
                }
            )
    return found


def _misled(rule: Phenomenon, row: Row, classes: Sequence[str]) -> bool:
    """Tell whether a wrong translation gives the answer of some classes, which are not right."""
    says = rule.says or rule.shows
    if says is None or row["class"] in classes:
        return False
    return any(says(cls, wrong) for cls in classes for wrong in row["contrast"])


def _percent(part: int, n: int) -> str:
    return f"{100 * part / n:.0f} %" if n else "–"
