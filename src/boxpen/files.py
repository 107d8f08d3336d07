"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import socket
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from boxpen.errors import BoxpenError, SuiteError
from boxpen.failures import reason, refusals

__all__ = [
    "check_free",
    "moved_in",
    "new_folder",
    "replaced",
    "resolved",
    "temporary",
]

_ABANDONED = 24 * 3600  # seconds without a change, where the process is out of sight
_TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.(?P<host>[0-9a-f]{8})-(?P<pid>[0-9a-f]+)-[0-9a-f]{4}\.(?P<part>tmp|old)"
)


@contextlib.contextmanager
def replaced(path: Path, error: type[BoxpenError] = SuiteError) -> Iterator[BinaryIO]:
    """Open a temporary neighbour of ``path`` that takes its place when the body has succeeded.

    Whatever goes wrong, an interrupt included, the temporary file is removed and what stood at
    ``path`` before is untouched.

    Args:
        path: Where the file goes.
        error: What is raised if the system or Polars refuses: no such folder, no permission, no
            space.
    """
    path = resolved(path, error)  # a link stays one
    try:
        taken = path.is_dir() or not path.name
        no_file = path.exists() and not path.is_file()
    except OSError as refused:
        raise error(f"{path} cannot be written: {reason(refused)}") from None
    if taken:
        raise error(f"{path} cannot be written: it is a folder")
    try:
        if no_file:  # a pipe or a device takes no file's place
            with path.open("wb") as stream:
                yield stream
            return
        # Not tempfile: its files are readable by their owner only, and would stay so.
        made = temporary(path)
        try:
            with made.open("xb") as stream:
                yield stream
            made.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                made.unlink()
            raise
    except refusals() as refused:
        raise error(f"{path} cannot be written: {reason(refused)}") from None


@contextlib.contextmanager
def new_folder(path: Path, error: type[BoxpenError]) -> Iterator[Path]:
    """Make a folder beside ``path`` that takes its place when the body has succeeded.

    Whatever goes wrong, what stood at ``path`` before stays, and nothing else does.

    Args:
        path: Where the folder goes.
        error: What is raised if the system or Polars refuses.
    """
    path = resolved(path, error)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = temporary(path)
        old = new.with_suffix(".old")
        new.mkdir()
        try:
            yield new
            _take_place(new, path, old)
        except BaseException:
            _drop(new)
            if old.exists() and not path.exists():
                old.rename(path)
            raise
        _drop(old)
    except refusals() as refused:
        raise error(f"{path} cannot be written: {reason(refused)}") from None


def temporary(path: Path) -> Path:
    """Return a new name beside ``path``; remove what killed processes left under such names.

    The name tells which process it belongs to: what another one is writing stays.
    """
    with contextlib.suppress(OSError):
        for place in path.parent.iterdir():
            if (found := _TEMPORARY.fullmatch(place.name)) and not _in_use(place, found):
                target = place.with_name(found["name"])
                if found["part"] == "old" and not target.exists():
                    place.rename(target)  # killed before the new folder was in its place
                else:
                    _drop(place)
    return path.with_name(f".{path.name}.{_host()}-{os.getpid():x}-{secrets.token_hex(2)}.tmp")


def _take_place(new: Path, path: Path, old: Path) -> None:
    while True:
        with contextlib.suppress(FileNotFoundError):
            path.rename(old)
        try:
            new.rename(path)
        except OSError as refused:
            if refused.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            _drop(old)  # another process has just put its own there
        else:
            return


def _in_use(place: Path, found: re.Match[str]) -> bool:
    if found["host"] != _host() or os.name == "nt":  # where a signal 0 would end the process
        return time.time() - place.lstat().st_mtime < _ABANDONED
    try:
        os.kill(int(found["pid"], 16), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _host() -> str:
    """Return a digest of where a PID of this process means the same."""
    return f"{zlib.crc32('|'.join((socket.gethostname(), *_namespace())).encode()):08x}"


def _namespace() -> tuple[str, ...]:
    """Return the running kernel and the namespace of its PIDs, on Linux.

    Containers may share a host name, and see each other's PIDs as dead.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot, str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116
    except OSError:
        return ()


def _drop(place: Path) -> None:
    """Remove a file or a folder, as far as the system lets us."""
    with contextlib.suppress(OSError):
        if place.is_dir() and not place.is_symlink():
            with contextlib.suppress(OSError):
                place.rmdir()  # if it is empty: works without a file descriptor
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


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
        raise error(f"{path} cannot be written: {reason(refused)}") from None
    if circle:
        raise error(f"{path} cannot be written: its links lead back to themselves")
    return found


def check_free(path: Path, error: type[BoxpenError] = SuiteError, *, overwrite: bool) -> None:
    """Refuse, before the work, a place where a file stands; a pipe or a device takes anything.

    Args:
        path: Where a file goes.
        error: What is raised if one is there already, or the system refuses.
        overwrite: Whether an existing file may be overwritten.
    """
    place = resolved(path, error)
    try:
        there = place.is_file()
    except OSError as refused:
        raise error(f"{path} cannot be written: {reason(refused)}") from None
    if there and not overwrite:
        raise error(f"{path} already exists; give another name or --overwrite")


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
