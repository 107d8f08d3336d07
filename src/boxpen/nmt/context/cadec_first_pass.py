"""The first pass of CADec: a sentence-level model encodes and translates every sentence by itself.

The current sentence and those before it are encoded and decoded as rows of their own, so that none
sees another; then the states of all sentences that belong together are laid one after the other,
each with a one-hot vector for its distance before the current sentence (0 for itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MarianMTModel
from transformers.modeling_outputs import ModelOutput
from transformers.models.marian.modeling_marian import MarianPreTrainedModel

from boxpen.errors import NmtError
from boxpen.nmt.context.drafts import greedy

__all__ = ["FirstPass", "FirstPassOutput", "Sentences", "split"]


@dataclass
class FirstPassOutput(ModelOutput):  # type: ignore[misc]
    """What the second decoder reads.

    Attributes:
        last_hidden_state: The source side, (batch, source, width + distances): the encoder's top
            states of the current and the context sentences.
        source_mask: 1 for its tokens, (batch, source).
        target_states: The target side, (batch, target, 2 width + distances): of every token of the
            draft and of the context's translations its embedding and the decoder's top state that
            predicts it.
        target_mask: 1 for its tokens, (batch, target).
        draft_ids: The first translation, (batch, draft).
    """

    last_hidden_state: Tensor | None = None
    source_mask: Tensor | None = None
    target_states: Tensor | None = None
    target_mask: Tensor | None = None
    draft_ids: Tensor | None = None


@dataclass(frozen=True)
class Sentences:
    """Sentences of a batch, each a row of its own.

    Attributes:
        ids: Tokens, (sentences, length), padding behind.
        mask: True for tokens, (sentences, length).
        row: Row of the batch to which a sentence belongs, (sentences,).
        distance: How far before the current sentence it stands, (sentences,); 0 for itself.
    """

    ids: Tensor
    mask: Tensor
    row: Tensor
    distance: Tensor

    def __getitem__(self, kept: Tensor) -> Sentences:
        """Return those that a mask or an index picks."""
        return Sentences(self.ids[kept], self.mask[kept], self.row[kept], self.distance[kept])


def split(ids: Tensor, mask: Tensor, *, eos: int, pad: int, what: str = "context") -> Sentences:
    """Cut rows behind every end of a sentence; the last sentence of a row has distance 1.

    Args:
        ids: Tokens, (batch, length).
        mask: 1 for what is not padding, (batch, length).
        eos: The token that ends a sentence.
        pad: The token that fills up rows.
        what: What the rows are, for the message.

    Raises:
        NmtError: If a row goes on behind its last end.
    """
    mask = mask.bool()
    ends = ((ids == eos) & mask).long()
    counts = ends.sum(1)
    number = ends.cumsum(1) - ends  # sentences of the row that end before a token
    loose = ((number >= counts[:, None]) & mask).any(1)
    if loose.any():
        found = int(loose.nonzero()[0])
        raise NmtError(
            f"row {found} of the {what} does not end with the end of a sentence (token {eos})"
        )
    total = int(counts.sum())
    first = counts.cumsum(0) - counts
    sentence = (first[:, None] + number)[mask]  # (tokens,)
    lengths = torch.bincount(sentence, minlength=total)
    place = _place(sentence, lengths)
    width = int(lengths.max()) if total else 0
    cut = ids.new_full((total, width), pad)
    cut[sentence, place] = ids[mask]
    row = torch.repeat_interleave(torch.arange(len(ids), device=ids.device), counts)
    distance = (first + counts)[row] - torch.arange(total, device=ids.device)
    inside = torch.arange(width, device=ids.device) < lengths[:, None]
    return Sentences(cut, inside, row, distance)


class FirstPass(MarianPreTrainedModel):  # type: ignore[misc]
    """The sentence-level model, and what CADec wants of it; the encoder of CADec.

    Args:
        config: The model's shape.
    """

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.base = MarianMTModel(config)
        self.post_init()

    @staticmethod
    def widths(config: Any) -> tuple[int, int]:
        """Return how wide the states of the source side and of the target side are."""
        distances = config.context_sentences + 1
        return config.d_model + distances, 2 * config.d_model + distances

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        context_input_ids: Tensor | None = None,
        context_attention_mask: Tensor | None = None,
        context_target_ids: Tensor | None = None,
        context_target_attention_mask: Tensor | None = None,
        draft_ids: Tensor | None = None,
        draft_attention_mask: Tensor | None = None,
        **others: Any,  # noqa: ARG002
    ) -> FirstPassOutput:
        """Encode all sentences, translate those whose translation is not given, and decode them.

        Masks that are not given leave out padding tokens.

        Args:
            input_ids: Source, (batch, source), padded on the right.
            attention_mask: 1 for its tokens, (batch, source).
            context_input_ids: The sentences before, oldest first, each with its end, (batch,
                context). A sentence that is only its end stands for none; so do no ids at all.
            context_attention_mask: 1 for its tokens, (batch, context).
            context_target_ids: Their translations, sentence by sentence; greedy ones if not given.
            context_target_attention_mask: 1 for its tokens.
            draft_ids: First translation of the source, with its end; the greedy one if not given.
            draft_attention_mask: 1 for its tokens.
            **others: What other models take.

        Raises:
            NmtError: If there is more context than the model has distances for, or the context
                and its translation do not have the same number of sentences.
        """
        rows = torch.arange(len(input_ids), device=input_ids.device)
        mask = self._mask(input_ids, attention_mask)
        sources = Sentences(input_ids, mask, rows, torch.zeros_like(rows))
        draft = None
        if draft_ids is not None:
            mask = self._mask(draft_ids, draft_attention_mask)
            draft = Sentences(draft_ids, mask, rows, torch.zeros_like(rows))
        translated = None
        if context_input_ids is not None:
            context = self._split(context_input_ids, context_attention_mask, "context")
            self._check_distance(context)
            # A sentence that is only its end stands for no sentence.
            kept = context.mask.sum(1) > 1
            if context_target_ids is not None:
                translated = self._split(
                    context_target_ids, context_target_attention_mask, "context's translation"
                )
                _check_alike(context, translated, len(input_ids))
                translated = translated[kept]
            context = context[kept]
            sources = self._joined(sources, context)
        encoded = self.base.model.encoder(
            input_ids=sources.ids, attention_mask=sources.mask.long()
        ).last_hidden_state
        current = sources.distance == 0
        if draft is None:
            draft = self._drafted(sources, encoded, current)
        if translated is None:
            translated = self._drafted(sources, encoded, ~current)
        targets = self._joined(draft, translated)
        source_states, source_mask = self._laid(sources, encoded)
        target_states, target_mask = self._laid(targets, self._decoded(targets, sources, encoded))
        return FirstPassOutput(source_states, source_mask, target_states, target_mask, draft.ids)

    def _mask(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return ids != self.config.pad_token_id if mask is None else mask.bool()

    def _split(self, ids: Tensor, mask: Tensor | None, what: str) -> Sentences:
        config = self.config
        mask = self._mask(ids, mask)
        return split(ids, mask, eos=config.eos_token_id, pad=config.pad_token_id, what=what)

    def _check_distance(self, context: Sentences) -> None:
        most = self.config.context_sentences
        far = context.distance > most
        if far.any():
            raise NmtError(
                f"row {int(context.row[far][0])} of the context has "
                f"{int(context.distance[far][0])} sentences, but this model was made for at most "
                f"{most}"
            )

    def _drafted(self, sources: Sentences, encoded: Tensor, chosen: Tensor) -> Sentences:
        """Translate some of the sentences greedily."""
        sources, encoded = sources[chosen], encoded[chosen].detach()
        ids = sources.ids[:, :0]
        if len(ids):
            ids = greedy(self.base, encoded, sources.mask.long())
        mask = ids != self.config.pad_token_id
        return Sentences(ids, mask, sources.row, sources.distance)

    def _decoded(self, targets: Sentences, sources: Sentences, encoded: Tensor) -> Tensor:
        """Return of every target token its embedding beside the state that predicts it.

        The state alone knows what came before the token, not which one was taken. Embeddings are
        scaled as where they are read, and so weigh as much as states.
        """
        decoder = self.base.model.decoder
        start = torch.full_like(targets.ids[:, :1], self.config.decoder_start_token_id)
        states = decoder(
            input_ids=torch.cat([start, targets.ids[:, :-1]], dim=1),
            encoder_hidden_states=encoded,
            encoder_attention_mask=sources.mask.long(),
            use_cache=False,
        ).last_hidden_state
        embedded = decoder.embed_tokens(targets.ids) * decoder.embed_scale
        return torch.cat([embedded, states], dim=-1)

    def _joined(self, first: Sentences, second: Sentences) -> Sentences:
        """Return sentences of either, filled up to one length."""
        width = max(first.ids.shape[1], second.ids.shape[1])
        pad = self.config.pad_token_id
        return Sentences(
            torch.cat([_widened(part.ids, width, pad) for part in (first, second)]),
            torch.cat([_widened(part.mask, width, 0) for part in (first, second)]),
            torch.cat([first.row, second.row]),
            torch.cat([first.distance, second.distance]),
        )

    def _laid(self, sentences: Sentences, states: Tensor) -> tuple[Tensor, Tensor]:
        """Lay the states of the sentences of a row one after the other, with their distances.

        Returns:
            States, (batch, length, width + distances), and their mask, (batch, length).
        """
        distances = nn.functional.one_hot(sentences.distance, self.config.context_sentences + 1)
        marks = distances[:, None].expand(-1, states.shape[1], -1).to(states.dtype)
        tokens = torch.cat([states, marks], dim=-1)[sentences.mask]  # (tokens, width + distances)
        row = sentences.row[:, None].expand_as(sentences.mask)[sentences.mask]
        row, order = row.sort(stable=True)
        lengths = torch.bincount(row)  # every row has its current sentence
        laid = tokens.new_zeros(len(lengths), int(lengths.max()), tokens.shape[-1])
        laid[row, _place(row, lengths)] = tokens[order]
        mask = torch.arange(laid.shape[1], device=row.device) < lengths[:, None]
        return laid, mask.long()


def _place(group: Tensor, lengths: Tensor) -> Tensor:
    """Return for members of groups, sorted by group, which of its group each is."""
    first = lengths.cumsum(0) - lengths
    return torch.arange(len(group), device=group.device) - first[group]


def _widened(tensor: Tensor, width: int, fill: int) -> Tensor:
    return nn.functional.pad(tensor, (0, width - tensor.shape[1]), value=fill)


def _check_alike(context: Sentences, translated: Sentences, rows: int) -> None:
    """Reject translations that are not one a sentence."""
    given = torch.bincount(context.row, minlength=rows)
    found = torch.bincount(translated.row, minlength=rows)
    wrong = given != found
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise NmtError(
            f"row {row} of the context has {int(given[row])} sentences, but its translation has "
            f"{int(found[row])}"
        )
