"""Results for model cards of the Hugging Face Hub: ``.eval_results`` files and ``model-index``.

The Hub reads ``.eval_results/*.yaml`` of a model repository: one value per task of a benchmark,
which is a data set on the Hub. A suite that has no home there gets a name to be filled in. The
older ``model-index``, in the front matter of a model's README.md, needs no such data set and names
every metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from boxpen.errors import RunError
from boxpen.exchange.free_name import free_name
from boxpen.exchange.hub_dataset import DEFAULT, config_of, dataset_id
from boxpen.exchange.yaml import to_yaml
from boxpen.metrics.summary import Row, too_few_blocks
from boxpen.printable import printable
from boxpen.runs.run import Run

__all__ = ["write_runs"]

_OWNER = "OWNER"
_TASKS = {"nli": "text-classification", "seq2seq": "translation"}
_NAMES = {"bleu": "BLEU"}


def write_runs(runs: Sequence[Run], folder: Path) -> None:
    """Write a folder per model, to be copied into its repository.

    Raises:
        RunError: If a run is of human answers, which belong to no model.
    """
    models: dict[str, list[Run]] = {}
    for run in runs:
        if run.human:
            raise RunError(
                f"'{run.info.model.name}' on {run.info.suite.name} is a run of human answers, "
                "which belong on no model card; leave it out"
            )
        models.setdefault(run.info.model.name, []).append(run)
    taken: set[str] = set()
    for some in models.values():
        short = some[0].info.model.short
        place = folder / _free(re.sub(r"[^\w.-]+", "_", short)[-60:], taken)
        (place / ".eval_results").mkdir(parents=True)
        files: set[str] = set()
        for run in some:
            file = place / ".eval_results" / f"{_free(run.name, files)}.yaml"
            file.write_bytes(_results(run).encode())
        index = [{"name": short, "results": [one for run in some for one in _indexed(run)]}]
        (place / "model-index.yaml").write_bytes(to_yaml({"model-index": index}).encode())


def _free(name: str, taken: set[str]) -> str:
    return free_name(name.strip(".") or "model", taken, "-")


def _results(run: Run) -> str:
    """Return the entries of a run: its main metric on the whole suite and on every set."""
    home = dataset_id(run.info.suite.url)
    entries = [
        {
            "dataset": {
                "id": home or f"{_OWNER}/{config_of(run.info.suite.name)}",
                "task_id": task,
            },
            "value": row.value,
            "notes": _notes(run, row),
        }
        for task, row in _main(run)
    ]
    hint = (
        f"# boxpen knows no data set of {printable(run.info.suite.name)} on the Hub: put the "
        f"account that\n# publishes it in the place of {_OWNER}.\n"
    )
    return ("" if home else hint) + to_yaml(entries)


def _main(run: Run) -> Iterator[tuple[str, Row]]:
    """Yield the accuracy, or BLEU where nothing was chosen, by task."""
    rows = run.summary()
    metric = "accuracy" if run.verdicts else "bleu"
    for row in rows:
        if row.metric == metric and row.slice == "all":
            yield DEFAULT, row
        elif row.metric == metric and row.slice.startswith("set="):
            yield config_of(row.slice.removeprefix("set=")), row


def _notes(run: Run, row: Row) -> str:
    facts = [f"{run.sample_note}, not the whole suite"] if run.sample_note else []
    facts += [f"{_name(row)} {row} (95 % interval)", f"n = {row.n:,}"]
    if (chance := _chance(run, row)) is not None:
        facts.append(f"chance {chance:.3f}")
    if row.ties:
        facts.append(f"{row.ties:,} ties")
    if row.truncated:
        facts.append(f"{row.truncated:,} truncated")
    return f"{', '.join(facts)}; boxpen {row.signature}"


def _indexed(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the results of a run as ``model-index`` has them, one per task."""
    suite = run.info.suite
    title = suite.title or suite.name
    for part in ("all", *dict.fromkeys(r.slice for r in run.summary() if _is_set(r.slice))):
        rows = [
            row
            for row in run.summary()
            if row.slice == part
            and row.metric not in ("chance", "macro_chance")
            and row.value == row.value  # not NaN
            and not too_few_blocks(row.metric, row.n)
        ]
        if not rows:
            continue
        yield {
            "task": {"type": _TASKS.get(run.info.model.kind, "multiple-choice")},
            "dataset": {
                "type": dataset_id(suite.url) or suite.name,
                "name": f"{title} ({run.sample_note})" if suite.sample else title,
                "config": DEFAULT if part == "all" else config_of(part.removeprefix("set=")),
                "split": "test",
                **({"args": {"sample": str(suite.sample)}} if suite.sample else {}),
            },
            "metrics": [_metric(run, row) for row in rows],
        }


def _metric(run: Run, row: Row) -> dict[str, Any]:
    args: dict[str, Any] = {"low": row.low, "high": row.high, "n": row.n, "ties": row.ties}
    args = {k: v for k, v in args.items() if v == v}  # one item has no interval
    if (chance := _chance(run, row)) is not None:
        args["chance"] = chance
    args["signature"] = row.signature
    return {"type": row.metric, "name": _name(row), "value": row.value, "args": args}


def _chance(run: Run, row: Row) -> float | None:
    wanted = {"accuracy": "chance", "macro_accuracy": "macro_chance"}.get(row.metric)
    same = (r.value for r in run.summary() if r.slice == row.slice and r.metric == wanted)
    return next(same, None)


def _name(row: Row) -> str:
    return _NAMES.get(row.metric, row.metric.replace("_", " ").capitalize())


def _is_set(name: str) -> bool:
    return name.startswith("set=")
