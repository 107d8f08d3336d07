"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from boxpen.errors import BoxpenError, SuiteError

__all__ = ["check_free", "moved_in", "replaced", "resolved"]


@contextlib.contextmanager
def replaced(path: Path, error: type[BoxpenError] = SuiteError) -> Iterator[BinaryIO]:
    """Open a temporary neighbour of ``path`` that takes its place when the body has succeeded.

    Whatever goes wrong, an interrupt included, the temporary file is removed and what stood at
    ``path`` before is untouched.

    Args:
        path: Where the file goes.
        error: What is raised if the system refuses: no such folder, no permission, no space.
    """
    path = resolved(path, error)  # a link stays one
    try:
        taken = path.is_dir() or not path.name
        no_file = path.exists() and not path.is_file()
    except OSError as refused:
        raise error(f"{path} cannot be written: {refused.strerror or refused}") from None
    if taken:
        raise error(f"{path} cannot be written: it is a folder")
    if no_file:  # a pipe or a device takes no file's place
        try:
            with path.open("wb") as stream:
                yield stream
        except OSError as refused:
            raise error(f"{path} cannot be written: {refused.strerror or refused}") from None
        return
    # Not tempfile: its files are readable by their owner only, and would stay so.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            with temporary.open("xb") as stream:
                yield stream
            temporary.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as refused:
        raise error(f"{path} cannot be written: {refused.strerror or refused}") from None


def resolved(path: Path, error: type[BoxpenError] = SuiteError) -> Path:
    """Return the place to which a path leads through all of its links, be there a file or not.

    Args:
        path: Where a file goes.
        error: What is raised if it leads nowhere.
    """
    try:
        found = path.resolve()
        circle = found.is_symlink()  # which a place at the end of all links is not
    except RuntimeError:  # so does Python tell a circle before 3.13
        circle = True
    except OSError as refused:
        raise error(f"{path} cannot be written: {refused.strerror or refused}") from None
    if circle:
        raise error(f"{path} cannot be written: its links lead back to themselves")
    return found


def check_free(path: Path, error: type[BoxpenError] = SuiteError, *, overwrite: bool) -> None:
    """Refuse, before the work, a place where a file stands; a pipe or a device takes anything.

    Args:
        path: Where a file goes.
        error: What is raised if one is there already, or the system refuses.
        overwrite: Whether a file that is there may be written over.
    """
    place = resolved(path, error)
    try:
        there = place.is_file()
    except OSError as refused:
        raise error(f"{path} cannot be written: {refused.strerror or refused}") from None
    if there and not overwrite:
        raise error(f"{path} is there already; give another name or --overwrite")


def moved_in(aside: Path, folder: Path, last: str) -> None:
    """Move the files of a folder into another one, and drop it.

    Args:
        aside: Where the files are now, on the same file system.
        folder: Where they go.
        last: The name of the file that makes the rest count; it comes last.

    Raises:
        OSError: If the system refuses.
    """
    places = sorted(aside.iterdir(), key=lambda p: (p.name == last, p.name))
    probe = aside / ".mode"
    probe.touch()
    mode = probe.stat().st_mode
    probe.unlink()
    for place in places:
        place.chmod(mode)  # weights are written for their owner only
        place.replace(folder / place.name)
    aside.rmdir()
