"""Training of a translation model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import NmtError
from boxpen.nmt.architectures.compiled import eager
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.data.feed import Feed, nested_share
from boxpen.nmt.data.inputs import PLAIN
from boxpen.nmt.folder import ModelFolder
from boxpen.nmt.learner import Learner
from boxpen.nmt.schedule import learning_rate
from boxpen.nmt.validation import Validation
from boxpen.training import loop
from boxpen.training.state import Limits, TrainState, ValidationResult

if TYPE_CHECKING:
    from boxpen.nmt.data.prepared import Prepared

__all__ = ["TrainState", "Training"]


class Training(loop.Training):
    """One training in one process; several processes are started by ``torchrun``.

    Args:
        config: The configuration of the training.
        prepared: The corpus.
        device: ``auto``, ``cpu`` or ``cuda``.
        watch: Called with the state of the training, see ``boxpen.training.loop``.
        note: Called with messages for the user.
    """

    advice = "a lower learning_rate or a longer warmup may help"
    folder: ModelFolder
    feed: Feed

    def __init__(
        self,
        config: NmtConfig,
        prepared: Prepared,
        *,
        device: str = "auto",
        watch: loop.Watch = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        folder = ModelFolder(config, prepared)
        super().__init__(folder, device=device, seed=config.seed, watch=watch, note=note)
        self.config, self.prepared = config, prepared
        train = config.train
        self.limits = Limits(
            max_steps=train.max_steps,
            max_epochs=train.max_epochs,
            max_minutes=train.max_minutes,
            validate_every=train.validate_every,
            log_every=train.log_every,
            patience=train.patience,
            metric="bleu" if train.metric == "bleu" else "valid_loss",
            average=train.average,
        )

    def build(self) -> None:
        """Make the model, its data and its validation."""
        config, train = self.config, self.config.train
        model = self.folder.new_model()
        examples, reads = self.prepared, PLAIN
        if config.model.reads_context:
            from boxpen.nmt.context.making import reads_of, with_bert

            for part, pairs in (
                ("[[corpora]]", self.prepared.train),
                ("[valid]", self.prepared.valid),
            ):
                if not pairs.before.any():
                    raise NmtError(
                        f"[model] architecture = '{config.model.architecture}' reads context, but "
                        f"no pair of {part} has any; set documents = 'blank' or 'column' there, "
                        "and use documents of several lines"
                    )
            reads = reads_of(model, config.model)
            examples = with_bert(self.prepared, config.model, self.note)
        lengths = (
            float(reads.source_lengths(examples.train).mean()),
            examples.train.mean_lengths[1],
        )
        self.learner = Learner(config, model, self.processes, self.processes.device, lengths)
        self.feed = Feed(
            examples.train,
            nested_share(len(self.prepared.train), train.share, config.seed),
            tokens=train.tokens,
            accumulate=train.accumulate,
            seed=config.seed,
            pad=model.config.pad_token_id,
            start=model.config.decoder_start_token_id,
            reads=reads,
            pin=self.learner.device.type == "cuda",
            rank=self.processes.rank,
            world=self.processes.count,
        )
        self.validation = Validation(config, examples, model, reads)

    def begin(self) -> None:
        """Record the settings and keep the tokenizer."""
        self.folder.begin()

    def rate(self, step: int, done: float) -> float:
        """Return the learning rate of a step."""
        return learning_rate(self.config.train, step, done)

    def validate(self, step: int) -> ValidationResult:
        """Return loss and BLEU on the validation set."""
        return self.validation.validate(step)

    def result(
        self, best: ValidationResult, chosen: ValidationResult, averaged: list[int]
    ) -> dict[str, Any]:
        """Return the result of a finished training."""
        state = self.state
        return {
            "steps": state.step,
            "epochs": state.epochs,
            "best_step": best.step,
            "averaged": averaged,
            "loss": chosen.valid_loss,
            "bleu": chosen.bleu,
            "bleu_signature": chosen.signature,
            "tokens": state.tokens,
            "seconds": round(state.seconds, 1),
            "device": str(self.learner.device),
            "precision": "bf16" if self.learner.bf16 else "float32",
            "processes": self.processes.count,
            "data": self.prepared.counts,
        }

    def save(self, folder: Path) -> None:
        """Write the finished model and its tokenizer."""
        with eager(self.learner.model):
            self.folder.save(self.learner.model.cpu(), folder)

    def size(self) -> str:
        """Return how many pairs there are."""
        return f"{self.feed.pairs:,} pairs"

    def more(self, finished: dict[str, Any]) -> str:
        """Return a hint if the configuration asks for more steps than a finished training had."""
        steps, most = finished["steps"], self.config.train.max_steps
        if most is None or most <= steps:
            return ""
        return (
            f": it ended after {steps:,} of now {most:,} steps; to train more, use another folder"
        )
