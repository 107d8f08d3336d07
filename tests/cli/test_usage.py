"""What a person reads after a slip: the option, value, file or device that was meant."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest
import torch
from huggingface_hub import constants
from huggingface_hub.errors import LocalEntryNotFoundError
from typer.testing import CliRunner

import boxpen.catalog
from boxpen.cli.app import app
from boxpen.cli.command import Group
from boxpen.cli.stopping import TerminatedError, raise_on_sigterm
from boxpen.models.loading.assembly import cannot_load


def said(*args: str) -> str:
    done = CliRunner().invoke(app, args)
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("args", "option", "meant"),
    [
        ("run", "--tasks", "--suite"),
        ("run", "--task", "--suite"),
        ("run", "--datasets", "--suite"),
        ("run", "--models", "--model"),
        ("run", "--model_args", "--model"),
        ("run", "--pretrained", "--model"),
        ("run", "--output", "--out"),
        ("run", "--output_path", "--out"),
        ("run", "--batch_size", "--batch-size"),
        ("run", "--max_samples", "--limit"),
        ("run", "--limt", "--limit"),
        ("suite import x.csv", "--gold_start", "--gold-start"),
        ("suite import x.csv", "--output", "--out"),
    ],
)
def test_an_unknown_option_is_answered_with_the_one_that_was_meant(args, option, meant):
    assert said(*args.split(), option, "x") == (
        f"Error: No such option: {option}. Did you mean {meant}?"
    )


@pytest.mark.parametrize("option", ["--quite-unlike-any", "--zzz", "--tie-breaking-rule"])
def test_nothing_is_guessed_that_is_far_off(option):
    assert said("run", option, "x") == f"Error: No such option: {option}"


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (
            "run --dtype fp16",
            "'--dtype': 'fp16' is not one of auto, float32, bfloat16, float16; "
            "did you mean float16?",
        ),
        (
            "run --dtype BF16",
            "'--dtype': 'BF16' is not one of auto, float32, bfloat16, float16; "
            "did you mean bfloat16?",
        ),
        ("run --ties halves", "'--ties': 'halves' is not one of half, strict, first; did you mean"),
        ("run --bos 7", "'--bos': '7' is not one of auto, always, never"),
        ("run --limit abc", "'--limit': 'abc' is not a whole number"),
        ("run --batch-size 1.5", "'--batch-size': '1.5' is not a whole number"),
        ("train nli x --epochs many", "'--epochs': 'many' is not a number"),
        ("suite show starter --items=-1", "'--items': '-1' is not 0 or more"),
        ("slices x --interval narrow", "'--interval': 'narrow' is not one of "),
    ],
)
def test_a_value_is_refused_with_what_it_may_be(args, why):
    found = said(*args.split())
    assert f"Error: Invalid value for {why}" in found
    assert "Value error" not in found
    if "did you mean" not in why:
        assert "did you mean" not in found


def test_numbers_out_of_range_name_the_least():
    assert said("run", "--batch-size", "0") == "boxpen: batch_size is 0, expected 1 or more"


def test_a_device_that_is_not_there_is_answered_with_those_that_are(gpt2_dir):
    usable = "cpu or cuda" if torch.cuda.is_available() else "cpu"
    found = said("run", "--model", str(gpt2_dir), "--device", "tpu")
    assert found == f"boxpen: device 'tpu' is not available; use {usable}"


def test_an_offline_hub_is_answered_with_local_folders():
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": "/nowhere"}
    command = [sys.executable, "-m", "boxpen", "model", "show", "hf:gpt2"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "boxpen: model 'hf:gpt2': it is not in the cache and HF_HUB_OFFLINE is set; unset it, or "
        "name a local folder: ./path/to/checkpoint\n"
    )


def test_a_preset_is_shown_offline_with_its_test():
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": "/nowhere"}
    command = [sys.executable, "-m", "boxpen", "model", "show", "xlnet-base"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.startswith("only what boxpen knows of xlnet-base, because model ")
    facts = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert facts["kind"] == "permuted"
    assert facts["test"] == "tests/models/test_twins.py::test_permuted (xlnet)"


def test_an_unreachable_hub_is_answered_with_local_folders(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    error = OSError("We couldn't connect to the hub")
    error.__cause__ = LocalEntryNotFoundError("not in the cache")
    assert cannot_load("weights", error) == (
        f"it is not in the cache and {constants.ENDPOINT} cannot be reached; try again later, or "
        "name a local folder: ./path/to/checkpoint"
    )
    assert cannot_load("weights", ValueError("bad\nindeed")) == "its weights cannot be loaded (bad)"


class TestFiles:
    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (
                OSError(errno.ENOSPC, "No space left on device", "/some/file"),
                "/some/file cannot be used: No space left on device",
            ),
            (
                OSError(errno.ENOSPC, "No space left on device"),
                "input or output failed: No space left on device",
            ),
            (TimeoutError("it took too long"), "input or output failed: it took too long"),
        ],
    )
    def test_what_failed_is_named(self, error, message, monkeypatch):
        def fail(*_args: object, **_options: object) -> None:
            raise error

        monkeypatch.setattr(boxpen.catalog, "load_suite", fail)
        assert said("suite", "show", "starter") == f"boxpen: {message}"


def test_nothing_is_raised_by_a_signal_once_a_command_has_ended() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with raise_on_sigterm():
        with pytest.raises(TerminatedError):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "the second ends the process"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("stop", "what", "status"),
    [(TerminatedError, "terminated", 143), (KeyboardInterrupt, "interrupted", 130)],
)
def test_a_stop_while_a_command_is_imported_is_one_sentence(stop, what, status, monkeypatch):
    def stopped(*_: object, **__: object) -> None:
        raise stop

    monkeypatch.setattr(Group, "make_context", stopped)
    done = CliRunner().invoke(app, ["suite", "list"])
    assert done.exit_code == status
    assert done.stderr == f"boxpen: {what}; rerun the same command to resume\n"


def test_no_memory_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(boxpen.catalog, "load_suite", full)
    assert said("suite", "show", "starter").startswith("boxpen: out of memory; ")
