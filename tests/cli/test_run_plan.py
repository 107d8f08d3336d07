"""boxpen run with plan files, estimates and workers, as a person meets it."""

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import typer.main
import typer.testing
from typer.testing import CliRunner, Result

from boxpen.cli.app import app
from boxpen.cli.evaluate.matrix import executor_for
from boxpen.cli.evaluate.workers import Workers
from boxpen.cluster.executors import executor_of
from boxpen.cluster.executors.local import cores
from boxpen.matrix.settings import RunSettings

typer.testing._get_command = functools.cache(typer.main.get_command)
PAIRS = [
    ("The box is in the pen.", "The pen is in the box."),
    ("The house is by the river.", "The river is by the house."),
    ("The tree is by the house.", "The house is by the tree box."),
    ("The river is by the tree.", "The tree is by the pen."),
]
INFERENCE = {"premise": "The box is in the pen.", "hypothesis": "It is.", "label": "entailment"}


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


def refused(result: Result, *parts: str) -> None:
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("boxpen: ")
    for part in parts:
        assert part in last


@pytest.fixture
def here(gpt2_dir, tmp_path, monkeypatch) -> Path:
    """Two checkpoints, three suites and a plan in the current folder."""
    monkeypatch.chdir(tmp_path)
    for step in (9, 10):
        shutil.copytree(gpt2_dir, tmp_path / f"step-{step}")
    for name, pairs in (("one", PAIRS), ("two", PAIRS[1:])):
        lines = ["good,bad", *(f"{good},{bad}" for good, bad in pairs)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    row = {"id": "1", "kind": "entail", **INFERENCE}
    (tmp_path / "nli.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "plan.toml").write_text('model = "step-*"\nsuite = ["one.csv", "two.csv"]\n')
    return tmp_path


def numbers(result: Result) -> list[dict]:
    return json.loads(result.stdout)["results"]


def tables(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.parquet")}


RUN = ("run", "--plan", "plan.toml", "--cache", "c.sqlite")


class TestPlans:
    def test_a_plan_makes_one_table_and_a_run_for_every_cell(self, here):
        done = invoke(*RUN)
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= 80
        assert [line.split()[0] for line in lines if line.startswith("step")] == [
            "step-9", "step-10"
        ]  # fmt: skip
        assert "one" in done.stdout
        assert "two" in done.stdout
        assert "[1/4] ./one.csv × ./step-9: accuracy 0." in done.stderr
        assert "all runs" in done.stderr
        assert "kept in runs; boxpen report runs --html report.html" in done.stderr
        assert len(list((here / "runs").iterdir())) == 4

    def test_the_runs_are_those_of_the_same_command_without_a_plan(self, here):
        assert invoke(*RUN, "--out", "a").exit_code == 0
        plain = invoke("run", "one.csv", "two.csv", "--model", "./step-9", "./step-10",
                       "--cache", "d.sqlite", "--out", "b")  # fmt: skip
        assert plain.exit_code == 0, plain.output
        assert sorted(map(len, tables(here / "a").values())) == sorted(
            map(len, tables(here / "b").values())
        )
        for name in ("verdicts", "records"):
            first, second = (
                sorted(path.read_bytes() for path in (here / out).rglob(f"{name}.parquet"))
                for out in "ab"
            )
            assert first == second

    def test_rows_can_be_added_and_the_rest_is_not_scored_again(self, here):
        assert invoke(*RUN).exit_code == 0
        (here / "plan.toml").write_text(
            'model = "step-*"\nsuite = ["one.csv", "two.csv"]\n[[run]]\nnorm = "token"\n'
        )
        done = invoke(*RUN, "--json")
        assert done.exit_code == 0, done.output
        made = json.loads(done.stdout)
        assert len(made["runs"]) == 8
        assert made["failed"] == made["skipped"] == []
        for run in made["runs"]:
            info = json.loads(Path(run["path"], "run.json").read_text())
            assert info["engine"].get("computed", 0) == 0

    def test_options_replace_what_the_plan_says(self, here):
        (here / "plan.toml").write_text(
            'model = "step-*"\nsuite = ["one.csv", "two.csv"]\nlimit = 2\nseed = 5\n'
        )
        found = [
            {(row["suite"], row["signature"]) for row in numbers(invoke(*RUN, "--json", *options))}
            for options in ((), ("--seed", 0), ("--limit", 3), ("two.csv",))
        ]
        assert all("sample:2/" in line and "@5" in line for _, line in found[0])
        assert all("sample:2/" in line and "@0" in line for _, line in found[1])
        assert any("sample:3/4@5" in line for _, line in found[2])
        assert [{suite for suite, _ in rows} for rows in found] == [{"one", "two"}] * 3 + [{"two"}]

    def test_several_recipes_need_no_plan(self, here):
        path = here / "step-9" / "tokenizer_config.json"
        chat = {"chat_template": "{% for m in messages %}{{ m.content }}\n{% endfor %}"}
        path.write_text(json.dumps(json.loads(path.read_text()) | chat))
        done = invoke("run", "one.csv", "--model", "./step-9", "--recipe", "sound", "ask-letters",
                      "--cache", "c.sqlite", "--json")  # fmt: skip
        assert done.exit_code == 0, done.output
        assert len(json.loads(done.stdout)["runs"]) == 2

    def test_what_fails_is_named_and_the_rest_goes_on(self, here):
        for place in (here / "step-10").glob("*.safetensors"):
            place.write_bytes(place.read_bytes()[:-100])
        done = invoke(*RUN)
        assert done.exit_code == 1, done.output
        assert "• failed ./one.csv × ./step-10: " in done.stdout
        assert "Traceback" not in done.output
        assert len(list((here / "runs").iterdir())) == 2
        again = invoke(*RUN, "--json")
        assert again.exit_code == 1
        assert len(json.loads(again.stdout)["failed"]) == 2

    def test_what_a_model_cannot_do_is_skipped(self, here):
        (here / "plan.toml").write_text('model = "step-*"\nsuite = ["one.csv", "nli.jsonl"]\n')
        done = invoke(*RUN)
        assert done.exit_code == 0, done.output
        assert "• skipped ./nli.jsonl × ./step-9: " in done.stdout
        assert len(json.loads(invoke(*RUN, "--json").stdout)["skipped"]) == 2

    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ('model = "step-*"\n', ["plan.toml: suite is missing"]),
            ('model = "stop-*"\nsuite = "one.csv"\n', ["plan.toml", "'stop-*'"]),
            ('model = "step-9"\nsuite = "three.csv"\n', ["three.csv"]),
            ('modle = "step-9"\nsuite = "one.csv"\n', ["model is missing"]),
            ('model = "./step-9"\nsuite = "one.csv"\nlimit = "all"\n', ["limit"]),
            ('model = "./step-9"\nsuite = "one.csv"\nrecipe = "sund"\n', ["'sund'", "'sound'"]),
            ("model = [", ["plan.toml"]),
        ],
    )
    def test_a_wrong_plan_is_refused_with_one_sentence(self, here, text, parts):
        (here / "plan.toml").write_text(text)
        refused(invoke(*RUN), *parts)
        assert not (here / "runs").exists()

    def test_a_plan_that_is_not_there(self, here):
        refused(invoke("run", "--plan", "nowhere.toml"), "nowhere.toml")


class TestEstimates:
    def test_they_count_what_is_left_and_write_nothing(self, here):
        before = sorted(here.iterdir())
        done = invoke(*RUN, "--dry-run")
        assert done.exit_code == 0, done.output
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert "computed" in done.stdout
        assert [p for p in sorted(here.iterdir()) if not p.name.startswith("c.sqlite")] == before
        found = json.loads(invoke(*RUN, "--dry-run", "--json").stdout)
        cells = [cell for model in found["models"] for cell in model["cells"]]
        assert [(c["suite"], c["items"], c["cached"]) for c in cells] == [
            ("one", 4, 0), ("two", 3, 6)
        ] * 2  # fmt: skip
        assert cells[0]["tokens"] >= cells[0]["nodes"] > 0
        assert found["seconds"] > 0

    def test_what_is_done_costs_nothing(self, here):
        assert invoke(*RUN).exit_code == 0
        found = json.loads(invoke(*RUN, "--dry-run", "--json").stdout)
        assert found["seconds"] == 0
        assert all(c["nodes"] == 0 for model in found["models"] for c in model["cells"])

    def test_they_need_no_plan(self, here):
        done = invoke("run", "one.csv", "--model", "./step-9", "--dry-run", "--cache", "c.sqlite")
        assert done.exit_code == 0, done.output
        assert "one" in done.stdout


class TestWorkers:
    def test_local_workers_give_the_same_tables(self, here):
        assert invoke(*RUN, "--out", "a").exit_code == 0
        done = invoke("run", "--plan", "plan.toml", "--cache", "d.sqlite", "--out", "b",
                      "--executor", "local", "--workers", 2, "--store", "store")  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "all units" in done.stderr
        assert tables(here / "a") == tables(here / "b")
        assert {path.name for path in (here / "store").iterdir()} >= {"done"}
        left = [p for kind in ("jobs", "claims", "workers", "sheets")
                for p in (here / "store" / kind).rglob("*") if p.is_file()]  # fmt: skip
        assert left == []

    @pytest.mark.heavy  # fast: cluster/test_machines_page.py, workers of Slurm
    def test_those_that_join_are_told_how(self, here):
        command = [sys.executable, "-m", "boxpen"]
        worker = subprocess.Popen(
            [*command, "worker", "--join", "store", "--idle", "60"],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        done = invoke(*RUN, "--executor", "worker", "--store", "store")
        worker.send_signal(signal.SIGTERM)
        said = worker.communicate(timeout=60)[1]
        assert done.exit_code == 0, done.output
        assert f"boxpen worker --join {here / 'store'}" in done.stderr
        assert "Traceback" not in said

    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (["--workers", 2], ["--workers requires --executor"]),
            (["--store", "x"], ["--store requires --executor"]),
            (["--executor", "worker"], ["--executor worker requires --store"]),
            (["--executor", "worker", "--store", "s", "--workers", 2], ["no --workers"]),
            (["--executor", "local", "--gpus-per-worker", 0.5], ["for --executor ray"]),
            (["--executor", "local", "--store", "ftp://x/y"], ["ftp://"]),
            (["--executor", "local", "--store", "plan.toml"], ["plan.toml"]),
            (["--executor", "ray", "--device", "cpu"], ["--device cpu", "leave it out"]),
            (["--executor", "worker", "--store", "s", "--device", "cpu"], ["boxpen worker"]),
            (["--dry-run", "--executor", "worker"], ["--executor worker requires --store"]),
        ],
    )
    def test_what_does_not_fit_is_refused(self, here, options, parts):
        refused(invoke(*RUN, *options), *parts)

    @pytest.mark.parametrize("setting", [{"device": "cuda:1"}, {"max_cost": 2.0}])
    def test_this_process_does_what_workers_cannot(self, monkeypatch, setting):
        """With several GPUs, workers are the default, but not for a device or a limit on costs."""
        monkeypatch.setattr("boxpen.cluster.executors.local.gpus", lambda: 2)
        assert executor_for([RunSettings()], Workers()) == "local"
        assert executor_for([RunSettings(), RunSettings(**setting)], Workers()) is None

    def test_local_workers_compute_where_they_are_told(self, monkeypatch):
        monkeypatch.setattr("boxpen.cluster.executors.local.gpus", lambda: 2)
        executor = executor_of("local", device="cpu")
        assert executor.count == cores()
        env = executor._environment(1)
        assert env["BOXPEN_DEVICE"] == "cpu"
        assert env.get("CUDA_VISIBLE_DEVICES") == os.environ.get("CUDA_VISIBLE_DEVICES")
        assert executor_of("local", device="cuda:1").count == 1
        assert executor_of("local").count == 2
        assert executor_of("local")._environment(1)["CUDA_VISIBLE_DEVICES"] == "1"

    @pytest.mark.parametrize(("place", "part"), [("", "--join is empty"), ("a.txt", "a.txt")])
    def test_what_workers_cannot_join_is_refused(self, here, place, part):
        (here / "a.txt").write_text("mine")
        refused(invoke("worker", "--join", place), part)
        assert (here / "a.txt").read_text() == "mine"

    @pytest.mark.heavy  # fast: cluster/test_local_executor.py, a driver that is killed
    def test_an_interrupted_run_goes_on_where_it_was(self, here):
        rows = [f"The box {n} is in the pen.,The pen {n} is in the box." for n in range(2500)]
        (here / "plan.toml").write_text('model = "step-9"\nsuite = "one.csv"\n')
        (here / "one.csv").write_text("\n".join(["good,bad", *rows]) + "\n")
        command = [sys.executable, "-m", "boxpen", *RUN, "--executor", "local", "--workers", "1",
                   "--store", "store"]  # fmt: skip
        first = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        store = here / "store" / "done"
        until = time.monotonic() + 120
        while not (kept := [p for p in store.rglob("*") if p.is_file()]):
            assert first.poll() is None, first.communicate()
            assert time.monotonic() < until
            time.sleep(0.02)
        first.send_signal(signal.SIGINT)
        output, said = first.communicate(timeout=60)
        assert first.returncode == 130, said
        assert output == ""
        assert "rerun the same command to resume" in said
        before = {path: path.stat().st_mtime_ns for path in kept}
        assert not any((here / "store" / "workers").iterdir())
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert second.returncode == 0, second.stderr
        assert {path: path.stat().st_mtime_ns for path in before} == before
        frames = [pl.read_parquet(path) for path in here.glob("runs/one*/verdicts.parquet")]
        assert [frame.height for frame in frames] == [2500]
