"""Permutation language models (XLNet): each token predicted from all the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.copies import Copy, Wanted, run_copies
from boxpen.models.engine.head import Head
from boxpen.models.hf import (
    TransformersModel,
    length_mask,
    padded,
    whole_log_probabilities,
)
from boxpen.models.masked import special_frame
from boxpen.models.tokens import pieces
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

__all__ = ["PermutedModel"]


class PermutedModel(TransformersModel):
    """XLNet: ``perm_mask`` hides the target from every query, ``target_mapping`` selects it."""

    kind = "permuted"

    @cached_property
    def _parts(self) -> tuple[Any, Head | None]:
        with self._autocast():
            found: tuple[Any, Head | None] = super()._parts
            return found

    def _autocast(self) -> Any:
        """Return what lets halves meet XLNet's position encodings, which are float32 always."""
        import torch

        dtype = self.module.dtype
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype != torch.float32)

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model; the pseudo-log-likelihood variants do not apply."""
        return ResolvedPolicy(max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into tokens."""
        assert policy.max_length is not None
        before, after = special_frame(self.tokenizer)
        return [
            self.framed(p, before, after, policy.max_length)
            for p in pieces(self.tokenizer, requests)
        ]

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score requests by copies in which one token is hidden."""

        def copies(e: Encoded) -> Iterator[tuple[Copy, Sequence[int]]]:
            for n, column in enumerate(e.scored):
                yield Copy(e.ids, column), (n,)

        self.engine = "permuted copies, equal ones once"
        return run_copies(self, encoded, copies, self._run)

    def _run(self, batch: Sequence[Copy], wanted: Sequence[Wanted]) -> torch.Tensor:
        import torch

        device, dtype = self.device, self.module.dtype
        ids = torch.from_numpy(padded([c.ids for c in batch], self.tokenizer.pad_token_id or 0))
        mask = torch.from_numpy(length_mask([len(c.ids) for c in batch]))
        count, width = ids.shape
        rows = torch.arange(count, device=device)
        columns = torch.tensor([c.hidden for c in batch], device=device)
        hidden = torch.zeros((count, width, width), device=device, dtype=dtype)
        hidden[rows, :, columns] = 1.0
        mapping = torch.zeros((count, 1, width), device=device, dtype=dtype)
        mapping[rows, 0, columns] = 1.0
        given = {
            "input_ids": ids.to(device),
            "attention_mask": mask.to(device, dtype),
            "perm_mask": hidden,
            "target_mapping": mapping,
            "use_mems": False,
        }
        row, _, target = np.array(wanted, dtype=np.int64).T
        with torch.inference_mode():
            if self.head is None:
                with self._autocast():
                    logits = self.module(**given).logits[:, 0]  # (copies, vocab)
                return whole_log_probabilities(logits, row, target)
            with self._autocast():
                states = self.body(**given)[0][:, 0]  # (copies, width)
            return self.head.log_probabilities(states.to(dtype), row, target.copy())
