"""English to Chinese: pronouns, connectives and ellipsis, and how each is translated wrongly."""

from __future__ import annotations

import re

from boxpen.analysis.discourse.verbs import known_verbs, listed, same_verb
from boxpen.build.discourse.phenomena import connectives, pronouns
from boxpen.build.discourse.phenomena.connectives import connective
from boxpen.build.discourse.phenomena.ellipsis import ellipsis, tagged
from boxpen.build.discourse.phenomena.exchange import exchanged
from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.discourse.phenomena.pronouns import class_word, pronoun
from boxpen.build.discourse.phenomena.wordlists import EDGE, words

__all__ = ["PHENOMENA", "contrasts"]

_THEY = ("他们", "她们", "它们")
# What only several can be, after 你们.
_SEVERAL = re.compile("你们(?:[俩仨]|[两三四几二](?:个人?|位|人)|各位|大家|所有人|全都|都|全)?")
_AMONG = re.compile("你们(?:之?[中间]|当中|其中|每|彼此|互相|[谁哪]|[^，。]{0,2}(?:们|人))|分头")
# Other ways to speak to several.
_BOTH = re.compile("[你您][俩仨]|[您你]二位|[您你]们")
_ONE = re.compile("(?<!迷)你(?!们)(?:是|这|那)?(?:一?个(?!子|月|头)|自己一个|俩|[两二三])")
# After these a verb is a state or a thing, and another verb may be neither.
_STATE = re.compile("(?:[很真最更太挺特的做]|觉得|什么)$")
_FINAL = re.compile("[吗呢吧啊呀啦的了嘛么]*$")


def contrasts(
    phenomenon: str, cls: str, word: str, source: str, target: str, before: str = ""
) -> tuple[str, ...]:
    """Return wrong translations of a sentence; none where no exchange leaves a good sentence.

    Args:
        phenomenon: "pronoun", "connective" or "ellipsis".
        cls: The class, such as "她们" or "while-而".
        word: The Chinese words that show the class; for an ellipsis the verb that is left out.
        source: The English sentence.
        target: Its right translation.
        before: The translation of the sentence before.
    """
    [rule] = (one for one in PHENOMENA if one.name == phenomenon)
    return rule.contrasts(cls, word, source, target, before)


def _of_pronoun(cls: str, _word: str, _source: str, target: str, _before: str) -> tuple[str, ...]:
    return _other_pronouns(cls, target)


def _of_connective(cls: str, _word: str, source: str, target: str, _before: str) -> tuple[str, ...]:
    wrong = exchanged(cls, source, target) if cls in connectives.CLASSES else None
    return () if wrong is None else (wrong,)


def _of_ellipsis(_cls: str, word: str, _source: str, target: str, before: str) -> tuple[str, ...]:
    wrong = _other_verb(word, target, before) if word else None
    return () if wrong is None else (wrong,)


def _shows(cls: str, target: str) -> bool:
    return class_word(target) == cls


def _says(cls: str, target: str) -> bool:
    return connectives.realisation(cls, target) is not None


def _other_pronouns(cls: str, target: str) -> tuple[str, ...]:
    if cls == "你们":
        if _AMONG.search(target):
            return ()
        wrong = (_SEVERAL if "你们" in target else _BOTH).sub("你", target)
        return (wrong,) if wrong != target else ()
    if cls == "你":
        wrong = re.sub("(?<!迷)你(?!们)", "你们", target)
        # Not 你们是个…: one and several at once.
        return (wrong,) if wrong != target and not _ONE.search(target) else ()
    if cls not in _THEY or cls not in target:
        return ()
    return tuple(target.replace(cls, other) for other in _THEY if other != cls)


def _other_verb(verb: str, target: str, before: str) -> str | None:
    """Put another verb of the context for the one that was left out, with its object.

    So does a system that takes the wrong verb up again. Where the context has no other, 做 stands
    for a state, as 'do' taken for a verb of its own: for a deed it may be right.
    """
    for other in _rivals(verb, before):
        wrong = None if other in target else _exchanged(verb, other, target)
        if wrong is not None:
            return wrong
    state = any(same_verb(verb, some) for some in listed("states"))
    return _exchanged(verb, "做", target) if state else None


def _rivals(verb: str, before: str) -> list[str]:
    """Return the verbs of the context that say something else, each by itself, in their order."""
    no = words("ellipsis", "empty") | words("ellipsis", "leads") | listed("light")
    known = tagged(before)
    found: list[str] = []
    for number, (word, flag) in enumerate(known):
        beside = [some for some, _ in known[max(0, number - 1) : number + 2]]
        if flag != "v" or word in no or word not in known_verbs():
            continue  # the tagger takes parts of names for verbs
        if any(verb in some or some in verb for some in beside):
            continue  # the verb itself, or one that forms a chain with it: 来帮
        if not any(same_verb(word, some) for some in (verb, "做")):
            found.append(word)
    return list(dict.fromkeys(found))


def _exchanged(verb: str, other: str, target: str) -> str | None:
    """Put another verb for a verb and its object."""
    if verb[0] in "做干办搞弄" and other == "做":
        return None
    if verb in ("了", "到", "错"):
        return None  # they belong to what would be exchanged: 做错, 等不了
    out = ""
    for part in re.split(f"([{EDGE}]+)", target):
        before, found, after = part.partition(verb)
        if not found:
            out += part
            continue
        kept = re.match("[过着了]{0,2}", after)[0]  # type: ignore[index]  # it matches nothing too
        final = _FINAL.search(after, len(kept))
        end = final[0] if final else ""
        left_out = after[len(kept) : len(after) - len(end)]
        if after[:1] in ("不", "得"):  # 爬不动: the complement goes with any verb
            left_out, end = "", after
        if len(left_out) > 8 or _STATE.search(before) or re.search("[就才但]", left_out):
            return None  # More follows than an object, or no other verb can stand here.
        if verb == "有" and not before:
            return None  # a reply: 有吗 asks for no deed
        out += before + other + kept + end
    return None if out == target or re.sub(f"[{EDGE}]", "", out) == other else out


_PAIR = ("en", "zh")
PHENOMENA = (
    Phenomenon(
        name="pronoun",
        pair=_PAIR,
        classes=pronouns.CLASSES,
        find=pronoun,
        contrasts=_of_pronoun,
        shows=_shows,
        alternatives={
            "you": tuple((cls,) for cls in pronouns.CLASSES if cls not in _THEY),
            "they": tuple((cls,) for cls in _THEY),
        },
    ),
    Phenomenon(
        name="connective",
        pair=_PAIR,
        classes=connectives.CLASSES,
        find=connective,
        contrasts=_of_connective,
        settled=connectives.SETTLED,
        says=_says,
        alternatives=connectives.SENSES,
    ),
    Phenomenon(
        name="ellipsis",
        pair=_PAIR,
        classes=("ellipsis",),
        find=ellipsis,
        contrasts=_of_ellipsis,
    ),
)
