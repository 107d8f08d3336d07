"""Records of Every Eval Ever that boxpen wrote, read back as runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from boxpen.errors import RunError
from boxpen.exchange.every_eval import RUN, TOKENS
from boxpen.exchange.every_eval_samples import CONTENT, TABLES
from boxpen.failures import reason
from boxpen.runs.directory import check_content, faults, why_damaged
from boxpen.runs.info import FORMAT, RunInfo
from boxpen.runs.logs import Log
from boxpen.runs.tables import (
    RunContent,
    read_answers,
    read_candidates,
    read_readings,
    read_translations,
    read_verdicts,
)

__all__ = ["LOG"]

_SAMPLES = "_samples.jsonl"


def _recognises(path: Path, start: bytes) -> bool:
    if re.match(rb"\s*\{", start) is None or b'"schema_version"' not in start:
        return False
    wanted = {".json": b'"evaluation_id"', ".jsonl": b'"sample_id"'}.get(path.suffix)
    return wanted is not None and wanted in start


def _read(path: Path) -> RunContent:
    if path.name.endswith(_SAMPLES):
        path = path.with_name(path.name.removesuffix(_SAMPLES) + ".json")
    record = _record(path)
    samples = path.with_name(path.stem + _SAMPLES)
    rows = _instances(samples, record)
    try:
        info = json.loads(record["eval_library"]["additional_details"][RUN])
        if info["format"] != FORMAT:
            raise ValueError(f"a run of format {info['format']!r}, this boxpen reads {FORMAT}")
        details = record["detailed_evaluation_results"]["additional_details"]
        content = RunContent(
            info=RunInfo.from_json(info),
            verdicts=read_verdicts(rows["verdicts"]),
            candidates=read_candidates(rows["records"]),
            translations=read_translations(rows["translations"]),
            tokens={int(i): str(text) for i, text in json.loads(details[TOKENS]).items()},
            answers=read_answers(rows["answers"]),
            readings=read_readings(rows["readings"]),
        )
        check_content(content)
    except faults() as error:
        raise RunError(f"{path} is damaged: {why_damaged(error)}; export the run again") from None
    return content


LOG = Log("eee", _recognises, _read)


def _record(path: Path) -> dict[str, Any]:
    """Read the file of results, and refuse those of other tools: they have no scores."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(f"{path} does not exist, expected the results of the samples") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {reason(error)}") from None
    library = record.get("eval_library") if isinstance(record, dict) else None
    details = library.get("additional_details") if isinstance(library, dict) else None
    if not isinstance(details, dict) or not isinstance(details.get(RUN), str):
        name = library.get("name") if isinstance(library, dict) else None
        raise RunError(
            f"{path} has results of {name or 'another tool'} without the scores of candidates; "
            "boxpen reads the records that it wrote (boxpen report RUN --to eee FOLDER)"
        )
    found: dict[str, Any] = record
    return found


def _instances(path: Path, record: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every table, from the file of samples that belongs to a record."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RunError(f"{path} does not exist; keep it beside the results") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {reason(error)}") from None
    told = record.get("detailed_evaluation_results")
    if not isinstance(told, dict) or hashlib.sha256(content).hexdigest() != told.get("checksum"):
        raise RunError(f"{path} is not the file that its results name; export the run again")
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    for number, line in enumerate(content.splitlines(), 1):
        try:
            sample = json.loads(line)
            if sample["evaluation_id"] != record["evaluation_id"]:
                raise ValueError("it is of another evaluation")
            for table, some in json.loads(sample["metadata"][CONTENT]).items():
                rows[table] += some
        except faults() as error:
            raise RunError(f"{path}, line {number}: damaged ({why_damaged(error)})") from None
    return rows
