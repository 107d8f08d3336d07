"""The texts of an item, each with the name of its field and its language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from boxpen.items import Choice, Entail, Item, Suite

__all__ = ["Text", "answers", "texts"]


class Text(NamedTuple):
    """One text of an item, as it is written."""

    field: str
    text: str
    language: str | None


def texts(suite: Suite, item: Item) -> Iterator[Text]:
    """Yield every text of an item that is there."""
    language, source_language = suite.languages_of(item)
    if isinstance(item, Entail):
        yield Text("premise", item.premise, language)
        yield Text("hypothesis", item.hypothesis, language)
        return
    # The context goes with the source where there is one, else with the candidates.
    if item.source is not None:
        yield Text("source", item.source, source_language)
    if item.context is not None:
        yield Text("context", item.context, language if item.source is None else source_language)
    if isinstance(item, Choice):
        for index, candidate in enumerate(item.candidates):
            yield Text(f"candidate {index}", candidate, language)
        return
    yield Text("reference", item.reference, language)
    if item.reference_context is not None:
        yield Text("reference_context", item.reference_context, language)
    for index, wrong in enumerate(item.contrast):
        yield Text(f"contrast {index}", wrong, language)


def answers(item: Item) -> list[tuple[str, str]]:
    """Return the texts that a model decides between, with the names of their fields."""
    if isinstance(item, Choice):
        return [(f"candidate {index}", text) for index, text in enumerate(item.candidates)]
    if isinstance(item, Entail):
        return [("premise", item.premise), ("hypothesis", item.hypothesis)]
    contrast = [(f"contrast {index}", text) for index, text in enumerate(item.contrast)]
    return [("reference", item.reference), *contrast]
