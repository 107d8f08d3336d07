"""Names of models and suites in a file: paths start from its folder, and patterns find many."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path

from boxpen.catalog.files import FORMATS

__all__ = ["expanded", "natural", "placed"]

_SIGNS = re.compile(r"[*?[]")
_LONGEST = 4096
_SCHEME = re.compile(r"((?:[a-z0-9]+:)?)(.*)", re.DOTALL)


def expanded(name: str, folder: Path) -> list[str]:
    """Return the names that a name stands for: those of the files and folders that a pattern finds.

    What a pattern finds comes in natural order: ``step-2`` before ``step-10``.

    Args:
        name: A name as commands take it; ``*``, ``?``, ``[`` and ``**`` make it a pattern, unless
            there is something of exactly this name.
        folder: What paths start from.

    Raises:
        ValueError: If a pattern finds nothing, or is longer than a path can be.
    """
    if len(name) > _LONGEST:  # 100,000 brackets would take minutes
        raise ValueError(f"expected at most {_LONGEST:,} characters")
    scheme, path = _parted(name)
    if not _SIGNS.search(path) or "://" in path or _there(folder, path):
        return [placed(name, folder)]
    found = glob.glob(os.path.expanduser(path), root_dir=folder, recursive=True)  # noqa: PTH111, PTH207 (Path.glob finds hidden files)
    if not found:
        raise ValueError(f"expected '{name}' to match something in the folder {folder.resolve()}")
    return [scheme + _joined(folder, one) for one in sorted(found, key=natural)]


def placed(name: str, folder: Path) -> str:
    """Return a name whose path, if it is one, starts from a folder.

    A path begins with ``./`` or ``../``, or is that of something that is there: a name with a
    slash, or of a file.
    """
    scheme, path = _parted(name)
    if path.startswith(("./", "../")):
        return scheme + os.path.join(folder, path)  # noqa: PTH118 (Path drops "./")
    named = "/" in path or Path(path).suffix.lower() in (*FORMATS, ".gguf")
    if named and "://" not in path and _there(folder, path):
        return scheme + _joined(folder, path)
    return name


def natural(name: str) -> tuple[object, ...]:
    """Return what to sort names by, so that numbers in them count: ``a2`` before ``a10``."""
    parts = (re.split(r"(\d+)", part) for part in name.split("/"))
    key = (tuple(int(p) if p.isdecimal() else p for p in part) for part in parts)
    return (tuple(key), name)


def _parted(name: str) -> tuple[str, str]:
    found = _SCHEME.fullmatch(name)
    assert found is not None
    return found[1], found[2]


def _there(folder: Path, path: str) -> bool:
    try:
        return (folder / Path(path).expanduser()).exists()
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a NUL
        return False


def _joined(folder: Path, path: str) -> str:
    """Return a path that no preset or suite can be mistaken for."""
    joined = folder / Path(path).expanduser()
    return str(joined) if joined.parent != Path() else f"./{joined}"
