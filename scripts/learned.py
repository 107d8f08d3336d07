"""Make the tables of docs/results/learned.md: the papers' findings, with our numbers.

Scores come from the cache where they are there. Needs what ``scripts/results.py`` needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from results import write

import boxpen
from boxpen.analysis.slices import cut
from boxpen.metrics.choice import (
    accuracy,
    both_right,
    both_wrong,
    chance,
    consistency,
    flip_rate,
)
from boxpen.metrics.intervals import Estimate, between
from boxpen.scoring.verdicts import Verdict

PAGE = "learned.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).parents[1]
    parser.add_argument("--models", type=Path, default=here.parent / "shared" / "models")
    models = parser.parse_args().models
    specs = {
        "smollm2": "smollm2",
        "bert-mini": f"hf:{models / 'bert-mini'}",
        "OPUS-MT": f"ct2:{models / 'opus-mt-zh-en'}",
    }
    run = cache(lambda name, suite: boxpen.evaluate(specs[name], suite))
    runs = partial(_runs, run)
    translated = {name: run(name, "commonmt") for name in specs}
    write(PAGE, "context", context(translated))
    write(PAGE, "consistency", consistent({
        **{(name, "commonmt"): r for name, r in translated.items()},
        **{(name, "cats-dual"): run(name, "cats-dual") for name in ("smollm2", "bert-mini")},
        **{(name, "starter.dual"): run(name, "starter.dual") for name in ("smollm2", "bert-mini")},
    }))  # fmt: skip
    write(PAGE, "length", lengths(
        {(name, "commonmt"): r for name, r in translated.items()}
        | runs(("smollm2", "bert-mini"), ("cats", "senmaking"))
    ))  # fmt: skip
    write(PAGE, "level", levels(runs(("smollm2", "bert-mini"), ("cats",))))
    write(PAGE, "why", whys(runs(("smollm2", "bert-mini"), ("senmaking",))))
    write(PAGE, "steps", steps(runs(("smollm2", "bert-mini"), ("starter.sense",))))
    write(PAGE, "systems", systems(
        [*translated.values(), *runs(("smollm2", "bert-mini"), ("cats", "cats-dual", "senmaking"))
         .values()],
        list(specs),
    ))  # fmt: skip


def _runs(run, names: Sequence[str], suites: Sequence[str]) -> dict:
    return {(name, suite): run(name, suite) for name in names for suite in suites}


def context(runs: dict[str, boxpen.Run]) -> str:
    """Contextless against contextual ambiguity, in CommonMT."""
    rows = []
    for name, run in runs.items():
        sets = cut(run, "set")
        less, more = accuracy(sets["CL-SA"]), accuracy(sets["CT-SA"])
        rows.append([name, number(less), number(more), signed(between(less, more))])
    return table(["system", "contextless (CL-SA)", "contextual (CT-SA)", "difference"], rows)


def consistent(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """Blocks: all right, all wrong, or half."""
    rows = [
        [name, suite, number(accuracy(v)), f"{consistency(v).n}",
         number(consistency(v)), f"{_guess(v):.3f}",
         number(both_right(v)), f"{both_wrong(v).value:.3f}", f"{flip_rate(v).value:.3f}"]
        for (name, suite), run in runs.items()
        for v in [run.verdicts]
    ]  # fmt: skip
    head = ["system", "suite", "accuracy", "blocks", "consistency", "if independent", "both right",
            "both wrong", "one of two"]  # fmt: skip
    return table(head, rows)


def _guess(verdicts: Sequence[Verdict]) -> float:
    """Return the consistency of a system as good, whose items know nothing of each other."""
    a = accuracy([v for v in verdicts if v.block is not None]).value
    return a * a + (1 - a) * (1 - a)


def lengths(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """The shortest fifth against the longest."""
    rows = []
    for (name, suite), run in runs.items():
        groups = cut(run, "length")
        (first, short), *_, (last, long) = groups.items()
        one, other = accuracy(short), accuracy(long)
        rows.append(
            [name, suite, f"{first}: {number(one)}", f"{chance(short).value:.3f}",
             f"{last}: {number(other)}", f"{chance(long).value:.3f}", signed(between(one, other))]
        )  # fmt: skip
    head = ["system", "suite", "shortest group", "chance", "longest group", "chance", "difference"]
    return table(head, rows)


def levels(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """CATs: tasks that differ in a word, and in a sentence, above chance."""
    rows = []
    for (name, suite), run in runs.items():
        for level, verdicts in cut(run, "level").items():
            a, c = accuracy(verdicts), chance(verdicts)
            rows.append(
                [name, suite, level, number(a), f"{c.value:.3f}", f"{a.value - c.value:+.3f}"]
            )
    return table(["system", "suite", "level", "accuracy", "chance", "above chance"], rows)


def whys(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """Sen-Making: knowing which, and knowing why."""
    rows = []
    for (name, suite), run in runs.items():
        for task, verdicts in cut(run, "set").items():
            a, c = accuracy(verdicts), chance(verdicts)
            rows.append([name, suite, task, number(a), f"{c.value:.3f}"])
    return table(["system", "suite", "task", "accuracy", "chance"], rows)


def steps(runs: dict[tuple[str, str], boxpen.Run]) -> str:
    """Starter: how many steps of inference an item takes."""
    rows = []
    for (name, suite), run in runs.items():
        for count, verdicts in cut(run, "steps").items():
            a, c = accuracy(verdicts), chance(verdicts)
            rows.append([name, suite, count, number(a), f"{c.value:.3f}", str(a.n)])
    return table(["system", "suite", "steps", "accuracy", "chance", "n"], rows)


def systems(runs: Sequence[boxpen.Run], names: Sequence[str]) -> str:
    """Every two systems on the same items."""
    shown = {
        run.info.model.short: name
        for run in runs
        for name in names
        if name.lower().split("-")[0] in run.info.model.short.lower()
    }
    rows = [
        [p.suite, shown[p.a], shown[p.b], f"{p.n:,}", f"{p.only_a} : {p.only_b}",
         signed(p.difference), p.test, f"{p.p:.2g}", f"{p.adjusted:.2g}"]
        for p in boxpen.compare(*runs)
    ]  # fmt: skip
    head = ["suite", "A", "B", "n", "only A : only B", "difference", "test", "p", "Holm"]
    return table(head, rows)


def number(e: Estimate) -> str:
    return f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"


def signed(e: Estimate) -> str:
    return f"{e.value:+.3f} [{e.low:+.3f}, {e.high:+.3f}]"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


if __name__ == "__main__":
    main()
