"""First translations for the two passes of CADec: greedy, sampled, and made from references.

At test time the draft is what the sentence-level model would say. In training it must not be the
reference, which CADec would learn to copy, nor always the model's best, of which it would see too
little variety: Voita et al. (2019, section 5.1) take in half of the cases a translation sampled
from the sentence-level model and in the other half the reference with a fifth of its tokens
replaced by random ones. What the paper leaves open follows the authors' script
(lena-voita/good-translation-wrong-in-context, scripts/train_cadec.sh): samples are drawn at
temperature 0.5 and lose another tenth of their tokens to random ones, and one coin is thrown for
a whole batch, so that half of the batches need no decoding. A sample that does not end is cut at
one and a half times the tokens of the longest reference of its batch, and five.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from boxpen.models.engine.beam_cache import beam_cache

__all__ = ["corrupted", "drafts_for_training", "greedy", "sampled"]

TEMPERATURE, SAMPLED_NOISE, REFERENCE_NOISE = 0.5, 0.1, 0.2


def drafts_for_training(
    base: Any, batch: Mapping[str, Tensor], *, denoising: float = 0.5, generator: Generator
) -> dict[str, Tensor]:
    """Return the drafts of a batch, as CADec is trained with them.

    Args:
        base: The sentence-level model, a MarianMTModel.
        batch: With ``input_ids``, ``attention_mask`` and ``labels``.
        denoising: Share of the batches whose drafts are corrupted references; those of the others
            are sampled.
        generator: On the model's device.

    Returns:
        ``draft_ids`` and ``draft_attention_mask``.
    """
    coin = torch.rand((), generator=generator, device=generator.device).item()
    ids, noise = batch["labels"], REFERENCE_NOISE
    if coin >= denoising:
        most, noise = ids.shape[1] * 3 // 2 + 5, SAMPLED_NOISE
        source = batch["input_ids"], batch["attention_mask"]
        ids = sampled(base, *source, generator=generator, max_new_tokens=most)
    config = base.config
    special = {config.pad_token_id, config.eos_token_id, config.decoder_start_token_id}
    vocabulary = base.lm_head.out_features
    ids = corrupted(ids, share=noise, vocabulary=vocabulary, special=special, generator=generator)
    ids = ids.masked_fill(ids < 0, config.pad_token_id)
    return {"draft_ids": ids, "draft_attention_mask": (ids != config.pad_token_id).long()}


def sampled(
    base: Any,
    input_ids: Tensor,
    attention_mask: Tensor,
    *,
    generator: Generator,
    max_new_tokens: int | None = None,
    temperature: float = TEMPERATURE,
) -> Tensor:
    """Return a translation of every row, drawn token by token from the model.

    Args:
        base: The sentence-level model, a MarianMTModel.
        input_ids: Source, (batch, source).
        attention_mask: 1 for its tokens, (batch, source).
        generator: On the model's device.
        max_new_tokens: Maximum tokens per translation, including its end.
        temperature: Below 1, likely tokens become more likely.

    Returns:
        Tokens, (batch, target): every row with its end, padding behind it.
    """

    def draw(logits: Tensor) -> Tensor:
        chances = (logits.float() / temperature).softmax(-1)
        return torch.multinomial(chances, 1, generator=generator)[:, 0]

    with torch.no_grad(), _without_dropout(base):
        states = base.model.encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        return _drafted(base, states, attention_mask, draw, max_new_tokens)


def greedy(base: Any, states: Tensor, attention_mask: Tensor) -> Tensor:
    """Return the translation that takes the likeliest token at every step.

    Args:
        base: The sentence-level model, a MarianMTModel.
        states: Its encoder's states of the source, (batch, source, width).
        attention_mask: 1 for the source's tokens, (batch, source).

    Returns:
        Tokens, (batch, target): every row with its end, padding behind it.
    """
    with torch.no_grad(), _without_dropout(base):
        return _drafted(base, states, attention_mask, lambda logits: logits.argmax(-1))


def corrupted(
    labels: Tensor, *, share: float, vocabulary: int, special: Collection[int], generator: Generator
) -> Tensor:
    """Return tokens of which about a share is replaced by random ones.

    Args:
        labels: Tokens; negative ones stand for padding.
        share: Chance of a token to be replaced (by itself too, once in a vocabulary).
        vocabulary: Number of tokens.
        special: Tokens that are neither replaced nor drawn, such as the end of a sentence.
        generator: On the device of the tokens.
    """
    kept = sorted({token for token in special if 0 <= token < vocabulary})
    shape, device, ordinary = labels.shape, labels.device, vocabulary - len(kept)
    hit = torch.rand(shape, generator=generator, device=device) < share
    hit &= labels >= 0
    drawn = torch.randint(ordinary, shape, generator=generator, device=device)
    for token in kept:  # in rising order, each makes room for itself among the ordinary ones
        drawn = drawn + (drawn >= token)
        hit &= labels != token
    return torch.where(hit, drawn, labels)


def _drafted(
    base: Any,
    states: Tensor,
    mask: Tensor,
    choose: Callable[[Tensor], Tensor],
    most: int | None = None,
) -> Tensor:
    """Translate step by step; ``choose`` takes (batch, vocabulary) to (batch,).

    A row ends at a length that depends only on its own source, or at ``most``. A common limit by
    the longest source would let the rows of a batch change each other's drafts; in training, where
    drafts are random anyway, one by the longest reference may.
    """
    config = base.config
    ceiling = min(config.max_position_embeddings, most or config.max_position_embeddings)
    limits = (2 * mask.sum(1) + 10).clamp(max=ceiling)
    cache = beam_cache(base) or EncoderDecoderCache(DynamicCache(), DynamicCache())
    last = torch.full_like(limits, config.decoder_start_token_id)
    done = torch.zeros_like(limits, dtype=torch.bool)
    tokens: list[Tensor] = []
    while not done.all():
        decoded = base.model.decoder(
            input_ids=last[:, None],
            encoder_hidden_states=states,
            encoder_attention_mask=mask,
            past_key_values=cache,
            use_cache=True,
        )
        logits = base.lm_head(decoded.last_hidden_state[:, -1]) + base.final_logits_bias
        logits[:, config.pad_token_id] = -torch.inf
        last = choose(logits)
        last = last.masked_fill(limits == len(tokens) + 1, config.eos_token_id)
        last = last.masked_fill(done, config.pad_token_id)
        done |= last == config.eos_token_id
        tokens.append(last)
    return torch.stack(tokens, dim=1)


@contextmanager
def _without_dropout(base: Any) -> Iterator[None]:
    training = base.training
    base.eval()
    try:
        yield
    finally:
        base.train(training)
