"""How fast, and in how much memory, a graph of the size of ConceptNet is read and filtered.

    python benchmarks/kg_scale.py --folder /tmp/kg-scale --rows 34000000 --out build/kg_scale.json

Writes a made-up file in the official format of ConceptNet 5.7 (once; it stays in the folder), then
reads it with boxpen and with pandas, each in a process of its own, and keeps the same: English, the
seven relations of Razeghi et al., weight 1 or more, no loops. Ends with status 1 if the two do not
keep the same triples. A third process builds: it reads all English triples into Parquet, takes all
steps of the filter, lists what they drop, and samples, as the builder kg does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RELATIONS = ("CapableOf", "Desires", "CreatedBy", "UsedFor", "IsA", "MadeOf", "HasA")
Kept = list[tuple[str, str, str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the big file goes")
    parser.add_argument("--rows", type=int, default=34_000_000)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1, help="the fastest one counts")
    parser.add_argument("--only", choices=[*READERS], nargs="+", default=[*READERS])
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--task", choices=["write", *READERS], help=argparse.SUPPRESS)
    args = parser.parse_args()
    file = args.folder / f"assertions-{args.rows}-{args.seed}.csv.gz"
    if args.task:
        task = write(file, args.rows, args.seed) if args.task == "write" else read(args.task, file)
        print(json.dumps(task))
        return
    # Nothing heavy in this process: Linux counts the memory of a parent as a peak of its child.
    written = run("write", args)
    found = {}
    for name in args.only:
        rounds = [run(name, args) for _ in range(args.rounds)]
        found[name] = min(rounds, key=lambda result: result["seconds"])
        found[name]["rows_per_second"] = args.rows / found[name]["seconds"]
    result = {"rows": args.rows, "file": written, "cores": len(os.sched_getaffinity(0))}
    result |= {"readers": found}
    if {"boxpen", "pandas"} <= set(found):
        result["ratio"] = found["pandas"]["seconds"] / found["boxpen"]["seconds"]
        result["agree"] = found["pandas"]["digest"] == found["boxpen"]["digest"]
    text = json.dumps(result, indent=2)
    print(text, table(result), sep="\n\n")
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(text + "\n")
    if not result.get("agree", True):
        sys.exit("boxpen and pandas do not keep the same triples")


def with_boxpen(file: Path) -> Kept:
    """Read and filter with boxpen: what this benchmark is about."""
    import polars as pl

    from boxpen.build.kg.read.graph import GraphSpec, read_graph

    relations = [name.lower() for name in RELATIONS]
    keep = pl.col("relation").is_in(relations) & (pl.col("language") == "en")
    kept = [
        chunk.triples.filter(pl.col("weight") >= 1, pl.col("head") != pl.col("tail"))
        for chunk in read_graph(GraphSpec((file,), "conceptnet"), keep=keep)
    ]
    return pl.concat(kept).select("relation", "head", "tail", "weight").rows()


def with_pandas(file: Path) -> Kept:
    """Read and filter with pandas: its fast parser, in chunks, cheap filters first."""
    import csv

    import pandas as pd

    wanted = {f"/r/{name}": name.lower() for name in RELATIONS}
    kept: Kept = []
    for chunk in pd.read_csv(
        file,
        sep="\t",
        header=None,
        usecols=[1, 2, 3, 4],
        names=["assertion", "relation", "start", "end", "details"],
        index_col=False,
        dtype=str,
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        na_filter=False,
        engine="c",
        chunksize=200_000,
        on_bad_lines="skip",
        encoding_errors="replace",
    ):
        few = chunk[chunk["relation"].isin(wanted)]
        few = few[few["start"].str.startswith("/c/en/") & few["end"].str.startswith("/c/en/")]
        head = few["start"].str.split("/", n=4).str[3].str.replace("_", " ")
        tail = few["end"].str.split("/", n=4).str[3].str.replace("_", " ")
        rows = zip(few["relation"], head, tail, few["details"], strict=True)
        for relation, one, other, details in rows:
            if one == other or "\ufffd" in one + other:
                continue
            try:
                weight = json.loads(details).get("weight")
            except ValueError:
                continue
            if isinstance(weight, float | int) and weight >= 1:
                kept.append((wanted[relation], one, other, float(weight)))
    return kept


def with_build(file: Path) -> Kept:
    """Read, filter and sample by the stages of the builder kg, without a language model."""
    import tempfile

    import polars as pl

    from boxpen.build.kg.config import KgConfig, RankConfig, SampleConfig
    from boxpen.build.kg.filter.config import FilterConfig
    from boxpen.build.kg.read.graph import GraphSpec
    from boxpen.build.kg.stages import BUILDER

    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        config = KgConfig(
            path=file,
            name="scale",
            folder=Path(folder),
            graphs=(GraphSpec((file,), "conceptnet"),),
            filter=FilterConfig(relations=RELATIONS, min_weight=1.0),
            rank=RankConfig(model="none"),
            sample=SampleConfig(per_relation=1000, by="weight"),
        )
        runner = BUILDER.runner(config)
        for stage in ("read", "filter", "rank", "sample"):
            for done in runner.run(stage):
                print(stage, done.report["says"], file=sys.stderr)
        sampled = pl.read_parquet(Path(folder) / "sampled.parquet")
        return sampled.select("relation", "head", "tail", "weight").rows()


READERS: dict[str, Callable[[Path], Kept]] = {
    "boxpen": with_boxpen,
    "build kg": with_build,
    "pandas": with_pandas,
}


def read(name: str, file: Path) -> dict[str, float | str]:
    """Read the file in this process, and return what that took."""
    import hashlib

    start = time.perf_counter()
    kept = READERS[name](file)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
        "kept": len(kept),
        "digest": hashlib.sha256(repr(sorted(kept)).encode()).hexdigest()[:16],
    }


def write(file: Path, rows: int, seed: int) -> dict[str, float | str]:
    """Write the file if it is not there, under another name until it is whole."""
    from kg_scale_data import write_assertions

    size = file.with_suffix(".json")
    if not (file.is_file() and size.is_file()):
        file.parent.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        unfinished = file.with_suffix(".part")
        written = write_assertions(unfinished, rows, seed)
        seconds = time.perf_counter() - start
        unfinished.replace(file)
        size.write_text(json.dumps({"bytes": written, "seconds_to_write": round(seconds, 1)}))
    found: dict[str, float | str] = json.loads(size.read_text())
    return found | {"compressed_bytes": file.stat().st_size}


def run(task: str, args: argparse.Namespace) -> dict[str, Any]:
    """Do a task in a process of its own."""
    command = [sys.executable, __file__, "--folder", str(args.folder), "--rows", str(args.rows)]
    command += ["--seed", str(args.seed), "--task", task]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{task} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def table(result: dict[str, Any]) -> str:
    lines = ["| reader | seconds | rows/s | CPU seconds | peak MB | kept |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {name} | {got['seconds']:.1f} | {got['rows_per_second']:,.0f} "
        f"| {got['cpu_seconds']:.1f} | {got['peak_mb']:,.0f} | {got['kept']:,} |"
        for name, got in result["readers"].items()
    ]
    if "ratio" in result:
        lines.append(f"\npandas takes {result['ratio']:.1f} times as long as boxpen")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
