"""Questions in every order, and the strict reading of answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen import Choice, Entail
from boxpen.analysis.order_effects import order_effects
from boxpen.scoring.ask import (
    Outcome,
    Question,
    answered,
    decide_asked,
    orders,
    questions,
    read_answer,
)
from boxpen.scoring.recipe import ASK, SOUND

PAIR = Choice(id="1", candidates=("he put a turkey into the fridge", "A giraffe is in it"), gold=0)


@given(st.integers(2, 12))
def test_every_candidate_is_equally_often_in_every_position(count):
    shown = orders(count)
    assert len(set(shown)) == len(shown)
    for position in range(count):
        assert set(Counter(order[position] for order in shown).values()) == {len(shown) // count}


def test_all_orders_of_two_and_three():
    assert orders(2) == [(0, 1), (1, 0)]
    assert len(orders(3)) == 6
    assert len(orders(5)) == 5


def test_a_question_shows_all_options_with_letters():
    first, second = questions(PAIR, ASK)
    assert "A. he put a turkey into the fridge\nB. A giraffe is in it" in first.prompt
    assert "A. A giraffe is in it\nB. he put a turkey into the fridge" in second.prompt
    assert first.prompt.startswith("Which option makes the most sense?")


def test_context_source_and_labels_are_shown():
    context = Choice(id="1", candidates=("x", "y", "z"), gold=0, context="It rained.")
    assert questions(context, ASK)[0].prompt.startswith(
        "It rained.\n\nWhich option makes the most sense"
    )
    source = Choice(id="1", candidates=("x", "y"), gold=0, source="盒子", context="前")
    shown = questions(source, ASK, language="en", source_language="zh")[0].prompt
    assert shown.startswith(
        "前\nChinese sentence: 盒子\n\nWhich option is the right English translation?"
    )
    entail = Entail(id="1", premise="It rains.", hypothesis="It is wet.", label="entailment")
    asked = questions(entail, ASK)
    assert len(asked) == 6
    assert {q.order for q in asked} == set(orders(3))
    assert "Premise: It rains.\nHypothesis: It is wet." in asked[0].prompt


@pytest.mark.parametrize(
    "text",
    [
        "B", "b", "B.", "(B)", " B\n", "**B**", "B)", "Option B", "The answer is B.", "Answer: B",
        "The correct answer is **B**", "B. A giraffe is in it", "B. A giraffe is",
        "B: A giraffe is in it.",
        "A giraffe is in it", "a giraffe is in it.", "The right option is (B).", "[B]", "`B`",
        "It is a fridge, so nothing else fits.\nAnswer: B",
    ],
)  # fmt: skip
def test_answers_that_mean_b(text):
    assert read_answer(text, questions(PAIR, ASK)[0]) == (Outcome.CHOSEN, 1)


@pytest.mark.parametrize(
    "text",
    ["", "A turkey", "both", "A or B", "A and B", "C", "I think so", "A. A giraffe is in it",
     "B or A", "BA", "Because A", "Neither", "1", "a turkey is in the fridge", "B, or perhaps A"],
)  # fmt: skip
def test_answers_that_are_not_clear(text):
    assert read_answer(text, questions(PAIR, ASK)[0]) == (Outcome.UNPARSED, None)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m unable to say.",  # with an apostrophe as models write it
        "As an AI, I have no fridge.",
    ],
)
def test_refusals(text):
    assert read_answer(text, questions(PAIR, ASK)[0]) == (Outcome.REFUSED, None)


@pytest.mark.parametrize(
    "text",
    [
        "A. banana bread\nB. coffee",  # all options repeated
        "A. banana bread\nB. coffee\nWhich one?",
        "Option A: banana bread\nOption B: coffee\nThe answer is B",
        "B\nThe answer is A",
        "A, B",  # 'B' is also the beginning of 'banana bread'
        "A-B",
        "A. B",
        "A coffee",  # the beginning of 'a coffee with milk', or A
    ],
)
def test_answers_that_choose_two_options_are_not_clear(text):
    options = ("banana bread", "coffee", "a coffee with milk")
    assert read_answer(text, Question("", (0, 1, 2), options)) == (Outcome.UNPARSED, None)
    options = ("coffee and bread", "banana", "a coffee with milk")
    assert read_answer("A coffee", Question("", (0, 1, 2), options)) == (Outcome.UNPARSED, None)


@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_the_first_option_is_expected_once_for_every_option(count):
    item = Choice(id="1", candidates=tuple(f"text {n}" for n in range(count)), gold=0)
    asked = questions(item, ASK)
    found = order_effects(answered(item, asked, ["A"] * len(asked)))
    assert found.expected == pytest.approx(1 / count)
    assert found.unchanged.value == 0
    same = order_effects(answered(item, asked, ["text 1"] * len(asked)))
    assert same.unchanged.value == 1
    assert same.first.value == pytest.approx(1 / count)
    assert order_effects(answered(item, asked, ["?"] * len(asked))).unchanged.value == 0


@given(st.integers(2, 6), st.data())
def test_a_letter_means_the_candidate_behind_it(count, data):
    item = Choice(id="1", candidates=tuple(f"text {n}" for n in range(count)), gold=0)
    question = data.draw(st.sampled_from(questions(item, ASK)))
    place = data.draw(st.integers(0, count - 1))
    assert read_answer(question.letters[place], question) == (Outcome.CHOSEN, question.order[place])
    assert read_answer(f"text {question.order[place]}", question)[1] == question.order[place]


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_error(text):
    outcome, candidate = read_answer(text, questions(PAIR, ASK)[0])
    assert (outcome is Outcome.CHOSEN) == (candidate is not None)


def test_a_verdict_is_the_share_of_orders():
    item = Choice(id="1", candidates=("one", "two", "three"), gold=1, block="b", tags={"set": "s"})
    asked = questions(item, ASK)
    texts = ["two", "two", "two", "one", "well", "I'm sorry"]
    answers = answered(item, asked, texts)
    assert [a.outcome for a in answers] == ["chosen"] * 4 + ["unparsed", "refused"]
    assert [a.place for a in answers[:4]] == [
        q.order.index(c) for q, c in zip(asked, (1, 1, 1, 0), strict=False)
    ]
    verdict = decide_asked(item, answers)
    assert verdict.scores == (1 / 6, 3 / 6, 0)
    assert (verdict.credit, verdict.winner, verdict.tied, verdict.block) == (0.5, 1, 1, "b")
    assert verdict.margin == pytest.approx(2 / 6)


def test_a_model_that_always_says_a_is_at_chance():
    item = Choice(id="1", candidates=("one", "two"), gold=1)
    asked = questions(item, ASK)
    verdict = decide_asked(item, answered(item, asked, ["A"] * 2))
    assert (verdict.credit, verdict.tied) == (0.5, 2)


def test_other_recipes_keep_their_digests():
    assert SOUND.digest == "6ec889"


def test_options_of_equal_text_are_not_told_apart_by_text():
    question = Question("", (0, 1), ("same", "same"))
    assert read_answer("same", question) == (Outcome.UNPARSED, None)
    assert read_answer("B. same", question) == (Outcome.CHOSEN, 1)
