"""The translations of runs that have a phenomenon to judge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from boxpen.analysis.discourse.class_judge import PHENOMENA, Ruling, check_class, judge
from boxpen.errors import RunError
from boxpen.runs.run import Run, Translation

__all__ = ["Rendering", "named_by_context", "renderings_of", "ruling_of"]

_CONTEXTS = {"given": "", "none": ", no context", "shuffled": ", shuffled context"}
"""What stands after the name of a model whose runs differ in their context."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """What one system made of one sentence.

    Attributes:
        phenomenon: What is judged: pronoun, connective or ellipsis.
        cls: Its class, such as 你们; of an ellipsis the word itself.
        context: The sentence before; empty if the run does not have it.
        reference_context: A right translation of the context; empty if the run does not have it.
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

    @property
    def sentence(self) -> tuple[str, str, str]:
        """What tells sentences apart: items of two suites may have the same name."""
        return self.id, self.source, self.reference


def named_by_context(runs: Sequence[Run]) -> list[Run]:
    """Return runs whose models bear the context in their names, where theirs differ.

    "MODEL, no context" says more than a digest of the signature. If the weights changed under one
    name as well, the names tell them apart too.
    """
    contexts: dict[str, set[str]] = {}
    weights: dict[str, set[str]] = {}
    for run in runs:
        model = run.info.model
        contexts.setdefault(model.name, set()).add(_context(run))
        weights.setdefault(model.name, set()).add(model.fingerprint)
    out = []
    for run in runs:
        model = run.info.model
        if len(contexts[model.name]) > 1:
            after = _CONTEXTS[_context(run)]
            if len(weights[model.name]) > 1:
                after = f" (@{model.fingerprint[:8]}){after}"
            named = replace(model, name=model.name + after, short=model.short + after)
            run = replace(run, info=replace(run.info, model=named))
        out.append(run)
    return out


def renderings_of(systems: Iterable[tuple[str, Sequence[Run]]]) -> list[Rendering]:
    """Return what systems made of the sentences that have a phenomenon.

    Args:
        systems: Names, and the runs of each; what a system translated in two of them counts once.

    Raises:
        RunError: If a run has nothing to judge, or a class that does not exist.
    """
    found: dict[tuple[str, ...], Rendering] = {}
    for system, runs in systems:
        for run in runs:
            suite = run.info.suite.name
            made = [t for t in run.translations if t.tags.get("set") in PHENOMENA]
            if not made:
                raise RunError(
                    f"run {run.name} of the suite '{suite}' has {len(run.translations)} "
                    "translation(s), none with the tag set=pronoun, connective or ellipsis; "
                    "expected the run of a translation model on a suite such as discourse"
                )
            for one in made:
                rendering = _rendering(system, one, run)
                # A part of a suite has the items of the whole; other suites may use their names.
                key = (system, one.id, one.context or "", one.source, one.reference)
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


def _context(run: Run) -> str:
    return run.info.policy.context


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
