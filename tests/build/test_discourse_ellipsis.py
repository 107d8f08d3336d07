"""Verb phrases that English leaves out and Chinese repeats."""

from __future__ import annotations

import pytest

from boxpen.build.discourse.candidates import candidates
from boxpen.build.discourse.contrast import contrasts, with_contrasts
from boxpen.build.discourse.phenomena.ellipsis import auxiliary, ellipsis, repeated, tagged
from boxpen.build.discourse.phenomena.snippets import Snippet
from boxpen.items import Suite, Translate


@pytest.mark.parametrize(
    ("source", "form"),
    [
        ("I do.", "do"),
        ("Yes, I did.", "did"),
        ("Neither do I.", "do"),
        ("So has mine!", "has"),
        ("And so are the neighbours.", "are"),
        ("Do you?", "do"),
        ("You don’t?", "don't"),
        ("I think she does.", "does"),
        ("My sister can.", "can"),
        ("No, I haven't, sir.", "haven't"),
        ("Of course they were.", "were"),
        ("I do too.", "do"),
        ("Mr. Hill never would.", "would"),
    ],
)
def test_an_auxiliary_that_stands_alone(source: str, form: str) -> None:
    assert auxiliary(source) == form


@pytest.mark.parametrize(
    "source",
    [
        "I do like it.",
        "She knows him, doesn't she?",  # its verb is in the same sentence
        "That is all we have.",
        "I know what you did.",
        "How are you?",
        "I know who they are.",
        "There is nothing to do.",
        "He runs faster than you do.",
        "Run!",
        "",
        "Do",
    ],
)
def test_sentences_that_leave_nothing_out(source: str) -> None:
    assert auxiliary(source) is None


@pytest.mark.parametrize(
    ("source", "target", "before", "verb"),
    [
        ("Neither do I.", "我也不抽烟。", "我叔叔不抽烟。", "抽烟"),
        ("I do.", "我信。", "你相信鬼吗？", "信"),
        ("I don't.", "我不信。", "你相信鬼吗？", "信"),
        ("So do I.", "我也想知道。", "我想知道真相。", "知道"),  # not 想, which comes first
        ("Really?", "真的吗？", "我叔叔不抽烟。", None),
        ("I know you do.", "我知道。", "你知道。", None),  # the English has "know"
        ("I will.", "我会的。", "你会来吗？", None),  # 会 says nothing of what was left out
    ],
)
def test_the_verb_that_is_repeated(source: str, target: str, before: str, verb: str | None) -> None:
    assert repeated(source, target, before) == verb


def test_an_ellipsis_has_a_reason() -> None:
    snippet = Snippet(
        "a film", 2, "My aunt likes pears.", "So do I.", "我姑姑喜欢梨。", "我也喜欢。"
    )
    found = ellipsis(snippet)
    assert found is not None
    assert found.word == "喜欢"
    assert found.reason == "'do' is short for 喜欢, which the context has"
    [candidate] = candidates(snippet)
    assert (candidate.phenomenon, candidate.cls, candidate.word) == ("ellipsis", "ellipsis", "喜欢")
    assert candidate.contrast == ("我也做。",)


@pytest.mark.parametrize(
    ("context", "source", "objection"),
    [
        ("Most people like pears.", "I am.", "the context has no form of 'be' for 'am'"),
        ("Most people like pears.", "I would.", "the context has no modal for 'would'"),
        ("Yes, I do.", "So do I.", "the context leaves a verb out too"),
        ("Most people here like pears,", "So do I.", "the context is broken off"),
    ],
)
def test_objections_lower_the_score(context: str, source: str, objection: str) -> None:
    good = ellipsis(
        Snippet("f", 2, "Most people like pears.", "So do I.", "多数人喜欢梨。", "我也喜欢。")
    )
    bad = ellipsis(Snippet("f", 2, context, source, "多数人喜欢梨。", "我也喜欢。"))
    assert good is not None
    assert bad is not None
    assert bad.score < good.score
    assert f"but {objection}" in bad.reason


@pytest.mark.parametrize(
    ("verb", "target", "wrong"),
    [
        ("抽烟", "我也不抽烟。", ("我也不做。",)),
        ("喂", "我也喂鸭子。", ("我也做。",)),
        ("打扫", "她还在打扫厨房呢。", ("她还在做呢。",)),
        ("爬", "我爬过。", ("我做过。",)),
        ("游", "你们游吗？", ("你们做吗？",)),
        ("记得", "有人记得，有人不记得。", ("有人做，有人不做。",)),
        ("爬", "我们爬不动", ("我们做不动",)),
        ("知道", "我知道昨天晚上在河边唱歌的人是谁。", ()),  # more than an object
        ("高兴", "我很高兴。", ()),  # 很做 is no Chinese
        ("做到", "我做到了。", ()),  # 做 says the same
        ("办", "我办了。", ()),
        ("错", "她做错了。", ()),
        ("了", "我等不了。", ()),
        ("有", "有吗？", ()),  # a reply
        ("有", "我也有。", ("我也做。",)),
        ("安排", "没有什么安排。", ()),  # 什么做 is no Chinese
        ("游泳", "游泳。", ()),  # nothing is left
        ("知道", "真的吗？", ()),
        ("", "真的吗？", ()),
    ],
)
def test_contrasts(verb: str, target: str, wrong: tuple[str, ...]) -> None:
    assert contrasts("ellipsis", "ellipsis", verb, "I do.", target) == wrong


def test_the_verb_of_an_item_is_found_in_its_context() -> None:
    item = Translate(
        id="a",
        source="So do I.",
        reference="我也喜欢。",
        context="My aunt likes pears.",
        reference_context="我姑姑喜欢梨。",
        tags={"set": "ellipsis"},
    )
    alone = Translate(id="b", source="So do I.", reference="我也喜欢。", tags={"set": "ellipsis"})
    suite = with_contrasts(Suite("s", (item, alone)))
    assert [i.contrast for i in suite.items if isinstance(i, Translate)] == [("我也做。",), ()]


def test_words_are_tagged() -> None:
    assert tagged("我也知道") == [("我", "r"), ("也", "d"), ("知道", "v")]
