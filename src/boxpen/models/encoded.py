"""What models are asked for, what they read, and what they answer with."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxpen.scoring.policy import Dtype

__all__ = ["ANSWER", "Encoded", "Kind", "ModelSpec", "ResolvedPolicy", "Scores", "Tally"]

ANSWER = 32
"""Maximum tokens of an answer to a question: a letter, or an option in full."""

Kind = Literal["causal", "masked", "permuted", "bidirectional", "seq2seq", "nli", "choice"]
Scores = list[tuple[int, NDArray[np.float32]]]
"""Numbers of requests, each with the log-probabilities of its scored tokens."""

_COUNTING = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """What a loader of models is asked for.

    Attributes:
        name: The model as the user named it, such as ``hf:gpt2``.
        path: What follows the scheme, such as ``gpt2``.
        dtype: Floating-point type of the weights.
        device: Where to compute; the loader decides if None.
        languages: What the model reads, if known.
        labels: Names of a classifier's labels in the order of its outputs, if given.
        trusted: Whether Python code that a checkpoint brings along may run.
    """

    name: str
    path: str
    dtype: Dtype = "auto"
    device: str | None = None
    languages: frozenset[str] | None = None
    labels: str | Sequence[str] | None = None
    trusted: bool = False

    @property
    def local(self) -> Path:
        """The path of a file or folder."""
        return Path(self.path).expanduser()


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """The policy fields that change log-probabilities, with every ``auto`` resolved.

    Fields that do not apply to the kind of model are None.
    """

    bos: bool | None = None
    eos: bool | None = None
    pll: str | None = None
    max_length: int | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the fields that apply."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Encoded(NamedTuple):
    """One request as tokens; a tuple, since there are many and lookups are frequent.

    Attributes:
        ids: What the model (or its decoder) reads.
        scored: Positions in ``ids`` of the tokens that are scored, ascending; a range if all
            between the first and the last are.
        source: What the encoder reads, if there is one.
        context: What it reads of the sentences before, if it does.
        aside: What another encoder reads of both, if there is one.
        words: For every position, the number of the word it belongs to; -1 for special tokens.
        types: For every position, whether it is of the first or the second text of a pair, if the
            model is told.
        labels: What is scored instead of tokens: the numbers of a classifier's labels.
    """

    ids: tuple[int, ...]
    scored: tuple[int, ...] | range
    source: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    unscored: int = 0
    unknown: int = 0
    truncated: bool = False
    crossing: bool = False
    types: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()
    context: tuple[int, ...] = ()
    aside: tuple[int, ...] = ()

    @property
    def targets(self) -> Sequence[int]:
        """The scored tokens, or labels."""
        if self.labels:
            return self.labels
        if isinstance(self.scored, range):
            return self.ids[self.scored.start : self.scored.stop]
        return [self.ids[i] for i in self.scored]

    @property
    def read(self) -> int:
        """How many tokens ``unknown`` was counted among."""
        return len(self.ids) if self.labels else len(self.scored) + self.unscored


@dataclass(slots=True)
class Tally:
    """The cost of scoring so far, in positions computed by the model.

    Attributes:
        texts: Distinct requests scored.
        tokens: Positions if every request were run alone.
        nodes: Positions needed: shared prefixes and equal copies count once.
        computed: Positions computed, including padding and repeated shared positions.
    """

    texts: int = 0
    tokens: int = 0
    nodes: int = 0
    computed: int = 0

    def add(self, *, texts: int = 0, tokens: int = 0, nodes: int = 0, computed: int = 0) -> None:
        """Add to the counts; thread-safe."""
        with _COUNTING:
            self.texts += texts
            self.tokens += tokens
            self.nodes += nodes
            self.computed += computed
