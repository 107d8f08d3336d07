"""Pronouns that Chinese divides and English does not.

"You" is 你 or 你们; "they" is 他们, 她们 or 它们. The Chinese side tells which is meant. A snippet
is good if the English sentence before tells it too, and the current sentence does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from boxpen.build.discourse.phenomena.referents import addressee, addressees, referent
from boxpen.build.discourse.phenomena.snippets import Finding, Objection, Snippet, misfits, weighed
from boxpen.build.discourse.phenomena.wordlists import phrases, tokens, words

__all__ = ["CLASSES", "class_word", "pronoun"]

CLASSES = ("你", "你们", "他们", "她们", "它们")
_CLASS_WORD = re.compile("[你他她它]们|(?<!迷)你(?![们俩两])")
_FORMS = {
    "you": re.compile(r"\b(?:you|your|yours|yourself|yourselves|ya|y'all)\b", re.IGNORECASE),
    "they": re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.IGNORECASE),
}


def pronoun(snippet: Snippet) -> Finding | None:
    """Return the pronoun that a snippet may test, if its context tells who or what is meant."""
    cls = class_word(snippet.target)
    if cls is None:
        return None
    group = "you" if cls[0] == "你" else "they"
    forms = _FORMS[group]
    form = forms.search(snippet.source)
    if form is None or forms.search(snippet.context_source):
        return None
    if set(map(str.lower, forms.findall(snippet.source))) == {"themselves"}:
        return None  # the houses themselves: no pronoun to translate
    hint = referent(cls, snippet.context_source)
    if hint is None:
        return None
    reason = f"'{form[0].lower()}' → {cls}; context has {hint.words}"
    return weighed(cls, cls, 0.4 + hint.weight, reason, _objections(cls, group, snippet))


def class_word(target: str) -> str | None:
    """Return the class word of a Chinese sentence, or None if it has none or several kinds."""
    if "你" not in target and "们" not in target:  # most sentences; a search would cost more
        return None
    found = set(_CLASS_WORD.findall(target))
    return found.pop() if len(found) == 1 else None


def _objections(cls: str, group: str, snippet: Snippet) -> Iterator[Objection]:
    current, before = snippet.source.lower(), snippet.context_source.lower()
    many = set(tokens(current))
    if several := phrases("pronoun", "plural").search(current):
        if cls == "你们":
            yield 0.4, f"'{several[0]}' gives it away"
        if cls == "你":
            yield 0.2, f"'{several[0]}' speaks to several"
    if "yourself" in many:
        if cls == "你":
            yield 0.6, "'yourself' gives it away"
        if cls == "你们":
            yield 0.3, "'yourself' speaks to one"
    if group == "you":
        if cls == "你们" and many & words("people", "vocatives") - {"people"}:
            yield 0.6, "the sentence itself names them"
        if addressee(snippet.source):
            yield 0.5 if cls == "你们" else 0.8, "the sentence itself speaks to one"
        rest = phrases("pronoun", "idioms").sub(" ", current)
        if not _FORMS["you"].search(rest):
            yield 0.6, "an idiom"
        elif phrases("pronoun", "generic").search(rest):
            yield 0.6, "perhaps anyone at all"
    else:
        if many & (
            words("people", "group") | words("people", "women") | words("things", "animals")
        ):
            yield 0.6, "the sentence itself names a group"
        if addressees(before) or phrases("pronoun", "plural").search(before):
            yield 0.6, "those may be spoken to, not of"
        if many & {"her", "she", "he", "him"}:
            yield 0.9, "it speaks of somebody else too"
    yield from misfits(snippet)
