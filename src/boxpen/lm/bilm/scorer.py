"""Bidirectional language models (ELMo): the mean of a forward and a backward model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import ModelError
from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.hf import TransformersModel, length_mask, padded
from boxpen.models.tokens import pieces
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

if TYPE_CHECKING:
    import torch

__all__ = ["BidirectionalModel"]


class BidirectionalModel(TransformersModel):
    """A forward and a backward language model over the same tokens.

    The score of a token is the mean of its two log-probabilities: with the norm ``token``, that of
    a sentence is log (∏ p→(wᵢ) p←(wᵢ))^(1/2n), which orders sentences as the n-th root of the
    product does (Wang et al. 2019).

        read       <S>   the   box   </S>
        p→               the   box  (</S>)     from what comes before
        p←        (<S>)  the   box             from what comes after

    Where the end of a sentence is scored, its score is the mean of the two in brackets. <S> and
    </S> are always read; a policy's BOS does not apply.
    """

    kind = "bidirectional"

    @cached_property
    def module(self) -> Any:
        """The PyTorch module."""
        module = super().module
        tokens = max(self.tokenizer.get_vocab().values(), default=0) + 1
        if tokens != module.config.vocab_size:
            raise ModelError(
                f"the tokenizer of {self.name} has {tokens} tokens, its softmax "
                f"{module.config.vocab_size}: they do not belong together"
            )
        for role in ("bos", "eos", "unk"):
            known, said = (getattr(o, f"{role}_token_id") for o in (self.tokenizer, module.config))
            if known != said:
                raise ModelError(
                    f"the {role} token of {self.name} is {said}, that of its tokenizer {known}: "
                    "they do not belong together"
                )
        return module

    def bounded(self, tokens: int) -> int:
        """Return how many tokens may be run at a time: all, since the softmax runs in tiles."""
        return tokens

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model."""
        return ResolvedPolicy(eos=policy.eos == "always", max_length=self.limit(policy.max_length))

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into tokens, and words into characters."""
        assert policy.max_length is not None
        before, after = (self.tokenizer.bos_token_id,), (self.tokenizer.eos_token_id,)
        out = [
            self.framed(p, before, after, policy.max_length, score_after=bool(policy.eos))
            for p in pieces(self.tokenizer, requests)
        ]
        return out if self._longest is None else self._spelt(requests, out)

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score requests in batches of similar length."""

        def run(few: Sequence[int]) -> torch.Tensor:
            return self._scored([encoded[i] for i in few])

        lengths = [len(e.ids) for e in encoded]
        self.tally.add(tokens=sum(lengths), nodes=sum(lengths))
        self.engine = "both directions, batches of like length"
        for few, values in self.in_batches(range(len(encoded)), lengths, run):
            ends = np.cumsum([len(encoded[i].scored) for i in few])[:-1]
            yield list(zip(few, np.split(values.cpu().numpy(), ends), strict=True))

    @cached_property
    def _longest(self) -> int | None:
        """How many characters of a word the model reads; None if it reads pieces."""
        from boxpen.lm.bilm.vocabulary import max_characters

        config = self.config
        spelt = max_characters(self.tokenizer)
        if (config.input == "characters") != (spelt is not None):
            raise ModelError(
                f"model '{self.name}' reads {config.input}, its tokenizer "
                f"{'characters' if spelt else 'pieces'}: they do not belong together"
            )
        if spelt is not None and spelt != config.max_characters:
            raise ModelError(
                f"model '{self.name}' reads words of {config.max_characters} characters, its "
                f"tokenizer writes {spelt}: they do not belong together"
            )
        return spelt

    def _spelt(self, requests: Sequence[Request], encoded: Sequence[Encoded]) -> list[Encoded]:
        """Return requests with the characters of their words, by which unknown ones differ."""
        from boxpen.lm.bilm.characters import BEGIN, END
        from boxpen.lm.bilm.vocabulary import spellings

        texts = [r.prefix + r.text for r in requests]
        out = []
        for e, words in zip(encoded, spellings(self.tokenizer, texts), strict=True):
            kept = words[len(words) - (len(e.ids) - 2) :]  # cut from the left, as the tokens were
            row = (c for word in (BEGIN, *kept, END) for c in word)
            out.append(e._replace(source=tuple(row)))
        return out

    def _scored(self, batch: Sequence[Encoded]) -> torch.Tensor:
        """Return the scores of all scored tokens of a batch, one after the other."""
        import torch

        from boxpen.lm.bilm.characters import spelt, words_of

        read = padded([e.ids for e in batch], 0)
        labels = np.full_like(read, -100)
        for row, e in enumerate(batch):
            labels[row, list(e.scored)] = e.targets
        if self._longest is not None:
            read = spelt([list(words_of(e.source)) for e in batch], self._longest)
        arrays = {
            "input_ids": read,
            "attention_mask": length_mask([len(e.ids) for e in batch]),
            "labels": labels,
        }
        moved = {k: torch.from_numpy(v).to(self.device) for k, v in arrays.items()}
        with torch.inference_mode():
            found = self.module(**moved, output_log_probabilities=True)
        rows = [row for row, e in enumerate(batch) for _ in e.scored]
        columns = [column for e in batch for column in e.scored]
        lasts = [len(e.ids) - 1 for e in batch for _ in e.scored]
        # Where the forward model predicts the end, the backward model predicts the beginning.
        turned = [0 if c == last else c for c, last in zip(columns, lasts, strict=True)]
        forwards: torch.Tensor = found.forward_log_probabilities[rows, columns]
        backwards: torch.Tensor = found.backward_log_probabilities[rows, turned]
        return ((forwards + backwards) / 2).float()
