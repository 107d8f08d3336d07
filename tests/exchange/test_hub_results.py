"""Results for model cards: what the Hub's own library reads, with the numbers of the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

repocard_data = pytest.importorskip("huggingface_hub.repocard_data")
yaml = pytest.importorskip("yaml")
eval_results = pytest.importorskip("huggingface_hub._eval_results")

from boxpen import Run, RunError  # noqa: E402
from boxpen.cli.app import app  # noqa: E402
from boxpen.exchange import export_runs  # noqa: E402
from boxpen.review.human_run import human_run  # noqa: E402
from small_runs import human_table, small_run, small_suite  # noqa: E402


def written(runs: list[Run], folder: Path) -> Path:
    export_runs(runs, "hf", folder)
    return folder


def entries(file: Path) -> list:
    return eval_results.parse_eval_result_entries(yaml.safe_load(file.read_text("utf-8")))


def number(run: Run, name: str, metric: str = "accuracy") -> float:
    return next(r.value for r in run.summary() if (r.slice, r.metric) == (name, metric))


def at_home(run: Run, url: str = "https://huggingface.co/datasets/boxpen/small") -> Run:
    """The same run on a suite that is on the Hub."""
    return replace(run, info=replace(run.info, suite=replace(run.info.suite, url=url)))


def test_entries_have_the_numbers_of_the_run(tmp_path):
    run = at_home(small_run("++-=+-+++++-"))
    folder = written([run], tmp_path / "out")
    (file,) = (folder / "one" / ".eval_results").iterdir()
    found = entries(file)
    assert [(e.dataset_id, e.task_id, e.value) for e in found] == [
        ("boxpen/small", "default", number(run, "all")),
        ("boxpen/small", "A", number(run, "set=A")),
        ("boxpen/small", "B", number(run, "set=B")),
    ]
    first = next(r for r in run.summary() if (r.slice, r.metric) == ("all", "accuracy"))
    for part in (str(first), "chance 0.500", "n = 12", "1 ties", run.signature):
        assert part in found[0].notes
    assert "#" not in file.read_text("utf-8")


def test_a_suite_without_a_home_on_the_hub_leaves_its_owner_open(tmp_path):
    folder = written([small_run("++")], tmp_path / "out")
    (file,) = (folder / "one" / ".eval_results").iterdir()
    assert {e.dataset_id for e in entries(file)} == {"OWNER/small"}
    assert file.read_text("utf-8").startswith("# boxpen knows no data set of small on the Hub")


def test_the_model_index_is_read_by_the_library_of_the_hub(tmp_path):
    run = small_run("++-+" * 10)
    folder = written([run], tmp_path / "out")
    index = yaml.safe_load((folder / "one" / "model-index.yaml").read_text("utf-8"))
    name, found = repocard_data.model_index_to_eval_results(index["model-index"])
    assert name == "one"
    by = {(e.dataset_config, e.metric_type): e for e in found}
    assert by["default", "accuracy"].metric_value == number(run, "all")
    assert by["A", "accuracy"].metric_value == number(run, "set=A")
    assert by["default", "both_right"].metric_value == number(run, "all", "both_right")
    args = by["default", "accuracy"].metric_args
    assert args["signature"] == run.signature
    assert args["chance"] == 0.5
    assert args["low"] < by["default", "accuracy"].metric_value < args["high"]


def test_a_sample_is_named_first(tmp_path):
    small_run("++-+" * 5, limit=8).save(tmp_path / "runs")
    words = ["report", str(tmp_path / "runs"), "--to", "hf", str(tmp_path / "out")]
    told = CliRunner().invoke(app, words)
    assert "• not results of a whole suite: small (sample of 8 of 20, seed 0)" in told.stderr
    (file,) = (tmp_path / "out" / "one" / ".eval_results").iterdir()
    for entry in entries(file):
        assert entry.notes.startswith("sample of 8 of 20, seed 0, not the whole suite, Accuracy ")
    index = yaml.safe_load((tmp_path / "out" / "one" / "model-index.yaml").read_text("utf-8"))
    for entry in repocard_data.model_index_to_eval_results(index["model-index"])[1]:
        assert entry.dataset_name == "small (sample of 8 of 20, seed 0)"
        assert entry.dataset_args == {"sample": "8/20@0"}


def test_a_whole_suite_is_not_called_a_sample(tmp_path):
    small_run("++-+").save(tmp_path / "runs")
    words = ["report", str(tmp_path / "runs"), "--to", "hf", str(tmp_path / "out")]
    assert "whole suite" not in CliRunner().invoke(app, words).stderr
    for file in (tmp_path / "out" / "one").rglob("*.yaml"):
        assert "sample" not in file.read_text("utf-8")


def test_every_model_has_a_folder_and_every_run_a_file(tmp_path):
    runs = [
        small_run("++", model="a/x"), small_run("+-", model="b/x"),
        small_run("++", model="a/x", suite="other"),
        small_run("++", model="a/x", norm="token"),
    ]  # fmt: skip
    folder = written(runs, tmp_path / "out")
    counts = {p.name: len(list((p / ".eval_results").iterdir())) for p in folder.glob("[!.]*")}
    assert counts == {"x": 3, "x-2": 1}


def test_human_answers_belong_on_no_model_card(tmp_path):
    table = human_table(tmp_path, "item,ann,bo\ni0,0,0\ni1,0,1\n")
    run = human_run(small_suite(2), table, min_judges=2)
    with pytest.raises(RunError, match="which belong on no model card"):
        export_runs([small_run("++"), run], "hf", tmp_path / "out")
    assert not (tmp_path / "out").exists()
