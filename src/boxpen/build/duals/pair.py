"""Two sentences of which one makes sense: what they share, and how they differ.

The rules that flip a label rest on this. "Somebody did not do it" is sensible whatever *it* is, so
a negation only decides between two sentences about a kind in general, or if another clause says
what was to be expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise

from boxpen.build.duals.dictionary import commonness, open_dictionary
from boxpen.english.clauses import Clause, clauses
from boxpen.english.finite import NEGATIONS, skip_adverbs
from boxpen.english.grammar import DETERMINERS, capitalised
from boxpen.english.lexicon import is_known, lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, plain, read, shown
from boxpen.items import Choice

__all__ = ["CAUSES", "CONDITIONS", "Both", "Edit", "Pair", "UnchangedError", "pair_of"]

CAUSES = frozenset({"because", "since"})
CONDITIONS = frozenset({"if", "when", "whenever"})
Both = tuple[Clause, Clause]
"""A clause of the first sentence, and its counterpart in the second."""
_DENIES = NEGATIONS | {"cannot", "no", "never", "nobody", "nothing", "without"}
_ARTICLES = frozenset({"a", "an", "the"})
_LEAST_SHARED = 0.34  # of the words of the shorter sentence
_LONGEST = 60  # words


class UnchangedError(Exception):
    """No rule can change this pair; the message gives the reason."""


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

    @cached_property
    def matched(self) -> list[Both]:
        """The clauses that both have: their verbs are the same word, or replace one another."""
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

    @cached_property
    def _codes(self) -> list[tuple[str, int, int, int, int]]:
        one, two = ([word.low for word in words] for words in self.words)
        return list(SequenceMatcher(None, one, two, autojunk=False).get_opcodes())

    def low(self, place: int) -> str:
        """Return a word of the first sentence in lower case; "" beyond its ends."""
        words = self.words[0]
        return words[place].low if 0 <= place < len(words) else ""

    def bounds(self, side: int) -> list[tuple[int, int]]:
        """Return where a sentence differs from the other: from and to."""
        return [span[2:] if side else span[:2] for span in self.spans]

    def differing(self, side: int) -> tuple[str, ...]:
        """Return the words of a sentence that the other has not, in lower case."""
        return tuple(
            low for start, end in self.bounds(side) for low in plain(self.words[side][start:end])
        )

    def touches(self, side: int, start: int, end: int) -> bool:
        """Tell whether words of a sentence, or a gap between them, differ from the other."""
        return any(
            a < end and b > start if a < b else start < a < end for a, b in self.bounds(side)
        )

    def touched(self, both: Both) -> bool:
        """Tell whether the sentences differ in a clause."""
        return any(self.touches(side, one.opens, one.end) for side, one in enumerate(both))

    def clause_at(self, place: int) -> Both | None:
        """Return the clause with a word of the first sentence."""
        return next((both for both in self.matched if both[0].has(place)), None)

    def sides(self, both: Both) -> Iterator[tuple[tuple[Word, ...], Clause]]:
        """Yield the words of each sentence with its clause."""
        return zip(self.words, both, strict=True)

    def both_are(self, test: Callable[[Sequence[Word], Clause], bool], both: Both) -> bool:
        """Tell whether a clause passes a test in both sentences."""
        return all(test(words, clause) for words, clause in self.sides(both))

    def inside(self, both: Both) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the words of a clause on either side."""
        one, two = (plain(words[c.opens : c.end]) for words, c in self.sides(both))
        return one, two

    @cached_property
    def by_opposites(self) -> bool:
        """Whether a word of one difference is the opposite of one of the other."""
        book = open_dictionary()
        one, two = ([w for w in self.differing(s) if w not in DETERMINERS] for s in range(2))
        return any(book.are_opposites(first, second) for first in one for second in two)

    @cached_property
    def by_negation(self) -> bool:
        """Whether only one sentence has a 'not', or a 'no', where they differ."""
        one, two = (bool(_DENIES & set(self.differing(side))) for side in range(2))
        return one != two

    @property
    def contrary(self) -> bool:
        """Whether one sentence denies what the other says: by opposites or by 'not'."""
        return self.by_opposites or self.by_negation

    @property
    def are_named(self) -> bool:
        """Whether the differing words are both named elsewhere: the question is who is meant."""
        words = [set(self.differing(side)) - DETERMINERS for side in range(2)]
        lows = {self.words[0][place].low.removesuffix("'s") for place in self.shared}
        return all(words) and words[0] != words[1] and words[0] | words[1] <= lows

    @property
    def differing_clause(self) -> Both | None:
        """The clause in which the sentences differ; None if there is none, or more than one."""
        touched = [both for both in self.matched if self.touched(both)]
        return touched[0] if len(touched) == 1 else None

    def differ_in_predicate(self, within: Both | None = None) -> bool:
        """Tell whether a verb differs, or what a subject is said to be, in a clause or in any."""
        for side in range(2):
            for clause in self.clauses[side] if within is None else (within[side],):
                verb = clause.verb
                end = verb.place
                if verb.root in listed("linking"):
                    behind = max(verb.place, verb.group) + 1
                    end = skip_adverbs(self.words[side], behind, 1, clause.end)
                if self.touches(side, verb.place, max(end, verb.group) + 1):
                    return True
        return False

    def expected_from(self, effect: Both) -> Both | None:
        """Return the clause from which another one is to be expected; None if none is known.

        B is to be expected in 'A, so B', 'because A, B', 'A, and B', 'when A, B', 'if A, B' and
        'B so that A'.
        """
        others = [both for both in self.matched if both != effect]
        before = [both for both in others if both[0].opens < effect[0].opens]
        if not others or effect[0].subject is None:
            return None
        if effect[0].opener == "so" and len(before) == len(others):
            # 'A and B, so C': C rests on both, and the one that differs tells more.
            plain_causes = all(both[0].opener in {"", "and"} for both in others)
            return next(filter(self.touched, others), others[-1]) if plain_causes else None
        if len(others) > 1:
            return None
        [other] = others
        if effect[0].opener == "and":
            return other if before and not other[0].opener else None
        linked = other[0].opener in CAUSES | CONDITIONS | {"so that"}
        return other if linked and effect[0].role == "main" else None

    def differ_in_cause(self, both: Both) -> bool:
        """Tell whether a clause is a cause or a condition, and the sentences differ in it.

        A senseless cause is mostly irrelevant, and stays so without its negation.
        """
        if not self.touched(both):
            return False
        if both[0].opener in CAUSES | CONDITIONS:
            return True
        after = (each[0] for each in self.matched if each[0].opens > both[0].opens)
        return any(clause.opener == "so" for clause in after)

    def has_obligation(self, both: Both) -> bool:
        """Tell whether a clause tells what has to be done."""
        return any(
            not {"must", "should", "ought"}.isdisjoint(words)
            or any(verb in _HAVE and to == "to" for verb, to in pairwise(words))
            for words in self.inside(both)
        )

    def written(self, sides: Iterable[Sequence[Word]]) -> tuple[str, str]:
        """Return new words of both sentences as texts."""
        one, two = (shown(new, old) for new, old in zip(sides, self.words, strict=True))
        return one, two

    def replaced(self, place: int, width: int, put: str = "") -> tuple[str, str]:
        """Return both sentences with other words for shared ones, by their place in the first."""
        made = []
        for words, at in zip(self.words, (place, self.shared[place]), strict=True):
            new = [Word(text) for text in put.split()]
            if new and width:
                first = capitalised(new[0].text) if words[at].text[0].isupper() else new[0].text
                new[0] = Word(first, words[at].space)
            made.append((*words[:at], *new, *words[at + width :]))
        return self.written(made)

    def is_new(self, texts: tuple[str, str]) -> bool:
        """Tell whether sentences differ from each other, and from the old ones in any order."""
        one, two = (plain(read(text)) for text in texts)
        return one != two and {one, two} != {plain(self.words[0]), plain(self.words[1])}


_HAVE = frozenset({"have", "has", "had", "need", "needs", "needed"})


def pair_of(item: Choice) -> Pair:
    """Return the pair of an item.

    Raises:
        UnchangedError: If the sentences are not fit for a change.
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
    if _differ_in_form(pair):
        raise UnchangedError("its sentences differ only in articles or in the number of nouns")
    for words in pair.words:
        if (unknown := next(filter(_is_unknown, words), None)) is not None:
            raise UnchangedError(f"'{unknown.low}' is in no word list, and may be a typo")
    if not all(pair.clauses):
        raise UnchangedError("no finite verb was found in a sentence")
    return pair


def _differ_in_form(pair: Pair) -> bool:
    """Tell whether the same things are named in both: 'a town' and 'the towns'."""
    one, two = ([low for low in pair.differing(s) if low not in _ARTICLES] for s in range(2))
    nouns = [[{low, *lemmas(low).get("NOUN", ())} for low in words] for words in (one, two)]
    return len(one) == len(two) and all(a & b for a, b in zip(*nouns, strict=True))


def _is_unknown(word: Word) -> bool:
    """Tell whether a word in small letters is neither in the dictionary nor in other lists."""
    low = word.low
    known = is_known(low) or low in listed("closed") or low in listed("names")
    return word.text.isalpha() and word.text.islower() and not known and not commonness(low)
