"""The rooms of the house: CONTRIBUTING names what there is, in the order of the import contract."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "boxpen"


def layers() -> list[list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = config["tool"]["importlinter"]["contracts"][0]
    assert contract["type"] == "layers"
    assert contract["exhaustive"]
    return [layer.split(" | ") for layer in contract["layers"]]


def test_contributing_lists_the_rooms_in_the_order_of_the_contract():
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    block = page.partition("## The house")[2].partition("\n## ")[0]
    heads = [line[4:18] for line in block.splitlines() if re.match(r" {4}\w", line)]
    shown = [name for head in heads for name in re.findall(r"\w+(?=/|\.py)", head)]
    order = {name: depth for depth, layer in enumerate(layers()) for name in layer}
    assert [order[name] for name in shown] == sorted(order[name] for name in shown)
    folders = {p.name for p in SOURCE.iterdir() if (p / "__init__.py").is_file()}
    assert folders <= set(shown)


def test_folders_hold_few_files():
    sizes = {
        str(folder.relative_to(SOURCE)): len(list(folder.glob("*.py")))
        for folder in (SOURCE, *(p for p in SOURCE.rglob("*") if p.is_dir()))
    }
    assert {name: size for name, size in sizes.items() if size > 18} == {}
