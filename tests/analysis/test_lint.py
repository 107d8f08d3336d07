"""Lint finds what was planted, and the known faults of the public suites."""

from collections import Counter
from dataclasses import replace

import pytest

from boxpen.catalog import load_suite
from boxpen.catalog.lint.items import Finding, lint
from boxpen.items import Card, Choice, Entail, Suite, Translate

GOOD = Choice(id="g", candidates=("The cat drinks milk.", "The cat drinks steel."), gold=0)


def rules(*items, **card):
    found = lint(Suite("s", items, Card(**card)))
    return [f.rule for f in found]


def pair(a, b="Something else.", **fields):
    return Choice(id="p", candidates=(a, b), gold=0, **fields)


def test_a_clean_item():
    assert rules(GOOD, language="en") == []


@pytest.mark.parametrize(
    ("item", "rule"),
    [
        (pair("Same.", "Same."), "identical"),
        (pair("Same, yes.", "Same yes ."), "punctuation-only"),
        (pair("same", "ｓame".replace("ｓ", "Ｓ")), "case-only"),
        (pair("The Box.", "the box"), "case-only"),
        (Translate(id="t", source="s", reference="r", contrast=("r",)), "identical"),
        (Entail(id="e", premise="p", hypothesis="p", label="neutral"), "identical"),
        (pair(" "), "empty-field"),
        (pair("x", source=""), "empty-field"),
        (pair("x" * 2001), "long-field"),
        (replace(GOOD, gold=2), "label-range"),
        (replace(GOOD, gold=-1), "label-range"),
        (Entail(id="e", premise="p", hypothesis="h", label="yes"), "label-range"),
        (Choice(id="c", candidates=("a",), gold=0), "too-few-candidates"),
        (pair("x "), "edge-space"),
        (pair("x", context="\u3000x"), "edge-space"),
        *((pair(f"a {t} b"), "special-token") for t in ("[SEP]", "[mask]", "</s>", "_eos")),
        (pair("a<|endoftext|>"), "special-token"),
        (pair("Moscоw"), "mixed-script"),  # with a Cyrillic o
        (pair("Αthens"), "mixed-script"),  # with a Greek alpha
        (pair("a 箱 b", language="en"), "mixed-script"),
        (pair("only Latin", language="zh"), "mixed-script"),
        (pair("我们來了", language="zh"), "mixed-script"),
        (pair("ａbc"), "full-width"),
        (pair("well，yes", language="en"), "full-width"),
        *((pair(f"a{c}b"), "invisible-character") for c in "\u200b\ufeff\x07\ufffd\xad\u202e"),
        (pair("a\u200db", language="en"), "invisible-character"),
        (pair("a", tags={"word": "cat"}), "expected-word"),
        *(
            (pair(text, tags={"word": "当…时"}), "expected-word")
            for text in ("时间到了，当心。", "当你来了。", "来的时候。")
        ),
    ],
)
def test_planted_faults(item, rule):
    assert rule in rules(item)


@pytest.mark.parametrize(
    "text",
    ["10 μm of café crème", "naïve", "line\nbreak\tand tab", "Привет", "«Ωmega»", "some_eosin"],
)
def test_what_is_no_fault(text):
    assert rules(pair(text)) == []


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("当…的时候", "当你来的时候，我走了。"),
        ("从…开始", "从开始就好"),
        ("Not…But", "not me, but you"),
    ],
)
def test_the_parts_of_a_word_may_stand_apart(word, text):
    assert rules(pair(text, tags={"word": word})) == []


def test_language_dependent_rules_need_the_language():
    assert rules(pair("箱在笔里。", "笔在箱里，是的。")) == []
    assert rules(pair("箱在笔里。", "笔在箱里，是的。"), language="zh") == []
    assert rules(pair("x", "y", source="箱在笔里。"), language="en", source_language="zh") == []
    assert rules(pair("می\u200cخواهم", "نه"), language="fa") == []


def test_over_long_for_its_suite():
    items = [replace(GOOD, id=str(n), context=f"short {n}") for n in range(9)]
    long = replace(GOOD, id="long", context="w " * 99 + "w")
    found = [f for f in lint(Suite("s", (*items, long))) if f.rule == "long-field"]
    assert found == [
        Finding("long-field", "long", "has 199 characters in context, expected 140 at most")
    ]


def test_duplicates():
    again = replace(GOOD, id="h", tags={"set": "other"})
    findings = lint(Suite("s", (GOOD, again, GOOD)))
    assert [(f.rule, f.item) for f in findings] == [("duplicate-item", "h"), ("duplicate-id", "g")]
    assert "'g'" in findings[0].message


def block(name, *golds):
    return [
        replace(pair(f"{name} {n} yes", f"{name} {n} no"), id=f"{name}{n}", block=name, gold=gold)
        for n, gold in enumerate(golds)
    ]


def test_blocks():
    items = [*block("a", 0, 1), *block("b", 1, 0), *block("c", 0, 1), *block("d", 1, 0)]
    assert rules(*items) == []
    assert rules(*items, *block("e", 0)) == ["block-size"]
    assert rules(*items, *block("e", 0, 1, 1)) == ["block-size"]
    assert rules(*items, *block("e", 1, 1)) == ["block-label"]
    assert rules(*block("a", 0, 0), *block("b", 0, 0)) == []


def test_balance():
    items = [replace(pair(f"yes {n}", f"no {n}"), id=str(n), gold=n % 2) for n in range(40)]
    assert rules(*items) == []
    [finding] = lint(Suite("s", tuple(replace(item, gold=1) for item in items)))
    assert finding.rule == "unbalanced"
    assert finding.item is None
    assert "candidate 1 is gold in 40 of 40" in finding.message


def found_in(name, rule):
    return [f.item for f in lint(load_suite(name)) if f.rule == rule]


def test_known_faults_of_commonmt(mirror):
    # Rows 196 and 197 of CL-SA; 2, 23 and 55 of CT-SA; 326 and 327 of CT-SA, all from 0.
    identical = ["CL-SA-099a", "CL-SA-099b", "CT-SA-002a", "CT-SA-012b", "CT-SA-028b"]
    assert found_in("commonmt", "identical") == identical
    assert found_in("commonmt", "punctuation-only") == ["CT-SA-164a", "CT-SA-164b"]
    assert len(found_in("commonmt.LA", "edge-space")) == 161
    assert found_in("commonmt", "unbalanced") == [None]


def test_known_faults_of_cats(mirror):
    assert found_in("cats.sm", "identical") == ["sm-1069", "sm-1586"]  # rows 1068, 1585 from 0
    assert len(set(found_in("cats.hellaswag", "special-token"))) == 1000
    assert len(set(found_in("cats.smr", "edge-space"))) == 2021
    assert len(found_in("cats", "duplicate-item")) == 444  # arct1 within arct2


def test_known_faults_of_the_dual_tests(mirror):
    unflipped = Counter(item.partition("-")[0] for item in found_in("cats-dual", "block-label"))
    assert unflipped == {"sub": 1, "swap": 6}


def test_known_faults_of_senmaking(mirror):
    assert len(found_in("senmaking", "identical")) == 2


def test_known_faults_of_discourse(mirror):
    suite = load_suite("discourse")
    without = set(found_in("discourse", "expected-word"))
    counts = Counter(item.tags["class"] for item in suite if item.id in without)
    assert (counts["as-当"], counts["since-因为"], counts["since-既然"]) == (14, 6, 5)
    assert counts["她们"] == 3
