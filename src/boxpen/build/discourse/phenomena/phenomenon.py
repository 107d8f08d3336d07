"""A phenomenon: what a rule knows of two languages, and all that a build needs of it.

Everything else in a build (reading, filters, pools, samples, review, the suite) knows no language
but for its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

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
        settled: Classes whose sentences readers settled without their context, all that they read.
        contrasts: Returns wrong translations; none where no exchange leaves a good sentence.
        shows: Whether a translation shows a class and no other; None if nobody can say.
        says: Whether a translation says a class, perhaps beside others; by default as ``shows``.
        alternatives: What of the source has several translations, such as a word, and its classes,
            those together that one answer gets right; by default all classes, one by one.
    """

    name: str
    pair: tuple[str, str]
    classes: tuple[str, ...]
    find: Callable[[Snippet], Finding | None]
    contrasts: Contrasts
    shows: Callable[[str, str], bool] | None = None
    settled: tuple[str, ...] = ()
    says: Callable[[str, str], bool] | None = None
    alternatives: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    @property
    def questions(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """What has several translations, and the groups of classes that one answer gets right."""
        return self.alternatives or {self.name: tuple((cls,) for cls in self.classes)}

    @property
    def left_out(self) -> tuple[str, ...]:
        """The classes of what readers settled without the context in all its senses.

        With one sense of a word alone, an answer that is always the same would be right.
        """
        asked = [[cls for group in one for cls in group] for one in self.questions.values()]
        return tuple(cls for senses in asked if {*senses} <= {*self.settled} for cls in senses)


def classes_of(phenomena: Iterable[Phenomenon]) -> dict[str, str]:
    """Return every class with its phenomenon, in the order in which they are shown."""
    return {cls: one.name for one in phenomena for cls in one.classes}
