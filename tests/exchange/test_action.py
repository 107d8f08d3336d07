"""The GitHub Action: its steps are executed here as a runner would, apart from ``uses``."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from boxpen import write_suite
from small_runs import small_run, small_suite

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]


# pip only prepares the package, with what is there (0: without an environment of its own).
PREPARED = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PIP_DRY_RUN": "1",
    "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0",
}  # fmt: skip


class Runner:
    """Executes the steps of the action in a folder."""

    def __init__(self, folder: Path, more: dict[str, str] = PREPARED, **inputs: str) -> None:
        self.folder = folder
        self.more = more
        self.failed = False
        self.logs: dict[str, str] = {}
        self.uses: list[str] = []
        self.values = {
            "github.action_path": str(ROOT), "github.run_id": "1", "github.run_attempt": "1",
            "runner.temp": str(folder / "temp"), "runner.os": "Linux",
        }  # fmt: skip
        for name, given in ACTION["inputs"].items():
            value = inputs.pop(name.replace("-", "_"), given.get("default"))
            assert value is not None, f"{name} is required"
            self.values[f"inputs.{name}"] = value
        assert not inputs

    def value(self, name: str) -> str:
        if name.startswith("steps."):
            return self.values.get(name, "")
        return self.values[name]

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda m: self.value(m[1]), text)

    def due(self, step: dict[str, Any]) -> bool:
        condition = re.sub(r"^\$\{\{ (.*) \}\}$", r"\1", step.get("if", ""))
        if self.failed and "cancelled()" not in condition:
            return False
        code = condition.replace("!cancelled()", "True").replace("&&", "and").replace("||", "or")
        code = re.sub(r"(?:inputs|steps)\.[\w.-]+", lambda m: repr(self.value(m[0])), code)
        return not code or bool(eval(code))

    def run(self) -> "Runner":
        (self.folder / "temp").mkdir(exist_ok=True)
        for step in STEPS:
            if not self.due(step):
                continue
            if "uses" in step:
                self.uses.append(step["uses"].partition("@")[0])
                for value in step["with"].values():
                    self.filled(value)
                continue
            self.execute(step)
        return self

    def execute(self, step: dict[str, Any]) -> None:
        output, summary = self.folder / "temp" / "output", self.folder / "temp" / "summary.md"
        output.write_text("")
        script = self.folder / "temp" / "step.sh"
        script.write_text(step["run"])
        env = os.environ | {name: self.filled(value) for name, value in step["env"].items()}
        env |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), **self.more}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True)
        self.logs[step["name"]] = done.stdout + done.stderr
        self.failed |= done.returncode != 0
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value

    def outputs(self) -> dict[str, str]:
        return {name: self.filled(one["value"]) for name, one in ACTION["outputs"].items()}

    @property
    def summary(self) -> str:
        return (self.folder / "temp" / "summary.md").read_text("utf-8")


def test_actions_are_pinned_and_scripts_hold_no_expressions():
    for step in STEPS:
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"])
        else:
            assert "${{" not in step["run"]  # what a user writes is never part of a script
            assert step["shell"] == "bash"
    text = (ROOT / "action.yml").read_text("utf-8")
    assert len(re.findall(r"uses: \S+ # v\d+\.\d+\.\d+$", text, re.M)) == 3


def test_it_installs_its_own_source(tmp_path):
    runner = Runner(tmp_path, gate="no gate.toml").run()
    assert "Would install boxpen-" in runner.logs["Install boxpen"], runner.logs


@pytest.fixture
def project(tmp_path, gpt2_dir) -> Path:
    write_suite(small_suite(), tmp_path / "small.jsonl")
    (tmp_path / "a gate.toml").write_text(
        f"[run]\nsuite = './small.jsonl'\nmodel = 'hf:{gpt2_dir}'\n"
        "[[rule]]\nmetric = 'accuracy'\nmin = 0\n[[rule]]\nmetric = 'accuracy'\nmin = 1\n"
    )
    return tmp_path


@pytest.mark.heavy  # fast: runs that are there and a baseline
def test_a_broken_rule_fails_and_is_reported(project):
    runner = Runner(project, gate="a gate.toml", install="false").run()
    assert runner.failed
    assert runner.outputs() == {
        "status": "1", "junit": "boxpen-gate/junit.xml", "report": "boxpen-gate/report.html"
    }, runner.logs  # fmt: skip
    assert runner.uses == ["actions/setup-python", "actions/cache", "actions/upload-artifact"]
    assert "### boxpen: 1 of 2 rules failed" in runner.summary
    assert "### small × hf:" in runner.summary
    assert "### boxpen: 1 of 2" in runner.logs["Check the gate"]
    root = ElementTree.parse(project / "boxpen-gate" / "junit.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert "<html" in (project / "boxpen-gate" / "report.html").read_text("utf-8")
    again = Runner(project, gate="a gate.toml", install="false").run()
    assert again.outputs()["status"] == "2"
    assert "has runs already" in again.logs["Check the gate"]


@pytest.mark.heavy
def test_an_environment_of_its_own_gets_all_it_needs(project, monkeypatch):
    """The steps with a real install, of PyTorch too, into an environment that has only pip."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    venv = project / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    asked = ["-m", "pip", "install", "--dry-run", "--no-deps", "-c", ROOT / "constraints.txt"]
    found = subprocess.run([venv / "bin" / "python", *asked, "torch"], capture_output=True)
    if found.returncode:
        pytest.skip("the package index has no PyTorch of the version in constraints.txt")
    path = {"PATH": f"{venv / 'bin'}:{os.environ['PATH']}"}
    runner = Runner(project, path, gate="a gate.toml", extra_index_url="").run()
    assert "Successfully installed" in runner.logs["Install boxpen"], runner.logs
    assert runner.outputs()["status"] == "1", runner.logs
    assert "### boxpen: 1 of 2 rules failed" in runner.summary
    assert (project / "boxpen-gate" / "report.html").is_file()
    told = "import boxpen, torch; print(boxpen.__file__, torch.__version__.partition('+')[0])"
    command = [venv / "bin" / "python", "-c", told]
    place, torch = subprocess.check_output(command, text=True, cwd=project).split()
    assert Path(place).is_relative_to(venv)
    assert f"torch=={torch}" in (ROOT / "constraints.txt").read_text().splitlines()


def test_runs_that_are_there_and_a_baseline(tmp_path):
    small_run("+" * 16 + "-" * 4).save(tmp_path / "before")
    small_run("+" * 18 + "-" * 2, fingerprint="a" * 64).save(tmp_path / "after")
    (tmp_path / "gate.toml").write_text(
        "[[rule]]\nmetric = 'accuracy'\nno_worse_than_baseline = true\n"
    )
    given = {"gate": "gate.toml", "runs": "after", "baseline": "before", "install": "false"}
    runner = Runner(tmp_path, **given, artifact="", cache="false", python_version="").run()
    assert not runner.failed, runner.logs
    assert runner.outputs()["status"] == "0"
    assert runner.uses == []
    assert "all rules hold" in runner.summary


def test_a_gate_that_cannot_be_checked(tmp_path):
    runner = Runner(tmp_path, gate="$(touch x).toml", install="false").run()
    assert runner.outputs() == {"status": "2", "junit": "", "report": ""}
    assert "cannot be read" in runner.logs["Check the gate"]
    assert "could not check" in runner.summary
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("module", ["boxpen", "typer"])
def test_a_program_that_does_not_start_is_no_broken_rule(module, tmp_path, monkeypatch):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / f"{module}.py").write_text("raise RuntimeError('no such luck')\n")
    (tmp_path / "boxpen-gate").mkdir()
    (tmp_path / "boxpen-gate" / "junit.xml").write_text("of an earlier step")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    runner = Runner(tmp_path, gate="gate.toml", install="false").run()
    assert "no such luck" in runner.logs["Check the gate"]
    assert runner.outputs() == {"status": "2", "junit": "", "report": ""}
    assert runner.failed
