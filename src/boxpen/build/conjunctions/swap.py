"""Sentences whose conjunction is exchanged for a wrong one (Zhou et al. 2020, test CA).

The paper exchanges any conjunction and keeps by hand what reads wrongly. The rules here only
exchange one where the two clauses themselves speak against the other:

- ``because`` > ``so``, and back: what is said to follow is a state, and what it is said to follow
  from an event: 'I stayed at home so I was ill'.
- ``but`` > ``so``, ``although`` > ``because``, ``because`` > ``but``: one clause of the two is
  negated, so that what the right sentence denies would follow: 'I called, so nobody answered'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from boxpen.english.clauses import Clause, clauses
from boxpen.english.conjugation import is_participle
from boxpen.english.sentence import Word, read

__all__ = ["PAPER", "SOUND", "Refused", "Swapped", "paper_swaps", "sound_swaps"]

SOUND = ("because>so", "so>because", "but>so", "although>because", "though>because", "because>but")
PAPER = (
    "because>and", "and>but", "but>and", "when>before", "because>but", "but>because",
    "and>because", "before>when", "but>before",
)  # fmt: skip
"""The exchanges of ca.txt, most frequent first."""
_CONJUNCTIONS = {
    "although", "as", "because", "but", "if", "or", "since", "so", "though", "unless", "until",
    "while",
}  # fmt: skip
_NEGATIVE = {
    "never", "no", "nobody", "nothing", "nowhere", "none", "neither", "hardly", "cannot", "without",
    "few", "little",
}  # fmt: skip
_STATES = {
    "be", "belong", "contain", "cost", "deserve", "exist", "hate", "have", "know", "like", "live",
    "love", "mean", "need", "own", "prefer", "remember", "resemble", "seem", "understand", "want",
}  # fmt: skip
_MODALS = {"can", "could", "may", "might", "would", "should", "'d"}
_SAID = {"just", "only", "say", "saying", "mean", "simply"}
_POLITE = {"sorry", "pardon", "excuse", "afraid"}
_OPENERS = {"and", "or", "no", "yes", "yeah", "well", "look", "then", "just"}  # of part of a talk
_BEFORE = {"not", "n't", "is", "was", "'s", "are", "were"}  # 'it is not because'
_FEWEST, _MOST, _CLAUSE = 6, 25, 3  # words of a sentence, and of a clause
_INNER = re.compile(r"[.!?;:]\s|[\"“”()\[\]…–—/]|--|\.\.\.")


class Swapped(NamedTuple):
    """A sentence with its conjunction, and with another."""

    right: str
    wrong: str
    swap: str
    """The two conjunctions: ``because>so``."""


class Refused(NamedTuple):
    """Why no conjunction of a sentence is exchanged."""

    step: str
    reason: str


def paper_swaps(sentence: str) -> list[Swapped]:
    """Return a pair for every conjunction of a sentence, whatever it joins."""
    return [
        Swapped(sentence, f"{sentence[: at.start()]}{new}{sentence[at.end() :]}", swap)
        for swap in PAPER
        for old, new in [swap.split(">")]
        for at in re.finditer(rf"\b{old}\b", sentence)
    ]


def sound_swaps(sentence: str) -> list[Swapped] | Refused:
    """Return a pair for every exchange that the clauses speak against; why, if there is none."""
    found = [at for at in re.finditer(r"[^\W\d_]+", sentence) if at[0].lower() in _CONJUNCTIONS]
    offered = {swap.partition(">")[0] for swap in SOUND}
    if not any(at[0].lower() in offered for at in found):
        return Refused("none", "it has none of " + ", ".join(sorted(offered)))
    if len(found) > 1:
        return Refused("conjunction", "it has several conjunctions")
    words = read(sentence)
    if not _FEWEST <= len(words) <= _MOST:
        return Refused("length", f"it has not {_FEWEST} to {_MOST} words")
    if not sentence.endswith(".") or not sentence[0].isupper() or _INNER.search(sentence):
        return Refused("form", "it is not a single statement")
    [at] = found
    sides = _sides(words, at[0].lower())
    if sides is None:
        return Refused("clauses", "the conjunction does not join two clauses with subjects")
    made = [
        Swapped(sentence, sentence[: at.start()] + _as(at[0], new) + sentence[at.end() :], swap)
        for swap in SOUND
        for old, new in [swap.split(">")]
        if old == at[0].lower() and _contradicts(swap, words, *sides)
    ]
    return made or Refused("meaning", "the clauses do not rule out another conjunction")


def _as(old: str, new: str) -> str:
    return new.capitalize() if old[0].isupper() else new


def _sides(words: Sequence[Word], conjunction: str) -> tuple[Clause, Clause] | None:
    """Return the main clause and that of the conjunction."""
    found = clauses(words)
    own = [one for one in found if one.opener == conjunction]
    main = [one for one in found if one.role == "main"]
    if len(own) != 1 or len(main) != 1:
        return None
    opens = own[0].opens
    if any(one.subject is None or one.end - one.start < _CLAUSE for one in (*own, *main)):
        return None  # 'I know, but …'
    if conjunction in {"so", "but"} and (opens == 0 or words[opens - 1].low != ","):
        return None
    if opens and (words[0].low in _OPENERS or words[opens - 1].low in _BEFORE):
        return None
    if _POLITE & {one.low for one in words[: opens or 1]}:
        return None  # 'I'm sorry, but I can't hear you'
    # 'so that', 'so many', 'but also', 'because of'
    if words[own[0].start].low in {"that", "of", "also", "then", "far", "what", "much", "many"}:
        return None
    return main[0], own[0]


def _contradicts(swap: str, words: Sequence[Word], main: Clause, own: Clause) -> bool:
    told = {one.low for one in words[main.opens : main.end]}
    if swap.startswith("because>") and told & _SAID:
        return False  # 'I'm not saying this because I'm jealous', 'Just because he's bad …'
    if swap == "because>so":
        return own.opens > 0 and _is_state(words, own) and not _is_state(words, main)
    if swap == "so>because":
        # 'I live by the sea because I often swim': a habit may be the reason of a state
        habit = own.verb.kind == "verb" and own.verb.form != "past"
        modal = own.verb.root in _MODALS
        return _is_state(words, main) and not (_is_state(words, own) or habit or modal)
    denied = [_is_negated(words, one) for one in (main, own)]
    if swap == "because>but":
        return denied == [True, False] and own.opens > 0
    return denied[0] != denied[1]


def _is_negated(words: Sequence[Word], clause: Clause) -> bool:
    if clause.verb.negation is not None:
        return True
    return any(one.low in _NEGATIVE for one in words[clause.start : clause.end])


def _is_state(words: Sequence[Word], clause: Clause) -> bool:
    """Tell whether a clause says how things are, or had come to be, not what happened."""
    verb = clause.verb
    if verb.kind == "be":
        later = _after(words, clause)[:2]
        return not any(one.low.endswith("ing") or is_participle(one.low) for one in later)
    if verb.kind == "have":
        return verb.form == "past"  # 'had missed the bus'
    return verb.kind == "verb" and verb.root in _STATES


def _after(words: Sequence[Word], clause: Clause) -> Sequence[Word]:
    return words[clause.verb.place + 1 : clause.end]
