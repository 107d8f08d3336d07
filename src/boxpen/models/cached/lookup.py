"""What a model is asked, with a cache: only what is not there reaches the model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from boxpen.models.cached.ask import Ask
from boxpen.scoring.cache import ScoreCache

__all__ = ["Found", "Progress", "looked_up"]

Progress = Callable[..., None]
"""Called with a label, the number of requests done, the total, and tokens and cost if any."""


class Found(NamedTuple):
    """What a cache has, or a model has answered.

    Attributes:
        values: Records or texts by item; an item without an answer is missing.
        stored: How many the cache had.
        asked: How many items reached the model.
    """

    values: dict[Any, Any]
    stored: int
    asked: int


def looked_up(ask: Ask, cache: ScoreCache, progress: Progress | None = None) -> Found:
    """Return what is in the cache, and let the model answer the rest in one go.

    For an item without an answer, ``model.unanswered`` may have the reason.

    Args:
        ask: What is asked, and of which model.
        cache: The cache; every batch is saved there once it is answered.
        progress: Called as answers arrive.
    """
    model, report = ask.model, progress or (lambda *_: None)
    model.attach(cache)
    keys = ask.keys()
    known = (cache.translations if ask.makes_text else cache.records)(list(keys.values()))
    found = {one: known[key] for one, key in keys.items() if key in known}
    missing = []
    for one, key in keys.items():
        if key in cache.refused and one not in found:
            model.unanswered[ask.name_of(one)] = cache.refused[key]
        elif one not in found:
            missing.append(one)
    stored = len(found)
    if keys:
        report(ask.label, stored, len(keys))
    adding = partial(cache.add_translations, model=model.name)
    saving: Any = contextlib.nullcontext(adding) if ask.makes_text else cache.writing(model.name)
    with saving as save:
        for batch in ask.produce(missing) if missing else ():
            new = [(missing[i], value) for i, value in batch]
            save([(keys[one], value) for one, value in new])
            found.update(new)
            told = model.detail(len(found), len(keys))
            report(ask.label, len(found), len(keys), *([told] if told else []))
    return Found(found, stored, len(missing))
