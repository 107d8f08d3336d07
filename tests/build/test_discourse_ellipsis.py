"""Verb phrases that English leaves out and Chinese repeats."""

from __future__ import annotations

import pytest

from boxpen.build.discourse.candidates import candidates
from boxpen.build.discourse.contrast import with_contrasts
from boxpen.build.discourse.phenomena.ellipsis import auxiliary, ellipsis, repeated, tagged
from boxpen.build.discourse.phenomena.english_chinese import PHENOMENA, contrasts
from boxpen.build.discourse.phenomena.snippets import Snippet
from boxpen.catalog import load_suite
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
    [candidate] = candidates(snippet, PHENOMENA)
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
    ("verb", "target", "before", "wrong"),
    [
        # Another verb of the context, taken up by mistake.
        ("修", "我爷爷能修。", "我想把钟卖掉，可没有人能修。", ("我爷爷能卖掉。",)),
        ("哭", "我们家的从来不哭。", "宝宝洗澡的时候哭。", ("我们家的从来不洗澡。",)),
        ("喂", "我也喂鸭子。", "她走了，我在喂鸭子。", ("我也走。",)),
        ("见", "我没见过。", "他们结婚了，你见过她吗？", ("我没结婚过。",)),
        ("爬", "我们爬不动", "你们走吧，别爬了", ("我们走不动",)),
        # 做 for a state, where the context has no other verb.
        ("记得", "有人记得，有人不记得。", "谁记得他？", ("有人做，有人不做。",)),
        ("有", "我也有。", "他有一把伞。", ("我也做。",)),
        ("喜欢", "我也喜欢。", "我姑姑喜欢梨。", ("我也做。",)),
        # For a deed 做 may be right.
        ("抽烟", "我也不抽烟。", "我叔叔不抽烟。", ()),
        ("打扫", "她还在打扫厨房呢。", "她在打扫厨房吗？", ()),
        # Both verbs are right where one leads to the other.
        ("游泳", "我也游泳。", "他喜欢游泳。", ()),
        ("帮", "我帮。", "你来帮他吗？", ()),
        ("知道", "我知道昨天晚上在河边唱歌的人是谁。", "你知道吗？", ()),  # more than an object
        ("高兴", "我很高兴。", "你走了，他高兴吗？", ()),  # 很走 is no Chinese
        ("做到", "我做到了。", "你做到了吗？", ()),
        ("办", "我办了。", "你办了吗？", ()),
        ("错", "她做错了。", "她做错了吗？", ()),
        ("了", "我等不了。", "你等不了吗？", ()),
        ("有", "有吗？", "我有三把伞。", ()),  # a reply
        ("安排", "没有什么安排。", "你有什么安排？", ()),
        ("游泳", "游泳。", "你游泳吗？", ()),  # nothing is left
        ("知道", "真的吗？", "我知道。", ()),
        ("", "真的吗？", "我知道。", ()),
    ],
)
def test_contrasts(verb: str, target: str, before: str, wrong: tuple[str, ...]) -> None:
    assert contrasts("ellipsis", "ellipsis", verb, "I do.", target, before) == wrong


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


def test_items_with_contrasts_keep_them_whatever_their_class() -> None:
    suite = load_suite("starter.discourse")  # with 'if', which the builder does not find
    assert with_contrasts(suite).items == suite.items


def test_words_are_tagged() -> None:
    assert tagged("我也知道") == [("我", "r"), ("也", "d"), ("知道", "v")]
