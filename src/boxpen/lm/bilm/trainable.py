"""Bidirectional language models (``boxpen.lm.bilm``) in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boxpen.lm.trainable import Feature, Features, Trainable
from boxpen.models.tokens import pieces
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

__all__ = ["Bidirectional"]

_CHUNK = 4096


class Bidirectional(Trainable):
    """A forward and a backward model that share their words; every token is predicted by both."""

    kind = "bilm"

    def features(self, data: Sequence[str], max_length: int) -> Features:
        """Return sentences as ``batch`` takes them: texts, truncated to ``max_length`` tokens."""
        room = min(max_length, self.tokenizer.model_max_length) - 2  # beginning and end
        out: list[Feature] = []
        cut = empty = 0
        for start in range(0, len(data), _CHUNK):
            part = data[start : start + _CHUNK]
            found = pieces(self.tokenizer, [Request(text=text) for text in part])
            for place, (text, piece) in enumerate(zip(part, found, strict=True), start):
                if not piece.ids:
                    empty += 1
                elif len(piece.ids) <= room:
                    out.append(Feature(place, text, len(piece.ids)))
                else:
                    cut += 1
                    first = self._first(text, room)
                    (kept,) = pieces(self.tokenizer, [Request(text=first)])
                    out.append(Feature(place, first, len(kept.ids)))
        return Features(out, cut, empty)

    def batch(self, features: Sequence[Feature], epoch: int) -> dict[str, torch.Tensor]:  # noqa: ARG002
        """Return the tensors of sentences; nothing is drawn, so that epochs do not differ."""
        from boxpen.lm.bilm.training import batch_of

        return batch_of(self.tokenizer, [feature.content for feature in features])

    def predictions(self, feature: Feature) -> int:
        """Return the number of tokens, with the end."""
        return feature.length + 1

    def loss(self, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the loss: the mean of both directions, summed over tokens."""
        out = self.module(**batch)
        return out.loss * out.tokens, out.tokens

    def _first(self, text: str, tokens: int) -> str:
        """Return the beginning of a text with this many tokens."""
        found = self.tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return text[: found["offset_mapping"][tokens - 1][1]]
