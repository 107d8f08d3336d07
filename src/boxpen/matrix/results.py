"""Results of units: answers of a model as bytes, and as rows of a score cache.

A result is an ``.npz`` file without pickled objects. Of scores it has arrays; texts, and the
reasons why there is no answer, are JSON in UTF-8. Nothing of a result is used if anything does not
fit the unit.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boxpen.errors import RunError
from boxpen.models.base import Model
from boxpen.models.cached import Ask
from boxpen.models.remote.served import ServedModel
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Record

__all__ = ["distrust", "fill", "packed", "unpacked"]

_FACTS = ("unscored", "unknown", "truncated", "crossing")
_MOST = 1 << 30  # bytes of the unpacked arrays
_NONE = -1  # scores of an item without an answer


def packed(ask: Ask, found: Mapping[int, Any], reasons: Mapping[int, str]) -> bytes:
    """Return answers as bytes: equal ones for equal answers.

    Args:
        ask: What was asked.
        found: Records or texts, by the number of the item.
        reasons: Why there is none for other items.
    """
    every = range(len(ask.items))
    arrays: dict[str, NDArray[Any]] = {"reasons": _json({str(n): r for n, r in reasons.items()})}
    if ask.makes_text:
        arrays["texts"] = _json([found.get(n) for n in every])
    else:
        records = [found[n] for n in every if n in found]
        counts = [len(found[n].logprobs) if n in found else _NONE for n in every]
        facts = [[int(getattr(record, name)) for name in _FACTS] for record in records]
        tokens = [np.asarray(r.token_ids, dtype="<i4") for r in records]
        arrays["counts"] = np.array(counts, dtype="<i4")
        arrays["token_ids"] = np.concatenate([np.zeros(0, "<i4"), *tokens])
        logprobs = [np.asarray(r.logprobs, dtype="<f4") for r in records]
        arrays["logprobs"] = np.concatenate([np.zeros(0, "<f4"), *logprobs])
        arrays["facts"] = np.array(facts, dtype="<i4").reshape(len(records), len(_FACTS))
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


def unpacked(ask: Ask, data: bytes) -> tuple[dict[int, Any], dict[int, str]]:
    """Return what ``packed`` was given.

    Raises:
        RunError: If these are not answers to what was asked.
    """
    try:
        arrays = _arrays(data)
        reasons = {int(n): str(why) for n, why in _read(arrays["reasons"]).items()}
        found: dict[int, Any] = {}
        found |= _texts(ask, _read(arrays["texts"])) if ask.makes_text else _records(ask, arrays)
        if {*found, *reasons} != set(range(len(ask.items))) or found.keys() & reasons.keys():
            raise ValueError("items without an answer or a reason")
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError,
            zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        raise RunError(
            f"a result of {ask.label or ask.task} does not fit its unit ({error}); delete it from "
            "the store and run this again"
        ) from None
    return found, reasons


def _arrays(data: bytes) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        if sum(member.file_size for member in packed.infolist()) > _MOST:
            raise ValueError("it is too large")
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def fill(cache: ScoreCache, ask: Ask, data: bytes) -> None:
    """Put the result of a unit into a cache, so that whoever asks again finds it there.

    Args:
        cache: The cache; what has no answer is noted as refused.
        ask: What was asked.
        data: The result.

    Raises:
        RunError: If the result does not fit.
    """
    found, reasons = unpacked(ask, data)
    if ask.model.introduction:  # or a server would be another one in a new cache
        cache.add_records(ask.model.introduction.items(), ask.model.name)
    ask.model.attach(cache)
    of = ask.keys()
    keys = [of[item] for item in ask.items]
    rows = [(keys[number], value) for number, value in found.items()]
    if ask.makes_text:
        cache.add_translations(rows, ask.model.name)
    else:
        cache.add_records(rows, ask.model.name)
    for number in found:
        cache.refused.pop(keys[number], None)  # of an earlier try
    cache.refused.update({keys[number]: why for number, why in reasons.items()})


def distrust(models: Sequence[Model], failures: Iterable[str], cache: ScoreCache) -> None:
    """Note in the user's cache which servers a worker caught giving wrong numbers.

    They get another fingerprint from then on, so that no unit that was done before is used again.

    Args:
        models: All models of the job.
        failures: Messages of units that failed.
        cache: The user's own.
    """
    failed = list(failures)
    for model in models:
        told = f"model '{model.name}' cannot be trusted"
        if isinstance(model, ServedModel) and any(told in failure for failure in failed):
            model.attach(cache)
            model.distrust(cache)


def _texts(ask: Ask, texts: Any) -> dict[int, str]:
    if not isinstance(texts, list) or len(texts) != len(ask.items):
        raise ValueError("another number of items")
    if not all(text is None or isinstance(text, str) for text in texts):
        raise ValueError("texts that are not strings")
    return {number: text for number, text in enumerate(texts) if text is not None}


def _records(ask: Ask, arrays: Mapping[str, NDArray[Any]]) -> dict[int, Record]:
    counts, tokens, logprobs, facts = (
        arrays[name] for name in ("counts", "token_ids", "logprobs", "facts")
    )
    if counts.dtype != np.int32 or tokens.dtype != np.int32 or logprobs.dtype != np.float32:
        raise ValueError("arrays of other types")
    if counts.shape != (len(ask.items),):
        raise ValueError("another number of items")
    numbers = np.flatnonzero(counts != _NONE).tolist()
    ends = np.cumsum(counts[numbers], dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    if (counts < _NONE).any() or tokens.shape != (total,) or logprobs.shape != (total,):
        raise ValueError("another number of scores")
    if facts.dtype != np.int32 or facts.shape != (len(numbers), len(_FACTS)):
        raise ValueError("another number of facts")
    if not np.isfinite(logprobs).all():
        raise ValueError("a score that is not finite")
    found = {}
    for number, end, (unscored, unknown, truncated, crossing) in zip(
        numbers, ends.tolist(), facts.tolist(), strict=True
    ):
        part = slice(end - int(counts[number]), end)
        found[number] = Record(
            tokens[part], logprobs[part], unscored, unknown, bool(truncated), bool(crossing)
        )
        if ask.task == "letters":
            letters = len(ask.items[number].letters)
            if any(not -1 <= place < letters for place in tokens[part].tolist()):
                raise ValueError("a letter that was not among the options")
    return found


def _json(value: Any) -> NDArray[np.uint8]:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _read(array: NDArray[Any]) -> Any:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("a text of another type")
    return json.loads(array.tobytes().decode("utf-8", "surrogatepass"))
