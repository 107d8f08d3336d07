"""boxpen robust and boxpen slices --trend: what they print, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest
from scipy.stats import norm
from test_commands import invoke, refused

from boxpen.report.html.report import html_report
from boxpen.runs.run import Run
from dual_runs import dual_run, dual_suite
from small_runs import small_run


@pytest.fixture
def dual(tmp_path) -> Path:
    suite = dual_suite(["add"] * 4 + ["swap"] * 2)
    return dual_run("+++--++-++-=", suite).save(tmp_path)


def stepped(folder: Path, outcome: str, steps: Sequence[str]) -> Path:
    """A run without blocks whose item i has steps[i] steps."""
    run = small_run(outcome)
    verdicts = [
        replace(v, block=None, tags={**v.tags, "steps": s})
        for v, s in zip(run.verdicts, steps, strict=True)
    ]
    return replace(run, verdicts=tuple(verdicts)).save(folder)


def test_the_numbers_by_operation(dual):
    shown = invoke("robust", dual)
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "duals × one: what survives, % [95 %]" in shown.stdout
    assert "1 pair(s) with a tie" in shown.stdout
    data = json.loads(invoke("robust", dual, "--json").stdout)
    assert data["notes"][0] == (
        "duals × one: one answer to both sides in 3 of 5 pairs whose truth flips; 1 with a tie "
        "left out"
    )
    (run,) = data["runs"]
    assert run["operations"][-1]["same"]["value"] == pytest.approx(3 / 5)  # as the note has it
    assert [row["operation"] for row in run["operations"]] == ["add", "swap", "all"]
    add = run["operations"][0]
    assert (add["pairs"], add["survives"]["value"]) == (4, pytest.approx(1 / 3))
    assert (run["kept"], "items" in run) == (3, False)


def test_shares_of_few_pairs_are_not_shown(tmp_path):
    suite = dual_suite(["add"] * 12 + ["swap"] * 9)
    run = dual_run("++" * 10 + "+-" * 2 + "++" * 9, suite).save(tmp_path)
    shown = invoke("robust", run, "--markdown").stdout
    rows = [[c.strip() for c in x.split("|")[1:-1]] for x in shown.splitlines() if x[:2] == "| "]
    add, swap = ([row for row in rows if row[0] == name] for name in ("add", "swap"))
    assert add[0][4:] == [add[0][5], "83.3 [55.2, 95.3]"]
    assert swap[0][1:] == ["9", "100.0 [70.1, 100.0]", "100.0 [70.1, 100.0]", "–", "–"]
    assert swap[1][1:4] == ["–", "–", "–"]
    assert "–: a share of fewer than 10 pairs" in shown
    # Programs get the numbers, with how many pairs they are of.
    data = json.loads(invoke("robust", run, "--json").stdout)
    assert data["runs"][0]["operations"][1]["both"]["n"] == 9
    assert not any(note.startswith("–") for note in data["notes"])
    section = html_report([Run.load(run)]).partition('<section id="robustness">')[2]
    rows = [section.partition(f"<td>{name}</td>")[2] for name in ("add", "swap")]
    add, swap = (row.partition("</tr>")[0] for row in rows)
    assert (add.count("–</td>"), swap.count("–</td>")) == (0, 3)
    assert add.count("83.3 [") == 3  # duals, both right, and what survives


def test_only_ties_of_pairs_whose_truth_flips_are_left_out_of_them(tmp_path):
    suite = dual_suite(["add"] * 3 + ["swap="])
    for outcome, told in (
        ("+-++-+" "+=", "in 2 of 3 pairs whose truth flips"),
        ("+-+==+" "+=", "in 1 of 1 pairs whose truth flips; 2 with a tie left out"),
    ):  # fmt: skip
        run = dual_run(outcome, suite).save(tmp_path / str(len(told)))
        notes = json.loads(invoke("robust", run, "--json").stdout)["notes"]
        assert notes[0] == f"duals × one: one answer to both sides {told}"


def test_items_are_shown_when_asked_for(dual):
    shown = invoke("robust", dual, "--items").stdout
    assert "b1 (add): option 1 kept, right in the original" in shown
    assert "change   + 1 never" in shown
    assert "margins  +1.00 and −1.00" in shown
    assert "went in" not in invoke("robust", dual).stdout
    data = json.loads(invoke("robust", dual, "--items", "--top", 2, "--json").stdout)
    assert len(data["runs"][0]["items"]) == 2
    assert data["runs"][0]["items"][0]["option"] == 0  # a place among the candidates, as ``gold``
    assert set(data["runs"][0]["items"][0]) == {
        "block", "operation", "original", "dual", "right", "option", "texts", "change", "margins",
    }  # fmt: skip


def test_markdown_has_both_tables_and_the_signature(dual):
    shown = invoke("robust", dual, "--markdown", "--items").stdout
    assert "| add | 4 | 75.0 [30.1, 95.4] | 50.0 [15.0, 85.0] |" in shown
    assert "| b1 | original | 1 | 1 went in and got wet |" in shown
    assert Run.load(dual).signature in shown
    widths = {line.count("|") for line in shown.splitlines() if line.startswith("| b")}
    assert widths == {8}


def test_runs_of_one_suite_stand_under_each_other(dual, tmp_path):
    other = dual_run("+" * 12, dual_suite(["add"] * 4 + ["swap"] * 2), model="two")
    other = replace(other, info=replace(other.info, signature=other.signature + "|x:1"))
    shown = invoke("robust", dual, other.save(tmp_path)).stdout
    assert "duals × one" in shown
    assert "duals × two" in shown


def test_what_has_no_duals_is_refused(tmp_path, dual):
    plain = small_run("++++").save(tmp_path)
    refused(invoke("robust", plain), "the run of small has no duals", "--by names the tag")
    assert invoke("robust", plain, "--by", "set").exit_code == 0
    refused(invoke("robust", plain, "--by", "sat"), "no item", "did you mean 'set'")
    loose = stepped(tmp_path / "loose", "++", "12")
    refused(invoke("robust", loose), "the run of small has no blocks, expected")
    refused(invoke("robust", dual, "--json", "--markdown"), "cannot be combined; choose one")
    refused(invoke("robust", dual, "--top", 3), "--top requires --items")
    refused(invoke("robust", tmp_path / "nowhere"), "nowhere")


def test_the_page_has_a_section_only_where_there_are_duals(dual):
    run = Run.load(dual)
    page = html_report([run])
    assert '<a href="#robustness">' in page
    section = page[page.index('<section id="robustness">') :].partition("</section>")[0]
    assert section.count("<tr>") == 1 + 3
    assert "75.0 [" in section  # originals of 'add'
    assert "robustness" not in html_report([small_run("++--")])


def test_a_trend_in_all_forms(tmp_path):
    run = stepped(tmp_path, "++++++--+---", "111122223333")
    shown = invoke("slices", run, "--by", "steps", "--trend")
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert "small: accuracy by steps, % [95 %]" in shown.stdout
    assert "one, 4 : 4 : 4 items: falling, without a turn" in shown.stdout
    assert "Cochran-Armitage" in shown.stdout
    (found,) = json.loads(invoke("slices", run, "--by", "steps", "--trend", "--json").stdout)[
        "trends"
    ]
    assert found["slope"]["value"] == pytest.approx(-0.375)
    # The sum of (x - 2) y is -3; its variance is 7/12 of 5/12 of 8.
    assert found["p"] == pytest.approx(2 * norm.sf(3 / sqrt(7 / 12 * 5 / 12 * 8)))
    text = invoke("slices", run, "--by", "set x steps", "--trend", "--markdown").stdout
    assert "| one | A |" in text
    assert "| one | B |" in text


def test_days_are_shown_as_the_tag_has_them(tmp_path):
    days = [day for day in ("20240101", "20240102") for _ in range(2)]
    run = stepped(tmp_path, "++--", days)
    shown = invoke("slices", run, "--by", "steps", "--trend").stdout
    assert "20240101" in shown
    assert "20240102" in shown


def test_trends_that_cannot_be_are_refused(tmp_path):
    run = stepped(tmp_path, "++--", "1122")
    trend = ("slices", run, "--by", "steps", "--trend")
    refused(
        invoke(*trend, "--interval", "bootstrap"),
        "--interval bootstrap cannot be combined with --trend",
    )
    assert invoke(*trend, "--interval", "wilson").exit_code == 0
    large = stepped(tmp_path / "large", "++--", ["1", "1", "1e308", "1e308"])
    refused(invoke("slices", large, "--by", "steps", "--trend"), "its value '1e308' is too large")
    refused(invoke("slices", run, "--trend"), "--trend requires --by")
    refused(invoke("slices", run, "--by", "set", "--trend"), "'A' is not a number; expected a tag")
    refused(invoke("slices", run, "--by", "steps", "--markdown"), "--markdown requires --trend")
    refused(invoke("slices", run, "--by", "depth", "--trend"), "cannot be divided by 'depth'")
    one = stepped(tmp_path / "one", "++--", "2222")
    refused(invoke("slices", one, "--by", "steps", "--trend"), "all items have the value 2")
