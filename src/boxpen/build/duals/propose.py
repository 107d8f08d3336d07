"""All duals that the rules can make of a pair, and why an operation makes none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from boxpen.build.duals.operations.add import added
from boxpen.build.duals.operations.delete import deleted
from boxpen.build.duals.operations.substitute import substituted
from boxpen.build.duals.operations.swap import swapped
from boxpen.build.duals.pair import Edit, Pair, UnchangedError, pair_of, unfit
from boxpen.errors import BuildError
from boxpen.items import Choice, Item, Suite

__all__ = [
    "OPERATIONS",
    "Proposal",
    "Proposed",
    "Unchanged",
    "edits",
    "propose",
    "sentence_pairs",
]

OPERATIONS: dict[str, Callable[[Pair], Iterator[Edit]]] = {
    "add": added,
    "del": deleted,
    "sub": substituted,
    "swap": swapped,
}
"""What can be done to a pair, in the order in which it is shown."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A dual of an item."""

    item: str
    edit: Edit
    gold: int
    """The sentence that is sensible now, as is expected."""

    @property
    def expected(self) -> str:
        """Whether the label is "flipped" or "kept"."""
        return "flipped" if self.edit.flipped else "kept"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """An item that an operation leaves as it is."""

    item: str
    operation: str
    """"" if no operation was tried."""
    reason: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """What the rules make of items."""

    proposals: list[Proposal]
    unchanged: list[Unchanged]


def sentence_pairs(suite: Suite) -> tuple[list[Choice], list[Unchanged]]:
    """Return the items of a suite that are pairs of sentences, and why the others are none.

    Raises:
        BuildError: If there are none, or the suite is not English.
    """
    pairs: list[Choice] = []
    others: list[Unchanged] = []
    for item in suite:
        language, _ = suite.languages_of(item)
        if (reason := _unfit(item, language)) is not None:
            others.append(Unchanged(item.id, "", reason))
        else:
            assert isinstance(item, Choice)
            pairs.append(item)
    if not pairs:
        first = f"; of the first item: {others[0].reason}" if others else ""
        raise BuildError(
            f"suite '{suite.name}' has no pair of English sentences among {len(suite):,} "
            f"items{first}; expected choices with two candidates"
        )
    return pairs, others


def propose(items: Iterable[Choice], operations: Iterable[str] | None = None) -> Proposed:
    """Return all duals of items.

    Args:
        items: Pairs of sentences.
        operations: What may be done to them, each once; everything if None.
    """
    wanted = list(dict.fromkeys(OPERATIONS if operations is None else operations))
    found = Proposed([], [])
    for item in items:
        try:
            pair = pair_of(item)
        except UnchangedError as error:
            found.unchanged.append(Unchanged(item.id, "", str(error)))
            continue
        for operation in wanted:
            try:
                made = edits(pair, operation)
            except UnchangedError as error:
                found.unchanged.append(Unchanged(item.id, operation, str(error)))
                continue
            for edit in made:
                gold = 1 - item.gold if edit.flipped else item.gold
                found.proposals.append(Proposal(item.id, edit, gold))
    return found


def edits(pair: Pair, operation: str) -> list[Edit]:
    """Return the duals that an operation makes of a pair; none is the pair itself.

    Raises:
        UnchangedError: If there are none; the message says why.
    """
    made: dict[tuple[str, str], Edit] = {}
    for edit in OPERATIONS[operation](pair):
        if pair.is_new(edit.texts):
            made.setdefault(edit.texts, edit)
    if not made:
        raise UnchangedError("the change would only put the two sentences in the other order")
    return list(made.values())


def _unfit(item: Item, language: str | None) -> str | None:
    if language not in (None, "en"):
        return f"its language is {language}, not English"
    return unfit(item)
