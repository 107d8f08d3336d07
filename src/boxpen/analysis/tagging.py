"""Tags that people give to the items of a suite, such as the number of inference steps.

What a judge sees of an item, which values may be given, and the suite with the tag when the judges
are done. Which tag is asked for stands in every row; the value that an item may have of it already
is not shown to judges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from boxpen.analysis.slices import CROSS
from boxpen.errors import BuildError
from boxpen.items import Choice, Entail, Item, Suite
from boxpen.review import Decision, Question, VerdictSet

__all__ = ["TAG", "AnyValue", "check_tag", "in_order", "tag_questions", "tag_values", "tagged"]

_LONGEST = 60  # characters of a value
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
TAG = "tag"
"""The column that says which tag is asked for."""


@dataclass(frozen=True, slots=True)
class AnyValue(VerdictSet):
    """Any short text is a value."""

    def read(self, text: str) -> str | None:
        """Return the value, in one line."""
        value = " ".join(text.split())
        return value if 0 < len(value) <= _LONGEST else None

    def __str__(self) -> str:
        return f"a value of up to {_LONGEST} characters"


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
        BuildError: If a value is empty, means something else in a sheet, or stands twice.
    """
    if values is None:
        own = suite.tag_values().get(tag, [])
        return AnyValue({}) if not own or _fault(own) else _restricted(own)
    fault = _fault(values)
    if fault is not None:
        raise BuildError(f"--values of the tag '{tag}' has {fault}")
    return _restricted(values)


def tag_questions(suite: Suite, tag: str, verdicts: VerdictSet) -> list[Question]:
    """Return what is asked of judges: the tag of every item, which is shown with its right answer.

    Args:
        suite: The suite.
        tag: The tag.
        verdicts: The values that may be given.
    """
    hints = {"values": ", ".join(verdicts.forms)} if verdicts.forms else {}
    return [
        _TagQuestion(
            item.id, {TAG: tag, **_shown(item)}, part=item.tags.get("set", ""), hints=hints
        )
        for item in suite
    ]


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
            "see boxpen suite tag status"
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
        return {"premise": item.premise, "hypothesis": item.hypothesis, "label": item.label}
    if isinstance(item, Choice):
        right = item.candidates[item.gold]
        wrong = [text for n, text in enumerate(item.candidates) if n != item.gold]
    else:
        right, wrong = item.reference, list(item.contrast)
    texts = {"context": item.context, "source": item.source, "right": right}
    texts["wrong"] = " / ".join(wrong) or None
    return {name: text for name, text in texts.items() if text is not None}
