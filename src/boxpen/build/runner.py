"""Stages of a build, and the runner that brings them up to date.

A stage reads files, writes files into the folder of the build, and reports what it did. It runs if
it never ran, or if its settings, the version of its code, the content of a file that it reads or of
one that it wrote have changed since. What ran is recorded in ``stages.json`` after every stage, so
that a build that was interrupted or killed resumes with the stage that was under way.

A stage may consist of parts, which do not depend on each other. They are done one after the other
here, or by workers anywhere (``boxpen.build.workers``); the result is the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from boxpen.errors import BuildError, nearest
from boxpen.files import replaced

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "RECORD",
    "Done",
    "Parts",
    "Progress",
    "Report",
    "Runner",
    "Share",
    "Stage",
    "State",
    "steps_of",
]

RECORD = "stages.json"
"""The file with the record of the stages that ran."""
Progress = Callable[[str, int, int], None]
"""Called with a label, how much is done, and the total."""
Report = dict[str, Any]
"""What a stage reports: ``says``, a sentence; ``steps``, a list of ``step``, ``dropped`` and
``left``; ``table``, a list of rows to show; ``notes`` and ``warnings``, lines to show; and figures
of its own."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a stage is divided into; the parts depend neither on each other nor on who does them.

    Attributes:
        listed: Returns what is to be done in every part, JSON values, no two of them equal.
        do: Does one part, in this process or another.
    """

    listed: Callable[[], Iterable[Any]]
    do: Callable[[Any], bytes]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step of a build.

    Attributes:
        name: Its name.
        run: Writes the files, each whole or not at all, and reports. If there are parts, it is
            given an iterator over their results, in order.
        parts: What may be done by workers.
        reads: Files it reads: names in the folder of the build, or paths of other files.
        writes: Names of the files it writes into the folder.
        settings: Everything else that the result depends on.
        dropped: The file among ``writes`` that lists what was dropped, with the columns ``step``
            and ``reason``.
        reread: Steps that drop too much to keep a list, each with a function that reads the rows
            again, frame by frame.
        hint: How to get a file of ``reads`` outside the folder that does not exist.
    """

    name: str
    run: Callable[..., Report]
    parts: Parts | None = None
    reads: Sequence[str | Path] = ()
    writes: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    dropped: str | None = None
    reread: Mapping[str, Callable[[], Iterable[pl.LazyFrame]]] = field(default_factory=dict)
    hint: str = ""


@dataclass(frozen=True)
class Done:
    """A stage that is up to date: its name, its report, and whether it ran just now."""

    stage: str
    report: Report
    fresh: bool


@dataclass(frozen=True)
class State:
    """Why a stage would run, empty if it is up to date, and its last report, if it ever ran."""

    stage: str
    reason: str
    report: Report | None
    seconds: float


class Share(Protocol):
    """Has workers do the parts of stages."""

    def __call__(self, stage: Stage, content: Mapping[str, Any]) -> Iterator[bytes]:
        """Return the results of all parts, in order.

        Args:
            stage: A stage with parts.
            content: What its result depends on.
        """
        ...

    def forget(self) -> None:
        """Remove the results, as the stage is recorded."""
        ...


class Runner:
    """Runs the stages of one build.

    Args:
        folder: Where the files are; created when the first stage runs.
        stages: In the order in which they run.
        version: Of the builder's code; raise it when the same input gives another result.
        share: Who does the parts of stages; this process if None.
    """

    def __init__(
        self,
        folder: Path,
        stages: Sequence[Stage],
        version: int = 0,
        share: Share | None = None,
    ) -> None:
        self.folder = folder
        self.stages = {stage.name: stage for stage in stages}
        self._version = version
        self._share = share
        self._record = _read(folder / RECORD)

    def run(self, only: str | None = None, *, force: bool = False) -> Iterator[Done]:
        """Run all stages, or one, where they are out of date; yield each when it is up to date.

        Raises:
            BuildError: If a stage fails, there is no stage of this name, or a file is missing.
        """
        if only is not None and only not in self.stages:
            raise BuildError(f"there is no stage '{only}', {nearest(only, list(self.stages))}")
        with _no_empty_folders(self._folders(*self.stages.values())):
            for stage in self.stages.values():
                if only in (None, stage.name):
                    yield self._run(stage, force=force)

    def status(self) -> list[State]:
        """Return which stages are up to date, and why the others are not."""
        states: list[State] = []
        stale: dict[str, str] = {}  # files that will be written again, with the stage that does
        for stage in self.stages.values():
            before = next(
                (stale[f] for f in stage.reads if isinstance(f, str) and f in stale), None
            )
            reason = f"waits for {before}" if before else self._outdated(stage)
            if reason:
                stale |= dict.fromkeys(stage.writes, stage.name)
            record = self._record.get(stage.name, {})
            states.append(
                State(stage.name, reason, record.get("report"), record.get("seconds", 0.0))
            )
        return states

    def report(self, name: str) -> Report | None:
        """Return what a stage reported when it last ran; None if it never did."""
        found: Report | None = self._record.get(name, {}).get("report")
        return found

    def dropped(
        self, step: str | None = None, *, where: Mapping[str, str] | None = None, limit: int = 0
    ) -> tuple[list[dict[str, Any]], int]:
        """Return what the stages dropped, with step and reason, and how many rows there are.

        Args:
            step: Only what this step dropped.
            where: Only rows with these values in these columns, in upper or lower case.
            limit: How many rows to return; all if 0.

        Raises:
            BuildError: If no stage that drops anything ran yet, or the step or a column is unknown.
        """
        from boxpen.build.dropped import find_dropped

        reread = {name: frames for s in self.stages.values() for name, frames in s.reread.items()}
        files = [self.folder / s.dropped for s in self.stages.values() if s.dropped]
        files = [file for file in files if file.is_file()]
        if not files and step not in reread:
            if any(stage.dropped for stage in self.stages.values()):
                raise BuildError(f"{self.folder} has no list of dropped rows; run the build first")
            if not reread:
                raise BuildError("this build keeps no list of dropped rows")
            raise BuildError(f"name the step whose dropped rows to list: {', '.join(reread)}")
        return find_dropped(files, reread, step, where or {}, limit)

    def content(self, stage: Stage) -> dict[str, Any]:
        """Return what the result of a stage depends on, as JSON values.

        Raises:
            BuildError: If a file that it reads does not exist or cannot be read.
        """
        return {
            "stage": stage.name,
            "settings": self._settings(stage),
            "inputs": self._inputs(stage),
        }

    def _run(self, stage: Stage, *, force: bool) -> Done:
        inputs = self._inputs(stage)
        if not force and not self._changed(stage, inputs):
            return Done(stage.name, self._record[stage.name]["report"], False)
        _create(self._folders(*self.stages.values()))
        started = time.time()
        report = stage.run(*self._results(stage))
        if not _is_report(report):
            raise BuildError(f"stage '{stage.name}' returned no report: a dict with 'says'")
        self._record[stage.name] = {
            "settings": self._settings(stage),
            "inputs": inputs,
            "outputs": {name: _digest(self.folder / name) for name in stage.writes},
            "report": report,
            "seconds": round(time.time() - started, 3),
        }
        with replaced(self.folder / RECORD, BuildError) as stream:
            stream.write((json.dumps(self._record, indent=1, ensure_ascii=False) + "\n").encode())
        if self._share is not None:
            self._share.forget()
        return Done(stage.name, report, True)

    def _results(self, stage: Stage) -> Iterator[Iterator[bytes]]:
        """Yield what a stage is given: the results of its parts, if it has any."""
        if stage.parts is None:
            return
        if self._share is not None:
            yield self._share(stage, self.content(stage))
        else:
            yield map(stage.parts.do, stage.parts.listed())

    def _folders(self, *stages: Stage) -> list[Path]:
        """Return the folders that stages write into."""
        inside = {(self.folder / name).parent for stage in stages for name in stage.writes}
        return [self.folder, *(inside - {self.folder})]

    def _inputs(self, stage: Stage) -> dict[str, str]:
        """Return the digests of the files that a stage reads; where they are does not matter."""
        digests: dict[str, str] = {}
        for number, file in enumerate(stage.reads):
            inside = isinstance(file, str)
            path = self.folder / file if inside else Path(file)
            if not path.is_file():
                hint = "run the stage that writes it first" if inside else stage.hint
                raise BuildError(f"there is no {path}" + (f"; {hint}" if hint else ""))
            digests[str(file) if inside else f"{number} {path.name}"] = _digest(path)
        return digests

    def _settings(self, stage: Stage) -> str:
        parts = [stage.name, self._version, stage.settings]
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def _outdated(self, stage: Stage) -> str:
        try:
            return self._changed(stage, self._inputs(stage))
        except BuildError as error:
            return str(error)

    def _changed(self, stage: Stage, inputs: Mapping[str, str]) -> str:
        """Return why a stage must run; empty if it is up to date."""
        record = self._record.get(stage.name)
        if record is None:
            return "never ran"
        if record["settings"] != self._settings(stage):
            return "settings have changed"
        if record["inputs"] != inputs:
            other = [n for n, digest in inputs.items() if record["inputs"].get(n) != digest]
            return f"{(other or list(record['inputs']))[0].rpartition(' ')[2]} has changed"
        for name in stage.writes:
            path = self.folder / name
            if not path.is_file():
                return f"{name} is missing"
            if record["outputs"].get(name) != _digest(path):
                return f"{name} was edited"
        return ""


def steps_of(total: int, dropped: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the ``steps`` of a report: what each step dropped, and how much is left after it."""
    steps = []
    for step, count in dropped.items():
        total -= count
        steps.append({"step": step, "dropped": count, "left": total})
    return steps


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}") from None


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
        whole = isinstance(found, dict) and all(
            _is_report(record["report"])
            and isinstance(record["outputs"], dict)
            and isinstance(record.get("inputs", {}), dict)
            for record in found.values()
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise BuildError(f"{path} is damaged; remove it to build everything again")
    # A record of an older form has no settings and inputs: its stages run again.
    return {name: {"settings": "", "inputs": {}, **record} for name, record in found.items()}


def _is_report(value: object) -> bool:
    """Whether a value is what a stage reports."""
    if not isinstance(value, dict) or not isinstance(value.get("says"), str):
        return False
    tables = [value.get(name) or [] for name in ("steps", "table")]
    rows = all(isinstance(t, list) and all(isinstance(r, dict) for r in t) for t in tables)
    return rows and isinstance(value.get("notes") or [], list)


def _create(folders: Iterable[Path]) -> None:
    """Create folders, and refuse those that cannot be written before any work is done."""
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BuildError(f"cannot create {folder}: {error.strerror}") from None
        if not os.access(folder, os.W_OK | os.X_OK):
            raise BuildError(f"cannot write to {folder}: permission denied")


@contextlib.contextmanager
def _no_empty_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Remove the folders that a build created and left empty, if it fails."""
    outer = {parent for folder in folders for parent in (folder, *folder.parents)}
    missing = [folder for folder in outer if not os.path.lexists(folder)]
    try:
        yield
    except BaseException:
        for one in sorted(missing, reverse=True):  # inner ones first; one that is not empty stays
            with contextlib.suppress(OSError):
                one.rmdir()
        raise
