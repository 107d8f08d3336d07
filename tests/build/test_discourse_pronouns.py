"""Pronouns of two neighbouring sentences, and their wrong translations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.build.discourse.candidates import candidates
from boxpen.build.discourse.contrast import with_contrasts
from boxpen.build.discourse.phenomena.english_chinese import PHENOMENA, contrasts
from boxpen.build.discourse.phenomena.pronouns import CLASSES, class_word, pronoun
from boxpen.build.discourse.phenomena.snippets import Snippet
from boxpen.items import Choice, Suite, Translate


def _snippet(context: str, source: str, target: str, context_target: str = "") -> Snippet:
    # A context of a fitting length, where the test is not about it.
    return Snippet(
        "a film", 2, context, source, context_target or "中" * len(context.split()), target
    )


@pytest.mark.parametrize(
    ("context", "source", "target", "cls", "named"),
    [
        ("Sit down, children.", "You have worked hard.", "你们很努力。", "你们", "children"),
        ("We were late for the train.", "Where did you sleep?", "你们睡在哪儿？", "你们", "we"),
        ("I saw Anna and Ben.", "Where did you eat?", "你们在哪吃的？", "你们", "Anna and Ben"),
        ("Martha, the soup is cold.", "You should warm it up.", "你该把汤热一热。", "你", "Martha"),
        ("I lost my keys again.", "Where did you look?", "你在哪儿找过？", "你", "i"),
        ("The nuns walk to the well.", "They carry jars.", "她们提着罐子。", "她们", "nuns"),
        ("Mary and Julia went.", "I can see them.", "我看得见她们。", "她们", "Mary and Julia"),
        ("The geese are there.", "Nobody moves them.", "谁也不赶它们。", "它们", "geese"),
        ("I bought these lamps.", "They cost a fortune.", "它们贵得很。", "它们", "lamps"),
        ("The farmers are angry.", "They want more money.", "他们要更多的钱。", "他们", "farmers"),
        ("Mary and Tom went.", "I can see them.", "我看得见他们。", "他们", "Mary and Tom"),
    ],
)  # fmt: skip
def test_the_context_names_who_is_meant(
    context: str, source: str, target: str, cls: str, named: str
) -> None:
    found = pronoun(_snippet(context, source, target))
    assert found is not None
    assert found.cls == cls
    assert f"→ {cls}; context has '{named}'" in found.reason
    assert found.score >= 0.6


@pytest.mark.parametrize(
    ("context", "source", "target"),
    [
        ("You swim too far out.", "You will catch cold.", "你们会着凉的。"),  # both have "you"
        ("They are girls.", "I like them.", "我喜欢她们。"),  # both have "they"
        ("The girls left early.", "They took the bus.", "你们坐了车。"),  # they is not 你们
        ("The girls left early.", "They told you, sir.", "她们告诉你了。"),  # two classes
        (
            "Martha, the soup is cold.",
            "You should warm it up.",
            "您该把汤热一热。",
        ),  # no class word
        (
            "Martha, the soup is cold.",
            "You look so small.",
            "你俩看着真小。",
        ),  # two people, no 你们
        ("The sky is grey today.", "They took the bus.", "她们坐了车。"),  # nobody is named
        ("Sir, I have three children.", "Will you sit down?", "你们坐下吗？"),  # spoken of, not to
        ("I love the lamps.", "The rooms themselves are dark.", "它们很暗。"),  # no pronoun
        ("Mary and Julia left.", "They took the bus.", "他们坐了车。"),  # two women are no 他们
    ],
)
def test_no_candidate(context: str, source: str, target: str) -> None:
    assert pronoun(_snippet(context, source, target)) is None


@pytest.mark.parametrize(
    ("worse", "target", "objection"),
    [
        ("You two have worked hard.", "你们很努力。", "'you two' gives it away"),
        ("Thank you so much indeed.", "太谢谢你们了。", "an idiom"),
        ("You have worked hard", "你们很努力。", "the sentence may go on"),
        ("You have worked hard.", "你们" + "很" * 40, "the translation is of another length"),
        ("♪ You have worked hard. ♪", "你们很努力。", "it is sung"),
    ],
)
def test_objections_lower_the_score(worse: str, target: str, objection: str) -> None:
    context = "Come here, children, and sit down."
    good = pronoun(_snippet(context, "You have worked hard.", "你们很努力。"))
    bad = pronoun(_snippet(context, worse, target))
    assert good is not None
    assert bad is not None
    assert bad.score < good.score
    assert f"but {objection}" in bad.reason
    assert "but" not in good.reason


@given(
    st.lists(st.sampled_from([*CLASSES, "您", "迷你", "你俩", "好", "我们", "，", "a"]), max_size=8)
)
def test_the_class_word_is_the_only_kind(pieces: list[str]) -> None:
    # Slow twin: cut the longest known piece off the front, again and again.
    text, kinds = "".join(pieces), set()
    rest = text
    while rest:
        for piece in ("迷你们", "你们", "他们", "她们", "它们", "迷你", "你俩", "你"):
            if rest.startswith(piece):
                kinds |= {"你们"} if piece == "迷你们" else {piece} & set(CLASSES)
                rest = rest[len(piece) :]
                break
        else:
            rest = rest[1:]
    assert class_word(text) == (kinds.pop() if len(kinds) == 1 else None)


@pytest.mark.parametrize(
    ("cls", "target", "wrong"),
    [
        ("你", "你的伞在你手里。", ("你们的伞在你们手里。",)),
        ("你", "你是个天才。", ()),  # 你们是个: one and several at once
        ("你们", "你们的船漏水了。", ("你的船漏水了。",)),
        ("你们", "你们俩都累了。", ("你都累了。",)),
        ("你们", "你俩累了。", ("你累了。",)),
        ("你们", "你们中谁会游泳？", ()),
        ("她们", "她们走了。", ("他们走了。", "它们走了。")),
        ("它们", "我喂它们。", ("我喂他们。", "我喂她们。")),
        ("它们", "你喂它们。", ("你喂他们。", "你喂她们。")),
        ("他们", "我喂它们。", ()),  # the reference does not show the class
    ],
)
def test_contrasts(cls: str, target: str, wrong: tuple[str, ...]) -> None:
    assert contrasts("pronoun", cls, cls, "You see them.", target) == wrong


def test_a_candidate_has_its_contrast() -> None:
    snippet = _snippet("The nuns walk to the well.", "They carry jars.", "她们提着罐子。")
    [found] = candidates(snippet, PHENOMENA)
    assert (found.snippet, found.phenomenon, found.cls, found.word) == (
        snippet,
        "pronoun",
        "她们",
        "她们",
    )
    assert found.contrast == ("他们提着罐子。", "它们提着罐子。")
    assert 0 < found.score <= 1


def test_a_candidate_without_contrast_says_so() -> None:
    [found] = candidates(
        _snippet("Martha, look at this.", "You are a genius.", "你是个天才。"), PHENOMENA
    )
    assert found.contrast == ()
    assert "no contrast" in found.reason


def test_a_suite_gets_contrasts_where_it_has_none() -> None:
    tags = {"set": "pronoun", "class": "它们"}
    bare = Translate(id="a", source="I feed them.", reference="我喂它们。", tags=tags)
    kept = Translate(
        id="b", source="I feed them.", reference="我喂它们。", contrast=("x",), tags=tags
    )
    unlike = Translate(id="c", source="I feed them.", reference="我喂鸭子。", tags=tags)
    other = Translate(id="d", source="I feed them.", reference="我喂它们。", tags={"set": "news"})
    choice = Choice(id="e", candidates=("a", "b"), gold=0)
    suite = with_contrasts(Suite("s", (bare, kept, unlike, other, choice)))
    assert [getattr(i, "contrast", None) for i in suite.items] == [
        ("我喂他们。", "我喂她们。"), ("x",), (), (), None,
    ]  # fmt: skip
    assert suite.items[1:] == (kept, unlike, other, choice)
