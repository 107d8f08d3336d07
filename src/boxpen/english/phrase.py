"""Bare phrases of a graph and the ways to write them out: articles, plurals, forms of verbs.

``noun_phrases('very sensitive nose')`` gives 'a very sensitive nose' and 'very sensitive noses';
``verb_phrases('make person feel good')`` gives 'make a person feel good', 'make people feel good'
and so on. What cannot be English is refused with its reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from boxpen.english.conjugation import VerbForm, verb_form
from boxpen.english.grammar import (
    CONJUNCTIONS,
    DETERMINERS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUN_WORDS,
    is_person,
)
from boxpen.english.lexicon import (
    damaged,
    is_adjective,
    is_adverb,
    is_known,
    is_verb,
    listed,
    only_adjective,
    parts,
)
from boxpen.english.nouns import UnwordableError, noun_ways

__all__ = ["SET_PHRASES", "noun_phrases", "verb_phrases"]

LIMIT = 6
"""Most ways of one phrase."""

Ways = list[list[str]]  # for every piece of a phrase, the ways to write it


def noun_phrases(phrase: str, *, definite: bool = False) -> list[str]:
    """Return the ways to write a noun phrase, the plainest first.

    Args:
        phrase: Lemmatised words, with or without an article.
        definite: Whether 'the' is one of the ways.

    Raises:
        UnwordableError: If it is not a noun phrase.
    """
    return _spelled(_noun_ways(_tokens(phrase), definite=definite))


def verb_phrases(phrase: str, form: VerbForm = "base") -> list[str]:
    """Return the ways to write a verb phrase that begins with a base form.

    Raises:
        UnwordableError: If it is not a verb phrase.
    """
    tokens = _tokens(phrase)
    if tokens[0] == "to":
        tokens = tokens[1:]
    if not tokens:
        raise UnwordableError("there is no verb")
    return _spelled(_verb_ways(tokens, form))


def _tokens(phrase: str) -> list[str]:
    tokens = [damaged("words").get(token, token) for token in phrase.split()]
    if not tokens:
        raise UnwordableError("it is empty")
    for token in tokens:
        if token in _CLAUSE:
            raise UnwordableError(f"'{token}' opens a clause")
        closed = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | PRONOUN_WORDS | {"to"}
        if token not in closed and not is_known(token):
            raise UnwordableError(f"'{token}' is not in the dictionary")
    return tokens


_CLAUSE = listed("clause")
_CLOSE = CONJUNCTIONS | {"", "of"}
_GERUND_AFTER = listed("gerund_after")
_OF_DOING = listed("of_doing")
_AMOUNTS = listed("amounts")
_OF_NOUNS = listed("of_nouns")
_GOING = listed("going")


def _verb_ways(tokens: Sequence[str], form: VerbForm) -> Ways:
    ways: Ways = []
    place = 0
    while place < len(tokens) - 1 and is_adverb(tokens[place]):
        ways.append([tokens[place]])
        place += 1
    verb = tokens[place]
    if "VERB" not in parts(verb) and verb != "be":
        raise UnwordableError(f"'{verb}' is not a verb")
    place += 1
    if place == len(tokens) and verb in listed("transitive"):
        raise UnwordableError(f"'{verb}' lacks its object")
    if verb == "lie" and place < len(tokens) and "NOUN" in parts(tokens[-1]):
        follows = tokens[place]
        if follows not in PREPOSITIONS and not is_adverb(follows):
            verb = "lay"  # a lemmatiser's slip: 'lie egg'
    ways.append([verb_form(verb, form)])
    start = place
    while place < len(tokens):
        token, rest = tokens[place], tokens[place + 1 :]
        if token == "to" and rest and _acts(rest, verb):
            return [*ways, ["to"], *_verb_ways(rest, "base")]
        if token in PREPOSITIONS or token == "to":
            ways.append([token])
            if rest and _takes_gerund(token, tokens[place - 1]) and is_verb(rest[0]):
                return [*ways, *_verb_ways(rest, "gerund")]
            place += 1
        elif token in CONJUNCTIONS:
            ways.append([token])
            if rest and (is_verb(rest[0]) or (rest[0] in listed("verbs") and place == 1)):
                return [*ways, *_verb_ways(rest, form)]
            place += 1
        elif (
            is_adverb(token)
            and not (rest and is_adjective(rest[0]))
            and not (rest and tokens[place - 1] in PREPOSITIONS)  # 'on hard court'
        ) or (token in PRONOUN_WORDS and (token not in POSSESSIVES or not rest)):
            ways.append([token])
            place += 1
            follows = tokens[place] if place < len(tokens) else ""
            if verb in listed("causative") and (_opens(follows) or follows in listed("verbs")):
                return [*ways, *_verb_ways(tokens[place:], "base")]
        else:
            end = _chunk_end(tokens, place)
            chunk = tokens[place:end]
            before = tokens[place - 1]
            first = place == start or is_adverb(before)
            pronoun = before in PRONOUN_WORDS
            ways.extend(
                _complement(
                    verb,
                    chunk,
                    tokens[end:],
                    first=first,
                    after_pronoun=pronoun,
                    after_manner=before.endswith("ly") and is_adverb(before),
                    behind=before if before in PREPOSITIONS else "",
                )
            )
            place = end
            if isinstance(ways[-1], _Rest):
                return ways
    return ways


class _Rest(list[str]):
    """A piece behind which everything has been written out already."""


def _complement(
    verb: str,
    chunk: Sequence[str],
    rest: Sequence[str],
    *,
    first: bool,
    after_pronoun: bool = False,
    after_manner: bool = False,
    behind: str = "",
) -> Ways:
    """Return the ways to write what follows a verb: an object, an adjective, a verb of its own."""
    copula = first and verb in listed("copulas")
    if copula and is_adjective(chunk[-1]) and all(_modifies(word) for word in chunk[:-1]):
        return [[" ".join(chunk)]]
    if copula and verb in _STATES and len(chunk) == 1 and _may_describe(chunk[0]):
        # 'be physically intimate', 'be active' or 'be an active', 'be an adult' or 'be adult'
        ways = [chunk[0]] if after_manner else [chunk[0], _noun_ways(chunk)[0][0]]
        return [ways[::-1] if is_person(chunk[0]) else ways]
    if copula and len(chunk) == 1 and (is_verb(chunk[0]) or verb in {"be", "get"}):
        word = chunk[0]
        if "VERB" in parts(word):
            made = verb_form(word, "participle")
            if verb == "get" and "NOUN" in parts(word) and not is_verb(word):
                return [[made, *_noun_ways(chunk)[0]]]
            if "NOUN" in parts(word) and word not in listed("verbs") and not is_verb(word):
                return [[made, _noun_ways(chunk)[0][0]]]
            return [[made]]
    if after_pronoun and only_adjective(chunk[-1]) and all(_modifies(word) for word in chunk[:-1]):
        return [[" ".join(chunk)]]  # 'keep it warm'
    if copula and len(chunk) > 1 and is_verb(chunk[0]):  # 'be left alone'
        return [
            [verb_form(chunk[0], "participle")],
            *_complement(verb, chunk[1:], rest, first=True),
        ]
    takes_two = listed("ditransitive") | listed("causative") | listed("makes")
    if after_pronoun and verb not in takes_two:
        raise UnwordableError(f"'{verb}' has two objects")
    if verb in listed("causative"):
        for split in range(1, len(chunk)):
            if _opens(chunk[split]):
                inner = _verb_ways([*chunk[split:], *rest], "base")
                return [*_noun_ways(chunk[:split], definite=True), *inner, _Rest([""])]
    makes = verb in listed("causative") | listed("makes")
    if makes and len(chunk) > 1 and only_adjective(chunk[-1]):
        return [*_noun_ways(chunk[:-1], definite=True), [chunk[-1]]]
    if first and f"{verb} {chunk[0]}" in SET_PHRASES and len(chunk) == 1:
        return [[chunk[0]]]
    return _noun_ways(chunk, definite=True, behind=behind)


SET_PHRASES = listed("set_phrases")
_STATES = frozenset({"be", "become", "feel", "seem"})  # not 'keep (a) secret', 'get (a) present'


def _noun_ways(tokens: Sequence[str], *, definite: bool = False, behind: str = "") -> Ways:
    """Return the ways of a noun phrase with all that hangs on it."""
    if tokens[0] in PREPOSITIONS:
        raise UnwordableError(f"the noun phrase begins with '{tokens[0]}'")
    for one, other in itertools.pairwise(tokens):
        if one in {"be", "but"} or other == "but":
            raise UnwordableError(f"'{one} {other}' is in a noun phrase")
        stacked = one in PREPOSITIONS and other in PREPOSITIONS
        if stacked and other != "of" and one not in {"from", "out", "to"}:
            raise UnwordableError(f"'{one} {other}' is in a noun phrase")
    ways: Ways = []
    segment: list[str] = []
    before = behind
    for place, token in enumerate([*tokens, ""]):
        joins = token in PREPOSITIONS or token in CONJUNCTIONS or token == "to" or not token
        if token in {"and", "or"} and segment and only_adjective(segment[-1]):
            segment.append(token)  # 'hot and cold water'
            continue
        if not joins and not (is_adverb(token) and segment and place == len(tokens) - 1):
            segment.append(token)
            continue
        if segment:
            if before in CONJUNCTIONS or before == "of":  # 'a head and a body', 'heads and bodies'
                definite = False
            ways.append(noun_ways(segment, before, definite=definite or before not in _CLOSE))
            if before == "of" and len(ways) > 2:
                _adjust_amount(ways, segment)
            segment = []
        elif token and token not in PREPOSITIONS:
            raise UnwordableError("a noun is missing")
        elif not token and before and before != behind:
            raise UnwordableError("a noun is missing at the end")
        if token.endswith("ly") and is_adverb(token):
            raise UnwordableError(f"the noun phrase ends with '{token}'")
        if token:
            before = token if not is_adverb(token) or token in PREPOSITIONS else ""
            ways.append([token])
            rest = tokens[place + 1 :]
            if token == "to" and rest and (is_verb(rest[0]) or rest[0] in listed("verbs")):
                return [*ways, *_verb_ways(rest, "base")]
            acts = rest and is_verb(rest[0]) and rest[0] not in damaged("nouns")
            if acts and _takes_gerund(token, tokens[place - 1]):
                return [*ways, *_verb_ways(rest, "gerund")]
    return ways


def _adjust_amount(ways: Ways, segment: Sequence[str]) -> None:
    """Adjust the pieces around an 'of', the last three: 'the queen of England', 'a type of owl'."""
    noun = ways[-3][0].split()[-1]
    if len(segment) == 1 and segment[0] in listed("proper"):
        ways[-3] = [_with_the(ways[-3][0])]
    if ways[-3][0].startswith(("a ", "an ")) and noun not in _AMOUNTS | _OF_NOUNS:
        raise UnwordableError(f"'{noun} of' may need another article")
    if noun in _AMOUNTS:
        ways[-1] = [way for way in ways[-1] if not way.startswith(("a ", "an "))]
    if noun in {"type", "kind", "sort", "form", "piece"}:
        ways[-1].insert(0, " ".join(segment))


def _with_the(phrase: str) -> str:
    first, _, rest = phrase.partition(" ")
    return f"the {rest}" if first in {"a", "an"} else phrase


def _modifies(word: str) -> bool:
    return is_adverb(word) or is_adjective(word) or word in {"more", "less", "so", "too", "all"}


def _may_describe(word: str) -> bool:
    """Whether a word that is a noun too can be an adjective: 'active', 'independent'."""
    return "ADJ" in parts(word) and word not in listed("mass") | listed("both")


def _opens(word: str) -> bool:
    """Whether a word opens a verb phrase behind a causative: 'make person *feel* good'."""
    return is_verb(word) or word == "be"


def _acts(rest: Sequence[str], verb: str) -> bool:
    """Whether what follows a 'to' is a verb phrase: 'want to dance', but 'go to work'."""
    if is_verb(rest[0]) or rest[0] == "be":
        return True
    if rest[0] not in listed("verbs"):
        return False
    follows = rest[1] if len(rest) > 1 else ""
    return verb not in _GOING or follows in DETERMINERS or follows in PRONOUN_WORDS


def _takes_gerund(preposition: str, before: str) -> bool:
    return preposition in _GERUND_AFTER or (preposition == "of" and before in _OF_DOING)


def _chunk_end(tokens: Sequence[str], start: int) -> int:
    end = start + 1
    while end < len(tokens):
        token = tokens[end]
        last = end == len(tokens) - 1
        joins = token in CONJUNCTIONS and not last and only_adjective(tokens[end - 1])
        if joins and not is_verb(tokens[end + 1]):  # 'a long and happy life'
            end += 1
            continue
        if token == "of" and not last:  # what hangs on a noun stays with it
            end += 1
            continue
        if token in PREPOSITIONS or token in CONJUNCTIONS or token == "to":
            break
        if is_adverb(token) and (last or token.endswith("ly")) and not is_adjective(token):
            break
        if token in PRONOUN_WORDS and token not in DETERMINERS:
            break
        end += 1
    return end


def _spelled(ways: Ways) -> list[str]:
    """Return the combinations of the ways, at most ``LIMIT`` of them."""
    ways = [list(dict.fromkeys(way)) for way in ways]
    while _product(ways) > LIMIT:
        longest = max(range(len(ways)), key=lambda place: (len(ways[place]), place))
        ways[longest] = ways[longest][:-1]
    if len(ways) == 3 and ways[1][0] in CONJUNCTIONS and len(ways[0]) == len(ways[2]):
        # 'a head and a body' or 'heads and bodies', not one of each
        return [f"{one} {ways[1][0]} {other}" for one, other in zip(ways[0], ways[2], strict=True)]
    texts = [" ".join(piece for piece in way if piece) for way in itertools.product(*ways)]
    return list(dict.fromkeys(texts))


def _product(ways: Ways) -> int:
    total = 1
    for way in ways:
        total *= len(way)
    return total
