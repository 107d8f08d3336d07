"""All duals that the rules can make of a pair, and why an operation makes none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from boxpen.build.duals.operations import add, delete, negations, swap, swap_clauses
from boxpen.build.duals.operations.nobody import nobody
from boxpen.build.duals.operations.opposites import opposites
from boxpen.build.duals.operations.substitute import parts, roles, siblings
from boxpen.build.duals.pair import Edit, Pair, UnchangedError, pair_of
from boxpen.english.sentence import plain, read
from boxpen.errors import BuildError
from boxpen.items import Choice, Item, Suite

__all__ = [
    "OPERATIONS",
    "Proposal",
    "Proposed",
    "Unchanged",
    "contested",
    "edits",
    "propose",
    "sentence_pairs",
]

OPERATIONS: dict[str, tuple[Callable[[Pair], Iterator[Edit]], ...]] = {
    "add": (add.negations, add.degrees, add.amounts, add.restrictions),
    "del": (
        negations.not_,
        negations.never,
        negations.no,
        delete.adverbs,
        delete.adjectives,
        delete.times,
        delete.places,
    ),
    "sub": (opposites, siblings, parts, nobody, roles),
    "swap": (
        swap.differing,
        swap.compared,
        swap_clauses.order,
        swap_clauses.causes,
        swap_clauses.times,
        swap.joined,
    ),
}
"""The rules of every operation; a rule yields edits, or raises why it cannot."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A dual of an item; ``gold`` is the sentence that is expected to be sensible now."""

    item: str
    edit: Edit
    gold: int

    @property
    def expected(self) -> str:
        """Whether the label is "flipped" or "kept"."""
        return "flipped" if self.edit.flipped else "kept"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """An item that an operation leaves as it is; the operation is "" if none was tried."""

    item: str
    operation: str
    reason: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """What the rules make of items."""

    proposals: list[Proposal] = field(default_factory=list)
    unchanged: list[Unchanged] = field(default_factory=list)


def sentence_pairs(suite: Suite) -> tuple[list[Choice], list[Unchanged]]:
    """Return the items of a suite that are pairs of sentences, and why the others are none.

    Raises:
        BuildError: If there are none, or the suite is not English.
    """
    pairs: list[Choice] = []
    others: list[Unchanged] = []
    for item in suite:
        reason = _unfit(item, suite.languages_of(item)[0])
        if reason is None and isinstance(item, Choice):
            pairs.append(item)
        else:
            others.append(Unchanged(item.id, "", str(reason)))
    if not pairs:
        first = f"; of the first item: {others[0].reason}" if others else ""
        raise BuildError(
            f"suite '{suite.name}' has no pair of English sentences among {len(suite):,} "
            f"items{first}; expected choices with two candidates"
        )
    return pairs, others


def contested(items: Iterable[Choice]) -> dict[str, str]:
    """Return the pairs whose label another pair denies, or that come again, and why.

    A sentence that makes sense in one pair and none in another makes both labels doubtful.
    """
    labels: dict[tuple[str, ...], dict[bool, list[str]]] = {}
    seen: dict[tuple[tuple[str, ...], ...], str] = {}
    found: dict[str, str] = {}
    for item in items:
        texts = [plain(read(text)) for text in item.candidates]
        for place, text in enumerate(texts):
            of = labels.setdefault(text, {True: [], False: []})
            of[place == item.gold].append(item.id)
        first = seen.setdefault((texts[item.gold], texts[1 - item.gold]), item.id)
        if first != item.id:
            found[item.id] = f"item '{first}' has the same sentences"
    for of in labels.values():
        for some, others in ((of[True], of[False]), (of[False], of[True])):
            for one in some:
                if other := next((each for each in others if each != one), None):
                    found[one] = f"item '{other}' has one of its sentences with the other label"
    return found


def propose(
    items: Iterable[Choice],
    operations: Iterable[str] | None = None,
    refused: Mapping[str, str] | None = None,
) -> Proposed:
    """Return all duals of items, by some operations or by all.

    Args:
        items: Pairs.
        operations: All if None.
        refused: Why some of the items are left alone; see ``contested``.
    """
    found = Proposed()
    for item in items:
        try:
            if refused and item.id in refused:
                raise UnchangedError(refused[item.id])
            pair = pair_of(item)
        except UnchangedError as error:
            found.unchanged.append(Unchanged(item.id, "", str(error)))
            continue
        for operation in dict.fromkeys(OPERATIONS if operations is None else operations):
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
        UnchangedError: With the reason, if there are none.
    """
    made: dict[tuple[str, str], Edit] = {}
    reasons: list[str] = []
    found = False
    for rule in OPERATIONS[operation]:
        try:
            for edit in rule(pair):
                found = True
                if pair.is_new(edit.texts):
                    made.setdefault(edit.texts, edit)
        except UnchangedError as error:
            reasons.append(str(error))
    if found and not made:
        raise UnchangedError("the change would only put the two sentences in the other order")
    if not found:
        raise UnchangedError(reasons[0] if reasons else _no_edit(pair, operation))
    return list(made.values())


def _no_edit(pair: Pair, operation: str) -> str:
    if operation == "sub":
        return "no word has an opposite, a sibling, a part or a role to be exchanged"
    if operation == "swap":
        return "it has no two arguments, clauses or differing words to be swapped"
    if negations.are_negated(pair):
        return "nothing vouches for either sentence without its negation"
    return "both have no negation, degree or restriction that could go"


def _unfit(item: Item, language: str | None) -> str | None:
    """Return why an item is not a pair of sentences; None if it is one."""
    if language not in (None, "en"):
        return f"its language is {language}, not English"
    if not isinstance(item, Choice):
        return f"it is of the kind {item.kind}, not a choice"
    if len(item.candidates) != 2:
        return f"it has {len(item.candidates)} candidates, not two"
    if item.source is not None:
        return "its candidates are translations"
    return "it has a context" if item.context is not None else None
