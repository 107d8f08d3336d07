"""From triples to tests."""

import re
import zlib
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.kg.wording.names import GENDERS, Draw, load_names
from boxpen.build.kg.wording.people import Person, fill_people
from boxpen.build.kg.wording.render import render
from boxpen.build.kg.wording.templates import load_templates
from boxpen.english.grammar import PRONOUNS, article
from boxpen.errors import BuildError
from boxpen.items import Choice, Entail, Item

TEMPLATES = load_templates()

# relation, head, tail, form, wrong tails
TRIPLES = [
    ("capableof", "an otter", "crack open a clam", "vp", ["be the mayor", "brush its hair"]),
    ("capableof", "sailors", "tie their shoes", "vp", ["hatch an egg", "melt"]),
    ("desires", "a nurse", "rest", "vp", ["a new hat", "eat hay"]),
    ("desires", "cats", "fresh fish", "np", ["read a poem", "a job"]),
    ("createdby", "bread", "a baker", "np", ["heat sand", "the moon"]),
    ("createdby", "steam", "heat water", "vp", ["an uncle", "sew"]),
    ("usedfor", "a kettle", "boil water", "vp", ["privacy", "sing"]),
    ("isa", "an otter", "an animal", "np", ["tools", "a lamp"]),
    ("isa", "lamps", "tools", "np", ["an animal", "food"]),
    ("madeof", "boots", "leather", "np", ["glass", "paper"]),
    ("hasa", "a violin", "four strings", "np", ["a beak", "fur"]),
    ("xAttr", "PersonX pays PersonX's bill", "honest", "adj", ["a leader", "tall"]),
    ("xNeed", "PersonX bakes a cake", "buy flour", "vp", ["be late", "find PersonY"]),
    ("xIntent", "PersonX hugs PersonY", "comfort PersonY", "vp", ["sell PersonX's car", "nap"]),
    ("xEffect", "PersonX runs home", "get tired", "vp", ["be thanked", "drop PersonX's keys"]),
    ("xWant", "PersonX and PersonY sing", "not be late", "vp", ["eat", "wash PersonX-self"]),
]


def _table(rows: list[tuple[Any, ...]] = TRIPLES, repeat: int = 1) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "id": f"{relation}-{place:03}-{copy}",
                "head_text": head,
                "relation": relation,
                "tail_text": tail,
                "form": form,
                "origin": "toy",
                "wrong_text": wrong,
            }
            for copy in range(repeat)
            for place, (relation, head, tail, form, wrong) in enumerate(rows)
        ]
    )


ALL = {"nli": 500, "qa": 500, "pairs": 500}
EVERYTHING = list(render(_table(), TEMPLATES, seed=3, per_triple=ALL))


def _texts(item: Item) -> list[str]:
    if isinstance(item, Entail):
        return [item.premise, item.hypothesis]
    assert isinstance(item, Choice)
    return [*([item.context] if item.context else []), *item.candidates]


def test_every_text_is_clean() -> None:
    assert len(EVERYTHING) > 1000
    for item in EVERYTHING:
        for text in _texts(item):
            assert not re.search(r"[{}|()]|  |Person", text), text
            assert text[0].isupper(), text
            assert text.endswith((".", "?")), text
            assert not re.search(r"[.?!] [a-z]", text), text
            for match in re.finditer(r"\b([Aa]n?) (\w.*)", text):
                assert match[1].lower() == article(match[2]), text


def test_verbs_agree() -> None:
    wrong = re.compile(
        r"\b([Tt]hey|[Tt]hese|[Tt]hose) (is|has|wants|does|needs|likes|seems|comes|gets)\b"
        r"|\b([Ii]t|[Ss]he|[Hh]e|[Tt]his|[Tt]hat) (are|have|want|do|need|like|seem|come|get)\b"
    )
    for item in EVERYTHING:
        for text in _texts(item):
            assert not wrong.search(text), text
    they = [text for item in EVERYTHING for text in _texts(item)]
    assert any(re.search(r"\bthey want\b", text) for text in they)
    assert any(re.search(r"\bshe wants\b", text) for text in they)


def test_all_forms_that_fit_are_used() -> None:
    used = {(i.tags["task"], i.tags["relation"], i.tags["template"]) for i in EVERYTHING}
    named = {
        (f.task, f.relation, f"{f.relation}-{f.name}")
        for forms in TEMPLATES.forms.values()
        for f in forms
    }
    # nobody in these triples is a thing that has, or an animal that is, a name; and what is created
    # there is one thing; and two people who sing stay in the present
    assert named - used == {
        ("nli", "isa", "isa-name-is"),
        ("nli", "createdby", "createdby-these-made"),
        ("qa", "createdby", "createdby-these-made"),
        ("nli", "xWant", "xWant-past"),
        ("qa", "xWant", "xWant-question"),
    }


def test_items_are_complete() -> None:
    ids = [item.id for item in EVERYTHING]
    assert len(set(ids)) == len(ids)
    for item in EVERYTHING:
        task = item.tags["task"]
        assert item.id.startswith(f"{item.block}-{task}-")
        assert item.tags["graph"] == "toy"
        assert item.language == "en"
        tail = {"tail"} if isinstance(item, Entail) else set()
        assert set(item.tags) == {"task", "relation", "graph", "template"} | tail
        assert list(item.problems()) == []
        if isinstance(item, Entail):
            likely = item.tags["relation"] in LIKELY
            expected = {
                "right": ("nli", "entailment", ("neutral",) if likely else ()),
                "wrong": ("nli", "contradiction", ("neutral",)),
            }
            assert (task, item.label, item.also) == expected[item.tags["tail"]]
            assert item.id.endswith("-wrong") == (item.tags["tail"] == "wrong")
        if isinstance(item, Choice):
            assert item.gold == zlib.crc32(item.id.encode()) % 2
            assert (item.context is None) == (task == "pairs")
            assert item.candidates[0] != item.candidates[1]


LIKELY = {"desires", "madeof", "xAttr", "xNeed", "xIntent", "xEffect", "xWant"}


def test_a_wrong_tail_stands_in_the_words_of_the_right_one() -> None:
    entails = {item.id: item for item in EVERYTHING if isinstance(item, Entail)}
    wrongs = [item for item in entails.values() if item.tags["tail"] == "wrong"]
    assert 2 * len(wrongs) == len(entails)
    for wrong in wrongs:
        right = entails[wrong.id.removesuffix("-wrong")]
        assert (right.premise, right.block) == (wrong.premise, wrong.block)
        assert right.tags == wrong.tags | {"tail": "right"}
        assert right.hypothesis.split()[0] == wrong.hypothesis.split()[0]
        assert right.hypothesis != wrong.hypothesis


def test_inference_does_without_wrong_tails() -> None:
    items = list(render(_table().drop("wrong_text"), TEMPLATES, tasks=["nli"], seed=3))
    assert items
    assert {item.tags["tail"] for item in items} == {"right"}


def test_wordings_of_what_is_and_of_what_was_made() -> None:
    rows = [
        ("hasa", "music", "rhythm", "np", ["wheels"]),
        ("createdby", "music", "a band", "np", ["a baker"]),
        ("createdby", "songs", "a band", "np", ["a baker"]),
    ]
    texts = [
        text
        for item in render(_table(rows), TEMPLATES, seed=3, per_triple=ALL)
        for text in _texts(item)
    ]
    assert not [t for t in texts if re.search(r"will have|looking at|Over there|made by", t)]
    assert not [t for t in texts if re.search(r"^(It is|They are) (created|produced)", t)]
    assert {"It was created by a band.", "They were produced by a band."} <= set(texts)


def _one(relation: str, task: str, name: str) -> list[Item]:
    rows = [row for row in TRIPLES if row[0] == relation]
    return [
        item
        for item in render(_table(rows), TEMPLATES, tasks=[task], seed=3, per_triple=ALL)
        if item.tags["template"] == f"{relation}-{name}"
    ]


def _pairs(relation: str, task: str, name: str) -> set[tuple[str, ...]]:
    out: set[tuple[str, ...]] = set()
    for item in _one(relation, task, name):
        if isinstance(item, Entail):
            out.add((item.premise, item.hypothesis))
        elif isinstance(item, Choice):
            right, wrong = item.candidates[item.gold], item.candidates[1 - item.gold]
            out.add((*([item.context] if item.context else []), right, wrong))
    return out


def test_by_hand() -> None:
    assert ("Those are cats.", "They want fresh fish.") in _pairs("desires", "nli", "this-wants")
    assert ("This is a nurse.", "They would like to rest.") in _pairs(
        "desires", "nli", "this-wants"
    )
    assert (
        "This is an otter.",
        "It is an animal.",
        "It is a tool.",  # worded 'tools' for the head of another triple
    ) in _pairs("isa", "qa", "this-is")
    assert ("Lamps are tools.", "Lamps are animals.") in _pairs("isa", "pairs", "is")
    assert (
        "Bread is produced by a baker.",
        "Bread is produced by heating sand.",  # a tail of another form
    ) in _pairs("createdby", "pairs", "made")
    assert (
        "What is a kettle used for?",
        "People use it for boiling water.",
        "People use it for singing.",
    ) in _pairs("usedfor", "qa", "what-for")
    assert (
        "An otter can crack open a clam.",
        "An otter can brush its hair.",
    ) in _pairs("capableof", "pairs", "can")
    assert ("What does a violin have?", "It has four strings.", "It has fur.") in _pairs(
        "hasa", "qa", "what-has"
    )


def test_people_keep_their_name_and_pronouns() -> None:
    names = load_names()
    of_name = {name: gender for gender in GENDERS for name in getattr(names, gender)}
    seen: Counter[str] = Counter()
    for item in EVERYTHING:
        if item.tags["relation"] != "xAttr" or not isinstance(item, Entail):
            continue
        match = re.search(r"(\w+) (?:pays|paid) (her|his|their) bill", item.premise)
        assert match
        gender = of_name[match[1]]
        assert match[2] == PRONOUNS[gender].their
        first = item.hypothesis.split(" ")[0]
        assert first in {match[1], PRONOUNS[gender].they.capitalize()}
        seen[gender] += 1
    assert max(seen.values()) - min(seen.values()) <= 2  # one more pair of tests
    for item in _one("xIntent", "nli", "present"):
        assert isinstance(item, Entail)
        match = re.search(r"(\w+) hugs (\w+)\.", item.premise)
        assert match
        assert match[1] != match[2]
        if item.tags["tail"] == "right":
            assert item.hypothesis.endswith(f"to comfort {match[2]}.")


def test_names_only_for_those_who_can_bear_them() -> None:
    rows = [
        ("capableof", head, "sleep", "vp", ["melt"])
        for head in ("a king", "girls", "a table", "water", "a nurse", "teachers")
    ]
    items = render(_table(rows), TEMPLATES, tasks=["nli"], seed=1, per_triple=ALL)
    named = {i.block for i in items if i.tags["template"] == "capableof-name-can"}
    assert named == {"capableof-004-0", "capableof-005-0"}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(seed: int, random: Any) -> None:
    table = _table()
    order = list(range(len(table)))
    random.shuffle(order)
    assert list(render(table[order], TEMPLATES, seed=seed)) == list(
        render(table, TEMPLATES, seed=seed)
    )


def test_the_seed_decides() -> None:
    first, same, other = (list(render(_table(), TEMPLATES, seed=seed)) for seed in (1, 1, 2))
    assert first == same
    assert [_texts(item) for item in first] != [_texts(item) for item in other]


def test_forms_are_used_about_equally() -> None:
    rows = [row for row in TRIPLES if row[0] == "hasa"]
    table = _table(rows, repeat=40)
    items = list(render(table, TEMPLATES, tasks=["nli"], seed=1, per_triple={"nli": 3}))
    right = [item for item in items if item.tags["tail"] == "right"]
    assert (len(items), len(right)) == (240, 120)
    counts = Counter((i.premise, i.hypothesis) for i in right if isinstance(i, Entail))
    assert set(counts.values()) == {12}  # ten forms
    by_block = Counter(item.block for item in right)
    assert set(by_block.values()) == {3}


def test_a_number_for_every_wrong_tail() -> None:
    rows = [row for row in TRIPLES if row[0] == "hasa"]
    items = list(render(_table(rows), TEMPLATES, tasks=["qa", "pairs"], seed=1))
    assert [item.id for item in items] == [
        "hasa-000-0-qa-1",
        "hasa-000-0-qa-2",
        "hasa-000-0-pairs-1",
        "hasa-000-0-pairs-2",
    ]


def test_a_wrong_tail_that_does_not_fit_is_left_out() -> None:
    table = _table([("isa", "a cold", "an illness", "np", ["clothes", "a lamp"])])
    items = list(render(table, TEMPLATES, tasks=["pairs"], seed=1))
    assert len(items) == 1
    assert isinstance(items[0], Choice)
    assert items[0].candidates[1 - items[0].gold].endswith("a lamp.")


def test_gold_is_spread() -> None:
    rows = [row for row in TRIPLES if row[0] == "hasa"]
    items = [
        i for i in render(_table(rows, repeat=200), TEMPLATES, seed=1) if isinstance(i, Choice)
    ]
    share = sum(item.gold for item in items) / len(items)
    assert 0.45 < share < 0.55


@pytest.mark.parametrize(
    ("table", "tasks", "message"),
    [
        (_table().drop("wrong_text"), ["qa"], "no column 'wrong_text'; run the stage"),
        (_table().drop("form"), ["nli"], "no column 'form'"),
        (_table(), ["quiz"], "there is no task 'quiz', known: nli, qa, pairs"),
        (
            _table([("partof", "a leg", "a table", "np", [])]),
            ["nli"],
            "'partof' has no template for the task 'nli'",
        ),
        (_table([("hasa", "", "a leg", "np", [])]), ["nli"], "'hasa-000-0' has an empty head"),
        (
            _table([("xEffect", "PersonX naps", "happy", "adj", [])]),
            ["nli"],
            "no template of the task 'nli' fits the triple 'xEffect-000-0'",
        ),
    ],
)
def test_bad_input_is_named(table: pl.DataFrame, tasks: list[str], message: str) -> None:
    with pytest.raises(BuildError, match=re.escape(message)):
        list(render(table, TEMPLATES, tasks=tasks, seed=1))


def test_names_are_balanced() -> None:
    draw = Draw(load_names(), seed=5)
    everybody = [draw.people() for _ in range(300)]
    for role in range(3):
        genders = Counter(people[role].pronouns.they for people in everybody)
        assert set(genders.values()) == {100}
        names = Counter(people[role].name for people in everybody)
        assert len(names) == 60
    for people in everybody:
        assert len({person.name for person in people}) == 3
        assert len({person.pronouns.they for person in people}) == 3
    again = Draw(load_names(), seed=5)
    assert [again.people() for _ in range(300)] == everybody


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PersonX loses PersonX's keys", "Rose loses her keys"),
        ("PersonX asks PersonY to help PersonX", "Rose asks Kai to help her"),
        ("PersonY gives PersonX a hat", "Kai gives Rose a hat"),
        ("PersonX takes PersonY's hat to PersonY", "Rose takes Kai's hat to Kai"),
        ("PersonX cuts PersonX-self", "Rose cuts herself"),
        ("PersonX knows what PersonX wants", "Rose knows what Rose wants"),
    ],
)
def test_people_are_filled_in(text: str, expected: str) -> None:
    people = [
        Person("Rose", PRONOUNS["she"]),
        Person("Kai", PRONOUNS["they"]),
        Person("Omar", PRONOUNS["he"]),
    ]
    assert fill_people(text, people) == expected
