"""Looks at the validation set: loss, BLEU, which look was the best, and when to give up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxpen.nmt.batches import plan
from boxpen.nmt.compiled import eager
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.inputs import PLAIN, Reads, batch_of
from boxpen.nmt.objective import cross_entropy

if TYPE_CHECKING:
    from boxpen.nmt.prepared import Prepared

__all__ = ["Look", "Validation"]


@dataclass(frozen=True)
class Look:
    """What was seen at one step.

    Attributes:
        step: When.
        valid_loss: Cross-entropy of a target token, in nats, without smoothing.
        bleu: Of the first sentences, translated; None if that was not asked for.
        signature: How sacreBLEU came by it.
    """

    step: int
    valid_loss: float
    bleu: float | None = None
    signature: str | None = None


class Validation:
    """Looks at one model.

    Args:
        config: How to look, and what counts.
        prepared: The corpus with the validation set.
        model: It is looked at in the mode and the precision it is in.
        reads: What it reads besides source and target.
    """

    def __init__(
        self, config: NmtConfig, prepared: Prepared, model: Any, reads: Reads = PLAIN
    ) -> None:
        self.config, self.prepared, self.model, self.reads = config, prepared, model, reads

    def look(self, step: int) -> Look:
        """Return the loss, and BLEU if wanted."""
        with eager(self.model):
            loss = self.loss()
            bleu, signature = self.bleu() if self.config.train.valid_beam else (None, None)
        return Look(step, loss, bleu, signature)

    def loss(self) -> float:
        """Return the mean cross-entropy of the target tokens."""
        import torch

        examples, model = self.prepared.valid, self.model
        total, tokens = 0.0, 0
        sources = self.reads.source_lengths(examples)
        longest = max(sources.max(), examples.target_lengths.max())
        budget = max(int(longest), min(self.config.train.tokens, 16_000))
        for numbers in plan(sources, examples.target_lengths, tokens=budget, seed=0, epoch=0):
            batch = batch_of(
                examples,
                numbers,
                pad=model.config.pad_token_id,
                start=model.config.decoder_start_token_id,
                reads=self.reads,
            )
            moved = {name: tensor.to(model.device) for name, tensor in batch.items()}
            labels = moved.pop("labels")
            with torch.inference_mode():
                logits = model(**moved, use_cache=False).logits
                total += float(cross_entropy(logits, labels, 0.0))
            tokens += int(examples.target_lengths[numbers].sum())
        return round(total / tokens, 6)

    def bleu(self) -> tuple[float, str]:
        """Return BLEU of the first sentences, and its signature."""
        from boxpen.metrics.bleu import corpus_bleu
        from boxpen.nmt.loading import load_tokenizer
        from boxpen.nmt.translate import translate_lines

        most, train = self.config.train.valid_sentences, self.config.train
        sources = self.prepared.valid_texts("source")
        contexts = None
        if self.reads.sentences:
            contexts = self.prepared.valid_contexts(self.reads.sentences)[:most]
        made = translate_lines(
            self.model,
            load_tokenizer(self.prepared.subwords),
            sources[:most],
            contexts=contexts,
            beam=train.valid_beam,
            length_penalty=self.config.decode.length_penalty,
            tokens=train.tokens,
        )
        found = corpus_bleu(
            [translation.text for translation in made],
            [self.prepared.valid_texts("target")[:most]],
            self.config.target,
            resamples=0,
        )
        return round(found.estimate.value, 4), found.signature

    def best(self, looks: Sequence[Look]) -> Look:
        """Return the best look, the first of equals."""
        return min(looks, key=self._cost)

    def given_up(self, looks: Sequence[Look]) -> bool:
        """Whether the last looks, as many as patience allows, brought nothing."""
        patience = self.config.train.patience
        if not patience or not looks:
            return False
        return len(looks) - 1 - looks.index(self.best(looks)) >= patience

    def _cost(self, look: Look) -> float:
        if self.config.train.metric == "bleu":
            return -look.bleu if look.bleu is not None else math.inf
        return look.valid_loss if math.isfinite(look.valid_loss) else math.inf
