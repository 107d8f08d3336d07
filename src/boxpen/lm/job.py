"""Train language models from scratch or further, on text and on knowledge graphs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.kg.wording.sentences import check_ways
from boxpen.errors import TrainError
from boxpen.lm.begin import KINDS, begin, check_model, size_of
from boxpen.lm.classifier.device import check_device, on_cuda
from boxpen.lm.classifier.history import LOSS, last_checkpoint, read_history, whole
from boxpen.lm.classifier.options import Options
from boxpen.lm.classifier.split import check_share
from boxpen.lm.data import Data, read_data
from boxpen.lm.record import LmRecord
from boxpen.printable import excerpt

if TYPE_CHECKING:
    from boxpen.lm.learner import Feature, Learner
    from boxpen.lm.trainer import LmTrainer

__all__ = ["train_lm"]

_RATES = {"causal": (3e-5, 5e-4), "masked": (3e-5, 5e-4), "bilm": (2e-4, 1e-3)}
"""Peaks of the learning rate: of a model that is there, and of one from nothing."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([_-][A-Za-z0-9]+)*")


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
    """Train a language model, or resume an interrupted training.

    Args:
        kind: ``causal``, ``masked`` or ``bilm``.
        model: A model of that kind, as ``boxpen run`` takes it, or its folder; ``new:tiny``,
            ``new:small`` (or ``new``) for one from nothing.
        out: The folder of the model, its log and its held-out sentences.
        text: Files with one sentence per line.
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
    check_ways(ways)
    if not valid:
        check_share(holdout)
    _check_language(language)
    record.check()
    check_device(device)
    if not text and not triples:
        raise TrainError("no training data; give --text, --triples or both")
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


def _check_language(language: str) -> None:
    if not _LANGUAGE.fullmatch(language):
        raise TrainError(
            f"--language is {excerpt(language)}, expected the code of a language, as zh or en"
        )


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
        return on_cuda(self.device)

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
        from boxpen.models.engine.quiet import quiet

        with quiet(silent=False):
            return self._run()

    def _run(self) -> dict[str, Any]:
        from transformers import set_seed

        from boxpen.lm.trainer import best_folder

        seed = self.job.options.seed
        set_seed(seed)
        learner, start = self._begin()
        features, cut, empty = self._features(learner, self.data.train, "for training")
        tested, cut_tested, empty_tested = self._features(learner, self.data.held_out, "held out")
        self.record.begin_sentences(self.settings, self.data.held_out)
        if start is None or not LOSS.over(read_history(start), self.job.options.patience):
            if start is not None:
                self.job.note(f"{self.record.folder}: resuming after {start.name}")
            self._trainer(learner, features, tested).run(start, self.record.folder)
        last = last_checkpoint(self.record.checkpoints)
        assert last is not None, "a training ends with a checkpoint"
        history = read_history(last)
        best = LOSS.best_step(history.log)
        assert best is not None, "a training ends with an evaluation"
        place = best_folder(self.record.checkpoints, best)
        if best == history.step and not place.is_dir():
            place = last  # it was stopped between its last checkpoint and this
        learner = self._load(place, last=place == last)
        nats, tokens = self._trainer(learner, features, tested).held_out_loss()
        result = {
            "task": "lm",
            "kind": self.job.kind,
            "model": self.job.model,
            "loss": nats / tokens,
            "loss_before": LOSS.before(history.log),
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
        last = last_checkpoint(self.record.checkpoints)
        if last is not None:
            return self._load(last), last
        texts = (sentence.text for sentence in self.data.train)
        learner = begin(
            self.job.kind, self.job.model, texts=texts, vocabulary=self.job.vocabulary,
            seed=self.job.options.seed,
        )  # fmt: skip
        return learner, None

    def _load(self, folder: Path, *, last: bool = True) -> Learner:
        with whole(folder, last=last):
            return KINDS[self.job.kind].load(folder, self.job.options.seed)

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
        from boxpen.lm.classifier.arguments import training_arguments
        from boxpen.lm.trainer import LmTrainer

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
