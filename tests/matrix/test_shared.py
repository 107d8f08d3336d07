"""Cells that workers do: what a server refused is asked again, and what it answered is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("httpx")

sys.path.append(str(Path(__file__).parents[1] / "remote"))

from chat_server import ChatServer

from boxpen.cluster.store import DirectoryStore
from boxpen.cluster.worker import Worker
from boxpen.matrix import cut as cutting
from boxpen.matrix.cells import cells_of, plan_cells
from boxpen.matrix.cut import cut
from boxpen.matrix.settings import RunSettings
from boxpen.matrix.shared import share_cells
from boxpen.scoring import cache as scoring_cache
from boxpen.scoring.cache import ScoreCache


class Here:
    """Does all units in this process."""

    problems: list[str] = []  # noqa: RUF012

    def start(self, store: DirectoryStore, job: str) -> None:
        Worker(store).run(job)

    def tend(self, done: int) -> bool:
        return False

    def stop(self) -> None:
        pass


def interrupted(*_: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("stopped", [False, True])  # before it collected the results
@pytest.mark.parametrize("width", [1, 1 << 20])  # units of one question, and of all
def test_what_a_server_refused_is_asked_again_and_nothing_else(
    tmp_path, monkeypatch, width, stopped
):
    monkeypatch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, width))
    rows = [f"The box {n} is in the pen.,The pen {n} is in the box." for n in range(8)]
    (tmp_path / "pairs.csv").write_text("\n".join(["good,bad", *rows]) + "\n")
    asked: list[str] = []
    broken = True

    def brain(question: str) -> Any:
        asked.append(question)
        return 418 if broken and "box 3" in question else "A"

    with ChatServer(brain=brain) as server, ScoreCache(tmp_path / "cache.sqlite") as scores:
        settings = RunSettings(
            model=(server.spec,), suite=(str(tmp_path / "pairs.csv"),), recipe=("ask",),
            out=tmp_path / "runs",
        )  # fmt: skip
        counts = []
        store = DirectoryStore(tmp_path / "store")
        for broken in (True, False, False):  # noqa: B007 (read by the server)
            asked.clear()
            cells = cells_of([settings])
            plan_cells(cells, lambda _: None)
            with monkeypatch.context() as patch:
                if stopped and not counts:
                    patch.setattr("boxpen.matrix.shared._kept", interrupted)
                    with pytest.raises(KeyboardInterrupt):
                        list(share_cells(cells, scores, store, Here()))
                    counts.append((7, [q for q in asked if "box" in q]))
                    continue
            (done,) = share_cells(cells, scores, store, Here())
            counts.append((len(done.run.verdicts), [q for q in asked if "box" in q]))
    assert [count for count, _ in counts] == [7, 8, 8]
    assert len(counts[0][1]) == 16  # each in two orders
    assert len(counts[1][1]) == 2
    assert all("box 3" in question for question in counts[1][1])
    assert counts[2][1] == []


def test_scores_of_an_earlier_version_are_not_taken_from_the_store(gpt2_dir, monkeypatch, tmp_path):
    (tmp_path / "pairs.csv").write_text("good,bad\nThe box is in.,The box is by.\n")
    settings = RunSettings(model=(f"hf:{gpt2_dir}",), suite=(str(tmp_path / "pairs.csv"),))

    def unit() -> str:
        cells = cells_of([settings])
        plan_cells(cells, lambda _: None)
        with ScoreCache(":memory:") as scores:
            from boxpen.evaluate import asks

            (part,) = cut(asks([cells[0].plan]), scores)
        return part.unit.id

    before = unit()
    assert unit() == before
    monkeypatch.setattr("boxpen.matrix.payload.SCORES", scoring_cache.SCORES + 1)
    assert unit() != before
