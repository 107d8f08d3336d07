"""Stages of a build: each writes its files once, and again only when something it rests on changed.

What a stage rests on is put into one digest: its name and settings, the content of the files it
reads, and the version of its code. A build that was interrupted goes on where it stopped, and one
that is repeated does nothing.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from boxpen.atomic import replaced
from boxpen.errors import BuildError

__all__ = ["Stages"]

_RECORD = "stages.json"
Report = dict[str, Any]


class Stages:
    """The stages of one build, and the folder with their files.

    Args:
        folder: Where the files are; made if it is not there.

    Raises:
        BuildError: If the folder cannot be made, or its record is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BuildError(f"{folder} cannot be made: {error.strerror}") from None
        self._done = _read(folder / _RECORD)

    def run(
        self,
        name: str,
        *,
        settings: Mapping[str, object],
        inputs: Sequence[Path],
        outputs: Sequence[str],
        work: Callable[[], Report],
        force: bool = False,
    ) -> tuple[Report, bool]:
        """Do a stage, unless all that it rests on is as it was.

        Args:
            name: Of the stage.
            settings: Everything but the files that its outcome depends on.
            inputs: The files it reads.
            outputs: Names of the files it writes into the folder.
            work: Writes them, and returns what is to be said of it.
            force: Do it in any case.

        Returns:
            What the stage reported, now or when it was last done; and whether it was done now.

        Raises:
            BuildError: If a file it reads is not there.
        """
        key = _key(name, settings, inputs)
        done = self._done.get(name, {})
        made = {file: self.folder / file for file in outputs}
        same = done.get("key") == key and all(
            path.is_file() and done["outputs"].get(file) == _digest(path)
            for file, path in made.items()
        )
        if same and not force:
            return done["report"], False
        started = time.time()
        report = work()
        self._done[name] = {
            "key": key,
            "outputs": {file: _digest(path) for file, path in made.items()},
            "report": report,
            "seconds": round(time.time() - started, 3),
        }
        with replaced(self.folder / _RECORD, BuildError) as stream:
            stream.write((json.dumps(self._done, indent=1, ensure_ascii=False) + "\n").encode())
        return report, True

    def report(self, name: str) -> Report | None:
        """Return what a stage reported when it was last done; None if it never was."""
        found: Report | None = self._done.get(name, {}).get("report")
        return found


def _key(name: str, settings: Mapping[str, object], inputs: Sequence[Path]) -> str:
    parts = [name, settings, [_digest(path) for path in inputs]]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise BuildError(f"there is no {path}; run the stage that writes it first") from None
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}") from None


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
        whole = isinstance(found, dict) and all(
            isinstance(done.get("outputs"), dict)
            and isinstance(done.get("report"), dict)
            and "key" in done
            for done in found.values()
        )
    except (OSError, ValueError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise BuildError(f"{path} is damaged; remove it, and the build is done anew")
    return dict(found)
