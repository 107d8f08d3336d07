"""Two neighbouring sentences of a document, in both languages."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Snippet"]


@dataclass(frozen=True, slots=True)
class Snippet:
    """A sentence, the one before it, and the translations of both.

    Attributes:
        document: The film or episode that it comes from.
        line: The number of the current sentence in its document.
        context_source: The sentence before, in English.
        source: The current sentence, in English.
        context_target: The sentence before, in Chinese.
        target: The current sentence, in Chinese.
    """

    document: str
    line: int
    context_source: str
    source: str
    context_target: str
    target: str
