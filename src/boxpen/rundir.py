"""The run directory: written whole or not at all, and read back.

``run.json`` holds everything needed to repeat the run, ``records.parquet`` every scored token,
``verdicts.parquet`` every decision, ``translations.parquet`` what a translation model made of the
sources, ``tokens.json`` what tokens look like. The directory is written under a temporary name and
renamed last. A run of human answers has verdicts but no records; one of an inference classifier
has one record an item, with a log-probability for every label.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import PolicyError, RunError
from boxpen.metrics.summary import Translation
from boxpen.scoring.labels import NAMES, offered
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, Verdict

if TYPE_CHECKING:
    from boxpen.runs import Run

__all__ = ["FORMAT", "check_writable", "read_run", "run_directories", "write_run"]

FORMAT = 1


def write_run(run: Run, parent: Path) -> Path:
    """Write a run directory under ``parent`` and return it.

    Raises:
        RunError: If it cannot be written; then nothing is left behind.
    """
    target = parent / run.name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing.", dir=parent) as folder:
            whole, old = Path(folder) / "new", Path(folder) / "old"
            whole.mkdir()
            _write_files(run, whole)
            if target.exists():
                # The same signature: the same run. The old one gives way only now.
                target.rename(old)
            try:
                whole.rename(target)
            except OSError:
                if target.exists():  # another process has just written the same run
                    return target
                if old.exists():
                    old.rename(target)
                raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(f"cannot write the run directory {target}: {reason}") from None
    return target


def read_run(
    path: Path,
) -> tuple[
    dict[str, Any],
    tuple[Verdict, ...],
    dict[str, list[Scored]],
    tuple[Translation, ...],
    dict[int, str],
]:
    """Read a run directory: what ``run.json`` says, verdicts, candidates, translations, tokens.

    Raises:
        RunError: If it is not one, or a file of it is damaged; the message names the file.
    """
    if not (path / "run.json").is_file():
        raise RunError(f"{path} is not a run directory: it has no run.json")
    with _blamed(path, "run.json"):
        about = json.loads((path / "run.json").read_text("utf-8"))
        if about["format"] != FORMAT:
            raise RunError(
                f"{path} is a run of format {about['format']}, this boxpen reads {FORMAT}"
            )
        _check_about(about)
    with _blamed(path, "verdicts.parquet"):
        verdicts = tuple(
            Verdict(**{**row, "scores": tuple(row["scores"]), "tags": json.loads(row["tags"])})
            for row in _rows(path / "verdicts.parquet")
        )
        _check_verdicts(verdicts)
    with _blamed(path, "records.parquet"):
        candidates = _candidates(_rows(path / "records.parquet"))
        _check_records(about, verdicts, candidates)
    if about["model"]["kind"] == "nli":
        with _blamed(path, "run.json"):
            numbers = _label_numbers(about)
        with _blamed(path, "records.parquet"):
            _check_labels(about, numbers, verdicts, candidates)
    with _blamed(path, "translations.parquet"):
        translations = tuple(
            Translation(**{**row, "tags": json.loads(row["tags"])})
            for row in _rows(path / "translations.parquet")
        )
    with _blamed(path, "tokens.json"):
        tokens = _tokens(path / "tokens.json")
    return about, verdicts, candidates, translations, tokens


def run_directories(paths: Sequence[Path]) -> list[Path]:
    """Return the run directories among paths, each of which is one or a folder of some.

    A journal of judgements stands beside the runs, and a pattern of the shell such as
    ``runs/discourse-*`` finds it too: it is passed over, unless there is nothing else.

    Raises:
        RunError: If a path is neither.
    """
    found: dict[Path, None] = {}
    for path in [p for p in paths if not _is_journal(p)] or paths:
        if (path / "run.json").is_file():
            found[path] = None
            continue
        # What is still being written stands in a folder whose name begins with a dot.
        inside = sorted(p.parent for p in path.glob("[!.]*/run.json"))
        if not inside:
            raise RunError(
                f"{path} is not a run directory: it has no run.json, "
                "nor does it hold folders that have one"
            )
        found |= dict.fromkeys(inside)
    return list(found)


def _is_journal(path: Path) -> bool:
    return path.name.endswith(("-judgements.jsonl", "-errors.jsonl")) and path.is_file()


def check_writable(parent: Path) -> None:
    """Refuse a place where no run directory can be written, before hours of work.

    Raises:
        RunError: If it cannot be made or written to.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writable.", dir=parent):
            pass
    except OSError as error:
        raise RunError(f"cannot write run directories in {parent}: {error.strerror}") from None


@contextlib.contextmanager
def _blamed(path: Path, name: str) -> Iterator[None]:
    """Say of which file of a run directory the body speaks, when it finds a fault."""
    import polars as pl

    try:
        yield
    except (
        *(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError),
        *(PolicyError, pl.exceptions.PolarsError),
    ) as error:
        if isinstance(error, RecursionError):
            reason = "it is too deep"
        elif isinstance(error, KeyError):
            reason = f"it has no {error}"
        else:
            reason = getattr(error, "strerror", None) or str(error).strip().split("\n")[0]
        raise RunError(f"{path} is not a whole run directory ({name}: {reason})") from None


def _rows(path: Path) -> list[dict[str, Any]]:
    import polars as pl

    if not path.is_file():  # of which Polars says several things
        raise FileNotFoundError("there is no such file")
    return pl.read_parquet(path, glob=False).to_dicts()


def _check_about(about: Mapping[str, Any]) -> None:
    """Raise if ``run.json`` lacks what reports and re-scoring read."""
    texts = (
        *(about["suite"][key] for key in ("name", "hash")),
        about["suite"].get("file", ""),
        *(about["model"][key] for key in ("name", "short", "kind", "fingerprint", "dtype")),
        about["model"].get("remark", ""),
        *(about["recipe"][key] for key in ("name", "digest")),
        about["signature"],
    )
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"it has {text!r} where a text should be")
        text.encode()
    if not re.fullmatch(r"\d+/\d+@\d+", about["suite"].get("sample", "1/1@0")):
        raise ValueError(f"it has the sample {about['suite']['sample']!r}")
    for number in (
        about["suite"]["items"],
        about["beam"],
        about["unread_contexts"],
        about.get("unread_sources", 0),  # earlier versions did not count them
    ):
        if not isinstance(number, int):
            raise TypeError(f"it has {number!r} where a number should be")
    if not isinstance(about.get("engine", {}), dict):
        raise TypeError("it has an engine that is no object")
    ScoringPolicy(**about["policy"])
    dict(about["settled"])
    if not all(isinstance(n, str) for names in about["parts_left_out"].values() for n in names):
        raise TypeError("it has parts left out that are no texts")
    if not all(isinstance(ids, list) for ids in about["left_out"].values()):
        raise TypeError("it has items left out that are no list")
    if not all(isinstance(finding["rule"], str) for finding in about["findings"]):
        raise TypeError("it has a finding without a rule")
    if about["model"]["kind"] == "human":
        _check_human(about["human"])


def _check_records(
    about: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    candidates: Mapping[str, Sequence[Scored]],
) -> None:
    """Raise if there are other records than verdicts speak of."""
    fixed = {"human": 0, "nli": 1}.get(about["model"]["kind"])
    for verdict in verdicts:
        found = len(candidates.get(verdict.id, ()))
        expected = len(verdict.scores) if fixed is None else fixed
        if found != expected:
            raise ValueError(f"item '{verdict.id}' has {found} records, expected {expected}")
    extra = set(candidates) - {v.id for v in verdicts}
    if extra:
        raise ValueError(f"item '{min(extra)}' has records but no verdict")


def _label_numbers(about: Mapping[str, Any]) -> list[int]:
    """Return the labels of an inference classifier by number; raise if some are missing."""
    numbers = [NAMES.index(name) for name in about["model"]["labels"]]
    if not set(offered(numbers, ScoringPolicy(**about["policy"]).nli)) <= set(numbers):
        raise ValueError(f"it has the labels {', '.join(about['model']['labels'])}")
    return numbers


def _check_labels(
    about: Mapping[str, Any],
    numbers: Sequence[int],
    verdicts: Sequence[Verdict],
    candidates: Mapping[str, Sequence[Scored]],
) -> None:
    """Raise if the labels of an inference classifier are not those of its records."""
    competing = offered(numbers, ScoringPolicy(**about["policy"]).nli)
    for v in verdicts:
        record = candidates[v.id][0].record
        if record.token_ids.tolist() != list(numbers) or len(v.scores) != len(competing):
            raise ValueError(f"item '{v.id}' has other labels than the model")


def _check_human(human: Mapping[str, Any]) -> None:
    """Raise if ``run.json`` lacks what reports say of judges."""
    if not human["by_judge"]:
        raise ValueError("it names no judges")
    numbers = [
        *(human[key] for key in ("judges", "answers", "fewest", "most")),
        *(human[key] for key in ("single_judge_accuracy", "gold_in_one_place")),
        *(judge["accuracy"] for judge in human["by_judge"]),
        *(value for value in human["agreement"].values() if value is not None),
    ]
    for number in numbers:
        if not isinstance(number, int | float):
            raise TypeError(f"it has {number!r} where a number should be")


def _check_verdicts(verdicts: Sequence[Verdict]) -> None:
    seen: set[str] = set()
    for v in verdicts:
        if v.id in seen:
            raise ValueError(f"item '{v.id}' has two verdicts")
        seen.add(v.id)
        if not (0 <= v.gold < len(v.scores) and 0 <= v.credit <= 1):
            raise ValueError(f"the verdict of item '{v.id}' is impossible")
        if not all(map(math.isfinite, v.scores)):
            raise ValueError(f"item '{v.id}' has a score that is no number")
        if not all(isinstance(t, str) for pair in v.tags.items() for t in pair):
            raise TypeError(f"item '{v.id}' has tags that are no texts")


def _write_files(run: Run, folder: Path) -> None:
    (folder / "run.json").write_text(
        json.dumps(run.about, ensure_ascii=False, indent=1, default=str) + "\n", "utf-8"
    )
    tokens = {str(i): text for i, text in run.tokens.items()}
    (folder / "tokens.json").write_text(json.dumps(tokens, ensure_ascii=False) + "\n", "utf-8")
    _write_parquet(
        folder / "verdicts.parquet",
        [{**asdict(v), "tags": json.dumps(dict(v.tags))} for v in run.verdicts],
        _VERDICTS,
    )
    _write_parquet(
        folder / "records.parquet",
        [
            _record_row(item, index, role, scored, record)
            for item, members in run.candidates.items()
            for index, scored in enumerate(members)
            for role, record in (
                ("candidate", scored.record),
                ("unconditional", scored.unconditional),
            )
            if record is not None
        ],
        _RECORDS,
    )
    _write_parquet(
        folder / "translations.parquet",
        [{**asdict(t), "tags": json.dumps(dict(t.tags))} for t in run.translations],
        _TRANSLATIONS,
    )


def _tokens(path: Path) -> dict[int, str]:
    """Read what tokens look like; runs of earlier versions do not say."""
    if not path.is_file():
        return {}
    tokens = {int(i): text for i, text in json.loads(path.read_text("utf-8")).items()}
    if not all(isinstance(text, str) for text in tokens.values()):
        raise TypeError("it has tokens that are no texts")
    return tokens


def _record_row(
    item: str, index: int, role: str, scored: Scored, record: Record
) -> dict[str, object]:
    return {
        "item": item,
        "candidate": index,
        "role": role,
        "prefix": scored.prefix,
        "text": scored.text,
        "source": scored.source,
        "token_ids": record.token_ids.tolist(),
        "logprobs": record.logprobs.tolist(),
        "unscored": record.unscored,
        "unknown": record.unknown,
        "truncated": record.truncated,
        "crossing": record.crossing,
    }


def _candidates(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Scored]]:
    """Join records to items by id and place, never by line order."""
    found: dict[tuple[str, int], dict[str, Scored]] = {}
    for row in rows:
        record = Record(
            token_ids=np.array(row["token_ids"], dtype=np.int32),
            logprobs=np.array(row["logprobs"], dtype=np.float32),
            unscored=row["unscored"],
            unknown=row["unknown"],
            truncated=row["truncated"],
            crossing=row["crossing"],
        )
        damaged = len(record.token_ids) != len(record.logprobs)
        damaged |= not np.isfinite(record.logprobs).all()
        if damaged or not isinstance(row["text"], str):
            raise ValueError(f"a record of item '{row['item']}' is damaged")
        scored = Scored(row["text"], record, None, row["prefix"], row["source"])
        roles = found.setdefault((row["item"], row["candidate"]), {})
        if row["role"] in roles:
            raise ValueError(f"candidate {row['candidate']} of '{row['item']}' has two records")
        roles[row["role"]] = scored
    out: dict[str, dict[int, Scored]] = {}
    for (item, index), roles in found.items():
        free = roles.get("unconditional")
        scored = replace(roles["candidate"], unconditional=free.record if free else None)
        out.setdefault(item, {})[index] = scored
    for item, members in out.items():
        if lacking := set(range(len(members))) - members.keys():
            raise ValueError(f"item '{item}' has no candidate {min(lacking)}")
    return {item: [members[i] for i in range(len(members))] for item, members in out.items()}


_VERDICTS = {
    "id": "str", "block": "str", "gold": "int", "scores": "scores", "winner": "int",
    "tied": "int", "credit": "float", "margin": "float", "truncated": "bool", "crossing": "bool",
    "tags": "str",
}  # fmt: skip
_RECORDS = {
    "item": "str", "candidate": "int", "role": "str", "prefix": "str", "text": "str",
    "source": "str", "token_ids": "ints", "logprobs": "floats", "unscored": "int",
    "unknown": "int", "truncated": "bool", "crossing": "bool",
}  # fmt: skip
_TRANSLATIONS = {
    "id": "str", "source": "str", "reference": "str", "translation": "str", "language": "str",
    "tags": "str", "context": "str", "reference_context": "str",
}  # fmt: skip


def _write_parquet(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]
) -> None:
    import polars as pl

    types: dict[str, Any] = {
        "str": pl.String,
        "int": pl.Int64,
        "float": pl.Float64,
        "bool": pl.Boolean,
        "ints": pl.List(pl.Int32),
        "floats": pl.List(pl.Float32),
        "scores": pl.List(pl.Float64),
    }
    schema = {name: types[kind] for name, kind in columns.items()}
    pl.DataFrame(list(rows), schema=schema).write_parquet(path)
