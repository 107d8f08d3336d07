"""What the tutorials print is what the commands above it print, with smollm2 itself.

``tests/docs`` runs the commands of all pages with small models.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from boxpen import ModelError
from boxpen.cli.app import app
from boxpen.models.loading.embedded import smollm2_path

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("your-own-suite", "boxpen run kitchen.jsonl"),
        ("gate-in-ci", "boxpen check --rules gate.toml"),
    ],
)
def test_the_output_is_that_of_the_command(
    page: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        smollm2_path(download=False)
    except ModelError:
        pytest.skip("smollm2 is not available")
    text = (TUTORIALS / f"{page}.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r'^```\w+ title="(.+?)"\n(.+?)^```', text, re.M | re.S):
        Path(name).write_text(content, "utf-8")
    shown = re.search(rf"^{command}\n```\n\n```text\n(.+?)^```", text, re.M | re.S)
    assert shown
    words = shlex.split(command)[1:]
    if words[0] == "run":
        words += ["--cache", ":memory:"]
    printed = CliRunner(env={"COLUMNS": "80"}).invoke(app, words).stdout
    printed = re.sub(r"-sound-[0-9a-f]{8}", "-sound-…", printed)
    assert shown[1] in printed
