"""What every kind of model owes to the rest of boxpen.

A subclass says how a request becomes tokens (``encode``) and how a batch of encoded requests gets
its log-probabilities (``logprobs``). Everything else, the order, the batches and the merging of
equal requests, is done once, here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError, ScoringError
from boxpen.scoring.batching import batches
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

__all__ = ["Encoded", "Kind", "Model", "Settled"]

Kind = Literal["causal", "masked", "permuted", "seq2seq"]


@dataclass(frozen=True, slots=True)
class Settled:
    """The policy fields that change log-probabilities, with every ``auto`` resolved.

    A field that means nothing to the kind of model is None.
    """

    bos: bool | None = None
    eos: bool | None = None
    pll: str | None = None
    max_length: int | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the fields that apply."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Encoded:
    """One request as tokens.

    Attributes:
        ids: What the model (or its decoder) reads.
        scored: Positions in ``ids`` of the tokens that are scored, ascending.
        source: What the encoder reads, if there is one.
        words: For every position, the number of the word it belongs to; -1 for special tokens.
    """

    ids: tuple[int, ...]
    scored: tuple[int, ...]
    source: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    unscored: int = 0
    unknown: int = 0
    truncated: bool = False
    crossing: bool = False


class Model(ABC):
    """A model that gives log-probabilities to texts.

    Attributes:
        name: As the user named it.
        kind: What the scores mean.
        fingerprint: Hex digest of weights, tokenizer and dtype.
        dtype: Floating-point type of the weights.
        languages: What it reads, as two-letter codes; None if that is not known.
        encoder: Whether it reads a source sentence on a side of its own.
        direction: The one language pair it translates, if there is only one.
        token_budget: Most tokens of a batch, padding included.
        batch_size: Most sequences of a batch.
    """

    name: str
    kind: Kind
    fingerprint: str
    dtype: str
    languages: frozenset[str] | None = None
    encoder: bool = False
    direction: tuple[str, str] | None = None
    token_budget: int = 2048
    batch_size: int | None = None

    @abstractmethod
    def settle(self, policy: ScoringPolicy) -> Settled:
        """Resolve a policy for this model.

        Raises:
            ModelError: If the model cannot do what the policy asks for.
        """

    @abstractmethod
    def encode(self, requests: Sequence[Request], settled: Settled) -> list[Encoded]:
        """Turn requests into tokens."""

    @abstractmethod
    def logprobs(self, batch: Sequence[Encoded], settled: Settled) -> list[NDArray[np.float32]]:
        """Return, for every encoded request, the log-probabilities of its scored tokens."""

    def cost(self, encoded: Encoded, settled: Settled) -> int:  # noqa: ARG002
        """Return how long a row this request makes, for batching."""
        return max(1, len(encoded.ids) + len(encoded.source))

    @property
    def short(self) -> str:
        """The name without the folders of a path, for narrow places."""
        return self.name.rstrip("/").rsplit("/", 1)[-1]

    def load(self) -> None:  # noqa: B027 (a model without weights to load has nothing to do)
        """Load the weights now, not when first needed."""

    def can_translate(self) -> bool:
        """Whether the model can also produce translations."""
        return False

    def translate(
        self,
        sources: Sequence[str],  # noqa: ARG002
        languages: tuple[str | None, str | None],  # noqa: ARG002
        *,
        beam: int,  # noqa: ARG002
    ) -> Iterator[list[tuple[int, str]]]:
        """Yield batches of (index, translation)."""
        raise ModelError(f"{self.name} is a {self.kind} model and does not translate")

    def require_sources(self, requests: Sequence[Request]) -> None:
        """Refuse requests that a model with an encoder cannot answer.

        Raises:
            ModelError: If a request has no source, or a prefix, which would be ignored.
        """
        for request in requests:
            if request.source is None:
                raise ModelError(f"'{self.name}' translates, and a text came without a source")
            if request.prefix:
                raise ModelError(f"'{self.name}' translates, and a text came with a prefix")

    def reads(self, language: str | None) -> bool:
        """Whether the model reads a language, as far as is known."""
        return language is None or self.languages is None or language in self.languages

    def score(
        self, requests: Sequence[Request], settled: Settled
    ) -> Iterator[list[tuple[int, Record]]]:
        """Score requests, yielding batches of (index, record) in no particular order.

        Requests that come to the same tokens are run once and get the very same numbers, so that
        a tie between them is a tie whatever the batch.
        """
        encoded = self.encode(requests, settled)
        equal: dict[Encoded, list[int]] = {}
        for index, item in enumerate(encoded):
            equal.setdefault(item, []).append(index)
        distinct = list(equal)
        costs = [self.cost(e, settled) for e in distinct]
        for batch in batches(costs, budget=self.token_budget, size=self.batch_size):
            members = [distinct[i] for i in batch]
            scored = self.logprobs(members, settled)
            if not all(np.isfinite(values).all() for values in scored):
                raise ScoringError(
                    f"model '{self.name}' computes numbers that are none (nan or inf) in "
                    f"{self.dtype}; try --dtype float32"
                )
            yield [
                (index, _record(member, values))
                for member, values in zip(members, scored, strict=True)
                for index in equal[member]
            ]


def _record(encoded: Encoded, logprobs: NDArray[np.float32]) -> Record:
    return Record(
        token_ids=np.array([encoded.ids[i] for i in encoded.scored], dtype=np.int32),
        logprobs=logprobs,
        unscored=encoded.unscored,
        unknown=encoded.unknown,
        truncated=encoded.truncated,
        crossing=encoded.crossing,
    )
