"""What follows 'since': a clause, or a time, after which the word is never a cause.

There is no parser here. A noun phrase that is short and over before a verb comes is a time ('since
your diet, we cook'); so is a word of time, whatever is said of it ('since the day we met'), unless
a verb makes it a subject ('since today is Friday'). What the end of the line cuts off is neither.
"""

from __future__ import annotations

import re

__all__ = ["names_a_time"]

_SHORT = 4
"""Words of a noun phrase with a determiner; with 'of' there may be three more."""
_BARE = 2
"""Words of one without: 'high school', 'Ann's wedding'."""

_TITLE = re.compile(r"\b(mr|mrs|ms|dr|st|jr)\.")
_FILLER = re.compile(r", ?(?:you know|like|i mean|uh|um|well),|\.{2,}|…")
_END = re.compile(r"[,.;:!?]|--|\b(?:because|but|so)\b")
_SUBJECT = r"(?:i|you|he|she|it|we|they|there|no one|(?:every|some|any|no)(?:body|one|thing))(?!\w)"
_STARTS = re.compile(_SUBJECT)
# A subject within: what stands before it is over, unless it leads to it.
_NEXT = re.compile(
    r"(?<!\band)(?<!\bor)(?<!\bof)(?<!\bto)(?<!\bfor)(?<!\bwith)(?<!\bthan)(?<!\blike)(?<!\babout)"
    rf" {_SUBJECT}"
)
_DETERMINER = re.compile(r"(?:my|your|his|her|its|our|their|the|this|that|these|those|an?) ")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|had|have|will|would|can|could|may|might|must|should|did|do|does"
    r"|\w+n't|\w{2,}ed|came|went|got|took|left|made|said|found|put|told|gave|lost|met|ran|saw|brought"
    r"|bought|broke|began|became|felt|kept|sent|stole|spent|won|wrote|paid|shot|hit|cut|let|set|quit"
    r"|fell|held|hid|knew|led|rose|sold|spoke|stood|taught|thought|threw|woke|blew|grew|flew|chose"
    r"|knows?|says?|comes?|goes|gets?|takes?|makes?|puts|seems?|wants?|needs?|likes|loves|hates|keeps?"
    r"|thinks?|looks|means|runs|sits|works|lives|owns|plays|tells?|gives?|feels?|holds|belongs?"
    r"|matters|happens|remains?|leads?|shows|eats?|owes|starts|ends|helps)\b"
    r"|'(?:re|ll|d|ve)\b"
    r"|'s (?:\w+ing|an?|the|not|no|so|too|very|been|gone|in|on|at|out|outta|off|up|over|my|your"
    r"|here|there|still|always|already|just|never|only|under|gonna|got|back|dead)\b"
)
_OF_TIME = (
    r"(?:(?:early|late|the|this|that|last|those|about|around|my|your|his|her|our|their|very|first"
    r"|second|third|one|high|middle|grade|elementary|law|med|medical|art|grad|old|senior|junior) )*"
)
# Whatever is said of these, they stay times.
_DAY = re.compile(
    rf"{_OF_TIME}(?:day|night|morning|afternoon|evening|week|weekend|month|year|spring|summer|autumn"
    r"|winter|moment|minute|hour|time)(?![\w'])"
)
_DATE = re.compile(
    rf"{_OF_TIME}(?:yesterday|today|tonight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january"
    r"|february|march|april|june|july|august|september|october|november|december|days|weeks|months"
    r"|years|ages?|childhood|birth|puberty|kindergarten|preschool|school|college|graduation|noon"
    r"|midnight|dawn|christmas|thanksgiving|halloween|easter"
    r"|\d[\d:/]*(?:st|nd|rd|th|s)?(?: [ap]\b)?)(?![\w'])(?:$| (?:in|at|on|of|or|and|when|that)\b)"
)
# Adverbs of a clause, where a subject follows: 'since tonight we dance'.
_ADVERB = re.compile(rf"(?:today|tonight|tomorrow|now|right now|this time) {_SUBJECT}")
_GERUND = re.compile(r"(?!\w*thing\b)\w{2,}ing\b")
_NO_NOUN = re.compile(
    r"(?:\w+ly|if|even|until|when|as|in|on|at|by|with|for|then|perhaps|maybe|of course|both|none"
    r"|one|some|all|most|now|right now)\b"
)
# A noun is still to come: 'since this silly, noisy dog barks'.
_ADJECTIVE = re.compile(
    r"\b(?:\w+(?:ous|ful|ible|able|less|ish)|stupid|silly|dumb|crazy|poor|old|young|new|big|little"
    r"|huge|tiny|great|good|bad|nice|sweet|lovely|ugly|sad|long|dark|cold|hot|whole)$"
)


def names_a_time(english: str) -> bool:
    """Tell whether what follows 'since' is a time and no clause: 'since your diet, we cook'.

    Args:
        english: The rest of the sentence, in lower case.
    """
    rest = _FILLER.sub(" ", _TITLE.sub(r"\1", english))
    rest = " ".join(rest.split()).lstrip(" ,")
    if _STARTS.match(rest) or _ADVERB.match(rest):
        return False
    phrase = _NEXT.split(_END.split(rest, maxsplit=1)[0], maxsplit=1)[0].strip()
    if time := _DAY.match(phrase):
        return not _VERB.match(phrase, time.end() + 1)
    if _VERB.search(phrase):
        return False
    if _DATE.match(phrase):
        return True
    if phrase == rest or _ADJECTIVE.search(phrase):  # cut off: a verb may come in the next line
        return False
    words = phrase.split()
    if _DETERMINER.match(phrase):
        return len(words) <= _SHORT + 3 * ("of" in words)
    if _GERUND.match(phrase):
        return True
    return 0 < len(words) <= _BARE and not _NO_NOUN.match(phrase)
