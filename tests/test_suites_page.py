"""docs/results/suites: today's suites, and the commands that import DEMETR and MuCoW."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import results
from suites import NOT_RUN, RUNS, facts, shown
from suites import PAGE as NAME
from typer.testing import CliRunner

import boxpen
from boxpen.catalog import entries
from boxpen.cli.app import app
from boxpen.errors import BoxpenError
from boxpen.items import Choice
from boxpen.models.loading.presets import PRESETS
from boxpen.sampling import draw_sample

IMPORTS = (results.DOCS / "suites" / "import.md").read_text("utf-8")


def block(name: str) -> str:
    return results.shown(NAME, name)


def test_the_facts_are_those_of_the_catalogue() -> None:
    assert block("facts") == facts()


def test_every_run_has_a_row_and_a_signature() -> None:
    rows = [line for line in block("accuracy").splitlines() if line.startswith("| `")]
    signatures = re.findall(r"^- `(.+)`$", block("accuracy"), re.M)
    for asked, row in zip(RUNS, rows, strict=True):
        assert row.startswith(asked.cells)
    made = [asked for asked, row in zip(RUNS, rows, strict=True) if NOT_RUN not in row]
    for asked, signature in zip(made, signatures, strict=True):
        assert signature.startswith(f"suite:{asked.suite}@")


@pytest.mark.parametrize("name", sorted({asked.suite for asked in RUNS}))
def test_numbers_are_of_todays_suite(name: str, mirror: Path) -> None:
    for file in entries()[name].files:
        if not (mirror / file.path).is_file():
            pytest.skip(f"the mirror of the public data has no {file.path}")
    suite = boxpen.load_suite(name)
    for asked in RUNS:
        if asked.suite == name:
            assert shown(asked)[1], f"python scripts/suites.py {name}"
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
    code = IMPORTS.split("## DEMETR or CTXPro?")[1].replace("\\\n", " ")
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


def test_another_pair_of_mucow_is_imported_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of its form, written for this test."""
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^    (boxpen suite import .+cs-en.+\n.+\n.+)$", IMPORTS, re.M)
    words = shlex.split(code.replace("\\\n", " "))
    row = {
        "reference": "He bought a lock.", "ambig word": "zámek", "original translation": "lock",
        "origin": "hand", "sense": "lock", "source": "Koupil zámek.",
        "errors": [
            {"contrastive": f"He bought a {word}.", "type": "word_sense", "replacement": word}
            for word in ("castle", "chateau")
        ],
    }  # fmt: skip
    Path(words[3]).parent.mkdir(parents=True)
    Path(words[3]).write_text(json.dumps([row, row], ensure_ascii=False), "utf-8")
    assert CliRunner().invoke(app, words[1:]).exit_code == 0
    first, _ = boxpen.load_suite(tmp_path / "mucow-cs.jsonl").items
    assert isinstance(first, Choice)
    assert first.candidates == ("He bought a lock.", "He bought a castle.", "He bought a chateau.")
    assert (first.source, first.gold, first.tags["ambig word"]) == ("Koupil zámek.", 0, "zámek")


def test_the_command_for_mucow_reads_what_the_catalogue_reads(tmp_path: Path, mirror: Path) -> None:
    file = mirror / "mucow" / "lv-en.mucow.scoring.json"
    if not file.is_file():
        pytest.skip(f"the mirror of the public data has no {file.name}")
    columns = {"source": "source", "reference": "reference", "wrong": "errors.contrastive"}
    found = boxpen.read_suite(file, **columns, language="en", source_language="lv")
    assert [i.candidates for i in found] == [i.candidates for i in boxpen.load_suite("mucow.lv-en")]


def test_demetr_is_scored_by_a_translation_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of its form, of two languages, and one that is left out; a tiny Marian model."""
    for needed in ("pandas", "torch"):
        pytest.importorskip(needed)
    monkeypatch.syspath_prepend(Path(__file__).parent / "models")
    import tiny

    tiny.build("marian", tmp_path / "marian")
    mixed = [{**row, "lang_tag": tag} for row in DEMETR for tag in ("chinese_simple", "german")]
    (tmp_path / "dataset").mkdir()
    for name in ("critical_id7_antonym", "minor_id15_case", "base_id33_empty"):
        rows = [{**row, "id": number} for number, row in enumerate(mixed, start=1)]
        (tmp_path / "dataset" / f"{name}.json").write_text(json.dumps(rows), "utf-8")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.+?)```", IMPORTS, re.S)
    assert "opus-mt-zh-en" in PRESETS
    names: dict[str, Any] = {}
    code = code.replace('"opus-mt-zh-en", suite', '"hf:marian", suite, cache=":memory:"')
    exec(compile(code, "docs/results/suites/import.md", "exec"), names)
    kinds = ("critical_id7_antonym", "minor_id15_case")
    assert [v.id for v in names["run"].verdicts] == [
        f"{kind}-{n}" for kind in kinds for n in (1, 3)
    ]
    first = names["suite"].items[0]
    assert (first.source, first.candidates[first.gold]) == (
        "Der Tisch ist alt.",
        "The table is old.",
    )
    assert first.tags == {"severity": "critical", "kind": "critical_id7_antonym"}
    unsaid = replace(names["suite"], card=replace(names["suite"].card, source_language=None))
    with pytest.raises(BoxpenError, match=r"do not say their languages .*--source-language"):
        boxpen.evaluate("hf:marian", unsaid, cache=":memory:")


def _run(command: str) -> int:
    return CliRunner().invoke(app, command.split()[1:]).exit_code
