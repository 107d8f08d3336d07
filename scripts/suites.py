"""Put the public suites beside published numbers, and audit them: docs/results/suites.md.

Needs the public suites: ``BOXPEN_MIRROR``, or a network. Without the scores in the cache, smollm2
takes about half an hour on two cores.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from audit import table
from results import write

import boxpen
from boxpen.analysis.suites.audit import audit
from boxpen.catalog import entries
from boxpen.metrics import choice

PAGE = "suites.md"
AUDITED = {
    "blimp": "phenomenon",
    "xcopa": "set",
    "winogrande": None,
    "codah": "set",
    "mucow": "set",
}


class Asked(NamedTuple):
    """A run of smollm2, and what was published for such a run."""

    suite: str
    recipe: str = "sound"
    limit: int | None = None
    norm: str | None = None
    any_language: bool = False
    published: str = "–"


RUNS = (
    Asked("winogrande", "partial", published="0.513, base model"),
    Asked("winogrande", "full"),
    Asked("piqa", norm="char", published="0.684, base model; 0.669, lm-eval"),
    Asked("piqa"),
    Asked("codah"),
    Asked("blimp", limit=2010),
    Asked("mucow"),
    Asked("xcopa", limit=2200, any_language=True),
)


def main() -> None:
    write(PAGE, "facts", facts())
    write(PAGE, "accuracy", accuracies())
    for name, tag in AUDITED.items():
        print(name, file=sys.stderr)
        write(PAGE, name, table(audit(boxpen.load_suite(name), tag), tag))


def facts() -> str:
    """Return the size, chance and licence of each suite that has come in through a column map."""
    lines = ["| suite | items | chance | licence |", "|---|---|---|---|"]
    for name in (*AUDITED, "hellaswag", "commonsenseqa"):
        e = entries()[name]
        facts = (f"`{name}`", f"{e.items:,}", f"{e.chance:.3f}", e.card.licence)
        lines.append(f"| {' | '.join(facts)} |")
    return "\n".join(lines)


def accuracies() -> str:
    """Return what smollm2 reaches, and what was published."""
    lines = ["| suite | recipe | norm | judged | chance | smollm2 | published |", "|---" * 7 + "|"]
    signatures = []
    for asked in RUNS:
        run = boxpen.evaluate(
            "smollm2", asked.suite, recipe=asked.recipe, limit=asked.limit, norm=asked.norm,
            check_languages=not asked.any_language,
        )  # fmt: skip
        found, guessed = choice.accuracy(run.verdicts), choice.chance(run.verdicts)
        lines.append(
            f"| `{asked.suite}` | {asked.recipe} | {asked.norm or 'sum'} | {found.n:,} "
            f"| {guessed.value:.3f} | {found.value:.3f} [{found.low:.3f}, {found.high:.3f}] "
            f"| {asked.published} |"
        )
        signatures.append(f"- `{run.signature}`")
    return "\n".join([*lines, "", *signatures])


if __name__ == "__main__":
    main()
