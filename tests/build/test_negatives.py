"""Wrong tails, against a checker that is slow and plain."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.kg.negatives import Limits, sample_negatives
from boxpen.build.kg.triples import triple_id

Edge = tuple[str, str, str]  # head, relation, tail

# Made-up words, so that no dictionary has an inflection of one.
THINGS = ["bolo", "dorn", "fape", "gliv", "hulm", "jarn"]
DOINGS = ["kwell", "lirp", "monk a", "nard", "plov", "quam", "rulf", "smat", "trov", "vleb"]
WORDS = [*THINGS, *(word.split()[0] for word in DOINGS)]
KINDS = ("isa", "synonym", "relatedto")


def frame(edges: Iterable[Edge], **more: list[str]) -> pl.DataFrame:
    rows = list(edges)
    table = pl.DataFrame(rows, schema=["head", "relation", "tail"], orient="row")
    ids = [triple_id(relation, head, tail) for head, relation, tail in rows]
    return table.with_columns(pl.Series("id", ids, dtype=pl.String)).with_columns(
        pl.Series(name, values) for name, values in more.items()
    )


@dataclass
class Dictionary:
    """A stand-in for WordNet, which says only what it was told."""

    above: dict[str, set[str]] = field(default_factory=dict)
    same: dict[str, set[str]] = field(default_factory=dict)
    people: frozenset[str] = frozenset()
    close: dict[frozenset[str], float] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    def lemma(self, word: str, part: str) -> str:
        return word

    def senses(self, word: str, part: str, count: int) -> list[str]:
        return [word]

    def field(self, sense: str) -> str:
        return self.fields.get(sense, "")

    def closeness(self, first: str, second: str, part: str) -> float:
        return self.close.get(frozenset((first, second)), 0.0)

    def head_noun(self, phrase: str) -> str | None:
        return phrase.split()[-1]

    def knows(self, word: str, part: str | None = None) -> bool:
        return word in WORDS

    def synonyms(self, word: str, part: str | None = None) -> frozenset[str]:
        return frozenset(o for o in WORDS if o in self.same.get(word, ())) | frozenset(
            o for o in WORDS if word in self.same.get(o, ())
        )

    def hypernyms(
        self, word: str, depth: int | None = None, part: str | None = None
    ) -> frozenset[str]:
        return frozenset(climb(self.above, word, depth))

    def hyponyms(
        self, word: str, depth: int | None = None, part: str | None = None
    ) -> frozenset[str]:
        return frozenset(o for o in WORDS if o != word and word in climb(self.above, o, depth))

    def siblings(self, word: str, depth: int = 1, part: str | None = None) -> frozenset[str]:
        above = climb(self.above, word, depth)
        return frozenset(o for o in WORDS if o != word and above & climb(self.above, o, depth))

    def similar(self, word: str) -> frozenset[str]:
        return frozenset()

    def is_person(self, noun: str) -> bool:
        return noun in self.people


def climb(steps: dict[str, set[str]], start: str, depth: int | None = None) -> set[str]:
    found: set[str] = set()
    edge = {start}
    while edge and depth != 0:
        edge = {far for near in edge for far in steps.get(near, ())} - found - {start}
        found |= edge
        depth = None if depth is None else depth - 1
    return found


class Checker:
    """Says what speaks for a tail, by looking at every edge, one by one."""

    def __init__(
        self,
        edges: Iterable[Edge],
        dictionary: Dictionary | None,
        limits: Limits,
        asked: Iterable[str] | None = None,
    ) -> None:
        self.edges = {(bare(h), r, bare(t)) for h, r, t in edges}
        self.dictionary, self.limits = dictionary or Dictionary(), limits
        self.things = dictionary.fields if dictionary else None
        self.asked = {r for _, r, _ in self.edges} if asked is None else set(asked)

    def joined(self, one: str, other: str, relations: Iterable[str] | None = None) -> bool:
        return any(
            {h, t} == {one, other} and (relations is None or r in relations)
            for h, r, t in self.edges
        )

    def kin(self, head: str) -> set[str]:
        up: dict[str, set[str]] = {}
        down: dict[str, set[str]] = {}
        for h, r, t in self.edges:
            if r == "isa":
                up.setdefault(h, set()).add(t)
                down.setdefault(t, set()).add(h)
        same = {o for o in everything(self.edges) if self.joined(head, o, ("synonym",))}
        told = self.dictionary
        found = climb(up, head) | climb(down, head) | same
        found |= told.hypernyms(head) | told.hyponyms(head) | told.synonyms(head)
        found |= told.siblings(head)
        if head in told.people:
            found |= told.people
        return found

    def speaks_for(self, edge: Edge, tail: str) -> str | None:
        head, relation, gold, tail = bare(edge[0]), edge[1], bare(edge[2]), bare(tail)
        names = {tail, about(tail, relation)}
        if tail == gold:
            return "right"
        if self.joined(head, tail):
            return "linked"
        if relation.startswith("x"):
            if not self.specific(gold) or not self.specific(tail):
                return "open"
        elif any(self.joined(other, tail) for other in self.kin(head)):
            return "inherited"
        if set(tail.split()) & (set(gold.split()) | (set(head.split()) & real(head))):
            return "same words"
        told, word = self.dictionary, gold if gold in WORDS else about(gold, relation)
        depth = None if relation in ("isa", "hasa") else 1
        if any(self.joined(gold, name, KINDS) for name in names) or names & (
            told.synonyms(word) | told.hypernyms(word, depth) | told.hyponyms(word, depth)
        ):
            return "related"
        tails = {t for h, r, t in self.edges if (h, r) == (head, relation)}
        if len(tails) > self.limits.boundless:
            return "boundless"
        for other in tails:
            common = set(other.split()) & set(tail.split())
            if len(common) / len(set(other.split()) | set(tail.split())) >= self.limits.alike:
                return "like another"
            if any(self.joined(other, name, ("synonym",)) for name in names):
                return "like another"
            if names & (told.synonyms(other) | told.synonyms(about(other, relation))):
                return "like another"
            if self.together(relation, other, tail):
                return "company"
        heads = {h for h, r, t in self.edges if (r, t) == (relation, tail)}
        all_heads = {h for h, r, _ in self.edges if r == relation}
        if len(heads) >= self.limits.general_heads and len(heads) > self.limits.general * len(
            all_heads
        ):
            return "general"
        for h, r, t in self.edges:
            if r in self.asked and real(h) & real(head) and set(t.split()) & set(tail.split()):
                return "met"
        return None

    def specific(self, tail: str) -> bool:
        """Say whether a tail ends in a thing, and few events have one of its words."""
        if self.things is not None and tail.split()[-1] not in self.things:
            return False
        told = [(h, f"{h} {t}".split()) for h, r, t in self.edges if r.startswith("x")]
        events = {h for h, _ in told}
        most = max(self.limits.rare_events, self.limits.rare * len(events))
        return any(len({h for h, of in told if word in of}) <= most for word in tail.split())

    def together(self, relation: str, one: str, other: str) -> bool:
        def heads(tail: str) -> set[str]:
            return {h for h, r, t in self.edges if (r, t) == (relation, tail)}

        def tails(head: str) -> int:
            return sum((h, r) == (head, relation) for h, r, _ in self.edges)

        both = {h for h in heads(one) & heads(other) if tails(h) <= self.limits.hub}
        by_chance = (
            len(heads(one))
            * len(heads(other))
            / len({h for h, r, _ in self.edges if r == relation})
        )
        return len(both) > self.limits.company * by_chance + 1e-9

    def alike(self, one: str, other: str, relation: str) -> bool:
        one, other = bare(one), bare(other)
        common = set(one.split()) & set(other.split())
        names = {one, about(one, relation)}, {other, about(other, relation)}
        return (
            about(one, relation) == about(other, relation)
            or len(common) / len(set(one.split()) | set(other.split())) >= self.limits.alike
            or any(self.joined(one, n, ("synonym",)) for n in names[1])
            or any(self.joined(other, n, ("synonym",)) for n in names[0])
            or any(a in self.dictionary.synonyms(b) for a in names[0] for b in names[1])
        )


def bare(text: str) -> str:
    return " ".join(w for w in text.lower().split() if w not in ("a", "the"))


def real(event: str) -> set[str]:
    return set(event.split()) - {"personx"}


def about(text: str, relation: str) -> str:
    words = bare(text).split()
    return words[-1] if relation in ("isa", "hasa") else words[0]


def everything(edges: Iterable[Edge]) -> set[str]:
    return {node for h, _, t in edges for node in (h, t)}


def problems(
    given_rows: pl.DataFrame,
    table: pl.DataFrame,
    checker: Checker,
    count: int,
    pool: pl.DataFrame | None = None,
) -> list[str]:
    """Return what is wrong with the wrong tails of a table; nothing, if all is well."""
    found = []
    known = {row["id"]: row for row in given_rows.to_dicts()}
    if pool is not None:
        known |= {row["id"]: row for row in pool.to_dicts()}
    text = "tail_text" if "tail_text" in given_rows.columns else "tail"
    served: Counter[str] = Counter()
    for row in table.to_dicts():
        edge = (row["head"], row["relation"], row["tail"])
        sources = [known[name] for name in row["wrong"]]
        served.update(bare(source[text]) for source in sources)
        if row["wrong_text"] != [source[text] for source in sources]:
            found.append(f"{edge}: texts are not those of the triples")
        if len(sources) > count:
            found.append(f"{edge}: too many")
        for place, source in enumerate(sources):
            if source["relation"] != row["relation"] or source.get("form") != row.get("form"):
                found.append(f"{edge}: {source[text]} is of another relation or form")
            if reason := checker.speaks_for(edge, source["tail"]):
                found.append(f"{edge}: {source[text]} is {reason}")
            found += [
                f"{edge}: {source[text]} is like {other[text]}"
                for other in sources[:place]
                if checker.alike(source["tail"], other["tail"], row["relation"])
            ]
    right = Counter(bare(row[text]) for row in given_rows.to_dicts())
    for tail, times in served.items():
        if times > checker.limits.wear * count * max(1, right[tail]):
            found.append(f"{tail} served {times} times")
    return found


tails = st.one_of(
    st.sampled_from(DOINGS),
    st.tuples(st.sampled_from(DOINGS), st.sampled_from(DOINGS)).map(" ".join),
)
edges_of = st.lists(
    st.tuples(st.sampled_from(THINGS), st.sampled_from(["usedfor", "hasa"]), tails),
    min_size=1, max_size=25, unique=True,
)  # fmt: skip
events_of = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(THINGS), st.sampled_from(THINGS)).map(
            lambda two: f"PersonX {two[0]} the {two[1]}"
        ),
        st.sampled_from(["xNeed", "xWant"]),
        tails,
    ),
    min_size=1, max_size=25, unique=True,
)  # fmt: skip
ties_of = st.lists(
    st.tuples(
        st.sampled_from(THINGS + DOINGS), st.sampled_from(KINDS), st.sampled_from(THINGS + DOINGS)
    ).filter(lambda edge: edge[0] != edge[2]),
    max_size=5,
)
pairs_of = st.dictionaries(st.sampled_from(WORDS), st.sets(st.sampled_from(WORDS), max_size=1))
dictionaries = st.builds(
    Dictionary,
    pairs_of,
    pairs_of,
    st.frozensets(st.sampled_from(THINGS), max_size=3),
    st.just({}),
    st.dictionaries(st.sampled_from(DOINGS), st.just("noun.artifact")),
)
LIMITS = Limits(
    general=0.4, general_heads=3, general_events=0.4, general_event_heads=3, hub=3, boundless=4,
    rare_events=2,
)  # fmt: skip
# Of the rules that refuse most: without them, small graphs have wrong tails to give.
LENIENT = Limits(
    general=0.4, general_heads=3, general_events=0.4, general_event_heads=3, company=float("inf")
)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(edges_of, events_of),
    ties_of,
    st.one_of(st.none(), dictionaries),
    st.integers(1, 5),
    st.integers(0, 99),
    st.sampled_from([LIMITS, LENIENT]),
    st.data(),
)
def test_no_wrong_tail_is_right(edges, ties, dictionary, count, seed, limits, data) -> None:
    graph = frame([*edges, *ties])
    table = frame(data.draw(st.lists(st.sampled_from(edges), min_size=1, unique=True)))
    checker = Checker([*edges, *ties], dictionary, limits, table["relation"])

    out = sample_negatives(table, graph, count=count, seed=seed, wordnet=dictionary, limits=limits)

    assert problems(table, out.table, checker, count) == []
    assert out.table.drop("wrong", "wrong_text").equals(table)
    # Whoever has too few is reported, with numbers that add up, and nobody else is.
    numbers = {row["id"]: len(row["wrong"]) for row in out.table.to_dicts()}
    short = {row["id"]: row for row in out.short.to_dicts()}
    assert {name for name, n in numbers.items() if n < count} == short.keys()
    candidates = {
        relation: {
            bare(t) for h, r, t in table.select("head", "relation", "tail").rows() if r == relation
        }
        for relation in table["relation"].unique()
    }
    for name, row in short.items():
        assert (row["found"], row["wanted"]) == (numbers[name], count)
        refused = sum(int(part.split()[0]) for part in row["refused"].split(", ") if part)
        assert refused + numbers[name] == len(candidates[row["relation"]])
    # And it had no choice: all that it did not take spoke for themselves, or were worn or alike.
    served = Counter(bare(text) for row in out.table.to_dicts() for text in row["wrong_text"])
    right = Counter(bare(tail) for tail in table["tail"])
    for row in out.table.to_dicts():
        edge = (row["head"], row["relation"], row["tail"])
        if row["id"] not in short:
            continue
        for tail in candidates[row["relation"]]:
            assert (
                tail in map(bare, row["wrong_text"])
                or checker.speaks_for(edge, tail)
                or served[tail] >= limits.wear * count  # or more, if it is right more than once
                or any(checker.alike(tail, t, row["relation"]) for t in row["wrong_text"])
            ), (edge, tail, right[tail])


@settings(max_examples=40, deadline=None)
@given(edges_of, ties_of, dictionaries, st.integers(0, 99), st.randoms())
def test_the_order_of_rows_does_not_matter(edges, ties, dictionary, seed, random) -> None:
    def drawn(rows: list[Edge], known: list[Edge]) -> list[dict]:
        out = sample_negatives(
            frame(rows), frame(known), count=3, seed=seed, wordnet=dictionary, limits=LENIENT
        )
        return [out.table.sort("id").to_dicts(), out.short.sort("id").to_dicts()]

    known = [*edges, *ties]
    first = drawn(edges, known)
    assert drawn(edges, known) == first
    random.shuffle(edges)
    random.shuffle(known)
    assert drawn(edges, known) == first


def drawn_by(dictionary: Dictionary, limits: Limits) -> list[str]:
    """Return the wrong tails of (dorn, hasa, kwell); each other tail has a head of its own."""
    rows = [("dorn", "hasa", "kwell"), *zip(THINGS[2:], ["hasa"] * 4, WORDS[8:12], strict=True)]
    out = sample_negatives(
        frame(rows), frame(rows), count=1, seed=1, wordnet=dictionary, limits=limits
    )
    return list(out.table.filter(pl.col("head") == "dorn")["wrong_text"][0])


def test_the_nearest_tail_comes_first() -> None:
    far, near = Limits(nearness=0), Limits(nearness=5)
    for tail in WORDS[8:12]:
        told = Dictionary(close={frozenset(("kwell", tail)): 0.7})
        assert drawn_by(told, near) == [tail]
        assert drawn_by(told, far) == drawn_by(Dictionary(), far)


def test_the_nearest_head_comes_first_unless_it_is_of_nearly_the_same_kind() -> None:
    for head, tail in zip(THINGS[2:], WORDS[8:12], strict=True):
        told = Dictionary(close={frozenset(("dorn", head)): 0.7})
        assert drawn_by(told, Limits(nearness=5, distant=0.8)) == [tail]
        assert drawn_by(told, Limits(nearness=5, distant=0.6)) != [tail]


def test_what_two_materials_may_be_is_wrong_only_where_neither_is_right() -> None:
    rows = [
        ("dorn", "madeof", "nard"),
        ("gliv", "madeof", "quam or rulf"),
        ("hulm", "madeof", "vleb"),
    ]
    graph = [*rows, ("dorn", "madeof", "rulf"), ("x", "madeof", "atoms")]
    out = sample_negatives(frame(rows), frame(graph), count=3, seed=1, limits=LENIENT).table
    assert list(out["wrong_text"][0]) == ["vleb"]


SPREAD = [(f"thing{i}", "usedfor", f"doing{i} object{i}") for i in range(40)]


def test_another_seed_gives_other_tails() -> None:
    table = frame(SPREAD)
    first = sample_negatives(table, table, seed=1).table
    assert sample_negatives(table, table, seed=1).table.equals(first)
    other = sample_negatives(table, table, seed=2).table
    pairs = zip(first["wrong"].to_list(), other["wrong"].to_list(), strict=True)
    same = sum(one == two for one, two in pairs)
    assert same < 4


def mutations() -> list[tuple[str, list[Edge], str]]:
    """What a careless sampler could give for (dorn, usedfor, kwell), and what must be said."""
    row = ("dorn", "usedfor", "kwell")
    far = ("hulm", "usedfor", "smat")
    return [
        ("right", [row], "is right"),
        ("linked", [row, far, ("dorn", "hasa", "smat")], "is linked"),
        ("linked backwards", [row, far, ("smat", "relatedto", "dorn")], "is linked"),
        ("a hypernym's", [row, far, ("dorn", "isa", "hulm")], "is inherited"),
        ("a hyponym's, two steps", [row, far, ("hulm", "isa", "x"), ("x", "isa", "dorn")],
         "is inherited"),
        ("a synonym's", [row, far, ("hulm", "synonym", "dorn")], "is inherited"),
        ("a synonym", [row, far, ("kwell", "synonym", "smat")], "is related"),
        ("in company", [row, far, ("gliv", "usedfor", "smat"), ("gliv", "usedfor", "kwell"),
                        ("bolo", "usedfor", "a"), ("fape", "usedfor", "b"),
                        ("jarn", "usedfor", "c")], "is company"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "edges", "expected"), mutations())
def test_the_checker_and_the_sampler_see_each_rule(name, edges, expected) -> None:
    """Put a forbidden tail into the output: the checker must object; the sampler never does it."""
    graph, table = frame(edges), frame(edges[:2])
    out = sample_negatives(table, graph, count=1, seed=0)
    checker = Checker(edges, None, Limits())
    assert problems(table, out.table, checker, 1) == []
    assert out.table["wrong_text"][0].to_list() == []
    wrong = table["id"][-1]
    mutated = out.table[:1].with_columns(
        pl.Series("wrong", [[wrong]]), pl.Series("wrong_text", [[table["tail"][-1]]])
    )
    assert [p for p in problems(table, mutated, checker, 1) if expected in p]


def test_the_checker_sees_doubles_and_other_relations() -> None:
    edges = [("dorn", "usedfor", "kwell"), ("hulm", "usedfor", "smat"), ("fape", "hasa", "vleb")]
    table = frame(edges)
    out = sample_negatives(table, table, count=2, seed=0)
    checker = Checker(edges, None, Limits())
    assert problems(table, out.table, checker, 2) == []
    smat, vleb = table["id"][1], table["id"][2]

    def mutated(wrong: list[str], text: list[str]) -> list[str]:
        row = out.table[:1].with_columns(
            pl.Series("wrong", [wrong]), pl.Series("wrong_text", [text])
        )
        return problems(table, row, checker, 2)

    assert mutated([smat], ["smat"]) == []
    assert "like smat" in mutated([smat, smat], ["smat", "smat"])[0]
    assert "another relation" in mutated([vleb], ["vleb"])[0]
    assert "not those of" in mutated([smat], ["other"])[0]


def test_a_poodle_has_what_a_dog_has() -> None:
    edges = [
        ("poodle", "capableof", "do tricks"),
        ("dog", "capableof", "bark"),
        ("clock", "capableof", "show the hour"),
    ]
    table = frame(edges)
    kennel = Dictionary(above={"poodle": {"dog"}})

    def texts(wordnet: Dictionary | None, more: Iterable[Edge] = ()) -> list[str]:
        graph = frame([*edges, *more])
        out = sample_negatives(table, graph, count=2, seed=3, wordnet=wordnet)
        return sorted(out.table["wrong_text"][0])

    assert texts(None) == ["bark", "show the hour"]
    assert texts(kennel) == ["show the hour"]
    assert texts(None, [("poodle", "isa", "dog")]) == ["show the hour"]
    assert texts(None, [("poodle", "isa", "pet"), ("pet", "isa", "dog")]) == ["show the hour"]
    assert texts(None, [("a poodle", "isa", "the dog")]) == ["show the hour"], "in normal form"


def test_people_share_what_people_have() -> None:
    table = frame(
        [("baker", "hasa", "apron"), ("you", "hasa", "nose"), ("cat", "hasa", "two whiskers")]
    )
    wordnet = Dictionary(people=frozenset({"baker"}))
    out = sample_negatives(table, table, count=2, seed=0, wordnet=wordnet)
    assert out.table["wrong_text"].to_list()[:2] == [["two whiskers"], ["two whiskers"]]


@pytest.mark.parametrize(
    ("relation", "wide", "narrow"),
    [
        ("hasa", "air in it", "four strings"),
        ("hasa", "very keen eyes", "four strings"),
        ("capableof", "cause trouble", "spin a web"),
        ("xWant", "use the computer", "unwrap the gift"),
        ("xWant", "visit PersonX's family", "unwrap the gift"),
    ],
)
def test_what_may_hold_of_anything_does_not_serve(relation, wide, narrow) -> None:
    table = frame(
        [("gliv", relation, "smat"), ("hulm", relation, wide), ("dorn", relation, narrow)]
    )
    out = sample_negatives(table, table, count=2, seed=0)
    # Nor does its own triple get any: what never is wrong would be known to be right.
    assert out.table["wrong_text"].to_list() == [[narrow], [], ["smat"]]


def test_an_open_question_has_no_wrong_answers() -> None:
    """What people can do is open, and what a storm can; what a pen and a cat can is not."""
    wordnet = Dictionary(people=frozenset({"fape"}), fields={"gliv": "noun.phenomenon"})
    rows = [(head, "capableof", tail) for head, tail in zip(THINGS, WORDS[6:], strict=False)]
    table = frame([*rows, ("bolo", "xAttr", "vleb"), ("dorn", "xAttr", "nard")])

    def given_to(limits: Limits) -> set[str]:
        out = sample_negatives(table, table, count=9, seed=0, wordnet=wordnet, limits=limits).table
        answered = out.filter(pl.col("wrong").list.len() > 0)
        served = set(out["wrong_text"].explode().drop_nulls())
        assert served == set(answered["tail"])
        return {f"{row['head']} {row['relation']}" for row in answered.to_dicts()}

    sure = {f"{head} capableof" for head in THINGS if head not in ("fape", "gliv")}
    assert given_to(Limits()) == sure
    everything = {f"{head} capableof" for head in THINGS} | {"bolo xAttr", "dorn xAttr"}
    assert given_to(Limits(open_ended=True)) == everything


def test_an_event_is_told_apart_by_a_rare_thing() -> None:
    fields = {"gift": "noun.possession", "horse": "noun.animal", "phone": "noun.artifact"}
    rows = [
        ("PersonX has a birthday", "xWant", "unwrap the gift"),
        ("PersonX rides out", "xWant", "get off the horse"),
        ("PersonX falls ill", "xWant", "get better"),
        *((f"PersonX calls person{i}", "xWant", "find a phone") for i in range(6)),
    ]
    told = Dictionary(fields=fields)
    out = sample_negatives(frame(rows), frame(rows), count=3, seed=0, wordnet=told).table
    texts = out["wrong_text"].to_list()
    assert texts[:3] == [["get off the horse"], ["unwrap the gift"], []]
    assert texts[3:] == [[]] * 6, "six of nine events speak of a phone"


def test_events_in_like_words_share_their_tails() -> None:
    table = frame(
        [
            ("PersonX calls a taxi", "xNeed", "to find a phone"),
            ("PersonX waits for the taxi", "xWant", "to get home"),
            ("PersonX orders taxis", "xNeed", "to know the number"),
            ("PersonX bakes bread", "xNeed", "to buy flour"),
            ("PersonX calls a taxi", "xWant", "to wave"),
            ("PersonX swims", "xNeed", "to wave"),
        ]
    )
    out = sample_negatives(table, table, count=3, seed=0)
    # 'wave' is what the same event wants; 'number' comes from an event with a taxi.
    assert out.table["wrong_text"][0].to_list() == ["to buy flour"]
    assert out.short["refused"][0].startswith("1 linked, 1 met, 1 right")


def test_form_and_wording_are_kept() -> None:
    table = frame(
        [("dorn", "usedfor", "rest"), ("hulm", "usedfor", "nap"), ("fape", "usedfor", "moon"),
         ("gliv", "usedfor", "sun")],
        form=["vp", "vp", "np", "np"], tail_text=["rest", "take a nap", "the moon", "the sun"],
    )  # fmt: skip
    out = sample_negatives(table, table, count=5, seed=0)
    assert out.table["wrong_text"].to_list() == [
        ["take a nap"],
        ["rest"],
        ["the sun"],
        ["the moon"],
    ]
    assert out.table["wrong"][0].to_list() == [table["id"][1]]


def test_one_tail_in_two_wordings_serves_once() -> None:
    table = frame(
        [("dorn", "hasa", "wheel"), ("hulm", "hasa", "a lid"), ("fape", "hasa", "the lids")]
    )
    out = sample_negatives(table, table, count=5, seed=0)
    assert len(out.table["wrong"][0]) == 1


def test_general_tails_do_not_serve() -> None:
    edges = [(f"thing{i}", "usedfor", "fun") for i in range(6)]
    edges += [(f"tool{i}", "usedfor", f"doing{i}") for i in range(14)]
    table = frame(edges)
    strict = Limits(general=0.25, general_heads=6)
    lax = Limits(general=0.35, general_heads=6)
    for limits, expected in ((strict, False), (lax, True)):
        out = sample_negatives(table, table, seed=0, limits=limits)
        assert ("fun" in set(out.table["wrong_text"].explode())) is expected


def test_anything_may_be_created_by_a_person() -> None:
    edges = [
        ("honey", "createdby", "bee"),
        ("song", "createdby", "a person"),
        ("rust", "createdby", "rain"),
    ]
    out = sample_negatives(frame(edges), frame(edges), count=2, seed=0)
    assert out.table["wrong_text"].to_list()[0] == ["rain"]
    assert out.short["refused"][0] == "1 open, 1 right"


def test_a_head_that_has_everything_gets_no_wrong_tails() -> None:
    edges = [*SPREAD, *(("machine", "usedfor", f"act{i}") for i in range(4))]
    table = frame(edges)
    for boundless, expected in ((3, 0), (4, 5)):
        limits = Limits(boundless=boundless)
        out = sample_negatives(table, table, seed=0, limits=limits)
        numbers = {r["head"]: len(r["wrong"]) for r in out.table.to_dicts()}
        assert numbers["machine"] == expected
        assert numbers["thing0"] == 5
        assert set(out.short["relation"]) == ({"usedfor"} if expected == 0 else set())


def test_a_pool_helps_where_the_table_has_too_few() -> None:
    table, pool = frame(SPREAD[:4]), frame(SPREAD)
    assert set(sample_negatives(table, table, seed=0).short["found"]) == {3}
    out = sample_negatives(table, table, seed=0, pool=pool)
    assert out.short.is_empty()
    own = set(table["tail"])
    assert all(sum(t in own for t in row) == 3 for row in out.table["wrong_text"])


def test_a_triple_worded_twice_in_the_pool_does_not_hang_on_the_order_of_rows() -> None:
    table = frame([SPREAD[0]], tail_text=["doing0 an object0"])
    pool = frame([SPREAD[1], SPREAD[1]], tail_text=["doing1 object1s", "doing1 an object1"])
    for rows in (pool, pool.reverse()):
        out = sample_negatives(table, table, count=1, seed=0, pool=rows)
        assert out.table["wrong_text"].to_list() == [["doing1 an object1"]]


@pytest.mark.parametrize("form", ["np", "vp", "adj"])
def test_a_tail_without_a_word_does_no_harm(form: str) -> None:
    table = frame([*SPREAD[:2], ("thing2", "usedfor", "&")], form=[form] * 3)
    out = sample_negatives(table, table, count=1, seed=0)
    assert out.table["wrong"].list.len().to_list() == [1, 1, 1]


def skewed() -> pl.DataFrame:
    """A table whose tails are right answers from once to forty times, of one to six words."""
    edges = []
    for kind in range(60):
        tail = " ".join(f"w{kind}x{i}" for i in range(1 + kind % 6))
        edges += [(f"head{kind}n{i}", "usedfor", tail) for i in range(1 + 39 * (kind % 7 == 0))]
    return frame(edges)


def test_tails_are_wrong_as_often_as_they_are_right() -> None:
    table = skewed()
    out = sample_negatives(table, table, seed=4, limits=Limits(general=1))
    assert out.short.is_empty()
    right = Counter(table["tail"])
    wrong = Counter(out.table["wrong_text"].explode())
    ratios = [wrong[tail] / (5 * times) for tail, times in right.items()]
    assert min(ratios) > 0.6
    assert max(ratios) < 1.7


def test_an_answer_is_not_told_by_its_words_or_length() -> None:
    from boxpen.analysis.suites.audit import audit
    from boxpen.items import Choice, Suite

    table = skewed()
    out = sample_negatives(table, table, seed=4, limits=Limits(general=1)).table
    pairs = [(row, wrong) for row in out.to_dicts() for wrong in row["wrong_text"]]
    items = [
        Choice(
            id=str(i),
            candidates=(row["tail"], wrong) if i % 2 == 0 else (wrong, row["tail"]),
            gold=i % 2,
            block=row["id"],
        )
        for i, (row, wrong) in enumerate(pairs)
    ]
    rows = audit(Suite(name="mine", items=tuple(items)))
    # 'word frequency' is left out: it counts words outside a triple's own tests, where a right
    # answer always has lost more than a wrong one, however often both serve.
    flagged = {row.shortcut for row in rows if row.flagged}
    assert flagged <= {"word frequency", "rarest words"}
    assert {"bag of words", "length", "longest", "shortest"} <= {row.shortcut for row in rows}


def test_an_empty_table_stays_empty() -> None:
    table = frame(SPREAD)
    out = sample_negatives(table[:0], table, seed=0)
    assert out.table.height == out.short.height == 0
    assert out.table.columns == [*table.columns, "wrong", "wrong_text"]


def test_a_tail_of_marks_alone_is_no_trouble() -> None:
    """A table of one's own is not filtered; the normal form of '!!!' is empty."""
    rows = [("bolo", "capableof", "kwell"), ("dorn", "capableof", "!!!"),
            ("gliv", "capableof", "lirp"), ("fape", "capableof", "nard")]  # fmt: skip
    close = {frozenset((a, b)): 0.5 for a in (*DOINGS, "") for b in DOINGS}
    out = sample_negatives(
        frame(rows), frame(rows), count=2, seed=0, wordnet=Dictionary(close=close)
    )
    assert len(out.table) == len(rows)
