"""Whether a connective got the right sense in Chinese.

English "while" is 而 or 当, "since" is 因为, 既然 or 自从, and so on. Which words say which sense
stands in ``data/connectives.toml``. Chinese may set two clauses beside each other without any
word, and then nobody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from boxpen.analysis.discourse.chinese import Sentence, read
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT, WRONG, Hit, Ruling, rule

__all__ = ["Sense", "connective_classes", "judge_connective", "realisations"]

_GAP = "…"
_WIDEST = 40  # characters between the parts of a word that has two
_ASIDE = re.compile(r"\bthough\b[\s\"']*(?:[,.!?;]|$)", re.IGNORECASE)
"""Though as an adverb, which looks back at what was said before: "It is far, though."."""
_FIRST = re.compile(r"^\W*(?:\w+\W+){0,2}though\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sense:
    """What a connective may mean, and the words that say so; see the data file."""

    name: str
    words: tuple[str, ...]
    also: tuple[str, ...]
    but_not: tuple[str, ...]
    english: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Class:
    right: tuple[str, ...]
    near: tuple[str, ...]
    wrong: tuple[str, ...]


def connective_classes() -> tuple[str, ...]:
    """Return the classes, such as ``while-而``."""
    return tuple(_tables()[1])


def judge_connective(cls: str, source: str, translation: str, reference: str) -> Ruling:
    """Judge one translation of a sentence with an ambiguous connective.

    Args:
        cls: The word and its sense, one of ``connective_classes``.
        source: The English sentence.
        translation: What is judged.
        reference: A right translation; where it has another sense than its class says, that sense
            is right too.
    """
    sentence = read(translation)
    if not sentence.text:
        return rule(WRONG, "there is no translation")
    wanted = _wanted(cls, reference)
    said, weak = _said(sentence, wanted.right), _said(sentence, wanted.right, also=True)
    wrong = _unexcused(_said(sentence, wanted.wrong), source)
    if cls.startswith("though-"):
        turned = _though(cls, source, sentence, said, wrong)
        if turned is not None:
            return turned
    if said:
        return rule(RIGHT, _senses(said), _hits(said))
    if wrong:
        return rule(WRONG, f"{_senses(wrong)}, not {wanted.right[0]}", _hits(wrong))
    near = _said(sentence, wanted.near)
    if near:
        return rule(CANNOT_TELL, f"{_senses(near)}, close to {wanted.right[0]}", _hits(near))
    if weak:
        return rule(RIGHT, _senses(weak), _hits(weak))
    return rule(CANNOT_TELL, f"no word for {wanted.right[0]}, nor for another sense")


def realisations(sense: Sense, sentence: Sentence, *, also: bool = False) -> list[Hit]:
    """Return the words of a sentence that say a sense.

    Args:
        sense: The sense.
        sentence: The sentence.
        also: Take the words that only may say it.
    """
    barred = [span for phrase in sense.but_not for span in _spans(sentence, phrase, whole=False)]
    spans: dict[tuple[int, int], Hit] = {}
    for word in sense.also if also else sense.words:
        if word.endswith("？") and "？" not in sentence.text.replace("?", "？"):
            continue
        plain = word.strip("^~？")
        for start, end in _spans(sentence, plain, whole="~" not in word):
            if word.startswith("^") and not _begins(sentence, start):
                continue
            if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in barred):
                spans[start, end] = Hit(plain, start + 1)
    # Of 时, 当 and 当…时 the longest says it all.
    return [
        hit
        for (start, end), hit in sorted(spans.items())
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in spans)
    ]


def _though(
    cls: str,
    source: str,
    sentence: Sentence,
    said: Mapping[str, list[Hit]],
    wrong: Mapping[str, list[Hit]],
) -> Ruling | None:
    """Judge what depends on places: 虽然 belongs to the clause of though, 但是 to the other one.

    None leaves it to the words alone.
    """
    if cls == "though-虽然":
        against = wrong.get("adversative", [])
        if said or not against:
            return None
        if any(_begins(sentence, hit.place - 1) and not sentence.clause(hit.place - 1)
               for hit in against):  # fmt: skip
            return None
        outcome = RIGHT if _FIRST.search(source) else CANNOT_TELL
        return rule(outcome, "adversative in the clause that follows", against)
    conceded = wrong.get("concession", [])
    if not conceded:
        return None
    if _ASIDE.search(source):
        return rule(WRONG, "concession, and though looks back at the sentence before", conceded)
    if not said and all(sentence.clause(hit.place - 1) for hit in conceded):
        return rule(CANNOT_TELL, "concession after the fact, close to adversative", conceded)
    return None


def _wanted(cls: str, reference: str) -> _Class:
    """Return the senses of a class; what the reference says is right, whatever the class."""
    wanted = _tables()[1][cls]
    sentence = read(reference)
    if _said(sentence, wanted.right):
        return wanted
    extra = [*_said(sentence, wanted.near)] or [*_said(sentence, wanted.wrong)]
    return _Class(
        (*wanted.right, *extra),
        tuple(name for name in wanted.near if name not in extra),
        tuple(name for name in wanted.wrong if name not in extra),
    )


def _said(sentence: Sentence, names: Iterable[str], *, also: bool = False) -> dict[str, list[Hit]]:
    """Return the senses that a sentence has words for."""
    senses = _tables()[0]
    found = {name: realisations(senses[name], sentence, also=also) for name in names}
    return {name: hits for name, hits in found.items() if hits}


def _unexcused(said: Mapping[str, list[Hit]], source: str) -> dict[str, list[Hit]]:
    """Leave out senses that other words of the source ask for."""
    english = set(re.findall(r"[a-z]+", source.lower()))
    senses = _tables()[0]
    return {name: hits for name, hits in said.items() if english.isdisjoint(senses[name].english)}


def _spans(sentence: Sentence, phrase: str, *, whole: bool) -> list[tuple[int, int]]:
    """Return where a phrase begins and ends; of one in two parts the shortest stretches.

    Single characters must be words by themselves; 是因为 or 或者说, which are words too, say what
    the shorter ones say.
    """

    def places(part: str) -> list[int]:
        return sentence.find(part) if whole and len(part) == 1 else sentence.places(part)

    first, gap, last = phrase.partition(_GAP)
    if not gap:
        return [(at, at + len(phrase)) for at in places(phrase)]
    ends = sentence.places(last)
    spans = []
    for at in sentence.find(first):
        after = [end for end in ends if at + len(first) <= end <= at + len(first) + _WIDEST]
        same = [end for end in after if whole or sentence.clause(end) == sentence.clause(at)]
        if same:
            spans.append((at, same[0] + len(last)))
    return spans


def _begins(sentence: Sentence, place: int) -> bool:
    """Whether a clause begins here."""
    return place == 0 or sentence.text[place - 1] in "，,。.！!？?；;：:…—、“”\"' 　"


def _senses(said: Mapping[str, list[Hit]]) -> str:
    return " and ".join(said)


def _hits(said: Mapping[str, list[Hit]]) -> list[Hit]:
    return [hit for hits in said.values() for hit in hits]


@cache
def _tables() -> tuple[dict[str, Sense], dict[str, _Class]]:
    import tomllib

    file = resources.files("boxpen.analysis.discourse").joinpath("data", "connectives.toml")
    data: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
    senses = {
        name: Sense(name, **{key: tuple(some) for key, some in table.items()})
        for name, table in data["senses"].items()
    }
    classes = {
        name: _Class(**{key: tuple(some) for key, some in table.items()})
        for name, table in data["classes"].items()
    }
    return senses, classes
