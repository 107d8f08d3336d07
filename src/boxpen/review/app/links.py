"""Links with which people enter: the token is in the fragment, which browsers do not send.

Only hashes are kept in the database. New links are shown once, and written to a file that only its
owner can read, beside the database.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from boxpen.errors import BuildError
from boxpen.failures import reason
from boxpen.review.app.store import Role
from boxpen.review.database import Database

__all__ = ["Links", "link_to"]


def link_to(base: str, token: str) -> str:
    """Return the link of a token; ``base`` is the address of the app."""
    return f"{base.rstrip('/')}/enter#{token}"


class Links:
    """The file of links of a database."""

    def __init__(self, database: Database) -> None:
        own = database.file
        self.path = own.with_name(f"{own.stem}-links.txt") if own else Path("review-links.txt")

    def keep(self, base: str, new: Sequence[tuple[str, Role, str]]) -> list[str]:
        """Write links of new people, and the address of the server in those of others.

        Args:
            base: The address of the server.
            new: Name, role and token of everyone who is new.

        Returns:
            Lines to show.
        """
        kept: dict[str, str] = {}
        if self.path.is_file():
            try:
                lines = self.path.read_text("utf-8").splitlines()
            except (OSError, UnicodeDecodeError) as error:
                raise BuildError(f"{self.path} cannot be read: {reason(error)}") from None
            for line in lines:
                name, tab, link = line.partition("\t")
                if tab:
                    kept[name] = link_to(base, link.rpartition("#")[2])
        shown = {name: link_to(base, token) for name, _, token in new}
        kept |= shown
        if kept:
            self._write("".join(f"{name}\t{link}\n" for name, link in kept.items()))
        width = max(map(len, shown), default=0)
        lines = [f"{name.ljust(width)}  {link}" for name, link in shown.items()]
        if not new:
            where = f" {self.path} has them" if kept else ""
            return [f"links of everyone are as before;{where}" if where else "links are as before"]
        return [*lines, f"links are in {self.path}, which only you can read"]

    def _write(self, text: str) -> None:
        aside = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        try:
            with contextlib.suppress(FileNotFoundError):
                aside.unlink()
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as stream:
                stream.write(text)
            aside.replace(self.path)
        except OSError as error:
            raise BuildError(f"{self.path} cannot be written: {reason(error)}") from None
