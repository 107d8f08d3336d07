"""Lines of a file, or of stdin as they arrive, in windows."""

from __future__ import annotations

import os
import queue
import stat
import sys
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from boxpen.errors import NmtError

__all__ = ["LineStream"]

_CHUNK = 1 << 16
_COMPRESSED = (
    b"\x1f\x8b",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"PK\x03\x04",
    *(b"BZh%d1AY&SY" % level for level in range(1, 10)),
)
"""How files of gzip, xz, zstd, zip and bzip2 begin."""


class LineStream:
    """The lines of a file, or of stdin.

    Attributes:
        name: For messages.
        size: Bytes of the file; None if it is not a regular file.
        read: Bytes of the windows so far.

    Args:
        path: The file; stdin if None.

    Raises:
        NmtError: If it cannot be read.
    """

    def __init__(self, path: Path | None) -> None:
        self.name = "stdin" if path is None else str(path)
        self.read = 0
        try:
            self._stream: BinaryIO = sys.stdin.buffer if path is None else path.open("rb")
        except OSError as error:
            raise NmtError(f"{self.name} cannot be read: {error.strerror}") from None
        try:
            self._status: os.stat_result | None = os.fstat(self._stream.fileno())
        except OSError:  # a stream in memory
            self._status = None
        regular = self._status is not None and stat.S_ISREG(self._status.st_mode)
        self.size = self._status.st_size if self._status and regular else None

    def is_file(self, path: Path) -> bool:
        """Whether these are the lines of this file."""
        if self._status is None or self.size is None or not path.exists():
            return False
        return os.path.samestat(self._status, path.stat())

    def windows(self, most: int) -> Iterator[list[str]]:
        """Yield windows of up to ``most`` lines.

        Input from a pipe or a terminal is not waited for: a window has the lines that have arrived
        while the last one was processed, at least one.

        Raises:
            NmtError: If the input cannot be read, is not UTF-8, or is compressed.
        """
        waits = self._status is not None and self.size is None
        found = _arriving(self._stream.fileno(), most) if waits else _in_turn(self._stream, most)
        number = 0
        try:
            for lines in found:
                window = []
                for line in lines:
                    number += 1
                    self.read += len(line)
                    window.append(self._text(line, number))
                yield window
        except OSError as error:
            raise NmtError(
                f"{self.name} cannot be read after line {number}: {error.strerror}"
            ) from None

    def _text(self, line: bytes, number: int) -> str:
        if number == 1 and line.startswith(_COMPRESSED):
            raise NmtError(f"{self.name} is compressed, expected plain text; decompress it first")
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise NmtError(
                f"{self.name}, line {number}: byte {error.object[error.start]:#04x} is not UTF-8; "
                "convert the file first"
            ) from None


def _in_turn(stream: BinaryIO, most: int) -> Iterator[list[bytes]]:
    while lines := list(islice(stream, most)):
        yield lines


def _arriving(descriptor: int, most: int) -> Iterator[list[bytes]]:
    """Yield the lines that have arrived, while a thread waits for more."""
    ready: queue.Queue[bytes] = queue.Queue(most)
    failed: list[OSError] = []

    def wait() -> None:
        # Not through a buffered file, whose lock would still be held when the program ends.
        rest = b""
        try:
            while chunk := os.read(descriptor, _CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    ready.put(line + b"\n")
        except OSError as error:
            failed.append(error)
        if rest:
            ready.put(rest)
        ready.put(b"")  # the end: no line is empty, since it has its line feed

    threading.Thread(target=wait, daemon=True).start()
    ended = False
    while not ended:
        lines = [ready.get()]
        while len(lines) < most and not ready.empty():
            lines.append(ready.get())
        if not lines[-1]:
            lines.pop()
            ended = True
        if lines:
            yield lines
    if failed:
        raise failed[0]
