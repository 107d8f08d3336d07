"""Make the tables of docs/results/asked.md: smollm2 scored, and asked, on the same items.

    python scripts/asked.py --cache asked.sqlite
    python scripts/asked.py --cache asked.sqlite --limit 300 --ask-limit 60    # a sample

All answers are kept in the cache; rerun the same command to resume. Samples are stratified by set,
and a larger one contains the smaller one. Needs the public suites (``BOXPEN_MIRROR``, or a
network).

The model reads no Chinese, so that translations are judged without their source in all three ways.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from results import write

import boxpen
from boxpen.analysis.order_effects import OrderEffects, order_effects
from boxpen.metrics.intervals import Estimate

SUITES = ("starter", "cats", "commonmt")
WAYS = {"sound": "scored", "ask-letters": "letters", "ask": "text"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--cache", type=Path, help="Where answers are kept.")
    parser.add_argument("--limit", type=int, help="Items per suite that are scored and asked.")
    parser.add_argument("--ask-limit", type=int, help="Items per suite whose answer is generated.")
    parser.add_argument("--only", nargs="*", default=SUITES, help="Suites; nothing is written.")
    options = parser.parse_args()
    model = boxpen.resolve_model(options.model)
    runs = {}
    for way in WAYS:
        limit = options.ask_limit if way == "ask" else options.limit
        for suite in options.only:
            runs[suite, way] = made(model, suite, way, limit, options.cache)
            (row,) = rows(runs[suite, way], "accuracy")
            print(f"{suite}, {way}: {row}, n = {row.n}", flush=True)
    if tuple(options.only) == SUITES:
        write("asked.md", "accuracy", accuracy_table(runs))
        write("asked.md", "orders", order_table(runs))
        write("asked.md", "signatures", signatures(runs))


def made(
    model: boxpen.Model, suite: str, way: str, limit: int | None, cache: Path | None
) -> boxpen.Run:
    recipe = boxpen.recipes_of(suite)[way]
    if recipe.asks:
        recipe = replace(recipe, prompt=recipe.unconditional)
    return boxpen.evaluate(model, suite, recipe=recipe, limit=limit, cache=cache)


def rows(run: boxpen.Run, metric: str) -> list[boxpen.Row]:
    return [row for row in run.summary() if row.slice == "all" and row.metric == metric]


def accuracy_table(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    lines = [
        "| suite | way | items | accuracy | chance | right in every order | first option chosen | "
        "without a preference | unparsed |",
        "|---" * 9 + "|",
    ]
    for suite in SUITES:
        for way, name in WAYS.items():
            run = runs[suite, way]
            (row,), (chance,) = rows(run, "accuracy"), rows(run, "chance")
            cells = [suite, name, f"{row.n:,}", str(row), f"{chance.value:.3f}"]
            if run.answers:
                found = order_effects(run.answers)
                (every,) = rows(run, "every_order")
                cells += [str(every), shown(found.first), f"{found.expected:.1%}"]
                cells += [f"{found.unparsed.value:.1%}"]
            else:
                cells += ["", "", "", ""]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def order_table(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    lines = [
        "| suite | options | way | questions | first | without a preference | by letter | "
        "same candidate in every order |",
        "|---" * 8 + "|",
    ]
    for suite, options, name, found in by_options(runs):
        letters = ", ".join(f"{letter} {value:.0%}" for letter, value in found.places.items())
        cells = [suite, str(options), name, f"{found.questions:,}", shown(found.first)]
        cells += [f"{found.expected:.0%}", letters, shown(found.unchanged)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def by_options(
    runs: dict[tuple[str, str], boxpen.Run],
) -> Iterator[tuple[str, int, str, OrderEffects]]:
    for suite in SUITES:
        for way in ("ask-letters", "ask"):
            run = runs[suite, way]
            sizes = {v.id: len(v.scores) for v in run.verdicts}
            groups = defaultdict(list)
            for answer in run.answers:
                groups[sizes[answer.item]].append(answer)
            for size, answers in sorted(groups.items()):
                yield suite, size, WAYS[way], order_effects(answers)


def signatures(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    return "\n".join(f"- {suite}, {WAYS[way]}: `{r.signature}`" for (suite, way), r in runs.items())


def shown(found: Estimate) -> str:
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


if __name__ == "__main__":
    main()
