"""Whether 'as' joins a clause of time or cause, and says no role, manner or comparison.

'As the road was wet, we waited' does; 'as a friend', 'do as you please', 'as I am' and 'sure as
hell' do not. There is no parser here: a subject of a few words must follow, and a finite verb that
is neither left out nor one of saying, whose object would be what stands before 'as'.
"""

from __future__ import annotations

import re

__all__ = ["joins_clauses"]


def _any(words: str) -> str:
    return "(?:" + "|".join(words.split()) + ")"


_AUXILIARY = _any(
    r"'s 're 'm 'd 'll 've is are was were am has had have will would can could may might must"
    r" should did do does \w+n't"
)
_ADVERB = _any(r"\w+ly never always also still only already really just")
_PRONOUN = re.compile(
    r"(?:(?:i|you|he|she|it|we|they|this|these|those|there|(?:every|some|any|no)(?:body|one|thing))"
    r"(?=['\s])|that(?='s\b|\s(?:is|was|would|will|had|could)\b))"
)
# A noun with a determiner, or a name.
_NOUN = re.compile(
    r"(?:(?:my|your|his|her|its|our|their|the|this|that|these|those|an?) (?:[\w'-]+ ){0,2}?[\w-]+"
    r"|(?:mr|mrs|ms|dr)\.? [\w-]+"
    r"|(?!(?:an?|the|part|in|on|of|to|if|though|for|\w+ly)\b)[a-z-]+)(?= )"
)
_NO_SUBJECT = re.compile(r"\b(?:that|who|which|whom|and|of|in|for|from|with)\b")
_FINITE = re.compile(rf" ?{_AUXILIARY}(?!\w)| {_ADVERB} (?!\w+ing\b)| [a-z]{{2,}}")
# What surely is a verb behind a noun, which any other word may be joined to.
_SURE = re.compile(
    rf" ?(?:{_ADVERB} )?(?:(?!'s\b){_AUXILIARY}(?!\w)|\b(?:\w{{2,}}ed|"
    + _any(
        "came went got took left made said found told gave lost met ran saw brought bought broke"
        " began became felt kept sent stole spent won wrote paid shot hit fell held hid knew led"
        " rose sold spoke stood taught thought threw woke blew grew flew chose sank comes goes gets"
        " takes makes seems wants needs likes loves hates keeps looks means runs sits works lives"
        " plays gives rises sets falls begins starts ends turns rotates swells drains"
    )
    + r")\b)"
)
# Nothing but auxiliaries: 'as I am', 'as she will be once'.
_BARE = rf"(?:{_AUXILIARY}|be|been|ought to|not|too|once|always|now|here|ever|before|usual)(?!\w)"
_COMPARED = re.compile(rf"(?: ?{_BARE})+$")
_SAID = re.compile(
    rf"(?: ?{_BARE})* ?"
    + _any(
        "says? said tells? told asks? asked ordered promised? plan(?:ned)? expect(?:ed)?"
        " wish(?:ed)? want(?:s|ed)? liked? pleased? remember(?:s|ed)? recall(?:s|ed)? knows?"
        " knew known mentioned suggest(?:ed)? instruct(?:ed)? agreed? described? discussed"
        " predict(?:ed)?"
        " thought suspect(?:ed)? fear(?:ed)? understand understood hoped? saw sees? stands?"
        " happens? seems? appears? goes relates? written shows? heard read noted explained"
        " requested required learn(?:ed|t) established intended imagined? believed? reported"
        " command(?:ed)?"
    )
    + r"(?: (?:it|him|her|me|us|them|you|so|far|earlier|before|yesterday|back|to|fit|best))*$"
)
_BEFORE = re.compile(
    r"\b"
    + _any(
        "seeing insofar inasmuch same such so just exactly precisely sure much well known far long"
        " soon regard(?:ed)? serves? served works? worked acts? acted poses? posed dressed do does"
        " did done doing behaved? lived? living talks? sounds? looks? feels? stays? remains? quite"
        " nearly almost twice clear gay high cool good bad fast hard strange odd funny crazy stupid"
    )
    + "$"
)


def joins_clauses(before: str, rest: str) -> bool:
    """Tell whether 'as' joins a clause that says when or why.

    Args:
        before: What stands before it in the sentence, in lower case.
        rest: What follows, in lower case.
    """
    if _BEFORE.search(before.rstrip(" ,")):
        return False
    clause = re.split(r"[,.;:!?\"…]|--", rest.lstrip(" ,"), maxsplit=1)[0].strip()
    pronoun = _PRONOUN.match(clause + " ")
    subject = pronoun or _NOUN.match(clause)
    if subject is None or (not pronoun and _NO_SUBJECT.search(subject[0])):
        return False
    verb = clause[subject.end() :]
    if not (_FINITE if pronoun else _SURE).match(verb):
        return False
    return not (_COMPARED.match(verb) or _SAID.match(verb))
