"""The documentation site: what stops its build, what it makes of pages, and that it is complete."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed")
os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")

import typer
from docs_site import commands, python_api
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort, PluginError

import boxpen.exchange
from boxpen.cli.app import app
from boxpen.metrics.summary import METRICS
from boxpen.runs.info import RunInfo
from small_runs import small_run

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"


def built(folder: Path, pages: dict[str, str]) -> Path:
    """Build a site of these files, with the settings and styles of ours; return its folder."""
    for name in ("stylesheets", "javascripts"):
        shutil.copytree(ROOT / "docs" / name, folder / "docs" / name)
    for name, text in {"docs/index.md": "# Home\n", **pages}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    config = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(folder / "docs"), site_dir=str(folder / "site")
    )
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)
    finally:
        config.plugins.on_shutdown()
    return folder / "site"


@pytest.mark.parametrize(
    "text",
    [
        "[no page](nowhere.md)",
        "[no heading](#nowhere)",
        "[no heading there](other.md#nowhere)",
        "[no file outside](../nowhere.py)",
        "![no picture](nowhere.png)",
    ],
)
def test_a_broken_link_stops_the_build(text: str, tmp_path: Path) -> None:
    pages = {"docs/page.md": f"# Page\n\n{text}\n", "docs/other.md": "# Other\n"}
    with pytest.raises(Abort, match="1 warnings in strict mode"):
        built(tmp_path, pages)


PAGES = {
    "docs/index.md": "# Home\n\n<!-- pages: part -->\n",
    "docs/part/page.md": """# Page

The first sentence. The second has a list:
- one
- two

[code](../../tree.py), [how](../../CONTRIBUTING.md), [heading](other.md#its-own-heading)
""",
    "docs/part/other.md": "# Other\n\n## `Its` own heading\n\n[notes](notes.ipynb)\n",
    "docs/part/notes.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "source": ["# Notes\n", "Of mine.\n"]},
                {
                    "cell_type": "code",
                    "source": ["40 + 2"],
                    "outputs": [{"data": {"text/plain": ["42"]}}],
                },
            ]
        }
    ),
    "CONTRIBUTING.md": "# Contributing\n\n[Home](docs/index.md), [code](tree.py)\n",
    "tree.py": "forest = 1\n",
}


def test_pages_become_what_code_hosts_show_and_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    site = built(tmp_path, PAGES)
    shown = {str(p.relative_to(site)): p.read_text("utf-8") for p in site.rglob("*.html")}
    page = shown["part/page.html"]
    assert "<li>one</li>" in page
    assert 'href="../source/tree.py.html"' in page
    assert 'href="../project/contributing.html"' in page
    assert "forest" in shown["source/tree.py.html"]
    assert 'href="../index.html"' in shown["project/contributing.html"]
    assert ">42\n" in shown["part/notes.html"]
    assert 'href="notes.html"' in shown["part/other.html"]
    assert '<a href="part/page.html">Page</a>: The first sentence.</li>' in shown["index.html"]
    assert "--nli 3-way|2-way" in shown["reference/cli/evaluate.html"]
    for text in shown.values():
        assert not re.findall(r'(?:src=|<link[^>]+href=|url\()["\']?(?:https?:)?//', text)


def test_the_pictures_load_nothing_from_elsewhere() -> None:
    for picture in (ROOT / "docs").rglob("*.svg"):
        assert not re.search(r"url\([\"']?http|href=[\"']http", picture.read_text("utf-8")), picture


def everything(command: Any, path: str) -> list[str]:
    inside = getattr(command, "commands", {})
    return [path, *(p for name, one in inside.items() for p in everything(one, f"{path} {name}"))]


def test_every_command_and_option_is_in_the_reference() -> None:
    root: Any = typer.main.get_command(app)
    found = {one.path: one for panel in commands._by_panel().values() for one in panel}
    assert {"boxpen", *found} == set(everything(root, "boxpen"))
    for one in found.values():
        text = "\n".join(commands._section(one))
        options = [p for p in one.command.params if p.param_type_name == "option" and not p.hidden]
        missing = [p.opts[-1] for p in options if p.opts[-1] not in text]
        assert hasattr(one.command, "commands") or missing == [], one.path


def test_an_option_without_help_stops_the_build() -> None:
    bare = typer.Typer()

    @bare.command()
    def some(number: int = 1) -> None:
        """Do something."""

    command: Any = typer.main.get_command(bare)
    command.format_options = lambda _context, formatter: _one_row(formatter)
    command.collect_usage_pieces = lambda _context: []
    found = commands._Found("some", command, SimpleNamespace())
    with pytest.raises(PluginError, match="some --number N has no help"):
        list(commands._section(found))


def _one_row(formatter: Any) -> None:
    with formatter.section("Options"):
        formatter.write_dl([("--number N", "  [default: 1]")])


def test_the_python_api_is_what_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (REFERENCE / "api.md").read_text("utf-8")
    shown = python_api.on_page_markdown(page)
    public = [name for name in boxpen.__all__ if not name.startswith("__")]
    assert shown.count("\n::: boxpen.") == len(public) + len(boxpen.exchange.__all__)
    assert "\n::: boxpen.evaluate.evaluate\n" in shown
    with pytest.raises(PluginError, match=r"public on one side only: Card\Z"):
        python_api.on_page_markdown(page.replace("`Card`, ", ""))
    monkeypatch.setattr(boxpen.Suite.take, "__doc__", None)
    with pytest.raises(PluginError, match=r"no docstring: Suite.take\Z"):
        python_api.on_page_markdown(page)


def test_metrics_are_all_in_the_reference() -> None:
    page = (REFERENCE / "metrics.md").read_text("utf-8").partition("## Intervals")[0]
    assert set(METRICS) == set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", page, re.M)))
    )


def test_environment_variables_are_all_in_the_reference() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    used = set(re.findall(r"[\"'(`](BOXPEN_[A-Z]+|[A-Z]+_API_KEY)[\"')`.]", source))
    page = (REFERENCE / "environment.md").read_text("utf-8")
    assert len(used) > 5
    assert used == set(re.findall(r"`(BOXPEN_[A-Z]+|[A-Z]+_API_KEY)`", page))


def test_run_directories_are_as_the_reference_has_them(tmp_path: Path) -> None:
    page = (REFERENCE / "run-directory.md").read_text("utf-8")
    run = small_run("+-+-")
    place = run.save(tmp_path)
    assert {file.name for file in place.iterdir()} <= set(
        re.findall(r"^\| `([\w.]+)` \|", page, re.M)
    )
    keys = {field.metadata.get("key", field.name) for field in fields(RunInfo)} - {"more"}
    rows = re.findall(r"^\| (`.+?) \|", page.partition("## `run.json`")[2], re.M)
    assert keys == set(re.findall(r"`(\w+)`", "".join(rows)))
    for table in ("verdicts", "records", "translations", "tokens"):
        named = re.search(rf"^\| `{table}`[^|]* \| [^|]+ \| (.+) \|$", page, re.M)
        assert named
        columns = [re.sub(r":.*", ":NAME", name) for name in run.to_polars(table).columns]
        expected = re.findall(r"`([\w:]+)`", named[1])
        assert [name for name in expected if name != "tag:NAME" or name in columns] == columns
