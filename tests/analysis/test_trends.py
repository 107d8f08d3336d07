"""Trends of runs: which items stand at which level, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from boxpen.analysis.trends import trends
from boxpen.errors import RunError
from boxpen.metrics.trend import trend
from boxpen.report.trends import trends_object, trends_page
from boxpen.runs.run import Run
from small_runs import small_run


def stepped(outcome: str, steps: Sequence[str], *, blocks: bool = False) -> Run:
    """A run whose item i has steps[i] steps; a dot is no tag."""
    run = small_run(outcome)
    verdicts = [
        replace(
            v,
            block=v.block if blocks else None,
            tags={**v.tags, **({"steps": s} if s != "." else {})},
        )
        for v, s in zip(run.verdicts, steps, strict=True)
    ]
    return replace(run, verdicts=tuple(verdicts))


def test_levels_stand_in_order_whatever_the_order_of_items():
    (found,) = trends(stepped("+-++-=-.".replace(".", "+"), "3112233."), "steps")
    assert [(value, right.value, right.n) for value, right in found.trend.levels] == [
        (1.0, 0.5, 2), (2.0, 0.5, 2), (3.0, 0.5, 3),
    ]  # fmt: skip
    assert (found.part, found.left_out) == ("", 1)
    assert found.chances == (0.5, 0.5, 0.5)
    assert found.trend == trend([1, 1, 2, 2, 3, 3, 3], [0, 1, 1, 0, 1, 0.5, 0])


def test_a_cross_gives_every_part_a_trend_of_its_own():
    run = stepped("+--++--+", "11223344")
    found = trends(run, "set x steps")
    assert [one.part for one in found] == ["A", "B"]
    # The even items are of A: right at 1, wrong at 2, right at 3, wrong at 4.
    assert [right.value for _, right in found[0].trend.levels] == [1, 0, 1, 0]
    assert [right.value for _, right in found[1].trend.levels] == [0, 1, 0, 1]


def test_items_in_blocks_are_permuted_in_blocks():
    run = stepped("++++++----", "1111222233", blocks=True)
    (found,) = trends(run, "steps")
    assert (found.trend.test, found.trend.exact) == ("permutation of blocks", True)
    assert trends(stepped("++++++----", "1111222233"), "steps")[0].trend.test == "Cochran-Armitage"


def test_what_is_no_number_is_refused():
    run = stepped("++--", "1231")
    refusal = "no trend by 'set': its value 'A' is not a number; expected"
    with pytest.raises(RunError, match=refusal):
        trends(run, "set")
    for odd in ("1–2", "nan", "1e", "e3", "٣", "1_0"):
        other = replace(run, verdicts=tuple(replace(v, tags={"steps": odd}) for v in run.verdicts))
        with pytest.raises(RunError, match="is not a number"):
            trends(other, "steps")
    with pytest.raises(RunError, match="all items have the value 2, expected two values or more"):
        trends(stepped("++--", "2222"), "steps")
    with pytest.raises(RunError, match="all items in A have the value 1, expected"):
        trends(stepped("++--", "1213"), "set x steps")
    with pytest.raises(RunError, match="cannot be divided by 'step'; did you mean 'steps'"):
        trends(run, "step")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("1e308", "'1e308' is too large, expected a number from -1e+100 to 1e+100"),
        ("-1E+101", "'-1E+101' is too large, expected a number"),
        ("1" + "0" * 308, f"'1{'0' * 58}…' is too large, expected a number"),
        ("1" + "0" * 400, "is too large, expected a number"),
        ("1e99999999999999999999", "is too large, expected a number"),
        ("0.1e-200", "'0.1e-200' is too small, expected 0, or a number of 1e-100 or"),
        ("1e-400", "is too small, expected 0, or a number"),
    ],
)
def test_a_number_that_is_too_large_or_small_is_told_as_such(value, told):
    with pytest.raises(RunError) as caught:
        trends(stepped("++--", ["1", "1", value, value]), "steps")
    assert str(caught.value).startswith("the run of small has no trend by 'steps': its value '")
    assert told in str(caught.value)


def test_a_number_may_have_any_form_and_is_shown_in_its_first():
    steps = ["+1.0", "1e3", "1000", "0", "0e99999999999999999999", "1"]
    run = stepped("+-+-+-", steps)
    (found,) = trends(run, "steps")
    assert [(value, right.n) for value, right in found.trend.levels] == [(0, 2), (1, 2), (1000, 2)]
    assert found.values == ("0", "+1.0", "1e3")
    assert "| system | part | 0 | +1.0 | 1e3 | slope" in trends_page([(run, [found])]).markdown()


def test_levels_are_headed_as_the_tag_has_them():
    days = ["20240101", "20240102"]
    run = stepped("+-++", [day for day in days for _ in range(2)])
    other = stepped("+-++", ["20240103", "20240102", "20240103", "20240102"])
    found = [(one, trends(one, "steps")) for one in (run, other)]
    shown = trends_page(found).markdown()
    assert "| system | part | 20240101 | 20240102 | 20240103 | slope, points [95 %] | p |" in shown
    with pytest.raises(RunError, match="all items have the value 20240101, expected two"):
        trends(stepped("++", [days[0]] * 2), "steps")


def test_numbers_that_are_one_to_the_machine_are_not_put_together():
    close = ["9007199254740992", "9007199254740993"]
    with pytest.raises(RunError, match=f"'{close[0]}' and '{close[1]}' are too close to be told"):
        trends(stepped("+-+-", [*close, "1", "2"]), "steps")


def test_the_table_shows_levels_slope_and_what_may_be_chance():
    run = stepped("++++-+--", "11223344")
    found = [(run, trends(run, "steps"))]
    shown = trends_page(found).markdown()
    assert "### small: accuracy by steps, % [95 %]" in shown
    assert "| system | part | 1 | 2 | 3 | 4 | slope, points [95 %] | p |" in shown
    assert "| one | all | 100.0 [34.2, 100.0] |" in shown
    assert "- one, 2 : 2 : 2 : 2 items: falling, without a turn\n" in shown
    assert run.signature in shown
    (row,) = trends_object(found)
    assert row["slope"]["value"] == pytest.approx(-0.35)
    assert [level["number"] for level in row["levels"]] == [1, 2, 3, 4]
    assert (
        "may be chance"
        in trends_page([(r := stepped("+-+-", "1122"), trends(r, "steps"))]).markdown()
    )


def test_levels_that_are_guessed_unequally_are_told():
    run = stepped("+-+-", "1122")
    assert "guessing" not in trends_page([(run, trends(run, "steps"))]).markdown()
    wide = replace(run.verdicts[3], scores=(0.0, 1.0, 2.0, 3.0))
    other = replace(run, verdicts=(*run.verdicts[:3], wide))
    assert (
        "guessing does not earn the same"
        in trends_page([(other, trends(other, "steps"))]).markdown()
    )
