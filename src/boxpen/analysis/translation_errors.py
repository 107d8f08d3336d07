"""Types of translation errors, as people see them (He et al. 2020, section 6.2).

Every translation of a run is a question: is it right, or is there an error of common sense, of
ordinary meaning, or another one? Which system made a translation is not shown, nor does the name of
its question tell; what several systems translate alike is asked once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from boxpen.errors import RunError
from boxpen.review import Question, TranslationTask, VerdictSet
from boxpen.review.guides import ERRORS
from boxpen.runs.run import Run
from boxpen.scoring.verdicts import Verdict

__all__ = [
    "COMMON_SENSE",
    "ERROR_TYPES",
    "RIGHT",
    "ErrorTask",
    "Output",
    "outputs_of",
]

RIGHT = "right"
COMMON_SENSE = "common sense"
ERROR_TYPES = (COMMON_SENSE, "ordinary meaning", "other")


@dataclass(frozen=True, slots=True)
class Output:
    """What one system made of one source.

    Attributes:
        question: What judges are asked about it.
        cluster: What the item is not independent of: its block.
        chose: Whether the system preferred the right candidate to the wrong one; None if both were
            tied, or there were no candidates.
    """

    system: str
    id: str
    question: Question
    cluster: str
    chose: bool | None


class ErrorTask(TranslationTask[Output]):
    """Which types of errors does a translation have? It may have several; each counts once."""

    name = "errors"
    target = "runs of translation models"
    journal_file = "translation-errors.jsonl"
    guide = ERRORS
    verdicts = VerdictSet(
        {
            RIGHT: ("r", "ok"),
            COMMON_SENSE: ("c", "cs"),
            "ordinary meaning": ("m", "om"),
            "other": ("o",),
        },
        joined=frozenset(ERROR_TYPES),
    )

    @classmethod
    def translations(cls, systems: Iterable[tuple[str, Sequence[Run]]]) -> list[Output]:
        """Return what systems made of the sources of their suites."""
        return outputs_of(systems)

    def question(self, one: Output) -> Question:
        """Return the question about an output."""
        return one.question


def outputs_of(systems: Iterable[tuple[str, Sequence[Run]]]) -> list[Output]:
    """Return what systems made of the sources of their suites.

    Args:
        systems: Names, and the runs of each; what a system translated in two of them counts once.

    Raises:
        RunError: If a run has no translations.
    """
    found: dict[tuple[str, str], Output] = {}
    for system, runs in systems:
        for run in runs:
            for output in _outputs(system, run):
                found.setdefault((system, output.question.item), output)
    return list(found.values())


def _outputs(system: str, run: Run) -> list[Output]:
    if not run.translations:
        raise RunError(f"run {run.name} has no translations: {_why_none(run)}")
    verdicts = {verdict.id: verdict for verdict in run.verdicts}
    found = []
    for made in run.translations:
        verdict = verdicts.get(made.id)
        wrong = [
            scored.text
            for place, scored in enumerate(run.candidates.get(made.id, ()))
            if verdict is not None and place != verdict.gold
        ]
        shown = {
            "source": made.source,
            "reference": made.reference,
            "wrong": "\n".join(wrong),
            "translation": made.translation,
        }
        # The digest tells translations of an item apart without telling who made them.
        name = f"{made.id}/{Question(made.id, shown).digest}"
        question = Question(name, shown, part=made.tags.get("set", ""), unit=made.id)
        block = verdict.block if verdict is not None else None
        suite = run.info.suite.name  # other suites may call their blocks the same
        cluster = made.id if block is None else f"{suite}, block {block}"
        found.append(Output(system, made.id, question, cluster, _chose(verdict)))
    return found


def _why_none(run: Run) -> str:
    suite, model = run.info.suite, run.info.model
    read = (scored.source for some in run.candidates.values() for scored in some)
    if suite.source_language is None and not any(read):
        return f"the suite '{suite.name}' has no sources; expected one that has, such as commonmt"
    if model.kind != "seq2seq":
        return (
            f"'{model.name}' ({model.kind}) does not translate; expected "
            "the run of a translation model"
        )
    return "it was made with --no-bleu; run it again without that"


def _chose(verdict: Verdict | None) -> bool | None:
    if verdict is None or verdict.tied > 1:
        return None
    return verdict.winner == verdict.gold
