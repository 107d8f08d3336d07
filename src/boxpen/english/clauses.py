"""The clauses of an English sentence: where each begins, its subject, and its finite verb.

There is no parser behind this: connectives, pronouns and auxiliaries show where a clause is, and
the forms of a verb must fit its subject. A sentence in which no verb is found has no clauses, and
rules that need one leave it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from boxpen.english.finite import Finite, finite
from boxpen.english.lexicon import is_adverb, lemmas
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word

__all__ = ["Clause", "clauses"]

Role = Literal["main", "joined", "subordinate", "relative"]

_TWO = {("so", "that"), ("even", "though"), ("even", "if"), ("as", "if"), ("now", "that")}
_SUBORDINATE = listed("subordinators")
_LOOSE = listed("loose_subordinators")  # prepositions too
_JOINING = frozenset({"and", "or", "but", "so", "then", "yet"})
_RELATIVE = frozenset({"who", "which", "that", "whose", "where", "whom"})
_MARKS = frozenset(',;:.!?()"“”—–')
_NOMINATIVE = frozenset({"i", "he", "she", "we", "they"})


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with a finite verb.

    Attributes:
        start: Where its own words begin, behind the opener.
        end: Where they end.
        opener: The word that opens it: "because", "and", "who"; "" for none.
        opens: Where the opener stands; ``start`` if there is none.
        role: "main"; "joined" to the one before by and, or, but, so; "subordinate"; "relative".
        verb: The finite verb.
        subject: Where the subject begins; its end is the verb. None if it has none of its own.
    """

    start: int
    end: int
    opener: str
    opens: int
    role: Role
    verb: Finite
    subject: int | None

    def has(self, place: int) -> bool:
        """Tell whether a word is one of this clause, its opener included."""
        return self.opens <= place < self.end


@dataclass(slots=True)
class _Piece:
    """Words between two boundaries."""

    start: int
    end: int
    opener: str
    opens: int
    comma: bool  # whether a mark stands before it


def clauses(words: Sequence[Word]) -> list[Clause]:
    """Return the clauses of a sentence in the order of their verbs; none if one is in doubt."""
    found: list[Clause] = []
    waiting: int | None = None  # a subject whose verb comes behind a relative clause
    for piece in _pieces(words):
        verbs = _verbs(words, piece, waiting is not None)
        if not verbs:
            alone = piece.start == piece.opens and not piece.comma
            if not piece.opener and piece.end > piece.start and _may_be_subject(words, piece):
                waiting = piece.start
            elif found and (piece.opener or alone) and waiting is None:
                found[-1] = replace(found[-1], end=piece.end)
            continue
        first = verbs[0]
        if waiting is not None and piece.opener in {"and", "or"}:
            found.append(_clause(piece, first, waiting, "main" if not found else "joined"))
            waiting = None
        elif waiting is not None and (piece.opener in _RELATIVE or not piece.comma):
            found.append(_clause(piece, first, piece.start, "relative"))
            if len(verbs) > 1:
                split = verbs[1].place
                found[-1] = replace(found[-1], end=split)
                whole = _clause(piece, verbs[1], waiting, "main")
                found.append(replace(whole, start=waiting, opener="", opens=waiting))
                waiting = None
        else:
            subject = piece.start if first.place > piece.start else None
            found.append(_clause(piece, first, subject, _role(piece, found)))
            waiting = None
    return found


def _clause(piece: _Piece, verb: Finite, subject: int | None, role: Role) -> Clause:
    return Clause(piece.start, piece.end, piece.opener, piece.opens, role, verb, subject)


def _role(piece: _Piece, before: list[Clause]) -> Role:
    if piece.opener in _SUBORDINATE or piece.opener in _LOOSE or " " in piece.opener:
        return "subordinate"
    if piece.opener in _RELATIVE:
        return "relative"
    mains = [one for one in before if one.role in ("main", "joined")]
    if not piece.opener and mains and not piece.comma:
        return "subordinate"  # 'I think he is late'
    return "joined" if mains else "main"


def _verbs(words: Sequence[Word], piece: _Piece, waits: bool) -> list[Finite]:
    """Return the finite verb of a piece; behind it that of the clause around, if one waits."""
    found = [
        one
        for place in range(piece.start, piece.end)
        if (one := finite(words, place, piece.start, piece.opener, waits)) is not None
    ]
    chosen = _best(words, found)
    if chosen is None:
        return []
    if waits:
        later = [one for one in found if one.place > chosen.group + 1]
        behind = _best(words, later)
        return [chosen, behind] if behind is not None else [chosen]
    return [chosen]


def _best(words: Sequence[Word], found: list[Finite]) -> Finite | None:
    """Return the likeliest verb: one that can be nothing else, or the first."""
    if not found:
        return None
    sure = next((one for one in found if one.sure), None)
    plain = next((one for one in found if not one.doubt), None)
    if sure is not None:
        return plain if plain is not None and plain.place < sure.place else sure
    if plain is not None:
        return plain
    if len(found) > 1:
        # 'ropes made of nylon last long', 'the water pipes burst'
        after = words[found[0].place + 1].low if found[0].place + 1 < len(words) else ""
        reduced = found[0].doubt == "participle" and after in listed("after_participles")
        if reduced or (found[0].doubt == "noun" and found[1].place == found[0].place + 1):
            return found[1]
    return found[0]


def _may_be_subject(words: Sequence[Word], piece: _Piece) -> bool:
    """Tell whether a piece without a verb can be the subject of one that comes later."""
    first = words[piece.start].low
    if any(words[place].low in listed("times") for place in range(piece.start, piece.end)):
        return False
    return first not in listed("prepositions") and not is_adverb(first) and first not in _MARKS


def _pieces(words: Sequence[Word]) -> list[_Piece]:
    pieces = [_Piece(0, 0, "", 0, False)]
    place = 0

    def cut(opener: str, width: int, *, comma: bool) -> None:
        last = pieces[-1]
        last.end = place
        empty = last.end == last.start and not last.opener
        if empty:
            pieces.pop()
        comma = comma or (empty and last.comma)
        pieces.append(_Piece(place + width, place + width, opener, place, comma))

    while place < len(words):
        low = words[place].low
        following = words[place + 1].low if place + 1 < len(words) else ""
        width = 1
        if low in _MARKS:
            cut("", 1, comma=True)
        elif (low, following) in _TWO:
            width = 2
            cut(f"{low} {following}", 2, comma=False)
        elif _connects(words, place, pieces[-1]) and not (
            low in _LOOSE and place == pieces[-1].start and pieces[-1].opener in _JOINING
        ):  # 'and after a while' goes on
            cut(low, 1, comma=False)
        elif _begins(words, place, pieces[-1]):
            cut("", 0, comma=False)
        place += width
    pieces[-1].end = place
    return [piece for piece in pieces if piece.end > piece.start]


def _connects(words: Sequence[Word], place: int, piece: _Piece) -> bool:
    low = words[place].low
    following = words[place + 1].low if place + 1 < len(words) else ""
    if place and words[place - 1].low in {"a", "an", "the"}:  # 'a while'
        return False
    if low == "so":
        degree = {"ADJ", "ADV"} & lemmas(following).keys() and "NOUN" not in lemmas(following)
        marked = place == 0 or words[place - 1].low in _MARKS
        return following not in {"many", "much", "few"} and (marked or not degree)
    if low == "that":
        before = words[place - 1].low if place else ""
        return bool(place) and before not in listed("prepositions")  # 'with that axe'
    if low in {"as", "for", "where", "than"} and place == piece.start == 0:
        return False
    if low == "for":
        return place > 0 and words[place - 1].low in _MARKS
    return low in _SUBORDINATE or low in _LOOSE or low in _JOINING or low in _RELATIVE


def _begins(words: Sequence[Word], place: int, piece: _Piece) -> bool:
    """Tell whether a pronoun begins a clause of its own: 'I think | he is late'."""
    low = words[place].low
    if place == piece.start:
        return False
    if words[place - 1].low in {"and", "or", "than", "as"} | listed("prepositions"):
        return False
    if piece.opener in _JOINING | _SUBORDINATE and not _verbs(
        words, replace(piece, end=place), False
    ):
        return False  # 'so from the hill we saw it': the clause still waits for its subject
    if low in _NOMINATIVE:
        return True
    nexts = place + 1
    return low in {"it", "you", "there"} and finite(words, nexts, place, "", False) is not None
