"""Train a classifier, from its data to its model; a second call resumes an interrupted training."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from boxpen.catalog.jsonl import write_jsonl
from boxpen.errors import TrainError
from boxpen.items import Card, Item, Suite, item_to_dict
from boxpen.lm.classifier.data import Examples, texts_of
from boxpen.lm.classifier.trainable import Classifier
from boxpen.lm.folder import OutFolder, digest
from boxpen.lm.options import Options
from boxpen.lm.split import given, groups_of, hold_out, without
from boxpen.lm.training import ItemTraining, Plan, Trained, check_start
from boxpen.metrics.intervals import share
from boxpen.training.processes import Processes

__all__ = ["train"]

_RATE = 3e-5
_RATE_FROM_SCRATCH = 5e-4


def train(
    kind: type[Classifier],
    read: Callable[[], tuple[Examples[Any], Examples[Any] | None]],
    *,
    base: str,
    out: str | Path,
    tokenizer: str | None,
    holdout: float,
    exclude: Sequence[str],
    options: Options | None,
    device: str,
    progress: bool,
    note: Callable[[str], None],
) -> dict[str, Any]:
    """Train, keep the best weights, and return the result; see ``train_nli``."""
    options = options or Options()
    seed = options.seed

    def divided() -> _Data:
        check_start(out, device)
        return _divided(*read(), _suites(exclude), holdout, seed)

    data = Processes(device).once(divided)
    learnt, held_out = data.train, data.held_out
    settings = {
        "task": kind.kind,
        "base": base,
        "tokenizer": tokenizer,
        "holdout": None if data.digests["valid"] else holdout,
        "exclude": data.suites,
        **asdict(options),
    }
    folder = OutFolder(Path(out), settings, data.digests)

    def make() -> Classifier:
        import transformers

        from boxpen.lm.classifier.base import find_base

        found = find_base(base, tokenizer=tokenizer, texts=(t for i in learnt for t in texts_of(i)))
        auto = getattr(transformers, kind.auto(found.config))
        module = found.load(auto, **kind.head(found.config))
        return kind(module, found.tokenizer, seed)

    def report(trained: Trained) -> dict[str, Any]:
        return {
            "task": kind.kind,
            "base": base,
            **_accuracy(kind, learnt, held_out, trained.right),
            **trained.steps,
            "items": {
                **data.counts,
                "train": len(learnt),
                "held_out": len(held_out),
                "cut": trained.cut,
            },
            "device": trained.device,
        }

    usual = _RATE_FROM_SCRATCH if base.startswith("new:") else _RATE
    plan = Plan(
        make=make,
        train=learnt,
        held_out=held_out,
        files=_files(held_out, folder.folder.name, seed),
        report=report,
        learning_rate=usual if options.learning_rate is None else options.learning_rate,
        options=options,
        data="items",
        metric="accuracy",
        device=device,
        progress=progress,
        note=note,
    )
    return ItemTraining(folder, plan).run()


@dataclass(frozen=True)
class _Data:
    """Items for training and held out, how many were left out, and what they come from."""

    train: list[Any]
    held_out: list[Any]
    counts: dict[str, int]
    digests: dict[str, str | None]
    suites: dict[str, str]


def _divided(
    examples: Examples[Any],
    valid: Examples[Any] | None,
    suites: Mapping[str, Any],
    holdout: float,
    seed: int,
) -> _Data:
    items, held = list(examples.items), list(valid.items if valid else ())
    excluded = [item for suite in suites.values() for item in suite]
    items, held = (
        [side[i] for i in without(side, excluded)] if excluded else side for side in (items, held)
    )
    left_out = len(examples.items) + len(valid.items if valid else ()) - len(items) - len(held)
    if not items or (valid and not held):
        raise TrainError("every item shares its premise or goal with --exclude, so nothing is left")
    split = given(items, held) if valid else hold_out(items, holdout, seed)
    return _Data(
        train=[items[i] for i in split.train],
        held_out=[(held if valid else items)[i] for i in split.held_out],
        counts={
            "read": examples.read + (valid.read if valid else 0),
            "without_label": examples.skipped + (valid.skipped if valid else 0),
            "excluded": left_out,
            "shared_with_valid": split.removed,
        },
        digests={"data": _digest(examples.items), "valid": _digest(valid.items) if valid else None},
        suites={name: suite.hash for name, suite in suites.items()},
    )


def _suites(names: Sequence[str]) -> dict[str, Any]:
    if not names:
        return {}
    from boxpen.catalog import load_suite

    return {name: load_suite(name) for name in names}


def _digest(items: Sequence[Item]) -> str:
    return digest(json.dumps(item_to_dict(item), sort_keys=True) for item in items)


def _files(held_out: Sequence[Item], name: str, seed: int) -> dict[str, bytes]:
    """Return the held-out items as a suite, and their ids."""
    card = Card(title="held out from training", notes=f"seed {seed}")
    stream = io.BytesIO()
    write_jsonl(Suite(f"{name}-held-out", tuple(held_out), card), stream)
    ids = "".join(f"{item.id}\n" for item in held_out)
    return {"held-out.jsonl": stream.getvalue(), "held-out.txt": ids.encode()}


def _accuracy(
    kind: type[Classifier],
    learnt: Sequence[Item],
    held_out: Sequence[Item],
    right: Mapping[int, bool],
) -> dict[str, Any]:
    groups = groups_of(held_out)
    estimate = share([float(r) for r in right.values()], [groups[place] for place in right])
    golds = [kind.gold(item) for item in held_out]
    known = Counter(map(kind.gold, learnt))
    common = min(known, key=lambda gold: (-known[gold], gold))
    chance = [1 / kind.answers(item) for item in held_out]
    return {
        "accuracy": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "majority": golds.count(common) / len(golds),
        "chance": math.fsum(chance) / len(chance),
    }
