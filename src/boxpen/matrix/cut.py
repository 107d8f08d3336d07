"""Cut what is asked of models into units: slices that some worker does by itself.

Items are sorted as a prefix tree does it, and cut where neighbours share little, so that slices
cost hardly more than the whole. A cut depends on the items and nothing else: not on their order,
on other suites, on the hardware or on the number of workers. The same items make the same units,
which are computed once, whoever asks again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from boxpen.cluster.units import Group, Unit
from boxpen.matrix.payload import item_of, payload_of, shared_of
from boxpen.models.base import Model
from boxpen.models.cached import Ask, Task
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Request
from boxpen.scoring.tree import Tree

__all__ = ["Slice", "cut", "rest", "slices", "unknown"]

_BYTES: dict[Task, int] = {
    "score": 50_000,
    "letters": 50_000,
    "answer": 10_000,
    "translate": 10_000,
}
"""Bytes of nodes in a unit: seconds to minutes of work."""
_COST: dict[Task, float] = {"score": 1.0, "letters": 1.0, "answer": 4.0, "translate": 20.0}
"""What a byte costs: texts that are made take a step per token, and translations five beams."""
_MASKED = 10.0  # a masked model reads a text once for each of its words
_USUAL = 1e8  # parameters, where nothing is known


@dataclass(frozen=True)
class Slice:
    """A part of what is asked, and the unit that asks for it.

    Attributes:
        ask: The part.
        unit: What a worker gets.
    """

    ask: Ask
    unit: Unit


def cut(asks: Sequence[Ask], cache: ScoreCache) -> list[Slice]:
    """Cut what is asked into units; those of one model are next to each other.

    Args:
        asks: What is asked, as ``evaluate.asks`` lists it.
        cache: The user's own: models behind servers are recognised by what it knows of them.

    Raises:
        ModelError: If workers cannot load a model.
    """
    models = {id(ask.model): ask.model for ask in asks}
    out = []
    for model in models.values():
        model.attach(cache)
        group = Group("model", shared_of(model), label=model.short)
        size = _parameters(model) / _USUAL * (_MASKED if model.kind == "masked" else 1.0)
        for ask in asks:
            if ask.model is not model:
                continue
            for part, nodes in slices(ask):
                weight = nodes * _COST[ask.task] * size
                out.append(Slice(part, Unit(group, payload_of(part), weight, ask.label)))
    return out


def slices(ask: Ask) -> Iterator[tuple[Ask, int]]:
    """Yield parts of an ``Ask``, each with the bytes of its prefix tree."""
    # Texts that differ only in where they are split are equal for the tree.
    items = sorted(ask.items, key=lambda item: json.dumps(item_of(item)))
    tree = Tree([_text(ask.task, item) for item in items])
    width = _BYTES[ask.task]
    for span in tree.spans(width=width, limit=2 * width, stems=False):
        part = tuple(items[number] for number in tree.order[span.start : span.stop])
        yield replace(ask, items=part), span.nodes


def unknown(parts: Sequence[Slice], cache: ScoreCache) -> list[Slice]:
    """Return the slices with an item that a cache does not know."""
    left = []
    for part in parts:
        keys = set(part.ask.keys().values())
        rows = cache.translations if part.ask.makes_text else cache.records
        if len(rows(list(keys))) < len(keys):
            left.append(part)
    return left


def rest(part: Slice, cache: ScoreCache) -> Slice:
    """Return what a server has not answered yet of a slice, so that nothing is paid for twice.

    Slices of other models stay whole: equal slices have equal results, to the bit.
    """
    if not part.ask.model.access:
        return part
    keys = part.ask.keys()
    rows = cache.translations if part.ask.makes_text else cache.records
    known = rows(list(keys.values()))
    items = tuple(item for item in part.ask.items if keys[item] not in known)
    if not items or len(items) == len(part.ask.items):
        return part
    ask = replace(part.ask, items=items)
    return Slice(ask, replace(part.unit, payload=payload_of(ask)))


def _text(task: Task, item: Any) -> bytes:
    """Return what a model reads of an item, roughly in the order in which it does."""
    if isinstance(item, Request):
        text = f"{item.source or ''}\0{item.prefix}{item.text}"
    elif task == "translate":
        text = "\0".join(item)
    else:
        text = getattr(item, "prompt", item)
    return text.encode("utf-8", "surrogatepass")


def _parameters(model: Model) -> float:
    """Estimate how many parameters work on every token, from the shape of a model."""
    config = getattr(model, "config", None)
    if config is None:
        return _USUAL
    shape = config.get_text_config(decoder=True)
    width, layers = (
        next((n for name in names if isinstance(n := getattr(shape, name, None), int)), 0)
        for names in (("hidden_size", "d_model", "n_embd"), ("num_hidden_layers", "n_layer"))
    )
    words = getattr(shape, "vocab_size", 0) or 0
    return float(12 * layers * width**2 + words * width) or _USUAL
