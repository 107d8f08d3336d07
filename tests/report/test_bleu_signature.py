"""Wherever BLEU is shown, sacreBLEU's signature and the beam stand beside it, each once."""

from dataclasses import replace
from pathlib import Path

import pytest
from report_runs import made_run, translated
from typer.testing import CliRunner

from boxpen import Run
from boxpen.cli.app import app
from boxpen.report.formats.latex import matrix_latex
from boxpen.report.formats.markdown import run_markdown
from boxpen.report.html.report import html_report
from boxpen.report.tables import matrix
from boxpen.report.terminal import notes

PLAIN = made_run("++-+--++")
MADE = translated(PLAIN)


def own_parts(run: Run) -> list[tuple[str, str]]:
    """The beam and sacreBLEU's signature, of every way in which BLEU of a run was made."""
    found = dict.fromkeys(row.signature for row in run.summary() if row.metric == "bleu")
    parts = [one.removeprefix(f"{run.signature}|").partition("|") for one in found]
    assert all(p[2].startswith("nrefs:1|") and "|tok:" in p[2] for p in parts)
    return [(beam, own) for beam, _, own in parts]


def in_two_languages() -> Run:
    """Half of the translations are Chinese, which has a tokenizer of its own."""
    made = tuple(
        replace(t, language="zh", tags={"to": "zh"}) if n % 2 else replace(t, tags={"to": "en"})
        for n, t in enumerate(MADE.translations)
    )
    return replace(MADE, translations=made)


@pytest.mark.parametrize("run", [MADE, in_two_languages()], ids=["one", "two"])
def test_every_signature_stands_once_in_every_form(run: Run, tmp_path: Path):
    parts = own_parts(run)
    assert len(parts) == len({t.language for t in run.translations})
    place = run.save(tmp_path)
    done = CliRunner().invoke(app, ["report", str(place)])
    assert done.exit_code == 0, done.output
    matrices = matrix([run], "bleu", "to" if len(parts) > 1 else None)
    for beam, own in parts:
        shown = (done.stdout, run_markdown(run), html_report([run]), matrix_latex(matrices))
        assert [text.count(own) for text in shown] == [1] * 4
        assert all(f"then {beam} and" in " ".join(text.split()) for text in shown)


def test_the_matrix_says_how_bleu_was_made(tmp_path: Path):
    ((_, own),) = own_parts(MADE)
    place = str(MADE.save(tmp_path))
    done = CliRunner().invoke(app, ["report", place, "--matrix", "--metric", "bleu"])
    assert own in done.stderr
    done = CliRunner().invoke(app, ["report", place, "--matrix"])
    assert done.exit_code == 0
    assert "nrefs" not in done.output


def test_without_bleu_nothing_is_said_of_it():
    assert not any("BLEU" in note for note in notes(PLAIN))
