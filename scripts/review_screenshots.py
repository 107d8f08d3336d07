"""Do the human steps of the five papers in the review app, and make its pictures in docs/images/.

python scripts/review_screenshots.py [FOLDER]

Two scripted judges judge everything through the app's addresses, a third sits at the browser.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from review_sample import TASKS, ScriptedJudge, Served, answer_task, gold_of

from boxpen.review.app.plan import Plan

DOCS = Path(__file__).parents[1] / "docs" / "images" / "review"
STEPS = {
    "triples": ["1", "1", "2"],
    "answers": ["1", "2", "1", "1", "2"],
    "errors": ["1", "2"],
    "classes": ["1", "ArrowRight", "ArrowRight"],
    "duals": ["1", "1"],
}
"""The five steps, and the keys that are pressed before the picture; an edit is left open."""
MOST = 100_000
"""Bytes of a picture."""
WIDTH, HEIGHT = 1000, 640


def first_verdict(question: dict[str, Any], verdicts: list[str], turn: int) -> dict[str, Any]:
    """Say mostly the first, and now and then another, so that there is something to decide."""
    number = sum(question["item"].encode()) + turn
    plain = verdicts or [option["number"] for option in question["options"]]
    choice = plain[-1] if number % 5 == 0 else plain[0]
    comment = "Both can be read, but only one fits what follows." if number % 5 == 0 else ""
    return {"answer": choice, "comment": comment}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    trained = answer_task("mt-la-0", 14)
    gold = gold_of(trained, 3, "Only this candidate fits the rest of the sentence.")
    steps = [(trained, gold) if key == "answers" else TASKS[key]() for key in STEPS]
    with (
        tempfile.TemporaryDirectory() as place,
        Served(steps, Path(place), Plan(overlap=3), "Five steps") as served,
        sync_playwright() as playwright,
    ):
        links = {name: served.link(name) for name in ("ann", "bo", "cy")}
        chief = served.link("dee", "coordinator")
        for turn, name in enumerate(("bo", "cy")):
            judge = ScriptedJudge(links[name])
            for key in STEPS:
                verdicts = [one["value"] for task in judge.me["tasks"] if task["key"] == key
                            for one in task["verdicts"]]  # fmt: skip
                judge.judge(key, lambda q, v=verdicts, t=turn: first_verdict(q, v, t))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        judging(browser, links["ann"], folder)
        coordinating(browser, chief, served.url, folder)
        browser.close()
    for path in sorted(folder.glob("*.png")):
        size = path.stat().st_size
        print(f"{path.name:24} {size / 1000:.0f} kB")
        if size > MOST:
            raise SystemExit(f"{path} has {size:,} bytes, expected {MOST:,} or fewer")


def judging(browser: Browser, link: str, folder: Path) -> None:
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT})
    tab = context.new_page()
    tab.goto(link)
    tab.wait_for_selector("html[data-ready]")
    shoot(tab, folder / "tasks.png")
    for key, keys in STEPS.items():
        tab.evaluate("key => { location.hash = key; }", key)
        tab.wait_for_selector("#instructions[open]")
        tab.wait_for_selector("#work:not([hidden])", state="attached")
        if key == "answers":
            tab.locator("#instructions").screenshot(path=folder / "instructions.png")
        tab.keyboard.press("Enter")
        if key == "answers":
            training(tab, folder)
        for press in keys:
            while key in ("errors", "classes") and press == keys[-1] and is_right(tab):
                tab.keyboard.press("1")
                tab.wait_for_timeout(120)
            tab.keyboard.press(press)
            tab.wait_for_timeout(120)
        tab.wait_for_selector("#saved:text-is('saved')")
        shoot(tab, folder / f"{key}.png")
        if tab.is_visible("#editor"):
            tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    tab.wait_for_selector("#mine-list button")
    tab.locator("#mine").screenshot(path=folder / "mine.png")
    tab.keyboard.press("Escape")
    context.set_offline(True)
    for _ in range(3):
        tab.keyboard.press("1")
    tab.wait_for_selector("#saved[data-state=offline]")
    tab.emulate_media(color_scheme="dark")
    shoot(tab, folder / "offline-dark.png")
    context.set_offline(False)
    tab.wait_for_selector("#saved:text-is('saved')")
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size({"width": 320, "height": 640})
    tab.evaluate("() => { location.hash = 'answers'; }")
    tab.wait_for_selector("#work:not([hidden])")
    tab.wait_for_timeout(150)
    shoot(tab, folder / "phone.png")
    context.close()


def is_right(tab: Page) -> bool:
    """Whether the translation is the reference itself."""
    shown = {
        given.locator("h3").inner_text(): given.locator(".text").inner_text()
        for given in tab.locator(".given").all()
    }
    return shown["translation"] == shown["reference"]


def training(tab: Page, folder: Path) -> None:
    """Answer the training items; the picture is of one that is answered wrongly."""
    for _ in range(3):
        tab.wait_for_selector("#banner:has-text('Training')")
        tab.keyboard.press("2")
        tab.wait_for_selector("#feedback[data-right]:not([data-right=''])")
        if tab.get_attribute("#feedback", "data-right") == "false":
            shoot(tab, folder / "training.png")
        before = tab.get_attribute("#item", "data-item")
        tab.keyboard.press("Enter")
        tab.wait_for_function("b => document.querySelector('#item').dataset.item !== b", arg=before)


def coordinating(browser: Browser, link: str, url: str, folder: Path) -> None:
    context = browser.new_context(viewport={"width": WIDTH, "height": 900})
    tab = context.new_page()
    tab.goto(link)
    tab.wait_for_selector("html[data-ready]")
    shoot(tab, folder / "dashboard.png")
    tab.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    tab.evaluate("document.querySelector('#judges-title').scrollIntoView()")
    shoot(tab, folder / "judges.png")
    tab.set_viewport_size({"width": WIDTH, "height": 800})
    tab.goto(f"{url}/disputes#answers")
    tab.wait_for_selector("html[data-ready]")
    shoot(tab, folder / "disputes.png")
    tab.goto(f"{url}/people")
    tab.wait_for_selector("html[data-ready]")
    tab.fill("#name", "fay")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#link", state="visible")
    shoot(tab, folder / "people.png")
    context.close()


def shoot(tab: Page, path: Path) -> None:
    tab.wait_for_timeout(60)
    tab.screenshot(path=path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
