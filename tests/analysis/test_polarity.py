"""Negation, the strict criterion of ellipsis, and what is said instead."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen import load_suite
from boxpen.analysis.discourse.chinese import read
from boxpen.analysis.discourse.class_judge import judge
from boxpen.analysis.discourse.confusions import confusions
from boxpen.analysis.discourse.polarity import denied
from boxpen.analysis.discourse.renderings import Rendering, ruling_of
from boxpen.analysis.discourse.ruling import OUTCOMES, Hit
from boxpen.report.discourse.confusions import confusion_csv, confusion_grid

R, W, C = OUTCOMES
ELLIPSES = list(load_suite("starter.discourse").where(set="ellipsis"))


@pytest.mark.parametrize(
    ("text", "verb", "expected"),
    [
        ("可是我丈夫没去过。", "去", True),
        ("我丈夫去过。", "去", False),
        ("不，我会去的。", "去", False),  # another clause
        ("没人去过那儿。", "去", True),
        ("我从来没有见过。", "见", True),
        ("我找不到。", "找", True),
        ("我们不得不走。", "走", False),
        ("我不会不来。", "来", False),
        ("不过我去了。", "去", False),
        ("我特别喜欢。", "喜欢", False),
        ("非去不可。", "去", False),
        ("没错，我去了", "去", False),
        ("别碰它。", "碰", True),
        ("你去不去？", "去", None),
        ("难道他不知道？", "知道", None),
        ("我讨厌它。", "讨厌", True),  # as 不喜欢
        ("我没有。", "没有", True),
        ("我不同意。", "同意", True),  # 不同 denies nothing
        ("我还没准备。", "准备", True),
        ("我没错过。", "错过", True),
        ("我不过去。", "过去", True),
        ("我看不见。", "看", True),
        ("我打不过他。", "打", True),
        ("我不见他。", "见", True),
        ("我无意伤害你。", "伤害", True),
        ("别说了。", "说", True),
        ("我们不同，我去。", "去", False),
        ("他无意中听到了。", "听", False),
        ("毫无疑问我知道。", "知道", False),
        ("他无疑知道。", "知道", False),
        ("不幸的是他知道。", "知道", False),
        ("不用说我知道。", "知道", False),
        ("不用说了。", "说", True),
        ("不少人知道。", "知道", False),
        ("我未婚妻知道。", "知道", False),
        ("没想到他知道。", "知道", False),
        ("我没想到。", "想到", True),
        ("不瞒你说我知道。", "知道", False),
        ("不——我知道。", "知道", False),
        ("不、我知道。", "知道", False),
        ("“不”我知道。", "知道", False),
        ("毫无疑问我不知道。", "知道", True),
    ],
)
def test_what_denies_a_verb(text: str, verb: str, expected: bool | None) -> None:
    assert denied(read(text), Hit(verb, text.index(verb) + 1)) is expected


@given(st.lists(st.sampled_from(["不", "没", "不会", "也", "从来", "真"]), max_size=4))
def test_two_negations_cancel_each_other(words: list[str]) -> None:
    text = "我" + "".join(words) + "哭"
    found = denied(read(text), Hit("哭", len(text)))
    if found is not None:  # 没…没 may look like 去不去
        assert found is (sum("不" in word or "没" in word for word in words) % 2 == 1)


def ruled(source: str, text: str, reference: str, before: str, context: str = ""):
    return judge(
        "ellipsis", "ellipsis", source=source, translation=text, reference=reference,
        reference_context=before, context=context,
    )  # fmt: skip


HAS = ("But my husband has.", "可是我丈夫去过。", "我没去过那座岛。", "I have never been there.")
NOT = ("Neither do I.", "我也不知道。", "她不知道路。", "She doesn't know the way.")
WILL = ("We will.", "我们会等的。", "请等一等。", "Please wait.")
ASKED = ("Don't you?", "你不知道吗？", "我不知道。", "I don't know.")


@pytest.mark.parametrize(
    ("item", "text", "outcome", "strict", "instead"),
    [
        (HAS, "可是我丈夫去过。", R, R, ""),
        (HAS, "可是我丈夫没去过", W, W, "negation added"),
        (NOT, "我也不知道。", R, R, ""),
        (NOT, "我也不清楚", R, R, ""),
        (NOT, "我也知道。", W, W, "negation lost"),
        (NOT, "我也是。", R, W, ""),  # Chinese needs no verb; the strict criterion does
        (NOT, "我也不做。", W, W, "做"),
        (WILL, "我们会等。", R, R, ""),
        (WILL, "我们会的。", R, W, ""),
        (WILL, "我们不会的。", W, W, "negation added"),
        (WILL, "我们不会等。", W, W, "negation added"),
        (ASKED, "你知道吗？", R, R, ""),  # it asks for a yes either way
        (NOT, "", W, W, ""),
    ],
)
def test_polarity_and_the_strict_criterion(item, text, outcome, strict, instead) -> None:
    source, reference, before, context = item
    ruling = ruled(source, text, reference, before, context)
    assert (ruling.outcome, ruling.strict, ruling.instead) == (outcome, strict, instead), ruling


@pytest.mark.parametrize("aside", ["毫无疑问", "不——", "不用说"])
def test_what_stands_before_a_right_translation_denies_nothing(aside: str, mirror) -> None:
    for item in load_suite("discourse").where(set="ellipsis"):
        known = (item.reference, item.reference_context, item.context)
        bare = ruled(item.source, item.reference, *known)
        assert ruled(item.source, aside + item.reference, *known).outcome == bare.outcome, item.id


def test_apostrophes_of_both_kinds_are_read_alike() -> None:
    source, reference, before, context = ASKED
    for text in ("你知道吗？", "你不知道吗？"):
        curly = ruled(source.replace("'", "’"), text, reference, before, context.replace("'", "’"))
        assert curly == ruled(source, text, reference, before, context)


@pytest.mark.parametrize("item", ELLIPSES, ids=lambda item: item.id)
def test_a_negation_that_is_lost_or_added_is_wrong(item) -> None:
    right = item.reference
    other = item.contrast[0]
    start = next(n for n, (a, b) in enumerate(zip(right, other, strict=False)) if a != b)
    bare = re.sub("不会|[不没]", "", right[:start]) + right[start:]
    turned = bare if bare != right else f"{right[:start]}没{right[start:]}"
    ruling = ruled(item.source, turned, right, item.reference_context, item.context)
    assert ruling.outcome == W, (turned, ruling)
    assert ruling.instead.startswith("negation")


@given(st.sampled_from(ELLIPSES), st.text(alphabet="我也是会的不没做知道走吃哭，。吗", max_size=8))
def test_what_is_right_by_the_strict_criterion_is_right(item, text) -> None:
    ruling = ruled(item.source, text, item.reference, item.reference_context, item.context)
    assert ruling.strict in OUTCOMES
    assert ruling.strict != R or ruling.outcome == R
    assert ruling.outcome == R or ruling.strict == ruling.outcome


def made(number: int, cls: str, source: str, reference: str, text: str) -> Rendering:
    of = "ellipsis" if cls == "ellipsis" else "connective" if "-" in cls else "pronoun"
    before = "她不知道。" if of == "ellipsis" else "以前。"
    return Rendering(
        "one", f"i{number}", of, cls, "She doesn't know.", source, before, reference, text
    )


COOK = ("He paints while I cook.", "他画画，而我做饭。")
FELL = ("He fell while I cooked.", "当我做饭的时候，他摔倒了。")
MADE = [
    made(1, "while-而", *COOK, "当我做饭的时候，他画画。"),
    made(2, "while-而", *COOK, "我做饭时他画画。"),
    made(3, "while-而", *COOK, "他画画，而我做饭。"),
    made(4, "while-而", *COOK, "他画画，因为我做饭。"),
    made(5, "while-当", *FELL, "他摔倒了，而我做饭。"),
    made(6, "你们", "Are you both in?", "你们在吗？", "你在吗？"),
    made(7, "ellipsis", "Neither do I.", "我也不知道。", "我也不做。"),
    made(8, "ellipsis", "Neither do I.", "我也不知道。", "不。"),
]


def test_confusions_keep_the_senses_of_a_word_apart() -> None:
    found = confusions({one: ruling_of(one) for one in MADE})
    said = {(row.word, row.cls): (row.translations, row.right, row.instead) for row in found}
    assert said == {
        ("you", "你们"): (1, 0, {"你": 1}),
        ("while", "while-而"): (4, 1, {"当": 2, "因为": 1}),
        ("while", "while-当"): (1, 0, {"而": 1}),
        ("do", "ellipsis"): (2, 0, {"": 1, "做": 1}),
    }
    shown = confusion_grid(found).lines
    assert ["while → 而", "当 2, 因为 1", "4", "1", "3", "0"] in shown
    assert ["do → the verb", "(nothing) 1, 做 1", "2", "0", "2", "0"] in shown
    rows = list(csv.DictReader(io.StringIO(confusion_csv(found))))
    assert {"system": "one", "english": "while", "class": "while-而", "instead": "当", "count": "2",
            "translations": "4"} in rows  # fmt: skip


@given(st.lists(st.sampled_from(MADE), unique=True))
def test_confusions_add_up(some: list[Rendering]) -> None:
    rulings = {one: ruling_of(one) for one in some}
    found = confusions(rulings)
    assert sum(row.translations for row in found) == len(some)
    for row in found:
        wrong = sum(row.instead.values())
        assert row.right + row.cannot_tell + wrong == row.translations
        twin = [
            ruling.instead
            for one, ruling in rulings.items()
            if one.cls == row.cls and ruling.outcome == W
        ]
        assert dict(row.instead) == {said: twin.count(said) for said in twin}
