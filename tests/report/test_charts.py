"""Charts put every number where it belongs."""

import math
import re
from xml.etree import ElementTree

from boxpen.metrics.intervals import Estimate
from boxpen.report.html.charts import Dots, Series, dot_chart, histogram, interval_glyph, marker

NAN = Estimate(math.nan, math.nan, math.nan, 0)
SERIES = [Series("one", 0), Series("people", -1)]


def drawn(svg) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg))


def classed(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [e for e in root.iter() if name in e.get("class", "").split()]


def xs(path: str) -> list[float]:
    """The x of a move and of the horizontal line after it."""
    start = re.match(r"M([\d.]+) ", path)
    end = re.search(r"H([\d.]+)", path)
    return [float(m[1]) for m in (start, end) if m]


def test_bars_are_linear_between_0_and_100_percent():
    rows = [
        Dots("all", 0.5, [Estimate(0.5, 0.0, 1.0, 9), Estimate(0.5, 0.25, 0.75, 9)]),
        Dots("none", 0.5, [NAN, NAN]),
    ]
    root = drawn(dot_chart("c", rows, SERIES))
    wide, half = [(e.get("x1"), e.get("x2")) for e in classed(root, "bar")]
    ticks = {e.text: e.get("x") for e in classed(root, "tick")}
    assert wide == (ticks["0"], ticks["100"])
    assert half == (ticks["25"], ticks["75"])
    chance = classed(root, "chance")[0]
    assert chance.get("x1") == chance.get("x2") == ticks["50"]
    dots = [e.get("x") for e in classed(root, "at")]
    assert dots == [ticks["50"]] * 2


def test_every_run_has_its_own_number_of_items():
    estimates = [Estimate(0.5, 0.4, 0.6, 400), Estimate(0.5, 0.1, 0.9, 36)]
    root = drawn(dot_chart("c", [Dots("LA", 0.5, estimates)], SERIES))
    assert [e.text for e in classed(root, "count")] == ["400", "36"]
    root = drawn(dot_chart("c", [Dots("LA", 0.5, [estimates[1]] * 2)], SERIES))
    assert [e.text for e in classed(root, "count")] == ["36"]


def test_an_empty_slice_says_so_and_draws_nothing():
    root = drawn(dot_chart("c", [Dots("none", math.nan, [NAN, NAN])], SERIES))
    assert [e.text for e in classed(root, "empty")] == ["no items"]
    assert not classed(root, "bar")
    assert "nan" not in ElementTree.tostring(root, "unicode")


def test_a_series_without_items_in_a_slice_is_left_out_of_it():
    rows = [Dots("some", 0.5, [Estimate(0.5, 0.4, 0.6, 5), NAN])]
    root = drawn(dot_chart("c", rows, SERIES))
    assert len(classed(root, "dot")) == 1
    assert "nan" not in ElementTree.tostring(root, "unicode")


def test_labels_are_escaped_and_kept_whole_in_the_title():
    name = '<b>"&' + "long " * 20
    root = drawn(dot_chart(name, [Dots(name, 0.5, [NAN, NAN])], SERIES))
    assert root.get("aria-label") == name
    assert name in [e.text for e in root.iter() if e.tag == "title"]


def test_a_histogram_counts_every_margin_once_and_on_its_side():
    margins = [-100.0, -3.0, -0.01, 0.01, 0.4, 2.0, 9.99, 10.0, 250.0]
    root = drawn(histogram("h", margins, 10.0, Estimate(1.0, 0.5, 1.5, 9)))
    counts = dict.fromkeys(("bad", "good"), 0)
    for side in counts:
        for bar in classed(root, side):
            counts[side] += int(bar.find("title").text.rpartition(": ")[2])
    assert counts == {"bad": 3, "good": 6}
    mean = next(e for e in classed(root, "mean"))
    assert mean.find("circle").get("cx") == "55%"


def test_a_glyph_runs_from_chance_to_the_value():
    root = drawn(interval_glyph(Estimate(0.75, 0.7, 0.8, 9), 0.5, "m0"))
    assert xs(classed(root, "reach")[0].get("d")) == [50, 75]
    assert xs(classed(root, "bar")[0].get("d")) == [70, 80]


def test_32_models_have_32_signs():
    shapes = {re.sub(r"M[\d.]+ [\d.]+", "", str(marker(n))) for n in range(32)}
    assert len(shapes) == 32
