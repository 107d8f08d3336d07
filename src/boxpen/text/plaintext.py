"""UTF-8 text files, read so that every error names the file and the line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from boxpen.errors import SuiteError

__all__ = ["opened", "opened_lines"]


@contextlib.contextmanager
def opened(path: Path, *, newline: str | None = None) -> Iterator[TextIO]:
    """Open a UTF-8 file, with or without a byte order mark, for reading.

    Raises:
        SuiteError: If the file cannot be read or is not UTF-8; in the ``with`` body too.
    """
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as stream:
            yield stream
    except UnicodeDecodeError:
        raise SuiteError(_undecodable(path)) from None
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror or error}") from None


def opened_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, stripped of line ends only."""
    with opened(path) as stream:
        for line in stream:
            yield line.removesuffix("\n")


def _undecodable(path: Path) -> str:
    # The decoder reads ahead in chunks, so the line is looked for afresh; a line feed is never a
    # part of a longer UTF-8 sequence.
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                return (
                    f"{path}, line {number}, byte {error.start + 1} is 0x{byte:02x}, "
                    "expected UTF-8; save the file as UTF-8 and try again"
                )
    return f"{path} is not UTF-8"  # it changed between the two readings
