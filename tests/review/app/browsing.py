"""A tab of a real Chromium on the review app, and what it complained of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
QUEUE = "Object.keys(localStorage).filter(k => /^boxpen .* \\d{16} /.test(k)).length"
HOSTILE = (
    "<script>window.__pwned = 1</script><img src=x onerror='window.__pwned = 1'>"
    "\"'`${alert(1)}</textarea><svg onload=window.__pwned=1>{{7*7}}"
)


def started_browser() -> Iterator[Any]:
    """Start Chromium, or skip what needs it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the review app is not opened in a browser")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


def axe_source() -> str:
    """Return axe-core's script; skip where it is not installed."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    return (Path(axe.__file__).parent / "axe.min.js").read_text("utf-8")


class Tab:
    """A page of the app, with what it said."""

    def __init__(self, context: Any, url: str, *, ready: bool = True) -> None:
        self.context = context
        self.page = context.new_page()
        self.page.set_default_timeout(30_000)  # machines may be busy
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._asked)
        self.page.goto(url)
        if ready:
            self.page.wait_for_selector("html[data-ready]")

    def _heard(self, message: Any) -> None:
        # The browser itself reports requests that fail, which is what some tests are about.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def _asked(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.accept()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def item(self) -> str:
        """The item on the screen; empty if there is none."""
        if not self.page.is_visible("#item"):
            return ""
        return str(self.page.get_attribute("#item", "data-item"))

    def judged(self, *keys: str) -> str:
        """Press keys that answer an item; return the item when the next one is there."""
        before = self.item
        self.press(*keys)
        self.until(
            "b => document.querySelector('#work').hidden "
            "|| document.querySelector('#item').dataset.item !== b",
            before,
        )
        return before

    def until(self, script: str, argument: Any = None) -> None:
        self.page.wait_for_function(script, arg=argument, polling=20)

    def saved(self) -> None:
        """Wait until nothing waits to be saved."""
        self.until(f"() => {QUEUE} === 0")

    def waiting(self) -> int:
        return int(self.page.evaluate(QUEUE))

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def options(self) -> list[str]:
        return [e.inner_text() for e in self.page.locator("#choices .text").all()]

    def begin(self) -> None:
        """Read the instructions."""
        self.page.wait_for_selector("#instructions[open]")
        self.press("Enter")
        self.page.wait_for_selector("#instructions", state="hidden")
        self.page.wait_for_selector("#work", state="visible")

    def overflow(self) -> int:
        """How many pixels the page is wider than the screen."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def harm(self) -> list[str]:
        """What hostile texts have managed to do."""
        pwned = self.page.evaluate("window.__pwned ?? null")
        images = self.page.locator("img").count()
        return [*self.dialogs, *(["a script ran"] if pwned else []), *(["an image"] * images)]

    def findings(self, source: str) -> list[str]:
        """Serious findings of axe about what is shown now."""
        # Evaluated from outside, as the policy of the page lets nobody inject a script.
        self.page.evaluate(source)
        found = self.page.evaluate(
            "() => axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify("
            "r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 160))])))"
        )
        return [f"{id_}: {nodes}" for impact, id_, nodes in json.loads(found)
                if impact in ("serious", "critical")]  # fmt: skip


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(…)`` (WCAG 2.2)."""
    parts = [float(p) / 255 for p in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
