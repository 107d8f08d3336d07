"""Masked language models (BERT, RoBERTa, …): pseudo-log-likelihood, each token masked in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, Settled
from boxpen.models.hf import TransformersModel, gathered, length_mask, padded
from boxpen.models.tokens import pieces
from boxpen.scoring.batching import batches
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

__all__ = ["MaskedModel"]


class MaskedModel(TransformersModel):
    """A model that fills in masked tokens.

    What is masked while the second piece of ``souvenir`` (sou ##ven ##ir) is scored:

        original          the  sou  [M]  ##ir  sold
        within_word_l2r   the  sou  [M]  [M]   sold    later pieces cannot give the word away
        unmasked          the  sou  ##ven ##ir sold    the model sees what it is asked for
    """

    kind = "masked"

    def settle(self, policy: ScoringPolicy) -> Settled:
        """Resolve a policy for this model."""
        if self.tokenizer.mask_token_id is None:
            raise ModelError(f"the tokenizer of {self.name} has no mask token")
        if policy.pll == "within_word_l2r" and not self.tokenizer.is_fast:
            raise ModelError(
                f"the tokenizer of {self.name} does not say where words begin; use --pll original"
            )
        return Settled(pll=policy.pll, max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], settled: Settled) -> list[Encoded]:
        """Turn requests into tokens."""
        assert settled.max_length is not None
        before, after = special_frame(self.tokenizer)
        return [
            self.framed(p, before, after, settled.max_length)
            for p in pieces(self.tokenizer, requests, words=settled.pll == "within_word_l2r")
        ]

    def logprobs(self, batch: Sequence[Encoded], settled: Settled) -> list[NDArray[np.float32]]:
        """Score a batch; its masked copies are run a token budget at a time."""
        out = [np.zeros(len(e.scored), dtype=np.float32) for e in batch]
        if settled.pll == "unmasked":
            copies = [(r, range(len(e.scored)), e.ids) for r, e in enumerate(batch) if e.scored]
        else:
            mask = self.tokenizer.mask_token_id
            copies = [
                (r, range(n, n + 1), ids)
                for r, e in enumerate(batch)
                for n, ids in enumerate(masked_copies(e, mask, whole_word=bool(e.words)))
            ]
        lengths = [len(ids) for _, _, ids in copies]
        for part in batches(lengths, budget=self.token_budget, size=self.batch_size):
            self._run([copies[i] for i in part], batch, out)
        return out

    def _run(
        self,
        copies: Sequence[tuple[int, range, tuple[int, ...]]],
        batch: Sequence[Encoded],
        out: list[NDArray[np.float32]],
    ) -> None:
        import torch

        device = self.device
        rows = [ids for _, _, ids in copies]
        wanted = [(c, r, n) for c, (r, numbers, _) in enumerate(copies) for n in numbers]
        targets = [batch[r].ids[batch[r].scored[n]] for _, r, n in wanted]
        ids = torch.from_numpy(padded(rows, self.tokenizer.pad_token_id or 0)).to(device)
        mask = torch.from_numpy(length_mask([len(row) for row in rows])).to(device)
        with torch.inference_mode():
            logits = self.module(input_ids=ids, attention_mask=mask).logits
            row = torch.tensor([c for c, _, _ in wanted], device=device)
            column = torch.tensor([batch[r].scored[n] for _, r, n in wanted], device=device)
            values = gathered(logits[row, column], torch.tensor(targets, device=device))
        for (_, r, n), value in zip(wanted, values.cpu().numpy(), strict=True):
            out[r][n] = value


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
