"""Text in one form: hand-made pairs of what comes in and what goes out; forms of forms."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boxpen.text.normal import _rules, base_language, key, normalised

MODES = ["keep", "space"]
# What the rules look at, thrown together.
signs = "abIsT39好吗你 ,.?!:;-'\"`*#<>{}()[]&/\\~，。？！：、；…—–“”‘’「」·・《》♪％Ａ１　$"
tags = ["<i>", "</i>", "<br>", "{\\an8}", "\\N", "&amp;", "&lt;", "apos;", "0000,"]
words = [*tags, "n't", "'s", "...", "--", "@-@", "''", "th"]
hidden = "\u200b\u200d\ufeff\u2028\x0b\x00"
pieces = st.sampled_from([*signs, *words, *(f" {word} " for word in words), *hidden])
texts = st.one_of(st.lists(pieces, max_size=25).map("".join), st.text(max_size=40))


@given(texts, st.sampled_from(["zh", "en", "de"]), st.sampled_from(MODES))
@example("&amp;amp;apos;", "en", "space")
@example("<<i>i>x", "en", "space")
@example("well --\" ' s", "en", "space")
@example('他说："好。"', "zh", "keep")
@settings(deadline=None, max_examples=600)
def test_the_form_of_a_form_is_itself(text, language, punctuation):
    once = normalised(text, language, punctuation=punctuation)
    assert normalised(once, language, punctuation=punctuation) == once
    assert once == " ".join(once.split())


@given(texts, st.sampled_from(["zh", "en", "de"]), st.sampled_from(MODES))
@settings(deadline=None, max_examples=400)
def test_the_key_does_not_hang_on_the_form(text, language, punctuation):
    form = normalised(text, language, punctuation=punctuation)
    assert key(form, language, ready=True) == key(form, language)
    assert key(text, language) == key(form, language)


@given(
    st.lists(st.sampled_from([*"abTs3好 ,.?!'-·", "n't", "th", " 's"]), max_size=12).map("".join)
)
@settings(deadline=None, max_examples=500)
def test_what_is_taken_for_plain_needs_no_rule(text):
    for language in ("zh", "en"):
        plain, once = _rules(language, "space")
        if plain.fullmatch(text):
            assert once(text) == text
            assert _rules(language, "keep")[1](text) == text


@pytest.mark.parametrize(
    ("text", "spaced", "kept"),
    [
        ("没关系,都弄好了。", "没关系 都弄好了", "没关系，都弄好了。"),
        ("没关系 都弄好了", "没关系 都弄好了", "没关系 都弄好了"),
        ("你　来吗?!", "你 来吗", "你 来吗？！"),
        ("Ａｎｎ，你３．５点来", "Ann 你3.5点来", "Ann，你3.5点来"),
        ("下午4:30到 -5度", "下午4:30到 -5度", "下午4:30到 -5度"),
        ("3：2，5， 7", "3:2 5 7", "3:2，5，7"),
        ("3,500 3, 5", "3,500 3 5", "3,500 3，5"),
        ("我去……你呢——他", "我去 你呢 他", "我去……你呢——他"),
        ("我去...", "我去", "我去……"),
        ("我去．你去．", "我去 你去", "我去。你去。"),
        ("“你好！”「再见。」", '"你好""再见"', '"你好！""再见。"'),
        ("安娜・李和•王", "安娜·李和·王", "安娜·李和·王"),
        ("《红灯》、【注】", "《红灯》 [注]", "《红灯》、[注]"),
        ("-好吧 -走", "好吧 走", "好吧 -走"),
        ("－5度", "-5度", "-5度"),
        ("- 5个人", "5个人", "5个人"),
        ("——5个人", "5个人", "5个人"),
        ("－ －5度", "-5度", "-5度"),
        (",,0000,0000,0000,,{\\an8}<i>♪唱♪</i>", "唱", "唱"),
        ("#唱歌#", "唱歌", "唱歌"),
        ("第一行\\N第二行", "第一行 第二行", "第一行 第二行"),
        ("Wi-Fi在a.com/b", "Wi-Fi在a.com/b", "Wi-Fi在a.com/b"),
        ("\ufeff你\u200b好\x00", "你好", "你好"),
        ("10²℃", "10²℃", "10²℃"),
        ("漢字", "漢字", "漢字"),
        ("。！？", "", "。！？"),
    ],
)
def test_chinese(text, spaced, kept):
    assert normalised(text, "zh") == spaced
    assert normalised(text, "zh-CN", punctuation="keep") == kept


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("it 's .", "it's."),
        ("do n't , wo n't", "don't, won't"),
        ("don &apos;t you", "don't you"),
        ("she said &quot; no . &quot;", 'she said "no."'),
        ("a `` word '' .", 'a "word".'),
        ('" half a speech', '"half a speech'),
        ('half a speech "', 'half a speech"'),
        ('a 5" x 6" board', 'a 5" x 6" board'),
        ("the twins ' room", "the twins' room"),
        ("the ' best ' one", "the ' best ' one"),
        ("the '80s , 'cause of 'em", "the '80s, 'cause of 'em"),
        ("a ' 3 ' s", "a ' 3 ' s"),
        ("- Hi! - Bye.", "Hi! Bye."),
        ("—No", "No"),
        ("-5 degrees", "-5 degrees"),
        ("− 5 people came", "5 people came"),
        ("- 5 people came", "5 people came"),
        ("—5 people came", "5 people came"),
        ("--5 people came", "5 people came"),
        ("- -5 degrees", "-5 degrees"),
        ("-- - –5 degrees", "-5 degrees"),
        ("well — no -- yes--maybe–not", "well-- no-- yes-- maybe-not"),
        ("so …. and . . .", "so... and..."),
        ("a .22 rifle", "a .22 rifle"),
        ("♪ la la ♪", "la la"),
        ("# la la", "la la"),
        ("* la la *", "la la"),
        ("what the f***", "what the f***"),
        ("room #12", "room #12"),
        ("{\\an8}<i>Over <b>there</b></i><br>now", "Over there now"),
        ("2 < 3 > 1", "2 < 3 > 1"),
        ("“Hello,” he said: ‘yes’", "\"Hello,\" he said: 'yes'"),
        ("$ 30 , 7 % , 1 / 2 , 4 th", "$30, 7%, 1/2, 4th"),
        ("( so ) [ so ]", "(so) [so]"),
        ("a well @-@ known man", "a well-known man"),
        ("Oh,look.It rains", "Oh, look. It rains"),
        ("1,000 e.g. A.B.", "1,000 e.g. A.B."),
        ("Ｆｕｌｌ　ｗｉｄｔｈ！", "Full width!"),
        ("ﬁne Ⅳ cafe\u0301", "fine IV café"),
        ("soft\u00adly\ttabbed\u2028line\x0bfeed", "softly tabbed line feed"),
        ("", ""),
    ],
)
def test_english(text, form):
    assert normalised(text, "en") == form
    assert normalised(text, "en_GB", punctuation="keep") == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("- Ça va ? <i>Oui</i>", "Ça va ? Oui"),
        ("« bon »", "« bon »"),
        ("می\u200cروم", "می\u200cروم"),
        ("ｶﾞ、。", "ガ、。"),
    ],
)
def test_other_languages_have_the_common_rules(text, form):
    assert normalised(text, "xx") == form


def test_keys():
    assert key("没关系,都弄好了。", "zh") == key("没关系 都弄好了", "zh") == "没关系都弄好了"
    assert key("It 's Ann 's E-Mail !", "en") == key("it's ann's email", "en") == "its anns email"
    assert key("Really?!", "en") == key("REALLY", "en")
    assert key("one two", "en") != key("onetwo", "en")
    assert key("安娜·李", "zh") == key("安娜李", "zh")
    assert key("हिन्दी", "hi") == "हिन्दी"  # vowel signs are no punctuation
    assert key("...", "en") == key("。", "zh") == ""


@pytest.mark.parametrize(
    ("language", "base"),
    [("zh_Hant-TW", "zh"), ("cmn", "zh"), ("EN", "en"), ("eng", "en"), ("de", "de")],
)
def test_base_language(language, base):
    assert base_language(language) == base


@pytest.mark.parametrize(
    "piece", ["<i", "{\\", "&amp;", "*", "- ", "'", '" ', "。", ". ", "a,", ",0000"]
)
def test_long_lines_of_the_worst_kind_take_no_time(piece):
    start = time.perf_counter()
    for language in ("en", "zh"):
        normalised(piece * 3000, language)
    assert time.perf_counter() - start < 5
