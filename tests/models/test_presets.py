"""What was never run on real weights has a test, which exists and is about its architecture."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import pytest
import tiny

from boxpen.models.loading.presets import ELMO, PRESETS, TRIED

ROOT = Path(__file__).parents[2]
TRIALS = {**{name: preset.trial for name, preset in PRESETS.items()}, "elmo:": ELMO}


def covering(name: str, monkeypatch: pytest.MonkeyPatch):
    """The function that is said to test a model."""
    path, *names = TRIALS[name].test.split("::")
    assert (ROOT / path).is_file()
    monkeypatch.setattr(sys, "path", [str((ROOT / path).parent), *sys.path])
    found = importlib.import_module(Path(path).stem)
    for each in names:
        found = getattr(found, each)
    return found


@pytest.mark.parametrize("name", TRIALS)
def test_the_test_exists_and_covers_the_architecture(name, monkeypatch):
    trial = TRIALS[name]
    function = covering(name, monkeypatch)
    assert callable(function)
    cases = {
        str(value)
        for mark in getattr(function, "pytestmark", [])
        if mark.name == "parametrize" and mark.args[0] == "name"
        for value in mark.args[1]
    }
    assert trial.case in (cases or inspect.getsource(sys.modules[function.__module__]))
    if "test_twins" in trial.test:
        assert tiny.KINDS[trial.case] == PRESETS[name].kind


def test_the_table_of_the_docs_is_the_catalogue():
    text = (ROOT / "docs" / "how-to" / "extend" / "adding-a-model.md").read_text("utf-8")
    table = text.partition("<!-- begin tried -->\n")[2].partition("<!-- end tried -->")[0]
    assert table == "".join(
        [
            "| model | tried with | test |\n|---|---|---|\n",
            *(
                f"| `{name}` | {TRIED[t.on]} | `{t.test}`, {t.case} |\n"
                for name, t in TRIALS.items()
            ),
        ]
    )
