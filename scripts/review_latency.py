"""Measure how fast items can be judged: the review app in Chromium, and a terminal.

python scripts/review_latency.py [ITEMS] [--json FILE]

In the browser every item is looked at for --pause milliseconds; a judge takes longer. "Painted" is
the first frame with the new item, counted from the time stamp of the key. "Items per minute" are
those of a reader without a pause, who presses a key as soon as the next wrong answer of
starter-graph is there.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from review_sample import Served, many_answers

import boxpen
from boxpen.analysis.suites.wrong_candidates import WrongCandidateTask
from boxpen.review import Journal, ReviewTask

MEASURE = """
() => {
  window.__ms = [];
  let pressed = null;
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    const start = pressed;
    requestAnimationFrame(() => {
      // A message is delivered after the frame is painted.
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { window.__ms.push(performance.now() - start); };
      channel.port2.postMessage(null);
    });
  }).observe(document.querySelector("#item"), { attributes: true, attributeFilter: ["data-item"] });
}
"""
SAVES = """
() => performance.getEntriesByType("resource").filter((e) => e.name.endsWith("api/judgements"))
  .map((e) => e.duration)
"""


def measured(
    items: int, pause: int, task: ReviewTask | None = None
) -> tuple[dict[str, dict[str, float]], float]:
    """Judge so many items; return the milliseconds of both, and the seconds of all."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Served([task or many_answers(items + 10)], Path(folder)) as served,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.goto(served.link("ann"))
        tab.wait_for_selector("#instructions[open]")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#work", state="visible")
        tab.evaluate("() => performance.setResourceTimingBufferSize(100000)")
        tab.evaluate(MEASURE)
        start = time.monotonic()
        for n in range(items):
            if pause:
                tab.wait_for_timeout(pause)
            tab.keyboard.press("12"[n % 2])
            tab.wait_for_function(f"() => window.__ms.length > {n}", polling=5)
        tab.wait_for_selector("#saved:text-is('saved')")
        seconds = time.monotonic() - start
        found = {"next item painted": tab.evaluate("window.__ms"), "saved": tab.evaluate(SAVES)}
        assert len(served.rows("ann")) == items
        browser.close()
    return {
        name: {
            "n": len(some),
            **{f"p{q}": round(float(np.percentile(some, q)), 1) for q in (50, 95, 100)},
        }
        for name, some in found.items()
    }, seconds


def typed(items: int) -> float:
    """Judge so many wrong answers in a terminal; return the seconds."""
    words = ("review", "judge", "starter-graph", "--task", "wrong-answers", "--judge", "ann")
    outer, inner = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "boxpen", *words]
        judge = subprocess.Popen(command, cwd=folder, stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)
        shown, start = b"", 0.0
        for n in range(1, items + 2):
            while f"\n{n:,} of ".encode() not in shown or not shown.endswith(b"quit\r\n"):
                shown += os.read(outer, 4096)
            start = start or time.monotonic()
            shown = b""
            os.write(outer, b"12"[n % 2 :][:1] if n <= items else b"q")
        seconds = time.monotonic() - start
        judge.wait(10)
        os.close(outer)
        assert len(Journal(Path(folder) / "starter-graph-wrong.jsonl").read().judgements) == items
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the review app in Chromium.")
    parser.add_argument("items", nargs="?", type=int, default=200)
    parser.add_argument("--pause", type=int, default=150)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found, _ = measured(asked.items, asked.pause)
    for name, row in found.items():
        print(f"{name:18} n {row['n']}: " + ", ".join(f"{q} {row[q]} ms" for q in row if q != "n"))
    graph = WrongCandidateTask(boxpen.load_suite("starter-graph"))
    _, seconds = measured(asked.items, 0, graph)
    rates = {
        "browser": 60 * asked.items / seconds,
        "terminal": 60 * asked.items / typed(asked.items),
    }
    found["items per minute"] = {name: round(rate) for name, rate in rates.items()}
    print("items per minute: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
