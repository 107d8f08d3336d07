"""What a triple must be like to stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from boxpen.build.kg.triples import (
    ATOMIC,
    ATOMIC_ALL,
    CONCEPTNET,
    CONCEPTNET_ALL,
    canonical_relation,
)
from boxpen.config import AtLeast1, Convert
from boxpen.errors import BuildError, ConfigError

__all__ = ["KNOWN_RELATIONS", "FilterConfig", "check_relations"]

KNOWN_RELATIONS = (*CONCEPTNET_ALL, *ATOMIC_ALL)
"""Relations of ConceptNet and ATOMIC; a graph may have others."""


def _words(value: object, folder: Path) -> tuple[str, ...]:
    from boxpen.english.vocabulary import read_words

    if isinstance(value, str):
        return tuple(read_words(folder / value))
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError("expected a list of words, or the path of a file with one per line")
    return tuple(value)


@dataclass(frozen=True, kw_only=True)
class FilterConfig:
    """What the steps of the filter go by; a limit of None is none.

    Attributes:
        relations: Relations that stay, in any spelling; all if empty.
        language: Language of head and tail, two letters. Rows of unknown language stay. The steps
            that know English (self-loops by content, talk, fragments, profanity, spelling) are
            taken only if it is ``en``.
        min_weight: Least weight.
        keep_unweighted: Whether rows without a weight stay although ``min_weight`` is given.
        keep_blanks: Whether events that leave something open (``___``) stay.
        min_words: Fewest words of head and tail.
        max_head_words: Most words of the head.
        max_tail_words: Most words of the tail.
        max_characters: Most characters of head and tail.
        keep_contained: Whether rows stay in which one side says no more than the other: 'apple
            tree' isa 'tree'. Equal sides always go.
        keep_talk: Whether rows stay that speak to the reader ('you', 'my') or of nothing that has
            a name ('this').
        keep_fragments: Whether nodes stay that break off: 'carton be thing which'.
        blocklist: Words and phrases that may not occur, in any inflection; or a file of them.
        keep_profane: Whether rows with profane, sexual and abusive words stay.
        keep_misspelt: Whether rows with words that no dictionary has stay.
        keep_near_duplicates: Whether rows stay that say the same as another in other words.
        keep_contradictions: Whether rows stay that another row denies.
    """

    relations: tuple[str, ...] = (*CONCEPTNET, *ATOMIC)
    language: str | None = "en"
    min_weight: float | None = None
    keep_unweighted: bool = True
    keep_blanks: bool = False
    min_words: AtLeast1 = 1
    max_head_words: AtLeast1 | None = 10
    max_tail_words: AtLeast1 | None = 10
    max_characters: AtLeast1 | None = 80
    keep_contained: bool = False
    keep_talk: bool = False
    keep_fragments: bool = False
    blocklist: Annotated[tuple[str, ...], Convert(_words)] = ()
    keep_profane: bool = False
    keep_misspelt: bool = False
    keep_near_duplicates: bool = False
    keep_contradictions: bool = False

    def __post_init__(self) -> None:
        names = tuple(dict.fromkeys(canonical_relation(r) for r in self.relations))
        object.__setattr__(self, "relations", names)
        for name in ("max_head_words", "max_tail_words"):
            value = getattr(self, name)
            if value is not None and value < self.min_words:
                raise ConfigError(
                    f"{name} is {value}, expected min_words ({self.min_words}) or more"
                )

    @property
    def english(self) -> bool:
        """Whether the steps that know English apply."""
        return self.language == "en"


def check_relations(asked: Iterable[str], in_graph: Iterable[str]) -> tuple[str, ...]:
    """Return the relations asked for that the graph does not have.

    Raises:
        BuildError: If one of them is not a relation of any known graph, or if the
            graph has none of those asked for.
    """
    from boxpen.errors import nearest

    present = sorted(set(in_graph))
    known = sorted({*KNOWN_RELATIONS, *present})
    asked = list(asked)
    listed = ", ".join(present) or "none"
    for name in asked:
        if name not in known:
            offer = nearest(name, known)
            raise BuildError(
                f"relation '{name}' is unknown, {offer} Relations in the graph: {listed}"
            )
    absent = tuple(name for name in asked if name not in present)
    if asked and len(absent) == len(asked):
        raise BuildError(
            f"the graph has none of the relations {', '.join(asked)}; "
            f"relations in the graph: {listed}"
        )
    return absent
