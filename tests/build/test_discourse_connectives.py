"""Connectives with several senses, and the exchange of one sense for another."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.build.discourse.phenomena.as_clauses import joins_clauses
from boxpen.build.discourse.phenomena.connectives import (
    CLASSES,
    SENSES,
    begins_clause,
    connective,
    realisation,
    senses,
)
from boxpen.build.discourse.phenomena.english_chinese import PHENOMENA, contrasts
from boxpen.build.discourse.phenomena.since import names_a_time
from boxpen.build.discourse.phenomena.snippets import Snippet
from boxpen.build.discourse.phenomena.wordlists import table


def _snippet(source: str, target: str) -> Snippet:
    return Snippet("a film", 2, "It rained all night.", source, "雨下了一整夜。", target)


@pytest.mark.parametrize(
    ("source", "target", "cls", "word"),
    [
        ("He paints while I cook.", "他画画，而我做饭。", "while-而", "而"),
        ("While he painted, she slept.", "他画画，她却睡着了。", "while-而", "却"),
        ("He fell while he was painting.", "当他画画的时候，他摔了下来。", "while-当", "当…的时候"),
        ("He fell while he was painting.", "他画画时 摔了下来", "while-当", "时"),
        ("As the road is wet, drive slowly.", "因为路很湿，开慢点。", "as-因为", "因为"),
        ("She waved as she left.", "她走的时候挥了挥手。", "as-当", "的时候"),
        ("Since it is late, we stay.", "由于天晚了，我们留下。", "since-因为", "由于"),
        ("Since you are here, help me.", "既然你来了，就帮帮我。", "since-既然", "既然"),
        ("I have been ill since we moved.", "自从我们搬家，我就病了。", "since-自从", "自从"),
        ("I have been ill since we moved.", "从我们搬家起我就病了。", "since-自从", "从…起"),
        ("Though he is poor, he gives a lot.", "虽然他穷，但他给得多。", "though-虽然", "虽然"),
        ("I like the colour, though.", "但是我喜欢这颜色。", "though-但是", "但是"),
        ("I like the colour, though.", "不过我喜欢这颜色。", "though-不过", "不过"),
        ("Stop it or I will shout.", "住手，不然我要喊了。", "or-否则", "不然"),
        ("Or we could walk home.", "或者我们走回家。", "or-或者", "或者"),
        ("Or do you like tea?", "还是你喜欢茶？", "or-或者", "还是"),
        ("Or we walk home.", "要不大家走回家。", "or-否则", "要不"),
        ("or we have to walk.", "不然我们得走路。", "or-否则", "不然"),  # it began a line before
        ("Run or she is lost.", "快跑，不然她要不行了。", "or-否则", "不然"),
        ("Since our cook quit, we starve.", "因为厨子不干了，我们挨饿。", "since-因为", "因为"),
        ("Since the soup is cold, I wait.", "既然汤凉了，我等着。", "since-既然", "既然"),
        ("I have painted since last winter.", "自从去年冬天我就画画。", "since-自从", "自从"),
    ],
)
def test_the_chinese_words_tell_the_sense(source: str, target: str, cls: str, word: str) -> None:
    found = connective(_snippet(source, target))
    assert found is not None
    assert (found.cls, found.word) == (cls, word)
    assert f"→ {word}" in found.reason
    assert 0 < found.score <= 1


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("He waited for a while.", "他等了一会儿，而我没有。"),
        ("He sings as well as you.", "因为他唱得跟你一样好。"),
        ("He acts as if he knew.", "因为他装作知道。"),
        ("I like fruit such as pears.", "因为我喜欢梨这样的水果。"),
        ("Come as soon as you can.", "当你可以的时候就来。"),
        ("I have loved you ever since.", "自从那时我就爱你。"),
        ("He looked as though he knew.", "虽然他看起来知道。"),
        ("Are you coming or not?", "你来还是不来？"),
        ("An hour or so, I think.", "或者一个小时吧。"),
        ("Whether he comes or she does, we go.", "他来或者她来，我们都去。"),
        ("Since he left or as he left.", "自从他走了。"),  # two connectives
        ("Since you are here, help me.", "你来了就帮帮我。"),  # no sense is shown
        ("Since he left, I sing.", "自从他走了，因为我唱歌。"),  # two senses
        ("He has a wide mind.", "虽然他心胸宽。"),  # no connective
        ("Wait while the engine rests.", "等发动机冷却下来。"),  # 却 is a part of 冷却
        ("You paint or you sing.", "你要不画画，要不唱歌。"),  # either … or
        ("Either you sing or he does.", "要么你唱，不然他唱。"),
        ("We cook less since your illness, dear.", "因为你病了，我们少做饭。"),  # a time
        ("Since last winter I paint.", "因为去年冬天，我画画。"),
        ("He has limped since the day we met.", "既然我们见了面，他就一瘸一拐。"),
        ("I came as a friend.", "因为我是朋友，我来了。"),  # a role
        ("Do as your mother asked.", "因为妈妈要求，去做吧。"),  # a manner
        ("He is as clever as I am.", "因为他和我一样聪明。"),  # a comparison
        ("She is stubborn, as I am.", "她很固执，因为我也是。"),
        ("He left because, as the rope tore, he fell.", "他走了，因为绳子断了。"),  # of because
        ("It is far, though.", "虽然很远。"),  # though looks back
        ("I do like the boat, though, Peter.", "虽然我喜欢那条船，彼得。"),
        (
            "Even though it rained, we sang.",
            "虽然下雨，我们还是唱了歌。",
        ),  # it can say nothing else
        ("Or shall I wash the cups?", "要不我来洗杯子？"),  # a question proposes
        ("Will you help, or do I call Ann?", "你帮忙吗，不然我叫安？"),
        ("Or we have to walk.", "不然我们只能走路了。"),  # a way out
        ("It either rains or he sings.", "不是下雨，不然就是他在唱歌。"),  # two possibilities
    ],
)
def test_no_candidate(source: str, target: str) -> None:
    assert connective(_snippet(source, target)) is None


def test_a_word_with_the_same_translation_lowers_the_score() -> None:
    good = connective(_snippet("He fell while he was painting.", "当他画画的时候，他摔了下来。"))
    bad = connective(
        _snippet("He fell when, while painting, he slept.", "当他画画的时候，他摔了。")
    )
    assert good is not None
    assert bad is not None
    assert bad.score < good.score
    assert "'when' may be translated by it too" in bad.reason


@pytest.mark.parametrize(
    ("cls", "target"),
    [
        ("while-当", "当然，我同意。"),
        ("while-当", "他当时不在。"),
        ("while-当", "有时我很累。"),
        ("while-当", "亚当走了。"),
        ("while-而", "他聪明，而且勤快。"),
        ("while-而", "这不是糖，而是盐。"),
        ("though-不过", "我跑不过他。"),
        ("though-不过", "他只不过是个孩子。"),
        ("though-但是", "但愿如此。"),
        ("since-自从", "他自己来了。"),
        ("or-或者", "他或许会来。"),
        ("or-否则", "要不要喝茶？"),
        ("or-否则", "要不你洗碗，要不我洗。"),
        ("or-否则", "要不然你洗碗 要不然我洗"),
        ("or-否则", "要么下雨，要不下雪。"),
        ("while-而", "水箱冷却得很慢。"),
        ("while-而", "他们忘却了那首歌。"),
        ("while-而", "马见了火就退却。"),
        ("while-而", "这价钱让人望而却步。"),
        ("while-而", "盛情难却，我们喝了。"),
        ("while-而", "我了却了一桩心事。"),
        ("while-而", "他总算了却多年的心愿。"),
    ],
)
def test_words_that_only_look_like_a_sense(cls: str, target: str) -> None:
    assert realisation(cls, target) is None


@pytest.mark.parametrize(
    "target", ["他画画，我却睡了。", "他走了却没关灯。", "雨停了 却没人出门", "这却难倒了他。"]
)
def test_a_word_by_itself_is_one(target: str) -> None:
    found = realisation("while-而", target)
    assert found is not None
    assert found.word == "却"


@pytest.mark.parametrize(
    "english",
    [
        "1987.",
        "4:30 a.m., so be quiet.",
        "yesterday",
        "last spring we have kept bees.",
        "the day tom learnt to swim",
        "that night nobody sleeps.",
        "high school.",
        "kindergarten she has drawn cats.",
        "your illness, we cook less.",
        "the great flood, people build higher.",
        "the death of her second uncle, she sings.",
        "my wedding i have slept badly.",
        "ann's funeral.",
        "moving here, we have no car.",
        "this morning",
    ],
)
def test_times_that_follow_since(english: str) -> None:
    assert names_a_time(english)


@pytest.mark.parametrize(
    "english",
    [
        "you are here, help me.",
        "nothing grows there.",
        "today is friday, we dance.",
        "tonight we dance, wear shoes.",
        "the time is short, run.",
        "20 people came, we need chairs.",
        "school starts late, sleep.",
        "my aunt and you are friends, ask her.",
        "the dog... ran away, we are alone.",
        "dr. moss paints, ask him.",
        "that old, leaky boat sinks, we swim.",
        "the second one, you know, broke.",
        "our cook quit, we starve.",
        "rabbits dig deep holes, build a fence.",
        "obviously, she can't come.",
        "her brother's out of town, we wait.",
        "the baker",  # cut off
        "",
    ],
)
def test_what_is_no_time(english: str) -> None:
    assert not names_a_time(english)


@pytest.mark.parametrize(
    ("before", "rest"),
    [
        ("", "the road is wet, drive slowly."),
        ("and now, ", "i've left my keys at home..."),
        ("she waved ", "she left."),
        ("", "ann was painting the fence,"),
        ("", "my uncle sank into his chair, we sang."),
        ("but ", "that's the only bridge, we wait."),
        ("", "there was no bread, we ate rice."),
        ("he smiled ", "the music swells."),
    ],
)
def test_as_joins_clauses(before: str, rest: str) -> None:
    assert joins_clauses(before, rest)


@pytest.mark.parametrize(
    ("before", "rest"),
    [
        ("he came ", "a friend."),
        ("he came ", "the chief of the village and left."),
        ("we know him ", "the man that you met."),
        ("they sold it ", "illegally obtained."),
        ("", "part of the plan, we wait."),
        ("she is stubborn, ", "i am."),
        ("", "she will be once"),
        ("do ", "you please."),
        ("he does ", "he's told."),
        ("", "we agreed, i wait."),
        ("tell it ", "you remember it."),
        ("sure ", "hell isn't me."),
        ("seeing ", "you are here, help."),
        ("", "am i."),
        ("", ""),
    ],
)
def test_as_says_something_else(before: str, rest: str) -> None:
    assert not joins_clauses(before, rest)


@given(st.text(alphabet="因为自从既然虽但是不过而当时的候或者否则，。 我走了", max_size=16))
def test_senses_are_of_the_word_and_where_they_say(target: str) -> None:
    for english in ("while", "as", "since", "though", "or"):
        found = senses(english, target)
        assert len({r.cls for r in found}) == len(found)
        for r in found:
            assert r.cls in CLASSES
            assert r.cls.startswith(english + "-")
            head, _, tail = r.word.partition("…")
            shown = target[r.start : r.end].strip()
            assert shown.startswith(head)
            assert shown.endswith(tail)


@pytest.mark.parametrize(
    ("english", "clause"),
    [
        ("we could walk", True),
        (", do you like tea?", True),
        ("the dog will bark", True),
        ("my sister's coming", True),
        ("the cane?", False),
        ("you?", False),
        ("tea", False),
        ("last year", False),
    ],
)
def test_what_begins_a_clause(english: str, clause: bool) -> None:
    assert begins_clause(english) is clause


@pytest.mark.parametrize(
    ("cls", "source", "target", "wrong"),
    [
        ("while-而", "He paints while I cook.", "他画画，而我做饭。", "他画画，因为我做饭。"),
        ("while-而", "He paints; I cook.", "他画画，我却做饭。", "他画画，因为我做饭。"),
        ("while-而", "While you knitted.", "而你却在织毛衣。", "因为你在织毛衣。"),
        ("while-当", "He fell while he sang.", "当他唱歌的时候，他摔了。", "因为他唱歌，他摔了。"),
        ("while-当", "He fell while I painted.", "我画画时他摔了", "因为我画画 他摔了"),
        ("as-当", "As we sang, it rained.", "当我们唱歌时，下雨了。", "因为我们唱歌，下雨了。"),
        ("as-当", "As we sang, it rained.", "我们唱歌的时候，下雨了。", "因为我们唱歌，下雨了。"),
        ("as-因为", "As I sang, I fell.", "因为我唱歌，所以我摔了。", "虽然我唱歌，我摔了。"),
        ("since-因为", "Since he left, I cook.", "因为他走了，我做饭。", "虽然他走了，我做饭。"),
        ("since-因为", "Since you like tea, I made some.", "我泡了茶 因为你喜欢茶",
         "我泡了茶 虽然你喜欢茶"),  # 自从 fits no state
        ("since-既然", "Since he left, I cook.", "既然他走了，那我做饭。", "虽然他走了，我做饭。"),
        ("since-既然", "Since he left, cook.", "既然他走了，就做饭吧。", "虽然他走了，做饭吧。"),
        ("since-既然", "Since you're here, cook.", "既然你来了，就做饭。", "自从你来了，就做饭。"),
        ("since-自从", "Since he left, I cook.", "自从他走后，我做饭。", "因为他走了，我做饭。"),
        ("since-自从", "Since he left, I cook.", "自从他走了，我做饭。", "因为他走了，我做饭。"),
        ("since-自从", "Since he cured me, I sing.", "从他让我起死回生那天起，我唱歌。",
         "因为他让我起死回生，我唱歌。"),
        ("though-虽然", "Though ill, I sing.", "虽然我累，但是我唱歌。", "因为我累，所以我唱歌。"),
        ("though-虽然", "I sing, though I ache.", "我唱歌，虽然我累。", "我唱歌，因为我累。"),
        ("though-不过", "It hurt, though.", "不过很疼，我走了。", "所以很疼，我走了。"),
        ("though-但是", "I like it, though.", "但是我喜欢。", "所以我喜欢。"),
        ("or-否则", "Stop or I will shout.", "住手，不然我要喊了。", "住手，或者我要喊了。"),
        ("or-或者", "Or we could walk.", "或者我们走路去。", "所以我们走路去。"),
        ("or-或者", "Or do you like tea?", "还是你喜欢茶？", "所以你喜欢茶？"),  # 否则 asks nothing
    ],
)  # fmt: skip
def test_exchange(cls: str, source: str, target: str, wrong: str) -> None:
    assert contrasts("connective", cls, cls.rpartition("-")[2], source, target) == (wrong,)


@pytest.mark.parametrize(
    ("cls", "source", "target"),
    [
        ("as-当", "I remember as he left.", "我记得当他走的时候。"),  # belongs to 记得
        ("while-当", "Do not talk while I cook.", "当我做饭的时候别说话。"),  # a request
        ("as-因为", "I came as a friend.", "因为你。"),  # no clause
        ("since-因为", "That is since he left.", "那是因为他走了。"),  # 是自从 is no Chinese
        ("since-自从", "Since last year I cook.", "自从去年，我做饭。"),  # a time is no cause
        ("as-因为", "It rained as we sang.", "下雨是因为我们唱歌。"),  # 是虽然 is no Chinese
        ("though-不过", "He sings, though, alone.", "他唱歌不过是一个人。"),  # no clause begins
        ("while-而", "While he paints, I cook.", "如果他画画，而我做饭。"),  # a condition
        ("or-否则", "Unless you stop or sit.", "除非你住手，否则我要喊了。"),
        ("or-或者", "Tea or milk?", "茶或者牛奶？"),  # 所以 stands between clauses
        ("or-或者", "Or is it him or her?", "还是他还是她？"),  # a question of its own form
        ("or-或者", "Is it rain or is it snow?", "是下雨 还是在下雪？"),  # and so is this
        ("since-因为", "Not only since he left.", "不仅因为他走了"),  # 不仅虽然 is no Chinese
        ("or-或者", "Or we could walk.", "我们走路去。"),  # the sense is not shown
        ("because-因为", "Because he left.", "因为他走了。"),  # no class
        ("while-而", "While a cat sleeps.", "而猫则是在睡觉。"),  # 则 still says it
        (
            "while-当",
            "Drink this while you cook.",
            "你做饭的时候喝这个。",
        ),  # an order needs no reason
        ("while-当", "While we sang, so what.", "我们唱歌的时候，就。"),
        ("as-当", "As we left the house.", "我们出门的时候。"),  # a reason for nothing
        ("as-当", "As he came, it rained.", "他来的时候，下雨了。"),  # 因为他来 is cut off
        ("since-因为", "Since the rope tore, we wait.", "因为绳子断了所以我们等。"),  # so does 所以
        ("since-自从", "I sing since that trip was over.", "自从那次旅行之后，我唱歌。"),
        ("though-虽然", "Though I ache, I sing.", "虽然我累，我却唱歌。"),
        ("or-否则", "Help me or go home.", "帮我，否则回家。"),  # an order is an alternative
        ("or-否则", "Stop, or you are sacked.", "住手 否则开除"),  # so it is without a subject
        ("or-或者", "Or the man in the hat.", "或者像那个戴帽子的人"),  # a part of a sentence
        ("or-否则", "He sings or he leaves.", "要不他唱歌，要不他走。"),  # 要不 stays
    ],
)
def test_no_exchange(cls: str, source: str, target: str) -> None:
    assert contrasts("connective", cls, cls.rpartition("-")[2], source, target) == ()


@given(
    st.sampled_from(CLASSES),
    st.sampled_from(["While we sang, he left.", "He left, though, so I sang.", "Or we sang."]),
    st.text(alphabet="因为自从既然虽但是不过而却当时的候或者否则，。 我他走唱歌", max_size=18),
)
def test_a_contrast_is_another_sentence_without_doubled_marks(
    cls: str, source: str, target: str
) -> None:
    for wrong in contrasts("connective", cls, "", source, target):
        assert wrong != target
        assert wrong.strip()
        if not re.search("[，。 ]{2}|^[，。 ]", target):
            assert "，，" not in wrong


def test_every_class_is_one_sense_of_its_word() -> None:
    known = [(word, cls) for word, senses in SENSES.items() for one in senses for cls in one]
    assert sorted(cls for _, cls in known) == sorted(CLASSES)
    assert all(cls.startswith(f"{word}-") for word, cls in known)
    [rule] = (one for one in PHENOMENA if one.name == "connective")
    assert rule.left_out == ("as-因为", "as-当")  # 'while' has a sense that needs its context


def test_the_word_lists_know_every_class() -> None:
    assert set(table("connective", "realisations")) == set(CLASSES)
    assert set(table("connective", "rivals")) == set(CLASSES)
