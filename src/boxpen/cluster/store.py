"""Where units and their results are kept: a folder that all workers see, or an object store.

A store has five operations, and everything that workers must agree on is one of them: ``put_new``
succeeds for exactly one of those who try. An object is there as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import secrets
import time
from pathlib import Path
from typing import Protocol

from boxpen.errors import ClusterError
from boxpen.failures import reason

__all__ = ["DirectoryStore", "Store", "open_store"]

_OURS = re.compile(r"[0-9a-f]+-[0-9]+-[0-9a-f]{8}")  # the name of what is being written
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_TRIES = 4
_ABANDONED = 24 * 3600  # seconds after which what a killed process was writing is removed


class Store(Protocol):
    """Objects by key: ``claims/4f2a.0``.

    Attributes:
        url: What ``open_store`` opens it by, on any machine.
    """

    url: str

    def get(self, key: str) -> bytes | None:
        """Return an object; None if there is none."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write an object, whole or not at all."""
        ...

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object unless there is one; return whether it was written."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object if there is one."""
        ...

    def names(self, prefix: str) -> set[str]:
        """Return the keys that begin with a prefix, without it."""
        ...


def open_store(place: str | Path) -> Store:
    """Open a store: a folder, or the URL of an object store such as ``s3://bucket/boxpen``.

    Raises:
        ClusterError: If it cannot be used.
    """
    text = str(place)
    if "://" in text and not text.startswith("file://"):
        from boxpen.cluster.object_store import ObjectStore

        return ObjectStore(text)
    return DirectoryStore(Path(text.removeprefix("file://")))


class DirectoryStore:
    """A store in a folder, on a disk or a file system that several machines share."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().absolute()
        self.url = str(self.root)
        self._unfinished = self.root / "unfinished"
        self._number = itertools.count()
        try:
            self._unfinished.mkdir(parents=True, exist_ok=True)
            for place in self._unfinished.iterdir():
                with contextlib.suppress(FileNotFoundError):  # somebody has just finished it
                    old = time.time() - place.lstat().st_mtime > _ABANDONED
                    if old and _OURS.fullmatch(place.name):
                        place.unlink()
        except OSError as error:
            raise self._refused(error) from None

    def __repr__(self) -> str:
        return f"DirectoryStore({self.url!r})"

    def get(self, key: str) -> bytes | None:
        """Return an object; None if there is none."""
        try:
            return _read(self.root / key)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ClusterError(
                f"the store {self.root} cannot be read: {key}: {reason(error)}"
            ) from None

    def put(self, key: str, data: bytes) -> None:
        """Write an object, whole or not at all."""
        self._write(key, data, new=False)

    def put_new(self, key: str, data: bytes) -> bool:
        """Write an object unless there is one; return whether it was written."""
        return self._write(key, data, new=True)

    def delete(self, key: str) -> None:
        """Remove an object if there is one."""
        try:
            (self.root / key).unlink(missing_ok=True)
        except OSError as error:
            raise self._refused(error) from None

    def names(self, prefix: str) -> set[str]:
        """Return the keys that begin with a prefix, without it."""
        folder, _, start = prefix.rpartition("/")
        found: set[str] = set()
        try:
            self._collect(self.root / folder, "", found)
        except OSError as error:
            raise ClusterError(f"the store {self.root} cannot be read: {reason(error)}") from None
        return {name.removeprefix(start) for name in found if name.startswith(start)}

    def _collect(self, folder: Path, above: str, found: set[str]) -> None:
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self._collect(Path(entry.path), f"{above}{entry.name}/", found)
                else:
                    found.add(above + entry.name)

    def _write(self, key: str, data: bytes, *, new: bool) -> bool:
        place = self.root / key
        made = self._unfinished / f"{os.getpid():x}-{next(self._number)}-{secrets.token_hex(4)}"
        try:
            try:
                made.write_bytes(data)
                place.parent.mkdir(parents=True, exist_ok=True)
                if not new:
                    made.replace(place)
                    return True
                try:
                    os.link(made, place)
                except FileExistsError:
                    # Over NFS, a request that was sent again finds the link that it made itself.
                    return made.stat().st_nlink > 1
                except OSError as error:
                    if error.errno not in _NO_LINKS:
                        raise
                    return _created(place, data)
                return True
            finally:
                made.unlink(missing_ok=True)
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: OSError) -> ClusterError:
        return ClusterError(f"the store {self.root} cannot be written: {reason(error)}")


def _created(place: Path, data: bytes) -> bool:
    """Create a file where there are no links: others may see it before it is whole."""
    try:
        stream = place.open("xb")
    except FileExistsError:
        return False
    try:
        with stream:
            stream.write(data)
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return True


def _read(place: Path) -> bytes:
    for _ in range(_TRIES):
        try:
            return place.read_bytes()
        except OSError as error:
            if error.errno != errno.ESTALE:  # over NFS: replaced while it was read
                raise
    return place.read_bytes()
