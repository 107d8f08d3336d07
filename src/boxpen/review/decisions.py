"""One decision per item, from several judgements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from boxpen.errors import BuildError, nearest
from boxpen.review.judgement import Judgement, latest, plain

__all__ = ["RULES", "Decision", "Rule", "decide"]

RULES = ("majority", "unanimous", "any", "any-reject", "adjudicator")
"""The rules by name; ``any-`` may be followed by any verdict."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How to decide if judges disagree.

    ``majority`` takes the verdict of most judges. ``unanimous`` takes one that all gave.
    ``any-reject`` rejects what a single judge rejects, and takes the majority otherwise; ``any``
    does the same for every label of a task with several labels per item. ``adjudicator`` takes
    what one named judge says, or, where that judge has said nothing, what all the others say.
    Judges whose verdict has an edit must agree on its text too: most of them, or all, as above.
    """

    name: str = "majority"
    otherwise: str | None = None
    """The verdict for ties and split votes; None leaves the item open."""
    adjudicator: str | None = None
    deciders: tuple[str, ...] = ()
    """Adjudicators of a web campaign: what they say decides under any rule, and is not a vote."""

    def __post_init__(self) -> None:
        if self.name not in RULES and not self.veto:
            raise BuildError(f"there is no rule '{self.name}', {nearest(self.name, list(RULES))}")
        if (self.name == "adjudicator") != bool(self.adjudicator):
            wanted = "no adjudicator" if self.adjudicator else "the name of the adjudicator"
            raise BuildError(f"the rule is '{self.name}', expected {wanted} beside it")

    @classmethod
    def named(cls, name: str, divided: str = "open", adjudicator: str | None = None) -> Rule:
        """Return the rule that options or a configuration ask for."""
        return cls(name, None if divided == "open" else divided, adjudicator)

    @property
    def veto(self) -> str:
        """The verdict for which one judge is enough; empty if there is none."""
        return "yes" if self.name == "any" else self.name.partition("any-")[2]

    def judging(self, said: Mapping[str, Judgement]) -> dict[str, Judgement]:
        """Return what judges say about an item, without those who only decide."""
        return {judge: one for judge, one in said.items() if judge not in self.deciders}

    def check(self, judgements: Iterable[Judgement], where: object) -> None:
        """Refuse an adjudicator who has judged nothing, which is probably a mistyped name."""
        judges = sorted({one.judge for one in judgements})
        if self.adjudicator and self.adjudicator not in judges:
            there = f"expected one of {', '.join(judges)}" if judges else "nobody has judged yet"
            raise BuildError(f"there is no judge '{self.adjudicator}' in {where}, {there}")


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about an item."""

    item: str
    verdict: str | None
    """None if it is open."""
    edit: str
    votes: Mapping[str, int]
    """How many judges gave each verdict, the most frequent first."""
    reason: str
    """'by 2 of 3 judges', 'as judges are divided: …'; for an open item, why it is open."""

    @property
    def judges(self) -> int:
        """How many judges gave a verdict."""
        return sum(self.votes.values())


def decide(
    judgements: Iterable[Judgement],
    rule: Rule | None = None,
    min_judges: int = 1,
    items: Iterable[str] | None = None,
) -> dict[str, Decision]:
    """Decide every item.

    Args:
        judgements: In the order in which they were given; the last of each judge counts.
        rule: How to decide; by majority if None.
        min_judges: Items with fewer verdicts stay open, unless the adjudicator has judged them.
        items: What to decide, in this order; what was judged if None.
    """
    if min_judges < 1:
        raise BuildError(f"min-judges is {min_judges}, expected 1 or more")
    said = latest(judgements)
    rule = rule or Rule()
    return {
        item: _decide(
            item, [one for one in said.get(item, {}).values() if one.verdict], rule, min_judges
        )
        for item in (said if items is None else items)
    }


def _decide(item: str, given: list[Judgement], rule: Rule, min_judges: int) -> Decision:
    deciding = {rule.adjudicator, *rule.deciders}
    counted = Counter(one.verdict for one in given if one.judge not in rule.deciders)
    votes = dict(sorted(counted.items(), key=lambda vote: (-vote[1], vote[0])))
    for one in given:
        if one.judge in deciding:
            return Decision(item, one.verdict, one.edit, votes, f"by {one.judge}, who decides")
    if not given:
        return Decision(item, None, "", votes, "not judged")
    if len(given) < min_judges:
        reason = f"judged by {len(given)}, expected {min_judges} or more"
        return Decision(item, None, "", votes, reason)
    everyone = rule.name in ("unanimous", "adjudicator")
    winner = rule.veto if rule.veto in votes else _first(votes, everyone)
    if winner is not None:
        # Texts may differ in white space only; the first spelling stands for all.
        edits = sorted(one.edit for one in given if one.verdict == winner)
        texts = Counter(plain(edit) for edit in edits)
        text = _first(dict(texts.most_common()), everyone)
        if text is not None:
            edit = next(edit for edit in edits if plain(edit) == text)
            reason = f"by {votes[winner]} of {len(given)} judges"
            return Decision(item, winner, edit, votes, reason)
    what = ", ".join(f"{verdict} {count}" for verdict, count in votes.items())
    divided = f"judges are divided: {what}" + (", the edits differ" if winner is not None else "")
    if rule.otherwise is not None:
        return Decision(item, rule.otherwise, "", votes, f"as {divided}")
    if rule.adjudicator:
        divided += f"; {rule.adjudicator} decides"
    return Decision(item, None, "", votes, divided)


def _first(votes: Mapping[str, int], everyone: bool) -> str | None:
    """Return the sole leader, or, if everyone must agree, the only verdict; None otherwise."""
    first, *others = votes
    behind = votes[others[0]] if others else 0
    return first if not others or (votes[first] > behind and not everyone) else None
