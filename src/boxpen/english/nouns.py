"""One noun with the words before it, and the ways to write it: 'a nose', 'noses', 'the nose'."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.english.grammar import (
    DETERMINERS,
    PLURAL_DETERMINERS,
    POSSESSIVES,
    PRONOUN_WORDS,
    SINGULAR_DETERMINERS,
    indefinite,
    plural,
    singular,
    uncounted,
)
from boxpen.english.lexicon import damaged, is_adjective, is_verb, lemmas, listed

__all__ = ["UnwordableError", "noun_ways"]


class UnwordableError(Exception):
    """A node that is not English, or not the kind of phrase that its place asks for."""


def noun_ways(tokens: list[str], before: str, *, definite: bool) -> list[str]:
    """Return the ways to write one noun with the words before it."""
    ways = _plain_ways(tokens, before, definite=definite)
    if len(tokens) > 1 and tokens[-2] in listed("people") - listed("compounded"):
        # 'doctor office' has lost an ending; 'police officer' has not
        owned = [*tokens[:-2], tokens[-2] + "'s", tokens[-1]]
        of_one = _plain_ways(owned, before, definite=definite)
        return [way for pair in zip(of_one, ways, strict=False) for way in pair]
    return ways


def _plain_ways(tokens: list[str], before: str, *, definite: bool) -> list[str]:
    if len(tokens) == 1 and tokens[0] in PRONOUN_WORDS:
        if tokens[0] in {"i", "he", "she", "we", "they"}:
            raise UnwordableError(f"'{tokens[0]}' opens a clause")
        return [tokens[0]]
    determiner = ""
    if tokens[0] in DETERMINERS or tokens[0].isdigit():
        determiner, tokens = tokens[0], tokens[1:]
        if tokens and determiner == "other" and tokens[0] in DETERMINERS:
            raise UnwordableError("two determiners are side by side")
    if not tokens:
        raise UnwordableError(f"there is no noun behind '{determiner}'")
    *modifiers, noun = tokens
    modifiers = ["sports" if word == "sport" else word for word in modifiers]
    if tokens == ["be"]:
        raise UnwordableError("'be' is not a noun")
    noun = damaged("nouns").get(noun, noun)
    _check_noun(noun, modifiers)
    bare = " ".join(_written(word) for word in [*modifiers, noun])
    many = " ".join(_written(word) for word in [*modifiers, plural(noun)])
    compound = f"{modifiers[-1]} {noun}" if modifiers else noun
    stuff = noun in listed("mass") or compound in listed("mass") or uncounted(noun)
    either = (noun in listed("both") or compound in listed("both")) and (
        noun == compound or compound not in listed("mass")
    )
    fixed = _is_plural_form(noun)
    if fixed:
        many = bare
    if determiner:
        return _determined(determiner, bare, many, countable=not stuff or either, fixed=fixed)
    if not modifiers and noun in listed("proper"):
        return [bare.capitalize()]
    if not modifiers and noun in listed("unique"):
        return [f"the {bare}"]
    if modifiers and (modifiers[0] in _ORDINALS or _superlative(modifiers[0])):
        return [f"the {bare}"]
    if fixed or (stuff and not either):
        return [bare, f"the {bare}"] if definite and noun in listed("definite") else [bare]
    ways = [many] if tokens == ["thing"] else [indefinite(bare), many]  # 'do things together'
    if before == "of" and tokens != ["thing"]:
        ways = [many, indefinite(bare)]
    if stuff or either:
        ways.insert(0, bare)
    if definite and noun in listed("definite"):
        ways.append(f"the {bare}")
    if before and before != "of" and noun in listed("bare_place") and not modifiers:
        ways.insert(0, bare)
    return ways


def _determined(
    determiner: str, bare: str, many: str, *, countable: bool, fixed: bool
) -> list[str]:
    if determiner in {"a", "an"}:
        return [indefinite(bare), many] if not fixed else [bare]
    if determiner in {"any", "what", "which"}:
        raise UnwordableError(f"'{determiner}' precedes a noun")
    if determiner == "other":
        return [f"other {many}" if countable else f"other {bare}", f"another {bare}"][
            : 1 + countable
        ]
    if determiner in SINGULAR_DETERMINERS or determiner == "1":
        if fixed:
            raise UnwordableError(f"'{determiner}' precedes a plural")
        return [f"{determiner} {bare}"]
    if determiner == "most" and is_adjective(bare.split(" ")[0]) and " " in bare:
        return [f"the most {bare}"]
    if determiner == "most":
        raise UnwordableError("'most' precedes a noun")
    if determiner in PLURAL_DETERMINERS or determiner.isdigit():
        if not countable and determiner not in {"all", "different"}:
            raise UnwordableError(f"'{determiner}' precedes what cannot be counted")
        return [f"{determiner} {many if countable else bare}"]
    if determiner in {"some", "more", "less", "enough", "such"} and countable:
        return [f"{determiner} {many}"]
    if determiner in POSSESSIVES and countable and not fixed:
        return [f"{determiner} {bare}", f"{determiner} {many}"]
    return [f"{determiner} {bare}"]


def _check_noun(noun: str, modifiers: Sequence[str]) -> None:
    if noun in PRONOUN_WORDS | DETERMINERS:
        raise UnwordableError(f"'{noun}' is in the place of a noun")
    if modifiers and modifiers[-1] in {"color", "colour"}:
        raise UnwordableError(f"'{modifiers[-1]} {noun}' is not English")
    found = lemmas(noun)
    if "NOUN" not in found and noun not in listed("proper") and noun not in listed("capital"):
        bound = noun.removesuffix("'s").split("-")[-1]
        if not (bound != noun and "NOUN" in lemmas(bound)):
            raise UnwordableError(f"'{noun}' is not a noun")
    if is_verb(noun) or (noun in listed("adjectives") and noun not in _ADJECTIVE_NOUNS):
        raise UnwordableError(f"'{noun}' is not a noun")
    if noun in _NEVER_NOUNS:
        raise UnwordableError(f"'{noun}' is not a noun")
    for modifier in modifiers:
        if modifier in PRONOUN_WORDS | DETERMINERS and modifier not in _INSIDE:
            raise UnwordableError(f"'{modifier}' is inside a noun phrase")
        plain = modifier in _MODIFIERS or modifier in listed("adjectives")
        if (
            is_verb(modifier)
            or modifier in _LOST_ENDING
            or (modifier in listed("verbs") and not plain)
        ):
            raise UnwordableError(f"'{modifier}' precedes a noun")


_LOST_ENDING = listed("lost_ending")
_MODIFIERS = listed("modifiers")
_ADJECTIVE_NOUNS = listed("adjective_nouns")
_ORDINALS = listed("ordinals")
_INSIDE = (PLURAL_DETERMINERS - {"these", "those", "both", "all"}) | {"own", "other", "more"}
_NEVER_NOUNS = listed("never_nouns")


def _superlative(word: str) -> bool:
    return word.endswith("est") and any(root != word for root in lemmas(word).get("ADJ", ()))


def _written(word: str) -> str:
    names = listed("capital") | (listed("proper") - {"china", "turkey", "march", "windows", "bush"})
    return word.capitalize() if word in names or singular(word) in listed("capital") else word


def _is_plural_form(noun: str) -> bool:
    if noun in listed("plural_only"):
        return True
    roots = lemmas(noun).get("NOUN", ())
    return bool(roots) and noun not in roots and noun not in listed("singular_s")
