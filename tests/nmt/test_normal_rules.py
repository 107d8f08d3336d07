"""Rules that SentencePiece applies to raw text, against the form that training text has."""

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boxpen.nmt.data.normal_rules import compiled, compiled_rules, rules
from boxpen.text.normal import normalised

sentencepiece = pytest.importorskip("sentencepiece")

MODES = [("zh", "space"), ("zh", "keep"), ("en", "space"), ("de", "space")]
CHINESE = [
    *"好你他们我去買龙々",
    *"abIZ" * 2,
    *"013592" * 2,
    *"ＡＢ１２",
    *"  　",
    *",.!?;:，。！？；：、．︰﹐" * 2,
    *"…—–-－−·・•~～“”‘’「」『』«»\"'()（）《》〈〉【】〔〕%％/／$+=@é²℃♪",
    *["...", "……", "——", "。。。", "3.5", "4:30", "－５", "Wi-Fi", "a.com", "-1,000", "！”", "：“"],
]
# What the rules are said not to do: words of alternating width,
ALTERNATING = (
    r"[!-~][.．–－−-][Ａ-Ｚ]|[A-Za-z][.．–－−-][Ａ-Ｚ０-９]|[Ａ-Ｚ０-９][.．–－−-][A-Za-z]"
    r"|[Ａ-Ｚ][.．–－−-][!-~]|[Ａ-Ｚ][.–−-][Ａ-Ｚ０-９]|[０-９][.–−-][Ａ-Ｚ]|[A-Za-z0-9]−[A-Za-z]"
)
# and dashes at the start of a line or in mixed runs;
DASHES = r"^[\s♪]*[—–－−-]|[—–－−-]*(?:[–－−-][—–－−]|[—–－−][–－−-])[—–－−-]*\d"
# and, where marks are kept, dashes of speakers, spaces beside quotes, and mixed or parted runs.
QUOTE = '["“”「」『』«»]'
KEPT = (
    rf"\s{{3}}|\s{QUOTE}|{QUOTE}\s|♪|([—–－−-])(?!\1)[—–－−-]|[.?!．？！…︰—–－−-]\s+[—–－−-]"
    r"|\d\s+[:：]|[:：]\s+\d|([.．。…︰]|\.\.\.)\s*(?!\2)[.．。…︰]|([.．。…︰])\s+[.．。…︰]"
)
OUTSIDE = {
    "space": re.compile(f"{ALTERNATING}|{DASHES}"),
    "keep": re.compile(f"{ALTERNATING}|{DASHES}|{KEPT}"),
}
ENGLISH = [
    "the",
    "box",
    "I'm",
    "pen",
    "Tom’s",
    "3.5",
    "1,000",
    "e-mail",
    "4:30",
    "café",
    "cafe\u0301",
]


def applied(found, text):
    """Return what SentencePiece should make of a text: slow, and obvious."""
    out, i = "", 0
    while i < len(text):
        length = next(
            (n for n in range(32, 0, -1) if len(text) - i >= n and text[i : i + n] in found), 0
        )
        out += found[text[i : i + length]] if length else text[i]
        i += length or 1
    return re.sub(" +", " ", out).strip(" ")


@pytest.fixture(scope="module")
def normalisers():
    made = {}
    for mode in MODES:
        made[mode] = sentencepiece.SentencePieceNormalizer(
            model_proto=compiled_rules(*mode), remove_extra_whitespaces=True
        ).normalize
    return made


@pytest.mark.parametrize(
    ("raw", "spaced", "kept"),
    [
        ("没问题,都办好了。", "没问题 都办好了", "没问题，都办好了。"),
        ("没问题，都办好了", "没问题 都办好了", "没问题，都办好了"),
        ("你好 ， 世界 。", "你好 世界", "你好，世界。"),
        ("你来吗?!", "你来吗", "你来吗？！"),
        ("他说:“走吧!”她笑了", '他说 " 走吧 " 她笑了', '他说："走吧！"她笑了'),
        ('"好。""走!"', '" 好 " " 走 "', '"好。""走！"'),
        ("大家 — — 住“ 好 ” 了", '大家 住 " 好 " 了', '大家——住"好" 了'),
        ("等等……我——你", "等等 我 你", "等等……我——你"),
        ("等等...", "等等", "等等……"),
        ("等等。。。好", "等等 好", "等等……好"),
        ("买3...", "买3", "买3……"),
        ("我去.你去．", "我去 你去", "我去。你去。"),
        ("3.5元,4：30、3：2", "3.5元 4:30 3:2", "3.5元，4:30、3:2"),
        ("１．５和１，０００", "1.5和1 000", "1.5和1，000"),
        ("8:00-9:30,-5.5度", "8:00-9:30 -5.5度", "8:00-9:30，-5.5度"),
        ("４：30，1．５", "4:30 1.5", "4:30，1.5"),
        ("8：00－9：30", "8:00-9:30", "8:00-9:30"),
        ("北京-上海", "北京 上海", "北京-上海"),
        ("用Wi-Fi上a.com,行", "用Wi-Fi上a.com 行", "用Wi-Fi上a.com，行"),
        ("用Word.他不用", "用Word 他不用", "用Word.他不用"),
        ("F-16和3-D", "F-16和3-D", "F-16和3-D"),
        ("3--5天,3---5天", "3 5天 3 5天", "3——5天，3——5天"),
        ("1.2.3", "1.2 3", "1.2.3"),
        ("安娜・李和•王", "安娜·李和·王", "安娜·李和·王"),
        ("《红灯》、【注】(好)", "《红灯》 [注](好)", "《红灯》、[注](好)"),
        ("♪啦啦～♪", "啦啦", "啦啦~"),
        ("\ufeffＡｎｎ\u200b好　吗\t", "Ann好 吗", "Ann好 吗"),
        ("10²℃①", "10²℃①", "10²℃①"),
        ("。！？", "", "。！？"),
        ("漢字龙", "漢字龙", "漢字龙"),
    ],
)
def test_chinese(normalisers, raw, spaced, kept):
    assert (normalisers["zh", "space"](raw), normalisers["zh", "keep"](raw)) == (spaced, kept)
    for punctuation in ("space", "keep"):
        form = normalised(raw, "zh", punctuation=punctuation)
        assert normalisers["zh", punctuation](form) == normalisers["zh", punctuation](raw)


@pytest.mark.parametrize("raw", ["——5个人", "--5个人", "—5.5元"])
def test_a_number_behind_a_speakers_dash_is_not_below_zero(normalisers, raw):
    assert normalisers["zh", "space"](raw) == normalised(raw, "zh") == raw.lstrip("-—")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Don’t say “no”!", 'Don\'t say "no"!'),
        ("I was... OK?", "I was... OK?"),
        ("I was…. OK, 3.5%; (yes): -5", "I was... OK, 3.5%; (yes): -5"),
        ("Well .. no.....", "Well ... no..."),
        ("No — wait—what–if --yes", "No-- wait-- what-if-- yes"),
        ("“Stop—” he said", '"Stop--" he said'),
        ("``Quoted'' ’’", '"Quoted" "'),
        ("Ｗｉｄｅ，　ｙｅｓ", "Wide, yes"),
        ("cafe\u0301 ﬁne\u00ad\u200b", "café fine"),
        ("10² ½ ™", "10² ½ ™"),
        ("The U.S.A. and a.com/b, Mr. X", "The U.S.A. and a.com/b, Mr. X"),
        ("说「好」。", "说「好」。"),
    ],
)
def test_english(normalisers, raw, expected):
    assert normalisers["en", "space"](raw) == expected
    assert normalisers["en", "space"](expected) == expected


def test_other_languages_have_the_rules_of_characters_alone(normalisers):
    raw = "„Ja“ – nein … «oui» １ ｶﾞ が می\u200cخواهم"
    assert normalisers["de", "space"](raw) == '"Ja" - nein ... «oui» 1 ガ が می\u200cخواهم'


def test_the_region_of_a_language_does_not_matter():
    assert rules("zh_CN", "keep") == rules("cmn", "keep") == rules("zh", "keep")
    assert rules("zh", "keep") != rules("zh", "space")
    rules("en", "keep").clear()
    assert rules("eng", "space") == rules("en", "keep")


@pytest.mark.parametrize(
    ("language", "punctuation"),
    [*MODES[:2], *(pytest.param(*m, marks=pytest.mark.heavy) for m in MODES[2:])],
)
def test_every_character_becomes_what_it_is_in_the_form(language, punctuation):
    found = rules(language, punctuation)
    left, right = "一一" if language == "zh" else "11"
    for char in map(chr, range(1, sys.maxunicode + 1)):
        if unicodedata.category(char) in ("Cn", "Co", "Cs") or char == "▁":
            continue
        form = normalised(left + char + right, language, punctuation=punctuation)
        assert applied(found, left + char + right) == applied(found, form), f"{ord(char):X}"
        if found.get(char, char) not in (' " ', "--"):  # these see what is beside them
            assert left + found.get(char, char) + right == form, f"{ord(char):X}"


pieces = st.one_of(st.sampled_from(CHINESE), st.sampled_from(ENGLISH), st.characters(codec="utf-8"))


@pytest.mark.parametrize("mode", MODES)
@given(parts=st.lists(pieces, max_size=15))
@settings(max_examples=100, deadline=None)
def test_sentencepiece_reads_the_rules_as_they_are_meant(normalisers, mode, parts):
    text = "".join(parts)
    assert normalisers[mode](text) == applied(rules(*mode), text)


@pytest.mark.parametrize("punctuation", ["space", "keep"])
@given(parts=st.lists(st.sampled_from(CHINESE), max_size=12))
@settings(max_examples=800, deadline=None)
@example(parts=["他", "，", "“", "好", "！", "”"])
@example(parts=["2", "：", "1", "：", "3"])
@example(parts=["—", "好"])
def test_raw_chinese_is_treated_as_its_form(normalisers, punctuation, parts):
    raw = "".join(parts)
    if OUTSIDE[punctuation].search(raw):
        return
    treated = normalisers["zh", punctuation]
    assert treated(raw) == treated(normalised(raw, "zh", punctuation=punctuation))


@pytest.mark.parametrize("punctuation", ["space", "keep"])
def test_most_texts_are_not_among_the_exceptions(punctuation):
    raws = [
        "他说：“好，走吧！”",
        "3.5元，4：30——5：30",
        "等等……Ａ队和Ｂ队（－５度）",
        "用Wi-Fi上a.com",
    ]
    assert not any(OUTSIDE[punctuation].search(raw) for raw in raws)


@st.composite
def english(draw):
    """Draw a sentence that no tokeniser has touched."""
    out = ""
    for word in draw(st.lists(st.sampled_from(ENGLISH), min_size=1, max_size=8)):
        before, after = draw(st.sampled_from([("", ""), ("“", "”"), ('"', '"'), ("(", ")")]))
        mark = draw(
            st.sampled_from(["", "", "", ",", ".", "?", "!", ";", "…", "...", "....", "，"])
        )
        gaps = [" ", "  ", "\u00a0"] if mark else [" ", "—", " — ", "--", " -- ", "–"]
        out += before + word + mark + after + draw(st.sampled_from(gaps))
    return out


@given(raw=english())
@settings(max_examples=500, deadline=None)
def test_raw_english_is_treated_as_its_form_and_the_form_stays(normalisers, raw):
    treated = normalisers["en", "space"]
    form = normalised(raw, "en")
    assert treated(raw) == treated(form) == form


def test_rules_are_small_and_the_same_again():
    for mode in MODES:
        found = rules(*mode)
        assert len(compiled(found)) < 300_000
        assert compiled(found) == compiled(dict(reversed(found.items())))
