"""The run directory: written whole or not at all, and read back.

``run.json`` holds everything needed to repeat the run, ``records.parquet`` every scored token,
``verdicts.parquet`` every decision, ``translations.parquet`` what a translation model made of the
sources, ``tokens.json`` what tokens look like. The directory is written under a temporary name and
renamed last. A run of human answers has verdicts but no records; one of an inference classifier
has one record an item, with a log-probability for every label.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import PolicyError, RunError, nearest
from boxpen.failures import reason, refusals
from boxpen.files import new_folder, temporary
from boxpen.metrics.summary import Translation
from boxpen.scoring.labels import NAMES, offered
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, Verdict

if TYPE_CHECKING:
    import polars as pl

    from boxpen.runs.run import Run

__all__ = ["FORMAT", "check_writable", "read_run", "run_directories", "run_frame", "write_run"]

FORMAT = 1


def write_run(run: Run, parent: Path) -> Path:
    """Write a run directory under ``parent`` and return it.

    Raises:
        RunError: If it cannot be written; then nothing is left behind.
    """
    target = parent / run.name
    with new_folder(target, RunError) as folder:
        for name, content in _files(run).items():
            (folder / name).write_bytes(content)
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
            Verdict(**{**row, "scores": tuple(row["scores"]), "tags": _tags(row)})
            for row in _rows(path / "verdicts.parquet", _VERDICTS)
        )
        _check_verdicts(verdicts)
    with _blamed(path, "records.parquet"):
        candidates = _candidates(_rows(path / "records.parquet", _RECORDS))
        _check_records(about, verdicts, candidates)
    if about["model"]["kind"] == "nli":
        with _blamed(path, "run.json"):
            numbers = _label_numbers(about)
        with _blamed(path, "records.parquet"):
            _check_labels(about, numbers, verdicts, candidates)
    with _blamed(path, "translations.parquet"):
        translations = tuple(
            Translation(**{**row, "tags": _tags(row)})
            for row in _rows(path / "translations.parquet", _TRANSLATIONS)
        )
    with _blamed(path, "tokens.json"):
        tokens = _tokens(path / "tokens.json")
    return about, verdicts, candidates, translations, tokens


def run_directories(paths: Sequence[Path]) -> list[Path]:
    """Return the run directories among paths, each of which is one or a folder of some.

    A journal of judgements is stored beside the runs, and a shell pattern such as
    ``runs/discourse-*`` matches it too: it is skipped, unless there is nothing else.

    Raises:
        RunError: If a path is neither.
    """
    found: dict[Path, None] = {}
    for path in [p for p in paths if not _is_journal(p)] or paths:
        if (path / "run.json").is_file():
            found[path] = None
            continue
        # Runs still being written are in folders whose names begin with a dot.
        inside = sorted(p.parent for p in path.glob("[!.]*/run.json"))
        if not inside:
            raise RunError(
                f"{path} is not a run directory: neither it nor a folder in it has a run.json"
            )
        found |= dict.fromkeys(inside)
    return list(found)


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


@contextlib.contextmanager
def _blamed(path: Path, name: str) -> Iterator[None]:
    """Name the file of a run directory in errors that the body raises."""
    try:
        yield
    except _faults() as error:
        if isinstance(error, RecursionError):
            why = "it is too deep"
        elif isinstance(error, KeyError):
            why = f"it has no {error}"
        else:
            why = reason(error)
        raise RunError(f"{path} is not a whole run directory ({name}: {why})") from None


def _faults() -> tuple[type[BaseException], ...]:
    bad = (ValueError, KeyError, TypeError, AttributeError, RecursionError, PolicyError)
    return (*bad, *refusals())


def _rows(path: Path, columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """Read a table whose columns are of these kinds."""
    import polars as pl

    if not path.is_file():  # of which Polars says several things
        raise FileNotFoundError("there is no such file")
    # Not by its path: Polars takes only those that are UTF-8.
    frame = pl.read_parquet(io.BytesIO(path.read_bytes()))
    for name, kind in columns.items():
        if name in frame.columns:
            _check_column(frame[name], kind.removesuffix("?"), nullable=kind.endswith("?"))
        elif name not in _LATER:
            raise KeyError(name)
    return frame.to_dicts()


def _check_column(column: pl.Series, kind: str, *, nullable: bool) -> None:
    """Raise if a column is of another type, or holds a null or a number that is not finite."""
    import polars as pl

    expected = _types()[kind]
    if column.dtype != expected and not (nullable and column.dtype == pl.Null):
        raise TypeError(f"column '{column.name}' is of {column.dtype}, expected {expected}")
    if not nullable and column.null_count():
        raise ValueError(
            f"column '{column.name}' is null in row {(column.is_null().arg_max() or 0) + 1}"
        )
    values = column.explode(empty_as_null=False) if isinstance(expected, pl.List) else column
    if values is not column and values.null_count():
        raise ValueError(f"column '{column.name}' has a list with a null")
    if values.dtype.is_float() and not values.is_finite().all():
        raise ValueError(f"column '{column.name}' has a number that is not finite")


def _tags(row: Mapping[str, Any]) -> dict[str, str]:
    tags = json.loads(row["tags"])
    if not isinstance(tags, dict) or not all(isinstance(value, str) for value in tags.values()):
        raise TypeError(f"item '{row['id']}' has tags that are not texts")
    return tags


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
            raise TypeError(f"expected a string, found {text!r}")
        text.encode()
    _check_sample(about["suite"].get("sample", "1/1@0"))
    for number in (
        about["suite"]["items"],
        about["beam"],
        about["unread_contexts"],
        about.get("unread_sources", 0),  # earlier versions did not count them
    ):
        if not isinstance(number, int):
            raise TypeError(f"expected a number, found {number!r}")
    for key in ("engine", "policy", "settled"):
        if not isinstance(about.get(key, {}), dict):
            raise TypeError(f"`{key}` must be an object")
    for name in ("norm", "ties"):  # earlier versions did not write all the others
        about["policy"][name]
    ScoringPolicy(**about["policy"])
    for name, value in about["settled"].items():
        if not isinstance(value, str | int):
            raise TypeError(f"it has {value!r} for '{name}', expected a text, a number or a bool")
    for label in about["model"].get("labels", ()):
        if label not in NAMES:
            raise ValueError(f"it has the label {label!r}, expected {', '.join(NAMES)}")
    if not all(isinstance(n, str) for names in about["parts_left_out"].values() for n in names):
        raise TypeError("`parts_left_out` must hold lists of strings")
    if not all(isinstance(ids, list) for ids in about["left_out"].values()):
        raise TypeError("`left_out` must hold lists of items")
    if not all(isinstance(finding["rule"], str) for finding in about["findings"]):
        raise TypeError("a finding has no rule")
    if about["model"]["kind"] == "human":
        _check_human(about["human"])


def _check_sample(sample: str) -> None:
    found = re.fullmatch("([0-9]+)/([0-9]+)@[0-9]+", sample)
    if not found or not 0 < int(found[1]) <= int(found[2]):
        raise ValueError(f"it has the sample {sample!r}, expected DRAWN/WHOLE@SEED")


def _check_records(
    about: Mapping[str, Any],
    verdicts: Sequence[Verdict],
    candidates: Mapping[str, Sequence[Scored]],
) -> None:
    """Raise if records and verdicts do not match."""
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
            raise TypeError(f"expected a number, found {number!r}")


def _check_verdicts(verdicts: Sequence[Verdict]) -> None:
    seen: set[str] = set()
    for v in verdicts:
        if v.id in seen:
            raise ValueError(f"item '{v.id}' has two verdicts")
        seen.add(v.id)
        places = range(len(v.scores))
        if not (v.gold in places and v.winner in places and v.tied > 0 and 0 <= v.credit <= 1):
            raise ValueError(f"the verdict of item '{v.id}' is impossible")


def _files(run: Run) -> dict[str, bytes]:
    """Return the content of all files, so that writing can only fail for system reasons."""
    about = json.dumps(run.about, ensure_ascii=False, indent=1, default=str)
    tokens = {str(i): text for i, text in run.tokens.items()}
    tables = ("verdicts", "records", "translations")
    return {
        # Bytes of a file name that are not UTF-8 become escapes of JSON.
        "run.json": f"{about}\n".encode("utf-8", "backslashreplace"),
        "tokens.json": (json.dumps(tokens, ensure_ascii=False) + "\n").encode(),
        **{f"{table}.parquet": _parquet(run_frame(run, table)) for table in tables},
    }


def run_frame(run: Run, table: str) -> pl.DataFrame:
    """Return a table of a run: verdicts, records, translations, or tokens.

    Raises:
        RunError: If there is no such table.
    """
    if table not in _TABLES:
        raise RunError(f"table '{table}' is unknown, {nearest(table, list(_TABLES))}")
    rows: Iterable[Mapping[str, Any]]
    if table == "verdicts":
        rows = ({**asdict(v), "tags": json.dumps(dict(v.tags))} for v in run.verdicts)
    elif table == "translations":
        rows = ({**asdict(t), "tags": json.dumps(dict(t.tags))} for t in run.translations)
    elif table == "records":
        rows = (_record_row(*found) for found in _records(run))
    else:
        texts = dict(enumerate(NAMES)) if run.labels else run.tokens
        rows = (
            dict(zip(_TOKENS, (item, index, role, at, token, texts.get(token), lp), strict=True))
            for item, index, role, _, record in _records(run)
            for at, (token, lp) in enumerate(
                zip(record.token_ids.tolist(), record.logprobs.tolist(), strict=True)
            )
        )
    return _frame(rows, _TABLES[table])


def _records(run: Run) -> Iterator[tuple[str, int, str, Scored, Record]]:
    """Yield every record: item, number of the candidate, role, candidate, record."""
    for item, members in run.candidates.items():
        for index, scored in enumerate(members):
            yield item, index, "candidate", scored, scored.record
            if scored.unconditional is not None:
                yield item, index, "unconditional", scored, scored.unconditional


def _tokens(path: Path) -> dict[int, str]:
    """Read the texts of tokens; runs of earlier versions lack them."""
    if not path.is_file():
        return {}
    tokens = {int(i): text for i, text in json.loads(path.read_text("utf-8")).items()}
    if not all(isinstance(text, str) for text in tokens.values()):
        raise TypeError("tokens must be strings")
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
        if len(record.token_ids) != len(record.logprobs):
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


# Kinds of columns; with a question mark, the column may hold nulls.
_VERDICTS = {
    "id": "str", "block": "str?", "gold": "int", "scores": "scores", "winner": "int",
    "tied": "int", "credit": "float", "margin": "float", "truncated": "bool", "crossing": "bool",
    "tags": "str",
}  # fmt: skip
_RECORDS = {
    "item": "str", "candidate": "int", "role": "str", "prefix": "str", "text": "str",
    "source": "str?", "token_ids": "ints", "logprobs": "floats", "unscored": "int",
    "unknown": "int", "truncated": "bool", "crossing": "bool",
}  # fmt: skip
_TRANSLATIONS = {
    "id": "str", "source": "str", "reference": "str", "translation": "str", "language": "str?",
    "tags": "str", "context": "str?", "reference_context": "str?",
}  # fmt: skip
_LATER = frozenset(("context", "reference_context"))  # which earlier versions did not write

_TOKENS = {
    "item": "str", "candidate": "int", "role": "str", "position": "int", "token_id": "int",
    "token": "str", "logprob": "single",
}  # fmt: skip
_TABLES = {
    "verdicts": _VERDICTS,
    "records": _RECORDS,
    "translations": _TRANSLATIONS,
    "tokens": _TOKENS,
}


def _types() -> dict[str, Any]:
    import polars as pl

    return {
        "str": pl.String(),
        "int": pl.Int64(),
        "float": pl.Float64(),
        "single": pl.Float32(),
        "bool": pl.Boolean(),
        "ints": pl.List(pl.Int32()),
        "floats": pl.List(pl.Float32()),
        "scores": pl.List(pl.Float64()),
    }


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pl.DataFrame:
    import polars as pl

    types = _types()
    schema = {name: types[kind.removesuffix("?")] for name, kind in columns.items()}
    return pl.DataFrame(list(rows), schema=schema)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
