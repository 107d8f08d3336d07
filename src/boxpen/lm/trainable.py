"""Causal and masked language models in training: sentences in, nats and tokens out.

A trainable is a module and its tokenizer, with everything that depends on the kind of model: how
sentences become batches, which tokens are predicted, and how both are saved. Training predicts what
``boxpen.models`` scores: the same tokens after the same beginning, no end of text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from boxpen.lm.masking import chosen, masked
from boxpen.lm.pairs import longest
from boxpen.models.tokens import pieces
from boxpen.models.vocabulary import beyond
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

__all__ = ["HELD_OUT", "NOTHING", "Causal", "Feature", "Features", "Masked", "Trainable"]

HELD_OUT = 0
"""The number of the epoch in which held-out sentences are evaluated; others start from 1."""
NOTHING = -100
"""The label of what is not predicted."""
_CHUNK = 4096


class Feature(NamedTuple):
    """A sentence that is ready for a batch: its place, its tokens or text, and how many tokens."""

    place: int
    content: Any
    length: int


class Features(NamedTuple):
    """Sentences that are ready, how many were cut, and how many have nothing to predict."""

    features: list[Feature]
    cut: int
    empty: int


class Trainable(ABC):
    """A model in training.

    Args:
        module: Computes the loss.
        tokenizer: Its tokenizer.
        seed: Random seed for what is drawn for a batch.
    """

    kind: ClassVar[str]

    def __init__(self, module: Any, tokenizer: Any, seed: int) -> None:
        self.module = module
        self.tokenizer = tokenizer
        self.seed = seed

    def save(self, folder: Path) -> None:
        """Write module and tokenizer, so that ``hf:FOLDER`` is this model."""
        self.module.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    @abstractmethod
    def features(self, data: Sequence[Any], max_length: int) -> Features:
        """Return sentences or items as ``batch`` takes them."""

    @abstractmethod
    def batch(self, features: Sequence[Feature], epoch: int) -> dict[str, torch.Tensor]:
        """Return the tensors of features in an epoch."""

    @abstractmethod
    def loss(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss of a batch in nats, summed over its predictions, and their number."""

    def evaluate(self, batch: dict[str, Any]) -> tuple[float, int, list[bool]]:
        """Return loss and predictions of a batch, and whether answers of a classifier are right."""
        nats, tokens = self.loss(batch)
        return float(nats), int(tokens), []

    @abstractmethod
    def predictions(self, feature: Feature) -> int:
        """Return how many labels a feature has in a batch."""


class _Transformers(Trainable):
    """What causal and masked models of Transformers have in common."""

    def features(self, data: Sequence[str], max_length: int) -> Features:
        """Return sentences as ``batch`` takes them: their tokens, cut and framed."""
        before, after = self.frame()
        room = longest(self.module.config, max_length) - len(before) - len(after)
        out: list[Feature] = []
        cut = empty = 0
        for start in range(0, len(data), _CHUNK):
            found = pieces(self.tokenizer, [Request(text=t) for t in data[start : start + _CHUNK]])
            for place, piece in enumerate(found, start):
                ids = piece.ids
                if before and ids[: len(before)] == before:
                    ids = ids[len(before) :]  # the text has it already; it is never doubled
                if not self.predicts(ids[:room]):
                    empty += 1
                    continue
                self._check(ids)
                whole = array("i", (*before, *ids[:room], *after))
                cut += len(ids) > room
                out.append(Feature(place, whole, len(whole)))
        return Features(out, cut, empty)

    @abstractmethod
    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the special tokens before and after a sentence."""

    @abstractmethod
    def predicts(self, ids: Sequence[int]) -> bool:
        """Return whether one of the tokens of a sentence is predicted, or can be."""

    def padded(self, rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
        """Return rows of one length, padded on the right."""
        import torch

        width = max(map(len, rows))
        return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows])

    def inputs(self, rows: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """Return what every module takes: token ids and the attention mask."""
        padding = self.tokenizer.pad_token_id
        if padding is None or padding in self._beyond:
            padding = 0  # no token of a sentence attends to its padding
        return {
            "input_ids": self.padded(rows, padding),
            "attention_mask": self.padded([[1] * len(row) for row in rows], 0),
        }

    def _check(self, ids: tuple[int, ...]) -> None:
        """Reject tokens that the module has no row for."""
        if self._beyond:
            from boxpen.models.base import Encoded
            from boxpen.models.vocabulary import check_used

            check_used(type(self.module).__name__, [Encoded(ids, ())], self._beyond)

    @cached_property
    def _beyond(self) -> frozenset[int]:
        return beyond(self.tokenizer, self.module.config)


class Causal(_Transformers):
    """A model that predicts every token from those before it.

    As in ``boxpen.models.causal``: with a beginning of text all tokens are predicted, without one
    all but the first.
    """

    kind = "causal"

    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the beginning of text if the tokenizer has one."""
        begin = self.tokenizer.bos_token_id
        return (() if begin is None else (begin,)), ()

    def predicts(self, ids: Sequence[int]) -> bool:
        """Return whether a token is predicted: without a beginning of text, the first is given."""
        return len(ids) + len(self.frame()[0]) > 1

    def batch(self, features: Sequence[Feature], epoch: int) -> dict[str, torch.Tensor]:  # noqa: ARG002
        """Return the tensors of sentences; a label is the token at its own place."""
        rows = [feature.content for feature in features]
        labels = self.padded([[NOTHING, *row[1:]] for row in rows], NOTHING)
        return {**self.inputs(rows), "labels": labels}

    def predictions(self, feature: Feature) -> int:
        """Return the number of tokens but the first."""
        return feature.length - 1

    def loss(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss: the logits at one position predict the next token."""
        rest = {name: value for name, value in batch.items() if name != "labels"}
        logits = self.module(**rest, use_cache=False).logits[
            :, :-1
        ]  # (batch, time - 1, vocabulary)
        return _cross_entropy(logits, batch["labels"][:, 1:])


class Masked(_Transformers):
    """A model that fills in masked tokens; which ones is drawn again in every epoch."""

    kind = "masked"

    def frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the special tokens that the tokenizer puts around a text."""
        from boxpen.models.masked import special_frame

        return special_frame(self.tokenizer)

    def predicts(self, ids: Sequence[int]) -> bool:
        """Return whether a token can be chosen: unknown ones, say, are not."""
        return not self._special.issuperset(ids)

    def batch(self, features: Sequence[Feature], epoch: int) -> dict[str, torch.Tensor]:
        """Return the tensors of sentences, with labels at the chosen tokens."""
        rows, labels = [], []
        for feature in features:
            row, label = masked(
                feature.content,
                draw=(self.seed, epoch, feature.place),
                mask=self.tokenizer.mask_token_id,
                special=self._special,
                words=self._words,
            )
            rows.append(row)
            labels.append(label)
        return {**self.inputs(rows), "labels": self.padded(labels, NOTHING)}

    def predictions(self, feature: Feature) -> int:
        """Return how many tokens are chosen."""
        return chosen(sum(token not in self._special for token in feature.content))

    @cached_property
    def _special(self) -> frozenset[int]:
        return frozenset(self.tokenizer.all_special_ids)

    @cached_property
    def _words(self) -> list[int]:
        """Tokens that a chosen one may be exchanged for."""
        known = range(min(len(self.tokenizer), self.module.config.vocab_size))
        return [token for token in known if token not in self._special]

    def loss(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss of the chosen tokens."""
        rest = {name: value for name, value in batch.items() if name != "labels"}
        asked = batch["labels"] != NOTHING
        return _cross_entropy(self.module(**rest).logits[asked], batch["labels"][asked])


def _cross_entropy(logits: Any, labels: Any) -> tuple[Any, Any]:
    from torch.nn.functional import cross_entropy

    flat = logits.reshape(-1, logits.shape[-1]).float()  # in bfloat16 nats would be rounded
    targets = labels.reshape(-1)
    nats = cross_entropy(flat, targets, ignore_index=NOTHING, reduction="sum")
    return nats, (targets != NOTHING).sum()
