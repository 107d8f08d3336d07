"""The words that tell right candidates from wrong ones, and the balance of answers."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.analysis.suites.balance import balance
from boxpen.analysis.suites.differences import differences
from boxpen.catalog import load_suite
from boxpen.errors import SuiteError
from boxpen.items import Choice, Entail, Suite, Translate


def choice(name, gold, *candidates, block=None):
    return Choice(id=name, candidates=candidates, gold=gold, block=block)


def test_by_hand():
    suite = Suite(
        "s",
        (
            choice("1", 0, "He put a coat in the bag.", "He put an anvil in the bag."),
            choice("2", 1, "Never eat soap soap.", "Eat soup.", "Soup eat."),
        ),
    )
    found = differences(suite)
    assert (found.items, found.pairs, found.same_words) == (2, 3, 1)
    assert found.right.different == {"a": 1, "coat": 1, "soup": 1}
    assert found.wrong.different == {"soap": 2, "an": 1, "anvil": 1, "never": 1}
    assert list(found.wrong.different) == ["soap", "an", "anvil", "never"]
    assert found.per_pair == 8 / 3
    assert (found.right.sentences, found.wrong.sentences) == (2, 3)
    assert (found.right.length, found.wrong.length) == (9 / 2, 13 / 3)
    assert (found.right.negations, found.wrong.negations) == ({}, {"never": 1})
    assert found.wrong.negated[0] == pytest.approx(1 / 3)
    assert (found.right.different_negations, found.wrong.different_negations) == (0, 1)


def test_a_negation_on_both_sides_is_no_different_word():
    found = differences(Suite("s", (choice("1", 0, "Do not sit.", "Do not stand."),)))
    assert found.right.negations == found.wrong.negations == {"not": 1}
    assert found.right.different_negations == 0


def test_translations_are_compared_with_their_contrasts():
    item = Translate(id="1", source="x", reference="a red box", contrast=("a red pen", "a box"))
    found = differences(Suite("s", (item,)))
    assert found.right.different == {"box": 1, "red": 1}
    assert found.wrong.different == {"pen": 1}


def test_nothing_to_compare():
    items = (
        Entail(id="e", premise="a", hypothesis="b", label="neutral"),
        Translate(id="t", source="a", reference="b"),
    )
    with pytest.raises(SuiteError, match="'s' has no candidates to compare, expected choices"):
        differences(Suite("s", items))


sentences = st.lists(st.sampled_from("abcde"), max_size=6)


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=5))
def test_words_are_crossed_out_one_by_one(pairs):
    items = [choice(str(n), 0, " ".join(a), " ".join(b)) for n, (a, b) in enumerate(pairs)]
    expected = Counter()
    for right, wrong in pairs:
        rest = list(wrong)
        for word in right:
            if word in rest:
                rest.remove(word)
            else:
                expected[word] += 1
    assert differences(Suite("s", tuple(items))).right.different == dict(expected)


def test_section_3_1_of_sen_making(mirror):
    suite = load_suite("senmaking")
    found = differences(suite.where(set="sen-making"))
    # The paper: 8.26 and 8.26 words; 55 and 53 of these four among the different words.
    assert (round(found.right.length, 2), round(found.wrong.length, 2)) == (8.26, 8.27)
    four = ("don't", "can't", "not", "no")
    counts = [sum(s.different.get(w, 0) for w in four) for s in (found.right, found.wrong)]
    assert counts == [54, 58]
    reasons = differences(suite.where(set="explanation"))  # 7.63 and 7.77
    assert round(reasons.right.length, 2) == 7.64
    assert round(reasons.wrong.length, 2) == 7.79


def test_balance_by_hand():
    items = (
        choice("1", 0, "a", "b", block="x"),
        choice("2", 1, "a", "b", block="x"),
        choice("3", 1, "a", "b", block="y"),
        choice("4", 1, "a", "b", block="y"),
        choice("5", 2, "a", "b", "c", block="z"),
        Entail(id="6", premise="a", hypothesis="b", label="neutral", block="w"),
        Entail(id="7", premise="a", hypothesis="b", label="contradiction", block="w"),
        Entail(id="8", premise="a", hypothesis="b", label="neutral"),
    )
    found = balance(Suite("s", items))
    assert found.positions == {2: (1, 3), 3: (0, 0, 1)}
    assert found.labels == {"neutral": 2, "contradiction": 1}
    assert found.block_sizes == {1: 1, 2: 3}
    assert found.flips[0] == pytest.approx(2 / 3)
    assert found.flips.n == 3


def test_balance_without_blocks():
    assert balance(Suite("s", (choice("1", 0, "a", "b"),))).flips is None


def test_duals_flip(mirror):
    found = balance(load_suite("cats-dual"))
    assert found.block_sizes == {2: 323}
    assert found.flips.value > 0.97
