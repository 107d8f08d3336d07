"""Word classes: what kind of word stands where two English sentences differ.

There is no tagger behind this. Words of grammar are listed; the others have the classes that the
dictionary of lemminflect gives them, and the words around them, or the word that stands in their
place in the other sentence, show which of these is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from boxpen.english.clauses import clauses
from boxpen.english.conjugation import is_participle
from boxpen.english.finite import NEGATIONS, finite
from boxpen.english.grammar import DETERMINERS, POSSESSIVES, PRONOUN_WORDS
from boxpen.english.lexicon import is_adverb, lemmas, listed, sentence_words
from boxpen.english.sentence import Word, is_name, read

__all__ = ["CLASSES", "differing_class", "word_class"]

CLASSES = (
    "noun", "verb", "adjective", "adverb", "pronoun", "conjunction", "preposition", "number",
    "negation", "other", "order", "several",
)  # fmt: skip
"""``other`` is for articles and quantifiers; ``order`` for the same words in another order;
``several`` for words of more than one class."""
_MOST = 8  # differing words of a sentence; more are of several classes
_OPEN = {"NOUN": "noun", "VERB": "verb", "ADJ": "adjective", "ADV": "adverb", "AUX": "verb"}
_NEGATIVE = NEGATIONS | {"never", "no", "cannot"}
_PRONOUNS = PRONOUN_WORDS | POSSESSIVES | sentence_words("singular_pronouns") | {
    "all", "both", "who", "whom", "whose", "what", "which", "i", "me", "mine", "himself", "herself",
    "itself", "myself", "themselves", "nobody", "none", "nothing", "yours", "hers", "theirs",
    "ours",
}  # fmt: skip
_CONJUNCTIONS = sentence_words("subordinators") - {"how", "why", "what"} | {
    "and", "or", "but", "so", "nor", "as", "since", "before", "after", "till", "once",
}  # fmt: skip
_EITHER = {"before", "after", "since", "as", "till", "until", "than", "so", "once"}
"""Conjunctions before a clause, else prepositions, adverbs or numbers."""
_NUMBERS = {
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty",
    "ninety", "hundred", "thousand", "million", "billion", "first", "second", "third", "fourth",
    "fifth", "twice", "half", "dozen",
}  # fmt: skip
_QUANTIFIERS = {
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "each", "every", "many",
    "much", "more", "most", "few", "less", "little", "several", "another", "all", "both", "such",
    "enough", "own", "either", "fewer", "least",
}  # fmt: skip
_ARTICLES = {"a", "an", "the", "another", "every", "no"} | POSSESSIVES - {"her"}
"""Determiners that no verb follows, unlike 'let her eat' and 'a man that eats'."""
_PARTICLES = {"up", "down", "off", "out", "on", "in", "over", "away", "back", "than", "like"}
_DEGREES = {"very", "too", "so", "more", "most", "quite", "less", "really", "extremely", "rather"}
_AUXILIARIES = {
    "be", "am", "is", "are", "was", "were", "been", "being", "'m", "'re", "'s", "have", "has",
    "had", "'ve", "do", "does", "did", "ca", "wo",
}  # fmt: skip
_VERBS = _AUXILIARIES | sentence_words("modals")
_ADJECTIVES = ("less", "ful", "ous", "able", "ible", "ish")
_BE = {"be", "am", "is", "are", "was", "were", "been", "being", "'m", "'re", "'s"}
_SEEM = listed("copulas") | {"felt", "looked", "seemed", "became", "got", "feels", "looks", "seems"}
_SUBJECTS = {"i", "you", "he", "she", "it", "we", "they", "people", "who"}


def differing_class(right: str, wrong: str) -> str | None:
    """Return the class of the words in which two sentences differ; None if they do not.

    Articles, quantifiers and prepositions do not count beside other words, nor do the modifiers
    of a noun that differs as well, nor words that differ in their form only.
    """
    sides = read(right), read(wrong)
    one, two = ([word.low.replace("’", "'") for word in words] for words in sides)
    codes = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    spans = [(a, b, c, d) for tag, a, b, c, d in codes if tag != "equal"]
    places = [[n for s in spans for n in range(*s[i : i + 2])] for i in (0, 2)]
    changed = [[sides[i][n] for n in places[i] if _is_word(sides[i][n])] for i in (0, 1)]
    if not changed[0] and not changed[1]:
        return None
    if max(map(len, changed)) > _MOST:
        return "several"
    bases = [list(map(_base, some)) for some in changed]
    if sorted(bases[0]) == sorted(bases[1]):
        return "order" if bases[0] != bases[1] else "other"  # 'a hometown', 'hometowns'
    found: set[str] = set()
    for a, b, c, d in spans:
        kinds = [_span(sides[0], a, b), _span(sides[1], c, d)]
        if all(len(k) == 1 for k in kinds):
            found |= _same(sides, (kinds[0][0], kinds[1][0]))
            continue
        for side, some in zip(sides, kinds, strict=True):
            found |= {word_class(side, n) for n in some}
    return _one(found)


def _one(found: set[str]) -> str:
    if "noun" in found:
        found = found - {"conjunction"}  # 'Sam and Amy'
    for few in ({"other"}, {"other", "preposition"}):
        if found - few:
            found = found - few
    # 'do n't' beside nothing: the auxiliary comes with the negation
    if "negation" in found and found <= {"negation", "verb"}:
        return "negation"
    return found.pop() if len(found) == 1 else "several"


def _is_word(word: Word) -> bool:
    return word.text[0].isalnum() or word.text[0] in "'’"


def _base(word: Word) -> str:
    forms = lemmas(word.low)
    return min((form for some in forms.values() for form in some), default=word.low)


def _span(words: Sequence[Word], start: int, end: int) -> list[int]:
    """Return the places that count of a span: no marks, no modifiers of a noun in it."""
    places = [n for n in range(start, end) if _is_word(words[n])]
    kept = []
    for at, n in enumerate(places):
        after = places[at + 1 :]
        modifier = word_class(words, n) in {"adjective", "noun", "number", "pronoun"}
        if modifier and after and after[0] == n + 1 and word_class(words, n + 1) == "noun":
            continue
        kept.append(n)
    return kept


def _same(sides: tuple[Sequence[Word], Sequence[Word]], places: tuple[int, int]) -> set[str]:
    """Return the class of two words in each other's place; it is the same, if it can be."""
    words = [side[n] for side, n in zip(sides, places, strict=True)]
    if _base(words[0]) == _base(words[1]):
        return {"other"}  # 'language', 'languages'
    kinds = [word_class(side, n) for side, n in zip(sides, places, strict=True)]
    if kinds[0] == kinds[1]:
        return {kinds[0]}
    can = [_possible(side, n) for side, n in zip(sides, places, strict=True)]
    for kind in kinds:
        if all(kind in some for some in can):
            return {kind}
    return set(kinds)


def _possible(words: Sequence[Word], place: int) -> set[str]:
    low = words[place].low
    if _closed(words, place) is not None:
        return set()
    if lemmas(low) == {} and low.endswith(_ADJECTIVES):
        return {"adjective"}
    if is_name(words[place], first=place == 0):
        return {"noun"}
    found = {_OPEN[part] for part in lemmas(low) if part in _OPEN} or {"noun"}
    # The dictionary has 'pan' as a verb only; but 'the cracked floor'.
    known = found != {"verb"} or low.endswith("ed")
    return found if known or _last(words, place) not in _ARTICLES else found | {"noun"}


def _last(words: Sequence[Word], place: int) -> str:
    """Return the word before a place, or before the adverbs there."""
    before = place - 1
    while before >= 0 and is_adverb(words[before].low):
        before -= 1
    return words[before].low if before >= 0 else ""


def _closed(words: Sequence[Word], place: int) -> str | None:
    """Return the class of a word of grammar."""
    low = words[place].low.replace("’", "'")
    following = words[place + 1].low if place + 1 < len(words) else ""
    if low in _NEGATIVE:
        return "negation"
    if low in _EITHER:
        if any(one.opens <= place < one.start for one in clauses(words)):
            return "conjunction"
        return {"so": "adverb", "once": "number"}.get(low, "preposition")
    if low[0].isdigit() or low in _NUMBERS or low.partition("-")[0] in _NUMBERS:
        return "number"
    if low in _CONJUNCTIONS:
        return "conjunction"
    if low in _VERBS:
        return "verb"
    if low in _QUANTIFIERS and not (low in {"all", "both"} and not following):
        return "other"
    if low in _PRONOUNS:
        return "pronoun"
    if low in sentence_words("prepositions") | _PARTICLES | {"to"}:
        return "preposition"
    return "other" if low in DETERMINERS else None


def word_class(words: Sequence[Word], place: int) -> str:
    """Return the class of a word where it stands."""
    if (closed := _closed(words, place)) is not None:
        return closed
    low = words[place].low
    can = _possible(words, place)
    if len(can) == 1:
        return next(iter(can))
    last = _last(words, place)
    nexts = place + 1 < len(words) and _is_word(words[place + 1])
    noun_next = bool(
        nexts and _closed(words, place + 1) is None and "noun" in _possible(words, place + 1)
    )
    if "verb" in can and _is_verb(words, place, last):
        return "verb"
    if last in _DEGREES or last in _BE | _SEEM:
        if "adjective" in can and not noun_next:
            return "adjective"
        if "adverb" in can and last in _DEGREES:
            return "adverb"
    if "adjective" in can and (noun_next or low in listed("adjectives")):
        return "adjective"
    for kind in ("noun", "adjective", "adverb"):
        if kind in can:
            return kind
    return "verb"


def _is_verb(words: Sequence[Word], place: int, last: str) -> bool:
    low = words[place].low
    following = words[place + 1].low if place + 1 < len(words) else ""
    if last in DETERMINERS | _QUANTIFIERS or low in sentence_words("never_verbs"):
        return False
    if last in _DEGREES and low.endswith(("ing", "ed")) and "ADJ" in lemmas(low):
        return False
    if low.endswith("ing") or (is_participle(low) and "ADJ" not in lemmas(low)):
        return True
    if last in sentence_words("modals") | {"do", "does", "did", "n't", "not"} | _SUBJECTS:
        return True
    if last == "to":
        open_ = following in DETERMINERS | _QUANTIFIERS | _PRONOUNS
        return open_ or "NOUN" not in lemmas(low) or low in listed("verbs")
    own = next((one for one in clauses(words) if one.verb.place <= place <= one.verb.group), None)
    return own is not None and finite(words, place, own.start, own.opener, False) is not None
