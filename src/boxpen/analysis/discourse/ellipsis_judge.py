"""Whether a verb that English leaves out is there in Chinese.

"Neither do I." is 我也不知道 after "She doesn't know". What was elided is taken from the reference:
the verbs that it has in common with its context, else the other verbs that it has. A translation is
right if it has one of them or one that says the same, and wrong if it has another verb (做, 是) or
none at all. Verbs stand in ``data/ellipsis.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from boxpen.analysis.discourse.chinese import Sentence, Word, read
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT, WRONG, Ruling, rule

__all__ = ["judge_ellipsis", "predicates", "same_verb"]

_PREDICATE = ("v", "a", "zg", "l", "i", "z")
_NO_VERB = (
    "nr", "ns", "nt", "r", "m", "q", "u", "y", "e", "o", "p", "c", "x", "eng", "t", "f", "d",
)  # fmt: skip
_PARTICLES = frozenset({"了", "过", "着", "得"})
_MARKS = "，,。.！!？?；;：:…"
_NEGATED = re.compile(r"n't\b|\b(?:not|no|never|neither|nor|nobody|none)\b", re.IGNORECASE)
_FINAL_NOT = re.compile(rf"没有(?:的|啊|呀|吧|吗|呢)?(?=$|[{_MARKS}])")
"""没有 without anything behind it denies whatever was said before."""
_BARE_YES = re.compile(rf"(?:^|(?<=[{_MARKS}]))是(?=(?:的|吗|么|啊|呀|吧)?(?:$|[{_MARKS}]))")
"""是 in 是的 and 是吗 is no verb."""


@dataclass(frozen=True, slots=True)
class _Verbs:
    light: frozenset[str]
    modal: frozenset[str]
    ignored: frozenset[str]
    proforms: tuple[str, ...]
    short: tuple[str, ...]
    negative: frozenset[str]
    complements: str
    groups: tuple[frozenset[str], ...]
    overt: dict[str, frozenset[str]]
    known: frozenset[str]


def judge_ellipsis(source: str, translation: str, reference: str, reference_context: str) -> Ruling:
    """Judge one translation of a sentence whose verb is elided.

    Args:
        source: The English sentence.
        translation: What is judged.
        reference: A right translation.
        reference_context: A right translation of the sentence before; empty if unknown.
    """
    sentence = read(translation)
    if not sentence.text:
        return rule(WRONG, "there is no translation")
    overt = _overt(source)
    before, answer = read(reference_context), read(reference)
    wanted, shared = _elided(answer, before, overt)
    there = predicates(sentence)
    if not wanted:
        return _needs_none(sentence, there, before)
    name = " or ".join(dict.fromkeys(word.text for word in wanted))
    hits = [word.hit for word in _candidates(sentence) if _any(word, wanted)]
    if hits:
        return rule(RIGHT, f"{name} is asked for", hits)
    content = [word for word in predicates(before) if not _level(word)]
    repeated = [word.hit for word in there if _any(word, content)]
    if repeated and not shared and (not _level(wanted[0]) or _stands_for_verb(answer)):
        sure = len(content) == 1 or _stands_for_verb(answer)
        because = f"a verb of the context, the reference has {name}"
        return rule(RIGHT if sure else CANNOT_TELL, because, repeated)
    # Where a verb of its own is asked for, any auxiliary of the dialogue may be all of the reply.
    spoken = [*predicates(answer), *([] if _level(wanted[0]) else predicates(before))]
    return _another(source, sentence, spoken, overt, name)


def _another(
    source: str, sentence: Sentence, spoken: Sequence[Word], overt: Collection[str], name: str
) -> Ruling:
    """Judge a translation without the verb that is asked for."""
    there = predicates(sentence)
    auxiliary = [word for word in there if _level(word) == 2 and _any(word, spoken)]
    others = [word for word in there if word not in auxiliary and word.text not in overt]
    proform = _stands_for_verb(sentence)
    if proform == "没有" and not _NEGATED.search(source):
        proform = ""
    if proform and all(word.text in proform for word in others):
        return rule(CANNOT_TELL, f"{proform} stands for a verb, the reference has {name}")
    if others:
        return rule(WRONG, f"{name} is asked for", (word.hit for word in others))
    if auxiliary:
        because = f"no more than the auxiliary, the reference has {name}"
        return rule(CANNOT_TELL, because, (word.hit for word in auxiliary))
    return rule(WRONG, f"no verb where {name} is asked for")


def predicates(sentence: Sentence) -> list[Word]:
    """Return the words of a sentence that may be its predicate.

    Parts of speech are jieba's, which knows words by themselves: verbs of the tables, and what is
    negated or has an aspect particle behind it, are taken for verbs whatever jieba says.
    """
    verbs = _verbs()
    replies = {found.start() for found in _BARE_YES.finditer(sentence.text)}
    words = [_positive(word) for word in sentence.words]
    found = []
    for number, word in enumerate(words):
        if word.text in verbs.ignored or word.start in replies:
            continue
        last = sentence.words[number - 1].text if number else ""
        following = words[number + 1].text if number + 1 < len(words) else ""
        used = (last == "不" or last in verbs.modal or following in _PARTICLES) and not (
            word.flag.startswith(_NO_VERB)
        )
        if word.text in verbs.known or word.flag.startswith(_PREDICATE) or used:
            found.append(word)
    return found


def same_verb(one: str, other: str) -> bool:
    """Whether two verbs are one, apart from what follows them, or say the same."""
    if one == other or _stem(one) == _stem(other):
        return True
    mine, theirs = {one, _stem(one)}, {other, _stem(other)}
    if any(mine & group and theirs & group for group in _verbs().groups):
        return True
    return bool(_core(one) & _core(other))


def _needs_none(sentence: Sentence, there: Sequence[Word], before: Sentence) -> Ruling:
    """Judge where the reference has no verb: 真的吗?"""
    content = [word for word in predicates(before) if not _level(word)]
    repeated = [word.hit for word in there if _any(word, content)]
    if repeated:
        return rule(RIGHT, "a verb of the context", repeated)
    literal = [word for word in there if same_verb(word.text, "做") or word.text == "知道"]
    if literal:
        return rule(WRONG, "no such verb is asked for", (word.hit for word in literal))
    reply = _first(_verbs().short, sentence)
    if reply:
        return rule(RIGHT, f"{reply}: the reference has no verb either")
    return rule(CANNOT_TELL, "the reference has no verb", (word.hit for word in there))


def _elided(answer: Sentence, before: Sentence, overt: Collection[str]) -> tuple[list[Word], bool]:
    """Return the verbs that were elided, and whether they are those of the context."""
    # In the context a word need not look like a verb: what the answer repeats of it, was elided.
    context = _candidates(before)
    words = predicates(answer) or [w for w in _candidates(answer) if _any(w, context)]
    shared = [word for word in words if _any(word, context)]
    for some, of_context in ((shared, True), (words, False)):
        for level in (0, 1, 2):
            covert = [w for w in some if _level(w) == level and w.text not in overt]
            if covert:
                return covert, of_context
    # All that the reference has is what the source says too.
    return [word for word in words if not _level(word)] or words, False


def _candidates(sentence: Sentence) -> list[Word]:
    """Return the words that are not certainly something else than verbs."""
    verbs = _verbs()
    replies = {found.start() for found in _BARE_YES.finditer(sentence.text)}
    return [
        word
        for word in map(_positive, sentence.words)
        if word.start not in replies
        and (
            word.text in verbs.known
            or not (word.text in verbs.ignored or word.flag.startswith(_NO_VERB))
        )
    ]


def _stands_for_verb(sentence: Sentence) -> str:
    """Return the words of a sentence that stand for a verb: 也是, or 没有 at its end."""
    final = _FINAL_NOT.search(sentence.text)
    return _first(_verbs().proforms, sentence) or ("没有" if final else "")


def _positive(word: Word) -> Word:
    """Return 想 for 不想, which jieba takes for one word."""
    if len(word.text) > 1 and word.text[0] in "不没别" and word.text not in _verbs().negative:
        return Word(word.text[1:], word.flag, word.start + 1)
    return word


def _level(word: Word) -> int:
    """Return 0 for a verb with a meaning of its own, 1 for a light one, 2 for an auxiliary."""
    verbs = _verbs()
    return 2 if word.text in verbs.modal else 1 if word.text in verbs.light else 0


def _any(word: Word, others: Iterable[Word]) -> bool:
    return any(same_verb(word.text, other.text) for other in others)


def _stem(verb: str) -> str:
    """Return a verb without what follows it: 听 of 听见, 看 of 看不出来."""
    return verb[0] + verb[1:].lstrip(_verbs().complements) if verb else verb


def _core(verb: str) -> set[str]:
    """Return the characters that a longer verb may share with one that says the same."""
    verbs = _verbs()
    common = set(verbs.complements) | verbs.light | verbs.modal | set("想知道要意")
    return set(verb) - common if len(verb) > 1 or verb not in common else set()


def _overt(source: str) -> frozenset[str]:
    """Return what the verbs that the source does not elide become in Chinese."""
    table = _verbs().overt
    words = re.findall(r"[a-z]+", source.lower())
    return frozenset(verb for word in words for verb in table.get(word, ()))


def _first(phrases: Iterable[str], sentence: Sentence) -> str:
    text = sentence.text.replace("?", "？")
    return next((phrase for phrase in phrases if phrase in text), "")


@cache
def _verbs() -> _Verbs:
    import tomllib

    file = resources.files("boxpen.analysis.discourse").joinpath("data", "ellipsis.toml")
    data: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    groups = tuple(frozenset(group) for group in data["interchangeable"])
    return _Verbs(
        light=frozenset(data["light"]),
        modal=frozenset(data["modal"]),
        ignored=frozenset(data["ignored"]),
        proforms=tuple(data["proforms"]),
        short=tuple(data["short"]),
        complements=data["complements"],
        negative=frozenset(data["negative"]),
        groups=groups,
        known=frozenset(data["light"]).union(data["modal"], *groups),
        overt={word: frozenset(some) for word, some in data["overt"].items()},
    )
