"""The tails of one relation and form, and which are surely wrong for which triple.

The rules are those of ``boxpen.build.kg.negatives``.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from boxpen.build.kg.kinship import Kin, overlap, phrase_of
from boxpen.build.kg.open_ended import is_open
from boxpen.build.kg.triples import ATOMIC
from boxpen.english.normal import normal

__all__ = ["Group", "text_column"]

# Form of a relation's tails without a column 'form'; the rest are verb phrases.
_FORMS = {"isa": "np", "madeof": "np", "hasa": "np", "createdby": "np", "xAttr": "adj"}

_COMPARED = 200
"""How many tails are compared with the right one; in a large table, all would take hours."""

_SHARED = frozenset({"capableof", "hasa", "createdby"})  # by things of like kinds


class Group:
    """The triples of one relation and form, whose tails serve as wrong ones for each other."""

    def __init__(
        self,
        relation: str,
        form: str | None,
        rows: list[dict[str, Any]],
        spare: list[dict[str, Any]],
        kin: Kin,
        count: int,
    ) -> None:
        self.relation, self.kin, self.count = relation, kin, count
        self.cousins = kin.limits.distant if relation in _SHARED else kin.limits.cousins
        self.form = form or _FORMS.get(relation, "vp")
        self.text = text_column(rows[0])
        sources: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: str(row["id"])):
            sources[normal(row[self.text])].append(row)
        right = {key: len(same) for key, same in sources.items()}
        for row in sorted(spare, key=lambda row: str(row["id"])):
            if (key := normal(row[self.text])) not in right:
                sources[key].append(row)

        self.keys = sorted(sources)
        self.sources = [sources[key] for key in self.keys]
        self.place = {key: i for i, key in enumerate(self.keys)}
        self.phrases = [phrase_of(key, self.form) for key in self.keys]
        self.length = np.log([1 + len(str(s[0][self.text]).split()) for s in self.sources])
        # How often each is used if it is a wrong answer as often as a right one.
        self.quota = np.array([count * right.get(key, 1) for key in self.keys], float)
        self.late = np.array([float(key not in right) for key in self.keys])
        self.served = np.zeros(len(self.keys), int)
        self._index()
        self.open_to: dict[str, Any] = {}  # head -> mask of tails
        self.like: dict[str, set[int]] = {}  # tail -> those that say nearly the same

    def order(self, rows: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
        """Return the rows with fewest tails to choose from first: later they would find none."""
        choice = {row["id"]: int(self._open(row).sum()) for row in rows}
        return sorted(rows, key=lambda row: (choice[row["id"]], _digest(seed, row["id"])))

    def draw(self, row: dict[str, Any], seed: int) -> tuple[list[dict[str, Any]], Counter[str]]:
        """Return triples whose tails are wrong for a row, and, if too few, what was refused."""
        gold = self.place[normal(row[self.text])]
        rng = np.random.default_rng(int.from_bytes(_digest(seed, row["id"])[:8], "big"))
        score = (
            self.late
            + (self.served + 1) / self.quota
            + 0.5 * np.abs(self.length - self.length[gold])
            + 0.3 * rng.random(len(self.keys))
        )
        fit = self._open(row)
        worn = fit & (self.served >= self.kin.limits.wear * self.quota)
        reasons = Counter({"worn out": int(worn.sum())})
        fit &= ~worn
        taken: list[int] = []
        found = []
        first = np.flatnonzero(fit)[np.argsort(score[fit], kind="stable")]
        for i in first[:_COMPARED]:
            score[i] -= self._near(row, gold, i)
        for i in first[np.argsort(score[first], kind="stable")]:
            if len(taken) == self.count:
                break
            source = self.sources[i][self.served[i] % len(self.sources[i])]
            if self.relation not in ATOMIC and self._heads_near(row, i) > self.cousins:
                reasons["inherited"] += 1
            elif any(self.kin.alike(self.phrases[i], self.phrases[j]) for j in taken):
                reasons["like another wrong one"] += 1
            else:
                taken.append(int(i))
                found.append(source)
        self.served[taken] += 1
        if len(found) < self.count:
            why: dict[int, str] = {}
            for reason, places in (*self._for_gold(row), *self._for_head(normal(row["head"]))):
                for place in places:
                    why.setdefault(place, reason)
            reasons.update(why.values())
        return found, reasons

    def _near(self, row: dict[str, Any], gold: int, place: int) -> float:
        """Return what a tail gains that is like the right one, and holds of heads like this one.

        Such tails are plausible at a glance. Of events near tails often follow as well.
        """
        if self.relation in ATOMIC:
            return 0.0
        near = self.kin.near(self.phrases[gold], self.phrases[place])
        return self.kin.limits.nearness * (near + self._heads_near(row, place)) / 2

    def _heads_near(self, row: dict[str, Any], place: int) -> float:
        """Return how near the nearest head of a tail is to that of a row."""
        head = normal(row["head"])
        heads = {normal(source["head"]) for source in self.sources[place]}
        return max(self.kin.near_heads(head, other) for other in heads)

    def _open(self, row: dict[str, Any]) -> Any:
        """Return a mask of the tails that are surely wrong for a row."""
        head = normal(row["head"])
        if head not in self.open_to:
            mask = np.ones(len(self.keys), bool)
            for _, places in self._for_head(head):
                mask[list(places)] = False
            self.open_to[head] = mask
        mask = self.open_to[head].copy()
        for _, places in self._for_gold(row):
            mask[list(places)] = False
        return mask

    def _for_gold(self, row: dict[str, Any]) -> Iterator[tuple[str, Iterable[int]]]:
        """Yield the tails that are too close to the right one."""
        gold = self.phrases[self.place[normal(row[self.text])]]
        yield "right", (self.place[gold.key],)
        yield "open", range(len(self.keys)) if self.place[gold.key] in self.open else self.open
        yield "same words", _at(self.with_word, gold.words)
        yield "same words", _at(self.named, {gold.about})
        yield "related", _at(self.named, self.kin.related(gold))
        tail = normal(row["tail"])
        if tail != gold.key:  # it was worded in other words
            yield "related", _at(self.named, self.kin.related(phrase_of(tail, self.form)))

    def _for_head(self, head: str) -> Iterator[tuple[str, Iterable[int]]]:
        """Yield the tails that may be right for a head, whichever tail is asked for."""
        kin, facts = self.kin, self.kin.facts
        others = facts.tails[self.relation][head]
        yield "linked", _at(self.whole, facts.linked[head])
        about = phrase_of(head, "clause").words
        yield "met", (i for word in about for i in self.met[word])
        if self.relation not in ATOMIC:
            kinds = kin.kinds(head, self.relation)
            yield "inherited", _at(self.linked, kinds)
            if kin.is_person(head):
                yield "inherited", self.of_people
        yield "same words", _at(self.with_word, phrase_of(head, "np").words)
        yield "related", (i for other in others for i in self._like(other))
        company = (kin.company(self.relation, other) for other in others)
        yield "company", _at(self.whole, frozenset().union(*company))
        yield "general", self.general
        if len(others) > kin.limits.boundless:
            yield "boundless head", range(len(self.keys))

    def _like(self, tail: str) -> set[int]:
        """Return the tails that say nearly what a tail says."""
        if tail not in self.like:
            phrase, least = phrase_of(tail, self.form), self.kin.limits.alike
            near = set(_at(self.with_word, phrase.words))
            found = {i for i in near if overlap(self.phrases[i].words, phrase.words) >= least}
            self.like[tail] = found | set(_at(self.named, self.kin.synonyms(phrase)))
        return self.like[tail]

    def _index(self) -> None:
        """Index the tails by name, by word, and by the words of their events."""
        facts, limits = self.kin.facts, self.kin.limits
        self.whole: dict[str, set[int]] = defaultdict(set)  # by normal form
        self.named: dict[str, set[int]] = defaultdict(set)  # by that, or by what it is about
        self.with_word: dict[str, set[int]] = defaultdict(set)
        self.met: dict[str, set[int]] = defaultdict(set)  # by the words that theirs have met
        self.linked: dict[str, set[int]] = defaultdict(set)  # by what the graph links them with
        self.of_people: list[int] = []
        self.open: set[int] = set()
        self.general: list[int] = []
        heads, all_heads = facts.heads[self.relation], len(facts.tails[self.relation])
        share, few = limits.general, limits.general_heads
        if self.relation in ATOMIC and self.relation != "xAttr":  # which holds of many events
            share, few = limits.general_events, limits.general_event_heads
        for i, (phrase, sources) in enumerate(zip(self.phrases, self.sources, strict=True)):
            # A tail may be worded in other words than the graph's.
            names = {phrase.key, *(normal(source["tail"]) for source in sources)}
            if self.relation == "madeof":  # 'wood or metal' is wrong where either is
                names |= phrase.words
            nodes = {node for name in names for node in facts.linked.get(name, ())}
            for node in nodes:
                self.linked[node].add(i)
            for name in names:
                self.whole[name].add(i)
            for name in (*names, phrase.about):
                self.named[name].add(i)
            for word in phrase.words:
                self.with_word[word].add(i)
            for word in phrase.words:
                for other in facts.met.get(word, ()):
                    self.met[other].add(i)
            if self.relation not in ATOMIC and any(self.kin.is_person(head) for head in nodes):
                self.of_people.append(i)
            known = max(len(heads.get(name, ())) for name in names)
            if known >= few and known > share * all_heads:
                self.general.append(i)
            own = {normal(source["head"]) for source in sources}
            text = sources[0][self.text]
            if not limits.open_ended and is_open(self.kin, self.relation, phrase, text, own):
                self.open.add(i)


def text_column(columns: Collection[str]) -> str:
    """Return the column with the tails as they are worded, if they are."""
    return "tail_text" if "tail_text" in columns else "tail"


def _at(index: Mapping[str, set[int]], names: Collection[str]) -> Iterator[int]:
    """Yield the places of those names that an index has, looping over the shorter of the two."""
    few = names if len(names) < len(index) else [name for name in index if name in names]
    for name in few:
        yield from index.get(name, ())


def _digest(seed: int, triple: str) -> bytes:
    return hashlib.sha256(f"{seed}\t{triple}".encode()).digest()
