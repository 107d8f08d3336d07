"""Check that two versions of boxpen give the same numbers.

    python scripts/same_verdicts.py record OLD --source ../other-checkout
    python scripts/same_verdicts.py record NEW
    python scripts/same_verdicts.py compare OLD NEW

``record`` scores the suites with an empty cache and writes one run directory per model and suite;
``compare`` takes two such folders, or two run directories, and exits with status 1 if items,
scores or verdicts differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

SUITES = ("commonmt", "cats", "starter")
DECISION = ("gold", "winner", "tied", "credit", "truncated", "crossing")


def record(out: Path, source: Path, models: list[str], suites: list[str], limit: int | None) -> int:
    command = [sys.executable, "-m", "boxpen", "run", *suites, "--out", str(out)]
    for model in models:
        command += ["--model", model]
    if limit is not None:
        command += ["--limit", str(limit)]
    environment = {**os.environ, "PYTHONPATH": str(source.resolve() / "src")}
    with tempfile.TemporaryDirectory() as folder:
        # A fixed budget: the default depends on free memory, and batches change the last bits.
        command += ["--cache", f"{folder}/scores.sqlite", "--token-budget", "1024"]
        return subprocess.run(command, env=environment, check=False).returncode


def compare(first: Path, second: Path) -> int:
    old, new = _runs(first), _runs(second)
    if (first / "run.json").is_file() and (second / "run.json").is_file():
        pairs = [(first, second)]
    elif not old or old.keys() != new.keys():
        print(f"different runs: {', '.join(sorted(old.keys() ^ new.keys())) or 'none found'}")
        return 1
    else:
        pairs = [(old[name], new[name]) for name in sorted(old)]
    return max(_differs(*pair) for pair in pairs)


def _runs(folder: Path) -> dict[str, Path]:
    """Return run directories by name, without the digest at its end, which versions may change."""
    found = sorted(path.parent for path in folder.glob("[!.]*/run.json"))
    return {path.name.rpartition("-")[0]: path for path in found}


def _differs(first: Path, second: Path) -> bool:
    """Print how two runs differ, and return whether they do."""
    old, new = (_table(folder, "verdicts") for folder in (first, second))
    if old["id"].to_list() != new["id"].to_list():
        print(f"{second.name}: different items ({old.height} and {new.height})")
        return True
    changed = [name for name in DECISION if not old[name].equals(new[name])]
    if not _table(first, "translations").equals(_table(second, "translations")):
        changed.append("translations")
    apart = max(_distance(old["scores"], new["scores"]), _token_distance(first, second))
    print(
        f"{second.name}: {old.height} items, largest difference of scores {apart:g}, "
        + (f"different {', '.join(changed)}" if changed else "equal verdicts")
    )
    return bool(changed) or apart > 0


def _table(folder: Path, name: str) -> pl.DataFrame:
    frame = pl.read_parquet(folder / f"{name}.parquet")
    return frame.sort([c for c in ("item", "candidate", "role", "id") if c in frame.columns])


def _token_distance(first: Path, second: Path) -> float:
    old, new = (_table(p, "records") for p in (first, second))
    if old.height != new.height or not old["token_ids"].equals(new["token_ids"]):
        return float("inf")
    return _distance(old["logprobs"], new["logprobs"])


def _distance(old: pl.Series, new: pl.Series) -> float:
    """Return the largest difference between two columns of lists of numbers."""
    if old.list.len().to_list() != new.list.len().to_list():
        return float("inf")
    apart = (old.explode() - new.explode()).abs().max()
    return 0.0 if apart is None else float(apart)  # type: ignore[arg-type]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="score suites with an empty cache")
    recording.add_argument("out", type=Path)
    recording.add_argument("--source", type=Path, default=Path(__file__).parent.parent)
    recording.add_argument("--model", nargs="+", default=["smollm2", "bert-mini"])
    recording.add_argument("--suite", nargs="+", default=list(SUITES))
    recording.add_argument("--limit", type=int, help="items per suite; all by default")
    comparing = commands.add_parser("compare", help="compare two folders of runs")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    asked = parser.parse_args()
    if asked.command == "compare":
        return compare(asked.first, asked.second)
    folder = os.environ.get("BOXPEN_TEST_MODELS", ".")
    models = [f"{folder}/{m}" if m == "bert-mini" else m for m in asked.model]
    return record(asked.out, asked.source, models, asked.suite, asked.limit)


if __name__ == "__main__":
    sys.exit(main())
