"""A training that was killed ends as one that was never killed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
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


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt", 400)


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import torch
torch.set_num_threads(1)
from boxpen.lm import trainer as lm_trainer
from test_lm_resume import RESUMED, train_lm

class Killed(lm_trainer.LmTrainer):
    def training_step(self, *rest):
        if self.state.global_step == 23:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().training_step(*rest)

lm_trainer.LmTrainer = Killed
train_lm(kind={kind!r}, model={model!r}, out={out!r}, text=[{text!r}], options=RESUMED)
"""


@pytest.mark.parametrize("kind", ["causal", "masked", "bilm"])
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
    assert "checkpoint-20" in kept
    assert len(kept) == 2, "more than the best and the last"
    # What a kill in the middle of saving would leave is never taken for a checkpoint.
    (killed / "checkpoints" / ".unfinished" / "checkpoint-25").mkdir(parents=True)

    said: list[str] = []
    result = train_lm(out=killed, note=said.append, **given)
    assert said == [f"{killed}: resuming after checkpoint-20"]
    assert result == expected
    first, second = (read_log(folder) for folder in (whole, killed))
    assert len(first) == len(second) > 8
    for a, b in zip(first, second, strict=True):
        assert a == pytest.approx(b, abs=1e-6)
    weights = load_file(whole / "model.safetensors")
    for name, weight in load_file(killed / "model.safetensors").items():
        torch.testing.assert_close(weight, weights[name], rtol=0, atol=1e-6)

    again = train_lm(out=killed, note=said.append, **given)
    assert said[1:] == [f"{killed} is finished; nothing was done"]
    assert again == expected


@pytest.mark.parametrize("rate", [1e-3, 1e-30])
def test_a_kill_before_the_best_weights_were_kept_loses_nothing(
    rate: float, tiny_base: Base, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint of a step stands already when the weights of that step are to be kept.

    With the first rate the last look is the best, with the second the first of equals.
    """
    from boxpen.lm.learner import Learner
    from boxpen.lm.trainer import LmTrainer

    given: dict[str, Any] = {
        "kind": "causal", "model": tiny_base("llama"), "text": [text],
        "options": replace(RESUMED, learning_rate=rate),
    }  # fmt: skip
    expected = train_lm(out=tmp_path / "whole", **given)
    step = expected["best_step"]
    assert (step == expected["steps"]) == (rate == 1e-3)
    original = LmTrainer.keep_best
    out = tmp_path / "killed"

    def killed(self: Any) -> None:
        if self.state.global_step == step:
            raise KeyboardInterrupt
        original(self)

    with monkeypatch.context() as patch:
        patch.setattr(LmTrainer, "keep_best", killed)
        with pytest.raises(KeyboardInterrupt):
            train_lm(out=out, **given)
    assert (out / "checkpoints" / f"checkpoint-{step}").is_dir()
    assert not (out / "checkpoints" / f"best-{step}").exists()
    save, saved = Learner.save, []

    def remembered(self: Any, folder: Path) -> None:
        saved.append(folder.name)
        save(self, folder)

    monkeypatch.setattr(Learner, "save", remembered)
    assert train_lm(out=out, **given) == expected
    # Half of what is written in place would be taken for whole after the next kill.
    assert not [name for name in saved if name.startswith("best-")]


@pytest.mark.parametrize("kind", ["causal", "bilm"])
def test_a_damaged_checkpoint_is_told_in_one_sentence(
    kind: str, tiny_base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.lm.trainer import LmTrainer

    step = LmTrainer.training_step
    out = tmp_path / "m"
    given: dict[str, Any] = {
        "kind": kind, "model": "new:tiny" if kind == "bilm" else tiny_base(BASES[kind]),
        "text": [write_text(tmp_path / "few.txt", 60)], "out": out,
        "options": Options(epochs=1, batch_size=16, every=2, patience=0, seed=5),
    }  # fmt: skip

    def stopped(self: Any, *rest: Any) -> Any:
        if self.state.global_step == 3:
            raise KeyboardInterrupt
        return step(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(LmTrainer, "training_step", stopped)
        with pytest.raises(KeyboardInterrupt):
            train_lm(**given)
    whole = shutil.copytree(out, tmp_path / "whole")
    states = {"optimizer.pt", "scheduler.pt", "rng_state.pth"}
    needed = states | {"model.safetensors", "config.json", "tokenizer.json", "trainer_state.json"}
    folder = out / "checkpoints" / "checkpoint-2"
    assert needed <= {p.name for p in folder.iterdir()}
    for name in sorted(needed):
        content = (folder / name).read_bytes()
        for left in (content[: len(content) // 2], b"", None if name in states else b"{"):
            (folder / name).write_bytes(left or b"")
            if left is None:
                (folder / name).unlink()
            with pytest.raises(TrainError) as refused:
                train_lm(**given)
            said = str(refused.value)
            assert said.startswith(f"{folder} is damaged ("), (name, said)
            assert said.endswith("; remove this folder and rerun the same command to start over")
            assert "\n" not in said
            assert not (out / "config.json").exists()
        (folder / name).write_bytes(content)
    best = out / "checkpoints" / "best-2" / "model.safetensors"
    best.write_bytes(best.read_bytes()[:-100])
    result = train_lm(**given)  # others are better by now
    assert result["best_step"] == 4
    shutil.rmtree(out)
    shutil.copytree(whole, out)
    shutil.rmtree(folder)
    left = out / "checkpoints" / "best-2"
    assert left.is_dir()
    (left / "model.safetensors").write_bytes(b"")  # nothing of the training before is used

    def best(self: Any, *rest: Any) -> Any:
        assert not left.is_dir() or self.state.global_step >= 2
        return step(self, *rest)

    monkeypatch.setattr(LmTrainer, "training_step", best)
    assert train_lm(**given) == result, "as it was told"


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
        patch.setattr("boxpen.lm.classifier.record.Record.finish", no_space)
        with pytest.raises(TrainError, match="cannot be written"):
            train_lm(**given)
    weights = out / "checkpoints" / "best-2" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    told = r"best-2 is damaged \(.*\); there is no other copy .*, so remove .*checkpoints"
    with pytest.raises(TrainError, match=f"{told} and rerun the same command to start over"):
        train_lm(**given)
    shutil.rmtree(weights.parent)
    with pytest.raises(TrainError, match=told):  # they are missed as soon as they are needed
        train_lm(**given)
