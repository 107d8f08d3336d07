"""The course of trainings: every value at its place, names readable, damaged logs told apart."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.errors import NmtError
from boxpen.report.html.axes import Axes, apart, axes_around, name_of, short, style_of, ticks
from boxpen.report.training.plot import METRICS, read_log, training_svg

LOG = [
    {"step": 50, "loss": 6.0, "learning_rate": 0.0005, "tokens_per_second": 90_000},
    {"step": 100, "loss": 4.0, "learning_rate": 0.0005, "tokens_per_second": 110_000},
    {"step": 100, "valid_loss": 3.5, "bleu": 12.5},
    {"step": 200, "loss": 3.0, "learning_rate": 0.0005, "tokens_per_second": 100_000},
    {"step": 200, "valid_loss": 3.0, "bleu": None},
]
CLASSIFIER = [
    {"step": 50, "loss": 0.6, "items_per_second": 900},
    {"step": 50, "valid_loss": 0.5, "accuracy": 0.75},
]
finite = st.floats(-1e6, 1e6)


def drawn_points(svg: str) -> list[list[tuple[float, float]]]:
    """Return the corners of every line."""
    lines = re.findall(r'<polyline class="[^"]*" points="([^"]*)"', svg)
    return [[tuple(map(float, p.split(","))) for p in line.split()] for line in lines]


def test_every_value_stands_at_its_step():
    (line,) = drawn_points(training_svg({"a": LOG}, "loss"))
    (x0, y0), (x1, y1), (x2, y2) = line
    assert (x2 - x1) == pytest.approx(2 * (x1 - x0), abs=0.2), "100 and 50 steps"
    assert (y1 - y0) == pytest.approx(2 * (y2 - y1), abs=0.2), "down by 2, then by 1"
    assert y0 < y1 < y2


def test_trainings_share_the_axes():
    shorter = [{"step": 100, "loss": 4.0}]
    one, other = drawn_points(training_svg({"a": LOG, "b": shorter}, "loss"))
    assert other == [one[1]]


def test_lines_of_another_kind_are_passed_over():
    assert len(drawn_points(training_svg({"a": LOG}, "valid_loss"))[0]) == 2
    assert len(drawn_points(training_svg({"a": LOG}, "bleu"))[0]) == 1


def test_a_value_that_is_no_number_is_not_drawn():
    log = [*LOG, {"step": 250, "loss": math.nan}, {"step": 300, "loss": math.inf}]
    assert training_svg({"a": log}, "loss") == training_svg({"a": LOG}, "loss")


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_is_a_drawing_for_light_and_dark(metric):
    log = CLASSIFIER if metric in ("accuracy", "items_per_second") else LOG
    svg = training_svg({"<a> & b": log, "other": LOG[1:] if log is LOG else log}, metric)
    ET.fromstring(svg)
    assert METRICS[metric] in svg
    assert "prefers-color-scheme:dark" in svg
    assert ">&lt;a&gt; &amp; b</text>" in svg
    assert ">steps</text>" in svg


def test_a_value_that_stays_the_same_has_an_axis():
    labels = re.findall(r'class="end">([^<]+)<', training_svg({"a": LOG}, "learning_rate"))
    assert "0.0005" in labels
    assert all(0.0004 < float(label) < 0.0006 for label in labels)


def test_marks_are_whole_steps():
    svg = training_svg({"a": [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}]}, "loss")
    assert re.findall(r'class="mid">([^<]+)<', svg) == ["0", "1", "2", "steps"]


def test_dots_only_where_they_do_not_hide_the_line():
    many = [{"step": step, "loss": 1 / step} for step in range(1, 1000)]
    assert training_svg({"a": many}, "loss").count("<circle") == 0
    assert training_svg({"a": many[:5]}, "loss").count("<circle") == 5


def test_a_training_that_has_not_moved_can_be_drawn():
    assert "<circle" in training_svg({"a": [{"step": 0, "valid_loss": 9.0}]}, "valid_loss")


@pytest.mark.parametrize(
    ("logs", "metric", "says"),
    [
        ({"a": LOG}, "los", "no metric 'los', did you mean 'loss'"),
        ({}, "loss", "no training is given"),
        ({"a": LOG, "b": LOG[:2]}, "bleu",
         "the log of 'b' has no 'bleu' yet; it has loss, learning_rate, tokens_per_second"),
        ({"a": []}, "loss", "the log of 'a' has no 'loss' yet; it is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(logs, metric, says):
    with pytest.raises(NmtError, match=re.escape(says)):
        training_svg(logs, metric)


def text_of(log) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in log)


def test_a_log_is_read_back(tmp_path):
    (tmp_path / "log.jsonl").write_text(text_of(LOG), "utf-8")
    assert read_log(tmp_path) == LOG


def test_whatever_is_cut_off_the_lines_before_are_read(tmp_path):
    whole = text_of(LOG).encode()
    for end in range(len(whole)):
        (tmp_path / "log.jsonl").write_bytes(whole[:end])
        lines = whole[:end].split(b"\n")
        complete = whole[end : end + 1] == b"\n"  # only the end of the line is missing
        assert read_log(tmp_path) == LOG[: len(lines) - 1 + complete]


@pytest.mark.parametrize("damaged", ["{", "[1]", '{"loss": 1}', '{"step": "3"}', "\x00", ""])
def test_another_damaged_line_is_named(damaged, tmp_path):
    (tmp_path / "log.jsonl").write_text(f"{text_of(LOG[:2])}{damaged}\n{text_of(LOG[2:])}", "utf-8")
    with pytest.raises(NmtError, match=r"log\.jsonl line 3 is damaged"):
        read_log(tmp_path)


def test_a_missing_log_is_one_sentence(tmp_path):
    with pytest.raises(NmtError, match=r"nowhere has no log\.jsonl, expected the folder"):
        read_log(tmp_path / "nowhere")
    (tmp_path / "log.jsonl").mkdir()
    with pytest.raises(NmtError, match=r"log\.jsonl cannot be read: Is a directory"):
        read_log(tmp_path)


@given(st.lists(finite, min_size=1), st.lists(st.floats(1, 1e9), min_size=1), st.booleans())
def test_everything_is_inside_of_the_axes(up, across, logarithmic):
    axes = axes_around(across, up, logarithmic=logarithmic)
    for value in up:
        assert 24 <= axes.y(value) <= 348
    for value in across:
        assert 64 <= axes.x(value) <= 550


def test_a_logarithmic_axis_has_equal_ratios():
    axes = Axes(1, 100, 0, 1, logarithmic=True)
    assert axes.x(10) == pytest.approx((axes.x(1) + axes.x(100)) / 2)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_even(low, span):
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 8
    steps = [b - a for a, b in pairwise(found)]
    assert max(steps) - min(steps) <= 1e-8 * max(1.0, *map(abs, found))


@given(st.lists(st.floats(24, 348), max_size=20))
def test_names_do_not_cover_each_other_nor_leave_the_drawing(heights):
    moved = apart(heights)
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    for above, below in pairwise(order):
        assert moved[below] - moved[above] >= 16 - 1e-9
    assert all(0 < height <= 392 for height in moved)


def test_names_with_room_stay_where_they_are():
    assert apart([100.0, 20.0, 60.0]) == [100.0, 20.0, 60.0]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (100, "100"), (632_716, "633k"), (999_999, "1M"), (1.5e9, "1.5G"),
     (0.0625, "0.0625"), (-2500, "-2.5k"), (100_000, "100k")],
)  # fmt: skip
def test_numbers_are_short(number, text):
    assert short(number) == text


def test_labels_of_the_grid_are_exact():
    log = [{"step": n, "tokens_per_second": rate} for n, rate in enumerate((21_430, 22_942))]
    svg = training_svg({"a": log}, "tokens_per_second")
    grid = [float(d) for d in re.findall(r'class="grid" d="M64,([\d.]+)H', svg)]
    labels = [float(k) for k in re.findall(r'class="end">([\d.]+)k<', svg)]
    assert 22.25 in labels
    slopes = [
        (b - a) / (d - c) for (a, b), (c, d) in zip(pairwise(labels), pairwise(grid), strict=True)
    ]
    assert max(slopes) == pytest.approx(min(slopes), rel=0.01)


def test_a_long_name_loses_its_middle_but_can_be_read():
    shown = name_of(0, "a-very-long-name-of-a-training-1", 50)
    assert ">a-very-lo…raining-1<title>a-very-long-name-of-a-training-1</title>" in shown


def test_more_lines_than_colours_are_told_apart():
    assert len({style_of(number) for number in range(10)}) == 10
    assert ">a</text>" in name_of(4, "a", 50)
    assert ">┄ a</text>" in name_of(5, "a", 50)
