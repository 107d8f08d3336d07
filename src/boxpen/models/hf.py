"""The common part of all models that run through PyTorch and Transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, Model
from boxpen.models.languages import special_tokens
from boxpen.models.tokens import Pieces

if TYPE_CHECKING:
    import torch

__all__ = ["TransformersModel"]

_ROLES = ("bos", "eos", "pad", "cls", "sep", "mask")
_ROBERTA_KIN = frozenset({
    "camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet", "roberta",
    "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
})  # fmt: skip
_UNLIMITED = 1_000_000  # tokenizers without a limit report a huge number


class TransformersModel(Model):
    """A Transformers model and its tokenizer; the weights are loaded when first needed.

    Args:
        name: As the user named it.
        load: Returns the PyTorch module, on its device and in evaluation mode.
        config: The model's configuration.
        tokenizer: Its tokenizer.
        fingerprint: Digest of weights, tokenizer and dtype.
        dtype: Floating-point type of the weights.
        languages: What the model reads, if known.
    """

    def __init__(
        self,
        *,
        name: str,
        load: Callable[[], Any],
        config: Any,
        tokenizer: Any,
        fingerprint: str,
        dtype: str,
        languages: frozenset[str] | None = None,
    ) -> None:
        self.name = name
        self.config = config
        self.tokenizer = tokenizer
        self.fingerprint = fingerprint
        self.dtype = dtype
        self.languages = languages
        self._load = load
        others = {getattr(tokenizer, f"{r}_token_id", None) for r in _ROLES}
        # GPT-2 calls its end of text "unknown" too; then nothing is ever unknown.
        self._unk = None if tokenizer.unk_token_id in others else tokenizer.unk_token_id
        # A text may contain a special token literally; it is read, never scored.
        self._special = frozenset(special_tokens(tokenizer).values()) - {self._unk}

    @cached_property
    def module(self) -> Any:
        """The PyTorch module."""
        module = self._load()
        rows = module.get_input_embeddings()
        if rows is not None and hasattr(rows, "num_embeddings"):
            largest = max(self.tokenizer.get_vocab().values(), default=0)
            # Added tokens past the matrix are harmless until a text uses one; a whole foreign
            # vocabulary is not.
            if largest >= rows.num_embeddings + 1024:
                raise ModelError(
                    f"the tokenizer of {self.name} has {largest + 1} tokens, its model "
                    f"{rows.num_embeddings}: they do not belong together"
                )
        return module

    def load(self) -> None:
        """Load the weights now, not when first needed."""
        _ = self.module

    @property
    def device(self) -> torch.device:
        """Where the module computes."""
        device: torch.device = self.module.device
        return device

    def limit(self, wanted: int | None) -> int:
        """Return the longest sequence in tokens, special tokens included.

        Raises:
            ModelError: If more is wanted than the model can take.
        """
        known = [
            value
            for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
            if isinstance(value := getattr(self.config, name, None), int) and value > 0
        ]
        longest = min(known) - self._position_offset() if known else _UNLIMITED
        said = getattr(self.tokenizer, "model_max_length", _UNLIMITED)
        if 0 < said < longest:
            longest = said
        if wanted is not None and wanted > longest:
            raise ModelError(f"max_length {wanted} is more than {self.name} takes ({longest})")
        return wanted or longest

    def _position_offset(self) -> int:
        # RoBERTa and its kin number positions from padding_idx + 1.
        return 2 if self.config.model_type in _ROBERTA_KIN else 0

    def count_unknown(self, pieces: Pieces) -> int:
        """Return how many tokens of the text are the unknown token."""
        return 0 if self._unk is None else pieces.ids[pieces.start :].count(self._unk)

    def framed(
        self,
        pieces: Pieces,
        before: Sequence[int],
        after: Sequence[int],
        limit: int,
        *,
        first: int = 0,
        score_after: bool = False,
    ) -> Encoded:
        """Put special tokens around pieces, cut from the left what is too long, and flag it.

        Args:
            pieces: Tokens of prefix and text.
            before: Special tokens in front.
            after: Special tokens behind.
            limit: Longest sequence.
            first: Positions below this one cannot be scored.
            score_after: Whether what stands behind is scored too.
        """
        room = limit - len(before) - len(after)
        cut = max(0, len(pieces.ids) - room)
        ids = (*before, *pieces.ids[cut:], *after)
        start = max(0, pieces.start - cut) + len(before)
        text = range(start, len(ids) - len(after))
        plain = [i for i in text if ids[i] not in self._special]
        scored = tuple(i for i in plain if i >= first)
        if score_after:
            scored += tuple(range(len(ids) - len(after), len(ids)))
        words = (-1,) * len(before) + pieces.words[cut:] + (-1,) * len(after)
        return Encoded(
            ids=ids,
            scored=scored,
            words=words if pieces.words else (),
            unscored=len([i for i in plain if i < first]),
            unknown=self.count_unknown(pieces),
            truncated=cut > 0,
            crossing=pieces.crossing,
        )


def padded(rows: Sequence[Sequence[int]], fill: int) -> NDArray[np.int64]:
    """Return rows as one array, filled up on the right."""
    width = max(len(row) for row in rows)
    out = np.full((len(rows), width), fill, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def length_mask(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return the attention mask of rows filled up on the right: by length, never by token."""
    width = max(lengths)
    return (np.arange(width)[None, :] < np.array(lengths)[:, None]).astype(np.int64)


def gathered(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities of targets: the softmax is taken in float32, row by row.

    Args:
        logits: (rows, vocab), any dtype.
        targets: (rows,).
    """
    import torch

    parts = []
    # Bounded memory: 64 Mi entries of float32 at a time, whatever the vocabulary.
    step = max(1, (1 << 26) // logits.shape[-1])
    for start in range(0, len(targets), step):
        rows = logits[start : start + step].float()  # (step, vocab)
        wanted = rows.gather(-1, targets[start : start + step, None])[:, 0]
        parts.append(wanted - torch.logsumexp(rows, dim=-1))
    return torch.cat(parts)
