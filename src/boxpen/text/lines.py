"""Text files: opened in one place, plain or compressed, with the line in every error.

Compressed files (gzip, xz, bzip2) are recognised by their first bytes, whatever their name.
``read_lines`` streams lines, ``opened`` gives a text stream for parsers such as ``csv``, and
``blocks`` reads big files as blocks of whole lines for vectorised work.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import zlib
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeVar, cast

from boxpen.errors import BoxpenError, BuildError, SuiteError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BLOCK", "LONGEST", "Block", "blocks", "count", "opened", "positions", "read_lines",
    "reading_errors", "unpacked",
]  # fmt: skip

BLOCK = 1 << 24
"""Bytes per block: large enough for vectorised work, small enough to hold several in memory."""

LONGEST = 1 << 28
"""Bytes without a newline; longer files are not files of lines."""

_BOM = b"\xef\xbb\xbf"
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "a zstandard file"}
_PACKED = (".gz", ".xz", ".bz2")
_T = TypeVar("_T")


@contextlib.contextmanager
def opened(path: Path, *, newline: str | None = None) -> Iterator[TextIO]:
    """Open a plain UTF-8 file, with or without a byte order mark, for reading.

    Raises:
        SuiteError: If the file cannot be read or is not UTF-8; in the ``with`` body too.
    """
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as stream:
            yield stream
    except UnicodeDecodeError:
        for _ in read_lines(path):  # the stream decodes ahead; this finds the line
            pass
        raise SuiteError(f"{path} is not UTF-8") from None
    except OSError as error:
        raise SuiteError(_problem(path, error, 0)) from None


def read_lines(path: Path, error: type[BoxpenError] = SuiteError) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, plain or compressed, without their ends (LF or CRLF).

    Args:
        path: The file; a pipe works too.
        error: What to raise if the file is missing, damaged or not UTF-8.
    """
    number = 0
    try:
        with path.open("rb") as file, unpacked(file, path, error) as stream:
            for number, raw in enumerate(iter(lambda: stream.readline(LONGEST), b""), start=1):
                if len(raw) == LONGEST:
                    raise error(
                        f"{path}, line {number}: {LONGEST:,} bytes without a newline; expected a "
                        "file of lines"
                    )
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except reading_errors() as problem:
        raise error(_problem(path, problem, number)) from None


def unpacked(file: BinaryIO, path: Path, error: type[BoxpenError] = SuiteError) -> BinaryIO:
    """Return the decompressed content of an open file, or the file itself if it is plain.

    Args:
        file: The file, at its beginning; a pipe is read into memory.
        path: Its path, for messages.
        error: What to raise for archives, which hold more than one file.
    """
    start = file.read(6)
    if not start and path.suffix in _PACKED:  # as a full disk leaves it
        raise error(f"{path} is empty, expected compressed text; download it again")
    if file.seekable():
        file.seek(0)
    else:
        file = io.BytesIO(start + file.read())
    for magic, what in _ARCHIVES.items():
        if start.startswith(magic):
            raise error(f"{path} is {what}; unpack it, or compress it with gzip")
    if start.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, _gzip().open(file))
    if start.startswith(b"\xfd7zXZ\0"):
        return cast(BinaryIO, lzma.open(file))
    return cast(BinaryIO, bz2.open(file)) if start.startswith(b"BZh") else file


def _gzip() -> Any:
    """Return gzip, or ``isal``'s version of it if installed: the same at three times the speed."""
    try:
        from isal import igzip
    except ImportError:
        import gzip

        return gzip
    return igzip


def reading_errors() -> tuple[type[Exception], ...]:
    """Return what reading a file can raise; ``isal`` has an error of its own."""
    inflating = getattr(_gzip(), "isal_zlib", zlib).error
    return OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, inflating


def _problem(path: Path, error: Exception, line: int) -> str:
    """Explain why a file cannot be read past a line."""
    if isinstance(error, UnicodeDecodeError):
        byte, place = error.object[error.start], error.start + 1
        return (
            f"{path}, line {line}: byte {byte:#04x} is not UTF-8, at byte {place} of the line; "
            "convert the file first"
        )
    if isinstance(error, OSError) and error.errno is not None:
        after = f" after line {line}" if line else ""
        return f"{path} cannot be read{after}: {error.strerror}"
    return f"{path} is damaged or cut off after line {line}: {error}; download it again"


@dataclass(frozen=True)
class Block:
    """Whole lines of a file.

    Attributes:
        data: The lines in UTF-8, each ending with a newline.
        first: Number of the first line, from 1.
        lines: How many there are.
        share: Share of the file read when this block ends, from 0 to 1.
        undecodable: Lines that are not text in the file's encoding, by number. In ``data`` they are
            empty, so that the others keep their numbers.
    """

    data: bytes
    first: int
    lines: int
    share: float
    undecodable: Mapping[int, bytes] = field(default_factory=dict)

    def texts(self, numbers: Iterable[int]) -> list[str]:
        """Return lines by their numbers, without their ends."""
        numbers = list(numbers)
        if not numbers:
            return []
        ends = positions(self.data, b"\n")
        found = []
        for number in numbers:
            at = number - self.first
            start = int(ends[at - 1]) + 1 if at else 0
            line = self.undecodable.get(number, self.data[start : int(ends[at])])
            found.append(line.decode(errors="replace").removesuffix("\r"))
        return found


def blocks(path: Path, *, encoding: str = "utf-8", size: int = BLOCK) -> Iterator[Block]:
    """Read a file as blocks of whole lines, decompressed in a thread ahead of the reader.

    Args:
        path: The file, plain or compressed.
        encoding: Encoding of the text; a newline must be the byte 10 in it.
        size: Approximate bytes per block.

    Raises:
        BuildError: If the file is missing or damaged, or has no lines.
    """
    try:
        plain = "\n\t".encode(encoding) == b"\n\t"
    except (LookupError, ValueError):
        raise BuildError(f"unknown encoding '{encoding}'; try utf-8 or latin-1") from None
    if not plain:
        raise BuildError(f"files in {encoding} cannot be read line by line; convert them to UTF-8")
    first = 1
    with contextlib.closing(_ahead(_pieces(path, size))) as pieces:
        for data, lines, share in pieces:
            text, undecodable = _decoded(data.removeprefix(_BOM) if first == 1 else data, encoding)
            bad = {first + at: line for at, line in undecodable.items()}
            yield Block(text, first, lines, share, bad)
            first += lines


def _pieces(path: Path, size: int) -> Iterator[tuple[bytes, int, float]]:
    """Yield whole lines of about ``size`` bytes, their number, and the share of the file read."""
    rest = b""
    line = 1
    try:
        total = max(path.stat().st_size, 1)
        with path.open("rb") as file, unpacked(file, path, BuildError) as stream:
            while piece := stream.read(size):
                cut = piece.rfind(b"\n") + 1
                if not cut:
                    rest += piece
                    if len(rest) > LONGEST:
                        raise BuildError(
                            f"{path}, line {line}: {len(rest):,} bytes without a newline; "
                            "expected a file of lines"
                        )
                    continue
                data = rest + piece[:cut]
                rest = piece[cut:]
                lines = count(data, b"\n")
                line += lines
                yield data, lines, min(file.tell() / total, 1.0)
    except reading_errors() as error:
        raise BuildError(_problem(path, error, line - 1)) from None
    if rest:
        yield rest + b"\n", 1, 1.0


def _ahead(items: Iterator[_T], depth: int = 2) -> Generator[_T, None, None]:
    """Run an iterator in a thread that stays up to ``depth`` items ahead."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="boxpen-lines")
    try:
        waiting = deque(pool.submit(next, items, None) for _ in range(depth))
        while (item := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(next, items, None))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)


def _decoded(data: bytes, encoding: str) -> tuple[bytes, dict[int, bytes]]:
    """Return the lines in UTF-8; those that cannot be decoded are empty, and listed by place."""
    if encoding.lower().replace("_", "-") in {"utf-8", "utf8"}:
        if _valid(data):
            return data, {}
    else:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding).encode(), {}
    kept, undecodable = [], {}
    for place, line in enumerate(data.removesuffix(b"\n").split(b"\n")):
        try:
            kept.append(line.decode(encoding).encode())
        except UnicodeDecodeError:
            kept.append(b"")
            undecodable[place] = line
    return b"\n".join(kept) + b"\n", undecodable


def _valid(data: bytes) -> bool:
    """Check that bytes are UTF-8, ten times as fast as ``decode`` and without the GIL."""
    import polars as pl

    try:
        pl.Series([data], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.ComputeError:
        return False
    return True


def positions(data: bytes, byte: bytes) -> NDArray[np.int64]:
    """Return the positions of a byte."""
    import numpy as np

    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord(byte))


def count(data: bytes, byte: bytes) -> int:
    """Count a byte; unlike ``data.count``, without the GIL."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))
