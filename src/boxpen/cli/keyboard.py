"""Single keys of a terminal, or of a pipe that stands for one."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import typer

__all__ = ["Keyboard"]

_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|.", re.DOTALL)
"""One key: a character, or what arrows, function keys and Alt send, with digits among it."""


class Keyboard:
    """Reads keys without waiting for Enter; keys that are pressed ahead are kept.

    Within the ``with`` block a terminal neither collects lines nor echoes what is typed.
    """

    def __init__(self) -> None:
        self._pressed: list[str] = []
        self._before: Any = None

    def __enter__(self) -> Keyboard:
        if sys.stdin.isatty() and os.name == "posix":
            import termios

            self._before = termios.tcgetattr(sys.stdin.fileno())
            self._single(True)
        return self

    def __exit__(self, *_: object) -> None:
        self._single(False)

    def key(self) -> str:
        """Return the next key; an empty text at the end of input and for Ctrl-C or Ctrl-D."""
        try:
            if self._before is None:
                return typer.getchar() if sys.stdin.isatty() else _character()
            if not self._pressed:
                found = os.read(sys.stdin.fileno(), 1024).decode(errors="replace")
                self._pressed = _KEY.findall(found)
            key = self._pressed.pop(0) if self._pressed else ""
        except (EOFError, KeyboardInterrupt):
            return ""
        return "" if key == "\x04" else key

    def line(self, prompt: str) -> str:
        """Return a line that is typed and edited as usual; empty at the end of input.

        What was typed ahead is its beginning.
        """
        ahead, ended, rest = "".join(self._pressed).partition("\n")
        self._pressed = _KEY.findall(rest)
        if ended:
            return ahead
        self._single(False)
        try:
            return ahead + input(prompt + ahead)
        except EOFError:
            return ""
        finally:
            self._single(True)

    def _single(self, on: bool) -> None:
        """Let a terminal send single keys, or lines as before."""
        if self._before is None:
            return
        import termios

        mode = list(self._before)
        if on:
            mode[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, mode)  # which drops no keys


def _character() -> str:
    """Return the next character of standard input that is not white space."""
    found = " "
    while found.isspace():
        found = sys.stdin.read(1)
    return found
