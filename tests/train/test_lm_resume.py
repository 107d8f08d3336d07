"""A training that was killed ends as one that was never killed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch
from safetensors.torch import load_file
from sentence_rules import BASES, write_text

from boxpen.errors import TrainError
from boxpen.lm import Options, train_lm
from boxpen.report.training.plot import read_log

RESUMED = Options(
    epochs=3, batch_size=16, accumulate=2, learning_rate=1e-3, every=5, patience=0, seed=5
)
Base = Callable[[str], str]


def untimed(folder: Path) -> list[dict[str, Any]]:
    """Return the log without what differs from run to run."""
    times = ("seconds", "tokens_per_second")
    return [{k: v for k, v in entry.items() if k not in times} for entry in read_log(folder)]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt", 400)


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import torch
torch.set_num_threads(1)
from boxpen.training.learner import Learner
from test_lm_resume import RESUMED, train_lm

step, steps = Learner.step, []

def killed(self, *rest):
    steps.append(1)
    if len(steps) == 24:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *rest)

Learner.step = killed
train_lm(kind={kind!r}, model={model!r}, out={out!r}, text=[{text!r}], options=RESUMED)
"""


@pytest.mark.parametrize(
    "kind", ["causal", *(pytest.param(k, marks=pytest.mark.heavy) for k in ("masked", "bilm"))]
)
def test_a_killed_training_ends_as_one_that_was_never_killed(
    kind: str, tiny_base: Base, text: Path, tmp_path: Path
) -> None:
    """12 steps an epoch: the kill at step 23 falls back to step 20, in the middle of the second."""
    torch.set_num_threads(1)
    model = "new:tiny" if kind == "bilm" else tiny_base(BASES[kind])
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    given: dict[str, Any] = {"kind": kind, "model": model, "text": [text], "options": RESUMED}
    expected = train_lm(out=whole, **given)
    assert expected["best_step"] > 20, "or the weights would be those from before the kill"
    code = KILLED.format(
        here=str(Path(__file__).parent), kind=kind, model=model, out=str(killed), text=str(text)
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()
    assert not (killed / "config.json").exists()
    kept = {p.name for p in (killed / "checkpoints").iterdir()} - {".unfinished"}
    assert kept == {"step-20"}, "more than the best, which is the last"
    # What a kill in the middle of saving would leave is never taken for a checkpoint.
    (killed / "checkpoints" / ".unfinished").mkdir()

    said: list[str] = []
    result = train_lm(out=killed, note=said.append, **given)
    assert said[0] == "resuming from step 20"
    assert result == expected
    first, second = (untimed(folder) for folder in (whole, killed))
    assert len(first) == len(second) > 8
    for a, b in zip(first, second, strict=True):
        assert a == pytest.approx(b, abs=2e-6)
    weights = load_file(whole / "model.safetensors")
    for name, weight in load_file(killed / "model.safetensors").items():
        torch.testing.assert_close(weight, weights[name], rtol=0, atol=1e-6)

    again = train_lm(out=killed, note=said.append, **given)
    assert said[2:] == [f"{killed} is finished; nothing was done"]
    assert again == expected


@pytest.mark.parametrize("kind", ["causal", "bilm"])
def test_a_damaged_checkpoint_is_told_in_one_sentence(
    kind: str, tiny_base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.training.learner import Learner

    step, steps = Learner.step, []
    out = tmp_path / "m"
    given: dict[str, Any] = {
        "kind": kind, "model": "new:tiny" if kind == "bilm" else tiny_base(BASES[kind]),
        "text": [write_text(tmp_path / "few.txt", 60)], "out": out,
        "options": Options(epochs=1, batch_size=16, every=2, patience=0, seed=5),
    }  # fmt: skip

    def stopped(self: Any, *rest: Any) -> Any:
        steps.append(1)
        if len(steps) == 4:
            raise KeyboardInterrupt
        return step(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "step", stopped)
        with pytest.raises(KeyboardInterrupt):
            train_lm(**given)
    folder = out / "checkpoints" / "step-2"
    needed = {"optimizer.pt", "rng_state-0.pt", "model.safetensors", "state.json"}
    assert needed | {"checksums.json"} == {p.name for p in folder.iterdir()}
    for name in sorted(needed):
        content = (folder / name).read_bytes()
        flipped = bytearray(content)  # a weight, a number of state.json
        flipped[-9] ^= 1
        for left in (bytes(flipped), content[: len(content) // 2], b"", None):
            (folder / name).write_bytes(left or b"")
            if left is None:
                (folder / name).unlink()
            with pytest.raises(TrainError) as refused:
                train_lm(**given)
            said = str(refused.value)
            assert said.startswith(f"{folder} is damaged ("), (name, said)
            assert said.endswith(
                f"; remove {folder.parent} and rerun the same command to start over"
            )
            assert "\n" not in said
            assert not (out / "config.json").exists()
        (folder / name).write_bytes(content)
    again = shutil.copytree(out, tmp_path / "again")
    result = train_lm(**given)
    assert result["best_step"] == 4
    shutil.rmtree(again / "checkpoints")
    assert train_lm(**given | {"out": again}) == result, "as it was told"


def test_damaged_best_weights_are_told_in_one_sentence(
    tiny_base: Base, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: Any) -> None:
        raise TrainError("cannot be written")

    out = tmp_path / "m"
    given: dict[str, Any] = {
        "kind": "causal", "model": tiny_base("llama"), "text": [text], "out": out,
        "options": Options(epochs=1, batch_size=64, learning_rate=1e-30, every=2, patience=0),
    }  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr("boxpen.lm.folder.OutFolder.finish", no_space)
        with pytest.raises(TrainError, match="cannot be written"):
            train_lm(**given)
    weights = out / "checkpoints" / "step-2" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    told = r"step-2 is damaged \(.*\); remove .*checkpoints"
    with pytest.raises(TrainError, match=f"{told} and rerun the same command to start over"):
        train_lm(**given)
    shutil.rmtree(weights.parent)
    with pytest.raises(TrainError, match=told):  # they are missed as soon as they are needed
        train_lm(**given)


def test_another_tokenizer_is_refused_on_resume(
    tiny_base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.training.loop import Training

    model = shutil.copytree(tiny_base("llama").removeprefix("hf:"), tmp_path / "base")
    out = tmp_path / "m"
    given: dict[str, Any] = {
        "kind": "causal", "model": f"hf:{model}", "out": out,
        "text": [write_text(tmp_path / "few.txt", 60)],
        "options": Options(epochs=1, batch_size=16, every=2, patience=0, seed=5),
    }  # fmt: skip
    keep = Training._keep

    def stopped(self: Any, rng_states: Any) -> None:
        keep(self, rng_states)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_keep", stopped)
        with pytest.raises(KeyboardInterrupt):
            train_lm(**given)
    path = model / "tokenizer.json"
    original = path.read_bytes()
    tokenizer = json.loads(original)
    vocab = tokenizer["model"]["vocab"]
    first, second = list(vocab)[3:5]
    vocab[first], vocab[second] = vocab[second], vocab[first]
    path.write_text(json.dumps(tokenizer))
    with pytest.raises(TrainError) as refused:
        train_lm(**given)
    assert str(refused.value) == (
        f"{out} was started with another tokenizer than the model has now; restore that "
        "tokenizer, or use another --out"
    )
    path.write_bytes(original)
    said: list[str] = []
    train_lm(**given, note=said.append)
    assert said[0] == "resuming from step 2"
