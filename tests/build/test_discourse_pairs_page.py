"""discourse-pairs.md: its example builds a suite, and it shows the files that it names."""

from __future__ import annotations

import lzma
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import boxpen
from boxpen.build.discourse.phenomena.pairs import built_in
from boxpen.cli.app import app
from boxpen.items import Translate

ROOT = Path(__file__).parents[2]
RULES = ROOT / "src" / "boxpen" / "build" / "discourse"
PAGE = (ROOT / "docs" / "how-to" / "build" / "discourse-pairs.md").read_text("utf-8")
GERMAN, CHINESE = re.findall(r"```toml[^\n]*\n(.+?)```", PAGE, re.S)
COMMANDS = re.findall(r"^    boxpen (.+)$", PAGE, re.M)

LINES = [
    ("Wo ist der Tisch geblieben?", "Where did the table go?"),
    ("Er steht im Keller.", "It is in the cellar."),
    ("Wo ist dein Bruder heute?", "Where is your brother today?"),
    ("Er schläft im Keller.", "He sleeps in the cellar."),
    ("Er selbst ist im Keller.", "He himself is in the cellar."),  # an excluded word
]


def test_the_german_example_builds_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"a\t{n}\t{de}\t{en}\n" for n, (de, en) in enumerate(LINES))
    (tmp_path / "subtitles.tsv.xz").write_bytes(lzma.compress(rows.encode()))
    (tmp_path / "my-german.toml").write_text(GERMAN, "utf-8")
    monkeypatch.chdir(tmp_path)
    assert [command.split()[:2] for command in COMMANDS] == [["build", "run"], ["suite", "lint"]]
    for command in COMMANDS:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, result.output
    suite = boxpen.load_suite(tmp_path / "my-german" / "my-german.jsonl")
    found = {i.tags["class"]: i for i in suite if isinstance(i, Translate)}
    assert {cls: (i.context, i.reference, i.contrast) for cls, i in found.items()} == {
        "person": (LINES[2][0], "He sleeps in the cellar.", ("It sleeps in the cellar.",)),
        "thing": (LINES[0][0], "It is in the cellar.", ("He is in the cellar.",)),
    }


def test_the_chinese_configuration_is_the_one_that_was_used() -> None:
    used = (ROOT / "scripts" / "discourse_zh_en.toml").read_text("utf-8")
    assert "".join(re.findall(r"^(?!#).*\n", used, re.M)) == CHINESE


def test_sizes_are_about_right() -> None:
    for name, lines in re.findall(
        r"^\| `((?:phenomena|data)/\w+\.\w+)` \| ([\d,]+) \|", PAGE, re.M
    ):
        assert _lines(name) == pytest.approx(int(lines.replace(",", "")), rel=0.1), name
    named = re.search(r"`phenomena/english_chinese\.py` and .*? \((.+?)\) \| ([\d,]+) \|", PAGE)
    assert named is not None
    modules = ["english_chinese", *re.findall(r"`(\w+)`", named[1])]
    total = sum(_lines(f"phenomena/{module}.py") for module in modules)
    assert total == pytest.approx(int(named[2].replace(",", "")), rel=0.1)
    rules = built_in("zh", "en")
    counted = f"{len(rules)} phenomena, {sum(len(rule.classes) for rule in rules)} classes"
    assert f"| {counted} |" in PAGE


def _lines(name: str) -> int:
    return len((RULES / name).read_text("utf-8").splitlines())
