"""English sentences with another subject or tense, and verbs that agree: 'He is' → 'They are'.

There is no parser: a pronoun is a subject by its form, and its verb is the first word behind it
that is no adverb, or the auxiliary before it in a question. Where that cannot be told, there is no
new sentence.
"""

from __future__ import annotations

import re

from boxpen.english.conjugation import agree, is_participle, root_of, verb_form
from boxpen.english.lexicon import is_adverb, lemmas

__all__ = ["SUBJECTS", "owner", "pronouns_in", "tense_of", "verb_of", "with_subject", "with_tense"]

SUBJECTS = ("i", "you", "he", "she", "we", "they")
# Subject, object, before a noun, alone, reflexive.
_FORMS = {
    "i": ("i", "me", "my", "mine", "myself"),
    "you": ("you", "you", "your", "yours", "yourself"),
    "he": ("he", "him", "his", "his", "himself"),
    "she": ("she", "her", "her", "hers", "herself"),
    "we": ("we", "us", "our", "ours", "ourselves"),
    "they": ("they", "them", "their", "theirs", "themselves"),
}
_OWNER = {form: who for who, forms in _FORMS.items() for form in forms}
_PARTS = re.compile(r"[A-Za-z]+n't|[A-Za-z]+|'(?:m|re|s|ve|ll|d|t)\b|[^A-Za-z]", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:I|me|my|mine|myself|you|your|yours|yourself|yourselves|he|him|his|himself|she|her|hers|"
    r"herself|it|its|itself|we|us|our|ours|ourselves|they|them|their|theirs|themselves|one)\b",
    re.IGNORECASE,
)
_CLITICS = {
    "am": "'m", "are": "'re", "is": "'s", "have": "'ve", "has": "'s",
}  # fmt: skip
_MODALS = frozenset({
    "can", "could", "will", "would", "shall", "should", "must", "may", "might", "cannot",
    "did", "didn't", "can't", "couldn't", "won't", "wouldn't", "shouldn't", "mustn't", "had",
    "hadn't",
})  # fmt: skip
_SKIPPED = frozenset({
    "just", "never", "always", "still", "really", "also", "only", "already", "even", "not",
    "all", "both", "ever", "probably", "actually", "usually", "often", "hardly", "once",
    "now", "then", "definitely", "certainly", "finally",
})  # fmt: skip


def pronouns_in(sentence: str) -> list[str]:
    """Return the personal pronouns of a sentence in lower case, in their order."""
    return [found.lower() for found in _PRONOUN.findall(sentence)]


def owner(form: str) -> str:
    """Return the subject that a form of a pronoun belongs to; the form itself if there is none."""
    return _OWNER.get(form, form)


def with_subject(sentence: str, old: str, new: str) -> str | None:
    """Return a sentence about somebody else; None if its grammar is not understood.

    Args:
        sentence: One sentence whose only personal pronouns are forms of ``old``.
        old: A subject in lower case: one of ``SUBJECTS``.
        new: Another one.
    """
    parts = _PARTS.findall(sentence.replace("’", "'"))
    words = [n for n, part in enumerate(parts) if part[0].isalpha() or part[0] == "'"]
    out = list(parts)
    for place, n in enumerate(words):
        low = parts[n].lower()
        if _OWNER.get(low) is None or low not in _FORMS[old]:
            continue
        forms = [form for form, known in enumerate(_FORMS[old]) if known == low]
        if low == old:
            if old == "you" and not _is_subject(parts, words, place):
                return None
            if not _agreed(parts, out, words, place, new):
                return None
            forms = [0]
        if len(forms) > 1:  # 'her' and 'his'
            return None
        out[n] = _cased(parts[n], _FORMS[new][forms[0]], start=not "".join(parts[:n]).strip(' "-'))
    made = "".join(out)
    return made if made != sentence else None


def _is_subject(parts: list[str], words: list[int], place: int) -> bool:
    """Tell whether 'you' is a subject: it opens the sentence, or a clause mark stands before it."""
    before = "".join(parts[: words[place]]).rstrip()
    return not before or before[-1] in ",.?!" or parts[words[place - 1]].lower() in _INVERTED


def _agreed(parts: list[str], out: list[str], words: list[int], place: int, new: str) -> bool:
    """Make the verb agree with a new subject, in ``out``; tell whether it was found."""
    before = parts[words[place - 1]].lower() if place else ""
    if before in _INVERTED and _opens(parts, words[place - 1]):
        form = _agreeing(before, new)
        if form is None:
            return False
        out[words[place - 1]] = _cased(parts[words[place - 1]], form, start=True)
        return True
    for n in words[place + 1 :]:
        low = parts[n].lower()
        if any(part in ",.;:?!-" for part in parts[words[place] + 1 : n]):
            return False
        if low in _SKIPPED or (is_adverb(low) and not lemmas(low).get("VERB")):
            continue
        form = _agreeing(low, new, _following(parts, words, n))
        if form is None:
            return False
        out[n] = form
        return True
    return False


def _following(parts: list[str], words: list[int], n: int) -> str:
    later = [parts[w].lower() for w in words if w > n]
    later = [word for word in later if word not in _SKIPPED]
    return later[0] if later else ""


def _opens(parts: list[str], n: int) -> bool:
    before = "".join(parts[:n]).rstrip()
    return not before or before[-1] in ",.?!-" or before.split()[-1].lower() in _ASKING


_ASKING = frozenset({
    "what", "where", "when", "why", "how", "who", "and", "but", "so", "or", "then",
})  # fmt: skip
_INVERTED = frozenset({
    "am", "are", "is", "was", "were", "do", "does", "did", "have", "has", "had", "can",
    "could", "will", "would", "shall", "should", "must", "may", "might", "don't", "doesn't",
    "didn't", "aren't", "isn't", "wasn't", "weren't", "haven't", "hasn't", "can't",
    "couldn't", "won't", "wouldn't", "shouldn't",
})  # fmt: skip


def _agreeing(verb: str, who: str, after: str = "") -> str | None:
    """Return the form of a finite verb, perhaps a clitic, that goes with a subject."""
    be = {"i": "am", "he": "is", "she": "is"}.get(who, "are")
    was = "was" if who in ("i", "he", "she") else "were"
    one = who in ("he", "she")
    if verb in _MODALS or verb in ("'ll", "'d"):
        return verb
    if verb == "'s":
        if is_participle(after) and after not in ("gone", "done", "supposed", "called", "named"):
            verb = "'ve" if after in ("been", "got", "had", "seen") else ""
        else:
            verb = "'m"
        if not verb:
            return None
    if verb in ("'m", "'re"):
        return _CLITICS[be]
    if verb == "'ve":
        return "'s" if one else "'ve"
    if verb in ("am", "are", "is"):
        return be
    if verb in ("aren't", "isn't"):
        return None if who == "i" else "isn't" if one else "aren't"
    if verb in ("was", "were", "wasn't", "weren't"):
        return was + verb[3 if verb.startswith("was") else 4 :]
    if verb in ("don't", "doesn't"):
        return "doesn't" if one else "don't"
    if verb in ("haven't", "hasn't"):
        return "hasn't" if one else "haven't"
    if verb in ("do", "does", "have", "has"):
        return verb_form(root_of(verb), "third") if one else root_of(verb)
    forms = _finite_forms(verb)
    if "past" in forms and "base" not in forms:
        return verb
    if len(forms) != 1 or not lemmas(verb).get("VERB"):
        return None  # 'put': past or present?
    return agree(root_of(verb) if "third" in forms else verb, many=not one)


def _finite_forms(word: str) -> set[str]:
    """Return which finite forms of its verb a word is."""
    found = set()
    for root in lemmas(word).get("VERB", ()):
        if word == root:
            found.add("base")
        if word == verb_form(root, "third"):
            found.add("third")
        if word == verb_form(root, "past"):
            found.add("past")
    return found


def _cased(old: str, new: str, *, start: bool) -> str:
    if new == "i":
        return "I"
    return new[0].upper() + new[1:] if start and old[0].isupper() else new


_CLAUSE = re.compile(
    r"(?P<lead>(?:(?:and|but|so|well|yeah|yes|no|oh|then),? )?)"
    r"(?P<who>I|you|he|she|it|we|they|this|that|there)(?P<between>(?: (?:just|never|always|really|"
    r"still|also|only|all|both))*)(?P<verb> [a-z]+|'(?:ll|m|re|s))\b(?!')(?P<rest>[^,;:]*)$",
    re.IGNORECASE,
)


def tense_of(sentence: str) -> str | None:
    """Return 'past' or 'future' for one plain clause about a pronoun; None for anything else.

    A contracted negation is something else: *won* is no verb of its own in *won't*.
    """
    match = _CLAUSE.match(sentence.replace("’", "'"))
    if match is None or _MORE.search(match["rest"]):
        return None
    verb = match["verb"].strip().lower()
    if verb in _MODALS - {"will"} or root_of(verb) in _STATES:
        return None
    if verb in ("'ll", "will"):
        after = match["rest"].split()
        return (
            "future" if after and "base" in _finite_forms(after[0].lower().strip(".!?")) else None
        )
    if verb in ("was", "were"):
        return "past" if _PASSING.match(match["rest"]) else None
    return "past" if _finite_forms(verb) == {"past"} else None


def verb_of(sentence: str) -> str:
    """Return the finite verb of one plain clause about a pronoun, perhaps a clitic; '' if none."""
    match = _CLAUSE.match(sentence.replace("’", "'"))
    return match["verb"].strip() if match else ""


# What may last, or be said of what others say: the present may be right after a past.
_STATES = frozenset({
    "like", "love", "want", "need", "know", "think", "believe", "say", "tell", "mean", "hope",
    "wish", "guess", "have", "own", "seem", "hate", "live", "remember", "understand", "hear",
    "feel", "look", "cost", "belong", "deserve", "care", "matter", "see", "use", "get",
})  # fmt: skip
# What was so for a while only.
_PASSING = re.compile(
    r"(?: (?:just|still|all|only|even|really|not))* "
    r"(?:(?!(?:any|some|every|no)thing|going)\w+ing|at|in|on)\b"
)
_MORE = re.compile(
    r"\b(?:I|he|she|we|they|that|if|when|because|who|which|what|where|how|why|and|but|or|"
    r"before|after|until|while|since|as|than|so)\b",
    re.IGNORECASE,
)


def with_tense(sentence: str, tense: str) -> str | None:
    """Return a clause of the past in the present, or one of the future in the past.

    Args:
        sentence: A clause whose tense is known.
        tense: Its tense.
    """
    match = _CLAUSE.match(sentence.replace("’", "'"))
    if match is None:
        return None
    who, verb, rest = match["who"].lower(), match["verb"].strip().lower(), match["rest"]
    subject = {"it": "he", "this": "he", "that": "he", "there": "he"}.get(who, who)
    if tense == "future":
        before, base, after = re.match(r"(\s*)([A-Za-z]+)(.*)$", rest, re.DOTALL).groups()  # type: ignore[union-attr]
        past = verb_form(base.lower(), "past")
        if base.lower() == "be":
            past = "was" if subject in ("i", "he", "she") else "were"
        return sentence[: match.start("verb")] + f" {past}{after}" if before else None
    if verb in ("was", "were"):
        if who == "there":
            form = "is" if verb == "was" else "are"
        else:
            form = {"i": "am", "he": "is", "she": "is"}.get(subject, "are")
    else:
        form = agree(root_of(verb), many=subject not in ("he", "she"))
    return f"{sentence[: match.start('verb')]} {form}{rest}"
