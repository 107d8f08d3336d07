"""Language models, trained from nothing or further: on text, and on what a graph says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.train.errors import TrainError
from boxpen.train.lm_begin import KINDS, begin, check_model, size_of
from boxpen.train.lm_data import Data, read_data
from boxpen.train.lm_history import best_look, given_up, loss_before
from boxpen.train.lm_record import LmRecord
from boxpen.train.options import Options

if TYPE_CHECKING:
    from boxpen.train.history import History
    from boxpen.train.lm_learner import Feature, Learner
    from boxpen.train.lm_trainer import LmTrainer

__all__ = ["train_lm"]

_RATES = {"causal": (3e-5, 5e-4), "masked": (3e-5, 5e-4), "bilm": (2e-4, 1e-3)}
"""Peaks of the learning rate: of a model that is there, and of one from nothing."""


def train_lm(
    *,
    kind: str,
    model: str,
    out: str | Path,
    text: Sequence[str | Path] = (),
    triples: Sequence[str | Path] = (),
    valid: Sequence[str | Path] = (),
    ways: int = 1,
    holdout: float = 0.1,
    exclude: Sequence[str] = (),
    language: str = "en",
    vocabulary: int | None = None,
    options: Options | None = None,
    device: str = "auto",
    progress: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Train a language model, or go on where an earlier call was stopped.

    Args:
        kind: ``causal``, ``masked`` or ``bilm``.
        model: A model of that kind, as ``boxpen run`` takes it, or its folder; ``new:tiny``,
            ``new:small`` (or ``new``) for one from nothing.
        out: The folder of the model, its log and its held-out sentences.
        text: Files with one sentence a line.
        triples: Graphs whose triples are put into words, see ``lm_triples.verbalise``.
        valid: Held-out sentences of other files.
        ways: Most sentences of a triple.
        holdout: The share of the sentences that is held out where there are no such files.
        exclude: Suites whose texts must not be learnt from, nor tested on.
        language: That of the sentences.
        vocabulary: Most words of a new bidirectional model.
        options: The knobs.
        device: ``auto``, ``cpu`` or ``cuda``.
        progress: Whether a bar is shown on stderr.
        note: Takes what a person may want to know on the way.

    Returns:
        The result, as in ``result.json``.

    Raises:
        BoxpenError: If the sentences, the model, the folder or an option is not as it must be.
    """
    options = options or Options()
    record = LmRecord(Path(out))
    check_model(kind, model, vocabulary)
    record.check()
    _check_device(device)
    if not text and not triples:
        raise TrainError("there is nothing to learn from, expected --text, --triples or both")
    data = read_data(
        text=text, triples=triples, valid=valid, ways=ways, holdout=holdout, exclude=exclude,
        language=language, seed=options.seed,
    )  # fmt: skip
    settings: dict[str, Any] = {
        "task": "lm",
        "kind": kind,
        "model": model,
        "vocabulary": vocabulary,
        "ways": ways,
        "holdout": None if valid else holdout,
        "exclude": data.suites,
        "language": language,
        **options.as_dict(),
        **data.digests,
    }
    record.compare(settings)
    if finished := record.result():
        note(f"{out} is finished; nothing was done")
        return finished
    for line in data.notes:
        note(line)
    job = _Job(kind, model, vocabulary, options, device, progress, note)
    return _Training(job, record, settings, data).run()


@dataclass(frozen=True)
class _Job:
    """What is trained, and how; see ``train_lm``."""

    kind: str
    model: str
    vocabulary: int | None
    options: Options
    device: str
    progress: bool
    note: Callable[[str], None]

    @property
    def on_cuda(self) -> bool:
        import torch

        return self.device != "cpu" and torch.cuda.is_available()

    @property
    def learning_rate(self) -> float:
        if self.options.learning_rate is not None:
            return self.options.learning_rate
        return _RATES[self.kind][size_of(self.model) is not None]


class _Training:
    """One training on sentences that are already on their sides."""

    def __init__(self, job: _Job, record: LmRecord, settings: dict[str, Any], data: Data) -> None:
        self.job = job
        self.record = record
        self.settings = settings
        self.data = data

    def run(self) -> dict[str, Any]:
        from boxpen.train.base import quiet

        with quiet(silent=False):
            return self._run()

    def _run(self) -> dict[str, Any]:
        from transformers import set_seed

        from boxpen.train.lm_trainer import best_folder

        seed = self.job.options.seed
        set_seed(seed)
        learner, start = self._begin()
        features, cut, empty = self._features(learner, self.data.train, "to learn from")
        tested, cut_tested, empty_tested = self._features(learner, self.data.held_out, "held out")
        self.record.begin_sentences(self.settings, self.data.held_out)
        if start is None or not self._over(start):
            if start is not None:
                self.job.note(f"{self.record.folder} goes on after {start.name}")
            self._train(self._trainer(learner, features, tested), start)
        history = self._last_history()
        best = best_look(history.log)
        assert best is not None, "a training ends with a look at the held-out sentences"
        place = best_folder(self.record.checkpoints, best)
        if not place.is_dir():  # it was stopped between its last checkpoint and this
            assert best == history.step, "the best weights are kept as soon as there are others"
            learner.save(place)
        learner = KINDS[self.job.kind].load(place, seed)
        nats, tokens = self._trainer(learner, features, tested).held_out_loss()
        result = {
            "task": "lm",
            "kind": self.job.kind,
            "model": self.job.model,
            "loss": nats / tokens,
            "loss_before": loss_before(history.log),
            "perplexity": math.exp(min(nats / tokens, 700.0)),
            "tokens": tokens,
            "best_step": best,
            "steps": history.step,
            "stopped_early": history.step < history.last,
            "sentences": {
                **self.data.counts,
                "train": len(features),
                "held_out": len(tested),
                "cut": cut + cut_tested,
                "empty": empty + empty_tested,
            },
            "device": "cuda" if self.job.on_cuda else "cpu",
        }
        self.record.finish(learner.save, result)
        return result

    def _begin(self) -> tuple[Learner, Path | None]:
        """Return the learner to start with, and the checkpoint that it is of."""
        last = self._last()
        if last is not None:
            return KINDS[self.job.kind].load(last, self.job.options.seed), last
        texts = (sentence.text for sentence in self.data.train)
        learner = begin(
            self.job.kind, self.job.model, texts=texts, vocabulary=self.job.vocabulary,
            seed=self.job.options.seed,
        )  # fmt: skip
        return learner, None

    def _features(
        self, learner: Learner, sentences: Sequence[Any], what: str
    ) -> tuple[list[Feature], int, int]:
        texts = [sentence.text for sentence in sentences]
        found = learner.features(texts, self.job.options.max_length)
        if not found.features:
            raise TrainError(f"none of the {len(texts):,} sentences {what} has a token to predict")
        return found

    def _trainer(
        self, learner: Learner, features: list[Feature], tested: list[Feature]
    ) -> LmTrainer:
        from boxpen.train.arguments import training_arguments
        from boxpen.train.lm_trainer import LmTrainer

        return LmTrainer(
            learner=learner,
            features=features,
            held_out=sorted(tested, key=lambda feature: feature.length),
            log=self.record.log,
            patience=self.job.options.patience,
            progress=self.job.progress,
            args=training_arguments(
                self.job.options,
                items=len(features),
                learning_rate=self.job.learning_rate,
                cuda=self.job.on_cuda,
                folder=self.record.checkpoints,
            ),
        )

    def _train(self, trainer: LmTrainer, start: Path | None) -> None:
        import torch

        try:
            trainer.train(resume_from_checkpoint=str(start) if start else None)
        except torch.OutOfMemoryError:
            raise TrainError(
                "the memory of the device is full; use a smaller --batch-size and a larger "
                "--accumulate"
            ) from None
        except OSError as error:
            raise TrainError(
                f"{self.record.folder} cannot be written: {error.strerror or error}"
            ) from error

    def _last(self) -> Path | None:
        from boxpen.train.trainer import checkpoints

        return next(reversed(checkpoints(self.record.checkpoints).values()), None)

    def _last_history(self) -> History:
        from boxpen.train.history import read_history

        last = self._last()
        assert last is not None, "a training ends with a checkpoint"
        return read_history(last)

    def _over(self, checkpoint: Path) -> bool:
        """Tell whether a checkpoint is the last one of its training."""
        from boxpen.train.history import read_history

        history = read_history(checkpoint)
        done = history.step >= history.last
        return done or given_up(history.log, self.job.options.patience)


def _check_device(device: str) -> None:
    """Refuse a device that is unknown or not there, and a machine without the libraries."""
    try:
        import accelerate  # noqa: F401
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"training needs {error.name}; install it with: pip install 'boxpen[hf]'"
        ) from None
    if device not in ("auto", "cpu", "cuda"):
        raise ModelError(f"device '{device}' is unknown, expected auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelError("there is no device 'cuda' here, expected cpu or auto")
