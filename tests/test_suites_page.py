"""docs/results/suites.md: today's suites, and the commands that import DEMETR."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from suites import PAGE as NAME
from suites import RUNS, facts
from typer.testing import CliRunner

import boxpen
from boxpen.catalog import entries
from boxpen.cli.app import app
from boxpen.items import Choice
from boxpen.sampling import draw_sample

PAGE = (Path(__file__).parents[1] / "docs" / "results" / NAME).read_text("utf-8")


def block(name: str) -> str:
    return PAGE.partition(f"<!-- begin {name} -->\n")[2].partition(f"\n<!-- end {name} -->")[0]


def test_the_facts_are_those_of_the_catalogue() -> None:
    assert block("facts") == facts()


def test_every_run_has_a_row_and_a_signature() -> None:
    rows = [line for line in block("accuracy").splitlines() if line.startswith("| `")]
    signatures = re.findall(r"^- `(.+)`$", block("accuracy"), re.M)
    assert len(rows) == len(signatures) == len(RUNS)
    for asked, row, signature in zip(RUNS, rows, signatures, strict=True):
        assert row.startswith(asked.cells)
        assert signature.startswith(f"suite:{asked.suite}@")


@pytest.mark.parametrize("name", sorted({asked.suite for asked in RUNS}))
def test_numbers_are_of_todays_suite(name: str, mirror: Path) -> None:
    for file in entries()[name].files:
        if not (mirror / file.path).is_file():
            pytest.skip(f"the mirror of the public data has no {file.path}")
    suite = boxpen.load_suite(name)
    for asked in RUNS:
        if asked.suite == name:
            judged = draw_sample(suite, asked.limit)
            assert f"- `suite:{name}@{judged.hash[:8]}|" in block("accuracy")


DEMETR = [
    {
        "id": number, "src_sent": source, "eng_sent": right, "mt_sent": right, "pert_sent": wrong,
        "lang_tag": "german", "data_source": "hand", "pert_check": True, "severity": "critical",
        "pert_id": 7, "pert_desc": "changing a word to its antonym",
        "pert_name": "critical_id7_antonym",
    }
    for number, source, right, wrong in (
        (1, "Der Tisch ist alt.", "The table is old.", "The table is new."),
        (2, "Sie schließt die Tür.", "She closes the door.", "She opens the door."),
    )
]  # fmt: skip


def test_demetr_is_imported_by_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpt2_dir: Path
) -> None:
    """A file of its form, written for this test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "dataset").mkdir()
    array = json.dumps(DEMETR, ensure_ascii=False, indent=2)
    (tmp_path / "dataset" / "critical_id7_antonym.json").write_text(array, "utf-8")
    code = PAGE.split("## DEMETR or CTXPro?")[1].replace("\\\n", " ")
    imported, sliced = re.findall(r"^    (boxpen .+?)(?: +#.*)?$", code, re.M)
    assert _run(imported) == 0
    suite = boxpen.load_suite(tmp_path / "demetr-antonym.jsonl")
    assert [
        (i.source, i.candidates, i.gold, i.tags["lang_tag"], i.tags["pert_name"])
        for i in suite
        if isinstance(i, Choice)
    ] == [
        (row["src_sent"], (row["mt_sent"], row["pert_sent"]), 0, "german", row["pert_name"])
        for row in DEMETR
    ]
    boxpen.evaluate(f"hf:{gpt2_dir}", suite, cache=":memory:").save(tmp_path / "runs")
    (place,) = (tmp_path / "runs").iterdir()
    assert place.match("runs/demetr-antonym-*")
    assert _run(sliced.replace("runs/demetr-antonym-*", f"runs/{place.name}")) == 0


def _run(command: str) -> int:
    return CliRunner().invoke(app, command.split()[1:]).exit_code
