"""docs/how-to/which-suite.md names suites, norms and recipes that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import boxpen
from boxpen.catalog import entries
from boxpen.scoring.policy import Norm

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "which-suite.md").read_text("utf-8")


def column(section: str, number: int) -> list[str]:
    """Return the cells of a column of the table under a heading."""
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    return [row.split(" | ")[number] for row in re.findall(r"^\| (.+) \|$", text, re.M)][1:]


def test_suites_exist() -> None:
    known = entries()
    named = re.findall(r"`([^`]+)`", " ".join(column("Which suite", 1)))
    assert len(named) > 20
    for name in named:
        suite, _, part = name.partition(".")
        assert not part or part in known[suite].parts, name
    assert set(known) - {name.partition(".")[0] for name in named} == {"comve-train"}


def test_norms_are_all_there_are() -> None:
    norms = [re.findall(r"`(\w+)`", cell)[0] for cell in column("Which norm", 0)]
    assert sorted(norms) == sorted(get_args(Norm))
    assert column("Which norm", 0)[0] == "`sum` (default)"
    assert boxpen.ScoringPolicy().norm == "sum"


def test_recipes_exist() -> None:
    recipes = {r for cell in column("Which recipe", 0) for r in re.findall(r"`([\w-]+)`", cell)}
    assert {"partial", "full"} < set(boxpen.recipes_of("winogrande"))
    assert (
        boxpen.recipes_of("winogrande")["sound"].digest[:6]
        == (boxpen.recipes_of("winogrande")["full"].digest[:6])
    )
    assert "translate" in boxpen.recipes_of("mucow")
    offered = {name for suite in entries() for name in boxpen.recipes_of(suite)}
    assert recipes == offered - {"ask-letters"}
