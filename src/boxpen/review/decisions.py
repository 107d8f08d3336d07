"""From several judgements of an item to one decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from boxpen.errors import BuildError, nearest
from boxpen.review.judgement import Judgement, latest, plain

__all__ = ["RULES", "Decision", "Rule", "settle"]

RULES = ("majority", "unanimous", "any-reject", "adjudicator")
"""The rules by name; ``any-`` may be followed by any verdict."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How judges who differ come to one decision.

    ``majority`` takes the verdict that most judges gave. ``unanimous`` takes one that all gave.
    ``any-reject`` rejects what a single judge rejects, and asks the majority about the rest.
    ``adjudicator`` takes what one named judge says, and where that judge has said nothing, what all
    the others say. Judges whose verdict carries an edit must agree on its text too: by most of them
    if most decide, by all if all do.
    """

    name: str = "majority"
    otherwise: str | None = None
    """The verdict where judges are divided: a tie, or not unanimous. None leaves the item open."""
    adjudicator: str | None = None

    def __post_init__(self) -> None:
        if self.name not in RULES and not self.veto:
            raise BuildError(f"there is no rule '{self.name}', {nearest(self.name, list(RULES))}")
        if (self.name == "adjudicator") != bool(self.adjudicator):
            wanted = "no adjudicator" if self.adjudicator else "the name of the adjudicator"
            raise BuildError(f"the rule is '{self.name}', expected {wanted} beside it")

    @property
    def veto(self) -> str:
        """The verdict that one judge suffices for; empty if there is none."""
        return self.name[4:] if self.name.startswith("any-") else ""

    def check(self, judgements: Iterable[Judgement], where: object) -> None:
        """Refuse an adjudicator who has judged nothing: a name that is mistyped decides nothing.

        Args:
            judgements: All that were given, of other texts too.
            where: What they were read from.

        Raises:
            BuildError: If the rule has such an adjudicator.
        """
        judges = sorted({one.judge for one in judgements})
        if self.adjudicator and self.adjudicator not in judges:
            there = f"expected one of {', '.join(judges)}" if judges else "nobody has judged yet"
            raise BuildError(f"there is no judge '{self.adjudicator}' in {where}, {there}")


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an item."""

    item: str
    verdict: str | None
    """None while it is open."""
    edit: str
    votes: Mapping[str, int]
    """How many judges gave each verdict, the commonest first."""
    reason: str
    """'by 2 of 3 judges', 'as judges are divided: …'; of an open item why it is open."""

    @property
    def judges(self) -> int:
        """How many judges gave a verdict."""
        return sum(self.votes.values())


def settle(
    judgements: Iterable[Judgement],
    rule: Rule | None = None,
    min_judges: int = 1,
    items: Iterable[str] | None = None,
) -> dict[str, Decision]:
    """Decide every item.

    Args:
        judgements: All that were given, in the order in which they were; the last of a judge
            counts.
        rule: How; the majority if None, and ties stay open.
        min_judges: Items with fewer verdicts stay open. The adjudicator needs no company.
        items: What to decide, and in which order; what was judged if None.

    Raises:
        BuildError: If ``min_judges`` is less than one.
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
    counted = Counter(one.verdict for one in given)
    votes = dict(sorted(counted.items(), key=lambda vote: (-vote[1], vote[0])))
    for one in given:
        if one.judge == rule.adjudicator:
            return Decision(item, one.verdict, one.edit, votes, f"by {one.judge}, who decides")
    if not given:
        return Decision(item, None, "", votes, "not judged")
    if len(given) < min_judges:
        reason = f"judged by {len(given)}, expected {min_judges} or more"
        return Decision(item, None, "", votes, reason)
    everyone = rule.name in ("unanimous", "adjudicator")
    winner = rule.veto if rule.veto in votes else _first(votes, everyone)
    if winner is not None:
        # One text may be written with other spaces; the least of its spellings stands for it.
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
    """Return what leads alone, or, if everyone must agree, what stands alone; None if nothing."""
    first, *others = votes
    behind = votes[others[0]] if others else 0
    return first if not others or (votes[first] > behind and not everyone) else None
