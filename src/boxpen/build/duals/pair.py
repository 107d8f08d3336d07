"""Two sentences of which one makes sense: what they share, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from boxpen.english.clauses import Clause, clauses
from boxpen.english.sentence import Word, plain, read, shown
from boxpen.items import Choice, Item

__all__ = ["Edit", "Pair", "UnchangedError", "pair_of", "unfit"]

_LEAST_SHARED = 0.34  # of the words of the shorter sentence
_LONGEST = 60  # words


class UnchangedError(Exception):
    """A pair, or an operation on it, that no rule can do; the message says why."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A dual of a pair.

    Attributes:
        operation: "add", "del", "sub" or "swap".
        kind: What was added, deleted, substituted or swapped: "negation", "sibling" …
        texts: The new sentences, in the order of the pair.
        flipped: Whether the other sentence is the sensible one now.
        reason: Why, in words.
    """

    operation: str
    kind: str
    texts: tuple[str, str]
    flipped: bool
    reason: str


@dataclass(frozen=True)
class Pair:
    """Two sentences; ``gold`` is the one that makes sense."""

    texts: tuple[str, str]
    gold: int

    @cached_property
    def words(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """Both sentences in words."""
        return read(self.texts[0]), read(self.texts[1])

    @cached_property
    def clauses(self) -> tuple[list[Clause], list[Clause]]:
        """The clauses of both."""
        return clauses(self.words[0]), clauses(self.words[1])

    @cached_property
    def spans(self) -> list[tuple[int, int, int, int]]:
        """Where they differ: from and to in the first, from and to in the second."""
        return [(a, b, c, d) for tag, a, b, c, d in self._codes if tag != "equal"]

    @cached_property
    def shared(self) -> dict[int, int]:
        """Places of words in the first sentence, with the place of the same in the second."""
        return {
            first: first - a + c
            for tag, a, b, c, _ in self._codes
            if tag == "equal"
            for first in range(a, b)
        }

    def differing(self, side: int) -> tuple[str, ...]:
        """Return the words of a sentence that the other has not, in lower case."""
        return tuple(
            low for start, end in self.bounds(side) for low in plain(self.words[side][start:end])
        )

    def bounds(self, side: int) -> list[tuple[int, int]]:
        """Return where a sentence differs from the other: from and to."""
        return [span[2:] if side else span[:2] for span in self.spans]

    @cached_property
    def matched(self) -> list[tuple[Clause, Clause]]:
        """The clauses that both have: their verbs are the same word, or stand for one another."""
        found = []
        for one in self.clauses[0]:
            for two in self.clauses[1]:
                first, second = one.verb.place, two.verb.place
                same = self.shared.get(first) == second or any(
                    a <= first < b and c <= second < d for a, b, c, d in self.spans
                )
                if same and one.verb.kind == two.verb.kind and one.opener == two.opener:
                    found.append((one, two))
                    break
        return found

    def touches(self, side: int, start: int, end: int) -> bool:
        """Tell whether words of a sentence, or a gap between them, differ from the other."""
        return any(
            a < end and b > start if a < b else start < a < end for a, b in self.bounds(side)
        )

    def touched(self, both: tuple[Clause, Clause]) -> bool:
        """Tell whether the sentences differ in a clause."""
        return any(self.touches(side, one.opens, one.end) for side, one in enumerate(both))

    def changed(self, change: Callable[[int, tuple[Word, ...]], Sequence[Word]]) -> tuple[str, str]:
        """Return both sentences after a change, which is told the side and its words."""
        one, two = (shown(change(side, self.words[side]), self.words[side]) for side in range(2))
        return one, two

    def without(self, place: int, width: int) -> tuple[str, str]:
        """Return both sentences without some shared words, by their place in the first."""

        def change(side: int, words: tuple[Word, ...]) -> Sequence[Word]:
            at = self.shared[place] if side else place
            return (*words[:at], *words[at + width :])

        return self.changed(change)

    def is_new(self, texts: tuple[str, str]) -> bool:
        """Tell whether sentences are two, and not the old ones in whatever order."""
        one, two = (plain(read(text)) for text in texts)
        return one != two and {one, two} != {plain(self.words[0]), plain(self.words[1])}

    @cached_property
    def _codes(self) -> list[tuple[str, int, int, int, int]]:
        one, two = ([word.low for word in words] for words in self.words)
        return list(SequenceMatcher(None, one, two, autojunk=False).get_opcodes())


def unfit(item: Item) -> str | None:
    """Say why an item is no pair of sentences; None if it is one."""
    if not isinstance(item, Choice):
        return f"it is of the kind {item.kind}, not a choice"
    if len(item.candidates) != 2:
        return f"it has {len(item.candidates)} candidates, not two"
    if item.source is not None:
        return "its candidates are translations"
    if item.context is not None:
        return "it has a context"
    return None


def pair_of(item: Choice) -> Pair:
    """Return the pair of an item.

    Raises:
        UnchangedError: If the sentences are not what can be changed.
    """
    pair = Pair((item.candidates[0], item.candidates[1]), item.gold)
    one, two = (plain(words) for words in pair.words)
    if one == two:
        raise UnchangedError("its sentences have the same words")
    if max(len(one), len(two)) > _LONGEST:
        raise UnchangedError(f"a sentence has more than {_LONGEST} words")
    if any(text.rstrip().endswith("?") for text in pair.texts):
        raise UnchangedError("a sentence is a question")
    if any(text.isupper() for text in pair.texts):
        raise UnchangedError("a sentence is written in capitals")
    shared = len(one) - len(pair.differing(0))
    if shared < 2 or shared < _LEAST_SHARED * min(len(one), len(two)):
        raise UnchangedError("its sentences have too few words in common")
    return pair
