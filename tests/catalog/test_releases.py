"""Public suites that are read through the column maps of ``suite import``."""

import json
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from boxpen.catalog import entries, load_suite
from boxpen.catalog.published import published_items
from boxpen.errors import SuiteError
from boxpen.scoring.recipe import Recipe

ENTRIES = entries()
SWAG = {
    "ind": 24,
    "activity_label": "Roof shingle removal",
    "ctx": "A man is sitting on a roof. he",
    "split_type": "indomain",
    "endings": ["is using wrap.", "is ripping tiles.", "is holding a cube.", "starts pulling."],
    "source_id": "activitynet~v_1",
    "label": 3,
}
QUESTION = {
    "answerKey": "B",
    "id": "q1",
    "question": {
        "question_concept": "pen",
        "stem": "Where is the box?",
        "choices": [{"label": "A", "text": "in the ink"}, {"label": "B", "text": "in the pen"}],
    },
}


def read(name, tmp_path, *rows):
    """Import rows in the form of a published file."""
    (file,) = ENTRIES[name].files
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(ENTRIES[name].importer({file.path: path}))


def test_blimp(mirror):
    suite = load_suite("blimp")
    assert Counter(i.tags["set"] for i in suite) == dict.fromkeys(suite.tag_values()["set"], 1000)
    assert len(suite.tag_values()["set"]) == 67
    assert sorted(suite.tag_values()["phenomenon"]) == sorted(ENTRIES["blimp"].parts)
    first = next(i for i in suite if i.id == "adjunct_island-000")
    assert first.candidates[0] == "Who should Derek hug after shocking Richard?"
    assert (first.gold, first.tags["field"]) == (0, "syntax")
    assert len(load_suite("blimp.ellipsis")) == 2000


def test_codah(mirror):
    suite = load_suite("codah")
    assert Counter(i.tags.get("set") for i in suite) == {
        "other": 2080, "idiom": 244, "reference": 133, "negation": 115, "polysemy": 108,
        "quantity": 86, None: 10,
    }  # fmt: skip
    assert {len(i.candidates) for i in suite} == {4}
    assert (
        suite.items[0].candidates[suite.items[0].gold] == "tempted to snack when I feel this way."
    )


def test_xcopa_joins_premise_and_choice_in_each_language(mirror):
    suite = load_suite("xcopa")
    first = {i.language: i for i in reversed(suite.items)}
    assert first["et"].context == "Ese oli mullikilesse mässitud sest"
    assert first["et"].candidates[first["et"].gold] == "see oli õrn."
    assert first["zh"].context.endswith(("因为", "所以"))
    assert " " not in first["zh"].context
    assert {i.tags["relation"] for i in suite} == {"cause", "effect"}


def test_xcopa_lower_cases_first_letters_only(mirror):
    """No letter is taken apart: the Turkish İ becomes i, not an i with a combining dot."""
    for code in ENTRIES["xcopa"].parts:
        lines = (mirror / f"xcopa/data/{code}/test.{code}.jsonl").read_text().splitlines()
        for item, row in zip(load_suite(f"xcopa.{code}"), map(json.loads, lines), strict=True):
            for candidate, name in zip(item.candidates, ("choice1", "choice2"), strict=True):
                assert len(candidate) == len(row[name])
                assert candidate.count("\u0307") == row[name].count("\u0307")
                assert candidate[1:] == row[name][1:]
                assert not candidate[:1].isupper()
    turkish = [c for item in load_suite("xcopa.tr") for c in item.candidates]
    assert {"ip atladı.", "ışığı açtım."} <= set(turkish)


def test_winogrande_blocks_are_twins(mirror):
    suite = load_suite("winogrande")
    assert {len(items) for items in suite.blocks().values()} == {2}
    assert len(suite.blocks()) == 284
    first = suite.items[0]
    assert first.candidates[first.gold].endswith("so Maria always got the easier cases.")


def test_winogrande_partial_scores_what_follows_the_gap(mirror):
    """The same texts as a slow twin that knows the gap, but where both names end in one word."""
    rows = map(json.loads, (mirror / "winogrande/dev.jsonl").read_text().splitlines())
    recipe = ENTRIES["winogrande"].recipes["partial"]
    different = 0
    for row, item in zip(rows, load_suite("winogrande"), strict=True):
        before, after = (part for part in row["sentence"].split("_"))
        tidied = [" ".join((before + row[f"option{n}"] + after).split()) for n in (1, 2)]
        made = recipe.requests(item, language="en", source_language=None, encoder=False)
        assert [r.prefix + r.text for r in made] == tidied
        assert made[0].text == made[1].text
        different += made[0].text != " ".join(("x" + after).split())[1:]
    assert different == 9


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        (
            ("Ann's hat fell.", "Dan's hat fell."),
            [("Ann", "'s hat fell."), ("Dan", "'s hat fell.")],
        ),
        (("A cat ran", "A dog ran"), [("A cat", " ran"), ("A dog", " ran")]),
        (("It is hot", "It is cold"), [("", "It is hot"), ("", "It is cold")]),
        (("Yes, so", ", so"), [("", "Yes, so"), ("", ", so")]),
        (("same", "same"), [("", "same"), ("", "same")]),
    ],
)
def test_partial_scoring(candidates, expected):
    (item,) = published_items(
        Path("x"), "{number}", rows=[{"a": candidates[0], "b": candidates[1]}], correct="a",
        wrong="b",
    )  # fmt: skip
    recipe = Recipe(name="partial", ending=True)
    made = recipe.requests(item, language="en", source_language=None, encoder=False)
    assert [(r.prefix, r.text) for r in made] == expected
    bare = recipe.unconditional_requests(item, language="en", source_language=None)
    assert [r.text for r in bare] == [text for _, text in expected]
    assert {r.prefix for r in bare} == {""}


def test_mucow(mirror):
    suite = load_suite("mucow")
    first = suite.items[0]
    assert (first.tags["word"], first.tags["sense"], first.gold) == ("pirn", "bulb", 0)
    assert "light pear" in first.candidates[1]
    assert suite.languages_of(first) == ("en", "et")
    assert Counter(len(i.candidates) for i in suite) == {2: 1248, 3: 200, 4: 61, 5: 80}


def test_hellaswag(tmp_path):
    (item,) = read("hellaswag", tmp_path, SWAG)
    assert item.context == "A man is sitting on a roof. he"
    assert item.candidates[item.gold] == "starts pulling."
    assert item.tags == {
        "set": "activitynet", "split": "indomain", "topic": "Roof shingle removal"
    }  # fmt: skip


def test_commonsenseqa(tmp_path):
    (item,) = read("commonsenseqa", tmp_path, QUESTION)
    assert (item.id, item.context) == ("q1", "Where is the box?")
    assert item.candidates[item.gold] == "in the pen"
    assert item.tags == {"concept": "pen"}


@pytest.mark.parametrize(
    "name", ["blimp", "codah", "commonsenseqa", "hellaswag", "mucow", "winogrande", "xcopa"]
)
def test_a_release_takes_few_lines(name):
    """If one needs more, the column maps should learn what it does."""
    module = import_module(f"boxpen.catalog.releases.{name}")
    assert len(Path(module.__file__).read_text().splitlines()) < 60


def test_a_wrong_label_names_the_row(tmp_path):
    with pytest.raises(SuiteError, match=r"row 2: column 'label' is '?x"):
        read("hellaswag", tmp_path, SWAG, {**SWAG, "label": "x"})
