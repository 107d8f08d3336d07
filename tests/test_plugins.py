"""Plug-ins of other packages: the examples of the documentation, and broken ones."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from boxpen import plugins
from boxpen.cli.app import app

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "extend" / "plugins.md").read_text()


def test_every_builtin_name_is_right():
    pytest.importorskip("torch")
    for name in plugins.__all__:
        registry = getattr(plugins, name)
        assert list(registry.listed())[: len(registry.builtin)] == list(registry.builtin)


def install(folder: Path, project: dict, modules: dict[str, str]) -> None:
    """Put a package and its metadata where pip would."""
    for name, code in modules.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    title = f"Name: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\n{title}")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {place}" for name, place in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def boxpen(tmp_path):
    """Run the command line with what is installed in ``tmp_path / "site"``."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        paths = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}
        command = [sys.executable, "-m", "boxpen", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )

    return run


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The package of the documentation: its modules, and the folder that pip installed it in."""
    pytest.importorskip("hatchling")
    (described,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    modules = dict(re.findall(r"`(boxpen_animals/\w+\.py)`.*?```python\n(.*?)```", PAGE, re.DOTALL))
    assert len(modules) == 4
    source = tmp_path_factory.mktemp("animals")
    (source / "pyproject.toml").write_text(described)
    assert "beside an empty `__init__.py`" in PAGE
    (source / "boxpen_animals").mkdir()
    (source / "boxpen_animals" / "__init__.py").touch()
    for name, code in modules.items():
        (source / name).write_text(code)
    site = source / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", site, source]
    subprocess.run([*pip, *alone], check=True)
    return modules, site


@pytest.fixture
def animals(built, tmp_path):
    """The modules of the package, which is installed for ``boxpen``."""
    modules, site = built
    shutil.copytree(site, tmp_path / "site", dirs_exist_ok=True)
    return modules


def test_examples_are_short(animals):
    for name, code in animals.items():
        assert len([line for line in code.splitlines() if line.strip()]) <= 20, name


def test_a_suite_and_a_model(animals, boxpen, tmp_path):
    listed = boxpen("suite", "list", "--json")
    assert "animals" in [e["name"] for e in json.loads(listed.stdout)]
    assert listed.stderr == ""
    assert "coin:NAME" in boxpen("model", "list").stdout
    scores = ("--cache", tmp_path / "scores.sqlite", "--json")
    done = boxpen("run", "animals", "--model", "coin:7", *scores)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert "suite:animals@" in run["signature"]
    assert "|model:7@coin 7|" in run["signature"]
    shown = json.loads(boxpen("model", "show", "coin:7", "--json").stdout)
    assert (shown["kind"], shown["fingerprint"]) == ("causal", "coin 7")


def test_a_builder(animals, boxpen, tmp_path):
    example = boxpen("build", "example", "lines")
    assert example.returncode == 0, example.stderr
    (tmp_path / "c.toml").write_text(example.stdout)
    (tmp_path / "pairs.tsv").write_text("Fish swim.\tFish knit.\nDogs bark.\tDogs bank.\n")
    done = boxpen("build", "run", "c.toml")
    assert done.returncode == 0, done.stderr
    assert "write: 2 items" in done.stdout
    assert "up to date" in boxpen("build", "status", "c.toml").stdout
    assert json.loads(boxpen("suite", "show", "lines/lines.jsonl", "--json").stdout)["items"] == 2


def test_an_exporter(animals, boxpen, tmp_path):
    done = boxpen("suite", "export", "animals", "--out", "animals.md")
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "animals.md").read_text()
    assert written == "# animals\n\n- Cats chase mice.\n- A bird flew to its nest.\n"
    done = boxpen("suite", "export", "animals", "--out", "animals.doc")
    assert done.returncode == 2
    assert "expected .jsonl, .csv, .tsv, .parquet or .md" in done.stderr


BROKEN = {
    "boxpen.suites": {
        "gone": "no_such_module:SUITE",
        "number": "broken_plugin:NUMBER",
        "failing": "broken_plugin:FAILING",
        "renamed": "broken_plugin:FAILING",
        "starter": "broken_plugin:FAILING",
        "a.b": "broken_plugin:FAILING",
    },
    "boxpen.models": {
        "gone": "no_such_module:load",
        "number": "broken_plugin:NUMBER",
        "none": "broken_plugin:none",
        "raises": "broken_plugin:raises",
    },
    "boxpen.builders": {"gone": "no_such_module:BUILDER", "number": "broken_plugin:NUMBER"},
    "boxpen.exporters": {"gone": "no_such_module:write", "raises": "broken_plugin:raises"},
}
CODE = """
from boxpen import Card
from boxpen.catalog import Entry
NUMBER = 7
FAILING = Entry(name="failing", card=Card(), importer=lambda files: files["missing"])
def none(spec): return None
def raises(*anything): raise ValueError("on purpose")
"""


@pytest.fixture
def broken(tmp_path):
    project = {"name": "broken-plugin", "version": "1", "entry-points": BROKEN}
    install(tmp_path / "site", project, {"broken_plugin.py": CODE})


def test_broken_plugins_stop_nothing_else(broken, animals, boxpen, tmp_path):
    listed = boxpen("suite", "list")
    assert listed.returncode == 0
    assert "commonmt" in listed.stdout
    assert "animals" in listed.stdout
    warnings = listed.stderr.splitlines()
    assert len(warnings) == 5, listed.stderr
    for name, reason in (
        ("gone", "cannot be imported (ModuleNotFoundError: No module named 'no_such_module')"),
        ("number", "is broken: broken_plugin:NUMBER is of type int, expected an Entry"),
        ("renamed", "is broken: its object has another name"),
        ("starter", "is ignored: boxpen has one of that name"),
        ("a.b", "is ignored: its name is not valid"),
    ):
        assert f"suite '{name}' of the plug-in broken-plugin {reason}" in warnings
    listed = boxpen("model", "list")
    assert listed.returncode == 0
    assert "none:NAME" in listed.stdout
    assert len(listed.stderr.splitlines()) == 2
    for words in (
        ("--help",),
        ("suite", "show", "starter"),
        ("suite", "show", "starter", "--items", 0),
        ("suite", "export", "starter", "--out", "x.csv"),
        ("build", "example", "kg"),
    ):
        done = boxpen(*words)
        assert (done.returncode, "broken" in done.stderr) == (0, False), done.stderr


def test_a_broken_plugin_that_is_asked_for(broken, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    for name in plugins.__all__:  # what was found before
        getattr(plugins, name).__dict__.pop("_found", None)
    (tmp_path / "c.toml").write_text('builder = "gone"\n')
    for words, message in (
        (("run", "gone"), "suite 'gone' of the plug-in broken-plugin cannot be imported"),
        (("suite", "show", "number"), "expected an Entry"),
        (("suite", "show", "failing"), "suite 'failing' of the plug-in broken-plugin failed (Key"),
        (("model", "show", "gone:x"), "model scheme 'gone' of the plug-in broken-plugin cannot"),
        (("model", "show", "number:x"), "expected a function"),
        (("model", "show", "none:x"), "its loader returned a NoneType, expected a boxpen.Model"),
        (("model", "show", "raises:x"), "failed (ValueError: on purpose)"),
        (("build", "run", "c.toml"), "builder 'gone' of the plug-in broken-plugin cannot"),
        (("build", "example", "number"), "expected a Builder"),
        (("suite", "export", "starter", "--out", "x.gone"), "file format 'gone' of the plug-in"),
        (("suite", "export", "starter", "--out", "x.raises"), "failed (ValueError: on purpose)"),
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2, (words, done)
        assert message in done.stderr, (words, done.stderr)
        assert len(done.stderr.splitlines()) == 1
    for name in plugins.__all__:
        getattr(plugins, name).__dict__.pop("_found", None)
    assert not list(tmp_path.glob("x.*"))


def test_damaged_metadata_is_skipped(animals, boxpen, tmp_path):
    damaged = tmp_path / "site" / "damaged-1.dist-info"
    damaged.mkdir()
    (damaged / "METADATA").write_text("Metadata-Version: 2.1\nName: damaged\nVersion: 1\n")
    (damaged / "entry_points.txt").write_bytes(b"\xff[boxpen.suites]\nno equals sign\n")
    assert "animals" in boxpen("suite", "list").stdout


def test_help_does_not_look_for_plugins():
    code = (
        "import sys, boxpen.plugins\n"
        "boxpen.plugins._entry_points = None\n"
        "sys.argv = ['boxpen', '--help']\n"
        "import boxpen.cli\n"
        "boxpen.cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


FAULTY = """
from boxpen import Card, Choice
from boxpen.build.builders import Builder
from boxpen.build.runner import Stage
from boxpen.catalog import Entry
from boxpen.config import read_toml
from types import SimpleNamespace
NUMBERS = Entry(name="numbers", card=Card(), importer=lambda files: [1, 2])


def load(path):
    if "broken" in read_toml(path):
        raise ValueError("on purpose")
    return SimpleNamespace(folder=path.parent / "out", quiet="quiet" in read_toml(path))


def stages(config, progress):
    def run():
        if config.quiet:
            return None
        raise ValueError("on purpose")

    return [Stage(name="w", run=run, reads=[], writes=[], settings={})]


BUILDER = Builder(load=load, stages=stages, version=1, example="")
"""


def test_plugins_that_fail_at_work_end_in_one_sentence(boxpen, tmp_path):
    points = {
        "boxpen.suites": {"numbers": "faulty:NUMBERS"},
        "boxpen.builders": {"faulty": "faulty:BUILDER"},
    }
    project = {"name": "faulty", "version": "1", "entry-points": points}
    install(tmp_path / "site", project, {"faulty.py": FAULTY})
    (tmp_path / "load.toml").write_text('builder = "faulty"\nbroken = 1\n')
    (tmp_path / "run.toml").write_text('builder = "faulty"\n')
    (tmp_path / "none.toml").write_text('builder = "faulty"\nquiet = 1\n')
    for words, reason in (
        (("suite", "show", "numbers"), "AttributeError"),
        (("build", "run", "load.toml"), "failed (ValueError: on purpose)"),
        (("build", "run", "run.toml"), "failed (ValueError: on purpose)"),
        (("build", "run", "none.toml"), "stage 'w' returned no report"),
        (("build", "run", "none.toml"), "stage 'w' returned no report"),
    ):
        done = boxpen(*words)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert reason in done.stderr
