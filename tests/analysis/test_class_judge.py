"""The class judge: pronouns, connectives and elided verbs, as systems translate them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen import load_suite
from boxpen.analysis.discourse.chinese import read
from boxpen.analysis.discourse.class_judge import PHENOMENA, judge
from boxpen.analysis.discourse.connective_judge import connective_classes
from boxpen.analysis.discourse.ellipsis_judge import same_verb
from boxpen.analysis.discourse.people import class_in_words
from boxpen.analysis.discourse.pronoun_judge import PRONOUNS
from boxpen.analysis.discourse.ruling import OUTCOMES
from boxpen.errors import RunError

R, W, C = OUTCOMES
CLASSES = [("pronoun", cls) for cls in PRONOUNS]
CLASSES += [("connective", cls) for cls in connective_classes()] + [("ellipsis", "ellipsis")]


def outcome(phenomenon: str, cls: str, translation: str, source: str, reference: str, before=""):
    return judge(
        phenomenon,
        cls,
        source=source,
        translation=translation,
        reference=reference,
        reference_context=before,
    )


READY = ("Are you both ready?", "你们俩准备好了吗？")
COMPANY = ("What does your company make?", "你公司生产什么？")
LEFT = ("They left early.", "她们走得很早。")
SOLD = ("He sold them to his neighbour.", "他把它们卖给了邻居。")
FARMERS = ("Farmers love their animals and feed them.", "农民爱他们的牲口，喂养它们。")


@pytest.mark.parametrize(
    ("cls", "item", "translation", "expected", "found"),
    [
        ("你们", READY, "你们准备好了吗？", R, "你们"),
        ("你们", READY, "您们俩准备好了吗", R, "您们俩"),
        ("你们", READY, "妳們準備好了嗎？", R, "你们"),
        ("你们", READY, "大家准备好了吗？", R, "大家"),
        ("你们", READY, "你准备好了吗？", W, "你"),
        ("你们", READY, "各位，你准备好了吗？", W, "你"),
        ("你们", READY, "都准备好了吗？", C, ""),
        ("你们", READY, "你们带了你的东西吗？", C, "你们 你"),
        ("你们", READY, "我们准备好了吗？", W, "我们"),
        ("你们", READY, "你好，你们准备好了吗？", R, "你们"),
        ("你们", READY, "", W, ""),
        ("你", COMPANY, "您的公司生产什么？", R, "您"),
        ("你", COMPANY, "你们生产什么？", W, "你们"),
        ("你", COMPANY, "你们公司生产什么？", C, "你们"),
        ("你", COMPANY, "贵公司生产什么？", C, ""),
        ("你", COMPANY, "迷你车公司生产什么？", C, ""),
        ("她们", LEFT, "她们走得早。", R, "她们"),
        ("她们", LEFT, "他们走得早。", W, "他们"),
        ("她们", LEFT, "她走得早。", W, "她"),
        ("她们", LEFT, "姑娘们走得早。", C, ""),
        ("她们", LEFT, "你们走得早。", W, "你"),
        ("她们", LEFT, "她俩早走了", R, "她俩"),
        ("它们", SOLD, "他把它们卖给了邻居。", R, "它们"),
        ("它们", SOLD, "他把牠們賣給了鄰居。", R, "它们"),
        ("它们", SOLD, "他把他们卖给了邻居。", W, "他们"),
        ("它们", SOLD, "他把它卖给了邻居。", W, "它"),
        ("它们", SOLD, "他卖给了他的邻居。", C, ""),
        ("它们", SOLD, "他把其它的都卖了。", C, ""),
        ("它们", FARMERS, "农民爱他们的动物，也喂它们。", R, "它们"),
        ("它们", FARMERS, "农民爱他们的动物，也喂食物。", C, "他们"),
        ("它们", FARMERS, "农民爱他们的动物，也喂他们。", W, "他们 他们"),
    ],
)
def test_pronouns(cls, item, translation, expected, found):
    ruling = outcome("pronoun", cls, translation, *item)
    assert (ruling.outcome, ruling.found) == (expected, found), ruling


BROTHER = ("He works hard while his brother sleeps all day.", "他努力工作，而他弟弟整天睡觉。")
PHONE = ("The phone rang while I was in the bath.", "我洗澡的时候电话响了。")
TAXI = ("As it was late, we took a taxi.", "因为很晚了，我们打了车。")
CAT = ("As she opened the door, the cat ran out.", "她开门的时候，猫跑了出来。")
HELP = ("Since you are here, help me.", "既然你来了，就帮帮我。")
SLEPT = ("I have not slept since she left.", "自从她走后我就没睡过。")
POOR = ("Though he is poor, he is happy.", "虽然他穷，但他快乐。")
COLD = ("It is cold, though.", "不过很冷。")
ILL = ("He came, though he was ill.", "他来了，但是他病了。")
RUN = ("Run, or they will catch you.", "快跑，否则他们会抓住你。")
TEA = ("Is it tea or coffee?", "是茶还是咖啡？")
BUS = ("We can walk or take the bus.", "我们可以走路或者坐车。")


@pytest.mark.parametrize(
    ("cls", "item", "translation", "expected", "found"),
    [
        ("while-而", BROTHER, "他很努力，弟弟却整天睡觉。", R, "却"),
        ("while-而", BROTHER, "虽然他努力工作，但他弟弟整天睡觉。", R, "虽然 但"),
        ("while-而", BROTHER, "当他弟弟整天睡觉时，他努力工作。", W, "当…时"),
        ("while-而", BROTHER, "他努力工作，而且他弟弟整天睡觉。", C, ""),
        ("while-而", BROTHER, "他为家庭而工作，弟弟整天睡觉。", C, ""),
        ("while-而", BROTHER, "他每天工作十小时，弟弟整天睡觉。", C, ""),
        ("while-当", PHONE, "我洗澡时电话响了", R, "时"),
        ("while-当", PHONE, "當我在洗澡的時候 電話響了", R, "当…的时候"),
        ("while-当", PHONE, "当 我 在 洗澡 的 时候 ， 电话 响 了 。", R, "当…的时候"),
        ("while-当", PHONE, "电话响了，而我在洗澡。", W, "而"),
        ("while-当", PHONE, "电话响了一会儿，我在洗澡。", W, "一会儿"),
        ("while-当", PHONE, "我正在洗澡，电话响了。", C, ""),
        ("as-因为", TAXI, "由于很晚了，我们打了车。", R, "由于"),
        ("as-因为", TAXI, "时间不早了，所以我们坐了出租车。", R, "所以"),
        ("as-因为", TAXI, "当天色已晚的时候，我们打了车。", W, "当…的时候"),
        ("as-因为", TAXI, "正如很晚，我们打了车。", W, "正如"),
        ("as-因为", TAXI, "既然很晚了，我们就打车。", C, "既然"),
        ("as-因为", TAXI, "应当晚了，我们打了车。", C, ""),
        ("as-当", CAT, "她一开门，猫就跑了出来。", R, "一…就"),
        ("as-当", CAT, "因为她打开了门，猫跑了出来。", W, "因为"),
        ("as-当", CAT, "作为她打开门，猫跑了出来。", W, "作为"),
        ("as-当", CAT, "当然她打开门，猫跑了出来。", C, ""),
        ("since-既然", HELP, "你既然在这里，帮帮我吧。", R, "既然"),
        ("since-既然", HELP, "自从你来了，帮我。", W, "自从"),
        ("since-既然", HELP, "因为你来了，帮帮我。", C, "因为"),
        ("since-自从", SLEPT, "自她离开以来，我没睡过觉。", R, "自…以来"),
        ("since-自从", SLEPT, "她走了以后我没睡过觉。", R, "以后"),
        ("since-自从", SLEPT, "因为她离开了，我没睡。", W, "因为"),
        ("though-虽然", POOR, "尽管贫穷 他很幸福", R, "尽管"),
        ("though-虽然", POOR, "他很穷，但他很快乐。", R, "但"),
        ("though-虽然", POOR, "但他很穷，他很快乐。", W, "但"),
        ("though-不过", COLD, "可天很冷。", R, "可"),
        ("though-不过", COLD, "虽然很冷。", W, "虽然"),
        ("though-不过", COLD, "虽然冷，但没事。", W, "虽然"),
        ("though-不过", COLD, "我可不冷。", C, ""),
        ("though-但是", ILL, "虽然他病了，但是他来了。", R, "但是"),
        ("though-但是", ILL, "虽然他病了，他来了。", W, "虽然"),
        ("though-但是", ILL, "他来了，虽然他病了。", C, "虽然"),
        ("though-但是", ILL, "他不但来了，还病了。", C, ""),
        ("or-否则", RUN, "快跑，不然他们会抓住你。", R, "不然"),
        ("or-否则", RUN, "快跑，或者他们会抓住你。", W, "或者"),
        ("or-否则", RUN, "快跑，他们或许会抓住你。", C, ""),
        ("or-或者", TEA, "茶还是咖啡？", R, "还是"),
        ("or-或者", TEA, "是茶，否则咖啡？", W, "否则"),
        ("or-或者", BUS, "我们还是坐车吧。", C, ""),
        ("or-或者", BUS, "我们可以走路或坐公共汽车。", R, "或"),
    ],
)
def test_connectives(cls, item, translation, expected, found):
    ruling = outcome("connective", cls, translation, *item)
    assert (ruling.outcome, ruling.found) == (expected, found), ruling


def test_another_word_of_the_source_excuses_its_translation():
    source, reference = "But since you ask when, I left.", "但既然你问什么时候，我走了。"
    assert (
        outcome("connective", "since-既然", "你问的时候，我走了。", source, reference).outcome == C
    )
    plain = source.replace("ask when", "ask")
    assert (
        outcome("connective", "since-既然", "你问的时候，我走了。", plain, reference).outcome == W
    )


HATE = ("So do I.", "我也讨厌。", "我讨厌下雨天。")
DRINK = ("No, I haven't.", "不，我没喝。", "你喝酒了吗？")
KNOW = ("Yes, I do.", "是的，我知道。", "你知道他住哪儿吗？")
WIN = ("We will!", "我们会成功的。", "你们不会成功的。")
SAW = ("You did?", "你见到她了？", "我昨天见到她了。")
BROKE = ("I did.", "是我打破的。", "谁打破了窗户？")
THINK = ("I think Amy does.", "我想艾米有。", "谁有剪刀？")
REALLY = ("You do?", "真的吗？", "我喜欢这座城市。")
TOO = ("I do too.", "我也是。", "我每天游泳。")


@pytest.mark.parametrize(
    ("item", "translation", "expected", "found"),
    [
        (HATE, "我也讨厌。", R, "讨厌"),
        (HATE, "我也恨下雨天。", R, "恨"),
        (HATE, "所以我做。", W, "做"),
        (HATE, "我也知道。", W, "知道"),
        (HATE, "我也会。", W, "会"),
        (HATE, "我也是。", C, ""),
        (DRINK, "不 我没喝", R, "喝"),
        (DRINK, "不，我没做过。", W, "做"),
        (DRINK, "不，我没有。", C, ""),
        (KNOW, "對，我知道", R, "知道"),
        (KNOW, "是的，我清楚。", R, "清楚"),
        (KNOW, "是的，我做。", W, "做"),
        (KNOW, "是的，我是。", W, "是"),
        (KNOW, "是的。", W, ""),
        (WIN, "我们一定成功！", R, "成功"),
        (WIN, "我们会的！", C, "会"),
        (SAW, "你 看见 她 了 ？", R, "看见"),
        (SAW, "你做到了？", W, "做到"),
        (SAW, "是吗？", C, ""),
        (BROKE, "我打碎的。", R, "打碎"),
        (BROKE, "我做的。", W, "做"),
        (THINK, "我想艾米有。", R, "有"),
        (THINK, "我想艾米做。", W, "做"),
        (THINK, "我想艾米。", W, ""),
        (REALLY, "是吗？", R, ""),
        (REALLY, "你喜欢吗？", R, "喜欢"),
        (REALLY, "你做？", W, "做"),
        (TOO, "我也是。", R, "是"),
        (TOO, "我也游泳。", R, "游泳"),
        (TOO, "我也做。", W, "做"),
    ],
)
def test_ellipsis(item, translation, expected, found):
    source, reference, before = item
    ruling = outcome("ellipsis", "ellipsis", translation, source, reference, before)
    assert (ruling.outcome, ruling.found) == (expected, found), ruling


class TestTheStarterSuite:
    """Every reference was written to be right, and every contrast to be wrong."""

    @pytest.mark.parametrize("phenomenon", PHENOMENA)
    def test_references_are_right_and_contrasts_wrong(self, phenomenon):
        for item in load_suite("starter.discourse").where(set=phenomenon):
            texts = [(item.reference, R), *((text, W) for text in item.contrast)]
            for text, expected in texts:
                ruling = outcome(phenomenon, item.tags["class"], text, item.source,
                                 item.reference, item.reference_context)  # fmt: skip
                assert ruling.outcome == expected, (item.id, text, ruling)


@given(
    st.sampled_from(CLASSES),
    st.text(max_size=30),
    st.text(alphabet="我你他们她它而当时但虽然的做知道是或者，。 ？", max_size=30),
)
def test_every_text_gets_a_ruling(of, source, text):
    ruling = outcome(*of, text, source, "我也知道。", "他知道。")
    assert ruling.outcome in OUTCOMES
    assert ruling.evidence
    assert ruling == outcome(*of, text, source, "我也知道。", "他知道。")
    for words in ruling.found.split():
        assert words.split("…")[0] in read(text).text


@given(st.sampled_from(["我讨厌下雨", "你们 走吧", "當 我 在 洗澡", "没有人知道", " ", "abc 好"]))
def test_words_are_the_text_again(text):
    sentence = read(text)
    assert "".join(word.text for word in sentence.words) == sentence.text
    assert all(sentence.text[w.start : w.end] == w.text for w in sentence.words)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("听见", "听到", True), ("看不出", "看得出来", True), ("信", "相信", True), ("做", "干", True),
     ("打破", "打碎", True), ("看见", "听见", False), ("做", "知道", False), ("来", "走", False),
     ("需要", "想要", False), ("是", "有", False)],
)  # fmt: skip
def test_verbs_that_say_the_same(one, other, same):
    assert same_verb(one, other) is same
    assert same_verb(other, one) is same


def test_every_class_can_be_put_in_words():
    words = [class_in_words(*of) for of in CLASSES]
    assert len(set(words)) == len(words)


class TestRefused:
    def test_an_unknown_phenomenon(self):
        with pytest.raises(RunError, match=r"no phenomenon 'pronouns', did you mean 'pronoun'\?"):
            outcome("pronouns", "你", "", "", "")

    @pytest.mark.parametrize(("of", "cls"), [("pronoun", "我"), ("connective", "while-因为")])
    def test_an_unknown_class(self, of, cls):
        with pytest.raises(RunError, match=f"{of} has no class '{cls}'"):
            outcome(of, cls, "", "", "")
