"""Logs of lm-evaluation-harness, read as runs.

A log has the log-probability of every candidate, not of its tokens: its records hold one number
for the whole text (``scoring.requests.WHOLE``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from boxpen.catalog.lint.items import lint
from boxpen.errors import BoxpenError, RunError
from boxpen.exchange.lm_eval_samples import (
    Sample,
    read_results,
    read_samples,
    samples_beside,
    task_of,
)
from boxpen.exchange.lm_eval_tasks import choice_of, texts_of
from boxpen.items import Card, Choice, Entail, Item, Suite, Translate, item_from_dict
from boxpen.printable import printable
from boxpen.runs.directory import faults, why_damaged
from boxpen.runs.info import ModelInfo, RecipeInfo, RunInfo, SuiteInfo
from boxpen.runs.info import Sample as PartInfo
from boxpen.runs.logs import Log
from boxpen.runs.tables import RunContent
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.recipe import Recipe
from boxpen.scoring.requests import WHOLE, Record
from boxpen.scoring.verdicts import Scored, decide

__all__ = ["LOG"]

_MOST_VALUES = 50  # of a tag
_LONGEST_VALUE = 40  # characters
_SECRET = re.compile(
    r"(?:^|_)(?:key|apikey|password|passwd|secret|credentials?|authorization|headers?"
    r"|(?<!bos_)(?<!eos_)(?<!pad_)(?<!end_)(?<!prefix_)token)$",
    re.IGNORECASE,
)
"""Names of arguments whose values nobody else may read; ``add_bos_token`` is none."""
_LOGIN = re.compile(r"//[^/@\s,]+@")  # name and password in an address


def _recognises(path: Path, start: bytes) -> bool:
    if path.suffix == ".jsonl":
        named = path.name.startswith("samples_") and not start.strip()
        return named or re.match(rb'\s*\{"doc_id":', start) is not None
    return path.suffix == ".json" and re.match(rb'\s*\{\s*"results":\s*\{', start) is not None


def _read(path: Path) -> RunContent:
    try:
        return _run_of(path)
    except faults() as error:
        raise RunError(f"{path} is damaged: {why_damaged(error)}") from None


def _run_of(path: Path) -> RunContent:
    results = read_results(path)
    files = [path] if path.suffix == ".jsonl" else samples_beside(path)
    if not files:
        raise RunError(f"{path} has no samples_*.jsonl beside it; run lm_eval with --log_samples")
    found = {task_of(file): read_samples(file) for file in files}
    own = {_suite_name(samples) for samples in found.values()}
    if None not in own and len(own) == 1:
        samples = [sample for some in found.values() for sample in some]
        suite, recipe, candidates = _own(samples, results)
    else:
        suite, candidates = _foreign(path, found, results)
        recipe = RecipeInfo(name="lm-eval", digest=_digest(_prompting(results, list(found))))
    return _content(suite, recipe, candidates, results, path)


LOG = Log("lm-eval", _recognises, _read)


def _content(
    suite: Suite,
    recipe: RecipeInfo,
    candidates: dict[str, list[Scored]],
    results: Mapping[str, Any],
    path: Path,
) -> RunContent:
    policy = _policy(recipe.more)
    judged = [choice_of(item) for item in suite]
    unread = {"source": 0, "context": 0}
    if "prompt" in recipe.more:  # a recipe of boxpen
        made = _recipe({"name": recipe.name, **recipe.more})
        for c in judged:
            unread["source"] += bool(c.source) and not made.sees_source(c, encoder=False)
            unread["context"] += bool(c.context) and not made.sees_context(c, encoder=False)
    info = RunInfo(
        suite=SuiteInfo.of(suite),
        model=_model(results, path),
        recipe=recipe,
        policy=policy,
        resolved_policy=_resolved(results, candidates),
        beam=0,
        left_out={},
        parts_left_out={},
        unread_sources=unread["source"],
        unread_contexts=unread["context"],
        findings=tuple(lint(suite)),
        engine={
            "how": f"lm-eval {results.get('lm_eval_version', '')}".strip(),
            "transformers": str(results.get("transformers_version", "")),
            "model_args": printable(str(_model_args(results))),
            "model_sha": printable(str(results.get("config", {}).get("model_sha") or "")),
        },
        seconds=_seconds(results),
    ).signed()
    verdicts = tuple(decide(c, candidates[c.id], policy) for c in judged)
    return RunContent(info, verdicts, candidates)


def _suite_name(samples: Sequence[Sample]) -> str | None:
    """Return the suite of a task that boxpen exported; None for other tasks."""
    about = _about(samples[0])
    return None if about is None else f"{about['suite']['name']}@{about['suite']['hash']}"


def _about(sample: Sample) -> dict[str, Any] | None:
    text = sample.doc.get("boxpen")
    if not isinstance(text, str):
        return None
    try:
        about = json.loads(text)
        about["suite"]["name"], about["suite"]["hash"], about["suite"]["items"]
        about["recipe"]["name"], about["item"]["id"], about["place"], about["order"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise RunError(
            f"{sample.where}: the `boxpen` field is damaged; export the suite again"
        ) from None
    return about if isinstance(about, dict) else None


def _own(
    samples: Sequence[Sample], results: Mapping[str, Any]
) -> tuple[Suite, RecipeInfo, dict[str, list[Scored]]]:
    """Restore suite, recipe and the order of items and candidates of an exported suite."""
    placed: dict[int, tuple[Item, list[Scored]]] = {}
    first = _about(samples[0])
    assert first is not None
    for sample in samples:
        about = _about(sample)
        if about is None or about["suite"] != first["suite"]:
            raise RunError(f"{sample.where}: the item is of another suite than those before it")
        try:
            item = item_from_dict(about["item"])
            scored = _scored(sample)
            if isinstance(item, Entail) or (isinstance(item, Translate) and not item.contrast):
                raise ValueError
            choice, place = choice_of(item), int(about["place"])
            order = [int(i) for i in about["order"]]
            if sorted(order) != list(range(len(choice.candidates))) or len(scored) != len(order):
                raise ValueError
            if order[sample.gold] != choice.gold:
                raise ValueError
        except (BoxpenError, ValueError, TypeError):
            raise RunError(
                f"{sample.where}: the `boxpen` field does not fit the item; export the suite again"
            ) from None
        if place in placed:
            raise RunError(f"{sample.where}: item '{item.id}' appears twice")
        placed[place] = item, [scored[order.index(i)] for i in range(len(order))]
    ordered = [placed[place] for place in sorted(placed)]
    said = first["suite"]
    damaged: tuple[type[BaseException], ...] = (BoxpenError, *faults())
    try:
        card = Card(**said["card"] | {"reader_tags": tuple(said["card"].get("reader_tags", ()))})
        drawn = _drawn(len(ordered), int(said["items"]), said.get("sample"))
        suite = Suite(said["name"], tuple(i for i, _ in ordered), card, sample=drawn)
        recipe = _recipe(first["recipe"])
        _policy(asdict(recipe))
        suite.validate()
    except damaged as error:
        why = why_damaged(error)
        raise RunError(f"{samples[0].where}: the `boxpen` field is damaged ({why})") from None
    if len(suite) >= said["items"] and suite.hash != said["hash"]:
        raise RunError(f"{samples[0].where}: the items are not those of suite '{suite.name}'")
    candidates = {item.id: scored for item, scored in ordered}
    return suite, _recipe_info(suite, recipe, candidates, results), candidates


def _drawn(items: int, exported: int, sample: str | None) -> str | None:
    """Return the sample that a log has of a suite: all that was exported, or a part of it."""
    whole = PartInfo.parse(sample).whole if sample else exported
    return sample if items >= exported else str(PartInfo(items, whole))


def _policy(recipe: Mapping[str, Any]) -> ScoringPolicy:
    """Return the policy that a recipe sets, as far as it applies to sums."""
    changes = recipe.get("policy") or {}
    kept = {k: v for k, v in changes.items() if k in ("norm", "ties") and v != "token"}
    return ScoringPolicy().but(**kept)


def _recipe(data: Mapping[str, Any]) -> Recipe:
    known = {k: v for k, v in data.items() if k in Recipe.__dataclass_fields__}
    return Recipe(**known)


def _recipe_info(
    suite: Suite,
    recipe: Recipe,
    candidates: Mapping[str, Sequence[Scored]],
    results: Mapping[str, Any],
) -> RecipeInfo:
    """Describe the recipe; another one if lm-eval changed the prompts (shots, a chat template)."""
    info = RecipeInfo.of(recipe)
    for item in suite:
        read = [(s.prefix, s.text) for s in candidates[item.id]]
        if read != texts_of(item, suite, recipe):
            digest = _digest([recipe.digest, _prompting(results, [])])
            return replace(info, name=f"{recipe.name}+lm-eval", digest=digest)
    return info


def _foreign(
    path: Path, found: Mapping[str, Sequence[Sample]], results: Mapping[str, Any]
) -> tuple[Suite, dict[str, list[Scored]]]:
    """Make a suite of a task, or of the tasks of one group."""
    name = next(iter(found))
    tasks: Sequence[str] = [name]
    if len(found) > 1:
        groups: Mapping[str, Sequence[str]] = results.get("group_subtasks") or {}
        whole = [group for group, tasks in groups.items() if set(tasks) >= set(found)]
        if not whole:
            raise RunError(
                f"{path} has {len(found)} tasks ({', '.join(sorted(found)[:3])}…) that are not "
                "one group; give the samples_*.jsonl of one task"
            )
        name = whole[0]
        tasks = groups[name]
    items: list[Choice] = []
    candidates: dict[str, list[Scored]] = {}
    for task, samples in found.items():
        sets = {"set": task} if len(found) > 1 else {}
        for sample, tags in zip(samples, _tags(samples), strict=True):
            key = f"{task}/{sample.doc_id}" if sets else sample.doc_id
            candidates[key] = _scored(sample)
            contexts = {context for context, _ in sample.pairs}
            one = len(contexts) == 1
            texts = (text if one else context + text for context, text in sample.pairs)
            items.append(
                Choice(
                    id=key,
                    candidates=tuple(texts),
                    gold=sample.gold,
                    context=(contexts.pop() or None) if one else None,
                    tags=sets | tags,
                )
            )
    return Suite(name, tuple(items), sample=_limited(len(items), tasks, results)), candidates


def _limited(items: int, tasks: Sequence[str], results: Mapping[str, Any]) -> str | None:
    """Return the sample that a log has of its tasks: ``--limit`` takes the first items of each."""
    known = results.get("n-samples") or {}
    counts = [known[task]["original"] for task in tasks if task in known]
    whole = sum(map(int, counts)) if len(counts) == len(tasks) else None
    if whole is None and results.get("config", {}).get("limit") is None:
        return None
    return None if whole == items else str(PartInfo(items, whole))


def _tags(samples: Sequence[Sample]) -> list[dict[str, str]]:
    """Return the fields of items by which results can be sliced: short, and few values."""
    values: dict[str, list[str]] = {}
    for sample in samples:
        for key, value in sample.doc.items():
            if isinstance(value, str | int) and str(value).strip():
                values.setdefault(key, []).append(str(value))
    names = [
        key
        for key, found in values.items()
        if max(map(len, found)) <= _LONGEST_VALUE
        and len(set(found)) <= min(_MOST_VALUES, max(1, len(found) // 2))
    ]
    return [
        {k: str(s.doc[k]) for k in names if s.doc.get(k) is not None and str(s.doc[k]).strip()}
        for s in samples
    ]


def _scored(sample: Sample) -> list[Scored]:
    free = sample.unconditional or [None] * len(sample.pairs)
    return [
        Scored(text, _record(total), None if bare is None else _record(bare), prefix)
        for (prefix, text), total, bare in zip(sample.pairs, sample.totals, free, strict=True)
    ]


def _record(total: float) -> Record:
    return Record(np.array([WHOLE], dtype=np.int32), np.array([total], dtype=np.float32))


def _model(results: Mapping[str, Any], path: Path) -> ModelInfo:
    """Describe the model as far as the results do; without them, by the folder's name."""
    config = results.get("config", {})
    called = str(results.get("model_name") or path.resolve().parent.name)
    args = str(_model_args(results))
    if file := re.search(r"\bgguf_file['\"]?\s*[=:](?!\s*None\b)\s*['\"]?([^,'\"}]+)", args):
        called = f"{called.rstrip('/')}/{file[1].strip()}"
    name = printable(called)[-120:]
    known = [name, args]
    known += [str(config.get(key, "")) for key in ("model_sha", "model_dtype")]
    return ModelInfo(
        name=name,
        short=re.split(r"[/\\]", name.rstrip("/\\"))[-1] or name,
        kind="causal",
        fingerprint=hashlib.sha256(json.dumps(known).encode()).hexdigest(),
        dtype=str(config.get("model_dtype") or "unknown").removeprefix("torch."),
        access=f"lm-eval {results.get('lm_eval_version', 'of unknown version')}",
    )


def _model_args(results: Mapping[str, Any]) -> Any:
    """Return the arguments of the model, which may have the keys of its user, without those."""
    return _masked(results.get("config", {}).get("model_args", ""))


def _masked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: "***" if _SECRET.search(str(k)) else _masked(v) for k, v in value.items()}
    if not isinstance(value, str):
        return value
    parts = [part.partition("=") for part in _LOGIN.sub("//***@", value).split(",")]
    return ",".join(
        f"{name}{sign}{'***' if sign and _SECRET.search(name.strip()) else rest}"
        for name, sign, rest in parts
    )


def _resolved(
    results: Mapping[str, Any], candidates: Mapping[str, Sequence[Scored]]
) -> dict[str, object]:
    """Return what is known of special tokens and of the longest text.

    lm-eval puts BOS before a text without context (EOS if there is none), and before a context
    what the tokenizer adds by itself or ``add_bos_token`` makes it add.
    """
    found: dict[str, object] = {"eos": False}
    contexts = any(s.prefix for some in candidates.values() for s in some)
    args = str(results.get("config", {}).get("model_args", ""))
    told = re.search(r"add_bos_token['\"]?\s*[=:]\s*(True|true)", args)
    if results.get("tokenizer_bos_token", "unknown") is None:
        found["bos"] = "eos"
    elif told or not contexts:
        found["bos"] = True
    else:
        found["bos"] = "tokenizer"
    if isinstance(longest := results.get("max_length"), int):
        found["max_length"] = longest
    return found


def _prompting(results: Mapping[str, Any], tasks: Sequence[str]) -> list[object]:
    """Return what changes the prompts of a task, as far as the results say it."""
    shots, versions = results.get("n-shot") or {}, results.get("versions") or {}
    parts = [results.get(k) for k in ("chat_template_sha", "system_instruction_sha")]
    return [*parts, *([t, shots.get(t), versions.get(t)] for t in sorted(tasks))]


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:6]


def _seconds(results: Mapping[str, Any]) -> float:
    try:
        return round(float(results.get("total_evaluation_time_seconds") or 0), 3)
    except (TypeError, ValueError):
        return 0.0
