"""Causal language models (GPT, GPT-2, Llama, …): Σ log p(tᵢ | t₍<ᵢ₎)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, Settled
from boxpen.models.hf import TransformersModel, gathered, length_mask, padded
from boxpen.models.tokens import pieces
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

__all__ = ["CausalModel"]


class CausalModel(TransformersModel):
    """A left-to-right language model.

    What the logits at one position say of the next token (BOS present):

        position   0     1     2     3
        input      BOS   the   box   is
        logits at  0 ->  the
                         1 ->  box
                               2 ->  is
        scored           the   box   is

    Without BOS nothing predicts the first token, and it stays unscored.
    """

    kind = "causal"

    def settle(self, policy: ScoringPolicy) -> Settled:
        """Resolve a policy for this model."""
        has_bos = self.tokenizer.bos_token_id is not None
        if policy.bos == "always" and not has_bos:
            raise ModelError(f"{self.name} has no BOS token; use --bos never")
        if policy.eos == "always" and self.tokenizer.eos_token_id is None:
            raise ModelError(f"{self.name} has no EOS token; use --eos never")
        return Settled(
            bos=has_bos if policy.bos == "auto" else policy.bos == "always",
            eos=policy.eos == "always",
            max_length=self.limit(policy.max_length),
        )

    def encode(self, requests: Sequence[Request], settled: Settled) -> list[Encoded]:
        """Turn requests into tokens."""
        assert settled.max_length is not None
        bos, eos = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        out = []
        for p in pieces(self.tokenizer, requests):
            doubled = bool(p.ids) and p.ids[0] == bos
            before = (bos,) if settled.bos and not doubled else ()
            after = (eos,) if settled.eos else ()
            out.append(self.framed(p, before, after, settled.max_length, first=1, score_after=True))
        return out

    def cost(self, encoded: Encoded, settled: Settled) -> int:  # noqa: ARG002
        """Return how many tokens are read."""
        return max(1, len(encoded.ids) - 1)

    def logprobs(self, batch: Sequence[Encoded], settled: Settled) -> list[NDArray[np.float32]]:  # noqa: ARG002
        """Score a batch padded on the right, where causal attention cannot see the padding."""
        import torch

        device = self.device
        # Nothing is predicted from the last token, so it need not be read.
        rows = [e.ids[:-1] or e.ids for e in batch]
        ids = torch.from_numpy(padded(rows, 0)).to(device)  # (batch, time)
        mask = torch.from_numpy(length_mask([len(r) for r in rows])).to(device)
        row = torch.tensor([r for r, e in enumerate(batch) for _ in e.scored], device=device)
        column = torch.tensor([i for e in batch for i in e.scored], device=device)
        targets = torch.tensor([e.ids[i] for e in batch for i in e.scored], device=device)
        if len(row) == 0:
            return [np.zeros(0, dtype=np.float32) for _ in batch]
        with torch.inference_mode():
            logits = self.module(input_ids=ids, attention_mask=mask, use_cache=False).logits
            # The token at `column` is predicted by the logits one position before it.
            values = gathered(logits[row, column - 1], targets)
        flat = values.cpu().numpy()
        ends = np.cumsum([len(e.scored) for e in batch])[:-1]
        return list(np.split(flat, ends))
