"""The task 'readings': options in any order, and a verdict by name beside them."""

from __future__ import annotations

import csv
from dataclasses import replace

import pytest

from boxpen import Run
from boxpen.errors import BuildError, RunError
from boxpen.review import Selection, Target, export_sheet, find_task, import_sheets
from boxpen.review.readings import NEITHER, ReadingTask, free_translations
from boxpen.runs.run import Translation
from small_runs import small_run


def translating(texts: str, model: str = "one", k: int = 2) -> Run:
    run = small_run("+" * len(texts), model=model, k=k, fingerprint=f"{sum(model.encode()):064x}")
    made = tuple(
        Translation(v.id, f"源 {n}", f"right {n}", f"made {texts[n]}", "en", v.tags)
        for n, v in enumerate(run.verdicts)
    )
    return replace(run, translations=made)


@pytest.fixture
def task(tmp_path) -> ReadingTask:
    for run in (translating("abcdefgh"), translating("abcdxyzw", "two")):
        run.save(tmp_path / "runs")
    found = find_task(Target((str(tmp_path / "runs"),)), "readings")
    assert isinstance(found, ReadingTask)
    return found


def fill(path, answer) -> None:
    """Answer every row of a sheet by its cells."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = csv.reader(stream)
    cells = [dict(zip(header, row, strict=True)) for row in rows]
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, header)
        writer.writeheader()
        writer.writerows(row | {"verdict": answer(row)} for row in cells)


def sheet(task, tmp_path, judge, answer):
    path = tmp_path / f"{judge}.csv"
    number, _ = export_sheet(task, judge, path, Selection(seed=3), blind=True)
    assert number == 12  # what both systems made alike is asked once
    fill(path, answer)
    return path


def add(task, path):
    return import_sheets([path], task.questions(), task.verdicts, task.journal)


def test_a_choice_is_kept_by_its_candidate_whatever_the_order(task, tmp_path):
    def answer(row) -> str:
        if row["translation"] in ("made h", "made w"):
            return "N"  # short for neither
        return "1" if row["1"].startswith("right") else "2"

    for judge in ("ann", "bo"):
        add(task, sheet(task, tmp_path, judge, answer))
    review = task.review()
    assert review.counts == {"1": 10, "2": 0, NEITHER: 2, "open": 0}
    assert {one.order for one in review.given} == {"1 2", "2 1"}
    orders = {(one.item, one.judge): one.order for one in review.given}
    assert any(orders[i, "ann"] != orders[i, "bo"] for i, _ in orders)


@pytest.mark.parametrize("verdict", ["3", "0", "both", "right 1"])
def test_other_verdicts_are_refused_and_nothing_is_kept(task, tmp_path, verdict):
    path = sheet(task, tmp_path, "ann", lambda _: verdict)
    with pytest.raises(BuildError, match="expected a number from 1 to 2 or 'neither', or nothing"):
        add(task, path)
    assert not task.journal.path.exists()


def test_names_are_refused_where_a_task_has_none():
    from boxpen.review import Option, VerdictSet

    options = (Option("b", "2"), Option("a", "1"))
    plain = VerdictSet({"1": (), "2": (), "3": ()})
    assert plain.read_option("1", options) == "2"
    assert plain.read_option("3", options) is None
    assert plain.of_options(options) == "a number from 1 to 2"


def test_sheets_do_not_tell_the_system_or_the_right_candidate(task, tmp_path):
    path = sheet(task, tmp_path, "ann", lambda _: "")
    text = path.read_text("utf-8-sig")
    assert "one" not in text
    assert "two" not in text
    with path.open(encoding="utf-8-sig", newline="") as stream:
        firsts = [row["1"] for row in csv.DictReader(stream)]
    assert 0 < sum(first.startswith("right") for first in firsts) < len(firsts)


def test_more_candidates_make_more_verdicts():
    made = free_translations(translating("ab", k=3))
    assert list(ReadingTask(made).verdicts.forms) == ["1", "2", "3", NEITHER]


def test_a_run_without_translations_is_refused(tmp_path):
    small_run("+-").save(tmp_path)
    with pytest.raises(RunError, match="has no translations of items with candidates"):
        find_task(Target((str(tmp_path),)), "readings")


def test_on_a_page_neither_is_the_last_option(task):
    pytest.importorskip("starlette")
    from boxpen.review.app.web.wording import answer_of, question_json, verdict_of

    for question in task.questions():
        shown = question.shuffled("ann", 1)
        options = question_json(task, shown)["options"]
        assert [o["text"] for o in options] == [*(o.text for o in shown.options), "Neither"]
        for option in options:
            verdict = verdict_of(task, shown, option["number"], "")
            assert answer_of(task, shown, verdict) == option["number"]
        assert verdict == NEITHER
        with pytest.raises(BuildError, match="expected a number from 1 to 3"):
            verdict_of(task, shown, "4", "")
