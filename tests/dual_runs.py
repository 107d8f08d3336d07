"""Runs on duals whose outcome can be read off their making."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen import Card, Choice, Run, Suite, evaluate
from small_runs import Liking

BEFORE = ("{n} went in and got wet", "{n} went in and stayed dry")
AFTER = ("{n} never went in and got wet", "{n} never went in and stayed dry")


def dual_suite(kinds: Sequence[str], name: str = "duals", duals: int = 1) -> Suite:
    """Blocks of an original and its duals; a kind is an operation, with '=' if the truth is kept.

    The candidates of every other dual stand the other way round.
    """
    items = []
    for n, kind in enumerate(kinds):
        operation, kept = kind.rstrip("="), kind.endswith("=")
        tags = {"operation": operation, "expected": "kept" if kept else "flipped"}
        block = f"b{n}"
        before = tuple(text.format(n=n) for text in BEFORE)
        items.append(Choice(id=f"{block}-0", candidates=before, gold=0, block=block, tags=tags))
        for d in range(1, duals + 1):
            after = tuple(text.format(n=f"{n}.{d}") for text in AFTER)
            right = 0 if kept else 1
            if n % 2:
                after, right = after[::-1], 1 - right
            items.append(
                Choice(id=f"{block}-{d}", candidates=after, gold=right, block=block, tags=tags)
            )
    return Suite(name, tuple(items), Card(language="en"))


def dual_run(outcome: str, suite: Suite, model: str = "one") -> Run:
    """A run in which item i is right (``+``), wrong (``-``) or a tie (``=``) as ``outcome[i]``."""
    liked = set()
    for item, sign in zip(suite, outcome, strict=True):
        assert isinstance(item, Choice)
        if sign != "=":
            liked.add(item.candidates[item.gold if sign == "+" else 1 - item.gold])
    return evaluate(Liking(model, liked), suite, cache=":memory:")
