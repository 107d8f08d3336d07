"""An ``Ask`` as JSON values: what its model is made from, and what the model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

import numpy as np

from boxpen.errors import ModelError
from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached import Ask, Task
from boxpen.scoring.ask import Question
from boxpen.scoring.cache import SCORES
from boxpen.scoring.policy import Dtype
from boxpen.scoring.requests import Record, Request

__all__ = ["ask_of", "introduction_of", "item_of", "payload_of", "policy_of", "shared_of"]


def shared_of(model: Model) -> dict[str, Any]:
    """Return what another process makes the same model from.

    A model behind a server must be attached to a cache before: its fingerprint follows from it.

    Raises:
        ModelError: If no other process can.
    """
    if getattr(model, "in_memory", False):
        raise ModelError(
            f"model '{model.name}' is in memory, where workers cannot find it; save it to a folder "
            "and name that"
        )
    return {
        "model": model.name,
        # Resolved here: `auto` would be another one on another device.
        "dtype": model.dtype if model.dtype in get_args(Dtype) else "auto",
        "labels": getattr(model, "named", None),
        "fingerprint": model.fingerprint,
        "deterministic": model.deterministic,
        "scores": SCORES,
        "exactness": model.exactness(),
        "batch_size": model.batch_size,
        "token_budget": model.token_budget,
        "introduction": [
            [key.hex(), record.logprobs.tolist()] for key, record in model.introduction.items()
        ],
    }


def introduction_of(shared: Mapping[str, Any]) -> list[tuple[bytes, Record]]:
    """Return the rows of a cache that a model behind a server is recognised by."""
    return [
        (bytes.fromhex(key), Record(np.zeros(len(row), np.int32), np.array(row, np.float32)))
        for key, row in shared["introduction"]
    ]


def payload_of(ask: Ask) -> dict[str, Any]:
    """Return what is asked, without the model."""
    return {
        "task": ask.task,
        "policy": asdict(ask.policy),
        "languages": list(ask.languages),
        "items": [item_of(item) for item in ask.items],
    }


def ask_of(model: Model, payload: Mapping[str, Any]) -> Ask:
    """Return what a model is asked."""
    task = payload["task"]
    items = tuple(_READ[task](item) for item in payload["items"])
    source, target = payload["languages"]
    return Ask(task, model, items, policy_of(payload["policy"]), (source, target))


def policy_of(found: Mapping[str, Any]) -> ResolvedPolicy:
    """Return a policy that was a JSON object."""
    return ResolvedPolicy(**found)


def item_of(item: Request | Question | Sequence[str] | str) -> Any:
    """Return an item of an ``Ask`` as a JSON value."""
    if isinstance(item, Request):
        return [item.text, item.prefix, item.source, list(item.languages), item.context]
    if isinstance(item, Question):
        return [item.prompt, list(item.order), list(item.options)]
    return item if isinstance(item, str) else list(item)


def _request(item: Any) -> Request:
    text, prefix, source, (one, other), context = item
    return Request(text, prefix, source, (one, other), context)


def _question(item: Any) -> Question:
    prompt, order, options = item
    return Question(prompt, tuple(order), tuple(options))


_READ: dict[Task, Any] = {
    "score": _request,
    "letters": _question,
    "translate": tuple,
    "answer": str,
}
