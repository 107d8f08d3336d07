"""Answers that were kept although the truth flips, item by item (Zhou et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from boxpen.analysis.robustness import DualPair
from boxpen.analysis.suites.words import words
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

__all__ = ["Kept", "kept_answers"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A pair that got the same answer on both sides although the truth flips.

    Attributes:
        block: Where both stand.
        operation: What made the dual of the original.
        original: Id of the original.
        dual: Id of the dual.
        right: The side on which the answer is right: ``original`` or ``dual``.
        option: Number of the candidate that was kept, from 0, in the original.
        texts: The candidate that was chosen in the original, and in the dual; None if the run
            keeps no texts.
        change: The words that differ between these two: taken away, put in their place.
        margins: Score of the right candidate less that of the best other one, in the original and
            in the dual.
    """

    block: str
    operation: str
    original: str
    dual: str
    right: str
    option: int
    texts: tuple[str, str] | None
    change: tuple[tuple[str, str], ...]
    margins: tuple[float, float]

    @property
    def sureness(self) -> float:
        """How clearly the answer was kept: by the smaller of the two margins."""
        return min(abs(margin) for margin in self.margins)


def kept_answers(run: Run, pairs: Sequence[DualPair]) -> list[Kept]:
    """Return the pairs that got one answer for two truths, the surest ones first."""
    found = [_kept(run, pair) for pair in pairs if pair.flips and pair.decided and pair.same]
    return sorted(found, key=lambda one: -one.sureness)


def _kept(run: Run, pair: DualPair) -> Kept:
    before, after = _text(run, pair.original), _text(run, pair.dual)
    texts = (before, after) if before is not None and after is not None else None
    return Kept(
        block=pair.block,
        operation=pair.operation,
        original=pair.original.id,
        dual=pair.dual.id,
        right="original" if pair.original_right else "dual",
        option=pair.original.winner,
        texts=texts,
        change=_change(*texts) if texts else (),
        margins=(pair.original.margin, pair.dual.margin),
    )


def _text(run: Run, verdict: Verdict) -> str | None:
    """Return the chosen candidate after its context; of labels, what they were given to."""
    members = run.candidates.get(verdict.id)
    if not members:
        return None
    return run.text_of(members[0 if run.labels else verdict.winner])


def _change(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """Return the stretches of words that differ: before and after."""
    one, other = words(before), words(after)
    steps = SequenceMatcher(a=one, b=other, autojunk=False).get_opcodes()
    return tuple(
        (" ".join(one[a:b]), " ".join(other[c:d])) for name, a, b, c, d in steps if name != "equal"
    )
