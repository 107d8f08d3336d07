"""A kind of unit that costs nothing, so that all the time is that of the scheduler."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["Nothing"]


class Nothing:
    """Returns what a result of scores is in size, at once or after some time asleep."""

    def __init__(self, shared: dict[str, Any]) -> None:
        self.place = {"device": "stub"}
        self._seconds = shared.get("seconds", 0)
        self._result = b"0" * int(shared["result_bytes"])

    def run(self, payload: Any) -> bytes:  # noqa: ARG002
        """Do a unit."""
        time.sleep(self._seconds)
        return self._result

    def close(self) -> None:
        """Nothing was loaded."""
