"""Where commands may write: over what they are told to, and to no place in a circle of links."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_commands import CSV, invoke, refused

from boxpen.catalog import load_suite
from boxpen.review import Question, check_sheet, write_sheet
from small_runs import small_run

EXPORTS = {
    "builds": ("review", "export", "ranked.parquet"),
    "suites": ("review", "export", "starter"),
}
"""A bad place for a sheet is reported before anything is read."""


@pytest.mark.parametrize("command", EXPORTS.values(), ids=EXPORTS)
class TestSheets:
    @pytest.mark.parametrize(
        "content",
        [
            b'{"item": "i1", "judge": "ann", "verdict": "accept"}\n',
            b"item,judge,verdict\n",  # somebody's table
        ],
        ids=["journal", "table"],
    )
    def test_are_not_written_over_what_is_none(self, tmp_path, command, content):
        path = tmp_path / "mine.csv"
        path.write_bytes(content)
        done = invoke(*command, "--judge", "ann", "--out", path, "--overwrite")
        refused(done, f"{path} is not a sheet: its first line does not name the columns")
        assert path.read_bytes() == content

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("", "is empty, expected the judge's name"),
            (" \t", "is empty, expected the judge's name"),
            ("a\tb", "is 'a\\tb', expected a name without control characters"),
            ("ann ", "is 'ann ', expected a name without spaces at its ends"),
            ("x" * 101, f"is '{'x' * 59}…', expected a name of 100 characters or fewer"),
        ],
    )
    def test_are_of_a_judge_with_a_name(self, tmp_path, command, name, told):
        out = tmp_path / "sheet.csv"
        refused(invoke(*command, "--judge", name, "--out", out), f"--judge {told}")
        assert not out.exists()


def test_a_sheet_is_written_over(tmp_path):
    path = tmp_path / "sheet.csv"
    write_sheet(path, [Question("i1", {"text": "A heron wades."}, hints={"score": "1"})], "ann")
    check_sheet("ann", path, overwrite=True)
    path.write_text(path.read_text("utf-8-sig").replace(",", ";"))  # as programs save it
    check_sheet("ann", path, overwrite=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run, a suite and a table, beside links that lead back to themselves."""
    monkeypatch.chdir(tmp_path)
    small_run("+-+-").save(tmp_path / "runs").rename(tmp_path / "run")
    Path("mine.csv").write_text(CSV, "utf-8")
    imported = ("suite", "import", "mine.csv", "--block-size", 2, "--out", "mine.jsonl")
    assert invoke(*imported).exit_code == 0
    Path("loop").symlink_to("loop")
    for ending in ("csv", "jsonl", "html", "svg", "xml"):  # a circle of two
        Path(f"loop.{ending}").symlink_to(f"other.{ending}")
        Path(f"other.{ending}").symlink_to(f"loop.{ending}")
    return tmp_path


WRITERS = {
    "export": (("suite", "export", "mine.jsonl", "--out"), "csv"),
    "import": (("suite", "import", "mine.csv", "--block-size", 2, "--out"), "jsonl"),
    "tag export": (
        ("review", "export", "mine.jsonl", "--tag", "steps", "--judge", "ann", "--out"),
        "csv",
    ),
    "tag apply": (("review", "apply", "mine.jsonl", "--tag", "steps", "--out"), "jsonl"),
    "contrast": (("build", "contrast", "mine.jsonl", "--out"), "jsonl"),
    "report": (("report", "run", "--html"), "html"),
    "check": (("check", "run", "--min", "accuracy>=0", "--junit"), "xml"),
    "curve": (("curve", "1k=run", "--svg"), "svg"),
    "translate": (("translate", "run", "mine.csv", "--out"), "csv"),
}


@pytest.mark.parametrize("where", ["loop", "loop/there"])
@pytest.mark.parametrize(("command", "ending"), WRITERS.values(), ids=WRITERS)
def test_a_circle_of_links_is_told_in_a_sentence(place, command, ending, where):
    before = sorted(place.rglob("*"))
    done = invoke(*command, f"{where}.{ending}")
    told = f"{where}.{ending} cannot be written: its links lead back to themselves"
    assert done.exit_code == 2, (done.exit_code, done.output, done.exception)
    assert done.stderr.splitlines()[-1] == f"boxpen: {told}"
    assert sorted(place.rglob("*")) == before


SUITES = {name: WRITERS[name][0] for name in ("export", "import", "contrast")}


@pytest.fixture
def bare(place: Path) -> Path:
    """The same place, where the suite can be given contrasts."""
    said = {"id": "d1", "kind": "translate", "source": "They left.", "reference": "她们走了。",
            "language": "zh", "source_language": "en",
            "tags": {"set": "pronoun", "class": "她们"}}  # fmt: skip
    Path("mine.jsonl").write_text(json.dumps(said) + "\n", "utf-8")
    return place


@pytest.mark.parametrize("command", SUITES.values(), ids=SUITES)
class TestSuites:
    def test_are_not_written_over_a_file_unless_told_to(self, bare, command):
        there = bare / "there.jsonl"
        (bare / "link.jsonl").symlink_to(there)
        there.write_text("of weeks of work\n")
        before = sorted(bare.rglob("*"))
        for name in ("there.jsonl", "link.jsonl"):
            told = f"boxpen: {name} already exists; give another name or --overwrite"
            done = invoke(*command, name)
            refused(done, told)
            assert done.stderr.splitlines() == [told]
        assert there.read_text() == "of weeks of work\n"
        assert sorted(bare.rglob("*")) == before
        done = invoke(*command, "link.jsonl", "--overwrite")
        assert done.exit_code == 0, done.output
        assert len(load_suite(there)) > 0
        assert (bare / "link.jsonl").is_symlink()

    def test_go_through_a_pipe(self, bare, command):
        os.mkfifo(bare / "pipe.jsonl")
        with ThreadPoolExecutor() as threads:
            read = threads.submit((bare / "pipe.jsonl").read_text, "utf-8")
            assert invoke(*command, "pipe.jsonl").exit_code == 0
            assert read.result()
