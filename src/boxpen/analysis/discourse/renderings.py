"""The translations of runs that have a phenomenon to judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boxpen.analysis.discourse.class_judge import PHENOMENA, Ruling, check_class, judge
from boxpen.errors import RunError
from boxpen.runs import Run, Translation

__all__ = ["Rendering", "renderings_of", "ruling_of"]


@dataclass(frozen=True, slots=True)
class Rendering:
    """What one system made of one sentence.

    Attributes:
        system: Who translated.
        id: The item of the suite.
        phenomenon: What is judged: pronoun, connective or ellipsis.
        cls: Its class, such as 你们; of an ellipsis the word itself.
        context: The sentence before; empty if the run does not have it.
        source: The sentence.
        reference_context: A right translation of the context; empty if the run does not have it.
        reference: A right translation of the sentence.
        translation: What the system wrote.
    """

    system: str
    id: str
    phenomenon: str
    cls: str
    context: str
    source: str
    reference_context: str
    reference: str
    translation: str


def renderings_of(systems: Iterable[tuple[str, Sequence[Run]]]) -> list[Rendering]:
    """Return what systems made of the sentences that have a phenomenon.

    Args:
        systems: Names, and the runs of each; what a system translated in two of them counts once.

    Raises:
        RunError: If a run has nothing to judge, or a class that does not exist.
    """
    found: dict[tuple[str, str, str], Rendering] = {}
    for system, runs in systems:
        for run in runs:
            suite = run.about["suite"]["name"]
            made = [t for t in run.translations if t.tags.get("set") in PHENOMENA]
            if not made:
                raise RunError(
                    f"run {run.name} of the suite '{suite}' has {len(run.translations)} "
                    "translation(s), none with the tag set=pronoun, connective or ellipsis; "
                    "expected the run of a translation model on a suite such as discourse"
                )
            for one in made:
                rendering = _rendering(system, one, run)
                # A part of a suite has the items of the whole.
                key = (system, suite.rpartition(".")[0] or suite, one.id)
                found.setdefault(key, rendering)
    return list(found.values())


def ruling_of(one: Rendering) -> Ruling:
    """Return what the class judge says."""
    return judge(
        one.phenomenon,
        one.cls,
        source=one.source,
        translation=one.translation,
        reference=one.reference,
        context=one.context or None,
        reference_context=one.reference_context or None,
    )


def _rendering(system: str, made: Translation, run: Run) -> Rendering:
    phenomenon = made.tags["set"]
    cls = made.tags.get("class", "" if phenomenon != "ellipsis" else phenomenon)
    try:
        check_class(phenomenon, cls)
    except RunError as error:
        raise RunError(f"run {run.name}, item '{made.id}': {error}") from None
    return Rendering(
        system=system,
        id=made.id,
        phenomenon=phenomenon,
        cls=cls,
        context=made.context or "",
        source=made.source,
        reference_context=made.reference_context or "",
        reference=made.reference,
        translation=made.translation,
    )
