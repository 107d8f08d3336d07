"""The positions of tokens in a text, so that each span can be shown with its surprisal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Span", "token_spans"]

_MOST_UNPLACED = 6
_REACH = 12  # how many characters one token without a place may stand for


class Span(NamedTuple):
    """A span of text: its length in characters and its surprisal in nats.

    The surprisal is NaN if the span was not scored. A last span of length 0 represents the end of
    the text (an EOS token).
    """

    length: int
    nats: float


def token_spans(
    text: str, pieces: Sequence[str], nats: Sequence[float], *, unscored: bool = False
) -> list[Span] | None:
    """Split a text into the spans of its tokens; None if the tokens do not match it.

    Tokens that have no place of their own (a character cut into bytes, an unknown word, a bare
    word boundary) share a stretch with their neighbours, and their surprisals are added up.

    Args:
        text: The text.
        pieces: The text of every scored token; a vocabulary's signs for a space or for the inside
            of a word are understood.
        nats: The surprisal of every token.
        unscored: Whether the text may begin with tokens that were not scored.
    """
    if "".join(pieces) == text:
        return [Span(len(p), b) for p, b in zip(pieces, nats, strict=True)]
    lowered = text.lower() if len(text.lower()) == len(text) else text
    spans: list[Span] = []
    place, held, unplaced = 0, 0.0, 0
    for piece, surprisal in zip(pieces, nats, strict=True):
        begins = unscored and not spans and not unplaced
        reach = len(text) if begins else _REACH * unplaced
        start = _find(text, lowered, _plain(piece), place, reach)
        if start is None:
            held, unplaced = held + surprisal, unplaced + 1
            if unplaced > _MOST_UNPLACED:
                return None
            continue
        end = start + len(_plain(piece))
        gap = text[place:start].rstrip()
        if gap:
            spans.append(Span(len(gap), held if unplaced else math.nan))
            spans.append(Span(end - place - len(gap), surprisal))
        else:
            spans.append(Span(end - place, surprisal + held))
        place, held, unplaced = end, 0.0, 0
    rest = text[place:]
    if rest.strip() and not unplaced:
        return None
    if unplaced:
        spans.append(Span(len(rest), held))
    elif rest:
        spans.append(Span(len(rest), math.nan))
    return spans


def _plain(piece: str) -> str:
    """Return a token's text without the signs that vocabularies put into it."""
    plain = piece.replace("▁", " ").replace("Ġ", " ")
    if plain.startswith("##") and len(plain) > 2:
        plain = plain[2:]
    return plain.strip()


def _find(text: str, lowered: str, piece: str, place: int, reach: int) -> int | None:
    """Return where a piece stands: at ``place``, after white space, or at most ``reach`` later."""
    if not piece or "\ufffd" in piece:
        return None
    start = place
    while start < len(text) and text[start].isspace():
        start += 1
    for whole, part in ((text, piece), (lowered, piece.lower())):
        if whole.startswith(part, start):
            return start
    if reach:
        found = lowered.find(piece.lower(), start, start + reach + len(piece))
        return None if found < 0 else found
    return None
