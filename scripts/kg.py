"""Build the tests of docs/results/kg.md and make its tables.

    kg.py build          build/kg/files: the stages, from scripts/kg.toml;
                         build/kg/automatic: the same without the review
    kg.py tables         docs/results/kg.md, from the build and the runs in build/kg/runs

The runs are those of ``boxpen run --suite build/kg/files/kg.jsonl --out build/kg/runs`` for the
models that the page names; it says how they were trained. Needs ``BOXPEN_MIRROR``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from results import write

import boxpen
from boxpen.analysis.behaviour import count_tests
from boxpen.analysis.suites.audit import audit
from boxpen.build.kg.config import NegativesConfig, read_config
from boxpen.build.kg.stages import BUILDER
from boxpen.build.kg.wording.templates import form_counts, load_templates
from boxpen.report.failures import ALL, FailureTable, failure_tables
from boxpen.runs.directory import run_directories

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "kg"
PAGE = "kg.md"
# Tables 1, 2 and 3 of the paper: per cent failed; triples, templates and tests of MNLI and PIQA.
PAPER = {
    "capableof": ((55.9, 67.6, 15.8, 20.6), (7.4, 14.7), (89, 8, 272, 10, 700)),
    "desires": ((93.0, 92.4, 50.3, 54.4), (5.4, 17.9), (44, 8, 171, 100, 223)),
    "createdby": ((73.8, 80.7, 8.0, 19.0), (4.3, 14.0), (81, 16, 336, 10, 600)),
    "usedfor": ((53.3, 62.5, 1.1, 2.8), (1.3, 14.2), (182, 2, 360, 10, 1482)),
    "isa": ((10.0, 15.3, 4.7, 5.9), (4.1, 26.0), (84, 8, 170, 10, 716)),
    "madeof": ((58.4, 76.1, 16.8, 28.3), (9.1, 17.3), (58, 4, 226, 10, 450)),
    "hasa": ((71.4, 81.0, 19.6, 25.6), (5.3, 18.9), (82, 8, 168, 10, 628)),
    "xAttr": ((60.3, 68.3, 5.3, 3.8), (11.6, 33.2), (31, 15, 451, 15, 399)),
    "xNeed": ((100.0, 99.4, 36.2, 26.3), (19.2, 25.2), (58, 15, 847, 15, 802)),
    "xIntent": ((84.9, 86.1, 5.5, 6.0), (15.2, 24.2), (41, 15, 598, 15, 539)),
    "xEffect": ((86.4, 91.4, 17.3, 31.4), (29.0, 26.7), (45, 15, 653, 15, 660)),
    "xWant": ((95.6, 98.0, 21.6, 36.4), (11.3, 22.9), (39, 15, 407, 15, 548)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["build", "tables"])
    if parser.parse_args().command == "build":
        reviewed = read_config(config())
        automatic = replace(
            reviewed, folder=FOLDER / "automatic", review=None, negatives=NegativesConfig()
        )
        for build in (automatic, reviewed):
            for done in BUILDER.runner(build).run():
                print(f"{build.folder.name}, {done.stage}: {done.report['says']}", flush=True)
        return
    suite = boxpen.load_suite(FOLDER / "files" / "kg.jsonl")
    reports = json.loads((FOLDER / "files" / "stages.json").read_text("utf-8"))
    runs = [boxpen.Run.load(path) for path in run_directories([FOLDER / "runs"])]
    tables = {table.task: table for table in failure_tables(runs)}
    write(PAGE, "filter", filtered({name: done["report"] for name, done in reports.items()}))
    write(PAGE, "tests", tests(suite))
    write(PAGE, "nli", beside(tables["nli"], ("RoBERTa", "BART", "RoBERTa", "BART"), 0))
    write(PAGE, "qa", beside(tables["qa"], ("RoBERTa", "BERT"), 1))
    write(PAGE, "pairs", beside(tables["pairs"], (), 1))
    write(PAGE, "audit", audited(suite))
    if (ROOT / "build" / "kg_scale.json").is_file():
        write(PAGE, "scale", scale(json.loads((ROOT / "build" / "kg_scale.json").read_text())))
    write(PAGE, "signatures", "\n".join(f"- `{run.signature}`" for run in runs))


def config() -> Path:
    """Write the configuration with the mirror's folder in it, and return its path."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / "kg.toml"
    text = (ROOT / "scripts" / "kg.toml").read_text("utf-8")
    text = text.replace("MIRROR", os.environ["BOXPEN_MIRROR"]).replace("ROOT", str(ROOT))
    path.write_text(text, "utf-8")
    return path


def filtered(reports: dict[str, dict[str, Any]]) -> str:
    """Return what each step of filter and ranking took."""
    out = ["| stage | step | dropped | left |", "|---|---|---|---|"]
    for stage in ("filter", "rank"):
        out += [
            f"| {stage} | {step['step']} | {step['dropped']:,} | {step['left']:,} |"
            for step in reports[stage]["steps"]
        ]
    return "\n".join(out)


def tests(suite: boxpen.Suite) -> str:
    """Return Table 3: ours beside the paper's."""
    forms = form_counts(load_templates())
    out = [
        "| relation | triples | NLI forms | NLI tests | QA forms | QA tests | pairs "
        "| paper: triples | NLI forms | tests | PIQA forms | tests |",
        "|---|" + "---|" * 11,
    ]
    for count in count_tests(suite):
        name = count.relation
        made = {task: number for task, (_, number) in count.tasks.items()}
        cells = [
            count.triples, forms["nli", name], made["nli"], forms["qa", name], made["qa"],
            made["pairs"], *PAPER[name][2],
        ]  # fmt: skip
        out.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    return "\n".join(out)


def beside(table: FailureTable, papers: Sequence[str], which: int) -> str:
    """Return failure rates in per cent, ours with intervals, the paper's models in front."""
    settings = ["3-way"] * 2 + ["2-way"] * 2 if which == 0 else [""] * len(papers)
    paper = [f"{name} {setting} (paper)" for name, setting in zip(papers, settings, strict=False)]
    ours = [f"{name} {setting}".strip() for setting, name in table.columns]
    out = [
        "| relation | " + " | ".join(s.replace("  ", " ") for s in (*paper, *ours)) + " |",
        "|---|" + "---|" * (len(paper) + len(ours)),
    ]
    for graph, relations in table.rows.items():
        for relation in relations:
            theirs = PAPER[relation][which] if papers and relation in PAPER else [""] * len(paper)
            name = f"**{graph}, all**" if relation == ALL else relation
            rates = [
                "" if cell is None
                else f"{100 * cell.rate.value:.1f} [{100 * cell.rate.low:.0f}, "
                f"{100 * cell.rate.high:.0f}]"
                for cell in table.row(graph, relation)
            ]  # fmt: skip
            out.append(f"| {name} | " + " | ".join(str(c) for c in (*theirs, *rates)) + " |")
    guess = [f"{100 * rate:.0f}" for rate in table.guessing]
    out.append("| guessing | " + " | ".join([""] * len(paper) + guess) + " |")
    return "\n".join(out)


def audited(suite: boxpen.Suite) -> str:
    """Return how well the questions and pairs are answered without sense."""
    out = ["| tests | shortcut | accuracy |", "|---|---|---|"]
    for task in ("qa", "pairs"):
        for row in audit(suite.where(task=task)):
            e = row.estimate
            cells = f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"
            out.append(
                f"| {task} | {row.shortcut} | {cells}{' (flagged)' if row.flagged else ''} |"
            )
    return "\n".join(out)


def scale(found: dict[str, Any]) -> str:
    """Return what benchmarks/kg_scale.py measured."""
    out = ["| | seconds | rows/s | CPU seconds | peak MB | triples |", "|---|---|---|---|---|---|"]
    out += [
        f"| {name} | {got['seconds']:.1f} | {got['rows_per_second']:,.0f} "
        f"| {got['cpu_seconds']:.1f} | {got['peak_mb']:,.0f} | {got['kept']:,} |"
        for name, got in found["readers"].items()
    ]
    return "\n".join(out)


if __name__ == "__main__":
    main()
