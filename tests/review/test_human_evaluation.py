"""The human evaluation of Sen-Making, by the commands of docs/how-to/evaluate/human.md."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from boxpen import Card, Choice, Run, Suite, load_suite, read_suite
from boxpen.cli.app import app
from boxpen.review import Selection
from boxpen.review.answers import AnswerTask, samples
from boxpen.review.assignment import selected

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "evaluate" / "human.md"
Said = Callable[[str, str], bool]


@pytest.fixture
def senmaking(mirror) -> Suite:
    return load_suite("senmaking")


def answer(path: Path, suite: Suite, judge: str, right: Said) -> None:
    """Fill in a sheet: the right candidate, or a wrong one, as a tester finds it."""
    gold = {item.id: item.candidates[item.gold] for item in suite if isinstance(item, Choice)}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        shown = {n: row[n] for n in ("1", "2", "3") if row.get(n)}
        wanted = right(judge, row["item"])
        row["verdict"] = next(n for n, t in shown.items() if (t == gold[row["item"]]) == wanted)
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_the_recipe(senmaking, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text("utf-8")
    recipe = text.partition("<!-- begin sen-making -->\n")[2].partition("<!-- end sen-making")[0]
    lines = [line.strip() for line in recipe.splitlines()]
    printed: dict[str, str] = {}
    asked: list[str] = []
    for line in lines:
        if line.startswith("#"):
            with Path("ann.csv").open(encoding="utf-8-sig", newline="") as stream:
                asked = sorted(row["item"] for row in csv.DictReader(stream))
            failed = set(asked[:2])  # which two of three testers fail
            missed = asked[5]  # one of three

            def right(judge: str, item: str, failed=failed, missed=missed) -> bool:
                return judge == "cy" or item not in failed | ({missed} if judge == "ann" else set())

            for judge in ("ann", "bo", "cy"):
                answer(Path(f"{judge}.csv"), senmaking, judge, right)
            continue
        program, *words = shlex.split(line)
        assert program == "boxpen"
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (line, done.output)
        printed[" ".join(words[:2])] = done.stdout
    assert len(asked) == 40
    status = printed["review status"]
    assert "Most judges fail:" in status
    table = status.partition("Most judges fail:")[2]
    assert all(item in table for item in asked[:2])
    assert asked[5] not in table.partition("Judges disagree")[0]

    sample = samples(senmaking)
    gone = {sample[item] for item in asked[:2]}
    kept = read_suite("checked.jsonl")
    assert {item.id for item in kept} == {i.id for i in senmaking if sample[i.id] not in gone}
    assert len(senmaking) - len(kept) == 4  # a sentence and its explanation, twice
    (folder,) = Path("runs").iterdir()
    run = Run.load(folder)
    left = [item for item in asked if sample[item] not in gone]
    assert sorted(v.id for v in run.verdicts) == left
    assert run.info.human is not None
    n = len(left)
    by_judge = sorted(one.accuracy for one in run.info.human.by_judge)
    assert by_judge == pytest.approx([(n - 1) / n, 1, 1])  # ann missed one that others had right
    assert run.info.human.single_judge_accuracy == pytest.approx((3 * n - 1) / (3 * n))
    assert all(verdict.credit == 1 for verdict in run.verdicts)
    assert "human" in printed["report runs"]


def test_no_question_gives_away_another(senmaking):
    """The statement of an explanation is the wrong one of a pair that the same tester judges."""
    questions = AnswerTask(senmaking).questions()
    for order in ("own", "random"):
        asked = selected(questions, [], "ann", Selection(order=order))
        places = {question.item: place for place, question in enumerate(asked)}
        assert sorted(places) == sorted(item.id for item in senmaking)
        sets = [asked[n].item.rpartition("-")[0] for n in range(len(asked))]
        assert sets == ["sen-making"] * 2021 + ["explanation"] * 2021
        assert [q.item for q in asked[:2021]] != [q.item for q in questions[:2021]]


def test_samples_are_pairs_and_blocks():
    starter = load_suite("starter")
    found = samples(starter)
    by_sample: dict[str, set[str]] = {}
    for item in starter:
        by_sample.setdefault(found[item.id], set()).add(item.id)
    for item in starter:
        assert {other.id for other in starter if item.block and other.block == item.block} <= (
            by_sample[found[item.id]]
        )
    assert len({found[item.id] for item in starter if item.block}) <= (
        len({item.block for item in starter if item.block})
    )
    graph = load_suite("starter-graph")
    assert len(set(samples(graph).values())) == len(graph)


def test_items_with_several_explained_sentences_and_their_blocks_are_one_sample():
    suite = Suite(
        "senses",
        (
            Choice(id="sense", candidates=("ok", "s2", "s1"), gold=0),
            Choice(id="why-1", context="s1", candidates=("right", "wrong"), gold=0),
            Choice(id="why-2", context="s2", candidates=("right", "wrong"), gold=0),
            Choice(id="half-1", candidates=("ok b", "s3"), gold=0, block="B"),
            Choice(id="half-2", candidates=("ok c", "x"), gold=0, block="B"),
            Choice(id="why-3", context="s3", candidates=("right", "wrong"), gold=0),
            Choice(id="alone", candidates=("ok d", "y"), gold=0),
        ),
        Card(language="en"),
    )
    assert samples(suite) == {
        **dict.fromkeys(("sense", "why-1", "why-2"), "sentence s1"),
        **dict.fromkeys(("half-1", "half-2", "why-3"), "block B"),
        "alone": "alone",
    }
