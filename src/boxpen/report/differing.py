"""Comparisons of systems: the tests, and the items on which two systems differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from boxpen.metrics.compare import Pair
from boxpen.report.numbers import p_value
from boxpen.report.plain_table import plain_table
from boxpen.runs.comparison import labels
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["differing_lines", "noise_note", "pairs_notes", "pairs_table"]


def pairs_table(suite: str, pairs: Sequence[Pair]) -> Table:
    """Return the comparisons on one suite; significant ones are bold."""
    table = plain_table(suite, gap=1)
    for column in ("A", "B"):
        table.add_column(column, overflow="fold")
    for column in ("n", "A>B", "B>A", "difference [95 %]", "p", "Holm"):
        table.add_column(column, justify="right", no_wrap=True)
    for p in pairs:
        d = p.difference
        table.add_row(
            p.a, p.b, f"{p.n:,}", str(p.only_a), str(p.only_b),
            f"{d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}]", p_value(p.p), p_value(p.adjusted),
            style="bold" if p.adjusted < 0.05 else "",
        )  # fmt: skip
    return table


def pairs_notes(pairs: Sequence[Pair], runs: Sequence[Run]) -> Iterator[str]:
    """Yield which suites were compared on some of their items only, and what is mere noise."""
    for suite, pair in {p.suite: p for p in pairs}.items():
        most = max(len(r.verdicts) for r in runs if suite in (r.suite_title, r.info.suite.name))
        if pair.n < most:
            yield f"{suite}: {pair.n:,} items common to all runs, out of up to {most:,}"
    for pair in pairs:
        if pair.noise is not None:
            yield f"{pair.suite}: {noise_note(pair)}"


def differing_lines(pair: Pair, runs: Sequence[Run], count: int) -> Iterator[str | Text]:
    """Yield how many items differ, and then the first of them, option by option."""
    named = {
        name: run
        for name, run in zip(labels(runs), runs, strict=True)
        if pair.suite in (run.suite_title, run.info.suite.name)
    }
    both = {name: named[name] for name in (pair.a, pair.b)}
    verdicts = {name: {v.id: v for v in run.verdicts} for name, run in both.items()}
    yield ""
    yield f"{pair.a} against {pair.b}: {len(pair.differing)} items differ"
    for key in pair.differing[:count]:
        yield Text(f"  {key}", "bold")
        found = {name: (run, verdicts[name][key]) for name, run in both.items()}
        yield from (f"    {line}" for line in _item_lines(key, found))


def noise_note(pair: Pair) -> str:
    """Return what a pair of runs with equal signatures means, and how far their scores differ."""
    return (
        f"{pair.a} and {pair.b} have equal signatures, so differences between them are numerical "
        f"noise; no score differs by more than {pair.noise:.2g}"
    )


def _item_lines(key: str, found: Mapping[str, tuple[Run, Verdict]]) -> Iterator[str]:
    """Yield the candidates; or, of an entailment item, its texts and then the labels."""
    texts = next((t for run, _ in found.values() if (t := _texts(run, key))), [])
    if any(run.labels for run, _ in found.values()):
        yield from texts
        texts = []
    options: dict[int | str, list[str]] = {}
    for name, (run, verdict) in found.items():
        best = _best(verdict)
        # Labels have names, since not all runs let the same ones compete.
        names: Sequence[int | str] = run.labels or range(len(verdict.scores))
        for place, option in enumerate(names):
            said = options.setdefault(option, [])
            if (place == verdict.gold or option in verdict.also) and "right" not in said:
                said.insert(0, "right")
            if place in best:
                said.append(f"{'tied for' if verdict.tied > 1 else 'chosen by'} {name}")
    for number, (option, said) in enumerate(options.items(), start=1):
        text = option if isinstance(option, str) else "".join(texts[option : option + 1])
        marks = f"[{', '.join(said)}]" if said else ""
        yield " ".join(filter(None, (f"{number}.", text, marks)))


def _best(verdict: Verdict) -> list[int]:
    """Return the places of the best score; several if they are tied."""
    if verdict.tied == 1:
        return [verdict.winner]
    order = sorted(range(len(verdict.scores)), key=lambda place: -verdict.scores[place])
    return sorted(order[: verdict.tied])


def _texts(run: Run, key: str) -> list[str]:
    return [run.text_of(scored) for scored in run.candidates.get(key, ())]
