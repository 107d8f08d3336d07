"""The wrong answers of a suite: is each of them really wrong?

A test is fair only if all its wrong answers are wrong. A wrong answer that several forms of
a test share, such as a question and a pair of sentences made of one triple, is asked once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from boxpen.catalog import load_suite, write_suite
from boxpen.errors import BuildError
from boxpen.items import Entail, Item, Suite, Translate
from boxpen.review.guides import WRONG_CANDIDATES
from boxpen.review.journal import Journal
from boxpen.review.judgement import Question, VerdictSet
from boxpen.review.task import Applied, Destination, Detail, Review, ReviewTask, Target

__all__ = ["WrongAnswer", "WrongCandidateTask", "wrong_answers"]

_FORM = "task"
"""The tag that tells apart the forms of one test, which share a block."""


@dataclass
class WrongAnswer:
    """A wrong answer, and the items that offer it."""

    question: Question
    items: dict[str, str] = field(default_factory=dict)
    """The answer as each item words it."""


class WrongCandidateTask(ReviewTask):
    """Are the wrong answers of a suite really wrong?

    Args:
        suite: The suite; items without wrong answers are not asked.
        journal: Where judgements are kept.
        path: The file of the suite, if it is one.
    """

    name = "wrong-candidates"
    target = "the items of a suite"
    noun = "wrong answer"
    origin = "suite"
    only_by_name = True
    guide = WRONG_CANDIDATES
    verdicts = VerdictSet({"accept": ("a", "y", "yes", "w"), "reject": ("r", "n", "no")})

    def __init__(
        self, suite: Suite, journal: Journal | None = None, path: Path | None = None
    ) -> None:
        self.suite, self.path = suite, path
        self.journal = journal or Journal(f"{suite.name}-wrong.jsonl")
        self.answers = wrong_answers(suite)
        if not self.answers:
            raise BuildError(f"suite '{suite.name}' has no wrong answers to judge")

    @classmethod
    def find(cls, target: Target) -> WrongCandidateTask | None:
        """Return the task for a suite; the journal is beside its file, or in the current folder."""
        path = target.path
        if len(target.words) > 1 or (path is not None and path.is_dir()):
            return None
        suite = load_suite(target.words[0])
        path = path if path is not None and path.is_file() else None
        own = re.sub(r"[^\w.-]+", "_", f"{suite.name}-wrong.jsonl")
        place = (path.parent if path else Path()) / own
        return cls(suite, target.open_journal(place, cls.name), path)

    def files(self) -> dict[Path, str]:
        """Return the file of the suite."""
        return {self.path: "the suite that is reviewed"} if self.path else {}

    def questions(self) -> list[Question]:
        """Return one question per wrong answer."""
        return [one.question for one in self.answers]

    def details(self, review: Review) -> list[Detail]:
        """Return the wrong answers that are not wrong, to rewrite them."""
        columns = ("item", "right", "wrong")
        rows = [
            (q.item, q.shown.get("right", ""), q.shown["wrong"])
            for q in review.questions
            if review.decisions[q.item].verdict == "reject"
        ]
        return [Detail("not_wrong", columns, rows)]

    def apply(self, review: Review, to: Destination) -> Applied:
        """Write the suite without rejected answers, and without items that have no other left."""
        rejected: dict[str, set[str]] = {}
        for one in self.answers:
            if review.decisions[one.question.item].verdict == "reject":
                for item, text in one.items.items():
                    rejected.setdefault(item, set()).add(text)
        made = (_without(item, rejected.get(item.id, set())) for item in self.suite)
        kept = [item for item in made if item is not None]
        if not kept:
            raise BuildError(f"judges reject the wrong answers of every item of {self.suite.name}")
        number = review.counts["reject"]
        note = f"Without {number} wrong answers that judges rejected."
        notes = " ".join(filter(None, (self.suite.card.notes, note)))
        suite = replace(self.suite.take(kept), card=replace(self.suite.card, notes=notes))
        suite = replace(suite, name=to.name) if to.name else suite
        write_suite(suite, to.path)
        dropped = len(self.suite) - len(kept)
        counts = {"items": len(kept), "dropped": dropped, "rejected": number}
        says = (
            f"{len(kept):,} items written to {to.path}; {number:,} wrong answers rejected, "
            f"{dropped:,} items left out, {len(review.open):,} wrong answers not decided and kept"
        )
        return Applied(to.path, says, {**counts, "open": len(review.open), "hash": suite.hash})


def wrong_answers(suite: Suite) -> list[WrongAnswer]:
    """Return the wrong answers of a suite, each of them once, in the order of the suite.

    Items of a block that are different forms of one test (which their tag ``task`` says) share a
    wrong answer if it differs from the right one in the same words, in whatever tense or number.
    """
    proven = {
        (item.block, item.premise): item.hypothesis
        for item in suite
        if isinstance(item, Entail) and item.label == "entailment"
    }
    found: dict[tuple[str, ...], WrongAnswer] = {}
    forms: set[tuple[str, ...]] = set()
    for item in suite:
        for shown in _shown(item, proven):
            wrong = shown["wrong"]
            key: tuple[str, ...] = (item.id, wrong)
            if item.block is not None and _FORM in item.tags and "right" in shown:
                shared = (item.block, *_difference(shown["right"], wrong))
                form = (*shared, item.tags[_FORM])
                if form not in forms:  # two items of one form are two tests, however alike
                    key = shared
                    forms.add(form)
            if key not in found:
                digest = hashlib.sha256(wrong.encode()).hexdigest()[:8]
                part = item.tags.get("relation") or item.tags.get("set", "")
                question = Question(f"{item.id}/{digest}", shown, part=part)
                found[key] = WrongAnswer(question)
            found[key].items[item.id] = wrong
    return list(found.values())


def _shown(item: Item, proven: Mapping[tuple[str | None, str], str]) -> Iterator[dict[str, str]]:
    """Yield what a judge sees of each wrong answer of an item."""
    if isinstance(item, Entail):
        if item.label != "entailment":
            right = proven.get((item.block, item.premise))
            yield _there(premise=item.premise, right=right, wrong=item.hypothesis)
        return
    if isinstance(item, Translate):
        right, wrongs = item.reference, item.contrast
    else:
        right = item.candidates[item.gold]
        wrongs = tuple(t for n, t in enumerate(item.candidates) if n != item.gold)
    for wrong in dict.fromkeys(wrongs):
        yield _there(context=item.context, source=item.source, right=right, wrong=wrong)


def _there(**texts: str | None) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text is not None}


def _difference(right: str, wrong: str) -> tuple[str, str]:
    """Return the words in which two sentences differ, from the first to the last such word."""
    one, other = (re.findall(r"\w+(?:['’-]\w+)*", text.lower()) for text in (right, wrong))
    start, most = 0, min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return _bare(one[start : len(one) - end]), _bare(other[start : len(other) - end])


def _bare(words: Sequence[str]) -> str:
    """Return words without inflection: 'felt dizzy' is 'feel dizzy'."""
    from boxpen.english.lexicon import lemmas

    def base(word: str) -> str:
        known = lemmas(word)
        forms = known.get("VERB") or known.get("NOUN") or (word,)
        return min(forms, key=lambda form: (form == word, form))  # 'lay' is of 'lie', if it can be

    return " ".join(map(base, words))


def _without(item: Item, rejected: set[str]) -> Item | None:
    """Return an item without some of its wrong answers; None if it asks nothing without them."""
    if not rejected:
        return item
    if isinstance(item, Entail):
        return None
    if isinstance(item, Translate):
        return replace(item, contrast=tuple(t for t in item.contrast if t not in rejected))
    kept = [n for n, t in enumerate(item.candidates) if n == item.gold or t not in rejected]
    if len(kept) < 2:
        return None
    candidates = tuple(item.candidates[n] for n in kept)
    return replace(item, candidates=candidates, gold=kept.index(item.gold))
