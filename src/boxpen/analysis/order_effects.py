"""How the order of options changes the answers of a model that was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from string import ascii_uppercase
from typing import Any

from boxpen.metrics.intervals import Estimate, share
from boxpen.scoring.ask import Answer, Outcome, orders

__all__ = ["OrderEffects", "order_effects", "order_notes"]


@dataclass(frozen=True)
class OrderEffects:
    """What became of all questions.

    Attributes:
        questions: How many were asked.
        unparsed: Share of answers that are not a clear choice.
        empty: Number of answers without a word, or without a likely letter.
        refused: Share of answers that refuse.
        failed: Share of items that have a question without an answer; they are left out of all
            other numbers.
        first: Share of clear choices that are the option shown first.
        expected: What ``first`` is without a preference for a position: every candidate is shown
            first equally often.
        places: Share of clear choices by letter.
        unchanged: Share of items with the same clear choice in every order.
    """

    questions: int
    unparsed: Estimate
    empty: int
    refused: Estimate
    failed: Estimate
    first: Estimate
    expected: float
    places: dict[str, float]
    unchanged: Estimate

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain objects."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {k: v._asdict() if isinstance(v, Estimate) else v for k, v in found.items()}


def order_effects(answers: Sequence[Answer], failed: int = 0) -> OrderEffects:
    """Count answers; those about one item are a cluster.

    Args:
        answers: The answers of a run, at least one.
        failed: Number of items that have a question without an answer.
    """
    items: dict[str, list[Answer]] = {}
    for answer in answers:
        items.setdefault(answer.item, []).append(answer)
    clear = [a for a in answers if a.chosen is not None]
    places = Counter(a.place for a in clear)
    return OrderEffects(
        questions=len(answers),
        unparsed=_share(answers, Outcome.UNPARSED),
        empty=sum(not a.text for a in answers),
        refused=_share(answers, Outcome.REFUSED),
        failed=share([0.0] * len(items) + [1.0] * failed),
        first=share([float(a.place == 0) for a in clear], [a.item for a in clear]),
        expected=sum(1 / _options(items[a.item]) for a in clear) / max(1, len(clear)),
        places={ascii_uppercase[p or 0]: n / len(clear) for p, n in sorted(places.items())},
        unchanged=share([float(_unchanged(few)) for few in items.values()]),
    )


def _share(answers: Sequence[Answer], outcome: Outcome) -> Estimate:
    return share([float(a.outcome == outcome) for a in answers], [a.item for a in answers])


def _unchanged(few: Sequence[Answer]) -> bool:
    """Whether one candidate was chosen in every order."""
    chosen = {a.chosen for a in few}
    return len(chosen) == 1 and None not in chosen


def _options(few: Sequence[Answer]) -> int:
    """Return how many options an item has, by the number of its orders."""
    return next(n for n in range(2, len(few) + 1) if len(orders(n)) == len(few))


def order_notes(found: OrderEffects) -> Iterator[str]:
    """Yield what readers of the results should know about the answers."""
    first = found.first
    yield (
        f"asked {found.questions:,} questions; unparsed {found.unparsed.value:.1%}, refused "
        f"{found.refused.value:.1%} (neither is right); failed {found.failed.value:.1%} of items "
        "(left out)"
    )
    if found.empty:
        yield (
            f"{found.empty:,} answer(s) are empty; a model behind an API that thinks before it "
            "answers needs a higher max_answer"
        )
    if first.n:
        yield (
            f"the first option was chosen in {first.value:.1%} [{first.low:.1%}, {first.high:.1%}] "
            f"of clear answers, {found.expected:.1%} without a preference; the same candidate in "
            f"every order for {found.unchanged.value:.1%} of items"
        )
