"""The tables and the plot of docs/results/speed.md, from what the benchmarks have written.

    python benchmarks/report.py build/speed.json build/profile.json build/gpu.json
    python benchmarks/report.py --accept        # a slow-down that you have a reason for

Each table stands in the document between two comments, ``<!-- begin NAME -->`` and
``<!-- end NAME -->``; a table that has no place there, or no numbers, is left out. The plot goes
beside the document. Printed is every ratio with its peer and date. New ones are added to
``history.jsonl``, except those over a tenth below the best entry: they end it with status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from history import append, ratio_table, ratios_of, read, slower
from plot import lines_svg

__all__ = ["gpu_table", "profile_table", "scaling_table", "table"]

ROOT = Path(__file__).parents[1]
HISTORY = Path(__file__).with_name("history.jsonl")
LABELS = {
    "boxpen": "**boxpen**",
    "lm-eval": "lm-evaluation-harness",
    "minicons": "minicons",
    "minicons-sorted": "minicons, texts sorted by length",
    "loop": "padded loop, sorted by length",
}


def table(task: dict[str, Any]) -> str:
    """Return a task as a table: a line per tool, then what the columns need to be read."""
    rows, work, rate = task["rows"], task["work"], task["rate"]
    ours = [row for row in rows if row["tool"] == "boxpen"]
    base = ours[0]  # on all texts, if peers have a share of them only
    several = len(ours) > 1
    lines = [
        "| tool | batch | texts | seconds | tokens/s | boxpen is faster by "
        + ("| by, with all texts " if several else "")
        + "| of matrix rate | largest difference |",
        "|---|--:|--:|--:|--:|--:|" + "--:|" * several + "--:|--:|",
    ]
    for row in rows:
        ratios = [f"{one['tokens_per_second'] / row['tokens_per_second']:.2f}×" for one in ours]
        is_ours, gap = row["tool"] == "boxpen", row["difference"]
        cells = (
            LABELS[row["tool"]],
            row["batch_size"] or "–",
            f"{row['texts']:,}",
            f"{row['seconds']:,.1f}",
            f"{row['tokens_per_second']:,.0f}",
            *(["–"] * len(ours) if is_ours else reversed(ratios)),
            f"{row['of_rate']:.0%}",
            "–" if is_ours or gap is None else f"{gap:.0e} nats" + (" (!)" if row["apart"] else ""),
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    whole = work["all"]
    pll = f", PLL {task['pll']}" if task["pll"] else ""
    tally = base["tally"]
    computed = f"; boxpen computed {tally['computed']:,}" if "computed" in tally else ""
    lines += [
        "",
        f"{task['model']}{pll}, {', '.join(task['suites'])}: {whole['texts']:,} texts, "
        f"{whole['tokens']:,} tokens; {whole['positions']:,} positions if each text is run alone, "
        f"{whole['nodes']:,} if none is run twice{computed}. Matrix rate: "
        f"{rate['weighted'] / 1e9:,.0f} GFLOP/s at the model's shapes, {rate['best'] / 1e9:,.0f} "
        "at the best of them.",
    ]
    return "\n".join(lines)


def scaling_table(scaling: dict[str, Any]) -> str:
    """Return seconds by tool and number of texts."""
    sizes = scaling["sizes"]
    lines = [
        "| tool | " + " | ".join(f"{size:,} texts" for size in sizes) + " |",
        "|---" + "|--:" * len(sizes) + "|",
    ]
    for tool, seconds in scaling["seconds"].items():
        cells = " | ".join(f"{value:,.1f} s" for value in seconds)
        lines.append(f"| {LABELS[tool]} | {cells} |")
    return "\n".join(lines)


def gpu_table(gpu: dict[str, Any]) -> str:
    """Return boxpen and the padded loop on a GPU."""
    rows = gpu["rows"]
    lines = [
        "| tool | batch | seconds, from strings | boxpen is faster by | seconds, from token ids "
        "| boxpen is faster by | of matrix rate |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        ours = row["tool"].startswith("boxpen")
        cells = (
            LABELS[row["tool"]],
            row["batch_size"] or "–",
            f"{row['seconds']:.2f}",
            "–" if ours else f"{row['seconds'] / rows[0]['seconds']:.2f}×",
            f"{row['on_ids']:.2f}",
            "–" if ours else f"{row['on_ids'] / rows[0]['on_ids']:.2f}×",
            f"{gpu['work']['flops'] / row['on_ids'] / gpu['rate']:.0%}",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    gaps, machine = gpu["differences"], gpu["machine"]
    first = ", ".join(f"{row['first']:.0f} s" for row in rows if "first" in row)
    lines += [
        "",
        f"{machine['gpu']}, PyTorch {machine['torch']}, Transformers {machine['transformers']}. "
        f"{gpu['parameters'] / 1e9:.2f} B parameters, bfloat16, {gpu['work']['texts']:,} texts, "
        f"{gpu['work']['tokens']:,} tokens, {gpu['work']['nodes']:,} nodes. Matrix rate: "
        f"{gpu['rate'] / 1e12:,.0f} TFLOP/s. First pass of boxpen, with what is compiled in it: "
        f"{first}. Largest difference of a text's score: boxpen and loop "
        f"{gaps['boxpen-loop']:.2g} nats; on {gpu['checked']} texts from float32, boxpen "
        f"{gaps['boxpen-float32']:.2g}, loop {gaps['loop-float32']:.2g}.",
    ]
    return "\n".join(lines)


def profile_table(found: dict[str, Any]) -> str:
    """Return what the time of scoring is spent on."""
    lines = ["| spent on | of the time |", "|---|--:|"]
    for name, seconds in found["seconds"].items():
        lines.append(f"| {name} | {seconds / found['wall']:.1%} |")
    lines += ["", f"boxpen, causal, {found['texts']:,} texts at random, {found['wall']:.1f} s."]
    return "\n".join(lines)


def machine_text(found: dict[str, Any]) -> str:
    """Return the machine and the versions in a few words."""
    here = found["machine"]
    versions: dict[str, str] = {}
    for task in found.values():
        for row in task.get("rows", []):
            apart = task.get("kind") == "masked" and row["tool"].startswith("minicons")
            for name, number in row.get("versions", {}).items():
                versions[f"{name} (minicons, masked)" if apart else name] = number
    versions = {
        name: number
        for name, number in versions.items()
        if number != versions.get(name.removesuffix(" (minicons, masked)")) or " (" not in name
    }
    lines = [
        f"{here['cpu']}, {here['cores']} cores ({here['capability']}), {here['threads']} threads, "
        f"{here['gigabytes']} GB, {here['system']}, Python {here['python']}; "
        + ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
        + "."
    ]
    if "gpu" in found:
        gpu = found["gpu"]["machine"]
        lines.append(
            f"GPU: {gpu['gpu']}, Python {gpu['python']}, torch {gpu['torch']}, "
            f"transformers {gpu['transformers']}."
        )
    return "\n\n".join(lines)


def sections(found: dict[str, Any]) -> dict[str, str]:
    """Return the text of every marker that there are numbers for."""
    for name, task in found.items():
        if any(suite.startswith("starter") for suite in task.get("suites", ())):
            raise SystemExit(f"{name} was run on a stand-in; the document is of the public suites")
    out = {name: table(found[name]) for name in ("causal", "hellaswag", "seq2seq") if name in found}
    both = [table(found[name]) for name in ("masked", "masked-original") if name in found]
    if both:
        out["masked"] = "\n\n".join(both)
    if "scaling" in found:
        out["scaling"] = scaling_table(found["scaling"])
    if "gpu" in found:
        out["gpu"] = gpu_table(found["gpu"])
    if "profile" in found:
        out["profile"] = profile_table(found["profile"])
    if "machine" in found:
        out["machine"] = machine_text(found)
    return out


def main(paths: Sequence[str], *, accept: bool = False) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    from results import DOCS, write

    found: dict[str, Any] = {}
    for path in map(Path, paths):
        if path.is_file():
            found |= json.loads(path.read_text("utf-8"))
    document = DOCS / "speed.md"
    text = document.read_text("utf-8") if document.is_file() else ""
    for name, lines in sections(found).items():
        if f"<!-- begin {name} -->" in text:
            write(document.name, name, lines)
        else:
            print(f"{document.name} has no place for '{name}'", file=sys.stderr)
    if "scaling" in found:
        series = {
            LABELS[tool].strip("*").partition(",")[0]: seconds
            for tool, seconds in found["scaling"]["seconds"].items()
        }
        svg = lines_svg(found["scaling"]["sizes"], series, x="texts", y="seconds")
        (DOCS / "figures" / "speed.svg").write_text(svg, "utf-8")
    if behind := record(found, HISTORY, accept=accept):
        raise SystemExit(
            f"over a tenth slower than the best entry: {', '.join(behind)}; not added to "
            f"{HISTORY.name} (--accept adds them)"
        )


def record(found: dict[str, Any], path: Path, *, accept: bool = False) -> list[str]:
    """Print every ratio, and add the new ones to a history, except those that fell too far.

    Args:
        found: What the benchmarks have written.
        path: The history.
        accept: Add those that fell too far as well; later ones are compared with them.

    Returns:
        The ratios that fell too far and were not added.
    """
    history, ratios = read(path), list(ratios_of(found))
    known = {(one.key, one.date) for one in history}
    new = [one for one in ratios if (one.key, one.date) not in known]
    behind = [one for one in new if slower(history, one)]
    append(
        path, [replace(one, accepted=one in behind) for one in new if accept or one not in behind]
    )
    print(ratio_table(ratios, history))
    return [] if accept else [f"{one.task} ({one.peer})" for one in behind]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = [f"build/{name}.json" for name in ("speed", "profile", "gpu")]
    parser.add_argument("paths", nargs="*", default=default)
    parser.add_argument("--accept", action="store_true", help="keep ratios that fell too far")
    options = parser.parse_args()
    main(options.paths, accept=options.accept)
