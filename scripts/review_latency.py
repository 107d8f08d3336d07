"""Measure the review app in Chromium: from key press to the next item painted, and saving.

python scripts/review_latency.py [ITEMS] [--json FILE]

Every item is looked at for --pause milliseconds; a judge takes longer. "Painted" is the first frame
with the new item, counted from the time stamp of the key.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from review_sample import Served, many_answers

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


def measured(items: int, pause: int) -> dict[str, dict[str, float]]:
    """Judge so many items; return the milliseconds of both."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Served([many_answers(items + 10)], Path(folder)) as served,
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
        for n in range(items):
            tab.wait_for_timeout(pause)
            tab.keyboard.press("12"[n % 2])
            tab.wait_for_function(f"() => window.__ms.length > {n}", polling=5)
        tab.wait_for_selector("#saved:text-is('saved')")
        found = {"next item painted": tab.evaluate("window.__ms"), "saved": tab.evaluate(SAVES)}
        assert len(served.rows("ann")) == items
        browser.close()
    return {
        name: {
            "n": len(some),
            **{f"p{q}": round(float(np.percentile(some, q)), 1) for q in (50, 95, 100)},
        }
        for name, some in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the review app in Chromium.")
    parser.add_argument("items", nargs="?", type=int, default=200)
    parser.add_argument("--pause", type=int, default=150)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = measured(asked.items, asked.pause)
    for name, row in found.items():
        print(f"{name:18} n {row['n']}: " + ", ".join(f"{q} {row[q]} ms" for q in row if q != "n"))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
