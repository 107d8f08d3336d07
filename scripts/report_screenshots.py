"""Make the pictures of the HTML report in docs/, with Chromium.

python scripts/report_screenshots.py RUN...   (run directories of the starter suite)
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import boxpen
from boxpen.analysis.suites.audit import shortcut_rows
from boxpen.metrics.compare import compare_verdicts
from boxpen.report.html.report import SuiteNotes, html_report
from boxpen.review.human_run import human_run

DOCS = Path(__file__).parents[1] / "docs"


def main(paths: list[str]) -> None:
    starter = boxpen.load_suite("starter")
    runs = [boxpen.Run.load(path) for path in paths]
    systems = {run.info.model.short: run.verdicts for run in runs}
    page = html_report(
        [*runs, readers(starter)],
        pairs=compare_verdicts(systems, "starter", common=True),
        suites={"starter": SuiteNotes(shortcut_rows(starter))},
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        path.write_text(page, "utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": 1240, "height": 900}, device_scale_factor=1.5)
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready]")
        shoot(tab, "report-overview.png", 0, bottom(tab, "#overview"))
        top = tab.locator("#slices").bounding_box()
        assert top is not None
        shoot(tab, "report-slices.png", top["y"], top["y"] + 1000)
        tab.select_option("#slice", label="set = sen-making")
        tab.select_option("#order", "worst")
        top = tab.locator("#items").bounding_box()
        assert top is not None
        shoot(tab, "report-items.png", top["y"], bottom(tab, ".item >> nth=3") + 8)
        browser.close()
    figures = {
        run.info.model.short: {
            "signature": run.signature,
            "accuracy": f"{value:.3f}",
            "n": n,
        }
        for run in runs
        for value, n in [(run.summary()[0].value, run.summary()[0].n)]
    }
    (DOCS / "data" / "report-figures.json").write_text(
        json.dumps(figures, indent=1) + "\n", "utf-8"
    )


def readers(starter: boxpen.Suite) -> boxpen.Run:
    """Return what the readers of the starter suite chose, as a run."""
    with (DOCS / "data" / "starter-readings.csv").open(encoding="utf-8", newline="") as stream:
        last = {(r["id"], r["reader"]): r["chosen"] for r in csv.DictReader(stream)}
    choices = [i.as_choice() if isinstance(i, boxpen.Translate) else i for i in starter]
    candidates = {i.id: i.candidates for i in choices if isinstance(i, boxpen.Choice)}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "answers.csv"
        with table.open("w", encoding="utf-8", newline="") as stream:
            lines = csv.writer(stream)
            lines.writerow(["item", "judge", "answer"])
            for (item, reader), answer in last.items():
                if item in candidates:  # the triples of starter-graph were read too
                    lines.writerow([item, reader, candidates[item].index(answer)])
        return human_run(starter, table, name="readers (language models)", min_judges=1)


def bottom(tab: Page, selector: str) -> float:
    box = tab.locator(selector).bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def shoot(tab: Page, name: str, top: float, end: float) -> None:
    """Write a strip of the page; what floats over it is put back in its place."""
    tab.add_style_tag(content="nav { position: static !important }")
    clip = {"x": 0.0, "y": top, "width": 1240.0, "height": end - top}
    tab.screenshot(path=DOCS / "images" / name, full_page=True, clip=clip)  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1:])
