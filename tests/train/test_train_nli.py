"""Classifiers learn, stop, go on after a kill, and are kept so that anyone can load them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import boxpen
from boxpen.errors import BoxpenError, ModelError, SuiteError, TrainError
from boxpen.metrics.choice import accuracy

pytest.importorskip("torch")
import torch
from easy_rules import nli_rows, write_csv
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

from boxpen.lm import Options, train_nli

FAST = Options(epochs=3, batch_size=16, learning_rate=5e-3, every=20, patience=0, seed=1)
Base = Callable[[str], str]


@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_an_easy_rule_is_learnt_and_the_model_loads_with_equal_logits(
    kind: str, tiny_base: Base, nli_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr("boxpen.lm.folder.OutFolder.finish", _spied(seen))
    out = tmp_path / "model"
    result = train_nli(nli_csv, base=tiny_base(kind), out=out, options=FAST, holdout=0.2)
    assert result["accuracy"] > 0.9
    assert result["low"] <= result["accuracy"] <= result["high"]
    assert 0.2 < result["majority"] < 0.5
    assert result["items"]["train"] + result["items"]["held_out"] == 400

    module = AutoModelForSequenceClassification.from_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert module.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    assert module.config.pad_token_id == tokenizer.pad_token_id is not None
    held = [json.loads(line) for line in (out / "held-out.jsonl").read_text().splitlines()[1:]]
    assert [row["id"] for row in held] == (out / "held-out.txt").read_text().split()
    batch = tokenizer(
        [row["premise"] for row in held], [row["hypothesis"] for row in held],
        return_tensors="pt", padding=True,
    )  # fmt: skip
    with torch.no_grad():
        logits = module(**batch).logits
        before = seen["module"](**batch).logits
    assert torch.equal(logits, before)
    names = [module.config.id2label[i] for i in logits.argmax(-1).tolist()]
    right = [name == row["label"] for name, row in zip(names, held, strict=True)]
    assert sum(right) / len(right) == pytest.approx(result["accuracy"])
    # A text filled up beside a longer one gives what it gives alone.
    alone = tokenizer(held[0]["premise"], held[0]["hypothesis"], return_tensors="pt")
    longer = tokenizer(
        [held[0]["premise"], held[0]["premise"] * 2], [held[0]["hypothesis"]] * 2,
        return_tensors="pt", padding=True,
    )  # fmt: skip
    with torch.no_grad():
        torch.testing.assert_close(module(**alone).logits[0], module(**longer).logits[0])
    # And boxpen itself reads it as it was trained.
    run = boxpen.evaluate(f"hf:{out}", out / "held-out.jsonl", device="cpu", cache=":memory:")
    assert (run.setting, len(run.verdicts)) == ("3-way", len(held))
    assert accuracy(run.verdicts).value == pytest.approx(result["accuracy"])


def test_the_log_can_be_plotted_and_the_best_look_is_kept(
    tiny_base: Base, nli_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    result = train_nli(nli_csv, base=tiny_base("bert"), out=out, options=FAST)
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    looks = {e["step"]: e["accuracy"] for e in log if "accuracy" in e}
    assert list(looks) == [20, 40, 60, 69]
    assert result["accuracy"] == pytest.approx(max(looks.values()))
    assert result["best_step"] == min(s for s, a in looks.items() if a == max(looks.values()))
    assert [e["step"] for e in log if "loss" in e] == [*range(2, 69, 2), 69]
    assert not (out / "checkpoints").exists()
    assert {p.name for p in out.iterdir()} == {
        "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "training.json", "result.json", "log.jsonl", "held-out.jsonl", "held-out.txt",
    }  # fmt: skip


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
import torch
torch.set_num_threads(1)
from boxpen.training.learner import Learner
from test_train_nli import RESUMED, train_nli

step, steps = Learner.step, []

def killed(self, *rest):
    steps.append(1)
    if len(steps) == 24:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *rest)

Learner.step = killed
train_nli({data!r}, base={base!r}, out={out!r}, options=RESUMED)
"""
RESUMED = Options(
    epochs=3, batch_size=16, accumulate=2, learning_rate=1e-3, every=5, patience=0, seed=5
)


@pytest.mark.heavy  # fast: the same loop, in test_lm_resume.py
@pytest.mark.parametrize("kind", ["bert"])
def test_a_killed_training_ends_as_one_that_was_never_killed(
    kind: str, tiny_base: Base, nli_csv: Path, tmp_path: Path
) -> None:
    """12 steps an epoch: the kill at step 23 falls back to step 20, in the middle of the second."""
    torch.set_num_threads(1)
    base, whole, killed = tiny_base(kind), tmp_path / "whole", tmp_path / "killed"
    expected = train_nli(nli_csv, base=base, out=whole, options=RESUMED)
    assert expected["best_step"] > 20, "or the weights would be those from before the kill"
    here = str(Path(__file__).parent)
    code = KILLED.format(here=here, data=str(nli_csv), base=base, out=str(killed))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr.decode()
    assert not (killed / "config.json").exists()
    kept = {p.name for p in (killed / "checkpoints").iterdir()}
    assert "step-20" in kept
    assert len(kept - {".unfinished"}) <= 2, "more than the best and the last"
    # What a kill in the middle of saving would leave is never taken for a checkpoint.
    (killed / "checkpoints" / ".unfinished").mkdir(exist_ok=True)

    said: list[str] = []
    result = train_nli(nli_csv, base=base, out=killed, options=RESUMED, note=said.append)
    assert said[0] == "resuming from step 20"
    assert result == expected
    _same_log(whole / "log.jsonl", killed / "log.jsonl")
    _same_weights(whole, killed)

    again = train_nli(nli_csv, base=base, out=killed, options=RESUMED, note=said.append)
    assert said[2:] == [f"{killed} is finished; nothing was done"]
    assert again == expected


def test_a_kill_after_the_last_checkpoint_only_leaves_the_end_to_do(
    tiny_base: Base, nli_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops early after step 15; going on must neither train further nor forget the best."""
    options = Options(epochs=9, batch_size=16, learning_rate=1e-9, every=5, patience=2, seed=1)
    base, out = tiny_base("bert"), tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr("boxpen.lm.folder.OutFolder.finish", _no_space)
        with pytest.raises(TrainError, match="cannot be written"):
            train_nli(nli_csv, base=base, out=out, options=options)
    kept = sorted(p.name for p in (out / "checkpoints").iterdir())
    assert kept == ["step-15", "step-5"]
    for name in kept:
        weights = out / "checkpoints" / name / "model.safetensors"
        content = weights.read_bytes()
        weights.write_bytes(content[:-100])
        then = "remove .*/checkpoints and rerun the same command to start over"
        with pytest.raises(TrainError, match=rf"/{name} is damaged \(.*\); {then}$"):
            train_nli(nli_csv, base=base, out=out, options=options)
        weights.write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr("boxpen.training.learner.Learner.step", _never)
        result = train_nli(nli_csv, base=base, out=out, options=options)
    assert (result["best_step"], result["steps"], result["stopped_early"]) == (5, 15, True)


def test_a_full_disk_leaves_the_last_good_checkpoint(
    tiny_base: Base, nli_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from boxpen.training.learner import Learner

    original, saved = Learner.save, []

    def full(self: Any, folder: Path, rng_states: Any) -> None:
        saved.append(folder)
        if len(saved) > 1:
            raise OSError(28, "No space left on device")
        original(self, folder, rng_states)

    base, out = tiny_base("bert"), tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "save", full)
        with pytest.raises(TrainError, match=r"step 10 cannot .*No space .*to resume from step-5"):
            train_nli(nli_csv, base=base, out=out, options=RESUMED)
    assert [p.name for p in (out / "checkpoints").iterdir()] == ["step-5"]
    train_nli(nli_csv, base=base, out=out, options=RESUMED)
    assert (out / "config.json").is_file()


def test_batches_that_are_accumulated_are_one_batch(tiny_base: Base, tmp_path: Path) -> None:
    """The tiny Llama has no dropout, so that nothing but the arithmetic can differ."""
    data = write_csv(tmp_path / "even.csv", nli_rows(96))
    valid = write_csv(tmp_path / "valid.csv", [("zebra", "not zebra", "neutral")])
    losses = []
    for batch, accumulate in ((16, 1), (8, 2)):
        options = Options(
            epochs=1, batch_size=batch, accumulate=accumulate, learning_rate=1e-3, every=1,
            patience=0, seed=2,
        )  # fmt: skip
        out = tmp_path / str(batch)
        train_nli(data, valid=valid, base=tiny_base("llama"), out=out, options=options)
        log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        losses.append([entry["loss"] for entry in log if "loss" in entry])
    assert len(losses[0]) == 6
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_a_changed_option_or_other_data_is_refused_by_name(
    tiny_base: Base, nli_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    options = Options(epochs=0.2, batch_size=64)
    first = train_nli(nli_csv, base=tiny_base("bert"), out=out, options=options)
    assert first["steps"] == 2
    with pytest.raises(
        TrainError, match=r"was started with --epochs 0\.2, not 1; use the same value"
    ):
        train_nli(nli_csv, base=tiny_base("bert"), out=out, options=Options(epochs=1))
    with pytest.raises(TrainError, match=r"was started with --holdout 0\.1, not 0\.2"):
        train_nli(nli_csv, base=tiny_base("bert"), out=out, options=options, holdout=0.2)
    with pytest.raises(TrainError, match="was started with --base "):
        train_nli(nli_csv, base="new:tiny", out=out, options=options)
    other = write_csv(tmp_path / "other.csv", nli_rows(50))
    with pytest.raises(TrainError, match="was started with other items in --data"):
        train_nli(other, base=tiny_base("bert"), out=out, options=options)


def test_what_overlaps_is_removed_and_counted(tiny_base: Base, tmp_path: Path) -> None:
    rows = nli_rows(40)
    rows = [(f"{p} {i}", h, label) for i, (p, h, label) in enumerate(rows)]
    data = write_csv(tmp_path / "d.csv", rows)
    valid = write_csv(tmp_path / "v.csv", rows[:6])
    suite = write_csv(tmp_path / "s.csv", rows[3:10])
    result = train_nli(
        data, valid=valid, exclude=[str(suite)], base=tiny_base("bert"), out=tmp_path / "m",
        options=Options(epochs=1),
    )  # fmt: skip
    assert result["items"] == {
        "read": 46, "without_label": 0, "excluded": 7 + 3, "shared_with_valid": 3, "train": 30,
        "held_out": 3, "cut": 0,
    }  # fmt: skip


def test_a_model_from_nothing_is_small_and_cuts_are_counted(nli_csv: Path, tmp_path: Path) -> None:
    result = train_nli(
        nli_csv, base="new:tiny", out=tmp_path / "m", options=Options(epochs=0.1, max_length=8)
    )
    assert result["items"]["cut"] == 400
    module = AutoModelForSequenceClassification.from_pretrained(tmp_path / "m")
    assert (module.config.hidden_size, module.config.num_hidden_layers) == (128, 2)


def test_bad_input_ends_in_one_sentence(tiny_base: Base, nli_csv: Path, tmp_path: Path) -> None:
    base, out = tiny_base("bert"), tmp_path / "m"

    def refused(error: type[BoxpenError], message: str, **changes: Any) -> None:
        given: dict[str, Any] = {"data": nli_csv, "base": base, "out": out} | changes
        with pytest.raises(error, match=message):
            train_nli(given.pop("data"), **given)

    refused(TrainError, r"nli\.csv is a file, expected a folder", out=nli_csv)
    refused(TrainError, r"holds 'nli\.csv' and no training\.json, expected a new", out=tmp_path)
    refused(SuiteError, r"a holdout of 0\.001 of 400 items in \d+ group\(s\) leaves", holdout=0.001)
    refused(ModelError, "base 'gtp2' is unknown, did you mean 'gpt2'", base="gtp2")
    refused(ModelError, "base 'new:huge' is unknown, known: tiny, small", base="new:huge")
    refused(ModelError, "no config.json, so it is not a checkpoint", base=f"hf:{tmp_path}")
    refused(ModelError, "device 'tpu' is unknown", device="tpu")
    if not torch.cuda.is_available():
        refused(ModelError, "device 'cuda' is not available; use cpu or auto", device="cuda")
    bare = shutil.copytree(base.removeprefix("hf:"), tmp_path / "bare")
    for place in bare.glob("tokenizer*"):
        place.unlink()
    refused(ModelError, r"bare has no tokenizer files", base=f"hf:{bare}", out=tmp_path / "n")
    refused(ModelError, "--tokenizer only works with new:", tokenizer="gpt2", out=tmp_path / "o")


def test_the_command_prints_the_result_alone_on_stdout(
    tiny_base: Base, nli_csv: Path, tmp_path: Path
) -> None:
    from boxpen.cli.app import app

    out = tmp_path / "m"
    command = [
        *("train", "nli", "--data", str(nli_csv), "--base", tiny_base("bert"), "--out", str(out)),
        *("--epochs", "0.1", "--json"),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["out"] == str(out)
    assert shown["n"] == len((out / "held-out.txt").read_text().split())
    done = CliRunner().invoke(app, command[:-1])
    assert "is finished; nothing was done" in done.stderr
    assert done.stdout.startswith("held-out accuracy  0.")
    done = CliRunner().invoke(app, [*command, "--seed", "3"])
    assert done.exit_code == 2
    assert "was started with --seed 1960, not 3" in done.stderr


def _spied(seen: dict[str, Any]) -> Callable[..., None]:
    from boxpen.lm.folder import OutFolder

    original = OutFolder.finish

    def finish(self: OutFolder, save: Any, result: Any) -> None:
        seen["module"] = save.__self__.trainable.module
        original(self, save, result)

    return finish


def _no_space(*_: Any) -> None:
    raise TrainError("cannot be written")


def _never(*_: Any, **__: Any) -> None:
    raise AssertionError("it was trained again")


def _same_log(one: Path, other: Path) -> None:
    first, second = ([json.loads(x) for x in p.read_text().splitlines()] for p in (one, other))
    assert len(first) == len(second) > 8
    for a, b in zip(first, second, strict=True):
        for entry in (a, b):
            for time in ("seconds", "items_per_second"):
                entry.pop(time, None)
        assert a == pytest.approx(b, abs=2e-6)


def _same_weights(one: Path, other: Path) -> None:
    first, second = (
        AutoModelForSequenceClassification.from_pretrained(p).state_dict() for p in (one, other)
    )
    assert first.keys() == second.keys()
    for name, weight in first.items():
        torch.testing.assert_close(weight, second[name], rtol=0, atol=1e-6)
