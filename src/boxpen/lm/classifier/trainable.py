"""Classifiers in training: pairs of texts in, a score for every answer out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boxpen.lm.pairs import encode, longest
from boxpen.lm.trainable import Feature, Features, Trainable

if TYPE_CHECKING:
    import torch

__all__ = ["Classifier"]


class Classifier(Trainable):
    """A module whose scores of an item, one for each answer, are put through a softmax."""

    @staticmethod
    @abstractmethod
    def auto(config: Any) -> str:
        """Return the name of the Auto class for a configuration."""

    @classmethod
    @abstractmethod
    def head(cls, config: Any) -> dict[str, Any]:
        """Return the fields of the configuration that belong to the head."""

    @staticmethod
    @abstractmethod
    def pairs(item: Any) -> list[tuple[str, str]]:
        """Return the pairs of texts that are scored for an item."""

    @staticmethod
    @abstractmethod
    def gold(item: Any) -> int:
        """Return the number of the right answer."""

    @staticmethod
    @abstractmethod
    def answers(item: Any) -> int:
        """Return how many answers an item has."""

    @abstractmethod
    def scores(self, inputs: dict[str, Any], sizes: torch.Tensor) -> torch.Tensor:
        """Return the scores of a batch: (items, answers).

        Args:
            inputs: The pairs of all items, one after the other.
            sizes: How many pairs each item has.
        """

    def features(self, data: Sequence[Any], max_length: int) -> Features:
        """Return items as ``batch`` takes them, short ones first."""
        some = [self.pairs(item) for item in data]
        room = longest(self.module.config, max_length)
        encoded = encode(self.tokenizer, [pair for pairs in some for pair in pairs], room)
        out: list[Feature] = []
        cut = at = 0
        for place, (item, pairs) in enumerate(zip(data, some, strict=True)):
            these = slice(at, at + len(pairs))
            length = max(len(pair["input_ids"]) for pair in encoded.features[these])
            out.append(Feature(place, (encoded.features[these], self.gold(item)), length))
            cut += any(encoded.cut[these])
            at += len(pairs)
        return Features(sorted(out, key=lambda feature: feature.length), cut, 0)

    def batch(self, features: Sequence[Feature], epoch: int) -> dict[str, torch.Tensor]:  # noqa: ARG002
        """Return the tensors of items: all their pairs, and how many each item has."""
        import torch

        some = [feature.content[0] for feature in features]
        padded = self.tokenizer.pad([pair for pairs in some for pair in pairs], return_tensors="pt")
        return {
            **padded,
            "sizes": torch.tensor([len(pairs) for pairs in some]),
            "labels": torch.tensor([feature.content[1] for feature in features]),
        }

    def predictions(self, feature: Feature) -> int:  # noqa: ARG002
        """Return the number of right answers: one."""
        return 1

    def loss(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the summed cross-entropy of the right answers, and the number of items."""
        nats, _ = self._scored(batch)
        return nats, batch["labels"].new_tensor(len(batch["labels"]))

    def evaluate(self, batch: dict[str, Any]) -> tuple[float, int, list[bool]]:
        """Return loss and items of a batch, and whether each was answered right."""
        nats, scores = self._scored(batch)
        right: list[bool] = scores.argmax(-1).eq(batch["labels"]).tolist()
        return float(nats), len(right), right

    def _scored(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        from torch.nn.functional import cross_entropy

        inputs = {name: batch[name] for name in batch if name not in ("sizes", "labels")}
        scores = self.scores(inputs, batch["sizes"]).float()  # (items, answers)
        return cross_entropy(scores, batch["labels"], reduction="sum"), scores
