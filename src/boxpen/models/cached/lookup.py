"""What a model produces, with a cache: only what is not there reaches the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from boxpen.models.base import Model

__all__ = ["Progress", "looked_up"]

_K = TypeVar("_K")
_V = TypeVar("_V")

Progress = Callable[..., None]
"""Called with a label, the number of requests done, the total, and tokens and cost if any."""


def looked_up(
    model: Model,
    keys: Mapping[_K, bytes],
    load: Callable[[Sequence[bytes]], Mapping[bytes, _V]],
    save: Callable[[Sequence[tuple[bytes, _V]]], None],
    produce: Callable[[list[_K]], Iterator[list[tuple[int, _V]]]],
    label: str,
    progress: Progress | None = None,
) -> dict[_K, _V]:
    """Return what is in the cache, and let the model produce the rest.

    Args:
        model: The model.
        keys: What is asked for, with its key in the cache.
        load: Reads from the cache.
        save: Writes to the cache; called with every batch at once.
        produce: Yields batches of (index, value) for what is missing. What is never yielded is
            missing in the result.
        label: A label for progress.
        progress: Called as values arrive.
    """
    report = progress or (lambda *_: None)
    known = load(list(keys.values()))
    found = {one: known[key] for one, key in keys.items() if key in known}
    missing = [one for one in keys if one not in found]
    if keys:
        report(label, len(found), len(keys))
    for batch in produce(missing) if missing else ():
        new = [(missing[i], value) for i, value in batch]
        save([(keys[one], value) for one, value in new])
        found.update(new)
        told = model.detail(len(found), len(keys))
        report(label, len(found), len(keys), *([told] if told else []))
    return found
