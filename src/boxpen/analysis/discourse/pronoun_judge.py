"""Whether "you" and "they" got the right number and gender in Chinese.

English "you" is 你 or 你们, "they" is 他们, 她们 or 它们. Only pronouns of the group that the class
belongs to decide: a sentence may well speak of others. Chinese may leave a pronoun out or repeat
the noun, and then nobody can tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from boxpen.analysis.discourse.chinese import Sentence, read
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT, WRONG, Hit, Ruling, rule

__all__ = ["PRONOUNS", "judge_pronoun"]

PRONOUNS = {
    "你们": "you (pl.)",
    "你": "you (sing.)",
    "它们": "it (pl.)",
    "她们": "she (pl.)",
    "他们": "he (pl.)",
}
"""The classes, and what they are called."""

_YOU, _THEY, _WE = "you", "they", "we"
_TOGETHER = "(?:[俩仨]|[二两三四几](?:[位人]|个(?!月|小时|星期|问题)))"
"""What makes one pronoun several: 你俩, 您几位, 他两个."""
# A form is found where its pattern is, and nothing of it belongs to another word.
_FORMS: Mapping[str, tuple[str, str]] = {
    "你们": (_YOU, rf"[你您]们[俩仨]?|[你您]{_TOGETHER}"),
    "你": (_YOU, rf"(?<!迷)[你您](?!们|{_TOGETHER})"),
    "他们": (_THEY, rf"他们[俩仨]?|他{_TOGETHER}"),
    "她们": (_THEY, rf"她们[俩仨]?|她{_TOGETHER}"),
    "它们": (_THEY, rf"它们[俩仨]?|它{_TOGETHER}"),
}
_GREETING = re.compile(r"(?<![你您])[你您]好(?=$|\W)")
_ADDRESSED = (
    (r"诸位|各位|(?<![这那有了])[二两]位", r"(?!)"),
    (r"大家", r"everyone|everybody|people|all"),
)
"""Several people who are spoken to, and English words that speak of all; they count where no form
of 你 does."""
_OF_MANY = re.compile(
    r"你们(?=(?:的)?(?:家|公司|学校|国家|店|老板|队|班|厂|单位|部门|医院|那里|那儿|这里|这儿))"
)
"""One person too may be asked about "你们公司", the company he or she belongs to."""
_ONE = {
    "他": (rf"(?<![其利无])他(?!们|{_TOGETHER}|人|妈的|乡|日)", r"he|him|his|himself"),
    "她": (rf"她(?!们|{_TOGETHER})", r"she|her|hers|herself"),
    "它": (rf"(?<!其)它(?!们|{_TOGETHER})", r"it|its|itself|this|that"),
}
"""Forms of one, and the English words that ask for them."""
_EDGE = r"(?:^|(?<=[，,。.！!？?；;：:…]))"
_PERSONS = {
    _YOU: (r"[你您]", r"you|your|yours|yourself|yourselves|ya|y'all|thank|thanks|please"),
    _THEY: (r"[他她它]们", r"they|them|their|theirs|themselves|those|these|people"),
    _WE: (r"[我咱]们", r"we|us|our|ours|ourselves|let's|i|me|my"),
}
"""Forms of a person, and the English words that ask for them."""


def judge_pronoun(cls: str, source: str, translation: str, reference: str) -> Ruling:
    """Judge one translation of a sentence with "you" or "they".

    Args:
        cls: The pronoun that is right, one of ``PRONOUNS``.
        source: The English sentence.
        translation: What is judged.
        reference: A right translation; its other pronouns are not errors.
    """
    group = _FORMS[cls][0]
    sentence = read(translation)
    there = _found(sentence, group)
    known = _found(read(reference), group)
    wanted = {cls} if cls in known else {cls, *known}  # a reference may differ from its class
    right = [hit for form in wanted for hit in there.get(form, ())]
    allowed = wanted | set(known)
    others = [hit for form, some in there.items() if form not in allowed for hit in some]
    if right and others:
        forms = " and ".join(form for form in _FORMS if form in wanted & set(there))
        return rule(CANNOT_TELL, f"both {forms} and another pronoun", [*right, *others])
    if right:
        own = len(right) == len(there.get(cls, ()))
        differs = "" if own else f", but the reference has {' and '.join(known)}"
        return rule(RIGHT, f"{cls} is asked for{differs}", right)
    # As many of another form as the reference has may all be said of somebody else.
    wrong = others or [
        hit for form, some in there.items() if len(some) > len(known[form]) for hit in some
    ]
    if wrong and cls == "你" and len(wrong) == len(_OF_MANY.findall(sentence.text)):
        return rule(CANNOT_TELL, "may address one of them", wrong)
    if wrong:
        return rule(WRONG, f"{cls} is asked for", wrong)
    if there:
        same = [hit for some in there.values() for hit in some]
        return rule(CANNOT_TELL, f"of others, as in the reference, and no {cls}", same)
    return _without(cls, group, source, sentence)


def _without(cls: str, group: str, source: str, sentence: Sentence) -> Ruling:
    """Judge a translation that has no pronoun of the group."""
    if not sentence.text:
        return rule(WRONG, "there is no translation")
    addressed = [
        hit
        for pattern, english in _ADDRESSED
        if not _has(source, english)
        for hit in _hits(pattern, sentence)
    ]
    if cls == "你们" and addressed:
        return rule(RIGHT, "speaks to several", addressed)
    # Whom 他 means, nobody knows; at the head of a clause it stands for "you".
    edge = "" if group == _THEY else _EDGE
    single = [
        hit
        for form, (pattern, english) in _ONE.items()
        if not _has(source, english) and (group == _THEY or form != "它")
        for hit in _hits(edge + pattern, sentence)
    ]
    if single:
        what = "one instead of several" if group == _THEY else "another person"
        return rule(WRONG, f"{what}, {cls} is asked for", single)
    persons = [
        hit
        for person, (pattern, english) in _PERSONS.items()
        if person != group and not _has(source, english)
        for hit in _hits(pattern, sentence)
        if not (person == _YOU and _told(source, sentence, hit))
    ]
    if persons:
        return rule(WRONG, f"another person, {cls} is asked for", persons)
    return rule(CANNOT_TELL, f"no pronoun where {cls} is asked for")


def _told(source: str, sentence: Sentence, hit: Hit) -> bool:
    """Whether 你 is whom an order is given to: 你说清楚 for "Make them understand"."""
    heads = [found.start() + 1 for found in re.finditer(_EDGE + "[你您]", sentence.text)]
    return hit.place in heads and re.match(r"\W*(?:\w+,? )?they\b", source.lower()) is None


def _found(sentence: Sentence, group: str) -> dict[str, list[Hit]]:
    """Return the forms of a group that a sentence has."""
    found = {
        form: _hits(pattern, sentence) for form, (of, pattern) in _FORMS.items() if of == group
    }
    return {form: hits for form, hits in found.items() if hits}


def _hits(pattern: str, sentence: Sentence) -> list[Hit]:
    """Return where a pattern is found, but in a greeting or a noun: 你好, 马耳他."""
    text = _GREETING.sub(lambda found: "〇" * len(found.group()), sentence.text)
    nouns = {
        place
        for word in sentence.words
        if word.flag.startswith("n") and re.search("[你您他她它]", word.text) and len(word.text) > 1
        for place in range(word.start, word.end)
    }
    return [
        Hit(found.group(), found.start() + 1)
        for found in re.finditer(pattern, text)
        if found.start() not in nouns
    ]


def _has(source: str, words: str) -> bool:
    """Whether an English sentence has one of these words."""
    plain = source.lower().replace("’", "'")
    return re.search(rf"(?<![\w'])(?:{words})(?![\w])", plain) is not None
