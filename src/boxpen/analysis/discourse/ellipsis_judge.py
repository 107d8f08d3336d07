"""Whether a verb that English leaves out is there in Chinese.

"Neither do I." is 我也不知道 after "She doesn't know". What was elided is taken from the reference:
the verbs that it has in common with its context, else the other verbs that it has. A translation is
right if it has one of them, one that says the same, or another translation of the English verb that
they stand for. It is right too if it ends where Chinese needs no verb, as English does: 我也是,
我们会的; not so by the strict criterion, by which the verb must be there. It is wrong if it has
another verb (做, 是) or none, be it a reply (是的, 是吗), and if it denies what the reference
affirms, or the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from boxpen.analysis.discourse.chinese import BROKEN, Sentence, Word, data, read
from boxpen.analysis.discourse.polarity import denied
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT, WRONG, Hit, Ruling, rule
from boxpen.analysis.discourse.stranded import Stranded, stranded
from boxpen.analysis.discourse.verbs import (
    MARKS,
    any_same,
    candidates,
    english_verbs,
    level,
    like_verb,
    listed,
    predicates,
    same_verb,
)  # fmt: skip

__all__ = ["judge_ellipsis"]

_TAIL = rf"(?:的|了|啊|呀|吧|吗|么|呢|哦|嘛)*(?=$|[{MARKS}])"
_NOT_DONE = re.compile(rf"(?:没有|没){_TAIL}")
"""没有 without anything behind it denies what was done before, not what is so: 没有 for 没喝."""
_DOER = re.compile(
    rf"(?:^|(?<=[{MARKS}]))就?是(?![吗么啊呀吧呢])(?P<who>[^{MARKS}的]{{1,8}}){_TAIL}"
)
_WHO = re.compile(r"\b(?:who|somebody|someone|nobody|anybody|anyone)\b", re.IGNORECASE)
_THUS = re.compile("(?:[这那][样么]|照着?|如此)去?[做干办]")
"""这样做 stands for any deed, but for no state: not for 知道."""
_MYSELF = re.compile(rf"(?:[我你您他她]们?|自己)来{_TAIL}")
_DOES_IT = re.compile(rf"(?:怎么|如何)[做办]{_TAIL}|(?:能够?|可以)做到{_TAIL}")
"""Where English has a verb that stands for it too: "How will you do that?"."""
_OF_DEEDS = frozenset(("do it", "will", "can", "should", "must"))
_GOES_ON = re.compile(r"\bdo(?:es|ne|ing)? (?:it|that|this|so), ", re.IGNORECASE)
_ALL_ARE = re.compile(f"都是{_TAIL}")
_UNABLE = re.compile(f"[做办]不到{_TAIL}")
_DO_NOT = re.compile(rf"(?:不要|别|不用|不必)(?:[这那]样)?{_TAIL}")
_HAS = re.compile(
    r"\b(?:i|you|he|she|it|we|they|who|to|not|n't) (?:have|has|had) "
    r"(?:an?|the|any|some|no|my|your|his|her|its|our|their|this|that)\b",
    re.IGNORECASE,
)
"""To have as a verb of its own, with who has and what; not "Has the rain stopped?"."""
_SUCH = re.compile(f"(?:[这那]样|如此){_TAIL}")
_NEITHER = re.compile(r"\b(?:neither|nor|either)\b", re.IGNORECASE)
_ASKS_DENYING = re.compile(
    r"^(?!.*\bwhy\b).*n't (?:i|you|he|she|it|we|they|there)\b", re.IGNORECASE
)
"""Don't you? asks for a yes, with or without a negation; "Why don't you?" means its negation."""
_AND_YOU = re.compile(rf"[你您]们?呢{_TAIL}")
_ASKS_BACK = re.compile(r"^\W*(?:no|yes|yeah|i)\b.*\byou\b[^.]*\?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Case:
    """All that a ruling rests on."""

    source: str
    context: str
    left: Stranded
    overt: frozenset[str]  # what the verbs that the source does not elide become
    sentence: Sentence
    there: tuple[Word, ...]
    answer: Sentence
    before: Sentence


def judge_ellipsis(
    source: str, translation: str, reference: str, reference_context: str, context: str = ""
) -> Ruling:
    """Judge one translation of a sentence whose verb is elided.

    The contexts are the sentence before and its right translation; empty if unknown.
    """
    sentence = read(translation)
    if not sentence.text:
        return replace(rule(WRONG, "there is no translation"), strict=WRONG)
    source, context = (text.replace("’", "'") for text in (source, context))
    case = _Case(
        source=source,
        context=context,
        left=stranded(source),
        overt=frozenset(chinese for some in _english(source) for chinese in some),
        sentence=sentence,
        there=tuple(predicates(sentence)),
        answer=read(reference),
        before=read(reference_context),
    )
    wanted, shared = _elided(case)
    if not wanted:
        found = _needs_none(case)
        bare = found.outcome == RIGHT and not found.found  # a reply, as the reference is one
        return replace(found, strict=CANNOT_TELL if bare else found.outcome)
    name = " or ".join(dict.fromkeys(word.text for word in wanted))
    said = _verb_said(case, wanted, shared, name)
    if said is not None:
        return replace(said, strict=said.outcome)
    found = _no_verb_said(case, wanted, name)
    return replace(found, strict=WRONG if found.outcome == RIGHT else found.outcome)


def _verb_said(case: _Case, wanted: Sequence[Word], shared: bool, name: str) -> Ruling | None:
    """Judge a translation that has the verb, or another one that may stand for it."""
    hits = [word.hit for word in candidates(case.sentence) if _means(case, word, wanted)]
    if hits:
        return _affirmed(case, wanted, f"{name} is asked for", hits)
    if BROKEN in case.sentence.text:
        return None
    if _own_verbs(case):
        return None
    return _otherwise_said(case, wanted, shared, name)


def _no_verb_said(case: _Case, wanted: Sequence[Word], name: str) -> Ruling:
    """Judge a translation without the verb."""
    sentence = case.sentence
    if BROKEN in sentence.text:
        place = sentence.text.index(BROKEN) + 1
        return rule(CANNOT_TELL, f"no sentence, and {name} is asked for", [Hit(BROKEN, place)])
    if own := _own_verbs(case):
        because = f"the verb of the source itself, the reference has {name}"
        return _affirmed(case, wanted, because, own)
    return _without(case, wanted, name)


def _own_verbs(case: _Case) -> list[Hit]:
    """Return the verbs that the source itself has, where they are enough.

    So they are where nothing is left of a verb, and in 我不这么认为 for "I don't think so".
    """
    own = [word for word in case.there if word.text in case.overt]
    if not case.left.kinds:  # what is left out is no verb: "They don't know either."
        repeats = [word.text for word in predicates(case.answer)]
        own = [word for word in own if any_same(word.text, repeats)]
    return [word.hit for word in own] if case.left.kinds <= {"so"} else []


def _affirmed(case: _Case, wanted: Sequence[Word], because: str, hits: Sequence[Hit]) -> Ruling:
    """Rule that verbs are right, unless they deny what the reference affirms, or the reverse."""
    asked = [denied(case.answer, word.hit) for word in wanted]
    there = [denied(case.sentence, hit) for hit in hits]
    unclear = None in asked or None in there or len(set(asked)) > 1
    if unclear or _ASKS_DENYING.search(case.source) or asked[0] in there:
        return rule(RIGHT, because, hits)
    what = "negation lost" if asked[0] else "negation added"
    return rule(WRONG, f"{what}; {because}", hits, instead=what)


def _otherwise_said(case: _Case, wanted: Sequence[Word], shared: bool, name: str) -> Ruling | None:
    """Judge a translation by the other verbs that may stand for what was elided."""
    known = _english(case.context)
    said = [w.text for w in (*wanted, *predicates(case.answer)) if w.text not in case.overt]
    elided = [some for some in known if any(like_verb(w, other) for w in said for other in some)]
    same = [hit for some in elided for hit in _hits(case, some, strict=True)]
    if same:
        return _affirmed(case, wanted, f"says the same as {name}", same)
    has = [word.hit for word in case.there if word.text in ("有", "没有")]
    if has and _HAS.search(case.context) and case.left.kinds & {"do", "have"}:
        because = f"to have, as the context in English, the reference has {name}"
        return _affirmed(case, wanted, because, has)
    if shared and (elided or level(wanted[0])):
        return None  # it is known which verb of the context was elided: others are wrong
    first = [verb for verb in known[0] if verb not in case.overt] if known and not elided else []
    literal = [hit for hit in _hits(case, first, strict=True) if hit.words not in case.overt]
    if literal:
        because = f"as the context in English, the reference has {name}"
        return _affirmed(case, wanted, because, literal)
    content = [word.text for word in predicates(case.before) if not level(word)]
    repeated = _hits(case, [verb for verb in content if verb not in case.overt])
    if shared or not repeated:
        return None
    sure = len(content) == 1 or _ends_in_proform(case.answer) is not None
    because = f"a verb of the context, the reference has {name}"
    if not sure:
        return rule(CANNOT_TELL, because, repeated)
    return _affirmed(case, wanted, because, repeated)


def _without(case: _Case, wanted: Sequence[Word], name: str) -> Ruling:
    """Judge a translation that has no verb for what was elided."""
    enough = _needs_no_verb(case, wanted)
    if enough is not None:
        because, hits, may_deny = enough
        because = f"{because}, the reference has {name}"
        return _affirmed(case, wanted, because, hits) if may_deny else rule(RIGHT, because, hits)
    # Where a verb of its own is asked for, an auxiliary of the dialogue is no other verb.
    spoken = [*predicates(case.answer), *([] if level(wanted[0]) else predicates(case.before))]
    texts = [word.text for word in spoken]
    auxiliary = [word for word in case.there if level(word) == 2 and any_same(word.text, texts)]
    others = [w for w in case.there if w not in auxiliary and w.text not in case.overt]
    proform = _ends_in_proform(case.sentence)
    if proform and all(proform.start() <= word.start < proform.end() for word in others):
        return rule(CANNOT_TELL, f"stands for a verb, the reference has {name}", _at(proform))
    copula = {word.text for word in others} == {"是"} and "be" in case.left.kinds
    if copula and "是" in case.before.text:
        because = f"no more than the copula, the reference has {name}"
        return rule(CANNOT_TELL, because, (word.hit for word in others))
    if others:
        hits = [word.hit for word in others]
        return rule(WRONG, f"{name} is asked for", hits, instead=others[-1].text)
    if auxiliary:
        because = f"no more than the auxiliary, the reference has {name}"
        hits = [word.hit for word in auxiliary]
        return rule(WRONG, because, hits, instead=auxiliary[-1].text)
    return rule(WRONG, f"no verb where {name} is asked for")


def _needs_no_verb(case: _Case, wanted: Sequence[Word]) -> tuple[str, list[Hit], bool] | None:
    """Say why a translation is whole without the verb; None if it is not.

    Returns:
        The reason, the words, and whether these may be denied: 不会这么做.
    """
    left, text = case.left, case.sentence.text
    agrees = _NEITHER.search(case.source) if left.negated else left.agrees
    doer = _last(_DOER, text)
    if doer and any(doer.start("who") <= word.start < doer.end() for word in case.there):
        doer = None  # 是他做的 has a verb of its own
    asks_back = _ASKS_BACK.match(case.source) is not None
    did = not asks_back and "be" not in left.kinds
    not_done = left.negated and did and "没" in case.answer.text
    deed = not any(word.text in listed("states") or word.flag.startswith("a") for word in wanted)
    idioms = (
        (agrees, _ends_in_proform(case.sentence), "stands for the verb"),
        (left.of_all and not left.negated, _last(_ALL_ARE, text), "stands for the verb"),
        (_WHO.search(case.context) is not None, doer, "says who"),
        (not_done, _last(_NOT_DONE, text), "denies the verb"),
        (_last(_SUCH, case.answer.text) is not None, _last(_SUCH, text), "as the reference does"),
        (bool(left.kinds & _OF_DEEDS), _last(_MYSELF, text), "stands for the verb"),
        (deed and bool(left.kinds - {"be", "so"}), _last(_THUS, text), "stands for the verb"),
        (deed and "do it" in left.kinds, _last(_DOES_IT, text), "stands for the verb"),
        ("can" in left.kinds and left.negated, _last(_UNABLE, text), "stands for the verb"),
        (left.forbids, _last(_DO_NOT, text), "forbids it"),
        (asks_back, _last(_AND_YOU, text), "asks back"),
    )
    for fits, found, because in idioms:
        if fits and found and _is_last(case, found):
            return because, _at(found), found.re in (_THUS, _DOES_IT)
    return _ends_like_english(case)


def _is_last(case: _Case, found: re.Match[str]) -> bool:
    """Whether no verb follows, unless the source goes on too."""
    goes_on = _GOES_ON.search(case.source) is not None
    return goes_on or all(word.start < found.end() for word in case.there)


def _ends_like_english(case: _Case) -> tuple[str, list[Hit], bool] | None:
    """Say which auxiliary ends a translation as one ends the source: 我们会的 for "We will"."""
    endings = data("ellipsis")["endings"]
    fitting = {word for kind in case.left.kinds for word in endings.get(kind, ())}
    ends = [word for word in case.there if word.text in fitting]
    rest = [w for w in case.there if w not in ends and w.text not in case.overt and level(w) != 2]
    if not ends or rest:
        return None
    if case.left.agrees and "也" not in case.sentence.text:
        return None  # 她会的 does not say that she will too
    last = ends[-1]
    if not re.match(_TAIL, case.sentence.text[last.end :]):
        return None
    return f"{last.text} may end a reply", [word.hit for word in ends], True


def _needs_none(case: _Case) -> Ruling:
    """Judge where the reference has no verb: 真的吗?"""
    content = [word.text for word in predicates(case.before) if not level(word)]
    content += [chinese for some in _english(case.context)[:1] for chinese in some]
    repeated = _hits(case, content)
    if repeated:
        return rule(RIGHT, "a verb of the context", repeated)
    literal = [word for word in case.there if same_verb(word.text, "做") or word.text == "知道"]
    if literal:
        return rule(WRONG, "no such verb is asked for", (word.hit for word in literal))
    reply = next((some for some in data("ellipsis")["short"] if some in case.sentence.text), "")
    if reply:
        return rule(RIGHT, f"{reply}: the reference has no verb either")
    return rule(CANNOT_TELL, "the reference has no verb", (word.hit for word in case.there))


def _elided(case: _Case) -> tuple[list[Word], bool]:
    """Return the verbs that were elided, and whether they are those of the context."""
    # In the context a word need not look like a verb: what the answer repeats of it, was elided.
    context = [word.text for word in candidates(case.before)]
    words = predicates(case.answer) or [
        word for word in candidates(case.answer) if any_same(word.text, context)
    ]
    shared = [word for word in words if any_same(word.text, context)]
    for some, of_context in ((shared, True), (words, False)):
        for rank in (0, 1, 2):
            covert = [w for w in some if level(w) == rank and w.text not in case.overt]
            if covert:
                return covert, of_context
    # All that the reference has is what the source says too.
    return [word for word in words if not level(word)] or words, False


def _means(case: _Case, word: Word, wanted: Sequence[Word]) -> bool:
    """Whether a word of a translation is one of the verbs that are asked for."""
    return any_same(word.text, (other.text for other in wanted)) and _stands_alone(case, word)


def _stands_alone(case: _Case, word: Word) -> bool:
    """Whether a verb is one by itself; 要 is none in 我也要走了, nor 想 in 我想做."""
    if word.text not in listed("governing") or word.text in case.overt:
        return True
    clause = case.sentence.clause(word.start)
    known = [other.text for some in (case.answer, case.before) for other in predicates(some)]
    return not any(
        other.start > word.start
        and case.sentence.clause(other.start) == clause
        and not any_same(other.text, known)
        for other in case.there
    )


def _hits(case: _Case, chinese: Collection[str], *, strict: bool = False) -> list[Hit]:
    """Return the predicates of a translation that are, or say the same as, one of some verbs."""
    alike = like_verb if strict else same_verb
    return [
        word.hit
        for word in case.there
        if level(word) < 2 and any(alike(word.text, other) for other in chinese)
        if _stands_alone(case, word)
    ]


def _english(text: str) -> list[tuple[str, ...]]:
    """Return what the verbs of an English text become in Chinese, in their order."""
    words = re.findall(r"[a-z]+", text.lower())
    return [sense for word in dict.fromkeys(words) for sense in english_verbs().get(word, ())]


def _ends_in_proform(sentence: Sentence) -> re.Match[str] | None:
    """Return the words that stand for a verb at the end of a clause: 也是."""
    proforms = "|".join(data("ellipsis")["proforms"])
    return _last(re.compile(f"(?:{proforms}){_TAIL}"), sentence.text)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return found[-1] if found else None


def _at(found: re.Match[str]) -> list[Hit]:
    return [Hit(found[0], found.start() + 1)]
