"""Folders of exports: what --overwrite may replace, and what it never does."""

import pytest

from boxpen import Choice, Suite, SuiteError
from boxpen.exchange import export_suite
from small_runs import small_suite


def test_an_export_may_be_replaced_but_nothing_else_in_its_folder(tmp_path):
    folder = tmp_path / "tasks"
    export_suite(small_suite(4), "lm-eval", folder)
    with pytest.raises(SuiteError, match="already exists; give another name or --overwrite"):
        export_suite(small_suite(2), "lm-eval", folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "boxpen_data.pyc").touch()
    export_suite(small_suite(2), "lm-eval", folder, overwrite=True)
    (folder / "results" / "gpt2").mkdir(parents=True)
    (folder / "results" / "gpt2" / "r.json").write_text("{}")
    with pytest.raises(SuiteError, match=r"has 'results/gpt2/r\.json', which the export did not"):
        export_suite(small_suite(3), "lm-eval", folder, overwrite=True)
    assert (folder / "results" / "gpt2" / "r.json").read_text() == "{}"
    assert sum(len(path.read_text().splitlines()) for path in folder.glob("*.jsonl")) == 2


@pytest.mark.parametrize("place", [".", "..", "../in"])
def test_the_current_folder_is_not_replaced(place, tmp_path, monkeypatch):
    (tmp_path / "out" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "out" / "in")
    with pytest.raises(SuiteError, match="cannot be replaced while you are in it"):
        export_suite(small_suite(2), "inspect", place, overwrite=True)
    export_suite(small_suite(2), "inspect", "new")
    assert (tmp_path / "out" / "in" / "new" / "small.py").is_file()


@pytest.mark.parametrize("form", ["lm-eval", "hf", "inspect"])
def test_half_of_a_surrogate_pair_is_one_sentence(form, tmp_path):
    suite = Suite("half", (Choice(id="1", candidates=("a \ud800", "b"), gold=0),))
    with pytest.raises(SuiteError, match="suite 'half' has a text with half of a surrogate pair"):
        export_suite(suite, form, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
