"""The human steps of the five papers, each done once through the app by scripted judges.

Verdicts are read from the database of the running server and applied as from any journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

from boxpen import Run
from boxpen.analysis.discourse.readers import question_of
from boxpen.build.duals.suite import dual_suite
from boxpen.items import Suite
from boxpen.report.discourse.tables import discourse_table
from boxpen.report.translation_errors import error_table
from boxpen.review import Destination, Review, Rule
from boxpen.review.database import DatabaseJournal

sample = pytest.importorskip("review_sample", reason="boxpen[review] is not installed")

STEPS = ("triples", "answers", "errors", "classes", "duals")
JUDGES = ("ann", "bo", "cy")
Say = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator:
    folder = tmp_path_factory.mktemp("steps")
    with sample.Served([sample.TASKS[key]() for key in STEPS], folder) as served:
        links = [served.link(name) for name in JUDGES]
        served.judges = [sample.ScriptedJudge(link) for link in links]
        served.place = folder / "review.sqlite"
        yield served


def texts(question: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["text"] for one in question["shown"]}


def judged(served, key: str, *say: Say) -> tuple[Any, Review]:
    """Let each judge say something, and decide from the database while the server runs."""
    task = sample.TASKS[key]()
    for judge, one in zip(served.judges, say, strict=True):
        assert judge.judge(key, one) == len(task.questions())
    task.journal = DatabaseJournal(served.place, key)
    return task, task.review(Rule("majority"), 3)


def test_triples_are_filtered(served, tmp_path):
    def strict(question):
        return "reject" if texts(question)["head"] == "a brick" else "accept"

    def edits(question):
        whale = texts(question)["head"] == "a whale"
        return {"answer": "edit", "edit": "the sea"} if whale else strict(question)

    task, review = judged(served, "triples", strict, edits, edits)
    assert review.counts == {"accept": 4, "edit": 1, "reject": 1, "open": 0}
    task.apply(review, Destination(tmp_path / "accepted.parquet"))
    accepted = pl.read_parquet(tmp_path / "accepted.parquet")
    assert accepted["head"].to_list().count("brick") == 0
    (whale,) = accepted.filter(pl.col("head") == "whale").iter_rows(named=True)
    assert whale["tail_text"] == "the sea"
    assert len(accepted) == 5


def test_items_are_answered_and_people_become_a_run(served, tmp_path):
    gold = {
        item.id: choice.candidates[choice.gold] for item, choice in sample.answer_task().choices
    }

    def right(question):
        return next(o["number"] for o in question["options"] if o["text"] == gold[question["item"]])

    def wrong(question):
        return next(o["number"] for o in question["options"] if o["text"] != gold[question["item"]])

    def mixed(question):
        return (
            wrong(question) if question["item"] in ("sense-001", "sense-002") else right(question)
        )

    task, review = judged(served, "answers", right, mixed, mixed)
    applied = task.apply(review, Destination(tmp_path))
    run = Run.load(applied.path)
    human = run.info.human
    assert (human.judges, human.answers) == (3, 3 * len(gold))
    failed = {verdict.id for verdict in run.verdicts if verdict.credit < 0.5}
    assert failed == {"sense-001", "sense-002"}


def test_errors_of_translations_are_typed(served):
    def types(question):
        shown = texts(question)
        return "right" if shown["translation"] == shown["reference"] else "common sense"

    def more(question):
        return types(question).replace("common sense", "common sense+other")

    task, review = judged(served, "errors", types, types, more)
    table = error_table(task.made, review, paper=False)
    rows = [row for row in table.shares if row.part == "total"]
    assert [row.system for row in rows] == ["one", "two"]
    for row in rows:
        some = [one for one in task.made if one.system == row.system]
        wrong = sum(not one.chose for one in some)
        assert (row.judged, row.errors) == (len(some), wrong)
        assert row.shares["common sense"].value == 1.0
        assert row.shares["other"].value == 0.0  # only one judge of three saw it


def test_classes_are_judged(served):
    def classes(question):
        shown = texts(question)
        return "right" if shown["translation"] == shown["reference"] else "wrong"

    def doubts(question):
        return "cannot tell"

    task, review = judged(served, "classes", classes, classes, doubts)
    outcomes = {one: review.decisions[question_of(one).item].verdict for one in task.made}
    systems = [("one", []), ("two", [])]
    table = discourse_table(systems, task.made, outcomes, by="readers", bleu=False)
    shares = {(row.system, row.right.value) for row in table.accuracy.values()}
    assert shares == {("one", 1.0), ("two", 0.0)}
    assert {row.column for row in table.accuracy.values()} >= {"pronoun", "connective", "ellipsis"}


def test_duals_are_checked(served):
    relabelled = "dual-add-01-1"
    rows = {row["id"]: row for row in sample.TASKS["duals"]().rows}

    def check(question):
        row = rows[question["item"]]
        place = 1 - row["gold"] if row["id"] == relabelled else row["gold"]
        text = (row["first"], row["second"])[place]
        return next(o["number"] for o in question["options"] if o["text"] == text)

    def fault(question):
        assert not question["hints"] or {h["name"] for h in question["hints"]} <= {
            "kind",
            "fluency",
        }
        assert [one["text"] for one in question["options"][2:]] == [
            "Both make sense", "Neither makes sense", "Wrong English", "Unusable",
        ]  # fmt: skip
        return "3"

    task, review = judged(served, "duals", check, check, fault)
    assert review.counts == {"accept": 7, "relabel": 1, "reject": 0, "open": 0}
    rows = {row["id"]: row for row in task.accepted(review)}
    before = {row["id"]: row for row in task.rows}
    assert rows[relabelled]["gold"] == 1 - before[relabelled]["gold"]
    source = Suite("sample", tuple(i for i in sample.starter("dual-") if i.id.endswith("a")))
    suite = dual_suite(source, list(rows.values()), "sample-duals")
    assert len(suite) == 2 * len(rows)
