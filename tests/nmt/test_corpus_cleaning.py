"""Cleaning: every rule by hand, all of them against a slow twin, and nothing of a suite left."""

import itertools
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.config import check_config
from boxpen.errors import ConfigError, NmtError
from boxpen.items import Card, Choice, Entail, Suite, Translate
from boxpen.text.cleaning import CleanConfig, Cleaner
from boxpen.text.corpus import Pair
from boxpen.text.normal import key, normalised
from boxpen.text.overlap import Found, overlap_of


def pairs_of(*sides):
    return [Pair(s, t, f"d{n % 2}", n, "toy") for n, (s, t) in enumerate(sides, 1)]


def cleaned(sides, config=None, excluded=None):
    cleaner = Cleaner(config or CleanConfig(), "zh", "en", excluded)
    kept = [p.line for p in cleaner.clean(pairs_of(*sides))]
    return kept, {rule: n for rule, n in cleaner.counts.items() if n}


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ("我们走吧。", "Let's go.", None),
        ("。", "Let's go.", "empty"),
        ("我们走吧", "♪", "empty"),
        ("我们\ufffd走吧", "Let's go.", "garbled"),
        ("我们走吧\\r}", "Let's go.", "garbled"),
        ("OK", "<i>OK</i>", "copy"),
        ("我们走吧", "?!", "short"),
        ("我们走吧" * 130, "Let's go now, friends. " * 20, "long"),
        ("走", "Let's go.", None),  # short lines may differ much
        ("走", "Let us all go there together.", None),  # 29 + 10 = 3 x (3 + 10)
        ("走", "Let us all go there, together.", "ratio"),
        ("我们一起走到那边去吧" * 3, "Let us go.", "ratio"),
        ("我们走吧", "我们一起走吧", "language"),
        ("Let's go", "Go, go!", "language"),
        ("Ann去Rome", "Ann goes to Rome.", "language"),  # one in three
        ("安娜去Rome", "Ann goes to Rome.", None),
        ("1985", "1985.", None),
    ],
)
def test_the_rules(source, target, rule):
    kept, counts = cleaned([(source, target)])
    assert counts == {"read": 1, rule or "kept": 1}
    assert kept == ([] if rule else [1])


def test_what_is_kept_is_normalised_and_knows_its_place():
    cleaner = Cleaner(CleanConfig(), "zh", "en")
    pairs = [Pair("走吧,走。", "- Let 's go !", "d", 7, "toy")]
    assert list(cleaner.clean(pairs)) == [Pair("走吧 走", "Let's go!", "d", 7, "toy")]
    cleaner = Cleaner(CleanConfig(punctuation="keep"), "zh", "en")
    assert list(cleaner.clean(pairs)) == [Pair("走吧，走。", "Let's go!", "d", 7, "toy")]
    cleaner = Cleaner(CleanConfig(normalise=False), "zh", "en")
    assert list(cleaner.clean(pairs)) == pairs


def test_counts_stand_in_the_order_of_the_rules():
    assert " ".join(Cleaner(CleanConfig(), "zh", "en").counts) == (
        "read empty garbled copy short long ratio language overlap duplicate kept"
    )


@pytest.mark.parametrize("normalise", [True, False])
def test_duplicates_are_the_same_but_for_case_and_punctuation(normalise):
    sides = [
        ("走吧，走。", "Let's go!"),
        ("走吧 走", "let 's go"),
        ("走吧走", "We go."),  # another translation
        ("走吧走", "Lets go"),
    ]
    config = CleanConfig(normalise=normalise)
    assert cleaned(sides, config) == ([1, 3], {"read": 4, "duplicate": 2, "kept": 2})
    config = CleanConfig(normalise=normalise, duplicates="keep")
    assert cleaned(sides, config)[0] == [1, 2, 3, 4]


def test_duplicates_are_known_from_corpus_to_corpus():
    cleaner = Cleaner(CleanConfig(), "zh", "en")
    assert len(list(cleaner.clean(pairs_of(("走吧", "Let's go."))))) == 1
    assert len(list(cleaner.clean(pairs_of(("走吧", "Let's go."))))) == 0
    assert cleaner.counts["duplicate"] == 1


def test_fewest_tokens():
    sides = [("走吧", "Go now"), ("走", "Go now"), ("走吧", "Go"), ("Ann走", "It's Ann")]
    assert cleaned(sides, CleanConfig(min_tokens=2))[0] == [1, 4]


def test_rules_that_are_switched_off():
    sides = [
        ("OK", "OK"),
        ("我们走吧", "我们走"),
        ("走", "Let us all go there together, friends now."),
    ]
    config = CleanConfig(drop_copies=False, min_script=0, max_ratio=100)
    assert cleaned(sides, config)[0] == [1, 2, 3]


def test_languages_without_a_known_script_are_not_checked():
    cleaner = Cleaner(CleanConfig(), "xx", "ru")
    sides = [("ᐊᐃ ᐅ", "привет"), ("ᐊᐃ ᐅ", "hello"), ("hello", "привет Anna")]
    assert [p.line for p in cleaner.clean(pairs_of(*sides))] == [1, 3]
    assert cleaner.unchecked == ["xx"]
    assert Cleaner(CleanConfig(), "xx-Cans", "xx").unchecked == ["xx"]
    assert Cleaner(CleanConfig(min_script=0), "xx", "ru").unchecked == []
    assert Cleaner(CleanConfig(), "zh-TW", "eng").unchecked == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"min_tokens": 0}, "min_tokens is 0, expected 1 or more"),
        ({"max_characters": 0}, "max_characters is 0, expected 1 or more"),
        ({"max_ratio": 0.5}, "max_ratio is 0.5, expected 1 or more"),
        ({"min_script": 1.5}, "min_script is 1.5, expected 0 to 1"),
    ],
)
def test_configurations_that_cannot_be(fields, message):
    with pytest.raises(ConfigError, match=message):
        check_config(CleanConfig, fields, "train.toml")


def test_settings():
    table = {"exclude": ["toy"], "max_ratio": 4, "duplicates": "keep", "punctuation": "keep"}
    assert check_config(CleanConfig, table, "train.toml, clean") == CleanConfig(
        exclude=("toy",), max_ratio=4.0, duplicates="keep", punctuation="keep"
    )


def test_suites_to_exclude_must_be_given():
    with pytest.raises(NmtError, match="cleaning excludes toy, but no texts of suites were given"):
        Cleaner(CleanConfig(exclude=("toy",)), "zh", "en")


TRANSLATED = Suite(
    "translated",
    (
        Choice(
            id="c",
            source="门没有锁好。",
            candidates=("The door was not locked.", "The gate did not lock."),
            gold=0,
            context="他昨天回家了。",
        ),
    ),
    Card(language="en", source_language="zh"),
)
INTO_CHINESE = Suite(
    "into-chinese",
    (
        Translate(
            id="t",
            source="Where is my hat?",
            reference="我的帽子呢？",
            context="It is cold outside.",
            reference_context="外面很冷。",
            contrast=("我的帽子在哪个国家？",),
        ),
        Translate(
            id="s", source="Yes.", reference="是的。", context="Oh no.", reference_context="哦不"
        ),
    ),
    Card(language="zh", source_language="en"),
)
ENGLISH = Suite(
    "english",
    (
        Choice(
            id="m",
            context="The ice melted because",
            candidates=("it was warm", "it was ice"),
            gold=0,
        ),
        Entail(
            id="e",
            premise="A man feeds his dog.",
            hypothesis="A dog gets food.",
            label="entailment",
        ),
    ),
    Card(language="en"),
)
SUITES = (TRANSLATED, INTO_CHINESE, ENGLISH)


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("门没有锁好", "Nobody had closed it.", ("translated", "source")),
        ("他昨天，回家了", "Home.", ("translated", "source")),
        ("大门没锁", "the gate did not lock", ("translated", "target")),
        ("门没有锁好！", "The door was not locked", ("translated", "both")),
        ("我的帽子呢", "My hat?", ("into-chinese", "source")),
        ("我的帽子在哪个国家", "In which country?", ("into-chinese", "source")),
        ("外面很冷", "Brr.", ("into-chinese", "source")),
        ("外边冷", "It is cold outside.", ("into-chinese", "target")),
        ("冰化了是因为", "The ice melted because", ("english", "target")),
        ("天暖", "It was warm.", ("english", "target")),
        ("狗有吃的", "A dog gets food.", ("english", "target")),
        ("有人喂狗", "A man feeds his dog", ("english", "target")),
        ("是的", "Yes!", ("into-chinese", "both")),
        ("是的", "That is so.", None),  # too short to tell of a test
        ("对", "Yes.", None),
        ("是的", "Oh no", ("into-chinese", "both")),  # they stand in one item
        ("我的帽子呢", "Yes.", ("into-chinese", "source")),
        ("门没锁", "It was open.", None),
    ],
)
def test_overlap(source, target, found):
    overlap = overlap_of(SUITES, "zh-CN", "en")
    assert overlap.find(key(source, "zh"), key(target, "en")) == (found and Found(*found))
    turned = overlap_of(SUITES, "en", "zh")
    swap = {"source": "target", "target": "source", "both": "both"}
    expected = found and Found(found[0], swap[found[1]])
    assert turned.find(key(target, "en"), key(source, "zh")) == expected


def test_short_texts_of_two_items_do_not_count():
    suite = Suite(
        "s",
        (
            Translate(id="1", source="是的", reference="Yes."),
            Translate(id="2", source="对", reference="Right."),
        ),
        Card(language="en", source_language="zh"),
    )
    overlap = overlap_of([suite], "zh", "en")
    assert overlap.find("是的", "right") is None
    assert overlap.find("对", "right") == Found("s", "both")


def test_a_text_of_unknown_language_counts_in_both():
    suite = Suite(
        "s", (Entail(id="1", premise="门没有锁好", hypothesis="It is not locked", label="neutral"),)
    )
    overlap = overlap_of([suite], "zh", "en")
    assert overlap.find("门没有锁好", "") == Found("s", "source")
    assert overlap.find("", "it is not locked") == Found("s", "target")


def test_overlaps_are_counted_by_suite_and_side():
    sides = [
        ("门没有锁好", "Nobody closed it."),
        ("门没有锁好", "It was open."),
        ("外边很冷", "It is cold outside."),
        ("是的", "Yes."),
        ("我们走吧", "Let's go."),
    ]
    cleaner = Cleaner(CleanConfig(exclude=("x",)), "zh", "en", overlap_of(SUITES, "zh", "en"))
    assert [p.line for p in cleaner.clean(pairs_of(*sides))] == [5]
    assert cleaner.counts["overlap"] == 4
    assert cleaner.overlaps == {
        "into-chinese, both": 1,
        "into-chinese, target": 1,
        "translated, source": 2,
    }


def naive(pairs, config, suites):
    """Clean as one would by hand: every pair against every text and every pair before it."""
    zh, en, together = [], [], []
    for item in itertools.chain.from_iterable(suites):
        texts = [getattr(item, f) for f in item.__slots__ if f not in ("id", "label", "block")]
        flat = [t for text in texts for t in (text if isinstance(text, tuple) else [text])]
        flat = [t for t in flat if isinstance(t, str)]
        chinese = [key(t, "zh") for t in flat if any("一" <= c <= "鿿" for c in t)]
        english = [key(t, "en") for t in flat if t.isascii()]
        zh, en = zh + chinese, en + english
        together += [(z, e) for z in chinese for e in english]
    kept, before = [], []
    for pair in pairs:
        source = normalised(pair.source, "zh", punctuation=config.punctuation)
        target = normalised(pair.target, "en", punctuation=config.punctuation)
        z, e = key(source, "zh"), key(target, "en")
        if not z or not e or source == target or "\ufffd" in source + target:
            continue
        if max(len(source), len(target)) > config.max_characters:
            continue
        long, short = sorted([3 * len(source) + 10, len(target) + 10])[::-1]
        if long / short > config.max_ratio:
            continue
        han = sum("一" <= c <= "鿿" for c in source)
        latin = len("".join(c if c.isascii() and c.isalpha() else " " for c in source).split())
        if han < latin or any("一" <= c <= "鿿" for c in target):
            continue
        if (z in zh and len(z) >= 4) or (e in en and len(e.split()) >= 3) or (z, e) in together:
            continue
        if config.duplicates == "drop" and (z, e) in before:
            continue
        before.append((z, e))
        kept.append(Pair(source, target, pair.doc, pair.line, pair.corpus))
    return kept


chinese = st.sampled_from(
    [
        "门没有锁好",
        "门没有锁好。",
        "是的",
        "走",
        "走！",
        "走吧 走",
        "OK",
        "Ann走",
        "Ann Lee走",
        "♪",
        "我\ufffd",
    ]
)
english = st.sampled_from(
    [
        "Yes.",
        "yes",
        "Let 's go",
        "Let's go!",
        "It was warm.",
        "OK",
        "门",
        "-",
        "Let us " * 9,
        "Oh no",
    ]
)
rows = st.lists(st.tuples(chinese, english), max_size=40)
configs = st.builds(
    CleanConfig,
    duplicates=st.sampled_from(["keep", "drop"]),
    punctuation=st.sampled_from(["keep", "space"]),
    max_characters=st.sampled_from([8, 500]),
    max_ratio=st.sampled_from([1.5, 3.0]),
)


@given(rows, configs)
@settings(deadline=None, max_examples=200)
def test_a_slow_twin_keeps_the_same_pairs(sides, config):
    pairs = pairs_of(*sides)
    cleaner = Cleaner(config, "zh", "en", overlap_of(SUITES, "zh", "en"))
    kept = list(cleaner.clean(iter(pairs)))
    assert kept == naive(pairs, config, SUITES)
    assert sum(cleaner.counts.values()) == 2 * len(pairs)  # read = dropped + kept
    assert [p.line for p in kept] == sorted(p.line for p in kept)


@given(rows, configs)
@settings(deadline=None, max_examples=100)
def test_no_text_of_a_suite_is_left_and_clean_stays_clean(sides, config):
    overlap = overlap_of(SUITES, "zh", "en")
    kept = list(Cleaner(config, "zh", "en", overlap).clean(pairs_of(*sides)))
    for pair in kept:
        assert key(pair.source, "zh") != key("门没有锁好", "zh")
        assert key(pair.target, "en") != "it was warm"
        assert (key(pair.source, "zh"), key(pair.target, "en")) != ("是的", "yes")
    assert list(Cleaner(config, "zh", "en", overlap).clean(kept)) == kept


def test_cleaning_needs_no_table_library():
    code = "import sys, boxpen.text.cleaning; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
