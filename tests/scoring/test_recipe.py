"""Recipes: what is put to a model, to the letter."""

from __future__ import annotations

import dataclasses

import pytest

from boxpen import Choice, PolicyError, Recipe, Request, recipes_of
from boxpen.scoring.recipe import SOUND, TRANSLATE

PLAIN = Choice(id="1", candidates=("He ate bread.", " He  ate\tstones. "), gold=0)
AFTER = dataclasses.replace(PLAIN, context="He was hungry.")
FROM = dataclasses.replace(PLAIN, source="他吃了面包。")


def put(recipe, item, *, language="en", encoder=False):
    return recipe.requests(item, language=language, source_language="zh", encoder=encoder)


def test_sound_tidies_and_scores_the_candidate_alone():
    assert put(SOUND, PLAIN) == [Request(text="He ate bread."), Request(text="He ate stones.")]


def test_trap_03_the_space_of_the_join_goes_with_the_candidate():
    """Word-initial tokens contain it; at the end of a context it would be moved or lost."""
    assert put(SOUND, AFTER)[0] == Request(text=" He ate bread.", prefix="He was hungry.")
    line = Recipe(name="x", prefix="{context}\n")
    assert put(line, AFTER)[0] == Request(text="He ate bread.", prefix="He was hungry.\n")
    assert put(SOUND, AFTER, language="zh")[0] == Request(
        text="He ate bread.", prefix="He was hungry."
    )


def test_whole_scores_the_context_too():
    recipe = Recipe(name="x", whole=True)
    assert put(recipe, AFTER)[0] == Request(text="He was hungry. He ate bread.")


def test_a_translation_model_reads_the_source_a_language_model_does_not():
    assert put(SOUND, FROM, encoder=True)[0] == Request(
        text="He ate bread.", source="他吃了面包。", languages=("zh", "en")
    )
    assert put(SOUND, FROM)[0] == Request(text="He ate bread.")
    assert put(TRANSLATE, FROM)[0] == Request(
        text=" He ate bread.", prefix="Chinese: 他吃了面包。\nEnglish:"
    )
    (free, _) = TRANSLATE.unconditional_requests(FROM, language="en", source_language="zh")
    assert free == Request(text=" He ate bread.", prefix="English:")
    assert TRANSLATE.sees_source(FROM, encoder=False)
    assert not SOUND.sees_source(FROM, encoder=False)


def test_braces_in_a_text_are_no_template():
    item = dataclasses.replace(AFTER, context="{source} {0} {")
    assert put(SOUND, item)[0].prefix == "{source} {0} {"


@pytest.mark.parametrize("template", ["{nothing}", "{0}", "{", "{context.x}", "{}"])
def test_a_bad_template_is_refused(template):
    with pytest.raises(PolicyError, match="template"):
        Recipe(name="x", prefix=template)


def test_the_digest_changes_with_what_is_done_to_a_text():
    made = [
        Recipe(name="x"),
        Recipe(name="x", prefix="{context}\n"),
        Recipe(name="x", whole=True),
        Recipe(name="x", tidy=False),
        Recipe(name="x", prompt="{source}"),
        Recipe(name="x", unconditional="a"),
    ]
    assert len({r.digest for r in made}) == len(made)
    assert Recipe(name="y", why="because").digest == Recipe(name="x").digest


def test_literal_separators_are_tidied_away_or_kept_as_published():
    item = dataclasses.replace(PLAIN, candidates=("He ate [SEP] bread.", "b"))
    assert put(SOUND, item)[0].text == "He ate bread."
    assert put(Recipe(name="x", tidy=False), item)[0].text == "He ate [SEP] bread."


def test_trap_21_cats_as_published():
    """No BOS for GPT, token mean, one token masked at a time, ties to the first index."""
    paper = recipes_of("cats")["paper"]
    policy = paper.scoring_policy()
    assert (policy.bos, policy.norm, policy.pll, policy.ties) == (
        "never",
        "token",
        "original",
        "first",
    )
    assert not paper.tidy
    sound = recipes_of("cats")["sound"].scoring_policy()
    assert (sound.bos, sound.norm, sound.ties) == ("auto", "sum", "half")


def test_trap_22_sen_making_as_published():
    """The mask line of the BERT baseline is commented out; 'perplexity' is (prod p)^(-1/n)."""
    paper = recipes_of("senmaking")["paper"]
    policy = paper.scoring_policy()
    assert (policy.bos, policy.norm, policy.pll, policy.ties) == (
        "never",
        "token",
        "unmasked",
        "first",
    )
    assert paper.whole
    assert recipes_of("senmaking")["sound"].scoring_policy().pll == "within_word_l2r"


@pytest.mark.parametrize("suite", ["cats", "cats-dual", "senmaking", "commonmt"])
def test_traps_21_and_22_both_recipes_ship_and_say_how_they_differ(suite):
    recipes = recipes_of(suite)
    assert recipes["paper"].why
    assert recipes["paper"].digest != recipes["sound"].digest
