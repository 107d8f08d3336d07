"""The run directory: written whole or not at all, and read back.

``run.json`` holds everything needed to repeat the run and checksums of the other files, so that a
changed byte is found; ``records.parquet`` every scored token,
``verdicts.parquet`` every decision, ``translations.parquet`` the translations of a translation
model, ``tokens.json`` the texts of tokens, ``answers.parquet`` the answers of a model that was
asked, ``readings.parquet`` what the reading judge made of translations. The directory is written
under a temporary name and renamed last. A run of human answers has verdicts but no records; one of
an inference classifier has one record per item, with a log-probability for every label.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from boxpen.errors import PolicyError, RunError
from boxpen.failures import reason, refusals
from boxpen.files import new_folder, temporary
from boxpen.items import LABELS
from boxpen.runs.info import FORMAT, RunInfo
from boxpen.runs.logs import log_of
from boxpen.runs.tables import (
    RunContent,
    parquet,
    read_answers,
    read_candidates,
    read_readings,
    read_translations,
    read_verdicts,
    run_frame,
)
from boxpen.scoring.ask import Answer
from boxpen.scoring.reading import Reading
from boxpen.scoring.verdicts import Scored, Verdict

__all__ = [
    "check_content",
    "check_writable",
    "faults",
    "read_run",
    "run_directories",
    "why_damaged",
    "write_run",
]

# Results of lm-eval, alone or by model, and the datastore of Every Eval Ever. lm-eval names the
# folder of the model ../name "..__name", so folders may begin with a dot.
_CHECKSUMS = "checksums"
_LOGS = ("*.json", "*/*.json", "data/*/*/*/*.json")


def write_run(run: RunContent, target: Path) -> None:
    """Write a run directory.

    Raises:
        RunError: If it cannot be written; then nothing is left behind.
    """
    with new_folder(target, RunError) as folder:
        for name, content in _files(run).items():
            (folder / name).write_bytes(content)


def _files(run: RunContent) -> dict[str, bytes]:
    """Return the content of all files, so that writing can only fail for system reasons."""
    tokens = {str(i): text for i, text in run.tokens.items()}
    tables = ["verdicts", "records", "translations"]
    if run.info.asked:
        tables.append("answers")
    if run.info.generated:
        tables.append("readings")
    files = {
        "tokens.json": (json.dumps(tokens, ensure_ascii=False) + "\n").encode(),
        **{f"{table}.parquet": parquet(run_frame(run, table)) for table in tables},
    }
    sums = {name: _checksum(content) for name, content in files.items()}
    about = run.info.to_json() | {_CHECKSUMS: sums}
    info = json.dumps(about, ensure_ascii=False, indent=1, default=str)
    # Bytes of a file name that are not UTF-8 become escapes of JSON.
    return {"run.json": f"{info}\n".encode("utf-8", "backslashreplace"), **files}


def _checksum(content: bytes) -> str:
    return f"{zlib.crc32(content):08x}"


def _check_sums(path: Path, sums: object) -> None:
    """Raise if a file is not as it was written; runs of earlier versions have no checksums."""
    if not isinstance(sums, dict):
        raise TypeError(f"{_CHECKSUMS} is not an object")
    for name, wanted in sums.items():
        with _blamed(path, name):
            if not (path / name).is_file():
                raise FileNotFoundError("there is no such file")
            if "/" in name or _checksum((path / name).read_bytes()) != wanted:
                raise ValueError("it does not match its checksum in run.json")


def read_run(path: Path) -> RunContent:
    """Read a run directory.

    Raises:
        RunError: If it is not one, or a file of it is damaged; the message names the file.
    """
    if not (path / "run.json").is_file():
        logs = _logs_in(path)
        instead = f"; load the log {logs[0]}" if logs else ""
        raise RunError(f"{path} is not a run directory: it has no run.json{instead}")
    with _blamed(path, "run.json"):
        data = json.loads((path / "run.json").read_text("utf-8"))
        if not isinstance(data, dict):
            raise TypeError("expected an object")
        if data["format"] != FORMAT:
            raise RunError(
                f"{path} is a run of format {data['format']!r}, this boxpen reads {FORMAT}"
            )
        sums = data.pop(_CHECKSUMS, {})
        info = RunInfo.from_json(data)
        # Before Polars reads a table: some damage makes it end the process.
        _check_sums(path, sums)
    with _blamed(path, "verdicts.parquet"):
        verdicts = read_verdicts(path / "verdicts.parquet")
        _check_verdicts(verdicts)
    with _blamed(path, "records.parquet"):
        candidates = read_candidates(path / "records.parquet")
        _check_records(info, verdicts, candidates)
    if info.model.kind == "nli":
        with _blamed(path, "run.json"):
            _check_setting(info)
        with _blamed(path, "records.parquet"):
            _check_labels(info, verdicts, candidates)
    with _blamed(path, "translations.parquet"):
        translations = read_translations(path / "translations.parquet")
    with _blamed(path, "tokens.json"):
        tokens = _tokens(path / "tokens.json")
    with _blamed(path, "answers.parquet"):
        answers = read_answers(path / "answers.parquet")
        _check_answers(info, verdicts, answers)
    with _blamed(path, "readings.parquet"):
        readings = read_readings(path / "readings.parquet")
        _check_readings(info, verdicts, readings)
    return RunContent(info, verdicts, candidates, translations, tokens, answers, readings)


def _tokens(path: Path) -> dict[int, str]:
    """Read the texts of tokens; runs of earlier versions lack them."""
    if not path.is_file():
        return {}
    tokens = {int(i): text for i, text in json.loads(path.read_text("utf-8")).items()}
    if not all(isinstance(text, str) for text in tokens.values()):
        raise TypeError("tokens must be strings")
    return tokens


@contextlib.contextmanager
def _blamed(path: Path, name: str) -> Iterator[None]:
    """Name the file of a run directory in errors that the body raises."""
    try:
        yield
    except faults() as error:
        why = why_damaged(error)
        raise RunError(f"{path} is not a whole run directory ({name}: {why})") from None


def why_damaged(error: BaseException) -> str:
    """Return why a file cannot be part of a run, in a few words."""
    if isinstance(error, RecursionError):
        return "it is too deep"
    return f"it has no {error}" if isinstance(error, KeyError) else reason(error)


def faults() -> tuple[type[BaseException], ...]:
    """Return what reading damaged tables and objects of a run may raise."""
    bad = (ValueError, KeyError, TypeError, AttributeError, RecursionError, PolicyError)
    return (*bad, *refusals())


def check_content(run: RunContent) -> None:
    """Raise one of ``faults`` if the parts of a run do not match."""
    _check_verdicts(run.verdicts)
    _check_records(run.info, run.verdicts, run.candidates)
    if run.info.model.kind == "nli":
        _check_setting(run.info)
        _check_labels(run.info, run.verdicts, run.candidates)
    _check_answers(run.info, run.verdicts, run.answers)
    _check_readings(run.info, run.verdicts, run.readings)


def _check_verdicts(verdicts: Sequence[Verdict]) -> None:
    seen: set[str] = set()
    for v in verdicts:
        if v.id in seen:
            raise ValueError(f"item '{v.id}' has two verdicts")
        seen.add(v.id)
        places = range(len(v.scores))
        known = v.gold in places and v.winner in places and set(v.also) <= set(LABELS)
        if not (known and v.tied > 0 and 0 <= v.credit <= 1):
            raise ValueError(f"the verdict of item '{v.id}' is impossible")


def _check_records(
    info: RunInfo, verdicts: Sequence[Verdict], candidates: Mapping[str, Sequence[Scored]]
) -> None:
    """Raise if records and verdicts do not match."""
    fixed = {"human": 0, "nli": 1}.get(info.model.kind)
    for verdict in verdicts:
        found = len(candidates.get(verdict.id, ()))
        expected = len(verdict.scores) if fixed is None else fixed
        if found != expected:
            raise ValueError(f"item '{verdict.id}' has {found} records, expected {expected}")
    extra = set(candidates) - {v.id for v in verdicts}
    if extra:
        raise ValueError(f"item '{min(extra)}' has records but no verdict")


def _check_answers(info: RunInfo, verdicts: Sequence[Verdict], answers: Sequence[Answer]) -> None:
    """Raise if the answers are not those that the verdicts were made of."""
    of: dict[str, list[int | None]] = {}
    for answer in answers:
        of.setdefault(answer.item, []).append(answer.chosen)
    if of.keys() != ({v.id for v in verdicts} if info.asked else set()):
        raise ValueError("it does not have the answers of every item")
    for v in verdicts if info.asked else ():
        chosen = of[v.id]
        if [chosen.count(c) / len(chosen) for c in range(len(v.scores))] != list(v.scores):
            raise ValueError(f"the answers of item '{v.id}' are not those of its verdict")


def _check_readings(
    info: RunInfo, verdicts: Sequence[Verdict], readings: Sequence[Reading]
) -> None:
    """Raise if the readings are not those that the verdicts were made of."""
    decided = {r.id: (r.chosen, r.gold, r.scores) for r in readings if r.chosen is not None}
    if decided.keys() != ({v.id for v in verdicts} if info.generated else set()):
        raise ValueError("it does not have the readings of every item")
    for v in verdicts if info.generated else ():
        if decided[v.id] != (v.winner, v.gold, v.scores):
            raise ValueError(f"the reading of item '{v.id}' is not that of its verdict")


def _check_setting(info: RunInfo) -> None:
    """Raise if an inference classifier lacks the labels of its setting."""
    if info.model.labels is None:
        raise KeyError("labels")
    if not set(info.competing()) <= set(info.label_numbers):
        raise ValueError(f"it has the labels {', '.join(info.model.labels)}")


def _check_labels(
    info: RunInfo, verdicts: Sequence[Verdict], candidates: Mapping[str, Sequence[Scored]]
) -> None:
    """Raise if the labels of an inference classifier are not those of its records."""
    numbers, competing = info.label_numbers, info.competing()
    for v in verdicts:
        record = candidates[v.id][0].record
        if record.token_ids.tolist() != numbers or len(v.scores) != len(competing):
            raise ValueError(f"item '{v.id}' has other labels than the model")


def run_directories(paths: Sequence[Path]) -> list[Path]:
    """Return the runs among paths, each of which is one, a log, or a folder of runs or of logs.

    A journal of judgements is stored beside the runs, and a shell pattern such as
    ``runs/discourse-*`` matches it too: it is skipped, unless there is nothing else.

    Raises:
        RunError: If a path is neither.
    """
    found: dict[Path, None] = {}
    for path in [p for p in paths if not _is_journal(p)] or paths:
        if (path / "run.json").is_file() or (path.is_file() and log_of(path)):
            found[path] = None
            continue
        # Runs still being written are in folders whose names begin with a dot.
        inside = sorted(p.parent for p in path.glob("[!.]*/run.json")) or _logs_in(path)
        if not inside:
            raise RunError(
                f"{path} is not a run directory or a log: neither it nor a folder in it has a "
                "run.json or the results of another tool"
            )
        found |= dict.fromkeys(inside)
    return list(found)


def _logs_in(folder: Path) -> list[Path]:
    """Return the results of other tools in a folder, in and in the folders of models in it."""
    found = {path for where in _LOGS for path in folder.glob(where)}
    return sorted(path for path in found if path.is_file() and log_of(path))


def _is_journal(path: Path) -> bool:
    return path.name.endswith(("-judgements.jsonl", "-errors.jsonl")) and path.is_file()


def check_writable(parent: Path) -> None:
    """Fail early, before hours of work, if run directories cannot be written.

    Raises:
        RunError: If it cannot be made or written to.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        probe = temporary(parent / "writable")  # which goes at a later start, if this one is killed
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise RunError(f"cannot write run directories in {parent}: {error.strerror}") from None
