"""Lines as documents: the context of each line."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

__all__ = ["LinesBefore"]


class LinesBefore:
    """Remembers the lines of a document as they go by; an empty line ends it.

    Args:
        sentences: How many are remembered.
    """

    def __init__(self, sentences: int) -> None:
        self._last: deque[str] = deque(maxlen=sentences)

    def contexts(self, lines: Iterable[str]) -> list[str]:
        """Return the context of each line: the lines before it, the nearest last."""
        found = []
        for line in lines:
            found.append("\n".join(self._last))
            if line.strip():
                self._last.append(line)
            else:
                self._last.clear()
        return found
