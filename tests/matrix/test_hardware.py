"""What units were computed on is recorded, and part of the signature where it is not one thing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.append(str(Path(__file__).parents[1] / "models"))

import tiny  # noqa: E402

from boxpen.cluster.store import DirectoryStore  # noqa: E402
from boxpen.cluster.worker import Worker  # noqa: E402
from boxpen.matrix import cut as cutting  # noqa: E402
from boxpen.matrix.cells import cells_of, plan_cells  # noqa: E402
from boxpen.matrix.settings import RunSettings  # noqa: E402
from boxpen.matrix.shared import share_cells  # noqa: E402
from boxpen.matrix.work import ModelWork  # noqa: E402
from boxpen.scoring.cache import ScoreCache  # noqa: E402

OLD = {"device": "Old GPU", "dtype": "float32", "torch": "2.8"}
NEW = {"device": "New GPU", "dtype": "float32", "torch": "2.8"}


class InThisProcess:
    """Does all units here, pretending that the hardware changes after some of them."""

    problems: list[str] = []  # noqa: RUF012

    def __init__(self, patch: pytest.MonkeyPatch, *places: dict[str, str]) -> None:
        self.patch, self.places = patch, list(places)

    def start(self, store: DirectoryStore, job: str) -> None:
        places = self.places

        def place(_: ModelWork) -> dict[str, str]:
            return places.pop(0) if len(places) > 1 else places[0]

        self.patch.setattr(ModelWork, "place", property(place))
        Worker(store).run(job)

    def tend(self, done: int) -> bool:
        return False

    def stop(self) -> None:
        pass


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunSettings:
    monkeypatch.setitem(cutting._BYTES, "score", 200)  # several units
    for part in tiny.gpt2():
        part.save_pretrained(tmp_path / "model")
    rows = [f"The box {n} is in the pen.,The pen {n} is in the box." for n in range(30)]
    (tmp_path / "pairs.csv").write_text("\n".join(["good,bad", *rows]) + "\n")
    return RunSettings(
        model=(f"hf:{tmp_path / 'model'}",), suite=(str(tmp_path / "pairs.csv"),),
        out=tmp_path / "runs",
    )  # fmt: skip


def shared(settings: RunSettings, cache: Path, executor: InThisProcess) -> tuple[list[str], str]:
    """Return the hardware that a run records, and its signature."""
    cells = cells_of([settings])
    plan_cells(cells, lambda _: None)
    with ScoreCache(cache) as scores:
        (done,) = share_cells(cells, scores, DirectoryStore(cache.parent / "store"), executor)
    info = json.loads((done.place / "run.json").read_text())
    return info["hardware"], info["signature"]


def test_one_kind_of_hardware_is_recorded_and_does_not_change_the_signature(
    settings, tmp_path, monkeypatch
):
    found = shared(settings, tmp_path / "a.sqlite", InThisProcess(monkeypatch, NEW))
    assert found[0] == ["New GPU, float32, 2.8"]
    assert "hardware" not in found[1]


def test_mixed_hardware_is_in_the_signature(settings, tmp_path, monkeypatch):
    executor = InThisProcess(monkeypatch, OLD, NEW)
    hardware, signature = shared(settings, tmp_path / "a.sqlite", executor)
    assert hardware == ["New GPU, float32, 2.8", "Old GPU, float32, 2.8"]
    assert "hardware:" in signature
    again = shared(settings, tmp_path / "a.sqlite", InThisProcess(monkeypatch, NEW))
    assert again == (hardware, signature)  # although nothing was computed
    elsewhere = shared(settings, tmp_path / "b.sqlite", InThisProcess(monkeypatch, NEW))
    assert elsewhere == (hardware, signature)  # from the store, on another machine


def test_two_versions_of_torch_are_mixed_hardware(settings, tmp_path, monkeypatch):
    executor = InThisProcess(monkeypatch, NEW, NEW | {"torch": "2.9"})
    assert "hardware:" in shared(settings, tmp_path / "a.sqlite", executor)[1]
