"""Permutation language models (XLNet): each token predicted from all the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from boxpen.models.base import Encoded, Settled
from boxpen.models.hf import TransformersModel, gathered, length_mask, padded
from boxpen.models.masked import special_frame
from boxpen.models.tokens import pieces
from boxpen.scoring.batching import batches
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

__all__ = ["PermutedModel"]


class PermutedModel(TransformersModel):
    """XLNet: ``perm_mask`` hides the target from every query, ``target_mapping`` selects it."""

    kind = "permuted"

    def settle(self, policy: ScoringPolicy) -> Settled:
        """Resolve a policy for this model; the pseudo-log-likelihood variants do not apply."""
        return Settled(max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], settled: Settled) -> list[Encoded]:
        """Turn requests into tokens."""
        assert settled.max_length is not None
        before, after = special_frame(self.tokenizer)
        return [
            self.framed(p, before, after, settled.max_length)
            for p in pieces(self.tokenizer, requests)
        ]

    def logprobs(self, batch: Sequence[Encoded], settled: Settled) -> list[NDArray[np.float32]]:  # noqa: ARG002
        """Score a batch; its targets are run a token budget at a time."""
        out = [np.zeros(len(e.scored), dtype=np.float32) for e in batch]
        targets = [(r, n) for r, e in enumerate(batch) for n in range(len(e.scored))]
        lengths = [len(batch[r].ids) for r, _ in targets]
        for part in batches(lengths, budget=self.token_budget, size=self.batch_size):
            self._run([targets[i] for i in part], batch, out)
        return out

    def _run(
        self,
        targets: Sequence[tuple[int, int]],
        batch: Sequence[Encoded],
        out: list[NDArray[np.float32]],
    ) -> None:
        import torch

        device = self.device
        rows = [batch[r].ids for r, _ in targets]
        columns = [batch[r].scored[n] for r, n in targets]
        ids = torch.from_numpy(padded(rows, self.tokenizer.pad_token_id or 0)).to(device)
        mask = torch.from_numpy(length_mask([len(row) for row in rows])).to(device)
        count, width = ids.shape
        dtype = self.module.dtype
        hidden = torch.zeros((count, width, width), device=device, dtype=dtype)
        mapping = torch.zeros((count, 1, width), device=device, dtype=dtype)
        for row, column in enumerate(columns):
            hidden[row, :, column] = 1.0
            mapping[row, 0, column] = 1.0
        # XLNet makes its position encodings in float32 whatever its weights are.
        half = torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32)
        with torch.inference_mode(), half:
            logits = self.module(
                input_ids=ids,
                attention_mask=mask.to(dtype),
                perm_mask=hidden,
                target_mapping=mapping,
                use_mems=False,
            ).logits[:, 0]  # (targets, vocab)
            wanted = ids[torch.arange(count), torch.tensor(columns, device=device)]
            values = gathered(logits, wanted)
        for (r, n), value in zip(targets, values.cpu().numpy(), strict=True):
            out[r][n] = value
