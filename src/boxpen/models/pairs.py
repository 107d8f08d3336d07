"""Models that read two texts and answer with a few numbers: classifiers and multiple choice.

The two texts are put together by the model's own tokenizer, with the separators and token types it
was trained on. A pair that is too long is cut where it is longest, and flagged.

Not every architecture can be padded: some take the last column of a row for the last token. A few
made-up rows are run padded and alone before the first batch; if the two differ, only rows of one
length are run together.
"""

from __future__ import annotations

import contextlib
import inspect
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.engine.probe import tolerance
from boxpen.models.hf import TransformersModel, length_mask, padded
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

__all__ = ["ChoiceModel", "PairModel"]


class PairModel(TransformersModel):
    """A model that answers a pair of texts with numbers, ``labels`` of them.

    A subclass defines how logits become these numbers (``values``).
    """

    pairs = True
    outputs: tuple[int, ...]

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model."""
        return ResolvedPolicy(max_length=self.limit(policy.max_length))

    @abstractmethod
    def values(self, logits: torch.Tensor) -> torch.Tensor:
        """Return what is kept of float32 logits, (batch, outputs)."""

    def bounded(self, tokens: int) -> int:
        """Return how many tokens may be run at a time: all, since there are few logits."""
        return tokens

    def token_texts(self, ids: Sequence[int]) -> list[str]:  # noqa: ARG002
        """Return nothing: pairs are scored as a whole, not by token."""
        return []

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn pairs into tokens; a request without a prefix is a single text."""
        assert policy.max_length is not None
        out: list[Encoded | None] = [None] * len(requests)
        for paired in (True, False):
            few = [i for i, r in enumerate(requests) if bool(r.prefix) == paired]
            for i, encoded in zip(few, self._encoded([requests[i] for i in few]), strict=True):
                out[i] = encoded
        for i, one in enumerate(out):
            assert one is not None
            if len(one.ids) > policy.max_length:
                (cut,) = self._encoded([requests[i]], policy.max_length)
                out[i] = cut._replace(truncated=True)
        return [one for one in out if one is not None]

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score pairs, those of similar length together."""
        self.engine = "pairs of texts, batched by length"
        lengths = [len(e.ids) for e in encoded]
        self.tally.add(tokens=sum(lengths), nodes=sum(lengths))
        for few in self._groups(encoded):
            found = self.in_batches(
                few,
                [lengths[i] for i in few],
                lambda part: self._answers([encoded[i] for i in part]),
            )
            for part, values in found:
                rows = values.cpu().numpy().astype(np.float32)
                yield [(i, row) for i, row in zip(part, rows, strict=True)]

    def _encoded(self, requests: Sequence[Request], limit: int | None = None) -> Iterator[Encoded]:
        """Tokenise requests that all have a prefix, or all have none."""
        if not requests:
            return
        texts = [r.text for r in requests]
        both = ([r.prefix for r in requests], texts) if requests[0].prefix else (texts,)
        cut = {} if limit is None else {"truncation": "longest_first", "max_length": limit}
        try:
            made = self.tokenizer(*both, return_attention_mask=False, verbose=False, **cut)
        except Exception as error:
            if limit is None:
                raise
            raise ModelError(
                f"model '{self.name}' cannot read a pair in {limit} tokens ({error}); a larger "
                "--max-length helps"
            ) from None
        types = made.get("token_type_ids", [()] * len(requests))
        for ids, kinds in zip(made["input_ids"], types, strict=True):
            unknown = 0 if self._unk is None else ids.count(self._unk)
            yield Encoded(
                ids=tuple(ids),
                scored=range(len(self.outputs)),
                unknown=unknown,
                types=tuple(kinds),
                labels=self.outputs,
            )

    def _groups(self, encoded: Sequence[Encoded]) -> list[list[int]]:
        """Return the requests that may be padded to one length, group by group."""
        end = self.config.eos_token_id if self.config.is_encoder_decoder else None
        groups: dict[tuple[int, int], list[int]] = {}
        for i, one in enumerate(encoded):
            # Encoder-decoders look for the last end of text, and want as many in every row.
            ends = one.ids.count(end) if isinstance(end, int) else 0
            groups.setdefault((ends, 0 if self._pads else len(one.ids)), []).append(i)
        return list(groups.values())

    @cached_property
    def _pads(self) -> bool:
        """Whether a row gives the same numbers when it is filled up beside a longer one."""
        import torch

        usual = self.probe_ids()[0].tolist()
        end = self.config.eos_token_id
        last = (end,) if isinstance(end, int) else ()
        types = (0,) if self._takes_types else ()
        rows = [
            Encoded(ids=(*usual[:n], *last), scored=(), types=types * (n + len(last)))
            for n in (len(usual), max(1, len(usual) - 3), len(usual) - 1)
        ]
        together = self._answers(rows)
        alone = torch.cat([self._answers([row]) for row in rows])
        return bool((together - alone).abs().max() <= tolerance(self.module.dtype))

    @cached_property
    def _takes_types(self) -> bool:
        """Whether the module is told which text a token is of."""
        takes = inspect.signature(self.module.forward).parameters
        return "token_type_ids" in takes

    def _answers(self, rows: Sequence[Encoded]) -> torch.Tensor:
        """Run rows, padded on the right, and return their values, (batch, outputs)."""
        import torch

        ids = [row.ids for row in rows]
        config = self.module.config.get_text_config()  # the one that the module looks at
        pad = config.pad_token_id
        fill = _unused(ids) if pad is None or pad < 0 else pad
        arrays = {"input_ids": padded(ids, fill), "attention_mask": length_mask([*map(len, ids)])}
        if self._takes_types and all(row.types for row in rows) and self._has_types(rows):
            arrays["token_type_ids"] = padded([row.types for row in rows], 0)
        inputs = {name: torch.from_numpy(a).to(self.device) for name, a in arrays.items()}
        with torch.inference_mode(), _padding(config, fill):
            return self.values(self._logits(inputs).float())

    def _logits(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the logits of a batch, (batch, outputs)."""
        logits: torch.Tensor = self.module(**inputs).logits
        return logits

    def _has_types(self, rows: Sequence[Encoded]) -> bool:
        """Whether the model has an embedding for every type that a tokenizer made."""
        known = getattr(self.config, "type_vocab_size", None)
        return known is None or max(max(row.types) for row in rows) < known


class ChoiceModel(PairModel):
    """A multiple-choice model: one logit per candidate, preceded by its context if there is one.

    Two forms are in use: ``…ForMultipleChoice``, and ``…ForSequenceClassification`` with one
    output. Candidates are scored one by one; the best logit wins, as with a softmax over them.
    """

    kind = "choice"
    outputs = (0,)

    def values(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the logits themselves."""
        return logits

    def _logits(self, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        if type(self.module).__name__.endswith("ForMultipleChoice"):
            inputs = {name: array.unsqueeze(1) for name, array in inputs.items()}
        return super()._logits(inputs)  # (batch, 1)


def _unused(rows: Sequence[Sequence[int]]) -> int:
    """Return the smallest token that does not occur in any row."""
    used = {token for row in rows for token in row}
    return next(token for token in range(len(used) + 1) if token not in used)


@contextlib.contextmanager
def _padding(config: Any, fill: int) -> Iterator[None]:
    """Tell a decoder for a while which token is none, so that it finds the last that is one."""
    before, config.pad_token_id = config.pad_token_id, fill
    try:
        yield
    finally:
        config.pad_token_id = before
