"""The coordinator's pages in a real Chromium: dashboard, disputes, people."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from browsing import HOSTILE, Tab, axe_source

from boxpen.analysis.tagging import TagTask
from boxpen.items import Suite
from boxpen.review.journal import Journal

BETTER = "a fruit"
sample = pytest.importorskip("review_sample", reason="boxpen[review] is not installed")


@pytest.fixture
def served(tmp_path) -> Iterator:
    """Three judges who answer, two who filter triples; they agree on most."""
    free = TagTask(Suite("free", tuple(sample.starter("sense-00")[:2])), "mood")
    tasks = [sample.answer_task(most=8), sample.TASKS["triples"](), sample.error_task(), free]
    with sample.Served(tasks, tmp_path, name="Spring") as served:
        served.links = {name: served.link(name) for name in ("ann", "bo", "cy")}
        served.chief = served.link("dee", "coordinator")
        yield served


def say(served, key: str, judge: str, verdicts: list[str], comment: str = "") -> None:
    """Judge the items of a task in the order of the target, as a page would."""
    one = served.campaign.tasks[key]
    wanted = dict(zip((q.item for q in one.progress.questions), verdicts, strict=True))

    def answer(question):
        verdict, options = wanted[question["item"]], question["options"]
        shown = {o.verdict: o.text for o in one.progress.questions[
            one.progress.index[question["item"]]].options}  # fmt: skip
        numbers = [o["number"] for o in options if o["text"] == shown.get(verdict)]
        edit = BETTER if verdict == "edit" else ""
        return {"answer": numbers[0] if options else verdict, "edit": edit, "comment": comment}

    sample.ScriptedJudge(served.links[judge]).judge(key, answer)


@pytest.fixture
def judged(served):
    for judge, verdicts in (("ann", "12121212"), ("bo", "12121211"), ("cy", "12121221")):
        say(served, "answers", judge, list(verdicts), f"{HOSTILE} says {judge}")
    say(served, "triples", "ann", ["accept"] * 6)
    say(served, "triples", "bo", ["accept"] * 4 + ["reject", "edit"])
    return served


@pytest.fixture
def opened(browser) -> Iterator:
    tabs: list[Tab] = []

    def open_link(url: str, **options) -> Tab:
        tabs.append(Tab(browser.new_context(**options), url))
        return tabs[-1]

    yield open_link
    for tab in tabs:
        assert tab.complaints == []
        assert tab.page.evaluate("window.__pwned ?? null") is None
        tab.context.close()


def api(tab: Tab, path: str):
    return json.loads(tab.page.evaluate("p => fetch(p).then(r => r.text())", path))


def test_the_dashboard_shows_the_numbers_of_the_api(opened, judged):
    tab = opened(judged.chief)
    data = api(tab, "api/dashboard")
    assert tab.text("#campaign") == "Spring"
    for task in data["tasks"]:
        card = tab.page.locator(f"[data-task={task['key']}]")
        figures = [
            card.locator(f"[data-figure='{name}']").inner_text()
            for name in ("judgements", "finished", "in dispute", "open")
        ]
        expected = (task["judgements"], task["finished"], task["disputed"], task["open"])
        assert figures == [f"{n:,}" for n in expected]
        rows = card.locator(".agreement tbody tr").all()
        assert len(rows) == len(task["agreement"])
        for row, one in zip(rows, task["agreement"], strict=True):
            shown = row.inner_text()
            assert one["name"] in shown
            value = "–" if one["value"] is None else f"{one['value']:.2f}".replace("-", "−")
            assert value in shown
            assert (one["warning"] or "") in card.inner_text()
            drawn = row.locator("svg.gauge").count()
            assert drawn == (one["value"] is not None)
    assert data["tasks"][0]["judgements"] == 24
    assert data["tasks"][0]["disputed"] == 2
    rows = {r.inner_text().split("\t")[0]: r for r in tab.page.locator(".judges tbody tr").all()}
    assert len(data["judges"]) == 3 * 4  # judges and tasks
    assert {"ann", "bo", "cy"} <= {name.strip() for name in rows}
    first = next(one for one in data["judges"] if one["task"] == "answers")
    assert f"{first['done']} of {first['total']}" in tab.text(".judges")


def test_the_dashboard_follows_without_jumping(opened, served):
    tab = opened(served.chief, viewport={"width": 800, "height": 400})
    before = tab.page.locator("[data-task=answers] [data-figure=judgements]")
    assert before.inner_text() == "0"
    tab.page.evaluate("window.scrollTo(0, 300)")
    tab.page.evaluate("window.__card = document.querySelector('[data-task=triples]')")
    tab.page.focus("[data-task=triples] a")
    say(served, "answers", "ann", ["1"] * 8)
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # update now
    tab.until(
        "() => document.querySelector('[data-task=answers] [data-figure=judgements]')"
        ".textContent === '8'"
    )
    assert tab.page.evaluate("window.scrollY") == 300
    assert tab.page.evaluate("window.__card === document.querySelector('[data-task=triples]')")
    assert tab.page.evaluate("window.__card.contains(document.activeElement)")


def test_the_app_works_below_any_path(opened, tmp_path):
    with sample.Served([sample.answer_task(most=3)], tmp_path, mount="/lab/judge") as below:
        tab = opened(below.link("ann"))
        tab.begin()
        items = [tab.judged("1") for _ in range(3)]
        tab.page.wait_for_selector("#finished", state="visible")
        tab.saved()
        assert [row.item for row in below.rows("ann")] == items
        chief = opened(below.link("dee", "coordinator"))
        assert chief.page.url == f"{below.url}/dashboard"
        chief.page.click("text=People")
        chief.page.wait_for_selector("tr:has-text('ann')")


def test_export_is_the_journal(opened, judged, tmp_path):
    tab = opened(judged.chief)
    with tab.page.expect_download() as started:
        tab.page.click("[data-task=answers] a[download]")
    path = tmp_path / "answers.jsonl"
    started.value.save_as(path)
    found = Journal(path).read().judgements
    assert len(found) == 24
    assert {one.judge for one in found} == {"ann", "bo", "cy"}


def test_disputes_are_decided_by_keyboard(opened, judged):
    tab = opened(judged.link("eve", "adjudicator"))
    assert tab.page.url.endswith("/disputes")
    assert not tab.page.is_visible("#to-people")
    assert "1 of 2, 2 items open" in tab.text("#place")
    (one, two) = api(tab, "api/disputes?task=answers")["disputes"]
    assert tab.item == one["question"]["item"]
    votes = tab.text("#votes")
    for vote in one["votes"]:
        assert vote["judge"] in votes
        assert vote["label"] in votes
        assert f"{HOSTILE} says {vote['judge']}" in votes
    assert tab.page.locator("#choices mark").count() > 0  # what differs between the candidates
    tab.press("2")
    tab.until("i => document.querySelector('#item').dataset.item === i", two["question"]["item"])
    tab.press("u")
    tab.until("i => document.querySelector('#item').dataset.item === i", one["question"]["item"])
    tab.press("j", "k", "1", "ArrowDown", "Enter")
    tab.saved()
    tab.until("() => document.querySelector('#place').textContent.includes('0 items open')")
    decided = api(tab, "api/disputes?task=answers")["disputes"]
    assert [d["decided"] for d in decided] == ["1", "1"]
    kinds = {row.kind for row in judged.rows("eve")}
    assert kinds == {"decide"}
    tab.page.select_option("#task", "triples")
    tab.until("() => document.querySelector('#prompt').textContent !== ''")
    items = [d["question"]["item"] for d in api(tab, "api/disputes?task=triples")["disputes"]]
    tab.until("i => document.querySelector('#item').dataset.item === i", items[0])
    tab.press("j")
    tab.until("i => document.querySelector('#item').dataset.item === i", items[1])
    assert BETTER in tab.text("#votes")
    tab.press("2")
    assert tab.page.input_value("#edit") == BETTER
    tab.page.fill("#edit", "a building block")
    tab.press("Enter")
    tab.saved()
    last = judged.rows("eve")[-1]
    assert (last.item, last.verdict, last.edit) == (items[1], "edit", "a building block")
    for judge in ("ann", "bo"):
        say(judged, "tags", judge, [f"said by {judge}", "both"])
    tab.page.select_option("#task", "tags")
    tab.page.fill("#edit", "physics")
    tab.page.press("#edit", "Enter")
    tab.until("() => document.querySelector('#place').textContent.includes('1 of 1, 0 items')")
    tab.saved()
    assert [d["decided"] for d in api(tab, "api/disputes?task=tags")["disputes"]] == ["physics"]


def test_people_come_and_go(opened, served, browser):
    tab = opened(served.chief)
    tab.page.goto(f"{served.url}/people")
    tab.page.wait_for_selector("html[data-ready]")
    name = f"<b>{HOSTILE[:60]}"
    tab.page.fill("#name", name)
    tab.press("Enter")
    tab.page.wait_for_selector("#link", state="visible")
    link = tab.page.input_value("#link-text")
    assert link.startswith(f"{served.url}/enter#")
    assert name in tab.text("#link-title")
    assert tab.overflow() == 0
    tab.page.click("#copy")
    tab.page.wait_for_selector("#copy:text-is('Copied')")
    tab.page.click("#link-close")
    assert tab.page.input_value("#link-text") == ""
    guest = opened(link)
    assert guest.text("#who") == name
    row = tab.page.locator("tr", has_text="<b>")
    row.get_by_text("Revoke").click()
    tab.page.wait_for_selector("tr.revoked")
    assert any("Revoke the link of" in asked for asked in tab.dialogs)
    guest.page.reload()
    guest.page.wait_for_selector("text=Open your personal link")
    row.get_by_text("New link").click()
    tab.page.wait_for_selector("#link", state="visible")
    new = tab.page.input_value("#link-text")
    assert new != link
    old = Tab(browser.new_context(), link, ready=False)
    old.page.wait_for_selector("text=This link does not work")
    old.context.close()
    tab.page.fill("#name", "ann")
    tab.page.click("#add button")
    tab.page.wait_for_selector("#trouble", state="visible")
    assert "already" in tab.text("#trouble")


def test_nothing_serious_for_axe_on_any_page_or_phone(opened, judged):
    source = axe_source()
    tab = opened(judged.chief)
    found = {}
    for page in ("dashboard", "disputes", "people"):
        tab.page.set_viewport_size({"width": 320, "height": 640})
        tab.page.goto(f"{judged.url}/{page}")
        tab.page.wait_for_selector("html[data-ready]")
        assert tab.overflow() == 0, page
        tab.page.set_viewport_size({"width": 1000, "height": 700})
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            found[page, scheme] = tab.findings(source)
    assert {shown: some for shown, some in found.items() if some} == {}
