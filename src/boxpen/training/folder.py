"""The folder of a training: its settings, its log, and the finished model.

training.json   every setting, so that no other training resumes in the same folder
log.jsonl       one JSON object per line: loss and speed of steps, validation results
checkpoints/    until the end
result.json, the weights, the tokenizer and, last of all, config.json

The finished folder is a model of Transformers: ``hf:FOLDER`` for boxpen.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from boxpen.errors import TrainError
from boxpen.files import moved_in, replaced
from boxpen.training.checkpoints import Checkpoints

__all__ = ["RunFolder", "read_json"]


class RunFolder(ABC):
    """The folder of one training.

    Args:
        folder: Where it is.
        settings: What is recorded, by tables of settings; ``top`` is one of them.
        defaults: What settings were before they were recorded, likewise.
    """

    other: ClassVar[str] = "another folder"
    """What to use instead, in messages."""
    free: ClassVar[frozenset[str]] = frozenset()
    """Settings that may be changed when a training is resumed."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        defaults: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.folder = folder
        self.settings: dict[str, Any] = json.loads(json.dumps(settings, default=str))
        self.defaults = json.loads(json.dumps(defaults or {}, default=str))
        self.checkpoints = Checkpoints(folder / "checkpoints")

    @property
    def settings_file(self) -> Path:
        """Where the settings are recorded."""
        return self.folder / "training.json"

    @property
    def finished(self) -> bool:
        """Whether the model is in place."""
        return (self.folder / "config.json").is_file()

    @property
    def has_learnt(self) -> bool:
        """Whether there is a checkpoint or a model, which other settings would ruin."""
        return self.finished or bool(self.checkpoints.steps())

    @abstractmethod
    def difference(self, table: str, key: str, was: Any, now: Any) -> str:
        """Describe a setting that differs from the recorded one, and the way out."""

    def check(self, *ours: Path) -> None:
        """Reject a path that is not a usable folder for this training.

        Args:
            *ours: What else may be in a folder before the first training.
        """
        folder = self.folder
        try:
            if folder.exists() and not folder.is_dir():
                raise TrainError(f"{folder} is a file, expected a folder for the model")
            if self.settings_file.is_file():
                recorded = self.recorded()
                self._check_task(recorded)
                if self.has_learnt:  # or other settings, perhaps those advised, start it anew
                    self.compare(recorded)
            elif folder.is_dir():
                names = (p.name for p in folder.iterdir() if p not in ours)
                strange = sorted(name for name in names if not name.startswith("."))
                if strange:
                    raise TrainError(
                        f"{folder} holds '{strange[0]}' and no training.json, expected a new or "
                        "empty folder, or one of an earlier training"
                    )
            if not self.finished:  # a finished model is only read
                _check_writable(folder)
        except OSError as error:
            raise TrainError(
                f"{folder} cannot be a folder for the model: {error.strerror or error}"
            ) from None

    def recorded(self) -> dict[str, Any]:
        """Return the settings that the training was started with."""
        try:
            found = json.loads(self.settings_file.read_text("utf-8"))
            tables = [found["top"], *(found.get(name, {}) for name in self._tables)]
            whole = all(isinstance(table, dict) for table in tables)
        except (ValueError, TypeError, KeyError, AttributeError):
            whole = False
        if not whole:
            raise TrainError(
                f"{self.settings_file} is damaged or not the record of a training; use {self.other}"
            )
        return dict(found)

    def _check_task(self, recorded: Mapping[str, Any]) -> None:
        """Refuse the folder of another kind of training, even if it has no checkpoint yet."""
        was = recorded["top"].get("task", "nmt")  # the only kind that once did not record it
        now = self.settings["top"].get("task", was)
        if was != now:
            raise TrainError(
                f"{self.folder} was started with 'boxpen train {was}', not 'boxpen train {now}'; "
                f"use {self.other}"
            )

    def compare(self, recorded: Mapping[str, Any]) -> None:
        """Refuse other settings than those that a training was started with."""
        for table in self._tables:
            if table not in recorded:  # started when these were not recorded
                continue
            for key, now in self.settings[table].items():
                was = recorded[table].get(key, self.defaults.get(table, {}).get(key))
                if was != now and key not in self.free:
                    raise TrainError(
                        f"{self.folder} was started with {self.difference(table, key, was, now)}"
                    )

    @property
    def _tables(self) -> list[str]:
        return [name for name, value in self.settings.items() if isinstance(value, dict)]

    def begin(self, files: Mapping[str, bytes] | None = None) -> None:
        """Record the settings, and other files, unless a training is being resumed."""
        if self.settings_file.is_file() and self.has_learnt:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrainError(f"{self.folder} cannot be created: {error.strerror}") from None
        settings = json.dumps(self.settings, indent=1).encode()
        # The settings first: without them a killed training could not be started again.
        for name, content in {self.settings_file.name: settings, **(files or {})}.items():
            with replaced(self.folder / name, TrainError) as stream:
                stream.write(content)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other trainings out of the folder; the lock of a killed one is free at once.

        Nothing is left of a training that failed before its settings were recorded.
        """
        path = self.folder / ".lock"
        try:
            made = [place for place in (self.folder, *self.folder.parents) if not place.exists()]
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = path.open("w")
        except OSError as error:
            raise TrainError(
                f"{self.folder} cannot be a folder for the model: {error.strerror}"
            ) from None
        with lock as held:
            try:
                import fcntl

                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Another training may have ended meanwhile, and removed the file.
                ours = os.path.samestat(os.fstat(held.fileno()), path.stat())
            except (BlockingIOError, FileNotFoundError):
                ours = False
            except (ImportError, OSError):  # the system, or this disk, has no such locks
                ours = True
            if not ours:
                raise TrainError(f"another training is running in {self.folder}")
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()
                    if not self.settings_file.is_file():
                        for place in made:
                            place.rmdir()  # which refuses one that holds anything

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        path = self.folder / "log.jsonl"
        try:
            with path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise TrainError(f"{path} cannot be written: {error.strerror}") from None

    def rewind(self, step: int) -> None:
        """Drop the log lines after a step, which will be done again, and damaged lines.

        Args:
            step: The last step to keep; -1 for none.
        """
        path = self.folder / "log.jsonl"
        if not path.is_file():
            return
        kept = []
        for line in path.read_text("utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, TypeError):
                entry = json.loads(line)
                if isinstance(entry, dict) and entry.get("step", 0) <= step:
                    kept.append(f"{line}\n")
        with replaced(path, TrainError) as stream:
            stream.write("".join(kept).encode())

    def result(self) -> dict[str, Any] | None:
        """Return the result of a finished training, or None."""
        if not self.finished:
            return None
        self.check()
        shutil.rmtree(self.checkpoints.folder, ignore_errors=True)  # if it was killed before this
        return read_json(self.folder / "result.json", self.other)

    def finish(self, save: Callable[[Path], None], result: Mapping[str, Any]) -> None:
        """Put model and result in place; ``config.json``, which makes it a model, comes last.

        Args:
            save: Writes the model and its tokenizer into a folder.
            result: The content of ``result.json``.
        """
        from safetensors import SafetensorError

        from boxpen.models.engine.quiet import quiet

        aside = self.folder / ".finished"
        shutil.rmtree(aside, ignore_errors=True)
        try:
            with quiet():
                save(aside)
            (aside / "result.json").write_text(json.dumps(result, indent=1), "utf-8")
            moved_in(aside, self.folder, last="config.json")
        except (OSError, RuntimeError, ValueError, SafetensorError) as error:
            raise TrainError(
                f"the model cannot be written to {self.folder} ({error}); its checkpoints are "
                "kept, so rerun the same command to try again"
            ) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(self.checkpoints.folder, ignore_errors=True)


def read_json(path: Path, other: str) -> dict[str, Any]:
    """Read a file of a training."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TrainError(f"{path} cannot be read ({error}); use {other}") from None
    return found


def _check_writable(folder: Path) -> None:
    """Reject a folder that cannot be written or created."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise TrainError(f"{folder} cannot be created: {place} is a file, expected a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise TrainError(f"{folder} cannot be written: permission denied for {place}")
