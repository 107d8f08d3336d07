"""Whether a connective got the right sense in Chinese.

English "while" is 而 or 当, "since" is 因为, 既然 or 自从, and so on. The words of every sense are
in ``data/connectives.toml``. A translation without any such word does not express the sense; one
that mostly stammers, as weak models do, or lacks a clause, cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from boxpen.analysis.discourse.chinese import BROKEN, Sentence, data, letters, read
from boxpen.analysis.discourse.clauses import clauses_of, missing_clause
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT, WRONG, Hit, Ruling, rule

__all__ = ["Sense", "connective_classes", "judge_connective", "realisations"]

_GAP = "…"
_SIGNS = "^？$+"
_EDGE = "，,。.！!？?；;：:…—、“”\"' 　"  # what a clause may begin after
_WIDEST = 40  # characters between the parts of a word that has two
_ASIDE = re.compile(r"\bthough\b[\s\"']*(?:[,.!?;]|$)", re.IGNORECASE)
"""Though as an adverb, which looks back at what was said before: "It is far, though."."""
_ONE = r"[^,;:–—….!?]*"
_WHO = r"(?:i|you|he|she|it|we|they)\b"
_ITS = r"(?:the|an?|my|your|his|her|its|our|their|this|that|these|those|any)\b"
_KNOWN = r"(?:say|said|tell|told|know|knew|known|see|saw|seen|hear|heard|read|remember|recall)"
_ALONE = re.compile(
    rf"^\W*(?:even )?though\b(?!.*\byet\b){_ONE}(?:, (?:"
    rf"as (?:far as )?{_WHO}(?:['’]\w+)?(?: (?:have|has|had|can|could|just))?"
    rf" {_KNOWN}(?: (?:me|you|him|her|us|them|it|before|{_ITS} \w+(?: \w+)?))?"
    rf"|considering {_ITS} \w+(?: \w+)?"
    rf"|that should (?:{_WHO}|{_ITS}){_ONE}"
    r"))*\W*$",
    re.IGNORECASE,
)
"""A clause of though without another main one: "Though she never said so, as far as I know.".

Behind a comma a main clause may begin, be it with when, who or nothing; so only what leaves no room
for one counts: a remark, or "that" with its verb turned around.
"""
_STUTTER = re.compile(rf"(\w)\1{{3,}}|(\w{{2,3}})\2{{2,}}|{BROKEN}")
_MOSTLY = 0.45
"""Of what stammers more than this, little is left to be asked."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What a connective may mean, and the words that say so; see the data file."""

    name: str
    label: str
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

    Where the reference has another sense than its class, that sense is right too.
    """
    sentence = read(translation)
    if not sentence.text:
        return rule(WRONG, "there is no translation")
    asks = "?" in source  # subtitles and systems leave out the mark in Chinese
    wanted = _wanted(cls, reference, asks=asks)
    said = _said(sentence, wanted.right, asks=asks)
    weak = _said(sentence, wanted.right, also=True, asks=asks)
    wrong = _unexcused(_said(sentence, wanted.wrong, asks=asks), source)
    rival = _rival(said, wanted.right, source, reference)
    model = read(reference)
    joined = clauses_of(model, _hits(_said(model, wanted.right, asks=asks)))
    missing = missing_clause(sentence, model, joined)
    if rival and wrong:  # what is left for the connective is another sense
        because = f"{_senses(wrong)}, not {wanted.right[0]}"
        return rule(WRONG, because, _hits(wrong), instead=_labels(wrong))
    if rival:
        because = f"fewer words for {_senses(said)} than the reference has, with '{rival}'"
        return rule(CANNOT_TELL, because, _hits(said), instead="")
    if cls.startswith("though-"):
        turned = _though(cls, source, sentence, said, wrong, missing)
        if turned is not None:
            return turned
    if said:
        return rule(RIGHT, _senses(said), _hits(said))
    near = _said(sentence, wanted.near, asks=asks)
    if near:
        because = f"{_senses(near)}, close to {wanted.right[0]}"
        return rule(CANNOT_TELL, because, _hits(near), instead=_labels(near))
    if wrong:
        because = f"{_senses(wrong)}, not {wanted.right[0]}"
        return rule(WRONG, because, _hits(wrong), instead=_labels(wrong))
    if weak:
        return rule(RIGHT, _senses(weak), _hits(weak))
    because = f"no word for {wanted.right[0]}, nor for another sense"
    broken = list(_STUTTER.finditer(sentence.text))
    if BROKEN in sentence.text or _stammered(broken) > _MOSTLY * letters(sentence.text):
        hit = Hit(broken[0][0], broken[0].start() + 1)
        return rule(CANNOT_TELL, f"{because}, and no sentence", [hit], instead="")
    if missing:
        return rule(CANNOT_TELL, f"{because}, and a clause is missing: {missing}")
    return rule(WRONG, because)


def realisations(
    sense: Sense, sentence: Sentence, *, also: bool = False, asks: bool = False
) -> list[Hit]:
    """Return the words of a sentence that say a sense.

    Args:
        sense: The sense.
        sentence: The sentence.
        also: Take the words that only may say it.
        asks: Whether the sentence asks something, be it without a question mark.
    """
    asks = asks or re.search("[？?]", sentence.text) is not None
    barred = [span for phrase in sense.but_not for span in _spans(sentence, phrase, part=True)]
    barred += [found.span() for found in _STUTTER.finditer(sentence.text)]
    spans: dict[tuple[int, int], Hit] = {}
    for word in sense.also if also else sense.words:
        plain = word.strip(_SIGNS)
        for start, end in _spans(sentence, plain, ends_in_part="$" in word):
            if not _fits(word, sentence, start, end, asks=asks):
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
    missing: str,
) -> Ruling | None:
    """Judge what depends on clauses: 虽然 belongs to that of though, 但是 to the other one.

    None leaves it to the words alone.
    """
    if cls == "though-虽然":
        against = wrong.get("adversative", [])
        if said and missing and not sentence.clause(len(sentence.text.rstrip(_EDGE))):
            because = f"{_senses(said)}, with no clause that it could be against: {missing}"
            return rule(CANNOT_TELL, because, _hits(said))
        if said or not against:
            return None
        if _ASIDE.search(source) or _ALONE.match(source):
            return rule(RIGHT, "adversative, and though looks back at the sentence before", against)
        if any(_begins(sentence, hit.place - 1) and not sentence.clause(hit.place - 1)
               for hit in against):  # fmt: skip
            return None
        return rule(RIGHT, "adversative in the clause that follows", against)
    conceded = wrong.get("concession", [])
    if not conceded:
        return None
    first = [hit for hit in conceded if _begins(sentence, hit.place - 1)]
    if not said and _ALONE.match(source) and first and not sentence.clause(first[0].place - 1):
        return rule(RIGHT, "concession, with no other clause that it could be of", conceded)
    if _ASIDE.search(source):
        because = "concession, and though looks back at the sentence before"
        return rule(WRONG, because, conceded, instead=_labels({"concession": conceded}))
    if not said and all(sentence.clause(hit.place - 1) for hit in conceded):
        ends = sentence.text.rstrip(_EDGE).endswith(conceded[-1].words)
        outcome = CANNOT_TELL if ends else RIGHT
        return rule(outcome, "concession after the fact", conceded)
    return None


def _wanted(cls: str, reference: str, *, asks: bool) -> _Class:
    """Return the senses of a class; what the reference says is right, whatever the class."""
    wanted = _tables()[1][cls]
    sentence = read(reference)
    if _said(sentence, wanted.right, asks=asks):
        return wanted
    extra = [*_said(sentence, wanted.near, asks=asks)]
    extra = extra or [*_said(sentence, wanted.wrong, asks=asks)]
    return _Class(
        (*wanted.right, *extra),
        tuple(name for name in wanted.near if name not in extra),
        tuple(name for name in wanted.wrong if name not in extra),
    )


def _said(
    sentence: Sentence, names: Iterable[str], *, also: bool = False, asks: bool = False
) -> dict[str, list[Hit]]:
    """Return the senses that a sentence has words for."""
    senses = _tables()[0]
    found = {name: realisations(senses[name], sentence, also=also, asks=asks) for name in names}
    return {name: hits for name, hits in found.items() if hits}


def _stammered(found: Iterable[re.Match[str]]) -> int:
    return sum(len(some[0]) for some in found)


def _unexcused(said: Mapping[str, list[Hit]], source: str) -> dict[str, list[Hit]]:
    """Leave out senses that other words of the source ask for."""
    return {name: hits for name, hits in said.items() if not _rivals([name], source)}


def _rivals(names: Iterable[str], source: str) -> list[str]:
    """Return the words of an English sentence that ask for these senses too."""
    words = [re.escape(word) for name in names for word in _tables()[0][name].english]
    plain = source.lower().replace("’", "'")
    if not words:
        return []
    return re.findall(rf"(?:(?<![\w'])|(?=\W))(?:{'|'.join(words)})(?!\w)", plain)


def _rival(said: Mapping[str, list[Hit]], right: Iterable[str], source: str, reference: str) -> str:
    """Return a word of the source that all words for the right senses may stand for, if any.

    It is so where the reference has more of them, and no more are there than such words.
    """
    rivals = _rivals(said, source)
    found, known = (sum(map(len, x.values())) for x in (said, _said(read(reference), right)))
    return rivals[0] if rivals and found <= len(rivals) and found < known else ""


def _spans(
    sentence: Sentence, phrase: str, *, part: bool = False, ends_in_part: bool = False
) -> list[tuple[int, int]]:
    """Return where a phrase begins and ends; of one in two parts the shortest stretches.

    Single characters must be words by themselves, unless parts of words will do; 是因为 or 或者说,
    which are words too, say what the shorter ones say.
    """

    def places(piece: str) -> list[int]:
        return sentence.places(piece) if part or len(piece) > 1 else sentence.find(piece)

    first, gap, last = phrase.partition(_GAP)
    if not gap:
        return [(at, at + len(phrase)) for at in places(phrase)]
    ends = sentence.places(last) if ends_in_part else places(last)
    spans = []
    for at in sentence.find(first):
        after = [end for end in ends if at + len(first) <= end <= at + len(first) + _WIDEST]
        same = [end for end in after if not part or sentence.clause(end) == sentence.clause(at)]
        if same:
            spans.append((at, same[0] + len(last)))
    return spans


def _fits(word: str, sentence: Sentence, start: int, end: int, *, asks: bool) -> bool:
    """Whether a word stands where its signs say; see the data file."""
    if word.startswith("^") and not _begins(sentence, start):
        return False
    if word.endswith("？") and not asks:
        return False
    if word.endswith("$") and not _since_then(sentence.text, end):
        return False
    return not word.endswith("+") or any(
        other.start == end and other.flag.startswith(("n", "r")) for other in sentence.words
    )


def _since_then(text: str, end: int) -> bool:
    """Whether 起 ends an expression of time, 从那天起, and belongs to no verb such as 拿起."""
    following = text[end : end + 1]
    return (not following or following in _EDGE + "就便都也我你他她还没至吗呢") and (
        text[end - 2] not in "拿抬举站捡抓提想说拾升响"
    )


def _begins(sentence: Sentence, place: int) -> bool:
    """Whether a clause begins here."""
    return place == 0 or sentence.text[place - 1] in _EDGE


def _senses(said: Mapping[str, list[Hit]]) -> str:
    return " and ".join(said)


def _labels(said: Mapping[str, list[Hit]]) -> str:
    """Return the plainest words of senses, by which classes are named: 当 for a time."""
    return " ".join(_tables()[0][name].label for name in said)


def _hits(said: Mapping[str, list[Hit]]) -> list[Hit]:
    return [hit for hits in said.values() for hit in hits]


@cache
def _tables() -> tuple[dict[str, Sense], dict[str, _Class]]:
    tables = data("connectives")
    senses = {
        name: Sense(
            name,
            table["label"],
            **{key: tuple(some) for key, some in table.items() if key != "label"},
        )
        for name, table in tables["senses"].items()
    }
    classes = {
        name: _Class(**{key: tuple(some) for key, some in table.items()})
        for name, table in tables["classes"].items()
    }
    return senses, classes
