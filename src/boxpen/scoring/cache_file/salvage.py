"""The rows of a damaged cache, read from its pages without SQLite.

SQLite gives up at a damaged page, and with an inner page all below it is out of reach. Here every
page is read by itself, those of the write-ahead log too, and what has the right checksum is a row.
A page that was free may still hold rows that were pruned; they are right all the same.

The format is that of https://www.sqlite.org/fileformat2.html, for index b-trees, which tables
without row ids are kept in.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from boxpen.scoring.cache_file.schema import CHECKSUMS, NOT_A_ROW

__all__ = ["salvaged"]

_HEADERS = {0x0A: 8, 0x02: 12}  # leaf and inner pages of an index b-tree
_USUAL = 4096  # bytes of a page
_MOST = 1 << 28  # bytes of a row
_WAL_HEADER, _FRAME_HEADER = 32, 24
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type
_WIDTHS = {"scores": (8, 9), "texts": (3, 4)}  # without and with the batch
_NO_CELL = (IndexError, ValueError, struct.error)


def salvaged(path: Path) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield every whole row: the name of its table, and its values with the batch last.

    Raises:
        OSError: If the file cannot be read.
    """
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        pages = _Pages(data, Path(f"{path}-wal"))
        for number in range(2, pages.count + 1):  # the first is the schema
            for page in pages.versions(number):
                for values in _rows(page, pages):
                    found = _known(values)
                    if found is not None:
                        yield found


class _Pages:
    """The pages of a database, the newest versions from its write-ahead log."""

    def __init__(self, data: mmap.mmap, log: Path) -> None:
        size = int.from_bytes(data[16:18], "big") if len(data) >= 18 else 0
        size = 1 << 16 if size == 1 else size
        self.size = size if 512 <= size <= 1 << 16 and size & (size - 1) == 0 else _USUAL
        self._data = data
        self._newer: dict[int, bytes] = {}
        with contextlib.suppress(OSError):
            self._read_log(log.read_bytes())
        self.count = max(-(-len(data) // self.size), *self._newer, 0)

    def _read_log(self, log: bytes) -> None:
        salts = log[16:24]  # those of a frame from before the last reset differ
        step = _FRAME_HEADER + self.size
        for start in range(_WAL_HEADER, len(log) - step + 1, step):
            if log[start + 8 : start + 16] == salts:
                number = int.from_bytes(log[start : start + 4], "big")
                self._newer[number] = log[start + _FRAME_HEADER : start + step]

    def page(self, number: int) -> bytes:
        return self._newer.get(number) or self._on_disk(number)

    def versions(self, number: int) -> Iterator[bytes]:
        yield self.page(number)
        if number in self._newer:
            yield self._on_disk(number)

    def _on_disk(self, number: int) -> bytes:
        return self._data[(number - 1) * self.size : number * self.size]


def _rows(page: bytes, pages: _Pages) -> Iterator[list[Any]]:
    """Yield the rows of a page, as far as they can be read."""
    header = _HEADERS.get(page[0]) if len(page) > 12 else None
    if header is None:
        return
    count = int.from_bytes(page[3:5], "big")
    for place in range(header, min(header + 2 * count, len(page) - 1), 2):
        start = int.from_bytes(page[place : place + 2], "big")
        with contextlib.suppress(*_NO_CELL):
            yield _values(_payload(page, start + (4 if header == 12 else 0), pages))


def _payload(page: bytes, start: int, pages: _Pages) -> bytes:
    """Return the content of a cell, which may go on in overflow pages."""
    length, start = _varint(page, start)
    if length > _MOST:
        raise ValueError("no row is so long")
    usable = pages.size
    most = (usable - 12) * 64 // 255 - 23
    if length <= most:
        return page[start : start + length]
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    local = local if local <= most else least
    parts, left = [page[start : start + local]], length - local
    following = int.from_bytes(page[start + local : start + local + 4], "big")
    while left > 0:
        if not 1 < following <= pages.count:
            raise ValueError("the chain is broken")
        more = pages.page(following)
        parts.append(more[4 : 4 + min(left, usable - 4)])
        left -= usable - 4
        following = int.from_bytes(more[:4], "big")
    return b"".join(parts)


def _values(payload: bytes) -> list[Any]:
    """Return the values of a record."""
    end, place = _varint(payload, 0)
    kinds = []
    while place < end:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    if len(kinds) > 9:
        raise ValueError("no row has this many values")
    out: list[Any] = []
    for kind in kinds:
        if kind in _INTEGERS:
            length = _INTEGERS[kind]
            out.append(int.from_bytes(payload[place : place + length], "big", signed=True))
        elif kind in (8, 9):
            length = 0
            out.append(kind - 8)
        elif kind >= 12:
            length = (kind - 12) // 2
            content = payload[place : place + length]
            if len(content) < length:
                raise ValueError("it is cut off")
            out.append(content.decode() if kind % 2 else content)
        else:
            raise ValueError("no such value is kept")
        place += length
    return out


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = 0
    for place in range(start, start + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    return value << 8 | data[start + 8], start + 9


def _known(values: list[Any]) -> tuple[str, tuple[Any, ...]] | None:
    """Return the table of a row and its values, if its checksum is right."""
    for table, (older, newer) in _WIDTHS.items():
        if len(values) not in (older, newer):
            continue
        batch = values[older] if len(values) == newer else 0
        content, checksum = values[: older - 1], values[older - 1]
        try:
            if CHECKSUMS[table](*content) == checksum and isinstance(batch, int):
                return table, (*content, checksum, batch)
        except NOT_A_ROW:
            continue
    return None
