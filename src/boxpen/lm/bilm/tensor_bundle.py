"""Read tensors of a TensorFlow checkpoint without TensorFlow.

A checkpoint is a *bundle*: ``NAME.index`` is a sorted table (the format of LevelDB) from names of
tensors to where their bytes lie in ``NAME.data-00000-of-00001`` and its like. No kept library
reads it but TensorFlow itself, half a gigabyte for two matrices.

    index file    block … block  index block  footer (48 bytes: where the index block is, magic)
    block         entries  restarts  count  |  compression (1)  masked CRC-32C (4)
    entry         shared, own, value lengths (varints)  rest of the key  value (a protocol buffer)

The sums of the table are checked, and that of a tensor when it is read: a few seconds a gigabyte.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import ModelError

__all__ = ["Bundle", "Tensor", "read_bundle"]

_FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER = 5
_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # of tensorflow/types.proto


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies.

    Attributes:
        dtype: Its type, as NumPy calls it; None if it is one that is not read here.
        shape: Its shape.
        shard: The number of its file.
        offset: Its first byte there.
        size: Its bytes.
        sliced: Whether it is cut into parts that lie elsewhere.
        checksum: The masked CRC-32C of its bytes; None if the index has none.
    """

    dtype: str | None
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    sliced: bool
    checksum: int | None


@dataclass(frozen=True)
class Bundle:
    """A checkpoint.

    Attributes:
        index: Its ``.index`` file.
        shards: How many files of data it has.
        tensors: What is in it, by name.
    """

    index: Path
    shards: int
    tensors: dict[str, Tensor]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        return self._found(name).shape

    def read(self, name: str) -> NDArray[Any]:
        """Return a tensor, a view of its file."""
        found = self._found(name)
        if found.sliced or found.dtype is None:
            what = "is cut into slices" if found.sliced else "is of a type that holds no numbers"
            raise ModelError(f"{self.index}: the tensor '{name}' {what}, expected one whole matrix")
        kind = np.dtype(found.dtype)
        if math.prod(found.shape) * kind.itemsize != found.size:
            raise ModelError(
                f"{self.index}: the tensor '{name}' has {found.size} bytes, expected those of "
                f"{found.shape} in {kind}"
            )
        path = self.data(found.shard)
        if not path.is_file():
            raise ModelError(f"{self.index} has its data in {path.name}, which is not beside it")
        if path.stat().st_size < found.offset + found.size:
            raise ModelError(
                f"{path} has {path.stat().st_size} bytes, expected {found.offset + found.size} or "
                f"more for the tensor '{name}': it is cut short"
            )
        if not found.size:
            return np.zeros(found.shape, dtype=kind)
        out = np.memmap(path, dtype=kind, mode="r", offset=found.offset, shape=found.shape)
        written = found.checksum
        if written is not None and _masked(_crc32c(out.reshape(-1).view(np.uint8))) != written:
            raise ModelError(
                f"{path} is damaged: the tensor '{name}' does not match its checksum in "
                f"{self.index.name}; get the file again"
            )
        return out

    def data(self, shard: int) -> Path:
        """Return the file of a shard."""
        return self.index.with_name(f"{self.index.stem}.data-{shard:05d}-of-{self.shards:05d}")

    def _found(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise ModelError(f"{self.index} has no tensor '{name}'")
        return self.tensors[name]


def read_bundle(index: Path) -> Bundle:
    """Read the index of a checkpoint.

    Args:
        index: The file that ends in ``.index``.
    """
    try:
        raw = index.read_bytes()
    except OSError as error:
        raise ModelError(f"{index} cannot be read: {error.strerror}") from None
    try:
        entries = dict(_table(raw))
        header = _message(entries.pop(b""))
        if header.get(2, [0])[0]:
            raise _DamagedError("its numbers are big-endian")
        tensors = {key.decode(): _tensor(value) for key, value in entries.items()}
    except (_DamagedError, IndexError, KeyError, ValueError, struct.error, TypeError) as error:
        why = str(error) if isinstance(error, _DamagedError) else "it is damaged"
        raise ModelError(
            f"{index} is not the index of a TensorFlow checkpoint that can be read: {why}"
        ) from None
    return Bundle(index, int(header.get(1, [1])[0]), tensors)


class _DamagedError(Exception):
    """What is wrong with a table."""


def _table(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a sorted table."""
    if len(raw) < _FOOTER or struct.unpack("<Q", raw[-8:])[0] != _MAGIC:
        raise _DamagedError("its end is not that of an index")
    place = len(raw) - _FOOTER
    for _ in range(2):  # of names of filters, which are not used, and of their sizes
        _, place = _varint(raw, place)
    offset, place = _varint(raw, place)
    size, _ = _varint(raw, place)
    for _, handle in _block(raw, offset, size):
        begin, after = _varint(handle, 0)
        yield from _block(raw, begin, _varint(handle, after)[0])


def _block(raw: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block; a key names what it shares with the one before it."""
    end = offset + size
    if end + _TRAILER > len(raw):
        raise _DamagedError("it is cut short")
    if raw[end]:
        raise _DamagedError("its table is compressed, which TensorFlow never does")
    checksum = _masked(_crc32c(np.frombuffer(raw, np.uint8, size + 1, offset)))
    if checksum != struct.unpack_from("<I", raw, end + 1)[0]:
        raise _DamagedError("a checksum does not match")
    stop = end - 4 - 4 * struct.unpack_from("<I", raw, end - 4)[0]
    key, place = b"", offset
    while place < stop:
        shared, place = _varint(raw, place)
        own, place = _varint(raw, place)
        length, place = _varint(raw, place)
        key = key[:shared] + raw[place : place + own]
        place += own
        yield key, raw[place : place + length]
        place += length


def _tensor(value: bytes) -> Tensor:
    """Return what a ``BundleEntryProto`` says."""
    fields = _message(value)
    shape = [
        int(_message(dim).get(1, [0])[0]) for dim in _message(fields.get(2, [b""])[0]).get(2, [])
    ]
    kind, shard, offset, size = (int(fields.get(number, [0])[0]) for number in (1, 3, 4, 5))
    checksum = struct.unpack("<I", fields[6][0])[0] if 6 in fields else None
    return Tensor(_TYPES.get(kind), tuple(shape), shard, offset, size, 7 in fields, checksum)


def _message(raw: bytes) -> dict[int, list[Any]]:
    """Return the fields of a protocol buffer by their numbers."""
    out: dict[int, list[Any]] = {}
    place = 0
    while place < len(raw):
        tag, place = _varint(raw, place)
        value: int | bytes
        if tag & 7 == 0:
            value, place = _varint(raw, place)
        else:
            if tag & 7 == 2:
                length, place = _varint(raw, place)
            else:
                length = {1: 8, 5: 4}[tag & 7]
            value, place = raw[place : place + length], place + length
            if place > len(raw):
                raise _DamagedError("a field is cut short")
        out.setdefault(tag >> 3, []).append(value)
    return out


def _varint(raw: bytes, place: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and the place behind it."""
    value = shift = 0
    while True:
        byte = raw[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


@cache
def _crc_table() -> tuple[int, ...]:
    out = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        out.append(number)
    return tuple(out)


def _crc32c(data: NDArray[np.uint8]) -> int:
    table, value = _crc_table(), 0xFFFFFFFF
    for bits in (16, 8):
        if data.size >= 8 << bits:  # two rows
            data, value = _folded(data, bits, value), 0
    for byte in data.tobytes():
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value ^ 0xFFFFFFFF


def _folded(data: NDArray[np.uint8], bits: int, value: int) -> NDArray[np.uint8]:
    """Return fewer bytes that have the same sum: a row of words, and what fills no row.

    A word tells as much of the sum where it stands as its remainder does a row later, so that rows
    are added up, each with the remainders of those before it; and NumPy goes over a whole row.

    Args:
        data: The bytes.
        bits: Of the number of words of a row.
        value: What the sum begins with; that of what is returned begins with 0.
    """
    width = 4 << bits
    rows = data[: data.size // width * width].view("<u4").reshape(-1, 1 << bits)
    low, high = _remainders(bits + 2)
    out = np.array(rows[0], dtype=np.uint32)
    out[0] ^= np.uint32(value)
    for row in rows[1:]:
        out = low[out & 0xFFFF] ^ high[out >> 16] ^ row
    return np.concatenate([out.astype("<u4").view(np.uint8), data[rows.size * 4 :]])


@cache
def _remainders(bits: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return what 2^bits zeros behind it make of a word: of its lower and of its upper half."""
    table = _crc_table()
    images = [table[1 << bit] if bit < 8 else 1 << bit - 8 for bit in range(32)]  # of one zero
    for _ in range(bits):
        images = [_image(one, images) for one in images]
    halves = []
    for half in (images[:16], images[16:]):
        out = np.zeros(1, dtype=np.uint32)
        for one in half:
            out = np.concatenate([out, out ^ np.uint32(one)])
        halves.append(out)
    return halves[0], halves[1]


def _image(word: int, images: list[int]) -> int:
    """Return what a linear map makes of a word, from what it makes of each bit."""
    out = 0
    for bit, one in enumerate(images):
        if word >> bit & 1:
            out ^= one
    return out


def _masked(value: int) -> int:
    """Return a sum as LevelDB stores it, turned and shifted."""
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
