"""The HTML report in a real Chromium: from disk, without network, and fast with 10,000 items."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_runs import HOSTILE, SENTENCES, Labelling, made_run, suite_of, translated

from boxpen import Card, Entail, Run, Suite, evaluate
from boxpen.report.html.report import html_report
from boxpen.review.human_run import human_run
from boxpen.runs.comparison import comparable
from boxpen.runs.info import RunInfo
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, Verdict
from small_runs import human_table

ONE = made_run("++-+--++")
TWO = made_run("+++++-=+", model="two")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the report is not opened in a browser")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


class Opened:
    """A report in a tab, with all that it said and asked for."""

    def __init__(self, browser, path: Path, **context: object) -> None:
        self.context = browser.new_context(offline=True, **context)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.complaints.append(m.text))
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.set_default_timeout(15_000)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def ids(self) -> list[str]:
        return self.page.eval_on_selector_all(".item", "all => all.map(e => e.dataset.id)")

    def shows(self, expected: list[str]) -> bool:
        """Whether these items are listed, now or soon."""
        end = time.monotonic() + 5
        while self.ids() != expected and time.monotonic() < end:
            self.page.wait_for_timeout(20)
        return self.ids() == expected

    def only(self, *names: str) -> list[str]:
        self.page.click("#reset")
        for name in names:
            self.page.click(f"[data-only={name}]")
        return self.ids()


@pytest.fixture
def opened(browser, tmp_path) -> Iterator:
    """Opens runs; afterwards nothing may have been complained of or asked for."""
    tabs: list[Opened] = []

    def open_runs(runs: Sequence[Run], **context: object) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(html_report(runs, pairs=comparable(runs)[0]), "utf-8")
        tabs.append(Opened(browser, path, **context))
        return tabs[-1]

    yield open_runs
    for tab in tabs:
        asked = [url for url in tab.requests if not url.startswith("file:")]
        tab.context.close()
        assert tab.complaints == []
        assert asked == []
        assert len(tab.requests) == 1


def test_every_item_is_listed(opened):
    tab = opened([ONE, TWO])
    assert tab.ids() == [f"i{n}" for n in range(8)]
    assert tab.page.inner_text("#count") == "8 items"


def test_filters_choose_what_they_say(opened):
    tab = opened([ONE, TWO])  # one: ++-+--++, two: +++++-=+
    assert tab.only("wrong") == ["i2", "i4", "i5"]
    assert tab.only("right") == ["i0", "i1", "i3", "i6", "i7"]
    assert tab.only("inconsistent") == ["i2", "i3"]
    assert tab.only("disagree") == ["i2", "i4", "i6"]
    assert tab.only("everyone") == ["i5"]
    assert tab.only("wrong", "disagree") == ["i2", "i4"]
    tab.page.select_option("#model", label="two")
    assert tab.only("tied") == ["i6"]
    assert tab.only("inconsistent") == ["i4", "i5", "i6", "i7"]
    assert tab.only("tied", "wrong") == []
    assert "No item" in tab.page.inner_text("#list")
    assert not tab.page.is_visible("[data-only=cut]")  # nothing was


def test_search_finds_words_ids_and_tags(opened):
    tab = opened([ONE, TWO])
    for text, expected in (
        ("elephant", ["i0"]),
        ("BUTTER bread", ["i5"]),
        ("i3", ["i3"]),
        ("topic=sea", ["i2", "i5"]),
        ("b1", ["i2", "i3"]),
    ):
        tab.page.fill("#search", text)
        assert tab.shows(expected), text


def test_the_largest_margin_comes_first(opened):
    tab = opened([ONE])
    margins = {v.id: v.margin for v in ONE.verdicts}
    for order, key in (
        ("largest", lambda i: -abs(margins[i])),
        ("worst", lambda i: margins[i]),
        ("closest", lambda i: abs(margins[i])),
    ):
        tab.page.select_option("#order", order)
        assert tab.ids() == sorted(margins, key=key)


def test_slices_of_the_charts_and_cells_of_the_matrix_lead_to_their_items(opened):
    tab = opened([ONE, TWO])
    tab.page.click("svg.chart a:has-text('sea')")
    assert tab.shows(["i2", "i5"])
    tab.page.click("tr.model:nth-of-type(3) td:nth-of-type(1) a")  # accuracy of two
    assert tab.shows(["i5"])
    assert tab.page.locator("#model option:checked").inner_text() == "two"


def test_a_block_is_shown_whole(opened):
    tab = opened([ONE])
    tab.page.click(".item[data-id=i4] header button")
    assert tab.ids() == ["i4", "i5"]


def test_tokens_are_shaded_by_surprisal_and_make_the_text(opened):
    tab = opened([ONE])
    card = tab.page.locator(".item[data-id=i0]")
    scored = ONE.candidates["i0"][1]
    line = card.locator(".candidates .text").nth(1)
    assert line.inner_text() == SENTENCES[0][1]
    tokens = line.locator(".tok")
    nats = -scored.record.logprobs
    assert tokens.count() == len(nats)
    for n, b in enumerate(nats):
        shown = float(tokens.nth(n).get_attribute("title").removesuffix(" nats"))
        assert abs(shown - b) <= 0.12
    shades = [tokens.nth(n).evaluate("e => getComputedStyle(e).backgroundColor") for n in (0, 3)]
    alphas = [float(s.rpartition("/")[2].rstrip(") ")) for s in shades]
    assert (alphas[0] < alphas[1]) == bool(nats[0] < nats[3])
    assert [e.inner_text() for e in line.locator(".differs").all()] == ["elephant"]


def test_another_model_can_be_looked_at(opened):
    tab = opened([ONE, TWO])
    card = tab.page.locator(".item[data-id=i2]")
    before = card.locator(".tok").first.get_attribute("title")
    assert card.locator("li.lost").count() == 1  # one was wrong
    card.locator(".runs button", has_text="two").click()
    assert card.locator("li.lost").count() == 0
    assert card.locator(".tok").first.get_attribute("title") != before


def test_keys_turn_pages_and_find_the_search(opened):
    many = suite_of([(f"Cow {n} eats grass.", f"Cow {n} eats iron.") for n in range(45)])
    tab = opened([made_run("+-" * 22, many)])
    assert tab.page.inner_text("#page") == "1 / 3"
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("ArrowRight")
    assert tab.ids() == ["i40", "i41", "i42", "i43", "i44"]
    tab.page.keyboard.press("ArrowLeft")
    assert tab.page.inner_text("#page") == "2 / 3"
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("i4")
    assert tab.shows(["i4", "i40", "i41", "i42", "i43", "i44"])


def test_suites_can_be_changed_and_links_find_theirs(opened):
    four = suite_of(
        [tuple(f"Answer {k} to {n}" for k in range(4)) for n in range(6)], name="four", blocks=False
    )
    tab = opened([ONE, made_run("+-+-", four)])
    tab.page.select_option("#suite", label="four")
    assert tab.shows([f"i{n}" for n in range(6)])
    assert tab.page.locator(".item[data-id=i0] .candidates li").count() == 4
    assert not tab.page.is_visible("[data-only=inconsistent]")
    assert tab.only("wrong") == ["i1", "i3"]


def test_translations_are_shown(opened):
    tab = opened([translated(ONE), TWO])
    card = tab.page.inner_text(".item[data-id=i3]")
    for text in ("她在做第 3 件事。", "She does thing 3.", "She does thing 3!"):
        assert text in card


def test_translations_alone_can_be_read(opened):
    tab = opened([replace(translated(ONE), verdicts=(), candidates={})])
    assert tab.only("wrong") == []
    tab.page.click("#reset")
    assert "She does thing 7!" in tab.page.inner_text(".item[data-id=i7]")


def test_people_alone_have_a_page(opened, tmp_path):
    table = human_table(tmp_path, "item,a,b,c\ni0,0,0,1\ni1,1,1,0\n")
    tab = opened([human_run(suite_of(SENTENCES), table)])
    assert tab.only("wrong") == ["i1"]


def test_a_page_without_items_has_all_the_rest(browser, tmp_path):
    path = tmp_path / "short.html"
    path.write_text(html_report([ONE, TWO], items=False), "utf-8")
    tab = Opened(browser, path)
    tab.page.click("#theme")
    assert tab.page.locator("html").get_attribute("data-theme") == "dark"
    assert tab.page.is_visible(".matrix")
    assert tab.complaints == []
    tab.context.close()


def test_texts_do_no_harm(opened):
    suite = suite_of([(f"{HOSTILE} a{n}", f"{HOSTILE} b{n}") for n in range(4)], name=HOSTILE)
    items = [
        replace(i, id=i.id + HOSTILE, tags={HOSTILE: f"{n % 2}{HOSTILE}"})
        for n, i in enumerate(suite)
    ]
    tab = opened([made_run("+-+-", suite.take(items), model=HOSTILE)])
    assert len(tab.ids()) == 4
    assert tab.page.evaluate("window.hacked") is None
    assert tab.page.locator("img").count() == 0
    assert HOSTILE in tab.page.locator(".candidates .text").first.inner_text()
    tab.page.locator("svg.chart a").first.click()
    assert tab.shows([f"i{n}{HOSTILE}" for n in (0, 2)])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_can_be_read(opened, scheme):
    tab = opened([ONE, TWO], color_scheme=scheme)
    style = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    for selector, least in (("body", 12), (".item", 12), (".hint", 4.5), (".item header", 4.5)):
        ink = tab.page.locator(selector).first.evaluate(style)[0]
        ground = tab.page.locator("body" if selector == ".hint" else selector.split()[0]).first
        assert contrast(ink, ground.evaluate(style)[1]) >= least, selector
    paper = tab.page.locator("body").evaluate(style)[1]
    assert (luminance(paper) > 0.5) == (scheme == "light")
    tab.page.click("#theme")
    assert (luminance(tab.page.locator("body").evaluate(style)[1]) > 0.5) != (scheme == "light")


def test_a_phone_scrolls_one_way_only(opened):
    tab = opened([ONE, TWO, replace(TWO, info=renamed(TWO, "a-very-long-model-name-" * 4))],
                 viewport={"width": 400, "height": 800})  # fmt: skip
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 400


LONG = "a-model-that-was-trained-on-much-text-and-has-a-long-name"


def boxes(tab: Opened, selector: str) -> list[dict[str, float]]:
    return [e.bounding_box() for e in tab.page.locator(selector).all()]


def test_all_columns_of_comparisons_are_in_view(opened):
    runs = [ONE, TWO, *(replace(TWO, info=renamed(TWO, f"{LONG}-{n}")) for n in range(2))]
    for width in (1280, 1024, 768, 390):
        tab = opened(runs, viewport={"width": width, "height": 800})
        cells = boxes(tab, ".pairs tbody td")
        assert len(cells) == 11 * 6
        assert all(c["x"] >= 0 and c["x"] + c["width"] <= width for c in cells), width
        assert not tab.page.is_visible("#comparisons .more")
        shown = (
            tab.page.locator(".pairs tbody tr")
            .first.locator("td")
            .evaluate_all(
                "all => all.map(e => getComputedStyle(e, '::before').content.replaceAll('\"', ''))"
            )
        )
        if width < 1000:  # the names of the columns are beside the numbers
            assert {"A", "B", "test", "p", "adjusted p"} <= set(shown)
        else:
            assert set(shown) == {"none"}


def test_a_table_wider_than_the_page_says_so_and_keeps_its_first_column(opened):
    tab = opened([ONE, TWO], viewport={"width": 390, "height": 800})
    cue = tab.page.locator("#overview .more")
    assert cue.inner_text() == "scroll →"
    in_view = [
        b for b in boxes(tab, ".matrix thead tr:nth-child(2) th") if b["x"] + b["width"] <= 390
    ]
    assert len(in_view) >= 3
    name = tab.page.locator(".matrix .model th").first
    tab.page.locator("#overview .scroll").evaluate("e => e.scrollTo(1e4, 0)")
    cue.wait_for(state="hidden")
    assert name.bounding_box()["x"] >= 0
    last = boxes(tab, ".matrix thead tr:nth-child(2) th")[-1]
    assert last["x"] + last["width"] <= 390
    wide = opened([ONE, TWO], viewport={"width": 1280, "height": 800})
    assert not wide.page.is_visible("#overview .more")


def test_tables_of_all_suites_have_one_grid(opened):
    four = suite_of(
        [tuple(f"Answer {k} to {n}" for k in range(4)) for n in range(6)], name="four", blocks=False
    )
    other = suite_of([(b, a) for a, b in SENTENCES], name="other")
    tab = opened([ONE, replace(TWO, info=renamed(TWO, LONG)), made_run("+-", four),
                  made_run("+-", other)], viewport={"width": 1280, "height": 800})  # fmt: skip
    heads = tab.page.locator(".matrix").all()
    rights = [
        [round(b["x"] + b["width"]) for b in
         (e.bounding_box() for e in table.locator("thead tr:nth-child(2) th").all())]
        for table in heads
    ]  # fmt: skip
    most = max(rights, key=len)
    assert len(heads) == 4
    assert all(columns == most[: len(columns)] for columns in rights)
    labels = [table.locator("thead tr:nth-child(2)").inner_text().split("\t") for table in heads]
    assert [[t for t in line if t][:3] for line in (labels[1], labels[3])] == [
        ["Accuracy", "Consistency", "Both right"]
    ] * 2


def test_few_charts_fill_the_width_and_their_texts_stay_small(opened):
    plain = suite_of(SENTENCES, blocks=False)
    one_tag = plain.take([replace(i, tags={"set": "AB"[n % 2]}) for n, i in enumerate(plain)])
    tab = opened([made_run("+-", one_tag)], viewport={"width": 1280, "height": 800})
    room = tab.page.locator("#slices > h3").bounding_box()["width"]
    cuts = boxes(tab, "#slices .chart")
    right = max(c["x"] + c["width"] for c in cuts)
    assert right - min(c["x"] for c in cuts) >= 0.95 * room
    (margins,) = boxes(tab, "#margins .chart")
    assert margins["width"] >= 0.95 * room
    assert all(b["height"] < 20 for b in boxes(tab, ".chart text"))


def test_a_long_chart_takes_a_row_of_its_own(opened):
    many = suite_of([(f"Cow {n} eats grass.", f"Cow {n} eats iron.") for n in range(24)])
    tagged = many.take(
        [replace(i, tags={"topic": f"t{n % 12}", "set": "AB"[n % 2]}) for n, i in enumerate(many)]
    )
    tab = opened([made_run("+-" * 12, tagged)], viewport={"width": 1280, "height": 800})
    room = tab.page.locator("#slices > h3").bounding_box()["width"]
    *others, topic = boxes(tab, "#slices figure")
    assert topic["width"] == pytest.approx(room, abs=1)
    assert all(b["y"] + b["height"] <= topic["y"] + 1 for b in others)


def test_numbers_of_items_have_their_unit(opened):
    tab = opened([ONE, TWO.rescore(norm="token")])
    card = tab.page.locator(".item[data-id=i0]")
    scores = [e.inner_text() for e in card.locator(".score").all()]
    assert all(s.endswith(" nats") for s in scores)
    peaks = card.locator(".peak").evaluate_all(
        "all => all.map(e => getComputedStyle(e, '::after').content)"
    )
    assert len(peaks) == 2
    assert all(p.strip('"').endswith(" nats") for p in peaks)
    badges = [e.inner_text() for e in card.locator(".runs button").all()]
    assert [b.rpartition(" ")[2] for b in badges] == ["nats", "nats/token"]
    card.locator(".runs button").nth(1).click()
    assert card.locator(".score").first.inner_text().endswith(" nats/token")
    assert "bits" not in tab.page.inner_text("#scale")
    nats = -ONE.candidates["i0"][1].record.logprobs
    assert any(f"{v:.1f}" in " ".join(peaks) for v in nats)


def test_paper_shows_results_and_no_controls(opened):
    tab = opened([ONE, TWO], color_scheme="dark")
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert not tab.page.is_visible("nav")
    assert not tab.page.is_visible("#controls")
    assert tab.page.is_visible(".matrix")
    assert tab.page.is_visible(".item")
    ink = tab.page.locator("h1").evaluate("e => getComputedStyle(e).color")
    assert luminance(ink) < 0.1
    assert len(tab.page.pdf()) > 10_000


@pytest.mark.heavy
def test_10_000_items_and_5_models_stay_usable(browser, tmp_path):
    path = tmp_path / "big.html"
    path.write_text(html_report(large_runs(10_000, 5)), "utf-8")
    assert path.stat().st_size < 15e6
    tab = Opened(browser, path)
    paint = tab.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 3000
    start = time.monotonic()
    tab.page.click("[data-only=wrong]")
    tab.page.select_option("#order", "largest")
    assert time.monotonic() - start < 3
    assert len(tab.ids()) == 20
    assert tab.complaints == []


def large_runs(items: int, models: int) -> list[Run]:
    """Runs of many items, drawn at random: two candidates of 14 words that differ in one."""
    drawn = np.random.default_rng(7)
    letters = np.array(list("etaoinshrdlu"))
    words = [" " + "".join(drawn.choice(letters, size)) for size in drawn.integers(2, 9, 5000)]
    ids = drawn.integers(0, len(words), (items, 2, 14), dtype=np.int32)
    ids[:, 1] = ids[:, 0]
    ids[:, 1, 7] = drawn.integers(0, len(words), items)
    texts = [["".join(words[t] for t in candidate).strip() for candidate in item] for item in ids]
    runs = []
    for number in range(models):
        lost = drawn.gamma(2, 2, ids.shape).astype(np.float32)
        scores = -lost.sum(axis=2, dtype=np.float64)
        candidates, verdicts = {}, []
        for n in range(items):
            records = [Record(ids[n, c], -lost[n, c]) for c in range(2)]
            candidates[f"i{n}"] = [Scored(texts[n][c], records[c]) for c in range(2)]
            first, second = map(float, scores[n])
            verdicts.append(
                Verdict(
                    id=f"i{n}", block=f"b{n // 2}", gold=0, scores=(first, second),
                    winner=int(second > first), tied=1, credit=float(first > second),
                    margin=first - second, tags={"set": "ABC"[n % 3], "topic": str(n % 12)},
                )
            )  # fmt: skip
        info = renamed(ONE, f"model-{number}")
        runs.append(Run(info, tuple(verdicts), candidates, (), dict(enumerate(words))))
    return runs


def renamed(run: Run, name: str) -> RunInfo:
    return replace(run.info, model=replace(run.info.model, name=name, short=name))


def luminance(colour: str) -> float:
    """Relative luminance of ``rgb(…)`` (WCAG 2.2)."""
    parts = [float(p) / 255 for p in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_premise_hypothesis_and_labels(browser, tmp_path):
    items = tuple(
        Entail(
            id=f"e{n}", premise=f"Premise {n}.", hypothesis=answer, label="entailment", also=also
        )
        for n, (answer, also) in enumerate(
            (("e it is", ()), ("n it is", ()), ("c it is", ("neutral",)))
        )
    )
    suite = Suite("pairs", items, Card(language="en"))
    runs = [
        evaluate(Labelling("one"), suite, cache=":memory:", nli=nli) for nli in ("3-way", "2-way")
    ]
    path = tmp_path / "pairs.html"
    path.write_text(html_report(runs), "utf-8")
    opened = Opened(browser, path)
    assert opened.complaints == []
    card = opened.page.inner_text("[data-id=e1]")
    assert "Premise 1." in card
    assert "n it is" in card
    labels = "[data-id=e1] .candidates li"
    shown = opened.page.eval_on_selector_all(labels, "all => all.map(e => e.innerText)")
    assert ["entailment" in shown[0], "neutral" in shown[1], "contradiction" in shown[2]] == [
        True
    ] * 3
    assert "chosen" in shown[1]
    right = ".candidates li.gold .text"
    assert opened.page.locator(f"[data-id=e1] {right}").all_inner_texts() == ["entailment"]
    both = opened.page.locator(f"[data-id=e2] {right}").all_inner_texts()
    assert both == ["entailment", "neutral"]
    assert opened.only("wrong") == ["e1", "e2"]
    opened.page.select_option("#suite", "1")
    opened.page.click("#reset")
    assert opened.page.locator("[data-id=e1] .candidates li").count() == 2
    opened.page.fill("#search", "premise 2")
    assert opened.shows(["e2"])
