"""A small matrix of real models: causal, masked and translation, each on two suites."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from boxpen import Card, Choice, Suite
from boxpen.catalog.files import write_suite
from boxpen.cluster.drive import Executor
from boxpen.cluster.store import Store
from boxpen.matrix import cut as cutting
from boxpen.matrix.cells import cells_of, plan_cells
from boxpen.matrix.settings import RunSettings
from boxpen.matrix.shared import share_cells
from boxpen.scoring.cache import ScoreCache

sys.path.append(str(Path(__file__).parents[1] / "models"))

THINGS = ("box", "pen", "house", "tree", "river")


def build(folder: Path) -> RunSettings:
    """Write the models and the suites."""
    import tiny

    models = {"causal": tiny.gpt2, "masked": tiny.bert}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in models.items():
            for part in make():
                part.save_pretrained(folder / name)
        tiny.build("marian", folder / "translation")
    pairs = [(a, b) for a in THINGS for b in THINGS if a != b]
    for name, words in (("one", "in"), ("two", "by")):
        items = tuple(
            Choice(
                id=f"{a}-{b}", gold=0, source=f"盒子{a}在{b}里。",
                candidates=(f"The {a} is {words} the {b}.", f"The {b} is {words} the {a}."),
            )
            for a, b in pairs
        )  # fmt: skip
        card = Card(language="en", source_language="zh")
        write_suite(Suite(name, items, card), folder / f"{name}.jsonl")
    return RunSettings(
        model=tuple(f"hf:{folder / name}" for name in (*models, "translation")),
        suite=tuple(str(folder / f"{name}.jsonl") for name in ("one", "two")),
    )


def run(settings: RunSettings, out: Path, store: Store, executor: Executor) -> dict[str, bytes]:
    """Run the matrix by small units, with an empty cache; return what the runs hold."""
    cells = cells_of([replace(settings, out=out)])
    plan_cells(cells, lambda _: None)
    with pytest.MonkeyPatch.context() as patch, ScoreCache(":memory:") as cache:
        patch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, 200))
        done = list(share_cells(cells, cache, store, executor))
    assert [cell.failure for cell in cells] == [""] * 6
    assert len(done) == 6
    files = [p for p in out.rglob("*") if p.suffix == ".parquet" or p.name == "tokens.json"]
    return {str(path.relative_to(out)): path.read_bytes() for path in files}
