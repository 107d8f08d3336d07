"""The state of a review, for a terminal and as data: progress, agreement and disagreements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from boxpen.report.plain_table import plain_table
from boxpen.review import Agreement, Judgement, Review, ReviewTask

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["judgement_text", "review_object", "review_terminal"]

_AGREEMENT = ("agreement", "n", "pairs", "Cohen", "Fleiss", "(n)", "Krippendorff")


def review_object(task: ReviewTask, review: Review) -> dict[str, Any]:
    """Return the state of a review as data."""
    details = {
        one.name: [dict(zip(one.columns, map(_plain, row), strict=True)) for row in one.rows]
        for one in (*review.details, *task.details(review))
    }
    return {
        "task": task.name,
        "journal": str(task.journal.path),
        "items": len(review.questions),
        "judges": review.judges,
        "decisions": review.counts,
        "outdated": review.outdated,
        "agreement": [asdict(row) for row in review.agreement],
        "disagreements": [asdict(one) for one in review.disagreements],
        "open": review.open,
        **details,
    }


def review_terminal(task: ReviewTask, review: Review) -> Iterator[str | Table]:
    """Yield the state of a review as lines and tables."""
    for name, number in review.judges.items():
        yield f"{name}: {number} of {len(review.questions)} judged"
    yield ", ".join(f"{what}: {number}" for what, number in review.counts.items())
    yield ""
    yield _table(_AGREEMENT, list(_agreement(review.agreement)))
    for one in (*review.details, *task.details(review)):
        if one.rows:
            yield f"\n{one.name.replace('_', ' ').capitalize()}:"
            yield _table([name.replace("_", " ") for name in one.columns], one.rows)
    if review.disagreements:
        yield "\nJudges disagree:"
    for found in review.disagreements:
        verdicts = (f"{each.judge} {judgement_text(each)}" for each in found.judgements)
        yield f"  {found.item}: {'; '.join(verdicts)}"


def judgement_text(judgement: Judgement) -> str:
    """Return the verdict of a judgement, and its edit in brackets."""
    edit = f" ({' / '.join(judgement.edit.splitlines())})" if judgement.edit else ""
    return (judgement.verdict or "no verdict") + edit


def _agreement(rows: Sequence[Agreement]) -> Iterator[tuple[Any, ...]]:
    """Yield one row per part, and after 'all' one per pair of judges if there are several."""
    for row in rows:
        yield (row.part, row.items, row.percent, row.cohen, row.fleiss, row.fleiss_items, row.alpha)
        for pair in row.pairs if row.part == "all" and len(row.pairs) > 1 else ():
            judges = f"  {pair.first}, {pair.second}"
            yield (judges, pair.items, pair.percent, pair.kappa, "", "", "")


def _table(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Table:
    shown = plain_table()
    for place, name in enumerate(names):
        text = all(isinstance(row[place], str) for row in rows)
        shown.add_column(name, justify="left" if text else "right")
    for row in rows:
        shown.add_row(*map(_cell, row))
    return shown


def _cell(value: Any) -> str:
    """Return a value as it is displayed; a dash for NaN."""
    if isinstance(value, tuple):  # an estimate
        first, low, high = map(_cell, value[:3])
        return first if first == "–" else f"{first} [{low}, {high}]"
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    return value._asdict() if hasattr(value, "_asdict") else value
