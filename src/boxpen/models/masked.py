"""Masked language models (BERT, RoBERTa, …): pseudo-log-likelihood, each token masked in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.copies import Copy, Wanted, run_copies
from boxpen.models.hf import TransformersModel, length_mask, padded
from boxpen.models.tokens import pieces
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

__all__ = ["MaskedModel"]


class MaskedModel(TransformersModel):
    """A model that fills in masked tokens.

    What is masked while the second piece of ``souvenir`` (sou ##ven ##ir) is scored:

        original          the  sou  [M]  ##ir  sold
        within_word_l2r   the  sou  [M]  [M]   sold    later pieces cannot give the word away
        unmasked          the  sou  ##ven ##ir sold    the model sees what it is asked for
    """

    kind = "masked"

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model."""
        if self.tokenizer.mask_token_id is None:
            raise ModelError(f"the tokenizer of {self.name} has no mask token")
        if policy.pll == "within_word_l2r" and not self.tokenizer.is_fast:
            raise ModelError(
                f"the tokenizer of {self.name} does not say where words begin; use --pll original"
            )
        return ResolvedPolicy(pll=policy.pll, max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into tokens."""
        assert policy.max_length is not None
        before, after = special_frame(self.tokenizer)
        return [
            self.framed(p, before, after, policy.max_length)
            for p in pieces(self.tokenizer, requests, words=policy.pll == "within_word_l2r")
        ]

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:
        """Score requests by their masked copies."""
        mask, pad = self.tokenizer.mask_token_id, self.tokenizer.pad_token_id or 0

        def copies(e: Encoded) -> Iterator[tuple[Copy, Sequence[int]]]:
            if policy.pll == "unmasked":
                yield Copy(e.ids), range(len(e.scored))
                return
            for n, ids in enumerate(masked_copies(e, mask, whole_word=bool(e.words))):
                yield Copy(ids), (n,)

        def run(batch: Sequence[Copy], wanted: Sequence[Wanted]) -> torch.Tensor:
            rows = [copy.ids for copy in batch]
            inputs = {
                "input_ids": padded(rows, pad),
                "attention_mask": length_mask([len(row) for row in rows]),
            }
            return self.wanted(inputs, wanted)

        self.engine = "masked copies, equal ones once"
        return run_copies(self, encoded, copies, run)


def masked_copies(encoded: Encoded, mask: int, *, whole_word: bool) -> Iterator[tuple[int, ...]]:
    """Yield one sequence per scored token, in which it (and the rest of its word) is masked."""
    for position in encoded.scored:
        end = position + 1
        if whole_word:
            while end < len(encoded.ids) and encoded.words[end] == encoded.words[position]:
                end += 1
        yield (*encoded.ids[:position], *(mask,) * (end - position), *encoded.ids[end:])


def special_frame(tokenizer: object) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the special tokens that a tokenizer puts before and after one text."""
    ids = tokenizer("a", add_special_tokens=True, return_attention_mask=False)["input_ids"]  # type: ignore[operator]
    bare = tokenizer("a", add_special_tokens=False, return_attention_mask=False)["input_ids"]  # type: ignore[operator]
    for start in range(len(ids) - len(bare) + 1):
        if ids[start : start + len(bare)] == bare:
            return tuple(ids[:start]), tuple(ids[start + len(bare) :])
    raise ModelError("the tokenizer changes a text when it adds special tokens")
