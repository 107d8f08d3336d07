"""Runs as records of Every Eval Ever 0.3.0: one file of results and one of instances per run.

They are laid out as its datastore has them, ``data/<suite>/<developer>/<model>/<uuid>.json`` with
``<uuid>_samples.jsonl`` beside it. What its fields do not hold is kept in those for additional
details, so that ``exchange.every_eval_logs`` restores the run.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from boxpen.exchange.every_eval_samples import RESULT_OF, sample_rows
from boxpen.exchange.hub_dataset import config_of, dataset_id
from boxpen.metrics.summary import OF_BLOCKS, Row, too_few_blocks
from boxpen.models.loading.presets import PRESETS
from boxpen.runs.info import ModelInfo, RunInfo
from boxpen.runs.run import Run
from boxpen.scoring.reading import ReadingRule

__all__ = ["RUN", "TOKENS", "VERSION", "write_runs"]

VERSION = "0.3.0"
RUN = "boxpen_run"
"""The additional detail of ``eval_library`` that holds ``run.json``."""
TOKENS = "boxpen_tokens"
"""The additional detail of ``detailed_evaluation_results`` that holds ``tokens.json``."""

_LOWER_IS_BETTER = frozenset(("failure_rate", "both_wrong", "flip_rate"))
_CHANCE = {"accuracy": "chance", "macro_accuracy": "macro_chance"}
_RESAMPLES = 1000  # of BLEU's interval
_DESCRIPTIONS = {
    "accuracy": "Mean credit of items; a tie of k candidates earns 1/k.",
    "failure_rate": "One minus the accuracy.",
    "margin": "Mean score of the right candidate minus that of the best wrong one.",
    "consistency": "Share of blocks whose items are all right or all wrong.",
    "both_right": "Share of blocks whose items are all right.",
    "both_wrong": "Share of blocks whose items are all wrong.",
    "flip_rate": "Share of blocks with items that are right and items that are wrong.",
    "macro_accuracy": "Mean of the accuracies of parts or sets.",
    "every_order": "Share of items that are right in every order of their options.",
    "bleu": "Corpus BLEU by sacreBLEU.",
}


def write_runs(runs: Sequence[Run], folder: Path) -> None:
    """Write every run; two that are the same make one record."""
    for run in runs:
        model = model_info(run.info.model, sha=str(run.info.engine.get("model_sha") or ""))
        rows = list(sample_rows(run))
        key = _uuid(run, rows)
        suite = run.info.suite.name
        shared = {
            "schema_version": VERSION,
            "evaluation_id": f"{suite}/{model['id']}/{key}",
            "model_id": model["id"],
            "evaluation_name": suite,
        }
        samples = b"".join(_json({**shared, **row}) + b"\n" for row in rows)
        names = (suite, *model["id"].split("/", 1))
        place = "/".join(("data", *map(config_of, names)))
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / f"{key}_samples.jsonl").write_bytes(samples)
        record = {
            "schema_version": VERSION,
            "evaluation_id": shared["evaluation_id"],
            "retrieved_timestamp": str(int(time.time())),
            "source_metadata": {
                "source_name": "boxpen",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": _library(run.info),
            "model_info": model,
            "evaluation_results": [_result(run, row) for row in _reported(run)],
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": f"{place}/{key}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256(samples).hexdigest(),
                "total_rows": len(rows),
                "additional_details": {TOKENS: _text(run.tokens)},
            },
        }
        (folder / place / f"{key}.json").write_bytes(_json(record, indent=1) + b"\n")


def model_info(model: ModelInfo, *, sha: str = "") -> dict[str, Any]:
    """Describe a model; who may deploy it and how is told only where it is certain.

    Args:
        model: The model.
        sha: Its commit on the Hub, if a log of lm-eval has one: it has none for a local folder.
    """
    logged = _of_lm_eval(model)
    preset = PRESETS.get(model.name) if sha or not logged else None
    spec = f"hf:{model.name}" if logged and sha else model.name
    scheme, _, rest = (preset.spec if preset else spec).partition(":")
    local = model.access is None and model.kind != "human"
    if scheme == "hf" and rest.count("/") == 1 and not rest.startswith((".", "/", "~")):
        name = rest
    elif scheme == "openai":
        name = f"openai/{model.short}"
    else:
        name = f"{'human' if model.kind == 'human' else 'unknown'}/{model.short}"
    details = {"kind": model.kind, "fingerprint": model.fingerprint, "dtype": model.dtype}
    more = {"access": model.access, "batch": model.batch, "remark": model.remark}
    return {
        "name": model.name,
        "id": name,
        "developer": name.partition("/")[0],
        "additional_details": {
            "deployment_type": "self_deployed" if local else "unknown",
            "model_availability": "open_weights" if preset and scheme == "hf" else "unknown",
            **details,
            **{key: value for key, value in more.items() if value},
        },
    }


def _uuid(run: Run, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a UUID of version 4, as the datastore wants it, that is the same for the same run."""
    digest = hashlib.sha256(_json([run.info.to_json(), rows])).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _library(info: RunInfo) -> dict[str, Any]:
    """Return what ran the model: boxpen, or lm-eval if the run was read from its log."""
    name, version = "boxpen", info.boxpen
    if _of_lm_eval(info.model):
        name, version = "lm_eval", (info.model.access or "").removeprefix("lm-eval ")
    details = {"signature": info.signature, RUN: _text(info.to_json())}
    return {"name": name, "version": version, "additional_details": details}


def _of_lm_eval(model: ModelInfo) -> bool:
    return (model.access or "").startswith("lm-eval ")


def _reported(run: Run) -> Iterator[Row]:
    """Yield the numbers that can be reported; the chance level is a parameter of others."""
    for row in run.summary():
        shown = row.metric not in _CHANCE.values() and not too_few_blocks(row.metric, row.n)
        if shown and math.isfinite(row.value):
            yield row


def _result(run: Run, row: Row) -> dict[str, Any]:
    whole = row.slice == "all"
    uncertainty: dict[str, Any] = {"num_samples": row.n}
    if math.isfinite(row.low) and math.isfinite(row.high):  # one item has no interval
        uncertainty["confidence_interval"] = {
            "lower": row.low,
            "upper": row.high,
            "confidence_level": 0.95,
            "method": _interval(row.metric),
        }
    if row.metric == "bleu":
        uncertainty["num_bootstrap_samples"] = _RESAMPLES
    counts = {"ties": row.ties, "truncated": row.truncated}
    return {
        "evaluation_result_id": RESULT_OF.format(slice=row.slice, metric=row.metric),
        "evaluation_name": row.suite if whole else f"{row.suite}/{row.slice}",
        "source_data": _source(run.info),
        "metric_config": _metric(run, row),
        "score_details": {
            "score": row.value,
            "details": {
                "slice": row.slice,
                "n": str(row.n),
                **{name: str(count) for name, count in counts.items()},
                "signature": row.signature,
            },
            "uncertainty": uncertainty,
        },
        "generation_config": _generation(run.info),
    }


def _metric(run: Run, row: Row) -> dict[str, Any]:
    bounds: tuple[float | str, float | str] = (0, 1)
    unit = "proportion"
    if row.metric == "bleu":
        bounds, unit = (0, 100), "points"
    elif row.metric == "margin" and not (run.human or run.info.asked):
        bounds, unit = ("-Infinity", "Infinity"), _unit(run.info)
    elif row.metric == "margin":
        bounds = (-1, 1)
    sample = f"S{run.sample_note[1:]}, not the whole suite. " if run.sample_note else ""
    of_boxpen = row.metric not in ("accuracy", "bleu", "macro_accuracy")
    found: dict[str, Any] = {
        "evaluation_description": sample + _DESCRIPTIONS[row.metric],
        "metric_id": f"boxpen.{row.metric}" if of_boxpen else row.metric,
        "metric_name": "BLEU" if row.metric == "bleu" else row.metric.replace("_", " "),
        "metric_kind": row.metric,
        "metric_unit": unit,
        "lower_is_better": row.metric in _LOWER_IS_BETTER,
        "score_type": "continuous",
        "min_score": bounds[0],
        "max_score": bounds[1],
    }
    if row.metric in _CHANCE:
        same = (r for r in run.summary() if r.slice == row.slice)
        found["metric_parameters"] = {
            "chance": next(r.value for r in same if r.metric == _CHANCE[row.metric])
        }
    judge = run.info.judge
    if judge and row.metric != "bleu":
        found["additional_details"] = {"judge": str(judge)}
        if judge.fingerprint:
            found["llm_scoring"] = _judged(run.info)
    return found


def _judged(info: RunInfo) -> dict[str, Any]:
    """Describe the model that read free translations."""
    judge, rule = info.judge, ReadingRule()
    assert judge is not None
    frame = rule.frame if rule.digest == judge.rule else f" [rule {judge.rule}]"
    model = ModelInfo(
        name=judge.name, short=judge.short, kind="causal", fingerprint=judge.fingerprint,
        dtype="unknown",
    )  # fmt: skip
    return {
        "judges": [{"model_info": model_info(model)}],
        "input_prompt": f"{{candidate}}{frame} {{translation}}",
        "additional_details": {
            "rule": judge.rule,
            "threshold": str(judge.threshold),
            "decided_by_words": str(judge.words),
            "other_direction": f"{{translation}}{frame} {{candidate}}",
        },
    }


def _unit(info: RunInfo) -> str:
    if info.generated:
        return "nats"
    if info.model.kind == "choice":
        return "logits"
    norm = info.policy.norm
    return "nats" if info.model.kind == "nli" or norm in ("sum", "pmi") else f"nats per {norm}"


def _interval(metric: str) -> str:
    if metric == "bleu":
        return "bootstrap"
    if metric == "margin":
        return "t interval of clusters"
    if metric == "macro_accuracy":
        return "normal approximation from Wilson score intervals"
    return "Wilson score" if metric in OF_BLOCKS else "Wilson score with a design effect for blocks"


def _source(info: RunInfo) -> dict[str, Any]:
    suite = info.suite
    facts = {
        "hash": suite.hash, "version": suite.version, "title": suite.title,
        "licence": suite.licence, "citation": suite.citation, "language": suite.language,
        "source_language": suite.source_language, "items": str(suite.items),
        "sample": str(suite.sample) if suite.sample else None,
    }  # fmt: skip
    found: dict[str, Any] = {"dataset_name": suite.name}
    if home := dataset_id(suite.url):
        whole = suite.sample.whole if suite.sample else suite.items
        found |= {"source_type": "hf_dataset", "hf_repo": home}
        found |= {"samples_number": whole} if whole is not None else {}
    elif suite.url:
        found |= {"source_type": "url", "url": [suite.url]}
    else:
        found |= {"source_type": "other"}
    return {**found, "additional_details": {key: value for key, value in facts.items() if value}}


def _generation(info: RunInfo) -> dict[str, Any]:
    prompt = info.recipe.more.get("prompt")
    args = {"prompt_template": prompt} if isinstance(prompt, str) and prompt else {}
    details = {"recipe": f"{info.recipe.name}@{info.recipe.digest}"}
    if not info.human:
        details["policy"] = _text({**asdict(info.policy), **info.resolved_policy})
    return {"generation_args": args, "additional_details": details}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _json(value: Any, indent: int | None = None) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    # Bytes of a file name that are not UTF-8 become escapes of JSON.
    return text.encode("utf-8", "backslashreplace")
