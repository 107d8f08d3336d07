"""Nouns that lack their article in a text that is English otherwise: 'call italian restaurant'."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from boxpen.english.conjugation import is_participle, root_of, verb_form
from boxpen.english.grammar import (
    CONJUNCTIONS,
    DETERMINERS,
    PARTICLES,
    PREPOSITIONS,
    PRONOUN_WORDS,
    indefinite,
    plural,
    uncounted,
)
from boxpen.english.lexicon import is_adjective, is_adverb, is_verb, listed, parts
from boxpen.english.phrase import SET_PHRASES

__all__ = ["repaired"]


def repaired(tokens: Sequence[str]) -> list[str]:
    """Return a phrase with the articles that its nouns lack: 'call (a|the) restaurant'."""
    start = 1
    while start < len(tokens) and is_adverb(tokens[start - 1]):  # 'not rush'
        start += 1
    ways = [[token] for token in tokens[:start]]
    while start < len(tokens):
        end = start
        while end < len(tokens) and not _bounds(tokens[end]):
            end += 1
        run = list(tokens[start:end])
        before = tokens[start - 1]
        if run:
            ways.append(_run(run, before))
        if end < len(tokens):
            ways.append([tokens[end]])
        start = end + 1
        if end < len(tokens) and (tokens[end] in DETERMINERS or tokens[end].endswith("'s")):
            # what follows a determiner is in order
            while start < len(tokens) and not _ends_noun(tokens[start]):
                ways.append([tokens[start]])
                start += 1
    texts = [" ".join(way) for way in itertools.product(*ways)]
    return texts[:8]


def _bounds(token: str) -> bool:
    """Whether a word ends a run of nouns and adjectives."""
    verbal = token.endswith(("ing", "ed")) and "NOUN" not in parts(token)
    return _closed(token) or token.isdigit() or verbal


def _ends_noun(token: str) -> bool:
    return _closed(token) and (token in PREPOSITIONS or not is_adverb(token))  # 'a better job'


def _closed(token: str) -> bool:
    closed = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | PRONOUN_WORDS | PARTICLES
    if token in closed or token in listed("grammatical") or token.startswith("Person"):
        return True
    return is_adverb(token) or token.endswith("'s")


def _run(run: list[str], before: str) -> list[str]:
    noun, bare = run[-1], " ".join(run)
    state = before in listed("states") and _is_state(noun)
    if state or f"{root_of(before)} {bare}" in SET_PHRASES:
        return [bare]
    if before.endswith("ly") and is_adverb(before) and "ADJ" in parts(noun):
        return [bare]  # 'be physically intimate'
    if "NOUN" not in parts(noun) or is_adjective(noun) or is_verb(noun) or is_participle(noun):
        return [bare]
    compound = " ".join(run[-2:])
    if (
        noun in listed("mass")
        or compound in listed("mass")
        or uncounted(noun)
        or noun in listed("proper")
    ):
        return [bare]
    if (
        noun in listed("plural_only")
        or (bare in listed("uncounted_here"))
        or noun.capitalize() in run
    ):
        return [bare]
    if len(run) > 1 and (
        run[0] in listed("verbs") and before in {"to", "not", "and", "or"} | PRONOUN_WORDS
    ):
        return [f"{run[0]} {way}" for way in _run(run[1:], run[0])]
    if (
        before in {"to", "not", "and", "or"}
        and noun in listed("verbs")
        and noun not in listed("bare_place")
    ):
        return [bare]
    if before in PRONOUN_WORDS or before.startswith("Person"):
        return (
            [bare] if noun in listed("verbs") or before.endswith("'s") else [bare, indefinite(bare)]
        )
    ways = [
        indefinite(bare),
        f"the {bare}",
        " ".join([*run[:-1], plural(noun)]),
        f"PersonX's {bare}",
    ]
    if noun.endswith("ing"):  # 'facing them' may be meant
        return [bare, *ways[:2]]
    in_set_phrase = before in PREPOSITIONS and bare in listed("after_preposition")
    if noun in listed("both") or noun in listed("bare_place") or in_set_phrase:
        return [bare, *ways]
    return ways


def _is_state(word: str) -> bool:
    """Whether a word behind 'get' or 'start' is not a thing: 'get hit', 'start living'."""
    if word.endswith("ing") or "ADJ" in parts(word):
        return True
    return "VERB" in parts(word) and verb_form(word, "participle") == word
