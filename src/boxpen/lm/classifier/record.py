"""The folder of a training: its settings, held-out items and result.

train.json        every setting, so that no other training resumes in the same folder
held-out.jsonl    the held-out items as a suite; held-out.txt has their ids
log.jsonl         step, loss, held-out accuracy
checkpoints/      until the end: the best one and the last
result.json, the weights, the tokenizer and, last of all, config.json
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boxpen.catalog.jsonl import write_jsonl
from boxpen.errors import TrainError
from boxpen.files import moved_in, replaced
from boxpen.items import Card, Item, Suite, item_to_dict

__all__ = ["Record", "digest"]

_DIGESTS = ("data", "valid")


class Record:
    """The folder of one training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def checkpoints(self) -> Path:
        """Where the checkpoints are until the training is finished."""
        return self.folder / "checkpoints"

    @property
    def log(self) -> Path:
        """The log, one JSON object per line."""
        return self.folder / "log.jsonl"

    def check(self) -> None:
        """Reject a path that is not a folder, or a folder that holds other things.

        Raises:
            TrainError: If it is not usable.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise TrainError(f"{self.folder} is a file, expected a folder for the model")
        if self.folder.is_dir() and not self._settings.is_file():
            other = next(iter(sorted(p.name for p in self.folder.iterdir())), None)
            if other is not None:
                raise TrainError(
                    f"{self.folder} holds '{other}' and no train.json, expected a new or empty "
                    "folder, or one of an earlier training"
                )

    def compare(self, settings: Mapping[str, Any]) -> None:
        """Refuse to resume with other settings than a training was begun with.

        Raises:
            TrainError: If a setting differs; the message names the option.
        """
        if not self._settings.is_file():
            return
        then, now = self._begun(), json.loads(json.dumps(settings))
        for name in now:
            if then.get(name) == now[name]:
                continue
            option = "--" + name.replace("_", "-")
            before = then.get(name)
            named_alike = isinstance(before, dict) and _shown(before) == _shown(now[name])
            if name in _DIGESTS or named_alike:  # suites of the same names, perhaps
                raise TrainError(
                    f"{self.folder} was started with other items in {option}; use another --out"
                )
            raise TrainError(
                f"{self.folder} was started with {option} {_shown(then.get(name))}, not "
                f"{_shown(now[name])}; use the same value, or another --out"
            )

    def begin(self, settings: Mapping[str, Any], held_out: Sequence[Item]) -> None:
        """Record the settings at the start of a training, unless they are recorded already.

        Raises:
            TrainError: If the folder cannot be written.
        """
        if self._settings.is_file():
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrainError(f"{self.folder} cannot be created: {error.strerror}") from None
        card = Card(title="held out from training", notes=f"seed {settings['seed']}")
        suite = Suite(f"{self.folder.name}-held-out", tuple(held_out), card)
        with replaced(self.folder / "held-out.jsonl", TrainError) as stream:
            write_jsonl(suite, stream)
        with replaced(self.folder / "held-out.txt", TrainError) as stream:
            stream.writelines(f"{item.id}\n".encode() for item in held_out)
        with replaced(self._settings, TrainError) as stream:
            stream.write(json.dumps(settings, indent=1).encode())

    def result(self) -> dict[str, Any] | None:
        """Return the result of a finished training, or None."""
        if not (self.folder / "config.json").is_file():
            return None
        shutil.rmtree(self.checkpoints, ignore_errors=True)  # it was stopped before this, perhaps
        out: dict[str, Any] = _read(self.folder / "result.json")
        return out

    def finish(self, save: Callable[[Path], None], result: Mapping[str, Any]) -> None:
        """Put the model and the result in place; ``config.json``, which makes it one, comes last.

        Args:
            save: Writes the model and its tokenizer into a folder.
            result: What is kept in ``result.json``.

        Raises:
            TrainError: If it cannot be written; the checkpoints are kept.
        """
        from safetensors import SafetensorError

        aside = self.folder / ".finished"
        shutil.rmtree(aside, ignore_errors=True)
        try:
            save(aside)
            (aside / "result.json").write_text(json.dumps(result, indent=1), "utf-8")
            moved_in(aside, self.folder, last="config.json")
        except (OSError, RuntimeError, SafetensorError) as error:
            shutil.rmtree(aside, ignore_errors=True)
            raise TrainError(
                f"the model cannot be written to {self.folder} ({error}); its checkpoints are "
                "kept, so rerun the same command to try again"
            ) from error
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    @property
    def _settings(self) -> Path:
        return self.folder / "train.json"

    def _begun(self) -> dict[str, Any]:
        """Return the recorded settings of a training."""
        found = _read(self._settings)
        return found if isinstance(found, dict) else {}


def digest(items: Sequence[Item]) -> str:
    """Return the digest of items in their order."""
    out = hashlib.sha256()
    for item in items:
        out.update(json.dumps(item_to_dict(item), sort_keys=True).encode() + b"\n")
    return out.hexdigest()


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TrainError(f"{path} cannot be read ({error}); use another --out") from None


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return "unset"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(value) if isinstance(value, dict) else str(value)
