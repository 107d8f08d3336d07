"""Terminal tables for the analysis of a suite, at 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING, Any

from boxpen.analysis.suites.audit import MARGIN, AuditRow
from boxpen.analysis.suites.balance import Balance
from boxpen.analysis.suites.differences import Differences
from boxpen.analysis.suites.stats import TOTAL, SetStats
from boxpen.catalog.entry import TOPICS, Entry
from boxpen.report.html.word_chart import ARTICLES
from boxpen.report.plain_table import plain_table, safe

if TYPE_CHECKING:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

__all__ = [
    "audit_object",
    "audit_tables",
    "balance_lines",
    "catalog_lines",
    "catalog_object",
    "stats_terminal",
    "words_object",
    "words_tables",
]


def catalog_object(entry: Entry) -> dict[str, Any]:
    """Return a suite of the catalog as data."""
    known = {"topic": entry.topic or None, "items": entry.items or None, "chance": entry.chance}
    more = {"languages": entry.spoken, "parts": entry.parts}
    return {"name": entry.name, **known, **more, **asdict(entry.card)}


def catalog_lines(entries: Iterable[Entry]) -> Iterator[Text | Padding]:
    """Yield the suites of the catalog by topic: a line of facts, below it the title and parts."""
    from rich.padding import Padding
    from rich.text import Text

    topics: dict[str, list[Entry]] = {topic: [] for topic in TOPICS}
    for entry in entries:
        topics.setdefault(entry.topic or "other", []).append(entry)
    heads = ("name", "items", "chance", "languages", "licence")
    facts = {e.name: _facts(e) for members in topics.values() for e in members}
    widths = [max(map(len, column)) for column in zip(heads, *facts.values(), strict=True)]

    def line(cells: Sequence[str]) -> str:
        numbers = {1, 2}
        return "  ".join(
            cell.rjust(width) if place in numbers else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    yield Text(line(heads))
    for topic, members in topics.items():
        if members:
            yield Text(f"\n{topic.capitalize()}", "bold")
        for e in members:
            parts = f"\n{' '.join(f'.{p}' for p in e.parts)}" if e.parts else ""
            yield Text(line(facts[e.name]))
            yield Padding(
                safe(Text.assemble(e.card.title, (parts, "dim"))), (0, 0, 0, 4), expand=False
            )


def _facts(entry: Entry) -> tuple[str, ...]:
    return (
        entry.name,
        f"{entry.items:,}" if entry.items else "–",
        "–" if entry.chance is None else f"{entry.chance:.3f}",
        _languages(entry.spoken),
        entry.card.licence,
    )


def _languages(spoken: Sequence[str]) -> str:
    """Return ``et, lt, lv-en`` for three pairs, ``11 languages`` for many."""
    if len(spoken) > 3:
        return f"{len(spoken)} languages"
    targets = {pair.partition("-")[2] for pair in spoken}
    if len(spoken) > 1 and len(targets) == 1 and (target := targets.pop()):
        return ", ".join(pair.partition("-")[0] for pair in spoken) + f"-{target}"
    return ", ".join(spoken) or "–"


def stats_terminal(rows: Sequence[SetStats]) -> Iterator[Table | str]:
    """Yield the sizes of sets, and what the numbers between slashes are."""
    sides = [name for name in ("source", "right", "wrong") if getattr(rows[-1], name) is not None]
    table = _table("set", "items", "unique tokens", "tokens per sentence", "tokens")
    for row in rows:
        found = [side for side in (row.source, row.right, row.wrong) if side is not None]
        table.add_row(
            row.name,
            f"{row.items:,}",
            "/".join(f"{side.unique:,}" for side in found),
            "/".join(f"{side.average:.1f}" for side in found),
            "/".join(f"{side.tokens:,}" for side in found),
            style="bold" if row.name == TOTAL else "",
        )
    yield table
    yield f"\n{'/'.join('abc'[: len(sides)])}: {' / '.join(sides)}"
    if any(row.with_context for row in rows):
        yield ""
        yield from _with_contexts(rows)


def _with_contexts(rows: Sequence[SetStats]) -> Iterator[Table | str]:
    """Yield the sizes of sets with the sentences before: Table 1 of Cai and Xiong (2020)."""
    table = _table(
        "with contexts", "sentences", "words", "words per sentence", "with marks", "items"
    )
    for row in rows:
        if (both := row.with_context) is not None:
            table.add_row(
                row.name,
                f"{both[0].sentences:,}",
                "/".join(f"{side.tokens:,}" for side in both),
                "/".join(f"{side.average:.2f}" for side in both),
                "/".join(f"{side.tokens + side.marks:,}" for side in both),
                f"{row.items:,}",
                style="bold" if row.name == TOTAL else "",
            )
    yield table
    yield "\na/b: source / right, each with the sentence before"


def words_object(found: Differences, top: int) -> dict[str, Any]:
    """Return the words that tell right from wrong candidates as data."""
    sides = {
        side: {
            **asdict(words),
            "different": dict(islice(words.different.items(), top)),
            "different_words": sum(words.different.values()),
            "different_negations": words.different_negations,
            "negated": words.negated._asdict(),
        }
        for side, words in (("right", found.right), ("wrong", found.wrong))
    }
    counts = {"items": found.items, "pairs": found.pairs, "same_words": found.same_words}
    return {**counts, "different_per_pair": found.per_pair, **sides}


def words_tables(found: Differences, top: int) -> Iterator[Table | Text]:
    """Yield the sides of a suite, then the words that tell them apart."""
    from rich.text import Text

    right, wrong = found.right, found.wrong
    table = _table("", "right", "wrong")
    table.add_row("sentences", f"{right.sentences:,}", f"{wrong.sentences:,}")
    table.add_row("words per sentence", f"{right.length:.2f}", f"{wrong.length:.2f}")
    different = [sum(side.different.values()) for side in (right, wrong)]
    table.add_row("different words", *(f"{count:,}" for count in different))
    counts = (right.different_negations, wrong.different_negations)
    table.add_row("  of them negations", *(f"{count:,}" for count in counts))
    table.add_row(
        "sentences with a negation", *(f"{side.negated.value:.1%}" for side in (right, wrong))
    )
    yield table
    yield Text(
        f"\n{found.pairs:,} pairs of a right and a wrong candidate, {found.per_pair:.2f} different "
        f"words per pair; {found.same_words:,} pairs have the same words.\n"
    )
    columns = ("in right only", "right", "wrong", "in wrong only", "right", "wrong")
    table = _table(*columns, left=(0, 3))
    ranked = [
        list(islice((w for w in side.different if w not in ARTICLES), top))
        for side in (right, wrong)
    ]
    for pair in zip_longest(*ranked):
        cells: list[Text] = []
        for word in pair:
            numbers = ("", "")
            if word is not None:
                numbers = (f"{right.different.get(word, 0):,}", f"{wrong.different.get(word, 0):,}")
            cells += [Text(text) for text in (word or "", *numbers)]
        table.add_row(*cells)
    if table.row_count:
        yield table
        yield Text("\na, an and the are left out of this table.\n")
    table = _table("negation", "right", "wrong")
    both = {**right.negations, **wrong.negations}
    for word in sorted(
        both, key=lambda w: (-right.negations.get(w, 0) - wrong.negations.get(w, 0), w)
    )[:top]:
        counts = (right.negations.get(word, 0), wrong.negations.get(word, 0))
        table.add_row(Text(word), *(f"{count:,}" for count in counts))
    if table.row_count:
        yield table


def audit_object(rows: Sequence[AuditRow], answers: Balance, suite: str) -> dict[str, Any]:
    """Return shortcuts, and where the right answers stand, as data."""
    results = []
    for row in rows:
        plain = asdict(row) | row.estimate._asdict() | {"flagged": row.flagged, "suite": suite}
        del plain["estimate"]
        results.append(plain)
    flips = answers.flips._asdict() if answers.flips else None
    return {"balance": {**asdict(answers), "flips": flips}, "results": results}


def audit_tables(rows: Sequence[AuditRow]) -> Iterator[Table | Text]:
    """Yield a table for every slice, with flagged shortcuts marked."""
    from rich.text import Text

    for name, members in groupby(rows, key=lambda row: row.slice):
        table = _table("", "shortcut", "right", "95 %", "chance", "what it came to", left=(0, 1, 5))
        mine = list(members)
        for row in mine:
            e = row.estimate
            table.add_row(
                "!" if row.flagged else "",
                row.shortcut,
                f"{e.value:.3f}",
                f"{e.low:.3f}–{e.high:.3f}",
                f"{row.chance:.3f}",
                row.rule or "",
                style="bold" if row.flagged else "",
            )
        yield Text(f"{name}: {mine[0].estimate.n:,} items")
        yield table
        yield Text("")
    flagged = sum(row.flagged for row in rows)
    yield Text(
        f"{flagged} of {len(rows)} lines are marked '!': their interval lies more than "
        f"{MARGIN:g} above chance."
    )


def balance_lines(found: Balance) -> Iterator[Text]:
    """Yield where the right answers stand, a line each."""
    from rich.text import Text

    for size, golds in found.positions.items():
        yield Text(f"right position of {size}: {' / '.join(f'{n:,}' for n in golds)}")
    if found.labels:
        yield Text(f"labels: {', '.join(f'{k} {n:,}' for k, n in found.labels.items())}")
    if found.block_sizes:
        sizes = ", ".join(f"{n:,} of {size}" for size, n in found.block_sizes.items())
        yield Text(f"blocks: {sizes} items")
    if found.flips is not None:
        yield Text(f"blocks in which the right position or label changes: {found.flips.value:.1%}")


def _table(*columns: str, left: Sequence[int] = (0,)) -> Table:

    table = plain_table()
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index in left else "right", overflow="fold")
    return table
