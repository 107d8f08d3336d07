"""What judges are asked, the verdicts they may give, and one judgement."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from boxpen.errors import BuildError

__all__ = [
    "JOINT",
    "Judgement",
    "Option",
    "Question",
    "VerdictSet",
    "latest",
    "lot",
    "plain",
    "settled",
]

JOINT = "+"
"""Between the labels of a verdict that has several."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's verdict on one item."""

    item: str
    judge: str
    verdict: str
    """One of a ``VerdictSet``; empty if there is none, or if it was withdrawn."""
    edit: str = ""
    """The corrected text, for verdicts that need one."""
    comment: str = ""
    seen: str = ""
    """Digest of the texts that were judged; empty if unknown."""
    time: str | None = None
    """When, as given by the caller; None keeps a journal reproducible."""
    order: str = ""
    """The order in which the judge saw the options of a question; empty if it has none."""
    decides: bool = False
    """Whether an adjudicator decides by it: it holds under any rule, and is not a vote."""

    def __post_init__(self) -> None:
        for name, text in (("item", self.item), ("judge", self.judge)):
            if not text.strip():
                raise BuildError(f"a judgement has no {name}, expected a name")

    def says_as_much_as(self, other: Judgement) -> bool:
        """Whether both say the same, whenever and in whatever order of options."""
        return replace(self, time=None, order="") == replace(other, time=None, order="")


class Option(NamedTuple):
    """One of the texts that a judge chooses from."""

    text: str
    verdict: str
    """What choosing it means."""


@dataclass(frozen=True, slots=True)
class Question:
    """One item as a judge sees it."""

    item: str
    shown: Mapping[str, str]
    """What is judged: names, such as 'head', and texts."""
    part: str = ""
    """The group, such as a relation, for which agreement is computed separately."""
    score: float | None = None
    """Higher means more likely to be good; None if unknown."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Also shown, except in blind sheets; not part of what is judged."""
    unit: str = ""
    """Questions of one unit are sampled together; the item if empty."""
    options: tuple[Option, ...] = ()
    """Texts to choose from, numbered as this judge sees them; empty if verdicts are named."""
    fixed: bool = False
    """Whether the options keep their order, such as labels that are the same everywhere."""
    earlier: frozenset[str] = frozenset()
    """Digests of the same texts as they were laid out before; such judgements still count."""
    expected: str = ""
    """The option by which verdicts are named, if they are; not shown, but part of the digest."""
    late: bool = False
    """Whether it is asked after all others, because it gives away the answer to one of them."""

    @property
    def texts(self) -> dict[str, str]:
        """All that is judged, including the options by number."""
        numbered = {str(n): option.text for n, option in enumerate(self.options, 1)}
        return {**self.shown, **numbered}

    @property
    def digest(self) -> str:
        """A short hash of the texts that ignores white space and the order of options."""
        return self.digest_of(self.texts)

    def digest_of(self, texts: Mapping[str, str]) -> str:
        """Return what the digest would be if other texts were shown."""
        named = (("option" if self.options and n.isdigit() else n, t) for n, t in texts.items())
        content = [self.item, *([name, plain(text)] for name, text in sorted(named))]
        if self.expected:
            content.append(plain(self.expected))
        found = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
        # The letter in front keeps spreadsheets from reading 12345678 or 1234e567 as a number.
        return f"d{found[:8]}"

    def was_seen(self, judgement: Judgement) -> bool:
        """Whether a judgement of this item is about these texts, as far as is known."""
        return judgement.seen in ("", self.digest) or judgement.seen in self.earlier

    @property
    def order(self) -> str:
        """The order of the options, as their places in alphabetical order: '2 1 3'.

        It does not depend on the order in the target, where the right answer may always be first.
        """
        alphabetical = sorted(self.options)
        return " ".join(str(alphabetical.index(option) + 1) for option in self.options)

    def shuffled(self, judge: str, seed: int) -> Question:
        """Return the question with its options in an order drawn for this judge and item."""
        if self.fixed or not self.options:
            return self
        key = (seed, "options", judge, self.item)
        return replace(self, options=tuple(sorted(self.options, key=lambda o: lot(*key, o.text))))

    def arranged(self, order: str) -> Question | None:
        """Return the question with its options in a recorded order; None if it is not one."""
        alphabetical = sorted(self.options)
        places = {str(n): option for n, option in enumerate(alphabetical, 1)}
        found = order.split()
        if sorted(found) != sorted(places):
            return None
        return replace(self, options=tuple(places[place] for place in found))


@dataclass(frozen=True, slots=True)
class VerdictSet:
    """The verdicts that may be given, with the abbreviations of each."""

    forms: Mapping[str, tuple[str, ...]]
    edited: frozenset[str] = frozenset()
    """Verdicts that need an edit; the others allow none."""
    joined: frozenset[str] = frozenset()
    """Verdicts of which several may be given at once: 'tense+word order'."""
    beside: frozenset[str] = frozenset()
    """Verdicts that are given by name where the others are the numbers of options."""

    def read(self, text: str) -> str | None:
        """Return the verdict that a text stands for, ignoring case; None if there is none.

        Several at once are returned in the order of the set, however they were written.
        """
        single = self._single(text)
        if single is not None or not self.joined:
            return single
        found = [self._single(label) for label in text.split(JOINT)]
        if len(set(found)) < len(found) or not self.joined.issuperset(found):
            return None
        return JOINT.join(verdict for verdict in self.forms if verdict in found)

    def read_option(self, text: str, options: Sequence[Option]) -> str | None:
        """Return the verdict for the number of an option, or one that is given by name."""
        chosen = {str(n): option.verdict for n, option in enumerate(options, 1)}
        named = self.read(text)
        return chosen.get(text.strip()) or (named if named in self.beside else None)

    def of_options(self, options: Sequence[Option]) -> str:
        """Say what may be answered to a question with options."""
        named = (f" or '{verdict}'" for verdict in self.forms if verdict in self.beside)
        return f"a number from 1 to {len(options)}{''.join(named)}"

    def _single(self, text: str) -> str | None:
        wanted = text.strip().lower()
        for verdict, forms in self.forms.items():
            if wanted in (verdict, *forms):
                return verdict
        return None

    def __str__(self) -> str:
        named = ", ".join(
            f"{verdict} ({', '.join(forms)})" if forms else verdict
            for verdict, forms in self.forms.items()
        )
        if not self.joined:
            return named
        several = ", ".join(verdict for verdict in self.forms if verdict in self.joined)
        return f"{named}; or several of {several}, joined by '{JOINT}', each once"


def latest(judgements: Iterable[Judgement]) -> dict[str, dict[str, Judgement]]:
    """Return, for every item, the last judgement of each judge, including withdrawn ones.

    Items come in the order in which they were first judged, judges in alphabetical order.
    """
    found: dict[str, dict[str, Judgement]] = {}
    for judgement in judgements:
        found.setdefault(judgement.item, {})[judgement.judge] = judgement
    return {item: dict(sorted(of.items())) for item, of in found.items()}


def settled(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    """Yield judgements so that at most one adjudicator decides an item: the last one.

    What another has decided before is withdrawn.
    """
    decided: dict[str, Judgement] = {}
    for one in judgements:
        if one.decides:
            before = decided.get(one.item)
            if before is not None and before.judge != one.judge:
                yield replace(before, verdict="", edit="")
            decided[one.item] = one
        yield one


def lot(seed: int, *names: str) -> bytes:
    """Return a random sort key that depends only on the seed and the names."""
    return hashlib.sha256("\0".join((str(seed), *names)).encode()).digest()


def plain(text: str) -> str:
    """Return a text with white space normalised, for comparisons."""
    return " ".join(text.split())
