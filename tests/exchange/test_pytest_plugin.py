"""The pytest plug-in: rules as tests, run once, whoever asks, and nothing where it is not used."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from boxpen import write_suite
from small_runs import small_run, small_suite

ROOT = Path(__file__).parents[2]
PLUGIN = "boxpen.exchange.pytest_plugin"
GATE = """
[run]
suite = "./small.jsonl"
model = "hf:{model}"
cache = ":memory:"

[[rule]]
metric = "accuracy"
min = 0

[[rule]]
suite = "small"
metric = "accuracy"
min = 1

[[rule]]
slice = "set=A"
metric = "accuracy"
max = 0
"""
OWN = """
import pytest

def test_of_the_user():
    pass

def test_own_assertion(boxpen_gate):
    (run,) = boxpen_gate("gate.toml").runs
    assert len(run.verdicts) == 20
"""


def run_pytest(folder: Path, *args: object, plugins: tuple[str, ...] = (PLUGIN,), env=None):
    """Run pytest with these plug-ins alone, whether or not boxpen is installed with its own."""
    chosen = [word for name in plugins for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", *chosen, *map(str, args)]
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        command, cwd=folder, env=kept | alone | (env or {}), capture_output=True, text=True
    )


@pytest.fixture
def project(tmp_path, gpt2_dir) -> Path:
    write_suite(small_suite(), tmp_path / "small.jsonl")
    (tmp_path / "gate.toml").write_text(GATE.format(model=gpt2_dir), "utf-8")
    (tmp_path / "test_own.py").write_text(OWN, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n", "utf-8")
    return tmp_path


def test_each_rule_is_a_test_with_a_readable_failure(project):
    done = run_pytest(project, "--boxpen", "gate.toml", "-W", "error", "--junitxml", "j.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "collected 5 items" in done.stdout
    assert "2 failed, 3 passed" in done.stdout
    assert "accuracy >= 1 does not hold for small × " in done.stdout
    assert re.search(r"^  value      0\.\d{4} \(n = 20\)$", done.stdout, re.M)
    assert re.search(r"^  interval   0\.\d{4} to 0\.\d{4} \(95 %\)$", done.stdout, re.M)
    assert "  threshold  at least 1\n" in done.stdout
    assert "  threshold  at most 0\n" in done.stdout
    assert "Traceback" not in done.stdout
    assert "pytest_plugin.py" not in done.stdout
    (run,) = (project / "runs").iterdir()  # the fixture and three rules share one run
    assert f"ok   {run.name} accuracy >= 0: 0." in done.stdout
    assert f"FAIL {run.name} accuracy >= 1: 0." in done.stdout
    cases = ElementTree.parse(project / "j.xml").iter("testcase")
    names = [case.get("name") for case in cases]
    assert names[:3] == ["accuracy >= 0", "accuracy >= 1 [small]", "set=A: accuracy <= 0"]


@pytest.mark.heavy  # fast: each rule is a test
def test_workers_run_a_gate_once(project):
    # Each of the runs would be told by its line; a second run would be saved to the same place.
    (project / "conftest.py").write_text(
        "import boxpen.exchange.gate as gate, pathlib\n"
        "def counted(*args, plain=gate.run_plans, **more):\n"
        "    with pathlib.Path('count').open('a') as file:\n"
        "        file.write('run ')\n"
        "    return plain(*args, **more)\n"
        "gate.run_plans = counted\n"
    )
    done = run_pytest(
        project, "--boxpen", "gate.toml", "-n", 2, "--dist", "each", plugins=(PLUGIN, "xdist")
    )
    assert "4 failed, 6 passed" in done.stdout, done.stdout + done.stderr
    assert (project / "count").read_text() == "run "
    lines = {re.sub(r"^.*?: ", "", x) for x in done.stdout.splitlines() if "ok  " in x[:4]}
    assert len(lines) == 1  # the worker that read the saved run found the same numbers


def test_one_rule_can_be_chosen(project):
    for choice in (("-m", "boxpen", "-k", "set=A"), ("gate.toml::set=A: accuracy <= 0",)):
        done = run_pytest(project, "--boxpen", "gate.toml", "--collect-only", "-q", *choice)
        found = [line for line in done.stdout.splitlines() if "gate.toml::" in line]
        assert "gate.toml::set=A: accuracy <= 0" in found, done.stdout
    done = run_pytest(project, "--boxpen", "gate.toml", "--collect-only", "-q", "gate.toml")
    assert done.stdout.count("gate.toml::") == 3  # named twice, collected once


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "gate.toml cannot be read: No such file"),
        ("[[rule]\n", "is not TOML"),
        ("[[rule]]\nmetric = 'accuracy'\nmin = 0.5", "run is missing; add a table [run]"),
        (
            "[run]\nmodle = 'a'\n[[rule]]\nmetric = 'a'\nmin = 0",
            "'run.modle', did you mean 'model'",
        ),
        (
            "[run]\nfull = true\nlimit = 3\n[[rule]]\nmetric = 'a'\nmin = 0",
            "run.full only works without",
        ),
    ],
)
def test_a_bad_gate_is_a_usage_error(tmp_path, text, part):
    if text is not None:
        (tmp_path / "gate.toml").write_text(text, "utf-8")
    done = run_pytest(tmp_path, "--boxpen", "gate.toml")
    assert done.returncode == 4
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("ERROR: ")
    assert part in line


def test_what_cannot_be_run_is_an_error_in_one_sentence(project):
    (project / "gate.toml").write_text(f"[run]\nmodel = 'smollm'\n{GATE[GATE.index('[[') :]}")
    done = run_pytest(project, "--boxpen", "gate.toml")
    assert "1 failed, 1 passed, 3 errors" in done.stdout, done.stdout
    assert "did you mean 'smollm2'" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (project / "runs").exists()


def test_nothing_heavy_is_imported_where_it_is_not_used(tmp_path):
    (tmp_path / "test_modules.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        "    heavy = 'numpy polars pydantic torch transformers requests rich scipy pooch jieba'\n"
        "    assert not set(heavy.split()) & set(sys.modules)\n"
        "    assert not [name for name in sys.modules if name.startswith('boxpen.runs')]\n"
    )
    (tmp_path / "other.toml").write_text("[tool]\n")
    done = run_pytest(tmp_path, "-W", "error")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert "boxpen" not in done.stdout.replace("plugins: boxpen", "")


def test_it_is_an_entry_point():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert config["project"]["entry-points"]["pytest11"] == {"boxpen": PLUGIN}


def test_a_regression_is_told_with_its_baseline():
    from boxpen.exchange.pytest_plugin import _told
    from boxpen.runs.rules import Rule, check_runs

    rule = Rule(metric="accuracy", kind="baseline", test="paired")
    before, after = small_run("+" * 16 + "-" * 4), small_run("-" * 18 + "++")
    (outcome,) = check_runs([after], [rule], [before])
    text = _told(outcome, Path("runs/x"))
    assert "  baseline   0.8000 [" in text
    assert "  p-value    0.039" in text
    assert "  run        runs/x\n" in text


@pytest.mark.parametrize(("name", "sign"), [("g[1].toml", "["), ("x::y.toml", "::")])
def test_a_name_that_pytest_would_split_is_a_usage_error(name, sign, tmp_path):
    (tmp_path / name).write_text(GATE.format(model="x"), "utf-8")
    done = run_pytest(tmp_path, "--boxpen", name)
    assert done.returncode == 4, done.stdout + done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith(f"ERROR: {tmp_path / name} has '{sign}', after which pytest expects")
