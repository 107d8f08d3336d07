"""Put the shortcut audit of the public suites into docs/results/shortcuts.md: needs no model.

Needs the public suites: ``BOXPEN_MIRROR``, or a network.
"""

from __future__ import annotations

import sys

from results import write

import boxpen
from boxpen.analysis.suites.audit import AuditRow, audit
from boxpen.analysis.suites.differences import Differences, differences

SUITES = {
    "commonmt": "set",
    "cats": "set",
    "cats-dual": "set",
    "senmaking": "set",
    "comve": "set",
    "comve-train": "set",
    "piqa": None,
    "starter": "part",
    "starter-graph": "task",
}
WORDS = (
    "commonmt", "cats-dual", "senmaking.sen-making", "senmaking.explanation", "comve.A", "comve.B",
    "piqa", "starter.mt", "starter.dual",
)  # fmt: skip


def main() -> None:
    for name, tag in SUITES.items():
        print(name, file=sys.stderr)
        write("shortcuts.md", name, table(audit(boxpen.load_suite(name), tag), tag))
    write("shortcuts.md", "words", words({n: differences(boxpen.load_suite(n)) for n in WORDS}))


def table(rows: list[AuditRow], tag: str | None) -> str:
    """Return one table: a line per slice, a column per learnt shortcut, flagged ones bold."""
    found: dict[str, list[AuditRow]] = {}
    for row in rows:
        if row.rule is not None:
            found.setdefault(row.slice, []).append(row)
    names = [row.shortcut for row in found["all"]]
    lines = ["| " + " | ".join([tag or "", "items", "chance", *names]) + " |"]
    lines.append("|---" * (len(names) + 3) + "|")
    for name, members in found.items():
        first = members[0]
        facts = [name.removeprefix(f"{tag}="), f"{first.estimate.n:,}", f"{first.chance:.3f}"]
        cells = {row.shortcut: cell(row) for row in members}
        # Choices have other shortcuts than tests of inference.
        lines.append("| " + " | ".join([*facts, *(cells.get(n, "") for n in names)]) + " |")
    return "\n".join(lines)


def cell(row: AuditRow) -> str:
    """Return a number with its interval and the rule that made it, or that nothing was found."""
    e = row.estimate
    shown = f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"
    if row.rule == "guess":
        return "–" if abs(e.value - row.chance) < 5e-4 else f"{shown} mostly guessed"
    if row.rule != "words":
        shown = f"{shown} {row.rule}"
    return f"**{shown}**" if row.flagged else shown


def words(found: dict[str, Differences]) -> str:
    """Return the sides of each suite beside each other, right / wrong."""
    lines = [
        "| suite | pairs | words per sentence | different words | negations among them "
        "| sentences with a negation | pairs with the same words |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, d in found.items():
        right, wrong = d.right, d.wrong
        counts = [f"{sum(side.different.values()):,}" for side in (right, wrong)]
        lines.append(
            f"| {name} | {d.pairs:,} | {right.length:.2f} / {wrong.length:.2f} "
            f"| {counts[0]} / {counts[1]} "
            f"| {right.different_negations:,} / {wrong.different_negations:,} "
            f"| {right.negated.value:.1%} / {wrong.negated.value:.1%} | {d.same_words:,} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
