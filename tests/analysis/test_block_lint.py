"""The rules of CommonMT for blocks: cases as they occur in its release, in other words."""

from itertools import chain, pairwise

import pytest

from boxpen.catalog import load_suite
from boxpen.catalog.lint.blocks import Crossing, crossing, shared_words
from boxpen.catalog.lint.items import lint
from boxpen.items import Card, Choice, Suite


def block(first, second, name="b", sources=("炖粉丝", "粉丝来了"), **tags):
    """Two halves, each a right and a wrong translation; the second half has its gold last."""
    (right, wrong), (other_right, other_wrong) = first, second
    one = Choice(
        id=f"{name}1", source=sources[0], candidates=(right, wrong), gold=0, block=name, tags=tags
    )
    two = Choice(
        id=f"{name}2",
        source=sources[1],
        candidates=(other_wrong, other_right),
        gold=1,
        block=name,
        tags=tags,
    )
    return [one, two]


def rules(items, **card):
    return [f.rule for f in lint(Suite("s", tuple(items), Card(**card))) if f.rule in RULES]


RULES = ("block-ambiguity", "repeated-word", "block-reading", "block-unrelated")
WORD = block(
    ("Stew the glass noodles.", "Stew the fans."),
    ("The fans greet the singer.", "The glass noodles greet the singer."),
    word="粉丝",
)
STRUCTURE = block(
    ("Mend the lid of the pot.", "The lid that mends the pot."),
    ("The smith that mends the pot.", "Mend the smith of the pot."),
)
INFLECTED = block(
    ("He betrayed his friend.", "He sells his friend."),
    ("She is selling eggs.", "She betrays eggs."),
)
ORDER = block(
    ("Sparrows in the air and a fox are near.", "Sparrows and a fox in the air are near."),
    ("Clouds and rain in the air are near.", "Clouds in the air and rain are near."),
)


@pytest.mark.parametrize("items", [WORD, STRUCTURE, INFLECTED, ORDER])
def test_opposite_readings_are_right(items):
    assert rules(items) == []
    found = crossing(items)
    assert found.crossed > 2 * found.straight


@pytest.mark.parametrize(
    "halves",
    [
        # The literal sense is wrong in both (LA-057), or right in both (LA-064).
        (
            ("He knows the world.", "He is old rivers and lakes."),
            ("She left home early.", "She went to the rivers and lakes."),
        ),
        (
            ("This antique is worth a lot.", "This old fogey is worth a lot."),
            ("They call him an antique.", "They call him an old fogey."),
        ),
        # The modifier reaches as far in both (CL-SA-192): only the order of words tells.
        (
            ("Birds and fish in the sky sleep.", "Birds in the sky and fish sleep."),
            ("Clouds and rain in the sky mix.", "Clouds in the sky and rain mix."),
        ),
    ],
)
def test_one_reading_in_both_halves(halves):
    assert rules(block(*halves)) == ["block-reading"]


def test_a_wrong_translation_that_has_nothing_to_do_with_the_other_half():
    items = block(("She cooks soup.", "She cooks stone."), ("He rows home.", "He paints home."))
    assert crossing(items) == Crossing(0, 0)
    assert rules(items) == ["block-unrelated"]


def test_only_pairs_of_different_translations_are_compared():
    same = block(("Same.", "same ,"), ("One way.", "Another way."))
    assert crossing(same) is None
    three = [*WORD, WORD[0]]
    assert crossing(three) is None
    bare = [Choice(id=i.id, candidates=i.candidates, gold=i.gold, block="b") for i in ORDER]
    assert crossing(bare) is None
    assert rules([*same]) == []


def test_one_ambiguous_word_or_structure_per_block():
    one, two = WORD
    other = Choice(**{f: getattr(two, f) for f in two.__slots__} | {"tags": {"word": "扇子"}})
    assert rules([one, other]) == ["block-ambiguity"]
    untagged = Choice(**{f: getattr(two, f) for f in two.__slots__} | {"tags": {}})
    assert rules([one, untagged]) == []


@pytest.mark.parametrize(
    ("sources", "language"),
    [
        (("他喜欢吃苹果。", "敌人的船来了。"), "zh"),
        (("我是学生。", "你是谁？"), "zh-CN"),  # 是 alone is in every second sentence
        (("她在家。", "船在港口。"), None),
        (("She saw the bank.", "A dog barks."), "en"),
        (("Sie sah den Hund.", "Er kam in der Nacht."), "de"),
        (("猫が好き。", "雨です。"), "ja"),
    ],
)
def test_sources_without_an_ambiguous_word_in_common(sources, language):
    halves = [(i.candidates[i.gold], i.candidates[1 - i.gold]) for i in WORD]
    card = {} if language is None else {"source_language": language, "language": "en"}
    assert rules(block(*halves, sources=sources), **card) == ["block-ambiguity"]


@pytest.mark.parametrize(
    ("sources", "language"),
    [
        (("他喜欢吃苹果。", "吃掉敌人一个师。"), "zh"),  # one character can be the word
        (("水里的鲨鱼和老虎很凶。", "空中的小鸟和猎豹"), "zh"),  # 的 … 和 is a structure
        (("地板擦亮了。", "阿姨擦累了。"), None),
        (("She saw the bank.", "Two banks closed."), "en"),
        (("I saw the man with a bag.", "He hit a dog with the rod."), "en"),  # with the
        (("Die Bank ist leer.", "Auf der Bank sitzt er."), "de"),
        (("スタンドに立つ。", "電気スタンド"), "ja"),
    ],
)
def test_sources_with_a_word_or_a_structure_in_common(sources, language):
    halves = [(i.candidates[i.gold], i.candidates[1 - i.gold]) for i in WORD]
    card = {} if language is None else {"source_language": language, "language": "en"}
    assert rules(block(*halves, sources=sources), **card) == []


def test_a_word_has_one_block():
    words = [block(*_halves(n), name=f"b{n}", word="日月星水火山"[n]) for n in range(6)]
    assert rules([*chain(*words)]) == []
    again = block(*_halves(6), name="b6", word="火")
    suite = Suite("s", tuple(chain(*words, again)))
    [finding] = [f for f in lint(suite) if f.rule == "repeated-word"]
    assert (finding.item, finding.message) == (
        "b61",
        "has the tag word '火', which block 'b4' has already",
    )
    # Where most words are used again, they are meant to be: connectives, pronouns.
    connectives = [block(*_halves(n), name=f"c{n}", word="而或"[n % 2]) for n in range(6)]
    assert rules([*chain(*connectives)]) == []


def _halves(n):
    a, b = f"sun{n}", f"day{n}"
    return (f"The {a} is up.", f"The {b} is up."), (f"A {b} is long.", f"A {a} is long.")


def test_what_the_rules_find_in_real_suites(mirror):
    found = lint(load_suite("commonmt"))
    counts = {rule: sum(f.rule == rule for f in found) for rule in RULES}
    assert counts == {
        "block-ambiguity": 0,
        "repeated-word": 2,
        "block-reading": 15,
        "block-unrelated": 11,
    }
    repeated = {f.item for f in found if f.rule == "repeated-word"}
    assert repeated == {"LA-148a", "LA-199a"}
    assert not [f for f in lint(load_suite("starter")) if f.rule in RULES]


def test_most_halves_of_different_blocks_are_found_to_have_nothing_in_common(mirror):
    """Of words 133 of 200; neighbouring blocks of the other sets often have one structure."""
    suite = load_suite("commonmt")
    blocks = list(suite.blocks().values())
    pairs = [(a[0].source, b[1].source) for a, b in pairwise([*blocks, blocks[0]])]
    found = sum(not shared_words(*pair, "zh") for pair in pairs)
    assert (found, len(pairs)) == (327, 600)
