"""Verb phrases that English leaves out after an auxiliary and Chinese has to say.

"My uncle smokes." – "So do I." The Chinese sentence repeats the verb of the one before, which
is how an ellipsis is known; a part-of-speech tagger is asked only where the English looks like one.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterator

from boxpen.build.discourse.phenomena.snippets import Finding, Objection, Snippet, misfits, weighed
from boxpen.build.discourse.phenomena.wordlists import table, tokens, words

__all__ = ["auxiliary", "ellipsis", "repeated", "tagged"]

_KINDS = {
    "do": "do does did don't doesn't didn't",
    "have": "have has had haven't hasn't hadn't",
    "be": "am is are was were isn't aren't wasn't weren't ain't",
    "modal": (
        "can could will would shall should must may might can't cannot couldn't won't wouldn't "
        "shouldn't mustn't"
    ),
}
_KIND = {form: kind for kind, forms in _KINDS.items() for form in forms.split()}
_AUXILIARY = "(?:" + "|".join(sorted(_KIND, key=len, reverse=True)) + ")"
_SUBJECT = (
    r"(?:(?:my|your|his|her|our|their|the|this|that|those) \w+|(?:mr|mrs|ms|dr)\.? \w+|[a-z]+)"
)
_AFTER = (
    r"(?:[ ,]*(?:not|too|either|now|already|again|though|really|sir|ma'am|anyway|still|indeed))*"
)
_END = r"[ .!?,;…\"'-]*$"
# What may stand before: an answer, a doubt, a link. A longer beginning has a verb of its own.
_LEAD = (
    r"(?:(?:yes|yeah|yep|no|nope|oh|ah|well|but|and|because|cause|if|of course|sure|maybe|perhaps|"
    r"so|then|i think|i know|i guess|i hope|i believe|i'm sure|i wish|i bet|i suppose|i said|"
    r"you know|"
    r"now|okay|ok|hey|look|honey|sorry|really|actually|only|at least|course|the way|as|like|not if|"
    r"unless|until|that's because|'cause|neither|believe me|trust me|god|uh|um|hmm|in fact|or)"
    r"[ ,.!?-]*)*"
)
_ADVERB = (
    r"(?: (?:really|sure|certainly|definitely|already|never|always|just|still|also|both|all|"
    r"probably|actually|obviously|usually|only))?"
)
_LOOKS = re.compile(
    rf"^[- ]*{_LEAD}(?:"
    rf"(?P<inverted>(?:so|neither|nor) (?P<a>{_AUXILIARY}) {_SUBJECT}(?: \w+)?{_AFTER})|"
    rf"(?P<asked>(?P<b>{_AUXILIARY}) (?:i|you|he|she|it|we|they)(?: not)?{_AFTER}(?=[ ]*\?))|"
    rf"(?P<said>{_SUBJECT}{_ADVERB} (?P<c>{_AUXILIARY}){_ADVERB}{_AFTER})"
    rf"){_END}"
)
_QUICK = re.compile(rf"\b{_AUXILIARY}\b")
_NO_SUBJECT = frozenset(
    {"what", "where", "how", "why", "when", "which", "who", "to", "that's"}
    | {"could", "can", "would", "should", "will", "might"}
)
_NOT_FULL = re.compile(rf"\b{_AUXILIARY}{_END}")
_VERB = re.compile("v|vn|vi|vg|vd")


def ellipsis(snippet: Snippet) -> Finding | None:
    """Return the ellipsis that a snippet may test."""
    form = auxiliary(snippet.source)
    if form is None:
        return None
    verb = repeated(snippet.source, snippet.target, snippet.context_target)
    if verb is None:
        return None
    reason = f"'{form}' is short for {verb}, which the context has"
    return weighed("ellipsis", verb, 0.95, reason, _objections(form, verb, snippet))


def auxiliary(source: str) -> str | None:
    """Return the auxiliary of an English sentence that says no more than a subject and it."""
    if len(source) > 80:
        return None
    current = source.lower().replace("’", "'").strip()
    if _QUICK.search(current) is None:
        return None
    match = _LOOKS.match(current)
    if match is None:
        return None
    said = match["said"]
    if said and said.split()[0] in _NO_SUBJECT:
        return None
    return str(match["a"] or match["b"] or match["c"])


def repeated(source: str, target: str, before: str) -> str | None:
    """Return the verb of a Chinese sentence that the sentence before has too.

    Args:
        source: The English sentence; what it says itself is not left out.
        target: Its translation.
        before: The translation of the sentence before.
    """
    empty = words("ellipsis", "empty")
    english = {word.lower() for word in tokens(source)}
    said = {verb for word in english for verb in table("ellipsis", "said").get(word, "").split()}
    known = _verbs(before)
    found = [
        _stem(word)
        for word, flag in tagged(target)
        if word not in empty and word not in said
        if (_is_verb(word, flag) and word in known) or _akin(word, flag, known)
    ]
    # 想 and 有 may stand before the verb that was left out.
    return min(found, key=lambda verb: verb in ("想", "有"), default=None)


def tagged(text: str) -> list[tuple[str, str]]:
    """Return the words of a Chinese text with their parts of speech."""
    return [(pair.word, pair.flag) for pair in _tagger()(text)]


def _objections(form: str, verb: str, snippet: Snippet) -> Iterator[Objection]:
    before = snippet.context_source.lower().replace("’", "'")
    many = set(tokens(before))
    kind = _KIND[form]
    if _NOT_FULL.search(before) and len(many) < 6:
        yield 0.5, "the context leaves a verb out too"
    if kind == "be" and not many & _BE:
        yield 0.5, f"the context has no form of 'be' for '{form}'"
    if kind == "modal" and not many & _MODAL and not before.startswith(("you have", "let")):
        yield 0.8, f"the context has no modal for '{form}'"
    if kind == "have" and not many & _HAVE:
        yield 0.85, f"the context has no 'have' for '{form}'"
    if verb == "有" and not many & {"have", "has", "had", "got", "there", "there's"}:
        yield 0.6, "有 may be an auxiliary itself"
    if len(tokens(snippet.source)) > 7:
        yield 0.85, "the sentence is long"
    for factor, objection in misfits(snippet):
        # "I do." is as short as it should be, and its translation longer.
        if not objection.startswith(("the sentence has", "the translation is")):
            yield factor, objection
    if len(re.findall(r"\w", snippet.target)) > 5 * len(tokens(snippet.source)):
        yield 0.6, "the translation says more"


_BE = frozenset(_KINDS["be"].split()) | {
    "i'm", "you're", "he's", "she's", "it's", "we're", "they're", "that's", "be", "what's", "who's",
    "there's", "been", "being",
}  # fmt: skip
_MODAL = frozenset(_KINDS["modal"].split()) | {
    "i'll", "you'll", "he'll", "she'll", "it'll", "we'll", "they'll", "i'd", "you'd", "he'd",
    "she'd", "we'd", "they'd", "gonna", "going", "let", "let's", "please", "want", "have",
    "need", "gotta",
}  # fmt: skip
_HAVE = frozenset(_KINDS["have"].split()) | {
    "i've", "you've", "we've", "they've", "he's", "she's", "it's", "who's", "ever", "never", "got",
    "gotten",
}  # fmt: skip


def _verbs(text: str) -> set[str]:
    return {word for word, flag in tagged(text) if _is_verb(word, flag)}


def _is_verb(word: str, flag: str) -> bool:
    return bool(_VERB.fullmatch(flag)) and not word.isascii()


def _akin(word: str, flag: str, known: set[str]) -> bool:
    """Tell whether a word is a known verb with more or less around it: 信 and 相信, 不信 and 信.

    One character alone is often tagged as a noun, which it is not if it is a part of a verb said
    just before.
    """
    empty, word = words("ellipsis", "empty"), _stem(word)
    if word in empty or not (_is_verb(word, flag) or (flag == "n" and len(word) == 1)):
        return False
    for other in {_stem(verb) for verb in known - empty} - empty:
        if word == other or (min(len(word), len(other)) == 1 and (word in other or other in word)):
            return True
    return False


def _stem(verb: str) -> str:
    """Return a verb without its negation or complement: 不信 is 信, 帮不了 is 帮."""
    bare = re.sub("(?<=.)[不得](?:了|到|起|见)$", "", verb)
    return bare[1:] if len(bare) > 1 and bare[0] in "不没" and bare != "没有" else bare


@functools.cache
def _tagger() -> Callable[[str], Iterator[_Tagged]]:
    import jieba
    import jieba.posseg

    jieba.setLogLevel(logging.WARNING)
    # Without guesses at new words: they join names with what stands beside them.
    return functools.partial(jieba.posseg.POSTokenizer(jieba.Tokenizer()).cut, HMM=False)


class _Tagged:
    """What the tagger yields; jieba has no types."""

    word: str
    flag: str
