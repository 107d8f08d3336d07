"""Names of files and tasks that must differ."""

from __future__ import annotations

import zlib

__all__ = ["free_name", "marked_name"]


def free_name(name: str, taken: set[str], sign: str) -> str:
    """Return a name that is not taken yet, and take it; some systems do not tell a from A.

    Args:
        name: The wanted name.
        taken: The names that are taken, in lower case.
        sign: What precedes the number, from 2, of a name that is taken.
    """
    number, free = 1, name
    while free.lower() in taken:
        number += 1
        free = f"{name}{sign}{number}"
    taken.add(free.lower())
    return free


def marked_name(name: str, value: str, sign: str = "-") -> str:
    """Return a name with the checksum of the value that it does not tell in full."""
    return f"{name}{sign}{zlib.crc32(value.encode()):08x}"
