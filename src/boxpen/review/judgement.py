"""What is asked of judges, the verdicts they may give, and one judgement."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from boxpen.errors import BuildError

__all__ = ["JOINT", "Judgement", "Question", "VerdictSet", "latest", "plain"]

JOINT = "+"
"""Between the labels of a verdict that has several."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge says of one item."""

    item: str
    judge: str
    verdict: str
    """One of a ``VerdictSet``; empty if there is none, or none any more."""
    edit: str = ""
    """What should stand there instead, for verdicts that say so."""
    comment: str = ""
    seen: str = ""
    """Digest of the texts that were judged; empty if unknown."""
    time: str | None = None
    """When, as the caller tells it; None keeps a journal reproducible."""

    def __post_init__(self) -> None:
        for name, text in (("item", self.item), ("judge", self.judge)):
            if not text.strip():
                raise BuildError(f"a judgement has no {name}, expected a name")

    def says_as_much_as(self, other: Judgement) -> bool:
        """Whether both say the same, at whatever time."""
        return replace(self, time=None) == replace(other, time=None)


@dataclass(frozen=True, slots=True)
class Question:
    """One item as a judge sees it."""

    item: str
    shown: Mapping[str, str]
    """What is judged: names, such as 'head', and texts."""
    part: str = ""
    """What agreement is divided by, such as the relation."""
    score: float | None = None
    """Larger is likelier to be good; None if nobody knows."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Shown too, except to judges who are to be blind to them; not a part of what is judged."""

    @property
    def digest(self) -> str:
        """A short name of what is shown: another for other texts, the same for other spaces."""
        return self.digest_of(self.shown)

    def digest_of(self, shown: Mapping[str, str]) -> str:
        """Return what the digest would be if other texts were shown."""
        texts = [self.item, *([name, plain(text)] for name, text in sorted(shown.items()))]
        found = hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()
        # The letter in front keeps spreadsheets from reading 12345678 or 1234e567 as a number.
        return f"d{found[:8]}"

    def was_seen(self, judgement: Judgement) -> bool:
        """Whether a judgement of this item is one of these texts, as far as is known."""
        return judgement.seen in ("", self.digest)


@dataclass(frozen=True, slots=True)
class VerdictSet:
    """The verdicts that may be given, with the shorter forms of each."""

    forms: Mapping[str, tuple[str, ...]]
    edited: frozenset[str] = frozenset()
    """Verdicts that need an edit; the others allow none."""
    joined: frozenset[str] = frozenset()
    """Verdicts of which several may be given at once, each once: 'tense+word order'."""

    def read(self, text: str) -> str | None:
        """Return the verdict that is meant, in whatever case; None if there is no such one.

        Several at once come back in the order of the set, however they were written.
        """
        single = self._single(text)
        if single is not None or not self.joined:
            return single
        found = [self._single(label) for label in text.split(JOINT)]
        if len(set(found)) < len(found) or not self.joined.issuperset(found):
            return None
        return JOINT.join(verdict for verdict in self.forms if verdict in found)

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
        return f"{named}; of {several} also several, joined by '{JOINT}', each once"


def latest(judgements: Iterable[Judgement]) -> dict[str, dict[str, Judgement]]:
    """Return for every item what each judge said last; withdrawn verdicts are there, empty.

    Items stand in the order in which they are first judged, judges in that of their names.
    """
    found: dict[str, dict[str, Judgement]] = {}
    for judgement in judgements:
        found.setdefault(judgement.item, {})[judgement.judge] = judgement
    return {item: dict(sorted(of.items())) for item, of in found.items()}


def plain(text: str) -> str:
    """Return a text as texts are compared: spaces and line breaks do not count."""
    return " ".join(text.split())
