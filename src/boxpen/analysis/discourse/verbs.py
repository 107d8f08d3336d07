"""Chinese verbs as the judge of ellipsis reads them: which words are verbs, and which say the same.

The lists are in ``data/ellipsis.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from boxpen.analysis.discourse.chinese import Sentence, Word, data

__all__ = [
    "MARKS", "any_same", "candidates", "english_verbs", "known_verbs", "level", "like_verb",
    "listed", "predicates", "same_verb",
]  # fmt: skip

MARKS = "，,。.！!？?；;：:…"
_PREDICATE = ("v", "a", "zg", "l", "i", "z")
_NO_VERB = (
    "nr", "ns", "nt", "r", "m", "q", "u", "y", "e", "o", "p", "c", "x", "eng", "t", "f", "d",
)  # fmt: skip
_NOUN_TOO = ("a", "vn")
_PARTICLES = frozenset({"了", "过", "着", "得"})
_DO = frozenset("做干办弄搞")  # they may have an object with them: 做操
_COMPLEMENTS = frozenset({"到", "不到", "不了", "不起", "不住", "不见", "不动"})
"""They belong to the verb before them: 找不到."""
_BARE_YES = re.compile(rf"(?:^|(?<=[{MARKS}]))是(?=(?:的|吗|么|啊|呀|吧)?(?:$|[{MARKS}]))")
"""是 in 是的 and 是吗 is not a verb."""
_CLOSES = re.compile(rf"[的了啊呀吧吗么呢]?(?:$|[{MARKS}])")
_REPLY = re.compile(rf"^(?:没有?|不[用必行会是要]了?|可以|会的|行)[{MARKS}]+(?=\w)")
"""A reply before the sentence proper: 不用，我来约."""


@cache
def listed(name: str) -> frozenset[str]:
    """Return a list of words, or the characters of a text, of the data file."""
    return frozenset(data("ellipsis")[name])


@cache
def english_verbs() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return the Chinese verbs of every sense, by the form of the English verb."""
    return {
        form: tuple(tuple(sense.split()) for sense in chinese.split("|"))
        for forms, chinese in data("ellipsis")["english"].items()
        for form in forms.split()
    }


@cache
def _groups() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group) for group in data("ellipsis")["interchangeable"])


@cache
def known_verbs() -> frozenset[str]:
    """Return all verbs of the data file."""
    translated = {verb for senses in english_verbs().values() for some in senses for verb in some}
    translated -= listed("ignored")
    return listed("light").union(listed("modal"), translated, *_groups())


def predicates(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence that may be its predicate.

    Parts of speech are jieba's, which knows words by themselves: verbs of the tables, and what is
    negated or has an aspect particle behind it, are taken for verbs whatever jieba says.
    """
    words = _bare_words(sentence)
    replies = _replies(sentence)
    found: list[Word] = []
    for number, word in enumerate(words):
        if word.text in listed("ignored") or word.start in replies:
            continue
        last = sentence.words[number - 1].text if number else ""
        after_verb = number and (words[number - 1] in found or last == "意识")
        if after_verb and sentence.words[number].text in _COMPLEMENTS:
            continue
        following = words[number + 1].text if number + 1 < len(words) else ""
        used = (last == "不" or last in listed("modal") or following in _PARTICLES) and not (
            word.flag.startswith(_NO_VERB)
        )
        if last == "有" and word.flag.startswith(_NOUN_TOO):
            continue  # 危险 in 有危险 is its object
        predicate = word.flag.startswith(_PREDICATE) and word.flag != "ad"  # 显然 is an adverb
        if word.text in known_verbs() or predicate or used:
            found.append(word)
    return found


def candidates(sentence: Sentence) -> list[Word]:
    """Return the words that are not certainly something else than verbs."""
    replies = _replies(sentence)
    return [
        word
        for word in _bare_words(sentence)
        if word.start not in replies
        and (
            word.text in known_verbs()
            or not (word.text in listed("ignored") or word.flag.startswith(_NO_VERB))
        )
    ]


def level(word: Word) -> int:
    """Return 0 for a verb with a meaning of its own, 1 for a light one, 2 for an auxiliary."""
    if word.text in listed("modal"):
        return 2
    return int(word.text in listed("light") or _stem(word.text) in listed("light"))


def same_verb(one: str, other: str) -> bool:
    """Whether two verbs are one, apart from what follows them, or say the same.

    A verb of one character means the same as a longer one with it: 信 and 相信. Two longer ones
    must share a character with a meaning: 惩罚 and 处罚, but not 开心 and 担心.
    """
    mine, theirs = {one, _stem(one)}, {other, _stem(other)}
    return like_verb(one, other) or any(mine & group and theirs & group for group in _groups())


def like_verb(one: str, other: str) -> bool:
    """Whether two verbs are the same by how they are written, whatever else says the same."""
    mine, theirs = _stem(one), _stem(other)
    done = mine[:1] in _DO and mine[:1] == theirs[:1] and 1 in (len(mine), len(theirs))
    return one == other or mine == theirs or done or bool(_core(mine) & _core(theirs))


def any_same(word: str, others: Iterable[str]) -> bool:
    """Whether a verb says the same as one of others."""
    return any(same_verb(word, other) for other in others)


def _replies(sentence: Sentence) -> set[int]:
    """Return where the words of mere replies begin."""
    found = {match.start() for match in _BARE_YES.finditer(sentence.text)}
    reply = _REPLY.match(sentence.text)
    return found | ({0, 1} if reply else set())


def _bare_words(sentence: Sentence) -> list[Word]:
    """Return the words as verbs are compared: 想 for 不想, 有 for 有钱, 不喜欢 as it says 讨厌."""
    words = []
    for number, word in enumerate(sentence.words):
        text, start = word.text, word.start
        if number and sentence.words[number - 1].text == "不" and f"不{text}" in known_verbs():
            text, start = f"不{text}", start - 1
        elif len(text) > 1 and text[0] in "不没别" and text not in listed("negative"):
            text, start = text[1:], start + 1
        elif len(text) == 2 and text[0] == "有" and word.flag.startswith("v"):
            text = "有"
        elif text == "就是" and _CLOSES.match(sentence.text, word.end):
            text, start = "是", start + 1
        words.append(Word(text, word.flag, start))
    return words


def _stem(verb: str) -> str:
    """Return a verb without what follows it: 听 of 听见, 看 of 看不出来."""
    return verb[0] + verb[1:].lstrip(data("ellipsis")["complements"]) if verb else verb


def _core(verb: str) -> set[str]:
    """Return the characters that a verb may share with one that says the same."""
    common = listed("complements") | listed("light") | listed("modal") | listed("bleached")
    return set(verb) - common
