"""The output of all readers: items, each with the place it was read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from boxpen.errors import SuiteError
from boxpen.items import Card, Item, Suite
from boxpen.printable import printable

__all__ = ["Row", "Table"]


class Row(NamedTuple):
    """One item, and where it was read: ``'my.csv, line 7'``."""

    where: str
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The content of one file; without a name of its own, it has that of the file."""

    path: Path
    card: Card
    rows: Sequence[Row]
    name: str = ""

    def suite(self, *, validate: bool) -> Suite:
        """Return the suite of these rows.

        Raises:
            SuiteError: If an item is unusable or an id appears twice; the message names the line,
                which ``Suite.validate`` no longer knows.
        """
        if validate:
            self._check()
        name = self.name or printable(self.path.stem)
        suite = Suite(name, tuple(row.item for row in self.rows), self.card)
        return suite.validate() if validate else suite

    def _check(self) -> None:
        seen: dict[str, str] = {}
        for where, item in self.rows:
            if item.id in seen:
                raise SuiteError(
                    f"{where} has the id '{item.id}' a second time (see {seen[item.id]})"
                )
            seen[item.id] = where
            for problem in item.problems():
                raise SuiteError(f"{where}: item '{item.id}' {problem}")
