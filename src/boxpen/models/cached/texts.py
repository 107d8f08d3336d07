"""Texts that a model produces, with a cache: answers and translations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from boxpen.models.base import Model
from boxpen.models.cached.requests import Progress
from boxpen.scoring.cache import ScoreCache

__all__ = ["cached_texts"]

_K = TypeVar("_K")


def cached_texts(
    model: Model,
    keys: Mapping[_K, bytes],
    produce: Callable[[list[_K]], Iterator[list[tuple[int, str]]]],
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> dict[_K, str]:
    """Return texts from the cache where available, and let the model produce the rest.

    Args:
        model: The model.
        keys: What is asked for, with its key in the cache.
        produce: Yields batches of (index, text) for what is missing; each is saved at once. What
            is never yielded is missing in the result.
        cache: The cache.
        label: A label for progress.
        progress: Called as texts arrive.
    """
    report = progress or (lambda *_: None)
    known = cache.translations(list(keys.values()))
    texts = {one: known[key] for one, key in keys.items() if key in known}
    missing = [one for one in keys if one not in texts]
    if keys:
        report(label, len(texts), len(keys))
    for batch in produce(missing) if missing else ():
        cache.add_translations((keys[missing[i]], text) for i, text in batch)
        texts.update((missing[i], text) for i, text in batch)
        told = model.detail(len(texts), len(keys))
        report(label, len(texts), len(keys), *([told] if told else []))
    return texts
