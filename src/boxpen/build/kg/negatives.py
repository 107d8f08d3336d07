"""Wrong tails: for every triple a few tails of the same relation that do not hold of its head.

That a graph does not have a triple says little: graphs have gaps. So a tail serves as a wrong one
only if nothing speaks for it. ``c`` is refused for a triple (h, r, t) if

- ``linked``: any relation links h and c, in whatever words (see ``boxpen.build.kg.normal``)
- ``inherited``: one links c with a synonym, hypernym, hyponym or sibling of h, by the graph's own
  edges or by WordNet (a poodle has what a dog has); where h is a person, with any person; where h
  is an event, with anything that has a content word in common with it
- ``related``: c is a synonym, hypernym or hyponym of t, by an edge of the graph or by WordNet, or
  c says nearly what another tail of h says
- ``same words``: c shares a content word with t or with h
- ``company``: other heads that have one of h's tails have c more often than chance would have it
- ``general``: c holds of so many heads that it may well hold of h, or is a person who made it
- ``boundless head``: h has so many tails that nothing is surely wrong of it ('person')
- ``worn out``: c has served often enough
- what the caller's own ``reject`` says

Nothing of this is relaxed where too few tails are left: such a triple gets fewer, and is reported.

Among the tails that are left, those come first that have served least for how often they are
right answers in the table, so that no answer can be told by having seen it; then those about as
long as t. What was drawn for one triple changes what is left for the next, so triples are worked
on in an order that hangs on their ids and the seed, not on the order of the rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from boxpen.build.kg.normal import normal, normal_column
from boxpen.build.kg.triples import ATOMIC
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.build.wordnet import WordNet

__all__ = ["Limits", "Negatives", "Reject", "sample_negatives"]

Reject = Callable[[Mapping[str, Any], str], str | None]
"""Given a triple (a row of the table) and the text of a tail: why it is no wrong tail, or None."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How careful the choice is.

    Attributes:
        general: A tail is general if it holds of more than this share of a relation's heads …
        general_events: … or of this share where they are events, and what they lead to (each is
            unlike the others, so that what holds of many holds of any) …
        general_heads: … and of at least so many heads.
        alike: Two tails are nearly the same if this share of their content words is common.
        company: How many times more often than by chance two tails stand at one head before one
            speaks for the other; infinity switches it off.
        siblings: A head has what its siblings have, by a common hypernym so many steps above.
        hub: A head with more tails than this in a relation says nothing about their company.
        boundless: A head with more tails than this in a relation gets no wrong ones.
        wear: A tail serves at most so many times as often as if all served equally.
    """

    general: float = 0.02
    general_events: float = 0.005
    general_heads: int = 50
    alike: float = 0.5
    company: float = 1.0
    siblings: int = 1
    hub: int = 50
    boundless: int = 100
    wear: float = 2.0


class Negatives(NamedTuple):
    """The table with its wrong tails, and where there are too few.

    Attributes:
        table: The rows given, in their order, with ``wrong``, the ids of the triples that the
            tails are of, and ``wrong_text``, the tails as they are worded there.
        short: ``id``, ``relation``, ``found`` and ``wanted`` numbers of tails, and ``refused``:
            how many tails were refused for which reason.
    """

    table: pl.DataFrame
    short: pl.DataFrame


def sample_negatives(
    table: pl.DataFrame,
    graph: pl.DataFrame,
    *,
    count: int = 5,
    seed: int,
    wordnet: WordNet | None = None,
    pool: pl.DataFrame | None = None,
    reject: Reject | None = None,
    limits: Limits | None = None,
) -> Negatives:
    """Choose wrong tails for every triple of a table.

    Args:
        table: The triples. Tails come from the same relation and, if there is a column ``form``,
            have the same form, so that the grammar fits.
        graph: All triples that are known, before any was sampled away.
        count: Wrong tails per triple.
        seed: The same seed and the same triples give the same tails, in whatever order the rows
            come.
        wordnet: The dictionary; without one, only the graph says what is related.
        pool: More triples whose tails may serve where the table's own do not suffice. They are
            never right answers, so a table large enough does better without.
        reject: A last word on every tail about to be taken, for instance a language model's.
        limits: How careful to be.

    Raises:
        BuildError: If a column is missing, an id is there twice, or the count is below 1.
    """
    import polars as pl

    if count < 1:
        raise BuildError(f"{count} wrong tails per triple were asked for, expected 1 or more")
    for name, frame in (("table", table), ("graph", graph), ("pool", pool)):
        _check(name, frame)
    facts = _Facts(pl.concat([f.select(_EDGE) for f in (graph, table, pool) if f is not None]))
    kin = _Kin(facts, wordnet, limits or Limits())
    own, more = table.to_dicts(), []
    if pool is not None:
        more = pool.join(table, on="id", how="anti").unique("id").to_dicts()
    found: dict[str, list[dict[str, Any]]] = {}
    refused: dict[str, str] = {}
    for which in dict.fromkeys((row["relation"], row.get("form")) for row in own):
        rows, spare = (
            [row for row in some if (row["relation"], row.get("form")) == which]
            for some in (own, more)
        )
        group = _Group(which[0], which[1], rows, spare, kin, count)
        for row in group.order(rows, seed):
            found[row["id"]], reasons = group.draw(row, seed, reject)
            if len(found[row["id"]]) < count:
                refused[row["id"]] = _listed(reasons)

    text = _text_column(table.columns)
    wrong = [[source["id"] for source in found[row["id"]]] for row in own]
    texts = [[source[text] for source in found[row["id"]]] for row in own]
    short = [
        (row["id"], row["relation"], len(found[row["id"]]), count, refused[row["id"]])
        for row in own
        if row["id"] in refused
    ]
    return Negatives(
        table.with_columns(
            pl.Series("wrong", wrong, dtype=pl.List(pl.String)),
            pl.Series("wrong_text", texts, dtype=pl.List(pl.String)),
        ),
        pl.DataFrame(
            short,
            orient="row",
            schema={
                "id": pl.String,
                "relation": pl.String,
                "found": pl.Int64,
                "wanted": pl.Int64,
                "refused": pl.String,
            },
        ),
    )


_EDGE = ("head", "relation", "tail")

_UP = frozenset(("isa", "instanceof", "inheritsfrom", "definedas", "mannerof"))
_SAME = frozenset(("synonym", "similarto", "formof", "definedas"))
_NEAR = _UP | _SAME | {"relatedto", "derivedfrom"}

# What a relation's tails are where no column says so; the rest are verb phrases.
_FORMS = {"isa": "np", "madeof": "np", "hasa": "np", "createdby": "np", "xAttr": "adj"}

# An attribute holds of many events; what is needed, wanted or done is each event's own.
_EVENTFUL = frozenset(ATOMIC) - {"xAttr"}

# Words that do not tell what a phrase is about, and the verbs that leave that to their object.
_EMPTY = frozenset(
    {"to", "of", "in", "on", "at", "with", "for", "from", "by", "about", "into", "up", "out", "off"}
    | {"and", "or", "as", "it", "he", "she", "they", "them", "him", "you", "i", "me", "we", "us"}
    | {"not", "no", "very", "more", "so", "too", "can", "will", "someone", "something", "one"}
    | {"personx", "persony", "personz", "person", "other", "back", "over", "down", "away", "___"}
)
_LIGHT = frozenset(
    {"be", "have", "get", "make", "do", "take", "go", "give", "become", "feel", "want", "need"}
    | {"try", "start", "keep", "use", "put", "come", "let", "help", "decide"}
)
_ENDS_NOUN = frozenset({"of", "in", "on", "at", "with", "for", "from", "by", "about", "to", "that"})

# What graphs call people; in normal form.
_ANYONE = frozenset(
    {"person", "human", "someone", "somebody", "anyone", "everyone", "everybody", "anybody"}
    | {"you", "we", "i", "they", "he", "she", "man", "woman", "child", "boy", "girl"}
)


class _Phrase(NamedTuple):
    """What a head or a tail is compared by."""

    key: str  # the normal form
    words: frozenset[str]  # those that tell what it is about
    about: str  # the one word that it is about
    part: str  # of speech, of that word


class _Facts:
    """What a graph says, by normal forms."""

    def __init__(self, graph: pl.DataFrame) -> None:
        def index() -> dict[str, set[str]]:
            return defaultdict(set)

        self.linked, self.near, self.same = index(), index(), index()  # either way
        self.above, self.below = index(), index()
        self.tails: dict[str, dict[str, set[str]]] = defaultdict(index)  # relation -> head ->
        self.heads: dict[str, dict[str, set[str]]] = defaultdict(index)  # relation -> tail ->
        edges = graph.with_columns(normal_column(graph[side]) for side in ("head", "tail"))
        for relation, head, tail in edges.select("relation", "head", "tail").unique().iter_rows():
            self.linked[head].add(tail)
            self.linked[tail].add(head)
            self.tails[relation][head].add(tail)
            self.heads[relation][tail].add(head)
            if relation in _NEAR:
                self.near[head].add(tail)
                self.near[tail].add(head)
            if relation in _UP:
                self.above[head].add(tail)
                self.below[tail].add(head)
            if relation in _SAME:
                self.same[head].add(tail)
                self.same[tail].add(head)


class _Kin:
    """Who is related to whom, by a graph and by WordNet."""

    def __init__(self, facts: _Facts, wordnet: WordNet | None, limits: Limits) -> None:
        self.facts, self.wordnet, self.limits = facts, wordnet, limits
        self._kept: dict[tuple[str, ...], frozenset[str]] = {}
        self._people: dict[str, bool] = {}

    def kinds(self, head: str) -> frozenset[str]:
        """Return what a thing is a kind of, its kinds, its synonyms and near siblings."""
        if (key := ("kinds", head)) not in self._kept:
            facts, words = self.facts, self.wordnet
            found = _closure(facts.above, head) | _closure(facts.below, head)
            found |= facts.same.get(head, set())
            if words is not None:
                found |= words.hypernyms(head, part="n") & facts.linked.keys()
                found |= words.hyponyms(head, part="n") & facts.linked.keys()
                found |= words.siblings(head, self.limits.siblings, "n") & facts.linked.keys()
                found |= words.synonyms(head, part="n")
            self._kept[key] = frozenset(found)
        return self._kept[key]

    def is_person(self, head: str) -> bool:
        """Return whether a head is a person, or anyone."""
        if head not in self._people:
            known = self.wordnet is not None and self.wordnet.is_person(head)
            self._people[head] = known or not _ANYONE.isdisjoint(head.split())
        return self._people[head]

    def synonyms(self, phrase: _Phrase) -> frozenset[str]:
        """Return the normal forms and words that mean the same as a tail."""
        if (key := ("synonyms", phrase.key, phrase.about, phrase.part)) not in self._kept:
            found = set(self.facts.same.get(phrase.key, ()))
            if self.wordnet is not None:
                for word in (phrase.key, phrase.about):
                    found |= self.wordnet.synonyms(word, phrase.part)
                if phrase.part == "a":
                    found |= self.wordnet.similar(phrase.about)
            self._kept[key] = frozenset(found)
        return self._kept[key]

    def related(self, phrase: _Phrase) -> frozenset[str]:
        """Return the normal forms and words that mean a kind of what a tail means."""
        found = self.synonyms(phrase) | self.facts.near.get(phrase.key, set())
        if self.wordnet is None:
            return found
        # A verb's far relatives are all verbs: everything done is done by 'moving' or 'making'.
        depth = 1 if phrase.part == "v" else None
        whole = self.wordnet.knows(phrase.key, phrase.part)
        word = phrase.key if whole else phrase.about
        found |= self.wordnet.hypernyms(word, depth, phrase.part)
        return found | self.wordnet.hyponyms(word, depth, phrase.part)

    def company(self, relation: str, tail: str) -> frozenset[str]:
        """Return the tails that stand with a tail more often than by chance."""
        if (key := ("company", relation, tail)) not in self._kept:
            tails, heads = self.facts.tails[relation], self.facts.heads[relation]
            own = [head for head in heads[tail] if len(tails[head]) <= self.limits.hub]
            together = Counter(other for head in own for other in tails[head])
            expected = self.limits.company * len(heads[tail]) / max(1, len(tails))
            self._kept[key] = frozenset(
                other for other, times in together.items() if times > expected * len(heads[other])
            )
        return self._kept[key]

    def alike(self, one: _Phrase, other: _Phrase) -> bool:
        """Return whether two tails say nearly the same."""
        return (
            one.about == other.about
            or _overlap(one.words, other.words) >= self.limits.alike
            or not self.synonyms(one).isdisjoint((other.key, other.about))
            or not self.synonyms(other).isdisjoint((one.key, one.about))
        )


class _Group:
    """The triples of one relation and form, whose tails serve as wrong ones for each other."""

    def __init__(
        self,
        relation: str,
        form: str | None,
        rows: list[dict[str, Any]],
        spare: list[dict[str, Any]],
        kin: _Kin,
        count: int,
    ) -> None:
        import numpy as np

        self.relation, self.kin, self.count = relation, kin, count
        self.form = form or _FORMS.get(relation, "vp")
        self.text = _text_column(rows[0])
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
        self.phrases = [_phrase(key, self.form) for key in self.keys]
        self.length = np.log([1 + len(str(s[0][self.text]).split()) for s in self.sources])
        # How often each would serve if it were seen as a wrong answer as often as as a right one.
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

    def draw(
        self, row: dict[str, Any], seed: int, reject: Reject | None
    ) -> tuple[list[dict[str, Any]], Counter[str]]:
        """Return triples whose tails are wrong for a row, and, if too few, what was refused."""
        import numpy as np

        gold = self.place[normal(row[self.text])]
        chance = np.random.default_rng(int.from_bytes(_digest(seed, row["id"])[:8], "big"))
        score = (
            self.late
            + (self.served + 1) / self.quota
            + 0.5 * np.abs(self.length - self.length[gold])
            + 0.3 * chance.random(len(self.keys))
        )
        fit = self._open(row)
        worn = fit & (self.served >= self.kin.limits.wear * self.quota)
        reasons = Counter({"worn out": int(worn.sum())})
        fit &= ~worn
        taken: list[int] = []
        found = []
        for i in np.argsort(score, kind="stable"):
            if len(taken) == self.count:
                break
            if not fit[i]:
                continue
            source = self.sources[i][self.served[i] % len(self.sources[i])]
            if any(self.kin.alike(self.phrases[i], self.phrases[j]) for j in taken):
                reasons["like another wrong one"] += 1
            elif reject and (why := reject(row, source[self.text])):
                reasons[why] += 1
            else:
                taken.append(int(i))
                found.append(source)
        self.served[taken] += 1
        if len(found) < self.count:
            first: dict[int, str] = {}
            for reason, places in (*self._for_gold(row), *self._for_head(normal(row["head"]))):
                for i in places:
                    first.setdefault(i, reason)
            reasons.update(first.values())
        return found, reasons

    def _open(self, row: dict[str, Any]) -> Any:
        """Return a mask of the tails that are surely wrong for a row."""
        import numpy as np

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
        yield "same words", _at(self.with_word, gold.words)
        yield "same words", _at(self.named, {gold.about})
        yield "related", _at(self.named, self.kin.related(gold))
        tail = normal(row["tail"])
        if tail != gold.key:  # it was worded in other words
            yield "related", _at(self.named, self.kin.related(_phrase(tail, self.form)))

    def _for_head(self, head: str) -> Iterator[tuple[str, Iterable[int]]]:
        """Yield the tails that may be right for a head, whichever of its tails is asked for."""
        kin, facts = self.kin, self.kin.facts
        others = facts.tails[self.relation][head]
        yield "linked", _at(self.whole, facts.linked[head])
        if self.relation in ATOMIC:
            yield "inherited", _at(self.with_event, _phrase(head, "clause").words)
        else:
            kinds = kin.kinds(head)
            yield "inherited", (i for i, to in enumerate(self.linked) if not kinds.isdisjoint(to))
            if kin.is_person(head):
                yield "inherited", self.of_people
        yield "same words", _at(self.with_word, _phrase(head, "np").words)
        yield "related", (i for other in others for i in self._like(other))
        company = (kin.company(self.relation, other) for other in others)
        yield "company", _at(self.whole, frozenset().union(*company))
        yield "general", self.general
        if len(others) > kin.limits.boundless:
            yield "boundless head", range(len(self.keys))

    def _like(self, tail: str) -> set[int]:
        """Return the tails that say nearly what a tail says."""
        if tail not in self.like:
            phrase, least = _phrase(tail, self.form), self.kin.limits.alike
            near = set(_at(self.with_word, phrase.words))
            found = {i for i in near if _overlap(self.phrases[i].words, phrase.words) >= least}
            self.like[tail] = found | set(_at(self.named, self.kin.synonyms(phrase)))
        return self.like[tail]

    def _index(self) -> None:
        """Note where the tails are that have a name, a word, or an event with a word."""
        facts, limits = self.kin.facts, self.kin.limits
        self.whole: dict[str, set[int]] = defaultdict(set)  # by normal form
        self.named: dict[str, set[int]] = defaultdict(set)  # by that, or by what it is about
        self.with_word: dict[str, set[int]] = defaultdict(set)
        self.with_event: dict[str, set[int]] = defaultdict(set)
        self.linked: list[set[str]] = []
        self.of_people: list[int] = []
        self.general: list[int] = []
        heads, all_heads = facts.heads[self.relation], len(facts.tails[self.relation])
        share = limits.general_events if self.relation in _EVENTFUL else limits.general
        for i, (phrase, sources) in enumerate(zip(self.phrases, self.sources, strict=True)):
            # A tail may be worded in other words than the graph's.
            names = {phrase.key, *(normal(source["tail"]) for source in sources)}
            self.linked.append(set().union(*(facts.linked.get(name, ()) for name in names)))
            for name in names:
                self.whole[name].add(i)
            for name in (*names, phrase.about):
                self.named[name].add(i)
            for word in phrase.words:
                self.with_word[word].add(i)
            if self.relation in ATOMIC:
                for node in self.linked[-1]:
                    for word in _phrase(node, "clause").words:
                        self.with_event[word].add(i)
            elif any(self.kin.is_person(head) for head in self.linked[-1]):
                self.of_people.append(i)
            known = max(len(heads.get(name, ())) for name in names)
            maker = self.relation == "createdby" and not _ANYONE.isdisjoint(phrase.key.split())
            if maker or (known >= limits.general_heads and known > share * all_heads):
                self.general.append(i)


@lru_cache(maxsize=1 << 18)
def _phrase(key: str, form: str) -> _Phrase:
    """Take a normal form apart: what it is about is the noun, adjective or verb that heads it."""
    words = key.split()
    full = [w for w in words if w not in _EMPTY] or words
    part = {"np": "n", "adj": "a"}.get(form, "v")
    if part == "n":
        end = next((i for i, w in enumerate(words) if i and w in _ENDS_NOUN), len(words))
        inside = [w for w in words[:end] if w not in _EMPTY] or full
        return _Phrase(key, frozenset(full), inside[-1], part)
    heavy = [w for w in full if w not in _LIGHT] or full
    if part == "a":
        return _Phrase(key, frozenset(heavy), heavy[-1], part)
    return _Phrase(key, frozenset(heavy), heavy[0], "v" if heavy[0] == full[0] else "n")


def _at(index: Mapping[str, set[int]], names: Collection[str]) -> Iterator[int]:
    """Yield the places of those names that an index has; the shorter of the two is walked."""
    few = names if len(names) < len(index) else [name for name in index if name in names]
    for name in few:
        yield from index.get(name, ())


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _text_column(columns: Collection[str]) -> str:
    return "tail_text" if "tail_text" in columns else "tail"


def _closure(steps: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    edge = {start}
    while edge:
        edge = {far for near in edge for far in steps.get(near, ())} - found - {start}
        found |= edge
    return found


def _digest(seed: int, triple: str) -> bytes:
    return hashlib.sha256(f"{seed}\t{triple}".encode()).digest()


def _listed(reasons: Counter[str]) -> str:
    by_number = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number} {reason}" for reason, number in by_number if number)


def _check(name: str, frame: pl.DataFrame | None) -> None:
    if frame is None:
        return
    for column in ("id", *_EDGE):
        if column not in frame.columns:
            raise BuildError(
                f"the {name} of triples has no column '{column}', it has {', '.join(frame.columns)}"
            )
    if name == "table" and (twice := frame.filter(frame["id"].is_duplicated())).height:
        raise BuildError(f"the table has the triple '{twice['id'][0]}' more than once")
