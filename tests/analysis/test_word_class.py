"""The word class of what differs between two sentences, and slices by it."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from boxpen import Card, Choice, Suite, evaluate
from boxpen.analysis.slices import cut, cuts
from boxpen.catalog import load_suite
from boxpen.english.word_class import CLASSES, differing_class
from boxpen.errors import RunError
from boxpen.scoring.recipe import Recipe
from small_runs import Liking, small_run

READ = Path(__file__).parents[2] / "docs" / "results" / "data" / "cats-word-class.csv"
NOUNS = ["apple", "stone", "letter", "river", "ladder"]
VERBS = ["sold", "lifted", "painted", "forgot", "borrowed"]
ADJECTIVES = ["tiny", "huge", "expensive", "purple", "broken"]


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ("He buttered his bread.", "He buttered an ocean.", "noun"),
        ("She drank the tea.", "She wore the tea.", "verb"),
        ("Ice is cold.", "Ice is warm.", "adjective"),
        ("He drove slowly because of the fog.", "He drove quickly because of the fog.", "adverb"),
        ("She fell, but she laughed.", "She fell, so she laughed.", "conjunction"),
        ("Anna met him, so he smiled.", "Anna met him, so she smiled.", "pronoun"),
        ("They ate before they left.", "They ate although they left.", "conjunction"),
        ("The lamp hangs over the table.", "The lamp hangs under the table.", "preposition"),
        ("A spider has eight legs.", "A spider has ninety legs.", "number"),
        ("A cat has four legs.", "A cat has nine legs.", "number"),
        ("I read it once.", "I read it twice.", "number"),
        ("We ate once they came.", "We ate before they came.", "conjunction"),
        ("Fish can't walk.", "Fish can walk.", "negation"),
        ("Lead does not float.", "Lead floats.", "negation"),
        ("Dogs chase cats.", "Cats chase dogs.", "order"),
        ("We watered the plants.", "We ate the river.", "several"),
        ("It ran.", "It  ran!", None),
        # The dictionary has some nouns as verbs only.
        ("He uses a pen to write.", "He uses a pan to write.", "noun"),
        ("We met in the dining hall.", "We met in the concert hall.", "noun"),
        ("I know a man that eats.", "I know a man that sleeps.", "verb"),
        ("She let her eat.", "She let her sing.", "verb"),
    ],
)
def test_what_differs(right, wrong, expected):
    assert differing_class(right, wrong) == expected
    assert differing_class(wrong, right) == expected


def test_one_word_exchanged_for_another_of_its_class():
    for start, n, verb, adjective in product(("My aunt", "He"), range(5), VERBS, ADJECTIVES):
        base = f"{start} {verb} the {adjective} {NOUNS[n]}."
        for words, old, name in (
            (NOUNS, NOUNS[n], "noun"),
            (VERBS, verb, "verb"),
            (ADJECTIVES, adjective, "adjective"),
        ):
            other = words[(words.index(old) + 1) % len(words)]
            assert differing_class(base, base.replace(old, other)) == name


def test_a_run_is_cut_by_word_class_on_request_only():
    run = small_run("+-+")
    found = cut(run, "word class")
    assert set(found) <= set(CLASSES)
    texts = {key: [one.text for one in some] for key, some in run.candidates.items()}
    for name, verdicts in found.items():
        for verdict in verdicts:
            right = texts[verdict.id][verdict.gold]
            others = {differing_class(right, text) for text in texts[verdict.id] if text != right}
            assert others == {name} or (name == "several" and len(others) > 1)
    assert "word class" not in cuts(run, least=1)


def test_where_only_a_common_ending_is_scored_whole_texts_are_compared():
    texts = (
        ("The trophy is too big to fit.", "The suitcase is too big to fit."),
        ("He ran home quickly after work.", "He ran home slowly after work."),
        ("He ran home.", "He ran home."),
    )
    suite = Suite(
        "ends",
        tuple(Choice(id=f"i{n}", candidates=some, gold=0) for n, some in enumerate(texts)),
        Card(language="en"),
    )
    found = []
    for recipe in (Recipe(name="plain"), Recipe(name="partial", ending=True)):
        run = evaluate(Liking("m", set()), suite, cache=":memory:", recipe=recipe)
        found.append({k: [v.id for v in some] for k, some in cut(run, "word class").items()})
    assert {one.text for one in run.candidates["i0"]} == {" is too big to fit."}
    assert found == [{"noun": ["i0"], "adverb": ["i1"]}] * 2


def test_a_context_before_candidates_leaves_their_class():
    contexts = (None, "Mary walks", "The meal is cold because")
    for context in contexts:
        item = Choice(id="i", context=context, candidates=("she eats", "she sleeps"), gold=0)
        suite = Suite("after", (item,), Card(language="en"))
        run = evaluate(Liking("m", set()), suite, cache=":memory:")
        assert list(cut(run, "word class")) == ["verb"]


def test_other_languages_are_refused():
    run = small_run("+-+")
    suite = replace(run.info.suite, language="zh")
    with pytest.raises(RunError, match="are in 'zh'; word classes are known of English only"):
        cut(replace(run, info=replace(run.info, suite=suite)), "word class")


def test_agreement_with_a_reading_of_cats(mirror):
    """The classes that one language-model reader gave to 100 items before the rules saw them."""
    with READ.open(encoding="utf-8", newline="") as stream:
        read = {row["id"]: row["class"] for row in csv.DictReader(stream)}
    same = 0
    for item in load_suite("cats"):
        if item.id in read:
            wrong = item.candidates[1 - item.gold]
            found = differing_class(item.candidates[item.gold], wrong) or "none"
            same += found == read[item.id]
    assert len(read) == 100
    assert same == 96
