"""Judging in a real Chromium: by keyboard, on a phone, offline, in two tabs, with hostile texts."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from browsing import HOSTILE, Tab, axe_source, luminance

import boxpen
from boxpen import Card, Choice, Suite
from boxpen.analysis.suites.wrong_candidates import WrongCandidateTask
from boxpen.analysis.tagging import TagTask
from boxpen.review import Journal
from boxpen.review.answers import AnswerTask

Error = pytest.importorskip("playwright.sync_api").Error
sample = pytest.importorskip("review_sample", reason="boxpen[review] is not installed")

NAMES = (f"judge {n}" for n in count())
ARABIC = "الصندوق في القلم"
LONG = "pneumono" * 60


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator:
    """All nine tasks."""
    tasks = [make() for make in sample.TASKS.values()]
    with sample.Served(tasks, tmp_path_factory.mktemp("nine")) as served:
        yield served


def odd_suite() -> Suite:
    texts = [
        (f"The pig is in the pen. {HOSTILE}", f"The pig is in the box. {HOSTILE}"),
        (ARABIC, f"{ARABIC} {ARABIC}"),
        ("猫在箱子里睡觉。", "猫在钢笔里睡觉。"),
        (LONG, f"{LONG}s"),
        ("word " * 4000, "word " * 3999 + "sword"),
    ]
    items = tuple(
        Choice(id=f"{n},/{n or HOSTILE}", candidates=pair, gold=0, context=pair[0])
        for n, pair in enumerate(texts)
    )
    return Suite("odd", items, Card(language="en"))


@pytest.fixture(scope="module")
def odd(tmp_path_factory) -> Iterator:
    """Gold items, hostile and long texts, free answers."""
    trained = sample.answer_task("mt-la-0", 8)
    gold = sample.gold_of(trained, 2, "Glass noodles are food; fans are not.")
    free = TagTask(Suite("free", tuple(small_items(3))), "topic")
    tasks = [(trained, gold), AnswerTask(odd_suite()), free, sample.many_answers(120)]
    with sample.Served(tasks, tmp_path_factory.mktemp("odd"), name=HOSTILE) as served:
        served.right = {item.id: choice.candidates[choice.gold] for item, choice in trained.choices}
        yield served


def small_items(number: int) -> list[Choice]:
    return [replace(item, tags={}) for item in sample.starter("sense-00")[:number]]


@pytest.fixture
def opened(browser) -> Iterator:
    """Opens links; afterwards no page may have complained, asked or run a text."""
    tabs: list[Tab] = []

    def open_link(url: str, context=None, **options) -> Tab:
        context = context or browser.new_context(**options)
        tabs.append(Tab(context, url))
        return tabs[-1]

    yield open_link
    for tab in tabs:
        assert tab.complaints == []
        assert tab.harm() == []
    for context in {tab.context for tab in tabs}:
        context.close()


def entered(opened, served, key: str, **options) -> tuple[Tab, str]:
    """A new judge at the first item of a task."""
    name = next(NAMES)
    tab = opened(served.link(name), **options)
    tab.page.evaluate("key => { location.hash = key; }", key)
    tab.begin()
    return tab, name


VERDICTS = ("accept", "reject", "accept", "reject", "accept")
EDITS = {"triples": "eat soup", "wrong-answers": "a kettle", "wordings": "A spoon stirs soup.",
         "candidates": "今晚欢迎你来。"}  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(k, marks=[pytest.mark.heavy] if n % 3 else [])
        for n, k in enumerate(sample.TASKS)
    ],
)
def test_every_task_is_judged_by_keyboard_alone(opened, served, key):
    name = next(NAMES)
    tab = opened(served.link(name))
    task = served.campaign.tasks[key].task
    total = len(task.questions())
    tab.press(str(list(sample.TASKS).index(key) + 1))
    tab.begin()
    assert tab.text("#count") == f"0 of {total}"
    expected = {}
    for n in range(min(total, 6)):
        if key == "answers" or (key == "duals" and n != 1):
            verdicts = {q.item: {o.text: o.verdict for o in q.options} for q in task.questions()}
            item, text = tab.item, tab.options()[n % 2]
            tab.judged(str(n % 2 + 1))
            expected[item] = verdicts[item][text], ""
        elif n == 0 and key in EDITS:
            tab.press("2")
            tab.page.wait_for_selector("#editor", state="visible")
            tab.press("Control+a")
            tab.page.keyboard.insert_text(EDITS[key])
            expected[tab.judged("Enter")] = "edit", EDITS[key]
        elif key == "errors" and n % 2:
            expected[tab.judged("4", "2", "3", "3", "Enter")] = "common sense+other", ""
        elif n == 1:
            last = list(task.verdicts.forms)[-1]
            expected[tab.judged("ArrowUp", "Enter")] = last, ""
        else:
            expected[tab.judged("1")] = next(iter(task.verdicts.forms)), ""
    if total <= 6:
        tab.page.wait_for_selector("#finished", state="visible")
        assert name in tab.text("#thanks")
    tab.saved()
    rows = served.rows(name)
    assert {row.item: (row.verdict, row.edit) for row in rows} == expected
    assert len(rows) == len(expected)
    assert all(row.ms >= 0 for row in rows)


def test_the_wrong_answers_of_a_suite_take_one_key_each(opened, tmp_path):
    graph = boxpen.load_suite("starter-graph")
    few = graph.take([item for item in graph if item.block == "graph-usedfor-01"])
    task = WrongCandidateTask(few, Journal(tmp_path / "wrong.jsonl"))
    with sample.Served([task], tmp_path) as served:
        tab = opened(served.link("ann"))
        tab.begin()
        assert tab.text("#count") == "0 of 5"  # of ten items in two forms
        expected = {
            tab.judged(key): verdict for key, verdict in zip("12121", VERDICTS, strict=True)
        }
        tab.page.wait_for_selector("#finished", state="visible")
        tab.saved()
        assert {row.item: row.verdict for row in served.rows("ann")} == expected


def test_instructions_and_keys_are_one_key_away(opened, served):
    tab, _ = entered(opened, served, "triples")
    tab.press("i")
    assert tab.page.is_visible("#instructions")
    tab.press("1")  # means nothing here
    tab.press("Escape", "?")
    assert "take the last answer back" in tab.text("#keys")
    tab.press("Escape")
    assert tab.text("#count").startswith("0 of")
    tab.page.reload()
    tab.page.wait_for_selector("html[data-ready]")
    assert not tab.page.is_visible("#instructions")  # read already


def test_undo_has_no_end(opened, served):
    tab, name = entered(opened, served, "duals")
    items = [tab.judged("1") for _ in range(4)]
    for item in reversed(items[2:]):
        tab.press("u")
        tab.until("i => document.querySelector('#item').dataset.item === i", item)
        assert tab.page.get_attribute("#choices button >> nth=0", "aria-checked") == "true"
    tab.saved()
    tab.page.reload()  # undo reaches back to earlier visits
    tab.page.wait_for_selector("html[data-ready]")
    tab.press("u")
    tab.until("i => document.querySelector('#item').dataset.item === i", items[1])
    tab.press("u")
    tab.until("i => document.querySelector('#item').dataset.item === i", items[0])
    tab.saved()
    assert tab.text("#count").startswith("0 of")
    tab.press("u")
    tab.page.wait_for_selector("text=There is nothing to undo.")
    last = {row.item: row.verdict for row in served.rows(name)}
    assert last == dict.fromkeys(items, "")
    assert tab.judged("3") == items[0]
    tab.saved()
    assert [row.verdict for row in served.rows(name) if row.item == items[0]][-1] == "both"


def test_skipped_items_come_again_at_the_end(opened, served):
    tab, name = entered(opened, served, "candidates")
    first = tab.judged("s")
    seen = [tab.judged("1") for _ in range(3)]
    assert first not in seen
    tab.page.wait_for_selector("#work", state="visible")
    assert tab.judged("1") == first
    tab.page.wait_for_selector("#finished", state="visible")
    tab.saved()
    assert Counter(row.item for row in served.rows(name) if row.verdict) == Counter([first, *seen])


def test_comments_and_fields_take_letters_not_shortcuts(opened, served):
    tab, name = entered(opened, served, "classes")
    item = tab.item
    tab.press("c")
    tab.page.keyboard.type("1us? it is fine/")
    tab.page.evaluate(  # an input method sends Enter to choose a word
        """() => document.querySelector('#comment').dispatchEvent(new KeyboardEvent('keydown',
           {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"""
    )
    assert tab.page.evaluate("document.activeElement.id") == "comment"
    tab.press("Enter")
    assert tab.item == item
    tab.judged("2")
    tab.saved()
    (row,) = served.rows(name)
    assert (row.item, row.verdict, row.comment) == (item, "wrong", "1us? it is fine/")


def test_own_answers_are_found_and_changed(opened, served):
    tab, name = entered(opened, served, "answers")
    chosen = {}
    for _ in range(3):
        text = tab.options()[0]
        chosen[tab.judged("1")] = text
    here, (item, text) = tab.item, next(iter(chosen.items()))
    tab.press("/")
    tab.page.keyboard.type(text[:40])
    tab.until("() => document.querySelectorAll('#mine-list li').length === 1")
    tab.press("ArrowDown", "Enter")
    tab.until("i => document.querySelector('#item').dataset.item === i", item)
    assert "answered this earlier" in tab.text("#banner")
    assert tab.page.get_attribute("#choices button >> nth=0", "aria-checked") == "true"
    tab.judged("2")
    assert tab.item == here  # back to where it was
    assert tab.text("#count").startswith("3 of")
    tab.saved()
    assert [row.item for row in served.rows(name)].count(item) == 2  # the history is kept
    tab.press("/")
    tab.page.wait_for_selector("#mine-list button")
    tab.press("ArrowDown", "ArrowDown", "Enter")
    tab.until("i => document.querySelector('#item').dataset.item !== i", here)
    tab.press("Escape")
    tab.until("i => document.querySelector('#item').dataset.item === i", here)
    assert len(served.rows(name)) == 4


def test_a_late_reply_to_a_search_leaves_the_focus_where_it_is(opened, served):
    tab, _ = entered(opened, served, "answers")
    items = [tab.judged("1") for _ in range(3)]
    tab.press("/")
    tab.page.wait_for_selector("#mine-list button")
    tab.press("ArrowDown", "ArrowDown")
    tab.page.evaluate("document.querySelector('#mine-list li:first-child').dataset.old = '1'")
    tab.page.evaluate("document.querySelector('#search').dispatchEvent(new Event('input'))")
    tab.until("() => !document.querySelector('#mine-list li[data-old]')")
    assert tab.page.evaluate("document.activeElement.closest('li').dataset.key") == items[1]


def test_an_edit_that_is_refused_stays_with_the_reason(opened, served):
    tab, name = entered(opened, served, "candidates")
    item = tab.item
    reference = tab.page.locator(".given .text").nth(4).inner_text()
    tab.press("2")
    assert tab.page.input_value("#edit") in (reference, "")
    tab.page.fill("#edit", reference)
    tab.press("Enter")
    tab.page.wait_for_selector("#edit-error", state="visible")
    assert "expected a new one" in tab.text("#edit-error")
    assert (tab.item, served.rows(name)) == (item, [])
    tab.press("Escape")
    assert tab.judged("1") == item
    tab.saved()
    assert [(row.item, row.verdict) for row in served.rows(name)] == [(item, "accept")]


def test_a_lost_connection_loses_and_doubles_nothing(opened, served):
    tab, name = entered(opened, served, "errors")
    tab.saved()
    tab.context.set_offline(True)
    items = [tab.judged("1") for _ in range(3)]
    tab.until("() => document.querySelector('#saved').textContent === 'offline, 3 answers waiting'")
    assert served.rows(name) == []
    tab.press("u")
    assert tab.judged("2", "Enter") == items[2]
    tab.context.set_offline(False)
    tab.saved()
    tab.page.wait_for_selector("#saved:text-is('saved')")
    rows = served.rows(name)
    assert [(row.item, row.verdict) for row in rows] == [
        (items[0], "right"), (items[1], "right"), (items[2], "right"), (items[2], ""),
        (items[2], "common sense"),
    ]  # fmt: skip
    assert tab.text("#count").startswith("3 of")


def test_a_reply_that_is_lost_does_not_double(opened, served):
    tab, name = entered(opened, served, "errors")
    lost: list[str] = []

    def lose(route) -> None:
        lost.append(route.request.post_data)
        if len(lost) == 1:
            route.fetch()  # the server saves, and the browser never learns it
            route.abort()
        elif len(lost) == 2:  # a proxy knows nothing of the app while it restarts
            route.fulfill(status=404, content_type="text/html", body="<h1>Not Found</h1>")
        else:
            route.continue_()

    tab.page.route("**/api/judgements", lose)
    items = [tab.judged("1"), tab.judged("1")]
    tab.saved()
    assert len(lost) > 2
    assert [row.item for row in served.rows(name)] == items


def test_more_than_is_prefetched_waits_for_the_connection(opened, served):
    tab, name = entered(opened, served, "classes")
    tab.until("() => performance.getEntriesByType('resource').some(e => /queue/.test(e.name))")
    tab.page.wait_for_load_state("networkidle")
    tab.context.set_offline(True)
    done = [tab.judged("1") for _ in range(6)]
    tab.page.wait_for_selector("#waiting", state="visible")
    assert "as soon as the connection is back" in tab.text("#waiting")
    tab.context.set_offline(False)
    tab.page.wait_for_selector("#work", state="visible")
    assert tab.item not in done
    tab.saved()
    assert [row.item for row in served.rows(name)] == done


def test_two_tabs_of_one_judge_share_the_work(opened, served, browser):
    context = browser.new_context()
    name = next(NAMES)
    one = opened(served.link(name), context)
    one.press("5")
    one.begin()
    two = opened(f"{served.url}/#duals", context)
    two.page.wait_for_selector("#work", state="visible")
    same = one.item
    assert two.item == same
    done = [one.judged("1")]
    two.until("b => document.querySelector('#item').dataset.item !== b", same)
    done += [tab.judged("3") for tab in (two, one, two)]
    for tab in (one, two):
        tab.saved()
    assert [row.item for row in served.rows(name)] == done
    assert len(set(done)) == 4
    for tab in (one, two):
        tab.until("() => document.querySelector('#count').textContent.startsWith('4 of')")


LOGGED = """
const set = Storage.prototype.setItem;
Storage.prototype.setItem = function (key, value) {
  if (/ \\d{16} /.test(key)) window.logged(key, value);
  return set.call(this, key, value);
};
"""


@pytest.mark.parametrize("locks", ["locks", "lease"])
def test_two_tabs_on_a_bad_line_lose_and_double_nothing(opened, odd, browser, locks):
    """Keys at random in two tabs, while requests and replies are lost and pages reloaded."""
    rng, line = (
        random.Random(locks),
        random.Random(f"{locks} line"),
    )  # keys, and what the line loses
    context = browser.new_context()
    if locks == "lease":  # as on a plain address in a local network
        context.add_init_script("delete Navigator.prototype.locks")
    sent: dict[str, str] = {}
    context.expose_binding(
        "logged", lambda _, key, value: sent.update({json.loads(value)["id"]: key.split(" ")[-2]})
    )
    context.add_init_script(LOGGED)

    def lose(route) -> None:
        chance = line.random()
        if chance < 0.3:
            with suppress(Error):  # a page that is reloaded has given the request up itself
                if chance < 0.15:
                    route.fetch()  # saved, and the reply is lost
                route.abort()
        else:
            route.continue_()

    name = next(NAMES)
    tabs = [opened(odd.link(name), context)]
    tabs[0].page.evaluate("() => { location.hash = 'answers-3'; }")
    tabs[0].begin()
    tabs.append(opened(f"{odd.url}/#answers-3", context))
    for tab in tabs:
        tab.page.route("**/api/judgements", lose)
    for step in range(500):
        if step >= 50 and len(sent) > 20:  # a slow machine judges less with the same keys
            break
        tab, chance = rng.choice(tabs), rng.random()
        if chance < 0.03:
            context.set_offline(True)
        elif chance < 0.1:
            context.set_offline(False)
        elif chance < 0.12:
            context.set_offline(False)
            tab.page.reload()
            tab.page.wait_for_selector("html[data-ready]")
        else:
            tab.press(rng.choice("1212121212us"))
    context.set_offline(False)
    for tab in tabs:
        tab.page.unroute("**/api/judgements")
    for tab in tabs:
        tab.saved()
    rows = odd.rows(name)
    assert sorted(row.id for row in rows) == sorted(sent)
    assert len(sent) > 20
    last: dict[str, str] = {}
    for row in rows:  # what is said last about an item is stored last
        assert last.get(row.item, "") < sent[row.id]
        last[row.item] = sent[row.id]
    judged = sum(bool(v) for v in {row.item: row.verdict for row in rows}.values())
    for tab in tabs:
        tab.until(f"() => document.querySelector('#count').textContent.startsWith('{judged} of')")


def test_answers_arrive_although_the_browser_stores_nothing(opened, served, browser):
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('denied'); }})"
    )
    name = next(NAMES)
    tab = opened(served.link(name), context)
    tab.press("1")
    tab.begin()
    item = tab.judged("1")
    tab.until("() => document.querySelector('#saved').textContent === 'saved'")
    tab.page.wait_for_function("() => document.querySelector('#volatile').hidden")
    assert [row.item for row in served.rows(name)] == [item]


def test_the_queue_outlives_the_session(opened, served):
    tab, name = entered(opened, served, "triples")
    tab.saved()
    person = next(p for p in served.campaign.people.values() if p.name == name)
    served.app.state.access.end(person.id)
    items = [tab.judged("1"), tab.judged("1")]
    tab.page.wait_for_selector("#gone", state="visible")
    assert "Open your personal link again" in tab.text("#gone")
    assert "2 answers not sent yet" in tab.text("#gone")
    assert tab.waiting() == 2
    token = served.campaign.store.renew(person, "setup")
    served.campaign.know_people()
    again = opened(f"{served.url}/enter#{token}", tab.context)
    again.saved()
    assert [row.item for row in served.rows(name)] == items
    other = opened(served.link(next(NAMES)), tab.context)  # somebody else in the same browser
    tab.judged("1")
    tab.page.wait_for_selector("#other", state="visible")
    assert other.text("#who") != name
    assert len(served.rows(name)) == 2
    assert tab.waiting() == 1


def test_the_last_answer_is_sent_when_the_page_closes(opened, served):
    tab, name = entered(opened, served, "triples")
    item = tab.judged("1")
    context = tab.context
    tab.page.close()
    spare = context.new_page()
    for _ in range(100):
        if served.rows(name):
            break
        spare.wait_for_timeout(20)
    assert [row.item for row in served.rows(name)] == [item]
    tab.page = spare


def test_training_gives_feedback(opened, odd):
    tab, name = entered(opened, odd, "answers")
    assert "Training, item 1 of 2" in tab.text("#banner")
    right = tab.options().index(odd.right[tab.item]) + 1
    first = tab.item
    tab.press(str(right))
    tab.page.wait_for_selector("#feedback[data-right=true]")
    tab.press("Enter")
    tab.until("b => document.querySelector('#item').dataset.item !== b", first)
    expected = odd.right[tab.item]
    tab.press(str(3 - (tab.options().index(expected) + 1)))
    tab.page.wait_for_selector("#feedback[data-right=false]")
    assert expected in tab.text("#feedback")
    assert "Glass noodles are food" in tab.text("#feedback")
    second = tab.item
    tab.press("Enter")
    tab.until("b => document.querySelector('#item').dataset.item !== b", second)
    assert not tab.page.is_visible("#banner")
    tab.press("u")  # answers of the training stay
    tab.page.wait_for_selector("text=There is nothing to undo.")
    assert [row.item for row in odd.rows(name)] == [first, second]


def test_hostile_and_huge_texts_do_no_harm(opened, odd):
    for width in (320, 1000):
        tab, name = entered(opened, odd, "answers-2", viewport={"width": width, "height": 700})
        seen = {}
        for _ in range(5):
            item = tab.item
            seen[item[0]] = tab.page.inner_text("#item")
            assert tab.overflow() == 0, (width, item)
            if item[0] == "1":
                texts = tab.page.locator("#choices .text")
                assert texts.first.evaluate("e => getComputedStyle(e).direction") == "rtl"
            if item[0] == "2":
                marked = [e.inner_text() for e in tab.page.locator("#choices mark").all()]
                assert sorted(marked) == ["箱子", "钢笔"]
                assert tab.page.get_attribute("#choices .text >> nth=0", "lang") == "zh"
            tab.judged("1")
        assert HOSTILE in seen["0"]
        tab.saved()
        tab.press("/")
        tab.until("() => document.querySelectorAll('#mine-list li').length === 5")
        tab.page.fill("#search", "<script>")
        tab.until("() => document.querySelectorAll('#mine-list li').length === 1")
        tab.press("ArrowDown", "Enter")
        tab.page.wait_for_selector("#work", state="visible")
        assert HOSTILE in tab.text("#item")
        assert tab.overflow() == 0
        assert len(odd.rows(name)) == 5


def test_free_answers_are_typed(opened, odd):
    tab, name = entered(opened, odd, "tags")
    tab.until("() => document.activeElement?.id === 'edit'")  # the item is there
    tab.press("Enter")
    assert "Write a text first" in tab.text("#edit-error")
    tab.page.keyboard.type("physics 1")
    item = tab.judged("Enter")
    tab.press("Escape")
    skipped = tab.judged("s")
    tab.saved()
    found = [(row.item, row.verdict) for row in odd.rows(name)]
    assert found == [(item, "physics 1"), (skipped, "")]


def test_a_phone_has_room_and_large_targets(opened, served):
    tab, name = entered(opened, served, "errors", viewport={"width": 320, "height": 640},
                        has_touch=True)  # fmt: skip
    for key in ("errors", "answers", "duals", "triples"):
        if key != "errors":
            tab.page.evaluate("key => { location.hash = key; }", key)
            tab.page.wait_for_selector("#instructions[open]")
            assert tab.overflow() == 0
            tab.begin()
        tab.page.wait_for_selector("#work", state="visible")
        assert tab.overflow() == 0, key
        shown = tab.page.locator("#choices button, .actions button, .bar button")
        for box in (e.bounding_box() for e in shown.all() if e.is_visible()):
            assert box["height"] >= 44, (key, box)
            assert box["width"] >= 44, (key, box)
    item = tab.item
    tab.page.tap("#choices button >> nth=0")
    tab.until("b => document.querySelector('#item').dataset.item !== b", item)
    tab.page.tap("#do-undo")
    tab.until("b => document.querySelector('#item').dataset.item === b", item)
    tab.saved()
    assert [row.verdict for row in served.rows(name)] == ["accept", ""]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_axe_and_dark_is_dark(opened, served, odd, scheme):
    source = axe_source()
    name = next(NAMES)
    tab = opened(served.link(name), color_scheme=scheme)
    paper = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) > 0.5) == (scheme == "light")
    found = {"chooser": tab.findings(source)}
    tab.press("4")
    tab.page.wait_for_selector("#instructions[open]")
    found["instructions"] = tab.findings(source)
    tab.begin()
    tab.judged("1")
    tab.press("c", "Enter", "2")
    found["item"] = tab.findings(source)
    tab.press("Escape", "?")
    found["keys"] = tab.findings(source)
    tab.press("Escape", "/")
    tab.page.wait_for_selector("#mine-list button")
    found["mine"] = tab.findings(source)
    tab.press("Escape")
    for _ in range(3):
        tab.judged("1")
    tab.page.wait_for_selector("#finished", state="visible")
    found["finished"] = tab.findings(source)
    tab, _ = entered(opened, odd, "answers", color_scheme=scheme)
    tab.press("1")
    tab.page.wait_for_selector("#feedback[data-right]:not([data-right=''])")
    found["feedback"] = tab.findings(source)
    tab.page.click("#theme")
    paper = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) > 0.5) != (scheme == "light")
    assert {place: some for place, some in found.items() if some} == {}


def test_screen_readers_hear_items_and_states(opened, served):
    tab, _ = entered(opened, served, "answers")
    assert tab.page.get_attribute("#choices > div", "role") == "radiogroup"
    text = tab.options()[0]
    tab.until("t => document.querySelector('#live').textContent.includes(t)", text)
    tab.judged("1")
    tab.until("() => document.querySelector('#live').textContent.startsWith('1 of')")
    tab.context.set_offline(True)
    tab.judged("1")
    tab.until("() => document.querySelector('#spoken').textContent === 'offline, 1 answer waiting'")
    tab.context.set_offline(False)
    tab.until("() => document.querySelector('#spoken').textContent === 'All answers are saved.'")
    tab.press("ArrowDown")
    style = "getComputedStyle(document.activeElement).outlineWidth"
    assert tab.page.evaluate(style) == "3px"


DIFFERENCES = """
pairs => import('./static/texts.js').then((texts) => pairs.map(([a, b]) => {
  const split = [texts.tokens(a), texts.tokens(b)];
  return [split, texts.differences(...split)];
}))
"""


def common(a: list[str], b: list[str]) -> int:
    """The length of the longest common subsequence, one row at a time."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row
        row = [0]
        for n, y in enumerate(b):
            row.append(before[n] + 1 if x == y else max(before[n + 1], row[n]))
    return row[-1]


def test_what_differs_is_all_that_differs(opened, served):
    rng = random.Random(7)
    letters = ["a", "b", "box", "pen", "’s", " ", "  ", ".", "箱", "钢", "笔", "😀", ARABIC, "\n"]
    pairs = [
        ["".join(rng.choices(letters, k=rng.randint(0, 12))) for _ in "ab"] for _ in range(300)
    ]
    pairs.append(["box in the pen", "boxes in the pen"])
    tab = opened(served.link(next(NAMES)))
    found = tab.page.evaluate(DIFFERENCES, pairs)
    for texts, (split, marks) in zip(pairs, found, strict=True):
        assert ["".join(tokens) for tokens in split] == texts
        kept = [
            [token for token, differs in zip(tokens, some, strict=True) if not differs]
            for tokens, some in zip(split, marks, strict=True)
        ]
        assert kept[0] == kept[1]
        assert len(kept[0]) == common(*split)
    assert found[-1][1][0] == [True, *[False] * 6]


def test_other_keyboards_have_the_same_keys(opened, served):
    tab, _ = entered(opened, served, "classes")

    def typed(key: str, code: str, *, shift: bool = False, **more: object) -> None:
        event = {"key": key, "code": code, "shiftKey": shift, "bubbles": True, **more}
        tab.page.evaluate(
            "e => document.body.dispatchEvent(new KeyboardEvent('keydown', e))", event
        )

    first = tab.item
    for key, code in (("é", "Digit2"), ("２", "Digit2"), ("2", "Numpad2")):
        typed(key, code)
        tab.until("b => document.querySelector('#item').dataset.item !== b", first)
        typed("г", "KeyU")  # undo on a Russian keyboard
        tab.until("b => document.querySelector('#item').dataset.item === b", first)
        assert tab.page.get_attribute("#choices button >> nth=1", "aria-checked") == "true"
    for ignored in ({"ctrlKey": True}, {"metaKey": True}, {"isComposing": True}, {"repeat": True}):
        typed("1", "Digit1", **ignored)
    assert tab.item == first
    typed("/", "Digit7", shift=True)  # on a German keyboard
    assert tab.page.is_visible("#mine")


def test_leaving_ends_the_session(opened, served):
    tab, name = entered(opened, served, "triples")
    item = tab.judged("1")
    tab.page.click("#do-leave")
    tab.page.wait_for_selector("text=Open your personal link")
    assert [row.item for row in served.rows(name)] == [item]
    tab.page.goto(served.url)
    tab.page.wait_for_selector("text=Open your personal link")


def test_a_wrong_link_says_so(opened, served, browser):
    tab = Tab(browser.new_context(), f"{served.url}/enter#nonsense", ready=False)
    tab.page.wait_for_selector("text=This link does not work")
    assert "nonsense" not in tab.page.url
    tab.page.goto(served.url)
    tab.page.wait_for_selector("text=Open your personal link")
    tab.context.close()


def test_report_and_app_have_one_look():
    looks = []
    for path in ("report/html/report.css", "review/app/static/app.css"):
        text = (Path(boxpen.__file__).parent / path).read_text("utf-8")
        lines = [line.strip() for line in text.splitlines() if line.startswith("  --")]
        looks.append(dict(line.partition(": ")[::2] for line in lines))
    shared = looks[0].keys() & looks[1].keys()
    assert len(shared) > 12
    assert {k: looks[0][k] for k in shared} == {k: looks[1][k] for k in shared}
