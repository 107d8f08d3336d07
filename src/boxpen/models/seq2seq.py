"""Encoder-decoder models (Marian, mBART, NLLB, T5, …): Σ log p(tᵢ | t₍<ᵢ₎, source)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, Settled
from boxpen.models.hf import TransformersModel, gathered, length_mask, padded
from boxpen.models.languages import language_code, special_tokens, two_letter
from boxpen.scoring.batching import batches
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

__all__ = ["Seq2SeqModel"]


class Seq2SeqModel(TransformersModel):
    """A model with an encoder for the source and a decoder for the target.

    The target is tokenised as a target. Its tokens are the labels; the decoder reads them shifted
    by one behind its start token, as the model's own training did:

        decoder input   <start>  [lang]  The   box
        label           [lang]   The     box   </s>
        scored                   The     box   (</s>)

    Language tokens are never scored; the end of the sequence is, unless ``eos`` says never.
    """

    kind = "seq2seq"
    encoder = True

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        pair = [getattr(self.tokenizer, f"{side}_lang", None) for side in ("source", "target")]
        if all(isinstance(code, str) and code for code in pair):  # Marian names its pair
            self.direction = (two_letter(str(pair[0])), two_letter(str(pair[1])))
            self.languages = frozenset(self.direction)

    def cost(self, encoded: Encoded, settled: Settled) -> int:  # noqa: ARG002
        """Return a bound of what the two sides take, each padded on its own."""
        return 2 * max(len(encoded.ids), len(encoded.source))

    def settle(self, policy: ScoringPolicy) -> Settled:
        """Resolve a policy for this model."""
        return Settled(eos=policy.eos != "never", max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], settled: Settled) -> list[Encoded]:
        """Turn requests into source and target tokens."""
        self.require_sources(requests)
        out: list[Encoded | None] = [None] * len(requests)
        for languages in dict.fromkeys(r.languages for r in requests):
            members = [i for i, r in enumerate(requests) if r.languages == languages]
            before = self._tell(languages)
            sources = [before + (requests[i].source or "") for i in members]
            targets = [requests[i].text for i in members]
            source_ids = self.tokenizer(sources, verbose=False)["input_ids"]
            labels = self.tokenizer(text_target=targets, verbose=False)["input_ids"]
            for i, source, target in zip(members, source_ids, labels, strict=True):
                out[i] = self._encoded(source, target, settled)
        return [e for e in out if e is not None]

    def _encoded(self, source: list[int], labels: list[int], settled: Settled) -> Encoded:
        assert settled.max_length is not None
        limit = settled.max_length
        eos = self.tokenizer.eos_token_id
        truncated = len(source) > limit or len(labels) > limit
        source, labels = _cut(source, limit), _cut(labels, limit)
        last_eos = max((i for i, t in enumerate(labels) if t == eos), default=-1)
        scored = tuple(
            i
            for i, token in enumerate(labels)
            if token not in self._special or (settled.eos and i == last_eos)
        )
        return Encoded(
            ids=tuple(labels),
            scored=scored,
            source=tuple(source),
            unknown=0 if self._unk is None else labels.count(self._unk),
            truncated=truncated,
        )

    def logprobs(self, batch: Sequence[Encoded], settled: Settled) -> list[NDArray[np.float32]]:  # noqa: ARG002
        """Score a batch padded on the right, on both sides."""
        import torch

        device = self.device
        pad = self.tokenizer.pad_token_id or 0
        inputs = [self._decoder_input(e.ids) for e in batch]
        tensors = {
            "input_ids": padded([e.source for e in batch], pad),
            "attention_mask": length_mask([len(e.source) for e in batch]),
            "decoder_input_ids": padded(inputs, pad),
            "decoder_attention_mask": length_mask([len(i) for i in inputs]),
        }
        row = torch.tensor([r for r, e in enumerate(batch) for _ in e.scored], device=device)
        column = torch.tensor([i for e in batch for i in e.scored], device=device)
        targets = torch.tensor([e.ids[i] for e in batch for i in e.scored], device=device)
        if len(row) == 0:
            return [np.zeros(0, dtype=np.float32) for _ in batch]
        with torch.inference_mode():
            moved = {k: torch.from_numpy(v).to(device) for k, v in tensors.items()}
            logits = self.module(**moved, use_cache=False).logits  # (batch, time, vocab)
            values = gathered(logits[row, column], targets)
        ends = np.cumsum([len(e.scored) for e in batch])[:-1]
        return list(np.split(values.cpu().numpy(), ends))

    def can_translate(self) -> bool:
        """Whether the model can also produce translations."""
        return True

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],
        *,
        beam: int,
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate by beam search, yielding batches of (index, translation)."""
        import torch

        before = self._tell(languages)
        ids = self.tokenizer([before + s for s in sources], verbose=False)["input_ids"]
        limit = self.limit(None)
        forced: dict[str, Any] = {}
        if _multilingual(self.tokenizer):
            code = language_code(self.tokenizer, languages[1], self.name)
            forced["forced_bos_token_id"] = _language_id(self.tokenizer, code)
        lengths = [len(i) * beam for i in ids]
        for part in batches(lengths, budget=self.token_budget, size=self.batch_size):
            rows = [_cut(ids[i], limit) for i in part]
            width = max(len(r) for r in rows)
            with torch.inference_mode():
                made = self.module.generate(
                    input_ids=torch.from_numpy(padded(rows, self.tokenizer.pad_token_id or 0)).to(
                        self.device
                    ),
                    attention_mask=torch.from_numpy(length_mask([len(r) for r in rows])).to(
                        self.device
                    ),
                    num_beams=beam,
                    do_sample=False,
                    max_length=None,
                    max_new_tokens=min(limit - 1, 3 * width + 20),
                    **forced,
                )
            texts = self.tokenizer.batch_decode(made, skip_special_tokens=True)
            yield [(i, text.strip()) for i, text in zip(part, texts, strict=True)]

    def _tell(self, languages: tuple[str | None, str | None]) -> str:
        """Set the languages of a multilingual tokenizer; return what goes before the source."""
        source, target = languages
        if _multilingual(self.tokenizer):
            self.tokenizer.src_lang = language_code(self.tokenizer, source, self.name)
            self.tokenizer.tgt_lang = language_code(self.tokenizer, target, self.name)
        tasks = getattr(self.config, "task_specific_params", None) or {}
        task = tasks.get(f"translation_{source}_to_{target}", {})
        return str(task.get("prefix", ""))

    def _decoder_input(self, labels: tuple[int, ...]) -> list[int]:
        import torch

        shift = getattr(self.module, "prepare_decoder_input_ids_from_labels", None)
        if shift is not None:
            shifted: list[int] = shift(torch.tensor([labels]))[0].tolist()
            return shifted
        start = self.module.config.decoder_start_token_id
        if start is None:
            start = self.module.generation_config.decoder_start_token_id
        if start is None:
            raise ModelError(f"{self.name} names no token for its decoder to start with")
        return [start, *labels[:-1]]


def _cut(ids: list[int], limit: int) -> list[int]:
    """Cut a sequence before its end, where EOS and language tokens stand."""
    return ids if len(ids) <= limit else ids[: limit - 2] + ids[-2:]


def _multilingual(tokenizer: Any) -> bool:
    return hasattr(tokenizer, "src_lang") and hasattr(tokenizer, "set_src_lang_special_tokens")


def _language_id(tokenizer: Any, code: str) -> int:
    special = special_tokens(tokenizer)
    return special[code] if code in special else special[f"__{code}__"]
