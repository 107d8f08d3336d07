"""Big text files as a stream of blocks of whole lines, decompressed ahead of the reader.

Plain, gzip, xz and bzip2 files are told apart by their first bytes, whatever they are called. A
block holds UTF-8, so what follows need not check it again: a line that is no text in the file's
encoding is set aside, and an empty line stands in its place so that the others keep their numbers.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from boxpen.ahead import ahead
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BLOCK", "Block", "blocks", "count", "excerpt", "positions"]

BLOCK = 1 << 24
"""Bytes of a block: large enough for vectorised work, small enough for many to fit in memory."""

_LONGEST = 1 << 28  # bytes of one line; beyond that it is no file of lines
_BOM = b"\xef\xbb\xbf"
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "a zstandard file"}
_PACKED = {b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}


@dataclass(frozen=True)
class Block:
    """Whole lines of a file.

    Attributes:
        data: The lines, each closed by a newline, in UTF-8.
        first: The number of the first one, from 1.
        lines: How many there are.
        share: How much of the file has been read when this block ends, from 0 to 1.
        spoilt: Lines that are no text in the file's encoding, by number; empty in ``data``.
    """

    data: bytes
    first: int
    lines: int
    share: float
    spoilt: Mapping[int, bytes] = field(default_factory=dict)

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
            line = self.spoilt.get(number, self.data[start : int(ends[at])])
            found.append(line.decode(errors="replace").removesuffix("\r"))
        return found


def blocks(path: Path, *, encoding: str = "utf-8", size: int = BLOCK) -> Iterator[Block]:
    """Read a file as blocks of whole lines.

    Args:
        path: The file, compressed or not.
        encoding: Of its text; one in which a newline is the byte 10.
        size: Bytes of a block, about.

    Raises:
        BuildError: If the file is not there, its compressed data is damaged, or it has no lines.
    """
    _check_encoding(encoding)
    first = 1
    with contextlib.closing(ahead(_pieces(path, size))) as pieces:
        for data, lines, share in pieces:
            if first == 1:
                data = data.removeprefix(_BOM)
            text, spoilt = _decoded(data, encoding, first)
            yield Block(text, first, lines, share, spoilt)
            first += lines


def excerpt(text: str, length: int = 200) -> str:
    """Return the beginning of a line, short enough for a message or a list."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _pieces(path: Path, size: int) -> Iterator[tuple[bytes, int, float]]:
    """Yield whole lines of about ``size`` bytes, how many, and how much of the file they took."""
    rest = b""
    line = 1
    try:
        total = max(path.stat().st_size, 1)
        with path.open("rb") as stream:
            for piece in _unpacked(stream, path, size):
                cut = piece.rfind(b"\n") + 1
                if not cut:
                    rest += piece
                    if len(rest) > _LONGEST:
                        raise BuildError(
                            f"{path}, line {line}: {len(rest):,} bytes without a newline; "
                            "expected a file of lines"
                        )
                    continue
                data = rest + piece[:cut]
                rest = piece[cut:]
                lines = count(data, b"\n")
                line += lines
                yield data, lines, min(stream.tell() / total, 1.0)
    except FileNotFoundError:
        raise BuildError(f"there is no {path}") from None
    except IsADirectoryError:
        raise BuildError(f"{path} is a folder; expected a file of a graph") from None
    except (EOFError, lzma.LZMAError, OSError, ValueError) as error:
        raise BuildError(
            f"{path} cannot be read past line {line} ({error}); is it a whole download?"
        ) from None
    if rest:
        yield rest + b"\n", 1, 1.0


def _unpacked(stream: BinaryIO, path: Path, size: int) -> Iterator[bytes]:
    magic = stream.read(6)
    stream.seek(0)
    for start, what in _ARCHIVES.items():
        if magic.startswith(start):
            raise BuildError(f"{path} is {what}; unpack it, or compress it with gzip")
    if magic.startswith(b"\x1f\x8b"):
        yield from _inflated(stream, size)
        return
    opener: Any = contextlib.nullcontext
    for start, unpack in _PACKED.items():
        if magic.startswith(start):
            opener = unpack
    with opener(stream) as unpacked:
        while piece := unpacked.read(size):
            yield piece


def _inflated(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the content of a gzip file, which may be several glued together."""
    library = _library()
    inflate = None
    packed = b""
    while packed := packed or stream.read(1 << 20):
        if inflate is None:
            packed = packed.lstrip(b"\0")  # padding that tapes and some tools put behind the end
            if not packed:
                continue
            inflate = library.decompressobj(31)
        try:
            piece = inflate.decompress(packed, size)
        except library.error as error:
            raise EOFError(str(error)) from None
        if piece:
            yield piece
        packed = inflate.unconsumed_tail
        if inflate.eof:
            packed = inflate.unused_data
            inflate = None
    if inflate is not None:
        raise EOFError("the compressed data ends too early")


def _library() -> Any:
    """Return zlib, or ``isal`` where it is installed: the same at twice the speed."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def _decoded(data: bytes, encoding: str, first: int) -> tuple[bytes, dict[int, bytes]]:
    """Return the lines in UTF-8, those that cannot be decoded emptied, and these by number."""
    if _is_utf8(encoding):
        if _valid(data):
            return data, {}
    else:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding).encode(), {}
    kept, spoilt = [], {}
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=first):
        try:
            kept.append(line.decode(encoding).encode())
        except UnicodeDecodeError:
            kept.append(b"")
            spoilt[number] = line
    return b"\n".join(kept) + b"\n", spoilt


def _valid(data: bytes) -> bool:
    """Say whether bytes are UTF-8, ten times as fast as ``decode`` and without the GIL."""
    import polars as pl

    try:
        pl.Series([data], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.ComputeError:
        return False
    return True


def _check_encoding(encoding: str) -> None:
    try:
        plain = "\n\t".encode(encoding) == b"\n\t"
    except (LookupError, ValueError):
        raise BuildError(f"there is no encoding '{encoding}'; try utf-8 or latin-1") from None
    if not plain:
        raise BuildError(f"files in {encoding} cannot be read line by line; convert them to UTF-8")


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in {"utf-8", "utf8"}


def positions(data: bytes, byte: bytes) -> NDArray[np.int64]:
    """Return where a byte stands."""
    import numpy as np

    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord(byte))


def count(data: bytes, byte: bytes) -> int:
    """Return how often a byte stands there; unlike ``data.count``, without the GIL."""
    import numpy as np

    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))
