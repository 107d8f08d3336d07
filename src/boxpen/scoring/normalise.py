"""From a record to one number: the norms of ``ScoringPolicy.norm``.

Records keep the log-probability of every token, so each norm is derived from the same record and
changing it never needs the model again.
"""

from __future__ import annotations

import math
import re

from boxpen.errors import PolicyError, ScoringError
from boxpen.scoring.policy import Norm
from boxpen.scoring.requests import WHOLE, Record

__all__ = ["TIE_TOLERANCE", "score", "units", "words"]

TIE_TOLERANCE = 1e-4
"""Log-probabilities of a sentence are trusted to this many nats; closer scores are a tie."""

# A run of word characters, or one Han character: Chinese has no spaces to count words by.
_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


def words(text: str) -> list[str]:
    """Return the words of a text; every Han character is one."""
    return _WORD.findall(text)


def units(record: Record, text: str, norm: Norm) -> int:
    """Return what the sum of log-probabilities is divided by under this norm.

    Counts are of the text without white space at its edges: the space that joins it to a prefix
    is not part of the candidate.
    """
    text = text.strip()
    counts = {
        "sum": 1,
        "pmi": 1,
        "token": len(record.logprobs),
        "word": len(words(text)),
        "char": len(text),
        "byte": len(text.encode()),
    }
    return max(1, counts[norm])


def score(record: Record, text: str, norm: Norm, *, unconditional: Record | None = None) -> float:
    """Return the normalised log-probability of one text: larger is more sensible.

    Args:
        record: The model's record of the text.
        text: The text of the request.
        norm: The norm.
        unconditional: The record of the same text without its context, for ``pmi``.

    Raises:
        ScoringError: If no token was scored, or the model returned NaN or Inf.
        PolicyError: If ``pmi`` is requested without an unconditional record, or ``token`` of a
            record that has only the sum of its tokens.
    """
    total = _total(record, text)
    if norm == "token" and record.token_ids[0] == WHOLE:
        raise PolicyError(
            "norm 'token' needs the tokens, and the log of another tool has only their sum; "
            "use sum, word, char or byte"
        )
    if norm == "pmi":
        if unconditional is None:
            raise PolicyError("norm 'pmi' needs the scores without context; run with --norm pmi")
        if unconditional.unscored != record.unscored:
            raise ScoringError(
                f"the first token of {_short(text)} has a score only with its context; "
                "norm 'pmi' needs a BOS token"
            )
        return total - _total(unconditional, text)
    return total / units(record, text, norm)


def _total(record: Record, text: str) -> float:
    if not text.strip():
        raise ScoringError("an empty text has no score")
    if len(record.logprobs) == 0:
        raise ScoringError(
            f"no token of {_short(text)} could be scored: it was cut to nothing, has special "
            "tokens only, or is one token that no BOS token precedes (then use --bos always)"
        )
    total = record.total
    if not math.isfinite(total):
        raise ScoringError(f"the model gave {_short(text)} the log-probability {total}")
    return total


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
