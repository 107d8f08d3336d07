"""Types of translation errors: sheets, answers and tables, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from test_commands import invoke, refused

from boxpen.runs.run import Translation
from small_runs import small_run


def saved(folder: Path, outcome: str, texts: str, model: str, suite: str = "small") -> Path:
    """A run in which item i is translated as 'made X', X being texts[i]."""
    run = small_run(outcome, model=model, suite=suite, fingerprint=f"{sum(model.encode()):064x}")
    made = [
        Translation(v.id, f"源 {n}", f"right {n}", f"made {texts[n]}", "en", v.tags)
        for n, v in enumerate(run.verdicts)
    ]
    return replace(run, translations=tuple(made)).save(folder)


@pytest.fixture
def one(tmp_path) -> Path:
    return saved(tmp_path / "runs", "+-+-", "abcd", "one")


@pytest.fixture
def two(tmp_path) -> Path:
    return saved(tmp_path / "runs", "++++", "abxy", "two")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def judged(folder: Path, runs: list[Path], judge: str, **verdicts: str) -> Path:
    """The sheet of a judge, with a verdict for translations by their last letter."""
    sheet = folder / f"sheet-{judge}.csv"
    assert invoke("review", "export", *runs, "--judge", judge, "--out", sheet).exit_code == 0
    rows = rows_of(sheet)
    for row in rows:
        row["verdict"] = verdicts.get(row["translation"][-1], "")
    with sheet.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return sheet


def test_from_sheets_to_the_table(tmp_path, one, two):
    runs = [one, two]
    ann = judged(tmp_path, runs, "ann", a="r", b="c", c="c + m", d="C", x="ok", y="o")
    bo = judged(tmp_path, runs, "bo", a="right", b="c", c="m+c", d="c", x="o", y="o")
    done = invoke("review", "import", *runs, ann, bo)
    assert done.exit_code == 0, done.output
    journal = one.parent / "translation-errors.jsonl"
    assert f"12 judgement(s) added to {journal.resolve()}" in done.stderr
    assert "12 known already" in invoke("review", "import", ann, bo, *runs).stderr

    data = json.loads(invoke("errors", *runs, "--json").stdout)
    totals = {row["system"]: row for row in data["shares"] if row["part"] == "total"}
    assert totals["one"]["counts"] == {"common sense": 3, "ordinary meaning": 1, "other": 0}
    assert (totals["one"]["judged"], totals["one"]["right"]["value"]) == (4, 0.25)
    assert (totals["two"]["judged"], totals["two"]["errors"]) == (3, 2)  # of x they differ
    assert data["choices"][0]["table"] == [[2, 0], [1, 1]]
    assert data["paper"] is None
    assert data["agreement"][0]["share"] == pytest.approx(10 / 11)
    assert "paper" not in invoke("errors", *runs, "--markdown").stdout
    shown = invoke("errors", *runs).stdout
    assert "wrong candidate" in shown
    assert "judged, not decided (too few judges, or divided): 1" in shown

    any_error = json.loads(invoke("errors", *runs, "--rule", "any", "--json").stdout)
    assert any_error["shares"][-1]["errors"] == 3
    # One run by itself has the same judgements.
    alone = json.loads(invoke("errors", one, "--json").stdout)
    assert alone["shares"][-1]["counts"] == totals["one"]["counts"]


def test_the_numbers_of_the_paper_stand_beside_its_suite(tmp_path):
    run = saved(tmp_path / "runs", "+-", "ab", "one", suite="commonmt.LA")
    assert invoke("review", "import", run, judged(tmp_path, [run], "ann", a="c")).exit_code == 0
    shown = invoke("errors", run, "--markdown").stdout
    assert "| paper |  |  |  | 71.6 | 22.7 | 5.7 |" in shown


def test_a_sheet_does_not_tell_the_system(tmp_path, one, two):
    sheet = judged(tmp_path, [one, two], "ann")
    rows = rows_of(sheet)
    assert len(rows) == 6
    assert list(rows[0]) == ["item", "source", "reference", "wrong", "translation", "verdict",
                             "edit", "comment", "judge", "digest"]  # fmt: skip
    again = tmp_path / "again.csv"
    invoke("review", "export", two, one, "--judge", "ann", "--out", again)
    assert sorted(map(str, rows_of(again))) == sorted(map(str, rows))
    assert again.read_bytes() == sheet.read_bytes()


def test_status_shows_progress_agreement_and_disputes(tmp_path, one):
    ann = judged(tmp_path, [one], "ann", a="r", b="c", c="c+m")
    bo = judged(tmp_path, [one], "bo", a="r", b="m", c="c", d="o")
    invoke("review", "import", one, ann, bo)
    shown = invoke("review", "status", one).stdout
    assert "ann: 3 of 4 judged\nbo: 4 of 4 judged\n" in shown
    assert "right: 1, common sense: 0, ordinary meaning: 0, other: 1, open: 2" in shown
    assert re.search(r"ann +bo +0\.400 +5 +0\.571 +7\n", shown)
    assert "ann common sense; bo ordinary meaning" in shown
    data = json.loads(invoke("review", "status", one, "--json").stdout)
    assert data["decisions"]["open"] == 2
    types = [row["part"] for row in data["agreement"]][-3:]
    assert types == ["common sense", "ordinary meaning", "other"]
    assert sorted(data["open"].values()) == [
        "judges are divided: common sense 1, common sense+ordinary meaning 1",
        "judges are divided: common sense 1, ordinary meaning 1",
    ]
    decided = json.loads(
        invoke("review", "status", one, "--rule", "adjudicator", "--adjudicator", "ann",
               "--json").stdout
    )  # fmt: skip
    assert decided["open"] == {}


class TestRefused:
    def test_runs_without_translations(self, tmp_path):
        bare = small_run("+-").save(tmp_path / "runs")
        out = tmp_path / "sheet.csv"
        done = invoke("review", "export", bare, "--judge", "ann", "--out", out)
        refused(done, f"run {bare.name} has no translations", "'small' has no sources")
        assert not out.exists()

    def test_the_sheet_of_another_run(self, tmp_path, one, two):
        sheet = judged(tmp_path, [two], "ann", a="r", x="c")
        parts = ("sheet-ann.csv, line ", "which is not in the run; expected the sheet of this run")
        refused(invoke("review", "import", one, sheet), *parts)
        assert not (one.parent / "translation-errors.jsonl").exists()
        assert invoke("review", "import", one, two, sheet).exit_code == 0
        other = saved(tmp_path / "runs", "++++", "efgh", "three")
        refused(invoke("review", "import", one, other, sheet), "expected the sheet of this set of")

    @pytest.mark.parametrize("verdict", ["wrong", "c+c", "r+c", "c, m"])
    def test_an_unknown_verdict(self, tmp_path, one, verdict):
        sheet = judged(tmp_path, [one], "ann", b=verdict)
        done = invoke("review", "import", one, sheet)
        refused(done, f"has the verdict '{verdict}', expected right (r, ok), common sense (c, cs)",
                "other, joined by '+', each once")  # fmt: skip

    def test_a_table_of_nothing(self, one):
        refused(invoke("errors", one), "no translation is decided", "has 0 judgement(s)")
        done = invoke("errors", one, "--json", "--markdown")
        refused(done, "--json and --markdown cannot be combined")

    def test_an_adjudicator_whom_the_journal_does_not_know(self, tmp_path, one):
        words = ("--rule", "adjudicator", "--adjudicator", "an")
        refused(invoke("review", "status", one, *words), "no judge 'an' in", "nobody has judged")
        ann, bo = (judged(tmp_path, [one], judge, a="r") for judge in ("ann", "bo"))
        assert invoke("review", "import", one, ann, bo).exit_code == 0
        journal = one.parent.resolve() / "translation-errors.jsonl"
        for task in (("review", "status"), ("errors",)):
            done = invoke(*task, one, *words)
            refused(done, f"no judge 'an' in {journal}, expected one of ann, bo")
