"""What translations that are not right say instead: 当 for "while" that is 而, 做 for "do"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from boxpen.analysis.discourse.pronoun_judge import PRONOUNS
from boxpen.analysis.discourse.renderings import Rendering
from boxpen.analysis.discourse.ruling import CANNOT_TELL, RIGHT, WRONG, Ruling
from boxpen.analysis.discourse.stranded import stranded

__all__ = ["Confusion", "confusions"]

_KINDS = (
    "do", "have", "be", "will", "can", "should", "must", "may", "do it", "want to", "have to", "to",
    "so",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Confusion:
    """What one system says where one class is asked for.

    Attributes:
        word: The English word: "you", "while"; of an ellipsis the auxiliary that is left, "do".
        cls: The class that is right, such as while-而; "ellipsis".
        instead: What wrong translations say, and how many do, the most frequent first; an empty
            text for those that say nothing of the kind.
    """

    system: str
    word: str
    cls: str
    translations: int
    right: int
    cannot_tell: int
    instead: Mapping[str, int]


def confusions(rulings: Mapping[Rendering, Ruling]) -> list[Confusion]:
    """Count, for every system and class, what is said in place of what was asked for."""
    groups: dict[tuple[str, str, str], list[Ruling]] = {}
    for one, ruling in rulings.items():
        groups.setdefault((one.system, _word(one), one.cls or one.phenomenon), []).append(ruling)
    order = _order(tuple(groups))
    return [_counted(key, groups[key]) for key in order]


def _counted(key: tuple[str, str, str], some: Sequence[Ruling]) -> Confusion:
    outcomes = Counter(ruling.outcome for ruling in some)
    said = Counter(ruling.instead for ruling in some if ruling.outcome == WRONG)
    ranked = sorted(said.items(), key=lambda pair: (-pair[1], pair[0]))
    return Confusion(*key, len(some), outcomes[RIGHT], outcomes[CANNOT_TELL], dict(ranked))


def _order(keys: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return systems as they come; within one, pronouns and connectives as they are listed."""
    systems = list(dict.fromkeys(system for system, _, _ in keys))
    words = ["you", "they", "while", "as", "since", "though", "or", "if", *_KINDS, "other"]
    return sorted(keys, key=lambda key: (systems.index(key[0]), words.index(key[1]), key[2]))


def _word(one: Rendering) -> str:
    if one.cls in PRONOUNS:
        return "you" if one.cls.startswith("你") else "they"
    if one.phenomenon == "connective":
        return one.cls.partition("-")[0]
    kinds = stranded(one.source).kinds
    return next((kind for kind in _KINDS if kind in kinds), "other")
