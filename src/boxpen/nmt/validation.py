"""Validation of a translation model during training: loss and BLEU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boxpen.nmt.architectures.compiled import eager
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.data.batches import plan
from boxpen.nmt.data.inputs import PLAIN, Reads, batch_of
from boxpen.nmt.objective import cross_entropy
from boxpen.training.state import ValidationResult

if TYPE_CHECKING:
    from boxpen.nmt.data.prepared import Prepared

__all__ = ["Validation"]


@dataclass(frozen=True)
class _Texts:
    """What is translated at every validation, and the tokenizer to use."""

    tokenizer: Any
    sources: list[str]
    targets: list[str]
    contexts: list[str] | None


class Validation:
    """Validates one model.

    Args:
        config: How to validate, and the metric that counts.
        prepared: The corpus with the validation set.
        model: The model, evaluated in its current mode and precision.
        reads: What it reads besides source and target.
    """

    def __init__(
        self, config: NmtConfig, prepared: Prepared, model: Any, reads: Reads = PLAIN
    ) -> None:
        self.config, self.examples, self.model, self.reads = config, prepared.valid, model, reads
        # Read once: another training may prepare the folder again before the next validation.
        self._texts = _texts(config, prepared, reads) if config.train.valid_beam else None

    def validate(self, step: int) -> ValidationResult:
        """Return the loss, and BLEU if wanted."""
        with eager(self.model):
            loss = self.loss()
            bleu, signature = self.bleu() if self.config.train.valid_beam else (None, None)
        return ValidationResult(step, loss, bleu, signature)

    def loss(self) -> float:
        """Return the mean cross-entropy of the target tokens."""
        import torch

        examples, model = self.examples, self.model
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
        from boxpen.nmt.translate import translate_lines

        texts, train = self._texts, self.config.train
        assert texts is not None
        made = translate_lines(
            self.model,
            texts.tokenizer,
            texts.sources,
            contexts=texts.contexts,
            beam=train.valid_beam,
            length_penalty=self.config.decode.length_penalty,
            tokens=train.tokens,
        )
        found = corpus_bleu(
            [translation.text for translation in made],
            [texts.targets],
            self.config.target,
            resamples=0,
        )
        return round(found.estimate.value, 4), found.signature


def _texts(config: NmtConfig, prepared: Prepared, reads: Reads) -> _Texts:
    from boxpen.nmt.loading import load_tokenizer

    most = config.train.valid_sentences
    contexts = prepared.valid_contexts(reads.sentences)[:most] if reads.sentences else None
    return _Texts(
        load_tokenizer(prepared.subwords),
        prepared.valid_texts("source")[:most],
        prepared.valid_texts("target")[:most],
        contexts,
    )
