"""A training from its data to its model; a second call resumes an interrupted one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.errors import TrainError
from boxpen.items import Item
from boxpen.lm.classifier.data import Examples, texts_of
from boxpen.lm.classifier.device import check_device, on_cuda
from boxpen.lm.classifier.history import ACCURACY, last_checkpoint, read_history, whole
from boxpen.lm.classifier.options import Options
from boxpen.lm.classifier.record import Record, digest
from boxpen.lm.classifier.split import given, groups_of, hold_out, without
from boxpen.lm.classifier.task import Task
from boxpen.metrics.intervals import share

if TYPE_CHECKING:
    from boxpen.lm.classifier.trainer import ItemTrainer

__all__ = ["Job", "train"]

_RATE = 3e-5
_RATE_FROM_NOTHING = 5e-4


@dataclass(frozen=True, kw_only=True)
class Job:
    """A training: model, data, options and output folder; see ``train_nli``."""

    task: Task
    base: str
    tokenizer: str | None
    out: Path
    options: Options
    device: str
    progress: bool
    note: Callable[[str], None]

    def check(self) -> None:
        """Fail early, before any data is read, if the training cannot work.

        Raises:
            BoxpenError: If the folder or the device cannot be used, or a library is missing.
        """
        self.record.check()
        check_device(self.device)

    @property
    def record(self) -> Record:
        """The folder of this training."""
        return Record(self.out)

    @property
    def on_cuda(self) -> bool:
        """Whether a GPU is used."""
        return on_cuda(self.device)

    @property
    def learning_rate(self) -> float:
        """The peak of the learning rate."""
        if self.options.learning_rate is not None:
            return self.options.learning_rate
        return _RATE_FROM_NOTHING if self.base.startswith("new:") else _RATE


def train(
    job: Job,
    examples: Examples[Any],
    valid: Examples[Any] | None,
    *,
    holdout: float,
    exclude: Sequence[str],
) -> dict[str, Any]:
    """Train, keep the best weights, and return the result.

    Raises:
        BoxpenError: If the training cannot be run.
    """
    record = job.record
    suites = _suites(exclude)
    items, held = list(examples.items), list(valid.items if valid else ())
    excluded = [item for suite in suites.values() for item in suite]
    items, held = (
        [side[i] for i in without(side, excluded)] if excluded else side for side in (items, held)
    )
    left_out = len(examples.items) + len(valid.items if valid else ()) - len(items) - len(held)
    if not items or (valid and not held):
        raise TrainError("every item shares its premise or goal with --exclude, so nothing is left")
    split = given(items, held) if valid else hold_out(items, holdout, job.options.seed)
    settings: dict[str, Any] = {
        "task": job.task.name,
        "base": job.base,
        "tokenizer": job.tokenizer,
        "holdout": None if valid else holdout,
        "exclude": {name: suite.hash for name, suite in suites.items()},
        **job.options.as_dict(),
        "data": digest(examples.items),
        "valid": digest(valid.items) if valid else None,
    }
    held_out = [(held if valid else items)[i] for i in split.held_out]
    record.compare(settings)
    if finished := record.result():
        job.note(f"{job.out} is finished; nothing was done")
        return finished
    counts = {
        "read": examples.read + (valid.read if valid else 0),
        "without_label": examples.skipped + (valid.skipped if valid else 0),
        "excluded": left_out,
        "shared_with_valid": split.removed,
    }
    return _Training(job, settings, [items[i] for i in split.train], held_out).run(counts)


def _suites(names: Sequence[str]) -> dict[str, Any]:
    if not names:
        return {}
    from boxpen.catalog import load_suite

    return {name: load_suite(name) for name in names}


class _Training:
    """One training on items that are already on their sides."""

    def __init__(
        self,
        job: Job,
        settings: Mapping[str, Any],
        items: Sequence[Item],
        held_out: Sequence[Item],
    ) -> None:
        self.settings = settings
        self.job = job
        self.task = job.task
        self.record = job.record
        self.items = items
        self.held_out = held_out

    def run(self, counts: dict[str, int]) -> dict[str, Any]:
        from boxpen.models.engine.quiet import quiet

        with quiet(silent=False):
            return self._run(counts)

    def _run(self, counts: dict[str, int]) -> dict[str, Any]:
        from transformers import set_seed

        set_seed(self.job.options.seed)  # of the new head
        self.tokenizer, module, start = self._begin()
        self.record.begin(self.settings, self.held_out)
        features, cut = self._features(self.items, module)
        tested, cut_tested = self._features(self.held_out, module)
        trainer = self._trainer(module, features, tested)
        patience = self.job.options.patience
        if start is None or not ACCURACY.over(read_history(start), patience):
            if start is not None:
                self.job.note(f"{self.job.out}: resuming after {start.name}")
            trainer.run(start, self.job.out)
        place = last_checkpoint(self.record.checkpoints)
        assert place is not None, "a training ends with a checkpoint"
        history = read_history(place)
        best = ACCURACY.best_step(history.log)
        assert best is not None, "a training ends with an evaluation"
        kept = place.with_name(f"checkpoint-{best}")
        with whole(kept, last=kept == place):
            module = self._auto(module.config).from_pretrained(kept)
        predicted = self._trainer(module, features, tested).predict(tested).predictions
        result = {
            "task": self.task.name,
            "base": self.job.base,
            **self._accuracy([f["place"] for f in tested], predicted.tolist()),
            "best_step": best,
            "steps": history.step,
            "stopped_early": history.step < history.last,
            "items": {
                **counts,
                "train": len(self.items),
                "held_out": len(self.held_out),
                "cut": cut + cut_tested,
            },
            "device": "cuda" if self.job.on_cuda else "cpu",
        }

        def save(folder: Path) -> None:
            module.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)

        self.record.finish(save, result)
        return result

    def _begin(self) -> tuple[Any, Any, Path | None]:
        """Return the tokenizer and the module to start with, and the checkpoint they are of."""
        from transformers import AutoConfig, AutoTokenizer

        from boxpen.lm.classifier.base import find_base
        from boxpen.models.engine.quiet import quiet

        last = last_checkpoint(self.record.checkpoints)
        if last is not None:
            with quiet(), whole(last):
                module = self._auto(AutoConfig.from_pretrained(last)).from_pretrained(last)
                return AutoTokenizer.from_pretrained(last), module, last
        texts = (text for item in self.items for text in texts_of(item))
        base = find_base(self.job.base, tokenizer=self.job.tokenizer, texts=texts)
        head = self.task.head(base.config)
        return base.tokenizer, base.load(self._auto(base.config), **head), None

    def _auto(self, config: Any) -> Any:
        import transformers

        return getattr(transformers, self.task.auto(config))

    def _features(self, items: Sequence[Item], module: Any) -> tuple[list[dict[str, Any]], int]:
        """Return what the collator takes, short items first, and how many items were cut."""
        from boxpen.lm.classifier.pairs import encode, longest

        sizes = [self.task.answers(item) if self.task.name == "choice" else 1 for item in items]
        pairs = [pair for item in items for pair in self.task.pairs(item)]
        encoded = encode(self.tokenizer, pairs, longest(module.config, self.job.options.max_length))
        out: list[dict[str, Any]] = []
        cut = at = 0
        for place, (item, size) in enumerate(zip(items, sizes, strict=True)):
            out.append(
                {
                    "place": place,
                    "pairs": encoded.features[at : at + size],
                    "labels": self.task.gold(item),
                }
            )
            cut += any(encoded.cut[at : at + size])
            at += size
        return sorted(out, key=_length), cut

    def _trainer(
        self, module: Any, features: list[dict[str, Any]], tested: list[dict[str, Any]]
    ) -> ItemTrainer:
        from boxpen.lm.classifier.arguments import training_arguments
        from boxpen.lm.classifier.trainer import ItemTrainer

        return ItemTrainer(
            scores=self.task.scores,
            lengths=[_length(f) for f in features],
            log=self.record.log,
            patience=self.job.options.patience,
            progress=self.job.progress,
            model=module,
            args=training_arguments(
                self.job.options,
                items=len(features),
                learning_rate=self.job.learning_rate,
                cuda=self.job.on_cuda,
                folder=self.record.checkpoints,
            ),
            data_collator=lambda batch: self.task.collate(self.tokenizer, batch),
            train_dataset=features,
            eval_dataset=tested,
            processing_class=self.tokenizer,
        )

    def _accuracy(self, places: Sequence[int], predicted: Sequence[int]) -> dict[str, Any]:
        golds = [self.task.gold(item) for item in self.held_out]
        groups = groups_of(self.held_out)
        earned = [float(p == golds[i]) for i, p in zip(places, predicted, strict=True)]
        estimate = share(earned, [groups[i] for i in places])
        known = Counter(self.task.gold(item) for item in self.items)
        common = min(known, key=lambda gold: (-known[gold], gold))
        chance = [1 / self.task.answers(item) for item in self.held_out]
        return {
            "accuracy": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n,
            "majority": golds.count(common) / len(golds),
            "chance": math.fsum(chance) / len(chance),
        }


def _length(feature: dict[str, Any]) -> int:
    return max(len(pair["input_ids"]) for pair in feature["pairs"])
