"""Pickles are refused wherever a file of somebody else may be one, and nothing in them runs."""

from __future__ import annotations

import io
import pickle
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from boxpen import ModelError, load_suite, resolve_model  # noqa: E402
from boxpen.cluster.store import open_store  # noqa: E402
from boxpen.cluster.units import Job  # noqa: E402
from boxpen.errors import BoxpenError, ClusterError, NmtError, RunError  # noqa: E402
from boxpen.matrix.results import unpacked  # noqa: E402
from boxpen.nmt.context.making import _kept_tokens  # noqa: E402
from boxpen.nmt.data.prepared import _load  # noqa: E402
from boxpen.scoring.cache import ScoreCache  # noqa: E402
from boxpen.training.learner import Learner  # noqa: E402
from boxpen.training.processes import Processes  # noqa: E402


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.marker), "w")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "unpickled"


def hostile_npz(marker: Path, *names: str) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **{name: np.array([Bomb(marker)], dtype=object) for name in names})
    return stream.getvalue()


def test_the_bomb_works(marker):
    pickle.loads(pickle.dumps(Bomb(marker)))
    assert marker.exists()


@pytest.mark.parametrize("how", ["zip", "legacy", "plain"])
def test_weights_of_a_checkpoint(gpt2_dir, tmp_path, marker, how):
    folder = Path(shutil.copytree(gpt2_dir, tmp_path / "checkpoint"))
    (folder / "model.safetensors").unlink()
    place = folder / "pytorch_model.bin"
    weights = {"transformer.wte.weight": torch.zeros(4, 4), "more": Bomb(marker)}
    if how == "plain":
        place.write_bytes(pickle.dumps(weights))
    else:
        torch.save(weights, place, _use_new_zipfile_serialization=how == "zip")
    with pytest.raises(ModelError) as caught:
        resolve_model(f"hf:{folder}").load()
    assert "\n" not in str(caught.value)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["optimizer.pt", "rng_state-0.pt"])
def test_checkpoints_of_a_training(tmp_path, marker, name):
    model = torch.nn.Linear(2, 2)
    learner = Learner(
        model, lambda: None, torch.optim.AdamW(model.parameters()), Processes("cpu"), clip=0.0,
        bf16=False,
    )  # fmt: skip
    learner.save(tmp_path, [learner.rng_state()])
    (tmp_path / "state.json").write_text("{}")
    learner.restore(tmp_path)
    torch.save({"state": Bomb(marker)}, tmp_path / name)
    with pytest.raises(pickle.UnpicklingError):
        learner.restore(tmp_path)
    assert not marker.exists()


def test_results_of_units(marker):
    ask = SimpleNamespace(makes_text=False, items=(), label="one", task="score")
    data = hostile_npz(marker, "reasons", "counts", "token_ids", "logprobs", "facts")
    with pytest.raises(RunError, match="does not fit"):
        unpacked(ask, data)
    assert not marker.exists()


def test_jobs_of_a_store(tmp_path, marker):
    store = open_store(str(tmp_path / "store"))
    store.put("jobs/abc", pickle.dumps(Bomb(marker)))
    with pytest.raises(ClusterError, match="damaged"):
        Job.read(store, "abc")
    assert not marker.exists()


def test_prepared_corpora(tmp_path, marker):
    path = tmp_path / "train.npz"
    path.write_bytes(hostile_npz(marker, "source", "target"))
    with pytest.raises(NmtError, match="cannot be read"):
        _load(path)
    said: list[str] = []
    path.write_bytes(hostile_npz(marker, "bert", "bert_ends"))
    assert _kept_tokens(path, said.append) is None
    assert said
    assert not marker.exists()


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv", "tsv"])
def test_suites(tmp_path, marker, ending):
    path = tmp_path / f"suite.{ending}"
    data = pickle.dumps(Bomb(marker))
    path.write_bytes(b"PAR1" + data + b"PAR1" if ending == "parquet" else data)
    with pytest.raises(BoxpenError):
        load_suite(path)
    assert not marker.exists()


def test_the_reader_of_parquet_hands_over_no_pickle(tmp_path, marker, monkeypatch):
    """Even if a file takes over the process that reads it, this process runs nothing of it."""
    path = tmp_path / "suite.parquet"
    path.write_bytes(b"PAR1 PAR1")
    done = subprocess.CompletedProcess([], 0, pickle.dumps(Bomb(marker)), b"")
    monkeypatch.setattr("boxpen.catalog.parquet.subprocess.run", lambda *a, **k: done)
    with pytest.raises(BoxpenError, match="broken Parquet"):
        load_suite(path)
    assert not marker.exists()


def test_caches(tmp_path, marker):
    path = tmp_path / "scores.sqlite"
    path.write_bytes(pickle.dumps(Bomb(marker)))
    with pytest.raises(BoxpenError):
        ScoreCache(path)
    assert not marker.exists()
