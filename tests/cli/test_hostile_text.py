"""What files and arguments hold is printed, never acted on: no escapes, no floods of text."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from rich.text import Text
from typer.testing import CliRunner, Result

from boxpen import Card, Choice, Run, Suite, evaluate, load_suite, write_suite
from boxpen.cli.app import app
from boxpen.cli.output import console
from boxpen.printable import one_line, printable
from boxpen.report.plain_table import plain_table, safe
from small_runs import Liking

CLEAR = "\x1b[2J"
HOSTILE = f"{CLEAR}\x07\x9b1m\x7f\u202e\u2066\u2028箱子"
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
COLOURS = re.compile("\x1b\\[[0-9;]*m")


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    items = tuple(
        Choice(
            id=f"i{n}{HOSTILE}",
            candidates=(f"right {n} {HOSTILE}", f"wrong {n} {HOSTILE} "),
            gold=0,
            block=f"b{n // 2}{HOSTILE}",
            tags={"set": f"{'AB'[n % 2]}{HOSTILE}", f"t{HOSTILE}": "a"},
        )
        for n in range(6)
    )
    write_suite(Suite(f"s{HOSTILE}", items, Card(language="en")), tmp_path / "hostile.jsonl")
    return tmp_path / "hostile.jsonl"


@pytest.fixture
def runs(suite, tmp_path) -> list[Path]:
    loaded = load_suite(suite)
    liked = {c.candidates[0] for c in loaded}
    one = evaluate(Liking(f"m{HOSTILE}", liked), loaded, cache=":memory:")
    other = evaluate(Liking("other", set(), "e" * 64), loaded, cache=":memory:")
    return [run.save(tmp_path / "runs") for run in (one, other)]


@pytest.mark.parametrize("coloured", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        "suite show {suite}",
        "suite lint {suite}",
        "suite stats {suite}",
        "suite audit {suite}",
        "report {runs}",
        "report {runs} --markdown",
        "report {runs} --matrix",
        "report {runs} --latex",
        "compare {runs}",
        "slices {runs}",
        "rescore {run} --norm char",
        "check {run} --min accuracy>=0",
    ],
)
def test_nothing_but_colours_reaches_the_terminal(suite, runs, command, coloured, monkeypatch):
    if coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
    words = [
        place
        for word in command.split()
        for place in ([*runs] if word == "{runs}" else [word.format(suite=suite, run=runs[0])])
    ]
    done = invoke(*words)
    assert done.exit_code in (0, 1), done.output
    for text in (done.stdout, done.stderr):
        assert not UNSAFE.findall(COLOURS.sub("", text))
    if command.split()[0] in ("report", "slices") and "--" not in command:
        assert "\\u001b[2J" in done.stdout
        assert "箱子" in done.stdout
        assert bool(COLOURS.search(done.stdout)) == coloured


def test_json_is_what_it_was(runs):
    done = invoke("report", *runs, "--json")
    assert not UNSAFE.findall(done.stdout)
    found = {row["slice"] for row in json.loads(done.stdout)["results"]}
    assert f"set=A{HOSTILE}" in found


@pytest.mark.parametrize(
    "words",
    [
        ["report", f"no\n{CLEAR}where"],
        ["run", "--suite", f"{HOSTILE}.jsonl"],
        ["run", "--limit", HOSTILE],
        ["run", f"--{HOSTILE}"],
        [f"--{HOSTILE}"],
        [HOSTILE],
        ["suite", HOSTILE],
        ["report", "x/" * 900],
        ["run", "--norm", "x" * 4000],
        ["run", "--suite", "starter", "--model", "\n".join("x" * 2000)],
    ],
)
def test_errors_are_short_and_of_one_line(words):
    done = invoke(*words)
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)
    assert not UNSAFE.findall(done.stderr)
    *_, last = done.stderr.splitlines()
    assert last.startswith(("boxpen: ", "Error: "))
    assert len(last) < 550


@pytest.mark.parametrize("value", ["x" * 5000, "a\nb" * 3000, HOSTILE])
def test_what_a_suite_file_holds_is_quoted_shortly(tmp_path, value):
    for row in ({"kind": value}, {"kind": "choice", "id": value}, {value: 1}):
        (tmp_path / "bad.jsonl").write_text(json.dumps(row), "utf-8")
        done = invoke("suite", "show", tmp_path / "bad.jsonl")
        assert done.exit_code == 2
        assert len(done.stderr.splitlines()) == 1
        assert len(done.stderr) < 550
        assert not UNSAFE.findall(done.stderr)


def test_a_long_message_keeps_its_ends():
    assert one_line("the model's folder isn't there") == "the model's folder isn't there"
    assert one_line(f"a '{'x' * 90}' b") == f"a '{'x' * 79}…' b"
    assert one_line("can't " + "x" * 90 + " won't") == "can't " + "x" * 90 + " won't"
    long = one_line("begin " + "x" * 9000 + " end")
    assert long.startswith("begin ")
    assert long.endswith(" end")
    assert len(long) < 510


def test_ordinary_text_stays():
    text = "盒子在围栏里。 “Ça va?” ½ 🎁 नमस्ते עברית a\tb\n"
    assert printable(text, keep="\n\t") == text
    assert printable("a\nb\t\x1b\udcff") == r"a\nb\t\u001b\udcff"


class TestPathsThatAreNotUtf8:
    """Bytes of a file name that are no UTF-8 are shown escaped, and read as they are."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/mine-\xff"))
        try:
            place.mkdir()
        except OSError:
            pytest.skip("the file system takes only names that are UTF-8")
        return place

    @pytest.fixture
    def run(self, suite, place) -> Path:
        loaded = load_suite(suite)
        table = place / os.fsdecode(b"suite-\xff.jsonl")
        write_suite(replace(loaded, items=loaded.items[:4]), table)
        again = load_suite(table)
        liked = {c.candidates[0] for c in again}
        cache = place / "scores.sqlite"
        return evaluate(Liking(f"m{place.name}", liked), again, cache=cache).save(place)

    def test_a_suite_has_an_escaped_name(self, suite, place):
        path = place / os.fsdecode(b"suite-\xff.csv")
        write_suite(load_suite(suite), path)
        assert load_suite(path).name == r"suite-\udcff"

    @pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
    def test_so_has_a_suite_of_other_columns(self, place, ending):
        path = place / os.fsdecode(b"pairs-\xff." + ending.encode())
        content = {
            "jsonl": b'{"good": "It rains.", "bad": "It trains."}\n',
            "csv": b"good,bad\nIt rains.,It trains.\n",
        }
        if ending == "parquet":
            frame = pl.DataFrame({"good": ["It rains."], "bad": ["It trains."]})
            with path.open("wb") as stream:
                frame.write_parquet(stream)
        else:
            path.write_bytes(content[ending])
        suite = load_suite(path)
        assert suite.name == r"pairs-\udcff"
        run = evaluate(Liking("m", {"It rains."}), suite, cache=":memory:").save(place)
        assert Run.load(run).info.suite.name == r"pairs-\udcff"

    def test_a_run_is_written_and_read(self, run, place):
        assert run.parent == place
        info = Run.load(run).info
        assert info.suite.file.endswith(r"mine-\udcff/suite-\udcff.jsonl")
        assert info.model.name == r"mmine-\udcff"

    @pytest.mark.parametrize(
        "words",
        [["report"], ["report", "--markdown"], ["slices"], ["check", "--min", "accuracy>=0"]],
    )
    def test_it_is_shown(self, run, words):
        done = invoke(words[0], run, *words[1:])
        assert done.exit_code == 0, done.output

    def test_compare(self, run):
        assert invoke("compare", run, run, "--json").exit_code in (0, 2)

    def test_html(self, run, place):
        page = place / os.fsdecode(b"page-\xff.html")
        done = invoke("report", run, "--html", page)
        assert done.exit_code == 0, done.output
        assert r"mmine-\udcff" in page.read_text("utf-8")

    def test_json_has_the_very_path(self, run):
        command = [sys.executable, "-m", "boxpen", "report", run, "--json"]
        done = subprocess.run(command, capture_output=True, check=True)
        assert json.loads(done.stdout.decode("utf-8"))["runs"][0]["path"] == str(run)


@pytest.mark.parametrize("cell", [str, Text, lambda text: Text.assemble((text, "bold"), "")])
def test_cells_are_escaped_before_they_are_laid_out(cell, capsys):
    table = plain_table(f"title{CLEAR}")
    for column in ("name", "n"):
        table.add_column(column)
    for name in ("plain", "x\x1b[31m", "[bold]y[/bold]"):
        table.add_row(cell(name), "7")
    console().print(table)
    title, head, *rows = capsys.readouterr().out.splitlines()
    assert title.rstrip() == r"title\u001b[2J"
    assert [row.split()[0] for row in rows] == ["plain", r"x\u001b[31m", "[bold]y[/bold]"]
    assert {row.index(" 7") for row in rows} == {head.index(" n")}


def test_styles_stay_where_they_were():
    text = safe(Text.assemble(("a\x1bb", "bold"), "c", ("d", "dim")))
    assert text.plain == r"a\u001bbcd"
    bold = "".join(text.plain[s.start : s.end] for s in text.spans if s.style == "bold")
    dim = "".join(text.plain[s.start : s.end] for s in text.spans if s.style == "dim")
    assert (bold, dim) == (r"a\u001bb", "d")


def test_csv_is_escaped_in_a_terminal_only(runs):
    pty = pytest.importorskip("pty")
    command = [sys.executable, "-m", "boxpen", "report", runs[0], "--csv"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    assert CLEAR.encode() in raw
    assert b"\r\n" in raw
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        process.wait()
    os.close(ours)
    lines = shown.decode("utf-8").splitlines()
    assert len(lines) == len(raw.decode("utf-8").split("\r\n")) - 1
    assert not UNSAFE.findall("\n".join(lines))
    assert r"\u001b[2J" in shown.decode("utf-8")
