"""The Trainer for language models: a loss per token, and the best weights kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch.utils.data import Dataset
from transformers import TrainerCallback

from boxpen.errors import TrainError
from boxpen.lm.classifier.history import LOSS
from boxpen.lm.classifier.trainer import ItemTrainer
from boxpen.lm.learner import HELD_OUT, Feature, Learner

__all__ = ["LmTrainer", "best_folder"]

_BEST = "best-"


def best_folder(folder: Path, step: int) -> Path:
    """Return where the best weights are kept until the end."""
    return folder / f"{_BEST}{step}"


class LmTrainer(ItemTrainer):
    """Trains a learner; order, atomic checkpoints and restarts are those of ``ItemTrainer``.

    Args:
        learner: The learner.
        features: The training sentences.
        held_out: The held-out sentences.
        log: The log file, one JSON object per line.
        patience: See ``Options``.
        progress: Whether to show a progress bar on stderr.
        args: For ``Trainer``.
    """

    control: Any

    def __init__(
        self,
        *,
        learner: Learner,
        features: Sequence[Feature],
        held_out: Sequence[Feature],
        log: Path,
        patience: int,
        progress: bool,
        args: Any,
    ) -> None:
        self.learner = learner
        learnt = _Side(features, lambda: self.order.epoch + 1)
        super().__init__(
            scores=_none,
            lengths=[feature.length for feature in features],
            log=log,
            patience=patience,
            progress=progress,
            goal=LOSS,
            model=learner.module,
            args=args,
            data_collator=learner.batch,
            train_dataset=learnt,
            eval_dataset=_Side(held_out, lambda: HELD_OUT),
        )
        # The loss is divided by the tokens of all batches of a step, not batch by batch.
        self.model_accepts_loss_kwargs = True
        self.add_callback(_Beginning(self))

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,  # noqa: ARG002 (the Trainer hands it over)
        num_items_in_batch: Any = None,
    ) -> Any:
        """Return the loss of a batch as its part of the mean over a step's tokens."""
        nats, tokens = self.learner.loss(model, inputs)
        return nats / (tokens if num_items_in_batch is None else num_items_in_batch)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: Any) -> int:  # noqa: ARG002
        return sum(self.learner.count(batch) for batch in batch_samples)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Evaluate on the held-out sentences and log the loss in nats per token."""
        nats, tokens = self.held_out_loss()
        found = {LOSS.name: nats / tokens}
        self.log(found)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
        return found

    def held_out_loss(self) -> tuple[float, int]:
        """Return the nats of all held-out sentences together, and their predicted tokens."""
        self.model.eval()
        nats, tokens = 0.0, 0
        with torch.no_grad():
            for batch in self.get_eval_dataloader():
                # As in a step: the forward pass of a module that was never trained is not wrapped.
                with self.accelerator.autocast():
                    found, count = self.learner.loss(self.model, self._prepare_inputs(batch))
                nats += float(found)
                tokens += int(count)
        return nats, tokens

    def keep_best(self) -> None:
        """Save the weights, and nothing else, if the last evaluation was the best one.

        Raises:
            TrainError: If they cannot be written.
        """
        step, folder = self.state.global_step, Path(self.args.output_dir)
        if LOSS.best_step(self.state.log_history) != step or best_folder(folder, step).is_dir():
            return
        shutil.rmtree(self._unfinished, ignore_errors=True)
        try:
            self.learner.save(self._unfinished)
            self._unfinished.replace(best_folder(folder, step))
        except (OSError, RuntimeError, SafetensorError) as error:
            shutil.rmtree(self._unfinished, ignore_errors=True)
            raise TrainError(
                f"the best weights, of step {step}, cannot be written to {folder} ({error}); rerun "
                "the same command to resume from its checkpoint"
            ) from error
        self.drop_best(but=step)

    def drop_best(self, *, but: int | None = None) -> None:
        """Drop all best weights that are kept, but those of a step."""
        folder = Path(self.args.output_dir)
        for old in folder.glob(f"{_BEST}*"):
            if but is None or old != best_folder(folder, but):
                shutil.rmtree(old, ignore_errors=True)

    def _save_checkpoint(self, *rest: Any) -> None:
        super()._save_checkpoint(*rest)
        self.keep_best()

    def _needed(self) -> set[int | None]:
        return {self.state.global_step}  # of the best, the weights will do

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:  # noqa: ARG002
        self.learner.save(Path(output_dir or self.args.output_dir))

    def _load_from_checkpoint(self, *_: Any, **__: Any) -> None:
        """Load nothing: the learner is that of the checkpoint already."""


class _Side(Dataset[tuple[Feature, int]]):
    """Sentences of one side, each with the number of the epoch in which it is taken."""

    def __init__(self, features: Sequence[Feature], epoch: Callable[[], int]) -> None:
        self.features = features
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, place: int) -> tuple[Feature, int]:
        return self.features[place], self.epoch()


class _Beginning(TrainerCallback):  # type: ignore[misc]
    """Evaluates on the held-out sentences before the first step."""

    def __init__(self, trainer: LmTrainer) -> None:
        self.trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:  # noqa: ARG002
        if state.global_step:
            self.trainer.keep_best()  # it was stopped before this, perhaps
        else:
            self.trainer.drop_best()  # left by a training whose checkpoint was removed
            self.trainer.evaluate()


def _none(*_: Any) -> torch.Tensor:
    raise AssertionError("a language model has no answers to choose from")
