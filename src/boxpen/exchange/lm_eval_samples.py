"""The files that lm-evaluation-harness writes with ``--log_samples``, as it shapes them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from boxpen.errors import RunError
from boxpen.failures import reason

__all__ = ["Sample", "read_results", "read_samples", "samples_beside", "task_of"]

_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"


@dataclass(frozen=True)
class Sample:
    """One item of a task that compares log-likelihoods.

    Attributes:
        where: File and line, for messages.
        doc_id: Its number in the task.
        doc: The item as the task has it.
        pairs: Context and continuation of every candidate.
        totals: Their log-probabilities.
        unconditional: The same without context, if the task has ``acc_mutual_info``.
        gold: Place of the right candidate.
    """

    where: str
    doc_id: str
    doc: Mapping[str, Any]
    pairs: tuple[tuple[str, str], ...]
    totals: tuple[float, ...]
    unconditional: tuple[float, ...]
    gold: int


def task_of(path: Path) -> str:
    """Return the task of a file of samples."""
    found = re.fullmatch(rf"samples_(.+?)(?:_{_DATE})?\.jsonl", path.name)
    return found[1] if found else path.stem


def samples_beside(path: Path) -> list[Path]:
    """Return the files of samples that were written with a file of results."""
    found = re.search(rf"_({_DATE})\.json$", path.name)
    return sorted(path.parent.glob(f"samples_*_{found[1]}.jsonl")) if found else []


def read_results(path: Path) -> dict[str, Any]:
    """Read the results of a run, or those that were written with a file of samples; empty if none.

    Raises:
        RunError: If the file is damaged.
    """
    if path.suffix == ".jsonl":
        found = re.search(rf"_({_DATE})\.jsonl$", path.name)
        beside = sorted(path.parent.glob(f"*_{found[1]}.json")) if found else []
        if len(beside) != 1:
            return {}
        path = beside[0]
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {reason(error)}") from None
    if not isinstance(data, dict) or not isinstance(data.get("config", {}), dict):
        raise RunError(f"{path} does not have the results of lm-eval, expected an object")
    return data


def read_samples(path: Path) -> list[Sample]:
    """Read a file of samples; of several filters the first counts, for scores are the same.

    Raises:
        RunError: If a line is damaged, an item appears twice, or the task compares no candidates.
    """
    found: dict[str, _Unjudged] = {}
    filters: set[tuple[str, str]] = set()
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    _add(line, f"{path}, line {number}", found, filters)
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path} cannot be read: {reason(error)}") from None
    if not found:
        raise RunError(f"{path} has no items")
    return _judged(list(found.values()), path)


@dataclass(frozen=True)
class _Unjudged:
    """A sample, but for its gold, and the places that its target may mean, by how it is read."""

    sample: Sample
    target: str
    places: Mapping[str, int]


def _add(line: str, where: str, found: dict[str, _Unjudged], filters: set[tuple[str, str]]) -> None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise RunError(f"{where}: damaged, expected a JSON object") from None
    if not isinstance(data, dict) or not isinstance(data.get("doc_id"), int | str):
        raise RunError(f"{where}: not a sample of lm-eval, expected an object with a doc_id")
    doc_id = str(data["doc_id"])
    key = (doc_id, str(data.get("filter", "none")))
    if key in filters:
        raise RunError(f"{where}: item {doc_id} appears twice")
    filters.add(key)
    if doc_id not in found:
        found[doc_id] = _sample(data, doc_id, where)


def _sample(data: Mapping[str, Any], doc_id: str, where: str) -> _Unjudged:
    if "resps" not in data or "arguments" not in data:
        raise RunError(f"{where}: there are no scores; run lm_eval with --log_samples")
    pairs, totals = _pairs(data["arguments"], where), _totals(data["resps"], where)
    if len(pairs) != len(totals):
        raise RunError(f"{where}: {len(pairs)} texts and {len(totals)} scores, expected as many")
    unconditional: tuple[float, ...] = ()
    half = len(pairs) // 2
    if "acc_mutual_info" in data and [c for _, c in pairs[:half]] == [c for _, c in pairs[half:]]:
        pairs, totals, unconditional = pairs[:half], totals[:half], totals[half:]
    if len(pairs) < 2:
        raise RunError(
            f"{where}: the task scores one text per item, so there is nothing to compare"
        )
    doc = data.get("doc")
    doc = doc if isinstance(doc, dict) else {}
    sample = Sample(where, doc_id, doc, tuple(pairs), tuple(totals), unconditional, gold=0)
    target = str(data.get("target", "")).strip()
    return _Unjudged(sample, target, _places(data, target, [c for _, c in pairs], totals, where))


def _pairs(arguments: Any, where: str) -> list[tuple[str, str]]:
    """Return contexts and continuations: in a mapping of mappings, in earlier versions in lists."""
    rows = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(rows, list):
        raise RunError(f"{where}: `arguments` is neither an object nor a list")
    pairs = []
    for row in rows:
        pair = list(row.values()) if isinstance(row, dict) else row
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise RunError(f"{where}: not a context and a continuation; boxpen reads texts only")
        if not isinstance(pair[1], str):
            raise RunError(
                f"{where}: the task generates text; boxpen reads tasks that compare "
                "log-likelihoods (output_type multiple_choice)"
            )
        if not pair[1].strip():
            raise RunError(f"{where}: a candidate is empty")
        pairs.append((pair[0], pair[1]))
    return pairs


def _totals(resps: Any, where: str) -> tuple[float, ...]:
    """Return the log-probabilities: ``[["-4.5", "False"]]`` for each candidate."""
    try:
        totals = tuple(float(candidate[0][0]) for candidate in resps)
    except (TypeError, ValueError, IndexError, KeyError):
        raise RunError(
            f"{where}: `resps` has no log-likelihoods; boxpen reads tasks that compare them "
            "(output_type multiple_choice)"
        ) from None
    if not all(map(math.isfinite, totals)):
        raise RunError(f"{where}: a log-likelihood is not a finite number")
    return totals


def _places(
    data: Mapping[str, Any], target: str, texts: Sequence[str], totals: Sequence[float], where: str
) -> dict[str, int]:
    """Return the place of the right candidate under every reading of the target.

    A target is a number or the text of the candidate. A task with a context per candidate has
    the common continuation there; then the item tells, if boxpen exported it, or its accuracy, if
    there are two candidates. Wherever the log has an accuracy, the place must agree with it.
    """
    acc = data.get("acc")
    best = max(range(len(totals)), key=lambda i: totals[i])
    if isinstance(acc, int | float) and acc not in (0, 1):
        raise RunError(f"{where}: acc is {acc}; the task does not choose one of its candidates")
    possible: list[tuple[str, int]] = []
    doc = data.get("doc")
    if isinstance(doc, dict) and "boxpen" in doc and isinstance(doc.get("gold"), int):
        possible = [("item", doc["gold"])]
    elif len(set(texts)) == 1:  # the contexts differ
        if acc is not None and len(texts) == 2:
            possible = [("item", best if acc else 1 - best)]
    else:
        possible = [("text", i) for i, text in enumerate(texts) if text.strip() == target]
        if re.fullmatch("[0-9]{1,9}", target):
            possible.append(("number", int(target)))
    places: dict[str, int] = {}
    for reading, place in possible:
        if 0 <= place < len(texts) and (acc is None or (place == best) == bool(acc)):
            places.setdefault(reading, place)
    if not places:
        raise RunError(
            f"{where}: it does not tell which of {len(texts)} candidates is right (target "
            f"{target[:40]!r}, acc {acc})"
        )
    return places


def _judged(rows: Sequence[_Unjudged], path: Path) -> list[Sample]:
    """Return the samples with their golds, under the only reading that fits the whole file."""
    fitting = ["number", "text"]
    for row in rows:
        fitting = [name for name in fitting if name in row.places or "item" in row.places]
        if not fitting:
            raise RunError(
                f"{row.sample.where}: the target {row.target[:40]!r} is not of the same kind as "
                "those before it, which are numbers or texts of candidates"
            )
    for row in rows:
        if "item" not in row.places and len({row.places[name] for name in fitting}) > 1:
            raise RunError(
                f"{row.sample.where}: the target {row.target[:40]!r} may be the number or the text "
                f"of a candidate, as all of {path.name} agrees with both; evaluate more items"
            )
    return [
        replace(row.sample, gold=row.places["item" if "item" in row.places else fitting[0]])
        for row in rows
    ]
