"""docs/how-to/evaluate/many-machines.md: its commands run, with tiny models.

Slurm and ssh start a command on another machine; here a script starts it on this one.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from boxpen.cli.app import app
from boxpen.matrix.plan_file import read_plan

pytest.importorskip("torch")

DOCS = Path(__file__).parents[2] / "docs"
MATRIX = (DOCS / "how-to" / "evaluate" / "matrix.md").read_text("utf-8")
MACHINES = (DOCS / "how-to" / "evaluate" / "many-machines.md").read_text("utf-8")
PAIRS = "good,bad\n" + "".join(
    f"The box {n} is in the pen.,The pen {n} is in the box.\n" for n in range(4)
)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}[^\n]*\n(.+?)```", page, re.S)


def commands(page: str) -> list[list[str]]:
    """Return the commands of boxpen in blocks and tables of a page, each once."""
    found = (
        "\n".join(blocks(page, "bash")) + "\n" + "\n".join(re.findall(r"`(boxpen [^`]+)`", page))
    )
    lines = re.findall(r"^(?:RAY_ADDRESS=auto )?(boxpen .+?)(?: +#.*)?$", found, re.M)
    lines = [line for line in lines if line != "boxpen run"]  # the name of the command alone
    return [shlex.split(line) for line in dict.fromkeys(lines)]


@pytest.fixture
def here(gpt2_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the first plan of matrix.md, tiny checkpoints and small suites."""
    monkeypatch.chdir(tmp_path)
    for step in (2, 10):
        shutil.copytree(gpt2_dir, tmp_path / "checkpoints" / f"step-{step}")
    (tmp_path / "mine.csv").write_text(PAIRS)
    plan = blocks(MATRIX, "toml")[0]
    plan = plan.replace('"smollm2", ', "").replace('"commonmt", "cats", "mine.csv"', '"mine.csv"')
    (tmp_path / "plan.toml").write_text(plan)
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    return tmp_path


def invoke(command: list[str]) -> str:
    assert command[0] == "boxpen"
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, (command, done.output)
    return done.stdout


def test_plans_of_the_page_are_read(here: Path) -> None:
    first, second = blocks(MATRIX, "toml")
    sizes = []
    for text in (first, second):
        (here / "plan.toml").write_text(text)
        sizes.append([(len(m.model), m.suite, m.recipe) for m in read_plan("plan.toml")])
    suites = ("cats", "senmaking")
    assert sizes[0] == [(3, ("commonmt", "cats", "./mine.csv"), ("sound",))]
    assert sizes[1] == [
        (3, suites, ("sound",)), (3, ("commonmt",), ("sound", "paper")), (3, suites, ("sound",))
    ]  # fmt: skip


@pytest.mark.heavy  # fast: cli/test_run_plan.py, local workers
def test_the_local_command_runs(here: Path) -> None:
    assert "step-10" in invoke(["boxpen", "run", "--plan", "plan.toml", "--executor", "local"])


def starters(folder: Path) -> dict[str, str]:
    """Put an srun and an ssh into a folder, and return an environment that finds them."""
    folder.mkdir()
    run = (
        f'#!/bin/bash\ncase $0 in *ssh) shift;; esac\nshift\nexec {sys.executable} -m boxpen "$@"\n'
    )
    for name in ("srun", "ssh"):
        (folder / name).write_text(run)
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_workers_of_slurm_and_ssh_do_the_work(here: Path) -> None:
    scripts = [b for b in blocks(MACHINES, "bash") if "boxpen worker --join /shared" in b]
    assert [("sbatch" in s.lower(), "ssh" in s) for s in scripts] == [(True, False), (False, True)]
    store = here / "shared"
    env = starters(here / "bin")
    running = [
        subprocess.Popen(
            ["bash", "-c", script.replace("/shared/boxpen", str(store)) + "\nwait\n"],
            env=env | {"SLURM_ARRAY_TASK_ID": "3"}, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )
        for script in (scripts[0], scripts[1].replace("gpu1 gpu2 gpu3", "gpu1"))
    ]  # fmt: skip
    command = "boxpen run --plan plan.toml --executor worker --store /shared/boxpen"
    said = invoke(command.replace("/shared/boxpen", str(store)).split())
    assert "step-10" in said
    for each in running:
        os.killpg(each.pid, signal.SIGTERM)  # as Slurm does when the job is cancelled
        assert "Traceback" not in each.communicate(timeout=60)[1]
    assert not list((store / "workers").iterdir())


@pytest.mark.heavy  # fast: test_workers_of_slurm_and_ssh_do_the_work; test_object_store.py
def test_workers_meet_in_an_object_store(here: Path, s3_url: str) -> None:
    worker, run = (
        " ".join(command).replace("s3://bucket/boxpen", s3_url).split()
        for command in sorted(commands(MACHINES), reverse=True)
        if "s3://bucket/boxpen" in command
    )
    joined = subprocess.Popen([sys.executable, "-m", *worker], stderr=subprocess.PIPE, text=True)
    assert "step-10" in invoke(run)
    joined.terminate()
    assert "Traceback" not in joined.communicate(timeout=60)[1]
