"""A writer of TensorFlow checkpoints, from the description of the formats alone.

LevelDB's table format, ``tensor_bundle.proto`` and ``tensor_shape.proto``; it shares nothing with
the reader, not even the way in which a sum is computed.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

TYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "float16": 19}


def varint(value: int) -> bytes:
    out = b""
    while value >= 128:
        out += bytes([value % 128 + 128])
        value //= 128
    return out + bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    return varint(number * 8 + 2) + varint(len(value)) + value


def crc(data: bytes) -> int:
    """CRC-32C, bit by bit, masked as LevelDB does."""
    rest = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            odd = (rest ^ byte >> bit) & 1
            rest >>= 1
            if odd:
                rest ^= 0x82F63B78
    rest ^= 0xFFFFFFFF
    turned = rest >> 15 | (rest << 17) % 2**32
    return (turned + 0xA282EAD8) % 2**32


def block(entries: list[tuple[bytes, bytes]], every: int) -> bytes:
    """Entries, each sharing the beginning of its key with the one before, but for restarts."""
    out, restarts, before = b"", [], b""
    for number, (key, value) in enumerate(entries):
        shared = 0
        if number % every == 0:
            restarts.append(len(out))
        else:
            while shared < min(len(key), len(before)) and key[shared] == before[shared]:
                shared += 1
        rest = key[shared:]
        out += varint(shared) + varint(len(rest)) + varint(len(value)) + rest + value
        before = key
    restarts = restarts or [0]
    return out + b"".join(struct.pack("<I", r) for r in restarts) + struct.pack("<I", len(restarts))


def table(entries: list[tuple[bytes, bytes]], *, per_block: int = 3, every: int = 2) -> bytes:
    file, index = b"", []

    def put(data: bytes) -> bytes:
        nonlocal file
        handle = varint(len(file)) + varint(len(data))
        file += data + b"\0" + struct.pack("<I", crc(data + b"\0"))
        return handle

    for start in range(0, len(entries), per_block):
        few = entries[start : start + per_block]
        index.append((few[-1][0] + b"\0", put(block(few, every))))
    other = put(block([], 1))
    main = put(block(index, 1))
    footer = other + main
    return file + footer + bytes(40 - len(footer)) + struct.pack("<Q", 0xDB4775248B80FB57)


def write_bundle(
    prefix: Path, tensors: dict[str, np.ndarray], *, shards: int = 1, sliced: str = ""
) -> Path:
    """Write ``PREFIX.index`` and its files of data; return the index."""
    data = [b""] * shards
    entries = [(b"", field(1, shards) + field(3, field(1, 1)))]
    for number, (name, value) in enumerate(sorted(tensors.items())):
        shard = number % shards
        shape = b"".join(field(2, field(1, size)) for size in value.shape)
        raw = value.astype(value.dtype.newbyteorder("<")).tobytes()
        entry = field(1, TYPES[value.dtype.name]) + field(2, shape)
        entry += (field(3, shard) if shard else b"") + field(4, len(data[shard]))
        entry += field(5, len(raw)) + varint(6 * 8 + 5) + struct.pack("<I", crc(raw))
        if name == sliced:
            entry += field(7, field(1, b""))
        data[shard] += raw
        entries.append((name.encode(), entry))
    for shard, raw in enumerate(data):
        prefix.with_name(f"{prefix.name}.data-{shard:05d}-of-{shards:05d}").write_bytes(raw)
    index = prefix.with_name(f"{prefix.name}.index")
    index.write_bytes(table(sorted(entries)))
    return index
