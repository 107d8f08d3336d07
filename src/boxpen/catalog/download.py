"""Published files on this machine: from a mirror folder, the cache, or the network.

Whichever it is, a file is used only if its checksum is the one the registry knows.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from boxpen.catalog.entry import Entry, RemoteFile
from boxpen.errors import SuiteError
from boxpen.folders import cache_dir
from boxpen.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["MIRROR", "fetch"]

MOST = 1 << 30
"""Bytes of a file in an archive; its checksum is known only when it is unpacked."""
MIRROR = "BOXPEN_MIRROR"  # the environment variable that names a mirror folder


def fetch(entry: Entry) -> dict[str, Path]:
    """Return the local copy of every file of a suite, by its ``path``.

    With ``BOXPEN_MIRROR`` set, files are read from that folder and nothing is downloaded.
    Otherwise they are downloaded once, into the cache; one that has been damaged there is
    downloaded again. The licence and the address of each go to stderr before its first byte is
    fetched; progress only to a terminal.

    Raises:
        SuiteError: If a file is missing, cannot be downloaded, or is not the published one.
    """
    mirror = os.environ.get(MIRROR)
    if mirror:
        return {file.path: _mirrored(file, Path(mirror).expanduser()) for file in entry.files}
    return {file.path: _cached(file, entry) for file in entry.files}


def _mirrored(file: RemoteFile, mirror: Path) -> Path:
    path = mirror / file.path
    if not path.is_file():
        raise SuiteError(
            f"{path} is missing, expected in the mirror that {MIRROR} names a copy of {file.url}"
        )
    found = _sha256(path)
    if found != file.sha256:
        raise SuiteError(_differs(str(path), found, file))
    return path


def _cached(file: RemoteFile, entry: Entry) -> Path:
    path = cache_dir() / "data" / file.path
    try:
        if path.is_file():
            if _sha256(path) == file.sha256:
                return path
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        licence = entry.card.licence or "none stated"
        print(printable(f"{entry.name}: licence {licence}; fetching {file.url}"), file=sys.stderr)
        _download(file, path, entry.name)
    except OSError as error:
        raise SuiteError(f"{path} cannot be written: {error.strerror or error}") from None
    return path


def _download(file: RemoteFile, path: Path, suite: str) -> None:
    import pooch
    import requests

    def checked(url: str, output: Any, registry: Any) -> None:
        with _bar(f"{suite}: {path.name}") as bar:
            pooch.HTTPDownloader(progressbar=bar)(url, output, registry)
        if file.member:
            _unzip(Path(output), file)
        found = _sha256(Path(output))
        if found != file.sha256:
            raise SuiteError(_differs(url, found, file))

    pooch.get_logger().setLevel("WARNING")  # it would announce every file
    try:
        # To a temporary name in the same folder, renamed when complete, removed when not.
        pooch.retrieve(
            file.url,
            known_hash=f"sha256:{file.sha256}",
            fname=path.name,
            path=path.parent,
            downloader=checked,
        )
    except requests.RequestException as error:
        raise SuiteError(
            f"{file.url} could not be downloaded ({_reason(error)}); on a machine without network "
            f"set {MIRROR} to a folder that holds a copy of it as {file.path}"
        ) from None


def _unzip(path: Path, file: RemoteFile) -> None:
    """Put a member of an archive in its place."""
    try:
        with ZipFile(path) as archive:
            if archive.getinfo(file.member).file_size > MOST:
                raise SuiteError(f"{file.url}: {file.member} is larger than {MOST >> 20:,} MB")
            content = archive.read(file.member)
    except (BadZipFile, KeyError, zlib.error):
        raise SuiteError(f"{file.url} is not the published archive with {file.member}") from None
    path.write_bytes(content)


def _reason(error: Exception) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP status {response.status_code}"
    return {
        "ConnectTimeout": "the server did not answer in time",
        "ReadTimeout": "the server did not answer in time",
        "ChunkedEncodingError": "the connection broke off",
    }.get(type(error).__name__, "no connection")


def _differs(place: str, found: str, file: RemoteFile) -> str:
    return (
        f"{place} is not the published file: its sha256 is {found}, expected {file.sha256}; "
        "it was damaged, or has changed since"
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror or error}") from None


class _Bar:
    """A rich progress bar with the members that pooch's downloader uses."""

    def __init__(self, progress: Progress, text: str) -> None:
        self._progress = progress
        self._task = progress.add_task(text, total=None)

    @property
    def total(self) -> float | None:
        return self._progress.tasks[self._task].total

    @total.setter
    def total(self, count: int) -> None:
        self._progress.update(self._task, total=count or None)

    def update(self, count: int) -> None:
        self._progress.update(self._task, advance=count)

    def reset(self) -> None:
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        pass  # the progress display closes itself, after an error too


@contextlib.contextmanager
def _bar(text: str) -> Iterator[_Bar | bool]:
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, text)
