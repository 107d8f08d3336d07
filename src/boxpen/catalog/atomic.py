"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from boxpen.errors import SuiteError

__all__ = ["replaced"]


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary neighbour of ``path`` that takes its place when the body has succeeded.

    Whatever goes wrong, an interrupt included, the temporary file is removed and what stood at
    ``path`` before is untouched.

    Raises:
        SuiteError: If the system refuses: no such folder, no permission, no space.
    """
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
    except OSError as error:
        raise SuiteError(f"{path} cannot be written: {error.strerror or error}") from None
