"""Connectives with several senses: while, as, since, though and or.

Chinese has a word for each sense. A snippet is a candidate if the English connective is one indeed,
and the Chinese sentence shows one of its senses and no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from boxpen.build.discourse.phenomena.as_clauses import joins_clauses
from boxpen.build.discourse.phenomena.since import names_a_time
from boxpen.build.discourse.phenomena.snippets import Finding, Objection, Snippet, misfits, weighed
from boxpen.build.discourse.phenomena.wordlists import EDGE, table

__all__ = [
    "CLASSES",
    "SENSES",
    "SETTLED",
    "Realisation",
    "begins_clause",
    "connective",
    "realisation",
    "senses",
]

CLASSES = (
    "while-而", "while-当", "as-因为", "as-当", "since-因为", "since-既然", "since-自从",
    "though-虽然", "though-但是", "though-不过", "or-否则", "or-或者",
)  # fmt: skip
# The senses of a word; 因为 and 既然, 但是 and 不过 are one.
SENSES = {
    "while": (("while-而",), ("while-当",)),
    "as": (("as-因为",), ("as-当",)),
    "since": (("since-因为", "since-既然"), ("since-自从",)),
    "though": (("though-虽然",), ("though-但是", "though-不过")),
    "or": (("or-否则",), ("or-或者",)),
}
# Mostly tense, place or sense settles these: of six mined sentences of each, two readers needed the
# context of none (docs/results/data/discourse-mined.jsonl), so at most of 39 % (Wilson, 95 %).
SETTLED = ("while-当", "as-因为", "as-当", "since-自从", "though-但是", "or-或者")
_CONNECTIVE = re.compile(r"\b(?:while|as|since|though|or)\b")
# Where the word is no connective: part of a fixed phrase, a noun, a comparison, a number.
_NOT = {
    "while": re.compile(
        r"\b(?:a|the|little|long|good|quite a|worth your|once in a) while\b"
        r"|\bwhile (?:ago|back|since|longer)\b|\bwhile we're at it\b"
    ),
    "as": re.compile(
        r"\bas [\w' -]{1,40}? as\b"
        r"|\b(?:such|same|so|much|well|known|just|far|long|soon|exactly)(?: [\w']+)? as\b"
        r"|\bas (?:if|though|well|for|to|of|usual|always|planned|long|soon|far|much|many|good)\b"
        r"|\bas (?:yet|expected|opposed|promised|in|ever|such|your|my|his|her|their|our|its|an?)\b"
        r"|\bas (?:i|you|he|she|we|they) (?:said|say|know|knew|see|told|can see|may|might|like)\b"
        r"|\bas (?:i|you|he|she|we|they) (?:mentioned|please|wish|already|all know|asked)\b"
        r"|\bas (?:i|you|he|she|we|they) (?:suspected|thought|come|recall|remember)\b"
        r"|\bas i(?:'m| am) sure\b|\b(?:watch|watched|watching|saw|see) [\w' ]*?as\b"
        r"|\bas it (?:is|was|were|happens|turns)\b"
        r"|\b(?:dressed|think of|see|works?|worked|use|used|treat|regard|describe) [\w' ]*?as\b"
    ),
    "since": re.compile(
        r"\b(?:ever|long) since\b|\bsince (?:when|then|forever|day one|always)\b"
    ),
    "though": re.compile(r"\bas though\b"),
    "or": re.compile(
        r"\bor (?:so|not|something|whatever|anything|whatnot|two|three|four|five|six|more|less|"
        r"nothing|die|no|maybe|even|any|other|somewhere|someone)\b"
        r"|\b(?:whether|either|more|one|two) or\b|\b\d+ or \d+|\bwhether\b|\bneither\b"
        r"|\bsooner or later\b|\bor else[.!?]*$|^or[.!?,… ]*$"
    ),
}  # fmt: skip
# 's that is "is", not a genitive.
_IS = r"'s (?:\w+ing|an?|the|not|so|too|very|been|gone|in|on|at|my|your|here|there)\b"
# What begins a clause, not a part of one.
_CLAUSE = re.compile(
    r"(?:i|you|he|she|it|we|they|this|that|there|everyone|everybody|nobody|somebody|someone)\b"
    r"|(?:my|your|his|her|our|their|the|these|those|mr|mrs|ms|dr) |[a-z]+'(?:ll|re|d) "
    rf"|[a-z]+{_IS}"
    r"|[a-z]+ (?:will|would|is|was|are|were|has|had|can|could)\b"
    r"|(?:do|does|did|is|are|was|were|have|has|will|would|can|could|should|don't|let's)\b"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|had|have|will|would|can|could|did|do|does|didn't|\w{2,}ed|\w+n't)\b"
    rf"|'(?:re|ll|d|ve)\b|{_IS}|\b(?:came|went|got|took|left|made|said|died|knows?|says|comes|goes)\b"
)
_NOMINAL = re.compile(r"(?:my|your|his|her|our|their|the|this|that|these|those|mr|mrs|ms|dr)\b")
# Correlatives: the second word belongs to the first and is no sense of its own.
_CORRELATIVES = {"though-虽然": {"though-但是", "though-不过"}}

_BECAUSE = re.compile(r"\b(?:be)?cause\b|\bdue to\b")
# 'It is far, though.': an adverb, which looks back; 虽然 belongs to the clause that it begins.
_ASIDE = re.compile(r"[\s\"']*(?:[,.!?;…-]|$)")
# 'Or you gotta let it go.': a way out, and no threat, unless the sentence began a line before.
_OFFERED = re.compile(r"Or (?:we can|(?:you|we) (?:gotta|got to|have to|need to|must|should))\b")
_ASKED = re.compile(r"[^.!…]*\?")
# Said twice, or with 要么, these words are "either … or", and no threat.
_OR = "要不(?![要是行了得])"
_EITHER = re.compile(f"(?:{_OR}|不然).*(?:{_OR}|要么)|要么.*(?:{_OR}|不然)")


class Realisation(NamedTuple):
    """Chinese words of a sense, and their place in the sentence."""

    cls: str
    word: str
    start: int
    end: int


def connective(snippet: Snippet) -> Finding | None:
    """Return the connective that a snippet may test."""
    current = snippet.source.lower().replace("’", "'")
    found = list(_CONNECTIVE.finditer(current))
    if len(found) != 1:  # with two, nobody knows which one the Chinese words translate
        return None
    [match] = found
    english = match[0]
    if _NOT[english].search(current):
        return None
    shown = senses(english, snippet.target)
    if len(shown) != 1:
        return None
    [sense] = shown
    rest = current[match.end() :].lstrip(" ,")
    if english != "though" and not re.search(r"\w", rest):
        return None  # nothing follows
    if sense.cls == "or-否则" and _offers(snippet):
        return None
    if _says_another(sense.cls, current, match):
        return None
    objections = _objections(sense, snippet, current, match)
    reason = f"'{english}' → {sense.word}"
    return weighed(sense.cls, sense.word, _BASE.get(sense.cls, 0.8), reason, objections)


def _says_another(cls: str, current: str, match: re.Match[str]) -> bool:
    """Tell whether the English word cannot have the sense that the Chinese words show."""
    before, rest = current[: match.start()], current[match.end() :]
    if cls in ("since-因为", "since-既然") and names_a_time(rest.lstrip(" ,")):
        return True
    if cls in ("as-因为", "since-因为") and _BECAUSE.search(current):
        return True  # 因为 is the translation of that word
    if cls.startswith("as-"):
        return not joins_clauses(before, rest)
    if cls == "though-虽然":
        return _ASIDE.match(rest) is not None or before.endswith("even ")
    return cls == "or-否则" and _ASKED.match(rest) is not None


def _offers(snippet: Snippet) -> bool:
    """Tell whether 'or' adds a way out, or the second of two possibilities, and is no threat."""
    said = f"{snippet.context_source} {snippet.source}".lower().split()
    return "either" in said or _OFFERED.match(snippet.source) is not None


def senses(english: str, target: str) -> list[Realisation]:
    """Return the senses of an English connective that a Chinese sentence shows."""
    found = [
        r for cls in CLASSES if cls.startswith(english + "-") if (r := realisation(cls, target))
    ]
    shown = {r.cls for r in found}
    ruled_out = {other for cls in shown for other in _CORRELATIVES.get(cls, ())}
    return [r for r in found if r.cls not in ruled_out]


def begins_clause(english: str) -> bool:
    """Tell whether what follows a connective is a clause, not a part of one: 'or you' is none."""
    english = english.lstrip(" ,")
    if _CLAUSE.match(english) is None or len(english.split()) < 2:
        return False
    return not _NOMINAL.match(english) or bool(_FINITE.search(english))


def realisation(cls: str, target: str) -> Realisation | None:
    """Return the first word of a sense that a Chinese sentence has."""
    if cls == "or-否则" and _EITHER.search(target):
        return None
    for pattern in _patterns(cls):
        match = pattern.search(target)
        if match:
            return Realisation(cls, _shown(match[0]), match.start(), match.end())
    return None


_BASE = {"or-或者": 0.9, "or-否则": 0.95, "while-而": 0.85, "while-当": 0.9, "since-自从": 0.85}


def _objections(
    sense: Realisation, snippet: Snippet, current: str, match: re.Match[str]
) -> Iterator[Objection]:
    for rival in table("connective", "rivals")[sense.cls]:
        if re.search(rf"(?<![\w']){re.escape(rival)}(?!\w)", current):
            yield 0.3, f"'{rival}' may be translated by it too"
            break
    before = snippet.target[: sense.start]
    if sense.cls == "while-而" and before and not re.search(f"[{EDGE}]$", before):
        yield 0.7, f"{sense.word} begins no clause"
    if sense.word == "还是" and "?" not in current:
        yield 0.3, "还是 means 'still' outside a question"
    if not begins_clause(current[match.end() :]):
        if match[0] in ("as", "since"):
            yield 0.6, "no clause follows"
        if sense.cls == "or-或者":
            yield 0.7, "no clause follows"
    if match.start() > 2 and match[0] == "or":
        yield 0.9, "the sentence says both"
    if re.search(r"\bor else\b", current):
        yield 0.8, "'else' gives it away"
    if sense.word == "要不":
        yield 0.5, "要不 proposes something as often"
    yield from misfits(snippet)


def _shown(found: str) -> str:
    """Write a circumfix with dots for what it encloses."""
    found = found.strip()
    for tail in ("的时候", "的同时", "以来", "以后", "之后", "开始", "时", "后", "起"):
        if found[0] in "当自从" and found.endswith(tail) and len(found) > len(tail) + 1:
            return f"{found[0]}…{tail}"
    return found


@cache
def _patterns(cls: str) -> tuple[re.Pattern[str], ...]:
    left, right = rf"(?:^|(?<=[{EDGE}]))", rf"(?=$|[{EDGE}])"
    out = []
    for text in table("connective", "realisations")[cls]:
        if text.startswith("|"):
            text = left + text[1:]
        if text.endswith("|"):
            text = text[:-1] + right
        out.append(re.compile(text))
    return tuple(out)
