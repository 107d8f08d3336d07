"""Words, and which of them negate."""

import pytest

from boxpen.analysis.suites.words import divided, is_negation, negations, worded, words
from boxpen.items import Card, Choice, Entail, Suite, Translate


@pytest.mark.parametrize(
    "word", ["not", "don't", "don’t", "nor", "不", "不会", "没有", "别", "无法"]
)
def test_negations(word):
    assert is_negation(word)


@pytest.mark.parametrize(
    "word", ["note", "ant", "knot", "nothings", "不过", "不仅", "别人", "未来"]
)
def test_words_that_look_like_negations(word):
    assert not is_negation(word)


def test_a_negation_counts_as_often_as_it_stands():
    assert negations(words("No, I can't and I do not.")) == ["no", "can't", "not"]
    assert negations(words("他不来，不过他没有走。", "zh")) == ["不", "没有"]


def test_both_apostrophes_make_the_same_word():
    item = divided(Choice(id="1", candidates=("I don’t.", "I don't!"), gold=1))
    assert item.words == (["i", "don't"], ["i", "don't"])


def test_the_choices_of_a_suite_in_their_order():
    items = (
        Choice(id="c", candidates=("a", "b", "c"), gold=1),
        Entail(id="e", premise="a", hypothesis="b", label="neutral"),
        Translate(id="t", source="盒子", reference="the box", contrast=("the pen",)),
        Translate(id="u", source="盒子", reference="the box"),
    )
    first, second = worded(Suite("s", items, Card(language="en")))
    assert (first.right, first.wrong) == (["b"], [["a"], ["c"]])
    assert (second.right, second.wrong) == (["the", "box"], [["the", "pen"]])
