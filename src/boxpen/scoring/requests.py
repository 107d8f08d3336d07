"""What a model is asked to score, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["WHOLE", "Record", "Request"]

WHOLE = -1
"""Stands for all tokens of a text, in a record of another tool that has only their sum."""


@dataclass(frozen=True, slots=True)
class Request:
    """One text to score.

    Attributes:
        text: The text whose tokens are scored; the second text of a pair.
        prefix: The text before it in the same sequence: seen, not scored. The first text of a
            pair (premise, context), for models that read two.
        source: What the text translates, for models with an encoder.
        languages: Source and target language, for models that must be told.
        context: The text before the source, for translation models that read it; empty if such a
            model gets none.
    """

    text: str
    prefix: str = ""
    source: str | None = None
    languages: tuple[str | None, str | None] = (None, None)
    context: str | None = None

    def parts(self) -> tuple[object, ...]:
        """Return what tells this request from others."""
        parts = (self.text, self.prefix, self.source, self.languages)
        return parts if self.context is None else (*parts, self.context)


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """The scored tokens of one request and their natural log-probabilities.

    An inference classifier scores labels (see ``boxpen.scoring.labels``), not tokens; what a
    multiple-choice model gives to a candidate is one number, its logit.

    Attributes:
        token_ids: The scored tokens, or the numbers of labels, int32; or ``WHOLE`` alone.
        logprobs: One for each, float32.
        unscored: How many tokens of the text could not be scored (the first one of a causal model
            without a BOS token).
        unknown: How many of the text's tokens are the unknown token.
        truncated: The sequence was longer than the model reads.
        crossing: A token spans the join of prefix and text, so that the split is not clean.
    """

    token_ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]
    unscored: int = 0
    unknown: int = 0
    truncated: bool = False
    crossing: bool = False

    @property
    def total(self) -> float:
        """The sum of the log-probabilities, in float64."""
        return float(self.logprobs.sum(dtype="float64"))
