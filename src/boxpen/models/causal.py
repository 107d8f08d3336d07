"""Causal language models (GPT, GPT-2, Llama, …): Σ log p(tᵢ | t₍<ᵢ₎)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.ahead import Turns, ahead
from boxpen.errors import ModelError
from boxpen.models.base import Encoded, ResolvedPolicy, Scores
from boxpen.models.engine.chat import answers, chat_prompt
from boxpen.models.engine.head import float_logits
from boxpen.models.engine.memory import within
from boxpen.models.engine.packed import PackedDecoder
from boxpen.models.engine.packs import Pack, Reading, packs
from boxpen.models.engine.probe import counts_along_the_row, fault, scales_by_length, window
from boxpen.models.hf import TransformersModel, length_mask, padded
from boxpen.models.tokens import pieces
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request
from boxpen.scoring.tree import Tree

if TYPE_CHECKING:
    import torch

__all__ = ["CausalModel"]

_SLICE = 4096  # texts of one tree on a GPU
_ALIGNED = 8  # a GPU reads rows of masks in units of 16 bytes


class CausalModel(TransformersModel):
    """A left-to-right language model.

    What the logits at one position say of the next token (BOS present):

        position   0     1     2     3
        input      BOS   the   box   is
        logits at  0 ->  the
                         1 ->  box
                               2 ->  is
        scored           the   box   is

    Without BOS nothing predicts the first token, and it stays unscored. Nothing is predicted from
    the last token, so it is not read.

    All texts of a run are scored as one prefix tree, cut into packs. An architecture that fails
    the self-check is run in padded batches, as is a text longer than a sliding window.
    """

    kind = "causal"

    @property
    def first_chunk(self) -> int:
        """How many texts are tokenised before the first are scored."""
        # A GPU would wait for them; texts that begin alike are neighbours in any case.
        return _SLICE // 4 if self.device_type == "cuda" else super().first_chunk

    @cached_property
    def turns(self) -> Turns | None:
        """Those of the threads that keep a GPU busy."""
        return Turns() if self.device_type == "cuda" else None

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model."""
        has_bos = self.tokenizer.bos_token_id is not None
        if policy.bos == "always" and not has_bos:
            raise ModelError(f"{self.name} has no BOS token; use --bos never")
        if policy.eos == "always" and self.tokenizer.eos_token_id is None:
            raise ModelError(f"{self.name} has no EOS token; use --eos never")
        return ResolvedPolicy(
            bos=has_bos if policy.bos == "auto" else policy.bos == "always",
            eos=policy.eos == "always",
            max_length=self.limit(policy.max_length),
        )

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into tokens."""
        assert policy.max_length is not None
        bos, eos = self.tokenizer.bos_token_id, self.tokenizer.eos_token_id
        out = []
        for p in pieces(self.tokenizer, requests):
            doubled = bool(p.ids) and p.ids[0] == bos
            before = (bos,) if policy.bos and not doubled else ()
            after = (eos,) if policy.eos else ()
            out.append(self.framed(p, before, after, policy.max_length, first=1, score_after=True))
        return out

    def cannot_answer(self, asks: str = "text") -> str | None:  # noqa: ARG002
        """Return why the model cannot be asked questions: it has no chat template."""
        if getattr(self.tokenizer, "chat_template", None):
            return None
        return f"'{self.name}' has no chat template; it was not trained to answer"

    def chat_prompt(self, question: str) -> str:
        """Return a question in the chat template of the model."""
        return chat_prompt(self, question)

    def answer(self, questions: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
        """Answer questions greedily."""
        return answers(self, questions)

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:  # noqa: ARG002
        """Score requests as one tree, or in padded batches where that cannot be."""
        # A GPU would wait for a large tree to be made. Neighbours stay together, so that hardly
        # anything is shared across the cuts.
        step = _SLICE if self.device.type == "cuda" else len(encoded)
        return self._run(encoded[i : i + step] for i in range(0, len(encoded), step))

    def stream(
        self, chunks: Iterable[Sequence[Encoded]], policy: ResolvedPolicy
    ) -> Iterator[Scores]:
        """Score requests that are still being tokenised, a tree for every chunk of them."""
        if self.deterministic:
            yield from super().stream(chunks, policy)
        elif self.turns is not None:  # the thread that makes packs asks for the texts of each
            yield from self._run(chunks)
        else:
            tokenised = ahead(chunks, depth=1)
            with contextlib.closing(tokenised):
                yield from self._run(tokenised)

    @cached_property
    def _decoder(self) -> PackedDecoder | None:
        """The module as a decoder of trees, if it passes the self-check."""
        if self.head is None:
            self.engine = f"padded batches: {self.name} does not show its hidden states"
            return None
        decoder = PackedDecoder(
            self.body,
            self.head,
            self.device,
            self.module.dtype,
            flex=self.device.type == "cuda" and getattr(self.body, "_supports_flex_attn", False),
        )
        about = {
            "vocabulary": self.vocabulary,
            "special": self._special,
            "dtype": self.module.dtype,
        }
        reason = (
            "its window is counted along the row"
            if counts_along_the_row(self.config)
            else fault(decoder, self._alone, **about)
        )
        if reason is not None:
            self.engine = f"padded batches: {reason}"
            return None
        self._stems = fault(decoder, self._alone, stems=True, **about) is None
        self.engine = "prefix tree" if self._stems else "prefix tree without stems"
        return decoder

    def _alone(self, ids: Sequence[int]) -> torch.Tensor:
        import torch

        row = torch.tensor([ids], device=self.device)
        with float_logits(self.module):
            logits: torch.Tensor = self.module(input_ids=row, use_cache=False).logits[0]
        return logits

    def _run(self, chunks: Iterable[Sequence[Encoded]]) -> Iterator[Scores]:
        decoder = self._decoder
        if decoder is None:
            every = [e for chunk in chunks for e in chunk]
            yield from self._run_padded(every, range(len(every)))
            return
        texts = _Texts(chunks, window(self.config) or self.limit(None))
        counted: set[int] = set()

        def split(
            chunks: Iterable[Sequence[int]], tokens: int
        ) -> Iterator[tuple[Sequence[int], int, Pack]]:
            for pack in packs(
                texts.readings,
                ((few, grown(few)) for few in chunks),
                tokens,
                limit=self.limit(None),
                size=self.batch_size,
                stems=self._stems,
                align=_ALIGNED if self.device.type == "cuda" else 1,
            ):
                yield pack.members, pack.computed, pack

        def grown(few: Sequence[int]) -> Tree:
            tree = Tree([texts.readings[i].tokens for i in few])
            if few[0] not in counted:  # and not again what is cut up for lack of memory
                counted.update(few)
                self.tally.add(tokens=tree.tokens, nodes=tree.nodes)
            return tree

        def run(pack: Pack) -> tuple[Pack, Any]:
            before = decoder.computed
            values = decoder.run(pack, chunk=self.budget.tokens)
            self.tally.add(computed=decoder.computed - before)
            return pack, values

        decoder.forget()
        results = within(
            self.budget,
            lambda tokens: split(texts.short(), tokens),
            lambda few, tokens: split([few], tokens),
            run,
            turns=self.turns,
        )
        for _, (pack, values) in self.lagging(results):
            yield pack.shared_out(values)
        yield from self._run_padded(texts.every, texts.longer)

    def _run_padded(self, encoded: Sequence[Encoded], members: Sequence[int]) -> Iterator[Scores]:
        """Score in batches padded on the right, where causal attention cannot see the padding."""

        def run(few: Sequence[int]) -> Any:
            rows = [encoded[i].ids[: encoded[i].scored[-1]] for i in few]
            inputs = {
                "input_ids": padded(rows, 0),
                "attention_mask": length_mask([len(r) for r in rows]),
            }
            wanted = [
                # The token at a position is predicted by the logits one before it.
                (row, position - 1, encoded[i].ids[position])
                for row, i in enumerate(few)
                for position in encoded[i].scored
            ]
            return self.wanted(inputs, wanted, use_cache=False)

        lengths = [encoded[i].scored[-1] for i in members]
        self.tally.add(tokens=sum(lengths), nodes=sum(lengths))
        # Where one text changes the positions of another, each is run by itself.
        size = 1 if scales_by_length(self.config) else self.batch_size
        for few, values in self.in_batches(members, lengths, run, size=size):
            ends = np.cumsum([len(encoded[i].scored) for i in few])[:-1]
            yield list(zip(few, np.split(values.cpu().numpy(), ends), strict=True))


class _Texts:
    """Texts that come in chunks, numbered through.

    Args:
        chunks: The texts.
        sight: Tokens that the model sees at once.

    Attributes:
        every: All that have come.
        readings: What is read of each.
        longer: Those that are longer than the model sees at once, and run in another way.
    """

    def __init__(self, chunks: Iterable[Sequence[Encoded]], sight: int) -> None:
        self.every: list[Encoded] = []
        self.readings: list[Reading] = []
        self.longer: list[int] = []
        self._chunks = chunks
        self._sight = sight

    def short(self) -> Iterator[list[int]]:
        """Yield the numbers of the texts of every chunk, but for those that are longer."""
        for chunk in self._chunks:
            short: list[int] = []
            for number, text in enumerate(chunk, len(self.every)):
                (short if len(text.ids) <= self._sight else self.longer).append(number)
                self.readings.append(_reading(text))
            self.every.extend(chunk)
            if short:
                yield short


def _reading(text: Encoded) -> Reading:
    # The token at a position is predicted by the logits one before it.
    places: Sequence[int]
    if isinstance(text.scored, range):
        places = range(text.scored[0] - 1, text.scored[-1])
    else:
        places = [i - 1 for i in text.scored]
    return Reading(text.ids[: text.scored[-1]], places, text.targets)
