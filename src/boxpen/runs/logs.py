"""Results of other tools, read as runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from boxpen.errors import RunError
from boxpen.failures import reason
from boxpen.plugins import LOGS
from boxpen.runs.tables import RunContent

__all__ = ["Log", "log_of", "read_log"]

_START = 65_536  # bytes; enough to tell formats apart


@dataclass(frozen=True)
class Log:
    """A format of results.

    Attributes:
        name: Its name in ``plugins.LOGS``.
        recognises: Whether a file, by its path and its first bytes, is of this format.
        read: Reads the file; raises ``RunError`` if it is damaged.
    """

    name: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Path], RunContent]


def log_of(path: Path) -> Log | None:
    """Return the format of a file, or None if it is not a log that boxpen reads.

    Raises:
        RunError: If the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(_START)
    except OSError as error:
        raise RunError(f"{path} cannot be read: {reason(error)}") from None
    for name in LOGS:
        log: Log = LOGS.load(name)
        if log.recognises(path, start):
            return log
    return None


def read_log(path: Path) -> RunContent:
    """Read the results of another tool.

    Raises:
        RunError: If the file is not a log that boxpen reads, or is damaged.
    """
    log = log_of(path)
    if log is None:
        raise RunError(f"{path} is neither a run directory nor a log ({', '.join(LOGS)})")
    return log.read(path)
