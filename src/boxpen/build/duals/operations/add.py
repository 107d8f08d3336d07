"""Words that are added to both sentences of a pair: a negation, a degree, a restriction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from boxpen.build.duals.difference import (
    CAUSES,
    CONDITIONS,
    Both,
    contrary,
    differ_in_predicate,
    differing_clause,
    expected_from,
    has_cause_that_differs,
)
from boxpen.build.duals.pair import Edit, Pair, UnchangedError
from boxpen.english.clauses import Clause
from boxpen.english.grammar import is_person
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import pairs, phrases
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, plain
from boxpen.english.subjects import is_bare_plural, is_general, is_lasting, subject_of
from boxpen.english.verbs import has_not, negated, unlikely

__all__ = ["added", "target"]

# In these clauses the difference can be negated where it stands; in 'if' or 'when' it cannot.
_NEGATABLE = frozenset({"because", "since", "so", "so that", "and", "but"})
_NEGATED = "'not' turns round the clause on which the sense rests, so the other is sensible"


def added(pair: Pair) -> Iterator[Edit]:
    """Yield duals with something added.

    Raises:
        UnchangedError: If there is none.
    """
    reasons: list[str] = []
    found = False
    for rule in (_negations, _degrees, _amounts, _restrictions):
        try:
            for edit in rule(pair):
                found = True
                yield edit
        except UnchangedError as error:
            reasons.append(str(error))
    if not found:
        raise UnchangedError(reasons[0])


def target(pair: Pair) -> Both:
    """Return the clause whose negation turns the sentence round.

    That is the clause with the differing words; what follows from it, if they stand in the cause;
    the main clause, if they stand in a condition, a time or a relative clause.

    Raises:
        UnchangedError: If no verb was found, or the sentences differ in several clauses, or another
            clause would have to be turned round as well.
    """
    if not pair.matched:
        raise UnchangedError("no finite verb was found that both sentences have")
    touched = [both for both in pair.matched if pair.touched(both)]
    if len(touched) > 1 or any(len(pair.clauses[s]) != len(pair.matched) for s in range(2)):
        raise UnchangedError("the sentences differ in more than one clause")
    main = next((both for both in pair.matched if both[0].role in ("main", "joined")), None)
    if touched:
        one = touched[0][0]
        effect = next((both for both in pair.matched if both[0].opener == "so"), None)
        if effect is not None and one.opens < effect[0].opens:
            return effect
        later = [both for both in pair.matched if both[0].opens > one.opens]
        if later and later[0][0].opener == "and" and later[0][0].subject is not None:
            raise UnchangedError("what follows the clause by 'and' rests on it")
        if one.role in ("main", "joined") or one.opener in _NEGATABLE:
            return touched[0]
    if main is None:
        raise UnchangedError("no main clause was found")
    return main


def _negations(pair: Pair) -> Iterator[Edit]:
    both = target(pair)
    _check_negatable(pair, both)
    if [clause.verb.form for clause in both].count("past") == 1:
        raise UnchangedError("the verbs of the sentences are not of one tense")
    if not _decides(pair, both):
        raise UnchangedError("that it is not so would be sensible of both sentences")
    yield _edit(
        pair, "negation", lambda side, words: negated(words, both[side]), flipped=True,
        reason=_NEGATED,
    )  # fmt: skip


def _decides(pair: Pair, both: Both) -> bool:
    """Tell whether 'not' in a clause makes the one sentence senseless and the other sensible.

    It does if the clause speaks of a kind in general. If it tells what happened once, another
    clause must let the contrary expect.
    """
    differs = differing_clause(pair)
    others = [each for each in pair.matched if each != both]
    if all(is_lasting(pair.words[side], clause) for side, clause in enumerate(both)) and all(
        each[0].role == "relative" or each[0].opener in CONDITIONS for each in others
    ):
        return True
    if has_cause_that_differs(pair, both):
        return contrary(pair)
    link = expected_from(pair, both)
    if link is None or differs is None:
        return False
    if link[0].opener in CAUSES and link[0].opens > both[0].opens:
        return False  # 'not B because A' has two readings
    if differs == both and (both[0].opener == "so" or link[0].opener in CAUSES | CONDITIONS):
        return contrary(pair) or differ_in_predicate(pair, both)
    return contrary(pair)


def _check_negatable(pair: Pair, both: Both) -> None:
    """Refuse a clause in which 'not' is there already, or would not turn the sentence round."""
    for side, clause in enumerate(both):
        words = pair.words[side]
        inside = {word.low for word in words[clause.opens : clause.end]}
        if has_not(clause):
            raise UnchangedError("the clause is negated already")
        if hinders := sorted((inside - {clause.opener}) & listed("hinder_negation")):
            raise UnchangedError(f"'{hinders[0]}' stands in the way of a negation")
        subject = subject_of(words, clause)
        if not subject:
            raise UnchangedError("the verb has no subject of its own")
        if subject[0] in listed("quantified"):
            raise UnchangedError(f"'not' would not turn '{subject[0]}', the subject, round")
        after = words[clause.verb.place + 1 : clause.verb.place + 2]
        if clause.verb.root == "use" and after and after[0].low == "to":
            raise UnchangedError("'used to' has no plain negation")
        if _goes_on(pair.clauses[side], clause) and clause.verb.kind in ("verb", "have"):
            raise UnchangedError("two verbs share a subject")


def _goes_on(every: Sequence[Clause], clause: Clause) -> bool:
    """Tell whether the next clause has its subject from this one: 'fell and broke'."""
    later = [one for one in every if one.opens >= clause.end - 1 and one is not clause]
    return bool(later) and later[0].subject is None and later[0].opener in {"and", "or", "but"}


def _degrees(pair: Pair) -> Iterator[Edit]:
    """Yield 'hardly ever', which turns a general statement round, and degrees that do not."""
    for place in sorted(pair.shared):
        low = pair.words[0][place].low
        before = pair.words[0][place - 1].low if place else ""
        if low in pairs("opposites") and low in known("adjectives") and before in _BE:
            if _then(pair, place) in {"than", "enough", "to", "and", "or", "of"}:
                continue
            yield _insert(pair, place, "very", "degree", f"'very' only says more of '{low}'")
            break
    both = target(pair)
    one = both[0]
    general = all(is_general(pair.words[side], each) for side, each in enumerate(both))
    if len(pair.matched) > 1 or not general or one.verb.form == "past":
        raise UnchangedError("it says nothing in general, and has no adjective to be raised")
    _check_negatable(pair, both)
    rare = "rarely" if one.verb.kind == "be" else "hardly ever"
    every = any({"every", "each", "everyday"} & set(plain(words)) for words in pair.words)
    if one.verb.kind in ("verb", "be") and _is_habit(pair, both) and not every:
        yield _edit(
            pair, "degree", lambda side, words: unlikely(words, both[side], rare), flipped=True,
            reason=f"'{rare}' turns a general statement round",
        )  # fmt: skip
    times = listed("times")
    if one.verb.kind == "verb" and not any(times & set(plain(words)) for words in pair.words):
        yield _edit(
            pair, "degree", lambda side, words: unlikely(words, both[side], "usually"),
            flipped=False, reason="what is so in general is so usually",
        )  # fmt: skip


_BE = frozenset({"am", "is", "are", "was", "were", "be", "'m", "'s", "'re"})


def _is_habit(pair: Pair, both: Both) -> bool:
    """Tell whether a statement is about what is done: 'rarely' does not go with 'is an animal'."""
    if both[0].verb.kind == "verb":
        return both[0].verb.root not in {"have", "need", "belong", "contain", "consist", "mean"}
    return any(word.low in listed("frequencies") for word in pair.words[0])


def _amounts(pair: Pair) -> Iterator[Edit]:
    """Yield 'few' and 'most' before a subject in the plural."""
    both = target(pair)
    bare = all(is_bare_plural(pair.words[side], each) for side, each in enumerate(both))
    verb = both[0].verb
    often = any(word.low in listed("frequencies") for words in pair.words for word in words)
    if not bare or often or len(pair.matched) > 1 or verb.form == "past" or verb.kind == "modal":
        raise UnchangedError("it does not say of many what they are or do")
    people = all(
        is_person(subject_of(pair.words[side], each)[-1]) for side, each in enumerate(both)
    )
    for amount, flipped, reason in (
        ("few", True, "'few' turns round what is said of all"),
        ("most", False, "what is said of all is said of most"),
    ):
        if flipped and not people:
            continue
        if flipped:
            _check_negatable(pair, both)

        def put(side: int, words: tuple[Word, ...], amount: str = amount) -> Sequence[Word]:
            start = both[side].subject or 0
            return (*words[:start], Word(amount), *words[start:])

        yield _edit(pair, "degree", put, flipped=flipped, reason=reason)


def _restrictions(pair: Pair) -> Iterator[Edit]:
    """Yield times and places that change nothing."""
    times = listed("times")
    if any(times & set(plain(words)) for words in pair.words):
        raise UnchangedError("it tells a time already")
    both = target(pair)
    first = pair.clauses[0][0]
    if first.role != "main" or first.opener or (first.subject or 0) != 0 or not first.verb.place:
        raise UnchangedError("it does not begin with its main clause")
    if is_bare_plural(pair.words[0], first) and first.verb.form == "past":
        raise UnchangedError("it tells what was so in general")
    habit = first.verb.root == "use" and _then(pair, first.verb.place) == "to"
    if habit:
        raise UnchangedError("'used to' tells a time already")
    if both[0].verb.form == first.verb.form == "past" and first.verb.kind != "have":
        chosen = phrases("restrictions_past")
    elif is_general(pair.words[0], both[0]) and {"people", "we", "you"} & {
        word.low for word in pair.words[0][:3]
    }:
        chosen = phrases("restrictions_general")
    else:
        raise UnchangedError("no time or place is known that would change nothing")
    for phrase in chosen:

        def put(_: int, words: tuple[Word, ...], phrase: str = phrase) -> Sequence[Word]:
            opened = phrase if words[0].text[0].isupper() else phrase[0].lower() + phrase[1:]
            return (*(Word(one) for one in opened.split()), *words)

        yield _edit(
            pair, "restriction", put, flipped=False,
            reason=f"'{phrase.rstrip(',')}' does not change what makes sense",
        )  # fmt: skip


def _insert(pair: Pair, place: int, text: str, kind: str, reason: str) -> Edit:
    def put(side: int, words: tuple[Word, ...]) -> Sequence[Word]:
        at = place if side == 0 else pair.shared[place]
        return (*words[:at], Word(text), *words[at:])

    return _edit(pair, kind, put, flipped=False, reason=reason)


def _then(pair: Pair, place: int) -> str:
    words = pair.words[0]
    return words[place + 1].low if place + 1 < len(words) else ""


def _edit(
    pair: Pair,
    kind: str,
    change: Callable[[int, tuple[Word, ...]], Sequence[Word]],
    *,
    flipped: bool,
    reason: str,
) -> Edit:
    return Edit("add", kind, pair.changed(change), flipped, reason)
