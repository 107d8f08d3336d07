"""Context-aware translation models: Σ log p(tᵢ | t₍<ᵢ₎, source, context)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.engine.head import Head, float_logits
from boxpen.models.hf import padded, whole_log_probabilities
from boxpen.models.seq2seq import Seq2SeqModel
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

    from boxpen.nmt.reading import Reading, Row

__all__ = ["ContextualModel"]


class ContextualModel(Seq2SeqModel):
    """A translation model of ``boxpen.nmt.context``.

    What its decoder reads depends on source and context together, in a different way for each
    architecture, so each request is run as a whole: no source is encoded once for several targets.
    """

    reads_context = True

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into tokens of source, context and target."""
        self.require_sources(requests)
        rows = self._reading.rows(
            [request.source or "" for request in requests],
            [request.context or "" for request in requests],
        )
        labels = self.tokenizer(text_target=[r.text for r in requests], verbose=False)["input_ids"]
        found = []
        for row, target in zip(rows, labels, strict=True):
            plain = self._encoded(row.source, target, policy)
            found.append(
                plain._replace(
                    context=tuple(row.context),
                    aside=tuple(row.aside),
                    truncated=plain.truncated or row.cut,
                )
            )
        return found

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score requests, each with its source and its context."""
        import torch

        self.engine = "each target with its source and its context"
        read = [self._decoder_input(e.ids)[: e.scored[-1] + 1] for e in encoded]
        lengths = [
            len(e.source) + len(e.context) + len(e.aside) + len(ids)
            for e, ids in zip(encoded, read, strict=True)
        ]
        self.tally.add(tokens=sum(lengths), nodes=sum(lengths))

        def run(few: Sequence[int]) -> torch.Tensor:
            rows = [_row(encoded[i]) for i in few]
            inputs = self._reading.tensors(rows, self.device)
            ids = padded([read[i] for i in few], self.tokenizer.pad_token_id or 0)
            wanted = [
                place * ids.shape[1] + position
                for place, i in enumerate(few)
                for position in encoded[i].scored
            ]
            targets = [token for i in few for token in encoded[i].targets]
            with torch.inference_mode(), float_logits(self.module):
                logits = self.module(
                    **inputs,
                    decoder_input_ids=torch.from_numpy(ids).to(self.device),
                    use_cache=False,
                ).logits.flatten(0, 1)
            return whole_log_probabilities(logits, np.asarray(wanted), np.asarray(targets))

        for few, values in self.in_batches(range(len(encoded)), lengths, run):
            sizes = [len(encoded[i].scored) for i in few]
            parts = np.split(values.float().cpu().numpy(), np.cumsum(sizes)[:-1])
            yield list(zip(few, parts, strict=True))

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],  # noqa: ARG002
        *,
        beam: int,
        contexts: Sequence[str] | None = None,
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate by beam search, yielding batches of (index, translation)."""
        import torch

        from boxpen.models.engine.beam_search import search_options

        rows = self._reading.rows(sources, contexts)

        def run(most: int, few: Sequence[int]) -> list[str]:
            inputs = self._reading.tensors([rows[i] for i in few], self.device)
            with torch.inference_mode():
                made = self.module.generate(
                    **inputs,
                    num_beams=beam,
                    do_sample=False,
                    max_length=None,
                    max_new_tokens=most,
                    **search_options(self.module, beam),
                )
            return list(self.tokenizer.batch_decode(made, skip_special_tokens=True))

        lengths = [len(row.source) for row in rows]
        yield from self.searched(
            lengths, [len(row) * beam for row in rows], self._reading.limit, run
        )

    @cached_property
    def _parts(self) -> tuple[Any, Head | None]:
        """The whole module: what follows its decoder is not taken off."""
        return self.module, None

    @cached_property
    def _reading(self) -> Reading:
        from boxpen.nmt.reading import Reading

        return Reading(self.module, self.tokenizer)


def _row(encoded: Encoded) -> Row:
    from boxpen.nmt.reading import Row

    return Row(list(encoded.source), list(encoded.context), list(encoded.aside), longest=0)
