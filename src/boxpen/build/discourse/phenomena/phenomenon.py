"""A phenomenon: what a rule knows of two languages, and all that a build needs of it.

Everything else in a build (reading, filters, pools, samples, review, the suite) knows no language
but for its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from boxpen.build.discourse.phenomena.snippets import Finding, Snippet

__all__ = ["Contrasts", "Phenomenon", "classes_of"]

Contrasts = Callable[[str, str, str, str, str], tuple[str, ...]]
"""Takes class, word, source, target and the target before; returns wrong translations."""


@dataclass(frozen=True, kw_only=True)
class Phenomenon:
    """A rule for one pair of languages.

    Attributes:
        name: Also the tag ``set`` of its items.
        pair: Codes of the source and the target language.
        classes: In the order in which they are shown.
        find: Returns what a snippet may test, or None.
        settled: Classes whose sentences readers settled without their context, all that were read.
        contrasts: Returns wrong translations; none where no exchange leaves a good sentence.
        shows: Whether a translation shows a class and no other; None if nobody can say.
    """

    name: str
    pair: tuple[str, str]
    classes: tuple[str, ...]
    find: Callable[[Snippet], Finding | None]
    contrasts: Contrasts
    shows: Callable[[str, str], bool] | None = None
    settled: tuple[str, ...] = ()


def classes_of(phenomena: Iterable[Phenomenon]) -> dict[str, str]:
    """Return every class with its phenomenon, in the order in which they are shown."""
    return {cls: one.name for one in phenomena for cls in one.classes}
