"""Whether a Chinese verb is denied: 没去过, 不会去, 找不到, 没人去.

Negations before the verb in its clause are counted, and one behind it that belongs to it; two of
them cancel each other (不得不去). What only looks like one (不过, 特别, 没错) does not count. Of
去不去 and 难道 nobody can say whether they deny.
"""

from __future__ import annotations

import re

from boxpen.analysis.discourse.chinese import Sentence
from boxpen.analysis.discourse.ruling import Hit
from boxpen.analysis.discourse.verbs import MARKS

__all__ = ["denied"]

_NEGATION = re.compile("没有|没|不|别|未|无|勿|甭|休想|绝非|并非")
_NONE = re.compile(
    "(?<![打比说跑躲逃骗瞒赢])不过(?![来去问])|不管(?!理)|不仅|不但|不久|不错(?!过)|不同(?![意情])|不论|不如|不止|不只|不光"
    "|不禁(?!止)|不由得?|不断|不然|不妨|不愧|不料|不小心|不知不觉|不好意思|不客气"
    "|(?<![看听瞧望])不见(?![得你我他她它您人面])|要不(?![要了到起])|差不多|不得了|对不起|了不起|说不定|巴不得"
    "|恨不得|忍不住|禁不住|才不是吗|没错(?!过)|没事(?![做干可先])|没关系|没问题|没准(?![备许时])"
    "|无论|无意[中间识]|无数|无比|未来|未免|非.{0,6}不可"
    "|[特分性告区级个辨]别|别(?=无)|别(?:人|的|处|墅|扭|说(?![了话谎])|忘了)"
)
"""Expressions with the characters of negations that deny nothing; 别说 leads to something else.

What only begins like one does deny: 不同意, 没准备, 看不见."""
_ASIDE = re.compile(
    "毫无(?:疑[问义]|例外)|无疑|不幸(?:的是|地)?|不(?:用|必|消)[说问]|不少|未婚|没想到|不瞒|不可否认|不管怎[样么]|不得而知"
)
"""What a speaker puts before a statement: it denies no verb but its own (没想到 for 想到)."""
_CLOSES = MARKS + '、—-“”「」『』"\n'
_UNCLEAR = re.compile(
    r"([^\W\d_])[不没]\1|有没有|难道|何不|岂|谁不|哪[能会]|不就|还不是|不是[^，。]*[吗么]"
)
_BEHIND = re.compile("不(?:了|到|见|住|起|出|完|动|着|上|下|来|去|掉|开|懂|清|好|成|过|得)")
_AVERSE = frozenset({"讨厌", "恨", "厌恶", "憎恨"})
"""They say what 不喜欢 says."""


def denied(sentence: Sentence, hit: Hit) -> bool | None:
    """Tell whether a sentence denies a verb; None where nobody can say.

    Args:
        sentence: The sentence.
        hit: The verb, and its place.
    """
    start = hit.place - 1
    end = start + len(hit.words)
    begin = max(sentence.text.rfind(mark, 0, start) for mark in _CLOSES) + 1
    after = re.split(f"[{re.escape(_CLOSES)}]", sentence.text[end:], maxsplit=1)[0]
    clause = sentence.text[begin:end] + after
    if _UNCLEAR.search(clause):
        return None
    plain = _NONE.sub(lambda found: "〇" * len(found[0]), clause)
    verb = start - begin
    said = _ASIDE.sub(lambda found: "〇" * len(found[0]), plain[:verb])
    before = said + plain[verb : end - begin]
    count = len(_NEGATION.findall(before)) + (_BEHIND.match(plain[end - begin :]) is not None)
    return (count + (hit.words in _AVERSE)) % 2 == 1
