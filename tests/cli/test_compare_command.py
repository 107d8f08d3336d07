"""boxpen compare, slices and curve: what they print, and what they refuse."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from test_commands import invoke, refused

import boxpen
from boxpen import Card, Choice, Suite, evaluate
from boxpen.cli.output import console
from boxpen.errors import RunError
from boxpen.report.differing import pairs_table
from boxpen.review.human_run import human_run
from boxpen.runs.comparison import AGREE, AGREE_WITHIN_KIND, DIFFER, labels
from boxpen.runs.info import RunInfo, Sample
from small_runs import Liking, human_table, small_run, small_suite


@pytest.fixture
def two(tmp_path):
    """Two runs of ten blocks: the first is right on all, the second on one item a block."""
    good = small_run("+" * 20, model="good", fingerprint="a" * 64)
    half = small_run("+-" * 10, model="half", fingerprint="b" * 64)
    return [run.save(tmp_path / "runs") for run in (good, half)]


def test_compare_prints_difference_test_and_counts(two):
    done = invoke("compare", *two, "--items", 1)
    assert done.exit_code == 0, done.output
    assert "+0.500 [+0.158, +0.701]" in done.stdout
    assert "10 items differ" in done.stdout
    lines = done.stdout.splitlines()
    start = lines.index("  i1")
    assert lines[start + 1 :] == [
        "    1. right 1 [right, chosen by good]",
        "    2. wrong 1.0 [chosen by half]",
    ]
    assert max(map(len, done.stdout.splitlines())) <= 80
    data = json.loads(invoke("compare", *two, "--json").stdout)
    (pair,) = data["pairs"]
    assert (pair["only_a"], pair["only_b"], pair["n"]) == (10, 0, 20)
    assert pair["test"] == "randomisation"
    assert pair["p"] == pair["adjusted"] == pytest.approx(2 / 2**10)
    assert pair["difference"]["value"] == 0.5
    assert pair["differing"] == [f"i{i}" for i in range(1, 20, 2)]


def test_items_of_a_tie_and_of_people(tmp_path):
    tied = small_run("+=", model="tied").save(tmp_path / "runs")
    table = human_table(tmp_path, "item,ann\ni0,0\ni1,1\n")
    people = human_run(small_suite(2), table, min_judges=1, name="ann").save(tmp_path / "runs")
    lines = invoke("compare", tied, people, "--items", 1).stdout.splitlines()
    assert lines[lines.index("  i1") + 1 :] == [
        "    1. right 1 [right, tied for tied]",
        "    2. wrong 1.0 [tied for tied, chosen by ann]",
    ]


def test_long_texts_go_on_as_far_in_as_they_began(tmp_path):
    items = tuple(
        Choice(id=f"i{n}", candidates=(f"{n} " + "word " * 30 + "end", f"wrong {n}"), gold=0)
        for n in range(2)
    )
    suite = Suite("long", items, Card(language="en"))
    runs = [
        evaluate(Liking(name, liked), suite, cache=":memory:").save(tmp_path)
        for name, liked in (("good", {i.candidates[0] for i in items}), ("bad", {"wrong 1"}))
    ]
    lines = invoke("compare", *runs, "--items", 2).stdout.splitlines()
    shown = lines[lines.index("  i1") + 1 :]
    assert len(shown) == 4
    assert all(line.startswith("    ") and line == line.rstrip() for line in shown)
    assert max(map(len, shown)) <= 80
    assert " ".join(" ".join(shown).split()).startswith("1. 1 word word")


def test_a_folder_of_runs_is_as_good(two):
    assert invoke("compare", two[0].parent).stdout == invoke("compare", *sorted(two)).stdout


def test_runs_made_in_another_way_are_refused_and_said_why(tmp_path, two):
    other = small_run("+-" * 10, model="half", norm="char").save(tmp_path / "other")
    done = invoke("compare", two[0], other)
    refused(done, "have different settings", "norm sum and char", "--force")
    assert invoke("compare", two[0], other, "--force").exit_code == 0


def test_other_items_are_refused_and_said_which(tmp_path, two):
    fewer = small_run("+-" * 5, model="fewer").save(tmp_path / "other")
    refused(invoke("compare", two[0], fewer), "suite small@", "use --common to compare the items")
    done = invoke("compare", two[0], fewer, "--common", "--json")
    assert json.loads(done.stdout)["pairs"][0]["n"] == 10


def test_nothing_to_compare(tmp_path, two):
    other = small_run("+-", suite="elsewhere").save(tmp_path / "other")
    refused(invoke("compare", two[0]), "only one run is given")
    refused(invoke("compare", two[0], other), "no two runs are on the same suite")
    refused(invoke("compare", two[0], tmp_path / "nowhere"), "not a run directory")
    again = two[0].parent / ".." / "runs" / two[0].name
    refused(invoke("compare", two[0], again), "given twice")


def test_the_same_model_under_two_settings_is_told_apart():
    sums, chars = small_run("+-+-"), small_run("+-+-", norm="char")
    (pair,) = boxpen.compare(sums, chars, force=True)
    assert pair.a != pair.b
    assert "norm=char" in pair.b
    with pytest.raises(RunError, match="norm sum and char"):
        boxpen.compare(sums, chars)


def test_runs_with_equal_signatures_are_compared_and_the_noise_is_told(tmp_path):
    run = small_run("+-+-")
    first, *others = run.verdicts
    moved = replace(first, scores=(first.scores[0] - 0.00025, *first.scores[1:]))
    again = replace(run, verdicts=(moved, *others))
    places = [run.save(tmp_path / "a"), again.save(tmp_path / "b")]
    done = invoke("compare", *places)
    assert done.exit_code == 0, done.output
    told = "small: one and one (2) have equal signatures, so differences between them are numerical"
    assert told in done.stderr
    assert "no score differs by more than 0.00025" in done.stderr
    (pair,) = json.loads(invoke("compare", *places, "--json").stdout)["pairs"]
    assert pair["noise"] == pytest.approx(0.00025)
    (pair,) = boxpen.compare(run, small_run("+-+-", model="two"))
    assert pair.noise is None
    with pytest.raises(RunError, match="the same run is given twice: one"):
        boxpen.compare(run, run)


def test_names_of_suites_and_models_are_whole_in_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    screen = console()
    pairs = boxpen.compare(
        *(small_run("+-+-", suite="starter.discourse", model=m) for m in ("bert-mini", "bert-base"))
    )
    with screen.capture() as captured:
        screen.print(pairs_table("starter.discourse", pairs))
    assert {"starter.discourse", "bert-mini", "bert-base"} <= set(captured.get().split())


def test_every_field_of_a_signature_either_must_agree_or_may_differ():
    every = (*AGREE, *AGREE_WITHIN_KIND, *DIFFER)
    assert len(set(every)) == len(every)
    settings = inspect.getsource(RunInfo.signed)
    written = set(re.findall(r"^            (\w+)=", settings, re.MULTILINE)) - {
        "suite_hash", "fingerprint", "max_length",
    }  # fmt: skip
    assert written | {"version"} <= set(every)


def test_runs_without_contexts_are_not_compared_with_others():
    given = small_run("+-+-")
    info = replace(given.info, signature=given.signature + "|context:none")
    with pytest.raises(RunError, match="context given and none"):
        boxpen.compare(given, replace(given, info=info))


def test_a_model_has_one_name_in_all_suites():
    runs = [
        small_run("+-+-"),
        small_run("+-+-", norm="char"),
        small_run("+-"),
        small_run("+-+-", suite="other"),
        small_run("+-+-", model="two"),
    ]
    assert labels(runs) == [
        "one · 4 items · norm=sum",
        "one · 4 items · norm=char",
        "one · 2 items · norm=sum",
        "one · norm=sum",
        "two",
    ]


def test_names_show_samples_recipes_and_weights_as_far_as_they_differ():
    one = small_run("+-+-")
    suite = replace(one.info.suite, sample=Sample(4, 1200, 7))
    drawn = replace(one.info, suite=suite, signature=one.signature + "|sample:4/1200@7")
    assert labels([one, replace(one, info=drawn)]) == [
        "one · all items",
        "one · sample of 4 of 1,200, seed 7",
    ]
    other = replace(one.info, signature=one.signature.replace("recipe:sound@", "recipe:mine@"))
    assert labels([one, replace(one, info=other)]) == ["one · recipe=sound", "one · recipe=mine"]
    trained = small_run("+-+-", fingerprint="a" * 64)
    assert labels([one, trained]) == ["one · weights=ffffffff", "one · weights=aaaaaaaa"]


def test_slices_by_tag_length_and_both(two):
    done = invoke("slices", two[1], "--by", "set", "--by", "set x length")
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    data = json.loads(invoke("slices", two[1], "--by", "set", "--json").stdout)["slices"]
    assert [(r["value"], r["n"], r["accuracy"]["value"]) for r in data] == [
        ("A", 10, 1.0),
        ("B", 10, 0.0),
    ]
    refused(invoke("slices", two[1], "--by", "sett"), "cannot be divided by 'sett'")


def test_a_curve_is_printed_and_drawn(tmp_path, two):
    picture = tmp_path / "curve.svg"
    args = ("curve", f"100k={two[1]}", f"1M={two[0]}", "--by", "set", "--svg", picture)
    done = invoke(*args)
    assert done.exit_code == 0, done.output
    assert "1.000" in done.stdout
    assert picture.read_text("utf-8").startswith("<svg")
    points = json.loads(invoke(*args, "--json").stdout)["points"]
    assert [(p["curve"], p["size"], p["value"]) for p in points] == [
        ("A", 1e5, 1.0), ("A", 1e6, 1.0), ("B", 1e5, 0.0), ("B", 1e6, 1.0),
    ]  # fmt: skip
    refused(invoke("curve", two[0]), "has no size")
    refused(invoke("curve", f"lots={two[0]}"), "'lots' is not a size")
    refused(
        invoke("curve", f"1k={two[0]}", "--svg", tmp_path / "no" / "where.svg"), "cannot be written"
    )
    refused(invoke("curve", f"1k={two[0]}", "--metric", "bleu"), "no metric 'bleu'")


def test_curves_of_two_suites_keep_their_names(tmp_path, two):
    other = small_run("+-" * 4, suite="elsewhere").save(tmp_path / "other")
    done = invoke("curve", f"1M={two[0]}", f"1M={other}", "--by", "set", "--json")
    names = {p["curve"] for p in json.loads(done.stdout)["points"]}
    assert names == {"small: A", "small: B", "elsewhere: A", "elsewhere: B"}


def test_other_items_under_the_same_ids_are_refused(tmp_path, two):
    other = small_run("+-" * 10, model="four", k=4).save(tmp_path / "other")
    refused(invoke("compare", two[0], other, "--common"), "different items with the same name")
    refused(invoke("compare", two[0], other, "--force"), "is not the same for")


def test_a_narrow_terminal_loses_no_name(two, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    done = invoke("compare", *two)
    assert "good half" in done.stdout


def test_a_reader_that_goes_away_is_no_failure(two):
    command = f"{sys.executable} -m boxpen slices {two[0]} --by set"
    done = subprocess.run(
        ["bash", "-c", f"{command} | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "0", done.stderr
