"""docs/reference/python.md names every public name, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import boxpen

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "python.md").read_text("utf-8")


def test_every_public_name_is_on_the_page():
    blocks = re.findall(r"```python\n(.+?)```", PAGE, re.S)
    prose = re.sub(r"```python\n(.+?)```", "", PAGE, flags=re.S)
    code = " ".join(re.findall(r"`[^`]+`", prose) + blocks)
    missing = [name for name in boxpen.__all__ if not re.search(rf"\b{name}\b", code)]
    assert missing == []


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    try:
        boxpen.resolve_model("smollm2")
    except boxpen.ModelError:
        pytest.skip("smollm2 is not available")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.+?)```", PAGE, re.S):
        exec(compile(block, "docs/reference/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "suite 'startr' is neither known nor a file" in said
    assert names["record"].total == pytest.approx(sum(map(float, names["record"].logprobs)), 1e-5)
    assert {p.name for p in tmp_path.iterdir()} == {
        "logs", "mixed.jsonl", "runs", "scores.sqlite", "sense-task",
    }  # fmt: skip
