"""Tags that people give to the items of a suite, such as the number of inference steps.

Every row of a sheet names the tag. Judges see the right answer, but not the value that the suite
may already have for the tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from boxpen.analysis.slices import CROSS
from boxpen.catalog import load_suite, write_suite
from boxpen.errors import BuildError
from boxpen.items import Choice, Entail, Item, Suite
from boxpen.metrics.agreement import cohen_kappa
from boxpen.review import (
    Applied,
    Decision,
    Destination,
    Detail,
    Journal,
    Judgement,
    Question,
    Review,
    ReviewTask,
    Target,
    VerdictSet,
)
from boxpen.review.guides import tag_guide

__all__ = ["TAG", "AnyValue", "TagTask", "check_tag", "in_order", "tag_values", "tagged"]

_LONGEST = 60  # characters of a value
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
TAG = "tag"
"""The column with the name of the tag."""


@dataclass(frozen=True, slots=True)
class AnyValue(VerdictSet):
    """Any short text is a value."""

    def read(self, text: str) -> str | None:
        """Return the value, in one line."""
        value = " ".join(text.split())
        return value if 0 < len(value) <= _LONGEST else None

    def __str__(self) -> str:
        return f"a value of up to {_LONGEST} characters"


class TagTask(ReviewTask):
    """Which value of a tag does an item have?

    Args:
        suite: The suite.
        tag: The tag.
        values: The values that may be given; those of the suite, or any at all, if None.
        journal: Where judgements are kept.
        path: The file of the suite, if it is one.
    """

    name = "tags"
    target = "the items of a suite"
    origin = "suite"
    only_by_name = True
    columns = (TAG,)

    def __init__(
        self,
        suite: Suite,
        tag: str,
        values: Sequence[str] | None = None,
        journal: Journal | None = None,
        path: Path | None = None,
    ) -> None:
        check_tag(tag)
        self.suite, self.tag, self.path = suite, tag, path
        self.verdicts = tag_values(suite, tag, values)
        self.guide = tag_guide(tag, self.verdicts.forms)
        self.journal = journal or Journal(f"{suite.name}-{tag}-tags.jsonl", tag=tag)

    @classmethod
    def find(cls, target: Target) -> TagTask | None:
        """Return the task for a suite; the journal is beside its file, or in the current folder.

        Journals from before lines named their tag are known by their name.
        """
        if len(target.words) > 1 or (target.path is not None and target.path.is_dir()):
            return None
        if target.tag is None:
            raise BuildError("the task 'tags' needs --tag with the name of the tag")
        check_tag(target.tag)
        suite = load_suite(target.words[0])
        path = target.path if target.path is not None and target.path.is_file() else None
        own = re.sub(r"[^\w.-]+", "_", f"{suite.name}-{target.tag}-tags.jsonl")
        place = (path.parent if path else Path()) / own
        named = Path(target.journal).name if target.journal else own
        tag = target.tag
        journal = target.open_journal(place, cls.name, tag=tag, untagged=named == own)
        return cls(suite, target.tag, target.values, journal, path)

    def files(self) -> dict[Path, str]:
        """Return the file of the suite."""
        return {self.path: "the suite that is tagged"} if self.path else {}

    def questions(self) -> list[Question]:
        """Return one question per item, which is shown with its right answer."""
        values = ", ".join(self.verdicts.forms)
        hints = {"values": values} if values else {}
        return [
            _TagQuestion(
                item.id,
                {TAG: self.tag, **_shown(item)},
                part=item.tags.get("set", ""),
                hints=hints,
            )
            for item in self.suite
        ]

    def check_kept(self, judgement: Judgement) -> None:
        """Accept any value in the journal: another import may have allowed others."""

    def details(self, review: Review) -> list[Detail]:
        """Return how often the suite has the same value already, with Cohen's kappa."""
        before, after = [], []
        for item in self.suite:
            verdict = review.decisions[item.id].verdict
            if self.tag in item.tags and verdict is not None:
                before.append(item.tags[self.tag])
                after.append(verdict)
        if not before:
            return []
        same = sum(one == other for one, other in zip(before, after, strict=True))
        row = (same, len(before), cohen_kappa(before, after))
        return [Detail("same_as_suite", ("same", "of", "kappa"), [row])]

    def apply(self, review: Review, to: Destination) -> Applied:
        """Write the suite with the tag; items that are open do not have it."""
        if self.tag in self.suite.tag_values() and not to.overwrite:
            raise BuildError(
                f"suite '{self.suite.name}' has the tag '{self.tag}' already; use another tag, or "
                "--overwrite to replace its values"
            )
        rule = review.rule
        by = f"decided by {rule.adjudicator}" if rule.adjudicator else f"rule {rule.name}"
        by = f"{len(review.judges)} judge(s), {by}"
        made = tagged(self.suite, self.tag, review.decisions, by)
        write_suite(made, to.path)
        settled = sum(self.tag in item.tags for item in made)
        return Applied(
            to.path,
            f"{made.name}: {settled} of {len(made)} items have the tag '{self.tag}', "
            f"{len(made) - settled} are open; written to {to.path}",
            {"tagged": settled, "open": len(made) - settled, "hash": made.hash},
        )


def check_tag(tag: str) -> None:
    """Refuse a tag that no other command could name.

    Raises:
        BuildError: If it is empty, or holds what stands between tags and values elsewhere.
    """
    if not tag or tag != " ".join(tag.split()):
        raise BuildError(f"--tag is '{tag}', expected a name without spaces around it")
    for part in ("=", CROSS):
        if part in tag:
            raise BuildError(f"--tag is '{tag}', expected a name without '{part}'")


def tag_values(suite: Suite, tag: str, values: Sequence[str] | None = None) -> VerdictSet:
    """Return the values that judges may give.

    Args:
        suite: The suite.
        tag: The tag.
        values: All that are allowed. If None, those that the tag has in the suite, and any if the
            suite does not have it, or has values that a sheet cannot tell apart.

    Raises:
        BuildError: If a value is empty, means something else in a sheet, or is given twice.
    """
    if values is None:
        own = suite.tag_values().get(tag, [])
        return AnyValue({}) if not own or _fault(own) else _restricted(own)
    fault = _fault(values)
    if fault is not None:
        raise BuildError(f"--values of the tag '{tag}' has {fault}")
    return _restricted(values)


def tagged(suite: Suite, tag: str, decisions: Mapping[str, Decision], how: str) -> Suite:
    """Return the suite with the tag as judges settled it; open items do not have it.

    Args:
        suite: The suite.
        tag: The tag; what the suite has of it is replaced.
        decisions: By item.
        how: A clause for the card: who decided, and by which rule.

    Raises:
        BuildError: If no item is decided.
    """
    settled = {
        item.id: verdict
        for item in suite
        if (found := decisions.get(item.id)) is not None and (verdict := found.verdict) is not None
    }
    if not settled:
        raise BuildError(
            f"no item of suite '{suite.name}' is decided, expected judgements of its tag '{tag}'; "
            "see boxpen review status"
        )
    items = []
    for item in suite:
        tags = {name: value for name, value in item.tags.items() if name != tag}
        if item.id in settled:
            tags[tag] = settled[item.id]
        items.append(replace(item, tags=tags))
    note = f"Tag {tag}: {len(settled)} of {len(suite)} items, {how}."
    notes = "; ".join(filter(None, (suite.card.notes.rstrip(". "), note)))
    return replace(suite, items=tuple(items), card=replace(suite.card, notes=notes))


def in_order(values: Sequence[str]) -> list[str]:
    """Return numbers in their order; other values stay as they come."""
    if all(_NUMBER.fullmatch(value) for value in values):
        return sorted(values, key=float)
    return list(values)


class _TagQuestion(Question):
    """An item, and the tag that is asked for.

    A row that asks for another tag is refused as one with other texts is. The digest leaves the tag
    out, as it did before the tag was shown; so a sheet must have the column of the tag, and a
    journal names it in every line.
    """

    __slots__ = ()

    def digest_of(self, shown: Mapping[str, str]) -> str:
        """Return what the digest would be if other texts were shown, whatever the tag."""
        return super().digest_of({name: text for name, text in shown.items() if name != TAG})


def _fault(values: Sequence[str]) -> str | None:
    """Return what makes values unfit for a sheet, and what is expected; None if nothing does."""
    seen: dict[str, str] = {}
    for value in values:
        if value != " ".join(value.split()) or value in ("", "?") or len(value) > _LONGEST:
            return f"'{value}', expected one line of up to {_LONGEST} characters that is not '?'"
        if value.lower() in seen:
            return (
                f"'{seen[value.lower()]}' and '{value}', which a sheet does not tell apart; "
                "expected each value once"
            )
        seen[value.lower()] = value
    return None


def _restricted(values: Sequence[str]) -> VerdictSet:
    return VerdictSet({v: () if v == v.lower() else (v.lower(),) for v in in_order(values)})


def _shown(item: Item) -> dict[str, str]:
    """Return the texts of an item by what they are, without those that it does not have."""
    if isinstance(item, Entail):
        return {
            "premise": item.premise,
            "hypothesis": item.hypothesis,
            "label": " or ".join((item.label, *item.also)),
        }
    if isinstance(item, Choice):
        right = item.candidates[item.gold]
        wrong = [text for n, text in enumerate(item.candidates) if n != item.gold]
    else:
        right, wrong = item.reference, list(item.contrast)
    texts = {"context": item.context, "source": item.source, "right": right}
    texts["wrong"] = " / ".join(wrong) or None
    return {name: text for name, text in texts.items() if text is not None}
