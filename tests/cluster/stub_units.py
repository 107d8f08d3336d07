"""Kinds of units that need no model, for tests of what shares them out."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any


class Squares:
    """Squares numbers, and does whatever else a payload asks for.

    ``shared`` may have ``log`` (a file that gets a line for every load and unit), ``broken``
    (why it cannot be loaded) and ``fatal`` (whether loading it kills the process).
    """

    def __init__(self, shared: dict[str, Any]) -> None:
        self.shared = shared
        self._note("load")
        if shared.get("broken"):
            raise RuntimeError(shared["broken"])
        if shared.get("fatal"):
            os.kill(os.getpid(), signal.SIGKILL)
        self.place = {"device": "stub"}

    def run(self, payload: dict[str, Any]) -> bytes:
        number = payload["number"]
        self._note(f"unit {number}")
        until = time.monotonic() + payload.get("seconds", 0)
        while (left := until - time.monotonic()) > 0 and "STUB_UNITS_WAKE" not in os.environ:
            time.sleep(min(left, 0.5))
        if payload.get("error"):
            raise ValueError(payload["error"])
        if payload.get("dies"):
            os.kill(os.getpid(), signal.SIGKILL)
        once = payload.get("dies_once")
        if once and not Path(once).exists():
            Path(once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        self._note(f"done {number}")
        return json.dumps(number * number).encode()

    def close(self) -> None:
        self._note("close")

    def _note(self, text: str) -> None:
        if self.shared.get("log"):
            with open(self.shared["log"], "a") as stream:  # noqa: PTH123
                stream.write(f"{os.getpid()} {text}\n")
