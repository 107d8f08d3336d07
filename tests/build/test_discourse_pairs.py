"""Rules for Chinese to English, and suites for pairs that a configuration describes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import boxpen
from boxpen.build.discourse.candidates import Candidate, candidates
from boxpen.build.discourse.phenomena.chinese_english import PHENOMENA
from boxpen.build.discourse.phenomena.english_subjects import (
    SUBJECTS,
    tense_of,
    with_subject,
    with_tense,
)
from boxpen.build.discourse.phenomena.pairs import built_in
from boxpen.build.discourse.phenomena.snippets import Snippet
from boxpen.build.discourse.stages import BUILDER
from boxpen.errors import BoxpenError
from boxpen.items import Translate

RIVER = ("去河边钓鱼了。", "went fishing by the river.")


def found(name: str, before: str, source: str, english: str, target: str) -> Candidate | None:
    snippet = Snippet("film", 2, before, source, english, target)
    return next((one for one in candidates(snippet, PHENOMENA) if one.phenomenon == name), None)


@pytest.mark.parametrize(
    ("before", "english", "cls", "others"),
    [
        ("他在哪里？", "Where is he?", "He", ("She", "I")),
        ("她在哪里？", "Where is she?", "She", ("He", "I")),
        ("他们在哪里？", "Where are they?", "They", ("We", "You")),
        ("你早上做什么了？", "What did you do this morning?", "I", ("He", "You")),
        ("我昨天做什么了？", "What did I do yesterday?", "You", ("She", "I")),
        ("你们早上做什么了？", "What did you two do?", "We", ("They",)),
    ],
)
def test_a_subject_that_chinese_drops(
    before: str, english: str, cls: str, others: tuple[str, ...]
) -> None:
    source, rest = RIVER
    made = found("pronoun", before, source, english, f"{cls} {rest}")
    assert made is not None
    assert made.cls == cls.lower()
    assert made.contrast == tuple(f"{other} {rest}" for other in others)


@pytest.mark.parametrize(
    ("before", "source", "english", "target"),
    [
        ("他在哪里？", "他去河边钓鱼了。", "Where is he?", "He went fishing."),  # it is said
        ("他和她在哪里？", "去河边钓鱼了。", "Where are both?", "He went fishing."),  # he or she
        ("门在哪里？", "去河边钓鱼了。", "Where is the door?", "He went fishing."),  # nobody
        ("你很累。", "去河边钓鱼了。", "You are tired.", "I went fishing."),  # who speaks?
        ("他在哪里？", "去河边钓鱼了。", "Where is he?", "He left his coat with her."),  # two
    ],
)
def test_no_subject_where_the_context_does_not_tell(
    before: str, source: str, english: str, target: str
) -> None:
    assert found("pronoun", before, source, english, target) is None


@pytest.mark.parametrize(
    ("before", "source", "english", "target", "cls", "wrong"),
    [
        ("你喜欢这把椅子吗？", "当然。", "Do you like this chair?", "Of course I do.",
         "answer-do", "Of course I am."),
        ("他是这里的面包师吗？", "是的。", "Is he the baker here?", "Yes, he is.",
         "answer-be", "Yes, he does."),
        ("她会修这辆车吗？", "会的。", "Can she repair this car?", "Yes, she can.",
         "answer-modal", "Yes, she is."),
        ("你去过那个小岛吗？", "没有。", "Have you been to that island?", "No, I haven't.",
         "answer-have", "No, I am not."),
    ],
)  # fmt: skip
def test_a_short_answer(
    before: str, source: str, english: str, target: str, cls: str, wrong: str
) -> None:
    made = found("ellipsis", before, source, english, target)
    assert made is not None
    assert (made.cls, made.contrast) == (cls, (wrong,))


def test_no_short_answer_where_chinese_asks_with_another_verb() -> None:
    assert (
        found("ellipsis", "他是面包师，对吗？", "是的。", "Is he a baker?", "Yes, he is.") is None
    )
    assert (
        found("ellipsis", "他会来这里吗？", "是的。", "Does he come here?", "Yes, he does.") is None
    )


@pytest.mark.parametrize(
    ("before", "source", "english", "target", "cls", "wrong"),
    [
        ("他昨天没来上班。", "他在家睡觉。", "He didn't come to work yesterday.",
         "He was sleeping at home.", "past", "He is sleeping at home."),
        ("明天早上我们出发。", "我带面包。", "We will leave tomorrow morning.",
         "I'll bring bread.", "future", "I brought bread."),
    ],
)  # fmt: skip
def test_a_tense_that_chinese_does_not_show(
    before: str, source: str, english: str, target: str, cls: str, wrong: str
) -> None:
    made = found("tense", before, source, english, target)
    assert made is not None
    assert (made.cls, made.contrast) == (cls, (wrong,))
    assert made.word in ("was", "'ll")
    marked = source.replace("我", "我会").replace("在家", "刚才在家")
    assert found("tense", before, marked, english, target) is None


@pytest.mark.parametrize(
    ("sentence", "old", "new", "expected"),
    [
        ("He is late.", "he", "they", "They are late."),
        ("They've been there.", "they", "she", "She's been there."),
        ("Did she call?", "she", "i", "Did I call?"),
        ("I never lie.", "i", "she", "She never lies."),
        ("We sold our boat.", "we", "they", "They sold their boat."),
        ("He put it down.", "he", "they", None),  # 'put': which tense?
        ("She lost her keys.", "she", "he", None),  # 'her': his or him?
    ],
)
def test_another_subject(sentence: str, old: str, new: str, expected: str | None) -> None:
    assert with_subject(sentence, old, new) == expected


@given(st.sampled_from(SUBJECTS), st.sampled_from(SUBJECTS), st.sampled_from(["sold", "will sell"]))
def test_another_subject_and_back(old: str, new: str, verb: str) -> None:
    sentence = f"{'I' if old == 'i' else old.title()} {verb} the boat."
    other = with_subject(sentence, old, new)
    assert (other is None) == (old == new)
    assert other is None or with_subject(other, new, old) == sentence


@pytest.mark.parametrize(
    ("sentence", "tense", "other"),
    [
        ("She walked home.", "past", "She walks home."),
        ("It will rain.", "future", "It rained."),
        ("I'll be there.", "future", "I was there."),
        ("He liked music.", None, None),  # he may still
        ("They won't wait.", None, None),  # not the past of 'win'
        ("She walked home because it rained.", None, None),
    ],
)
def test_another_tense(sentence: str, tense: str | None, other: str | None) -> None:
    assert tense_of(sentence) == tense
    assert tense is None or with_tense(sentence, tense) == other


def test_regions_do_not_matter() -> None:
    assert built_in("zh_CN", "en-GB") == built_in("zh", "en") != ()
    assert built_in("de", "en") == ()


GERMAN = """\
builder = "discourse"
name = "toy"
folder = "out"
source_language = "de"
target_language = "en"

[[texts]]
name = "films"
tsv = "films.tsv"

[[phenomena]]
name = "er"
source = ["er"]
classes = {person = ["he"], thing = ["it"]}
hints = {person = ["Bruder"], thing = ["Tisch"]}
"""
LINES = [
    ("Wo ist der Tisch geblieben?", "Where did the table go?"),
    ("Er steht im Keller.", "It is in the cellar."),
    ("Wo ist dein Bruder heute?", "Where is your brother today?"),
    ("Er schläft im Keller.", "He sleeps in the cellar."),
]


def _config(folder: Path, text: str) -> Path:
    rows = (f"a\t{n}\t{de}\t{en}\n" for n, (de, en) in enumerate(LINES))
    (folder / "films.tsv").write_text("".join(rows), "utf-8")
    (folder / "toy.toml").write_text(text, "utf-8")
    return folder / "toy.toml"


def test_a_configuration_is_enough_for_another_pair(tmp_path: Path) -> None:
    list(BUILDER.runner(BUILDER.load(_config(tmp_path, GERMAN))).run(None))
    suite = boxpen.load_suite(tmp_path / "out" / "toy.jsonl")
    assert (suite.card.source_language, suite.card.language) == ("de", "en")
    items = [item for item in suite if isinstance(item, Translate)]
    assert [(i.tags["class"], i.context, i.reference, i.contrast) for i in items] == [
        ("person", LINES[2][0], "He sleeps in the cellar.", ("It sleeps in the cellar.",)),
        ("thing", LINES[0][0], "It is in the cellar.", ("He is in the cellar.",)),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GERMAN[GERMAN.index("[[phenomena]]") :], "", "phenomena is missing: .* for de-en, only"),
        ('"de"', '"german!"', "source_language is 'german!', expected the code of a language"),
        ('target_language = "en"', 'target_language = "de-AT"', "target_language is 'de-AT'"),
        ('thing = ["it"]', 'thing = ["it", "its"]', r"classes\.thing has 2 word\(s\), expected 1"),
        ('thing = ["it"]', 'thing = ["He"]', r"classes\.thing has 'He', which person has too"),
        (', thing = ["it"]', "", "classes has 1, expected two or more"),
        ('["Tisch"]', '[" "]', r"hints\.thing has an empty word"),
        ('thing = ["Tisch"]', 'thin = ["Tisch"]', r"hints\.thin', did you mean 'thing'"),
        ('name = "er"', 'name = "e r"', "name is 'e r', expected letters"),
        ('hints', 'sample = 0\nhints', "expected 1 or more"),
    ],
)  # fmt: skip
def test_a_bad_configuration(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GERMAN
    with pytest.raises(BoxpenError, match=message) as caught:
        BUILDER.load(_config(tmp_path, GERMAN.replace(old, new)))
    assert "\n" not in str(caught.value)


def test_names_that_are_taken(tmp_path: Path) -> None:
    chinese = GERMAN.replace('"de"', '"zh"')
    with pytest.raises(BoxpenError, match=r"phenomena\[0\]\.name is 'tense', which is in use"):
        BUILDER.load(_config(tmp_path, chinese.replace('name = "er"', 'name = "tense"')))
    with pytest.raises(BoxpenError, match=r"phenomena\[0\]\.classes has 'he', a class of another"):
        BUILDER.load(_config(tmp_path, chinese.replace("person", "he")))
