"""Words that are added to both sentences of a pair: a negation, a degree, a restriction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.build.duals.pair import CAUSES, CONDITIONS, Both, Edit, Pair, UnchangedError
from boxpen.english.clauses import Clause
from boxpen.english.grammar import is_person
from boxpen.english.lexicon import listed as known
from boxpen.english.lexicon import pairs, phrases
from boxpen.english.lexicon import sentence_words as listed
from boxpen.english.sentence import Word, plain, word
from boxpen.english.subjects import is_bare_plural, is_general, is_lasting, subject_of
from boxpen.english.verbs import has_not, negated, unlikely

__all__ = ["amounts", "degrees", "negations", "restrictions"]

# In these clauses the difference can be negated in place; in 'if' or 'when' it cannot.
_NEGATABLE = frozenset({"because", "since", "so", "so that", "and", "but"})
_NEGATED = "'not' turns round the clause on which the sense rests, so the other is sensible"
_BE = frozenset({"am", "is", "are", "was", "were", "be", "'m", "'s", "'re"})


def negations(pair: Pair) -> Iterator[Edit]:
    """Yield the pair with a 'not' in both sentences."""
    both = _target(pair)
    _check_negatable(pair, both)
    if [clause.verb.form for clause in both].count("past") == 1:
        raise UnchangedError("the verbs of the sentences are not of one tense")
    if not _decides(pair, both):
        raise UnchangedError("that it is not so would be sensible of both sentences")
    texts = pair.written(negated(words, clause) for words, clause in pair.sides(both))
    yield Edit("add", "negation", texts, True, _NEGATED)


def degrees(pair: Pair) -> Iterator[Edit]:
    """Yield 'hardly ever', which flips the label of a general statement, and milder degrees."""
    for place in sorted(pair.shared):
        low = pair.low(place)
        if low in pairs("opposites") and low in known("adjectives") and pair.low(place - 1) in _BE:
            if pair.low(place + 1) in {"than", "enough", "to", "and", "or", "of"}:
                continue
            texts = pair.replaced(place, 0, "very")
            yield Edit("add", "degree", texts, False, f"'very' only says more of '{low}'")
            break
    both = _target(pair)
    verb = both[0].verb
    if len(pair.matched) > 1 or not pair.both_are(is_general, both) or verb.form == "past":
        raise UnchangedError("it says nothing in general, and has no adjective to be raised")
    _check_negatable(pair, both)
    every = any({"every", "each", "everyday"} & set(plain(words)) for words in pair.words)
    if verb.kind in ("verb", "be") and _is_habit(pair, both) and not every:
        rare = "rarely" if verb.kind == "be" else "hardly ever"
        texts = pair.written(unlikely(words, clause, rare) for words, clause in pair.sides(both))
        yield Edit("add", "degree", texts, True, f"'{rare}' turns a general statement round")
    if verb.kind == "verb" and not _tells_time(pair):
        texts = pair.written(
            unlikely(words, clause, "usually") for words, clause in pair.sides(both)
        )
        yield Edit("add", "degree", texts, False, "what is so in general is so usually")


def amounts(pair: Pair) -> Iterator[Edit]:
    """Yield 'few' and 'most' before a plural subject."""
    both = _target(pair)
    verb = both[0].verb
    often = any(word.low in listed("frequencies") for words in pair.words for word in words)
    bare = pair.both_are(is_bare_plural, both)
    if not bare or often or len(pair.matched) > 1 or verb.form == "past" or verb.kind == "modal":
        raise UnchangedError("it does not say of many what they are or do")

    def put(amount: str) -> tuple[str, str]:
        return pair.written(
            (*words[: clause.subject], Word(amount), *words[clause.subject :])
            for words, clause in pair.sides(both)
        )

    if pair.both_are(lambda words, clause: is_person(subject_of(words, clause)[-1]), both):
        _check_negatable(pair, both)
        yield Edit("add", "degree", put("few"), True, "'few' turns round what is said of all")
    yield Edit("add", "degree", put("most"), False, "what is said of all is said of most")


def restrictions(pair: Pair) -> Iterator[Edit]:
    """Yield times and places that change nothing."""
    if _tells_time(pair):
        raise UnchangedError("it tells a time already")
    both = _target(pair)
    first = pair.clauses[0][0]
    if first.role != "main" or first.opener or (first.subject or 0) != 0 or not first.verb.place:
        raise UnchangedError("it does not begin with its main clause")
    if is_bare_plural(pair.words[0], first) and first.verb.form == "past":
        raise UnchangedError("it tells what was so in general")
    if first.verb.root == "use" and pair.low(first.verb.place + 1) == "to":
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
        small = phrase[0].lower() + phrase[1:]
        opened = [phrase if words[0].text[0].isupper() else small for words in pair.words]
        texts = pair.written(
            (*word(first), *words) for first, words in zip(opened, pair.words, strict=True)
        )
        reason = f"'{phrase.rstrip(',')}' does not change what makes sense"
        yield Edit("add", "restriction", texts, False, reason)


def _target(pair: Pair) -> Both:
    """Return the clause whose negation flips the label.

    That is the clause that differs; its effect, if the cause differs; the main clause, if a
    condition, a time or a relative clause differs.

    Raises:
        UnchangedError: If no verb was found, the sentences differ in several clauses, or another
            clause would have to be negated as well.
    """
    if not pair.matched:
        raise UnchangedError("no finite verb was found that both sentences have")
    touched = [both for both in pair.matched if pair.touched(both)]
    if len(touched) > 1 or any(len(every) != len(pair.matched) for every in pair.clauses):
        raise UnchangedError("the sentences differ in more than one clause")
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
    for both in pair.matched:
        if both[0].role in ("main", "joined"):
            return both
    raise UnchangedError("no main clause was found")


def _decides(pair: Pair, both: Both) -> bool:
    """Tell whether 'not' in a clause makes one sentence senseless and the other sensible.

    It does in a statement about a kind in general. For a single event, the contrary must be
    expected from another clause.
    """
    others = [each for each in pair.matched if each != both]
    if pair.both_are(is_lasting, both) and all(
        each[0].role == "relative" or each[0].opener in CONDITIONS for each in others
    ):
        return True
    if pair.differ_in_cause(both):
        return pair.contrary
    differs = pair.differing_clause
    link = pair.expected_from(both)
    if link is None or differs is None:
        return False
    if link[0].opener in CAUSES and link[0].opens > both[0].opens:
        return False  # 'not B because A' has two readings
    if differs == both and (both[0].opener == "so" or link[0].opener in CAUSES | CONDITIONS):
        return pair.contrary or pair.differ_in_predicate(both)
    return pair.contrary


def _check_negatable(pair: Pair, both: Both) -> None:
    """Refuse a clause that is negated already, or whose label 'not' would not flip."""
    for side, clause in enumerate(both):
        words = pair.words[side]
        inside = {word.low for word in words[clause.opens : clause.end]}
        if has_not(clause):
            raise UnchangedError("the clause is negated already")
        if hinders := sorted((inside - {clause.opener}) & listed("hinder_negation")):
            raise UnchangedError(f"'{hinders[0]}' rules out a negation")
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


def _is_habit(pair: Pair, both: Both) -> bool:
    """Tell whether a statement is about what is done: 'rarely' does not go with 'is an animal'."""
    if both[0].verb.kind == "verb":
        return both[0].verb.root not in {"have", "need", "belong", "contain", "consist", "mean"}
    return any(word.low in listed("frequencies") for word in pair.words[0])


def _tells_time(pair: Pair) -> bool:
    return any(listed("times") & set(plain(words)) for words in pair.words)
