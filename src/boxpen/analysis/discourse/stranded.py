"""What an English sentence leaves standing where it leaves a verb out.

"So do I", "I don't want to", "I think so", "I'll do it": the word that is left decides what
Chinese may say without the verb.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from boxpen.analysis.discourse.verbs import english_verbs

__all__ = ["Stranded", "stranded"]

_KINDS = {
    "do": "do does did don't doesn't didn't",
    "have": "have has had haven't hasn't hadn't",
    "be": "am is are was were isn't aren't wasn't weren't ain't",
    "will": "will would won't wouldn't shall",
    "can": "can could can't cannot couldn't",
    "should": "should shouldn't",
    "must": "must mustn't",
    "may": "may might",
}
_KIND = {form: kind for kind, forms in _KINDS.items() for form in forms.split()}
_MODALS = frozenset(f for f, kind in _KIND.items() if kind not in ("do", "have", "be"))
_AUXILIARIES = "|".join(sorted(_KIND, key=len, reverse=True))
_AUXILIARY = rf"(?P<aux>(?<![\w'])(?:{_AUXILIARIES})|(?<=\w)'(?:ll|d|m|re|ve|s(?= not)))"
_CLITICS = {"'ll": "will", "'d": "will", "'m": "be", "'re": "be", "'ve": "have", "'s": "be"}
_AFTER = (
    r"(?: (?:not|too|either|now|already|again|though|really|rather|anymore|indeed|anyway|still|"
    r"once|ever|be|have|been|all|both|always|at that))*"
)
_END = r"(?=\s*(?:[,.!?;:…\"-]|$|\b(?:but|and|or|if|because|when|then|maybe|sir|ma'am)\b))"
_PRONOUNS = r"(?:i|you|he|she|it|we|they)"
_LEFT = re.compile(rf"{_AUXILIARY}{_AFTER}{_END}")
_ASKED = re.compile(rf"{_AUXILIARY}(?: not)? {_PRONOUNS}{_AFTER}{_END}")
_TURNED = re.compile(rf"\b(?:so|neither|nor|as) {_AUXILIARY} ")
_WANT = "want|like|love|care|intend|aim|plan|hope|wish|prefer|hate|mean"
_HAVE = "have|has|had|need|got|ought|supposed"
_TO = re.compile(rf"\b(?:(?:(?P<want>{_WANT})|(?P<have>{_HAVE}))\w*\b[^,.!?;]*? )?to{_END}")
_SO = re.compile(
    r"\b(?:think|thinks|thought|say|says|said|hope|guess|suppose|believe|imagine|afraid|expect|"
    rf"told \w+|tell \w+) (?:so|not){_END}"
)
_DO_IT = re.compile(
    r"\b(?:do|does|did|done|doing) (?:it|that|this|so|the same|nothing of the kind)\b"
)
_DO = re.compile(rf"\b(?:do|does|did|done|doing)\b(?: not)?(?: {_PRONOUNS}\b)? ?(?P<next>\w*)")
_FORBIDDEN = re.compile(rf"^(?:(?!{_PRONOUNS}\b)\w+,? ){{0,2}}(?:don't|do not)\b(?! {_PRONOUNS}\b)")
_NEGATED = re.compile(r"n't\b|\b(?:not|no|never|neither|nor|nobody|none|cannot)\b", re.IGNORECASE)
"""Words by which English denies."""
_AGREES = re.compile(
    rf"\b(?:so|as) (?:{_AUXILIARIES})\b|\b(?:too|also|likewise)\b|\bas well\b|^as "
)
_ALL = re.compile(r"\b(?:all|both)\b")


@dataclass(frozen=True, slots=True)
class Stranded:
    """What is left of a verb phrase.

    Attributes:
        kinds: Auxiliaries that end a clause, by what they are: do, have, be, will, can, should,
            must, may; "want to", "have to", another "to" and "so" that stand for a verb; "do
            it". Empty if nothing is left so.
        negated: Whether the sentence denies.
        forbids: Whether it tells somebody not to.
        agrees: Whether it says the same of another: so do I, I do too.
        of_all: Whether it says so of all or both.
    """

    kinds: frozenset[str]
    negated: bool
    forbids: bool
    agrees: bool
    of_all: bool


def stranded(source: str) -> Stranded:
    """Read what an English sentence leaves of a verb that it leaves out."""
    text = " ".join(source.lower().replace("’", "'").split()).strip("- ")
    found = [m["aux"] for pattern in (_LEFT, _ASKED, _TURNED) for m in pattern.finditer(text)]
    kinds = {_kind(form) for form in found}
    kinds.update(f"{m.lastgroup or ''} to".strip() for m in _TO.finditer(text))
    if _SO.search(text):
        kinds.add("so")
    acts = any(m["next"] not in english_verbs() for m in _DO.finditer(text)) and not kinds
    if acts or _DO_IT.search(text):  # a verb that stands for another: do it, do the pudding
        kinds.discard("do")
        kinds.add("do it")
        kinds.update(_KIND[form] for form in re.findall(r"[a-z']+", text) if form in _MODALS)
        kinds.update(_CLITICS[form] for form in re.findall(r"'(?:ll|d)\b", text))
    return Stranded(
        kinds=frozenset(kinds),
        negated=_NEGATED.search(text) is not None,
        forbids="do" in kinds and _FORBIDDEN.match(text) is not None,
        agrees=_AGREES.search(text) is not None,
        of_all=_ALL.search(text) is not None,
    )


def _kind(form: str) -> str:
    return _CLITICS.get(form) or _KIND[form]
