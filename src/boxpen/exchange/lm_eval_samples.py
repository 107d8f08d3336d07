"""The files that lm-evaluation-harness writes with ``--log_samples``, as it shapes them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    found: dict[str, Sample] = {}
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
    return list(found.values())


def _add(line: str, where: str, found: dict[str, Sample], filters: set[tuple[str, str]]) -> None:
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


def _sample(data: Mapping[str, Any], doc_id: str, where: str) -> Sample:
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
    gold = _gold(data, [c for _, c in pairs], totals, where)
    return Sample(where, doc_id, doc, tuple(pairs), tuple(totals), unconditional, gold)


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
        if not pair[1].strip() and not pair[0].strip():
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


def _gold(
    data: Mapping[str, Any], texts: Sequence[str], totals: Sequence[float], where: str
) -> int:
    """Return the place of the right candidate.

    A target is a number or the text of the candidate. A task with a context per candidate has
    the common continuation there; then the item tells, if boxpen exported it, or its accuracy, if
    there are two candidates. Wherever the log has an accuracy, the place must agree with it.
    """
    acc = data.get("acc")
    best = max(range(len(totals)), key=lambda i: totals[i])
    if isinstance(acc, int | float) and acc not in (0, 1):
        raise RunError(f"{where}: acc is {acc}; the task does not choose one of its candidates")
    target = str(data.get("target", "")).strip()
    places = [int(target)] if re.fullmatch("[0-9]{1,9}", target) else []
    places += [i for i, text in enumerate(texts) if text.strip() == target]
    if len(set(texts)) == 1:  # the contexts differ
        doc = data.get("doc")
        places = []
        if isinstance(doc, dict) and "boxpen" in doc and isinstance(doc.get("gold"), int):
            places = [doc["gold"]]
        elif acc is not None and len(texts) == 2:
            places = [best if acc else 1 - best]
    for place in places:
        if place < len(texts) and (acc is None or (place == best) == bool(acc)):
            return place
    raise RunError(
        f"{where}: it does not tell which of {len(texts)} candidates is right (target "
        f"{target[:40]!r}, acc {acc})"
    )
