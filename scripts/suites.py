"""Put the public suites beside published numbers, and audit them: docs/results/suites.md.

Needs the public suites: ``BOXPEN_MIRROR``, or a network. Without the scores in the cache, smollm2
takes about half an hour on two cores. ``python scripts/suites.py xcopa`` renews what is shown of
one suite, and leaves the others as they are, and so does a suite whose files cannot be had.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Collection
from typing import Literal, NamedTuple

from audit import table
from results import shown as shown_in
from results import write

import boxpen
from boxpen.analysis.suites.audit import audit
from boxpen.catalog import entries
from boxpen.errors import BoxpenError
from boxpen.metrics import choice

PAGE = "suites.md"
NOT_RUN = "not run"
AUDITED = {
    "blimp": "phenomenon",
    "xcopa": "set",
    "winogrande": None,
    "codah": "set",
    "mucow": "set",
    "hellaswag": "set",
    "commonsenseqa": None,
}


class Asked(NamedTuple):
    """A run of smollm2, and what was published for such a run."""

    suite: str
    recipe: str = "sound"
    limit: int | None = None
    norm: str | None = None
    bos: Literal["auto", "never"] = "auto"
    any_language: bool = False
    published: str = "–"

    @property
    def cells(self) -> str:
        """The first cells of its row, which tell it from others."""
        recipe = f"{self.recipe}, no BOS" if self.bos == "never" else self.recipe
        return f"| `{self.suite}` | {recipe} | {self.norm or 'sum'} |"


RUNS = (
    Asked("winogrande", "partial", published="0.513, base model"),
    Asked("winogrande", "full"),
    Asked("piqa", norm="char", published="0.663, lighteval; 0.669, lm-eval"),
    Asked("piqa", norm="char", bos="never", published="the same"),
    Asked("piqa"),
    Asked("codah"),
    Asked("blimp", limit=2010),
    Asked("mucow"),
    Asked("xcopa", limit=2200, any_language=True),
    Asked("hellaswag", norm="char", limit=2000, published="0.409, lighteval"),
    Asked("commonsenseqa", norm="char", published="0.339, base model, lighteval"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = {*AUDITED, *(asked.suite for asked in RUNS)}
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="only these; default: all")
    only = set(parser.parse_args().suites) or known
    if unknown := only - known:
        parser.error(f"{', '.join(sorted(unknown))}: not on the page, which has {sorted(known)}")
    only = set(filter(at_hand, only))
    write(PAGE, "facts", facts())
    write(PAGE, "accuracy", accuracies(only))
    write(PAGE, "lint", findings(only))
    for name, tag in AUDITED.items():
        if name in only:
            print(name, file=sys.stderr)
            write(PAGE, name, audited(name, tag))


def at_hand(name: str) -> bool:
    """Whether a suite can be loaded; tell why not."""
    try:
        boxpen.load_suite(name)
    except BoxpenError as error:
        print(f"{name} is left as it is: {error}", file=sys.stderr)
        return False
    return True


def audited(name: str, tag: str | None) -> str:
    """Return what shortcuts score; without the position if the right candidate is always first."""
    suite = boxpen.load_suite(name)
    rows = audit(suite, tag)
    if {item.gold for item in suite} == {0}:
        rows = [row for row in rows if row.shortcut != "position"]
    return table(rows, tag)


def facts() -> str:
    """Return the size, chance and licence of each suite that has come in through a column map."""
    lines = ["| suite | items | chance | licence |", "|---|---|---|---|"]
    for name in AUDITED:
        e = entries()[name]
        facts = (f"`{name}`", f"{e.items:,}", f"{e.chance:.3f}", e.card.licence)
        lines.append(f"| {' | '.join(facts)} |")
    return "\n".join(lines)


def accuracies(only: Collection[str]) -> str:
    """Return what smollm2 reaches, and what was published; of other suites, what the page has."""
    lines = ["| suite | recipe | norm | items | chance | smollm2 | published |", "|---" * 7 + "|"]
    signatures = []
    for asked in RUNS:
        line, signature = accuracy(asked) if asked.suite in only else shown(asked)
        lines.append(line)
        signatures += [signature] * bool(signature)
    return "\n".join([*lines, "", *signatures])


def accuracy(asked: Asked) -> tuple[str, str]:
    """Return the row of a run, and its signature."""
    print(asked.suite, asked.recipe, file=sys.stderr)
    run = boxpen.evaluate(
        "smollm2", asked.suite, recipe=asked.recipe, limit=asked.limit, norm=asked.norm,
        bos=asked.bos, check_languages=not asked.any_language,
    )  # fmt: skip
    found, guessed = choice.accuracy(run.verdicts), choice.chance(run.verdicts)
    line = (
        f"{asked.cells} {found.n:,} | {guessed.value:.3f} "
        f"| {found.value:.3f} [{found.low:.3f}, {found.high:.3f}] | {asked.published} |"
    )
    return line, f"- `{run.signature}`"


def shown(asked: Asked) -> tuple[str, str]:
    """Return the row and the signature that the page has of a run; none if it was not run."""
    block = shown_in(PAGE, "accuracy")
    lines = [line for line in block.splitlines() if line.startswith("| `")]
    run = [line for line in lines if NOT_RUN not in line]
    signatures = [line for line in block.splitlines() if line.startswith("- `")]
    for line, signature in zip(run, signatures, strict=True):
        if line.startswith(asked.cells):
            return line, signature
    chance = f"{entries()[asked.suite].chance:.3f}"
    return f"{asked.cells} – | {chance} | {NOT_RUN} | {asked.published} |", ""


def findings(only: Collection[str]) -> str:
    """Return how many findings lint has under each rule."""
    lines = ["| suite | findings of `boxpen suite lint` |", "|---|---|"]
    for name in AUDITED:
        if name in only:
            rules = Counter(finding.rule for finding in boxpen.lint(boxpen.load_suite(name)))
            found = ", ".join(f"{rule} {n}" for rule, n in sorted(rules.items())) or "none"
            lines.append(f"| `{name}` | {found} |")
        else:
            old = shown_in(PAGE, "lint").splitlines()
            lines += [line for line in old if line.startswith(f"| `{name}` |")]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
