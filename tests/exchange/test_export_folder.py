"""Folders of exports: what --overwrite may replace, and what it never does."""

import pytest
from typer.testing import CliRunner

from boxpen import Choice, Entail, Suite, SuiteError, Translate, write_suite
from boxpen.cli.app import app
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


_ENTAIL = {"an entailment item needs an inference classifier": 1}
_TRANSLATE = {"an item to translate, without a wrong translation to tell apart": 2}


@pytest.mark.parametrize(
    ("form", "left_out"),
    [("lm-eval", _ENTAIL | _TRANSLATE), ("hf", {}), ("inspect", _TRANSLATE)],
)
def test_the_command_counts_what_the_format_cannot_hold(form, left_out, tmp_path):
    items = (
        Choice(id="c", candidates=("a", "b"), gold=0),
        Entail(id="e", premise="It rains.", hypothesis="It is wet.", label="entailment"),
        Translate(id="t", source="Das Haus", reference="The house"),
        Translate(id="u", source="Der Baum", reference="The tree"),
    )
    suite = Suite("four", items)
    assert export_suite(suite, form, tmp_path / "folder") == left_out
    write_suite(suite, tmp_path / "four.jsonl")
    done = CliRunner().invoke(
        app, ["suite", "export", str(tmp_path / "four.jsonl"), "--to", form, str(tmp_path / "out")]
    )
    assert done.exit_code == 0
    said = " ".join(done.output.split())
    assert f"four: {4 - sum(left_out.values())} items written to" in said
    for reason, count in left_out.items():
        assert f"left out, {count} item(s): {reason}" in said


@pytest.mark.parametrize("form", ["lm-eval", "hf", "inspect"])
def test_half_of_a_surrogate_pair_is_one_sentence(form, tmp_path):
    suite = Suite("half", (Choice(id="1", candidates=("a \ud800", "b"), gold=0),))
    with pytest.raises(SuiteError, match="suite 'half' has a text with half of a surrogate pair"):
        export_suite(suite, form, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
