"""A kind of unit that costs nothing, so that all the time is that of the scheduler."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["KINDS", "Asleep", "Nothing"]

KINDS = {"asleep": "cluster_units:Asleep", "nothing": "cluster_units:Nothing"}
"""What plugins.UNITS calls them."""


class Nothing:
    """Returns what a result of scores is in size, at once."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self.place = {"device": "stub"}
        self._result = b"0" * int(shared["result_bytes"])

    def run(self, payload: Any) -> bytes:  # noqa: ARG002
        """Do a unit."""
        return self._result

    def close(self) -> None:
        """Nothing is left to free."""


class Asleep:
    """Sleeps as long as a GPU would compute."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self.place = {"device": "stub"}
        self._seconds = shared["seconds"]
        time.sleep(shared["load"])

    def run(self, payload: Any) -> bytes:
        """Do a unit: units differ by up to a half from the mean."""
        time.sleep(self._seconds * (0.5 + payload % 7 / 6))
        return b"0"

    def close(self) -> None:
        """Nothing is left to free."""
