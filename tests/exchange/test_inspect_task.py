"""Suites as tasks of inspect_ai, evaluated with a model whose answers are known."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from typer.testing import CliRunner

from boxpen import Card, Choice, Entail, Suite, SuiteError, Translate, load_suite
from boxpen.cli.app import app
from boxpen.exchange import export_suite
from boxpen.exchange.inspect_task import task_name
from boxpen.metrics.intervals import standard_error
from boxpen.scoring.ask import question_text
from boxpen.scoring.recipe import ASK
from small_runs import small_suite


def rows_of(folder: Path) -> list[dict]:
    (path,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def evaluated(folder: Path, answer: Callable[[dict], str], logs: Path):
    """Evaluate the task of a folder with a model that answers as a function of the sample."""
    rows = rows_of(folder)

    def reply(messages, *_: object) -> ModelOutput:
        shown = messages[-1].text
        row = next(
            r for r in rows
            if r["input"] in shown and all(f") {c}" in shown for c in r["choices"])
            and [shown.index(f") {c}") for c in r["choices"]]
            == sorted(shown.index(f") {c}") for c in r["choices"])
        )  # fmt: skip
        said = ModelOutput.from_content("mockllm/model", f"ANSWER: {answer(row)}")
        said.usage = ModelUsage()  # or its tokens are counted with a vocabulary from the network
        return said

    (task,) = (p for p in folder.glob("*.py"))
    model = get_model("mockllm/model", custom_outputs=reply)
    with contextlib.chdir(folder):  # it takes no absolute path for a task
        (log,) = inspect_eval(task.name, model=model, log_dir=str(logs), display="none")
    assert log.status == "success", log.error
    return log


def metrics(log) -> dict[str, float]:
    return {name: one.value for name, one in log.results.scores[0].metrics.items()}


@pytest.mark.parametrize(
    "part",
    [
        "starter.sense",
        *(
            pytest.param(p, marks=pytest.mark.heavy)
            for p in ("starter.mt", "starter.dual", "starter-graph")
        ),
    ],
)
def test_right_answers_are_all_right_and_one_letter_is_near_chance(part, tmp_path):
    suite = load_suite(part)
    suite = suite.take(suite.items[:120])
    folder = tmp_path / "task"
    export_suite(suite, "inspect", folder)
    rows = rows_of(folder)
    assert {row["id"] for row in rows} <= {item.id for item in suite}
    assert len(rows) == len({row["id"] for row in rows}) > 40
    right = metrics(evaluated(folder, lambda row: row["target"][-1], tmp_path / "right"))
    assert right["accuracy"] == 1.0
    constant = evaluated(folder, lambda _: "A", tmp_path / "a")
    chance = sum(len(row["target"]) / len(row["choices"]) for row in rows) / len(rows)
    found = metrics(constant)["accuracy"]
    assert abs(found - chance) < 3.5 * math.sqrt(chance * (1 - chance) / len(rows))
    earned = {row["id"]: float("A" in row["target"]) for row in rows}
    assert found == pytest.approx(sum(earned.values()) / len(rows))
    clusters = [row["metadata"]["cluster"] for row in rows]
    error = standard_error(list(earned.values()), clusters)
    assert metrics(constant)["stderr"] == pytest.approx(error)


def test_questions_are_those_of_the_recipe_ask(tmp_path):
    suite = load_suite("starter")
    export_suite(suite, "inspect", tmp_path / "task", recipe="ask")
    by_id = {item.id: item for item in suite}
    for row in rows_of(tmp_path / "task"):
        item = by_id[row["id"]]
        item = item.as_choice() if isinstance(item, Translate) else item
        language, source_language = suite.languages_of(item)
        texts = {"language": language, "source_language": source_language}
        assert row["input"] == question_text(item, ASK, **texts)
        if isinstance(item, Choice):
            place = row["metadata"]["order"].index(item.gold)
            assert row["target"] == ["ABCDEFGH"[place]]
            assert row["choices"][place] == ASK.tidied(item.candidates[item.gold])
        else:
            assert {row["choices"]["ABC".index(t)] for t in row["target"]} == {
                item.label, *item.also
            }  # fmt: skip


def test_any_label_that_an_item_accepts_is_right_and_others_are_not(tmp_path):
    items = (
        Entail(id="1", premise="p", hypothesis="h", label="neutral", also=("contradiction",)),
        Entail(id="2", premise="q", hypothesis="h", label="entailment"),
    )
    export_suite(Suite("two", items, Card(language="en")), "inspect", tmp_path / "task")
    for label, accuracy in (("neutral", 0.5), ("contradiction", 0.5), ("entailment", 0.5)):
        log = evaluated(
            tmp_path / "task",
            lambda row, label=label: "ABC"[row["choices"].index(label)],
            tmp_path / label,
        )
        assert metrics(log)["accuracy"] == accuracy
    assert "stderr()]" in (tmp_path / "task" / "two.py").read_text()  # there are no blocks


def test_the_place_of_the_right_answer_follows_from_the_id(tmp_path):
    suite = small_suite(400, k=4)
    export_suite(suite, "inspect", tmp_path / "task")
    export_suite(suite, "inspect", tmp_path / "again")
    rows = rows_of(tmp_path / "task")
    assert rows == rows_of(tmp_path / "again")
    for letter in "ABCD":
        assert 70 < sum(row["target"] == [letter] for row in rows) < 130
    assert rows[0]["metadata"]["block"] == "b0"
    assert rows[0]["metadata"]["set"] == "A"


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("starter.sense", "starter_sense"), ("json", "json_suite"), ("class", "class_suite"),
        ("2nd try", "suite_2nd_try"), ("漢字", "suite"), ('x"""\\', "x"), ("Été-é", "ete_e"),
        ("inspect_ai", "inspect_ai_suite"), ("Task", "task_suite"), ("one of", "one_of_suite"),
    ],
)  # fmt: skip
def test_any_name_gives_a_module_that_can_be_read(suite, name, tmp_path):
    assert task_name(suite) == name
    made = Suite(suite, small_suite(2).items, Card(title='"""\n\\import os', version="1'"))
    export_suite(made, "inspect", tmp_path / "task")
    tree = ast.parse((tmp_path / "task" / f"{name}.py").read_text("utf-8"))
    assert [n.name for n in tree.body if isinstance(n, ast.FunctionDef)] == [name]


@pytest.mark.parametrize(
    ("suite", "several"),
    [(name, name in ("next", "scorer", "one_of", "choice")) for name in
     ("choice", "accuracy", "stderr", "str", "bool", "multiple_choice", "json_dataset", "task",
      "next", "scorer", "one_of", "😀 suite", "'\"𠮷")],
)  # fmt: skip
def test_a_task_of_any_name_runs(suite: str, several: bool, tmp_path):
    item = Choice(id="1", candidates=("a", "b"), gold=0, tags={"order": "first", "block": "x"})
    two = Entail(id="2", premise="p", hypothesis="h", label="neutral", also=("entailment",))
    items = (item, two) if several else (item,)
    export_suite(Suite(suite, items, Card(version="1'")), "inspect", tmp_path / "task")
    log = evaluated(tmp_path / "task", lambda row: row["target"][0], tmp_path / "logs")
    assert metrics(log)["accuracy"] == 1
    assert log.eval.dataset.name == suite
    assert log.eval.metadata["suite"].startswith(f"{suite}@")
    about = rows_of(tmp_path / "task")[0]["metadata"]
    assert (about["tag:order"], about["tag:block"]) == ("first", "x")
    assert sorted(about["order"]) == [0, 1]


def test_what_cannot_be_asked_is_left_out_and_named(tmp_path):
    items = (
        Translate(id="1", source="源", reference="source"),
        Choice(id="2", candidates=tuple(f"c{n}" for n in range(27)), gold=0),
        Choice(id="3", candidates=("a", "b"), gold=0),
    )
    export_suite(Suite("s", items), "inspect", tmp_path / "task")
    assert [row["id"] for row in rows_of(tmp_path / "task")] == ["3"]
    readme = (tmp_path / "task" / "README.md").read_text()
    assert "Left out: 1 × an item with more options than the 26 letters." in readme
    with pytest.raises(SuiteError, match="cannot be an inspect task: an item to translate"):
        export_suite(Suite("s", items[:1]), "inspect", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_other_recipes_are_refused(tmp_path):
    with pytest.raises(SuiteError, match="recipe 'translate' does not; leave --recipe out"):
        export_suite(load_suite("starter.mt"), "inspect", tmp_path / "t", recipe="translate")


def test_it_runs_where_boxpen_is_not_installed(tmp_path):
    done = CliRunner().invoke(
        app, ["suite", "export", "starter.sense", "--to", "inspect", str(tmp_path / "task")]
    )
    assert done.exit_code == 0, done.output
    program = (
        "import sys; sys.modules['boxpen'] = None\n"
        "from inspect_ai import eval\n"
        "from inspect_ai.model import ModelOutput, ModelUsage, get_model\n"
        "said = ModelOutput.from_content('mockllm/model', 'ANSWER: A')\n"
        "said.usage = ModelUsage()\n"
        "model = get_model('mockllm/model', custom_outputs=[said] * 3)\n"
        "[log] = eval('task/starter_sense.py', model=model, limit=3, display='none',"
        " log_dir='logs', task_args={'cot': True})\n"
        "print(log.status, log.results.total_samples, log.eval.metadata['suite'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    suite = load_suite("starter.sense")
    assert ran.stdout.split() == ["success", "3", f"starter.sense@{suite.hash}"]
