"""Inference classifiers (NLI): does the premise entail the hypothesis?

Scores are log-probabilities of labels: the softmax over all outputs, whatever setting they are
decided in later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.models.pairs import PairModel
from boxpen.models.plain_pairs import PLAIN, Check, checked
from boxpen.scoring.labels import names_of
from boxpen.scoring.requests import Record, Request

if TYPE_CHECKING:
    import torch

__all__ = ["NliModel"]


class NliModel(PairModel):
    """A classifier of premises and hypotheses.

    Args:
        order: The label of every output of the module, as numbers of ``scoring.labels.NAMES``.
        explicit: Whether the user named the labels, not the checkpoint.
        **parts: What every model of Transformers is made of.
    """

    kind = "nli"

    def __init__(self, *, order: Sequence[int], explicit: bool = False, **parts: Any) -> None:
        super().__init__(**parts)
        self.labels = self.outputs = tuple(sorted(order))
        self._columns = [list(order).index(label) for label in self.labels]
        self._order = tuple(order)
        self._explicit = explicit

    @property
    def named(self) -> list[str] | None:
        """The names of the outputs in their order, if the user gave them."""
        return list(names_of(self._order)) if self._explicit else None

    def values(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the log-probabilities of the labels, in the order of ``labels``."""
        import torch

        return torch.log_softmax(logits, dim=-1)[:, self._columns]

    def probes(self) -> Sequence[Request]:
        """Return pairs whose label is beyond doubt, if the model reads their language."""
        if not self.reads("en"):
            return ()
        return tuple(Request(text=hypothesis, prefix=premise) for premise, hypothesis, _ in PLAIN)

    def verify(self, records: Sequence[Record]) -> str | None:
        """Check on the plain pairs that the labels have the right names.

        Raises:
            ModelError: If other names explain the answers clearly better than the checkpoint's.
        """
        answers = [self.labels[int(record.logprobs.argmax())] for record in records]
        found = checked(self.labels, answers)
        if found.misnamed:
            evidence = self._evidence(found, answers)
            if not self._explicit:
                raise ModelError(f"model '{self.name}': {evidence}")
            return f"self-check: {evidence}"
        if found.untrained:
            return (
                f"self-check: the model labels {found.right:.0%} of {len(PLAIN)} plain pairs "
                f"correctly, where guessing gets {found.chance:.0%}: it has learnt little"
            )
        return None

    def _evidence(self, found: Check, answers: Sequence[int]) -> str:
        renamed = dict(zip(self.labels, found.order, strict=True))
        proposed = ",".join(names_of([renamed[label] for label in self._order]))
        assert found.example is not None
        premise, hypothesis, label = PLAIN[found.example]
        (said,) = names_of([answers[found.example]])
        return (
            f"its labels seem to be misnamed: of {len(PLAIN)} plain pairs {found.right:.0%} are "
            f"right as they are named, and {found.other:.0%} would be with the order {proposed} "
            f"('{premise}' / '{hypothesis}' comes out as {said}, not {label}); give the order with "
            f"--labels {proposed} if that is so"
        )
