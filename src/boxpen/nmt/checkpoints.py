"""Checkpoints of a training: written whole or not at all, and pruned to what is still needed.

A checkpoint has the weights; the last one also has what a restart needs (the state of the
optimiser and of the random generators, and the position in the data). The weights of the last
validations are kept for the average, and those of the best one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from boxpen.errors import NmtError

__all__ = ["Checkpoints", "averaged", "load_weights", "weights_of"]

_PREFIX = "step-"
_UNFINISHED = ".unfinished"
RESTART = ("optimizer.pt", "state.json")
"""What only the last checkpoint keeps, along with the RNG states, ``rng_state-N.pt``."""


class Checkpoints:
    """The checkpoints of one training.

    Args:
        folder: Where they are; made when the first is saved.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def steps(self) -> list[int]:
        """Return the steps whose weights are saved, in order."""
        found = (p.name.removeprefix(_PREFIX) for p in self.folder.glob(f"{_PREFIX}*"))
        return sorted(int(step) for step in found if step.isdigit())

    def last(self) -> Path | None:
        """Return the last checkpoint that a training can resume from, if there is one."""
        for step in reversed(self.steps()):
            if all((self.at(step) / name).is_file() for name in RESTART):
                return self.at(step)
        return None

    def at(self, step: int) -> Path:
        """Return the folder of the checkpoint of a step."""
        return self.folder / f"{_PREFIX}{step}"

    def save(self, step: int, write: Callable[[Path], None], keep: Collection[int]) -> None:
        """Save a checkpoint, then remove files that are no longer needed.

        Args:
            step: Its step.
            write: Writes its files into a folder.
            keep: Earlier steps whose weights are still wanted.

        Raises:
            NmtError: If it cannot be written; earlier checkpoints are kept.
        """
        aside = self.folder / _UNFINISHED
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            write(aside)
            for file in aside.iterdir():  # before what it takes the place of is dropped
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            shutil.rmtree(self.at(step), ignore_errors=True)
            aside.replace(self.at(step))
        except Exception as error:
            shutil.rmtree(aside, ignore_errors=True)
            refusal = _of_disk(error)
            if refusal is None:
                raise
            last = self.last()
            stays = f"; rerun the same command to resume from {last.name}" if last else ""
            raise NmtError(
                f"the checkpoint of step {step} cannot be written to {self.folder} "
                f"({_reason(refusal)}){stays}"
            ) from error
        for old in self.steps():
            if old == step:
                continue
            if old not in keep:
                shutil.rmtree(self.at(old), ignore_errors=True)
                continue
            for name in RESTART:
                (self.at(old) / name).unlink(missing_ok=True)
            for rng_state in self.at(old).glob("rng_state-*.pt"):
                rng_state.unlink()

    def state(self) -> dict[str, Any] | None:
        """Return the state of the last checkpoint, or None if there is none.

        Raises:
            NmtError: If it is damaged.
        """
        last = self.last()
        if last is None:
            return None
        try:
            found: dict[str, Any] = json.loads((last / "state.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise NmtError(
                f"{last / 'state.json'} cannot be read ({error}); remove {self.folder} to start "
                "over, or use another folder"
            ) from None
        return found

    def remove(self) -> None:
        """Remove all checkpoints."""
        shutil.rmtree(self.folder, ignore_errors=True)


def averaged(folders: Collection[Path]) -> dict[str, Any]:
    """Return the mean of the weights of several checkpoints.

    Raises:
        NmtError: If one cannot be read, or they belong to different models.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    total: dict[str, Any] = {}
    for folder in folders:
        path = folder / "model.safetensors"
        try:
            weights = load_file(path)
        except (OSError, SafetensorError) as error:
            raise NmtError(f"{path} cannot be read: {error}") from None
        if total and (
            weights.keys() != total.keys()
            or any(value.shape != total[name].shape for name, value in weights.items())
        ):
            raise NmtError(f"{path} belongs to a different model than the checkpoints before it")
        for name, value in weights.items():
            total[name] = total[name] + value.double() if name in total else value.double()
    return {name: (value / len(folders)).to(weights[name].dtype) for name, value in total.items()}


def weights_of(model: Any) -> dict[str, Any]:
    """Return the weights of a model on the CPU, tied ones once.

    On a GPU the weights of an LSTM lie in one piece of memory, which safetensors refuses to save.
    """
    known: set[int] = set()
    found = {}
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in known:
            known.add(tensor.data_ptr())
            found[name] = tensor.detach().cpu().clone()
    return found


def load_weights(model: Any, weights: dict[str, Any]) -> None:
    """Load weights into a model; one of several tied weights is enough.

    Raises:
        NmtError: If some are missing, or belong to another model.
    """
    state = model.state_dict()
    for name, value in weights.items():
        if name in state and value.shape != state[name].shape:
            raise NmtError(
                f"the weights are not of this model: '{name}' has the shape {tuple(value.shape)}, "
                f"expected {tuple(state[name].shape)}"
            )
    missing, strange = model.load_state_dict(weights, strict=False)
    loaded = {state[name].data_ptr() for name in weights if name in state}
    lost = [name for name in missing if state[name].data_ptr() not in loaded]
    if lost or strange:
        raise NmtError(f"the weights are not of this model: {[*lost, *strange][0]}")


def _of_disk(error: BaseException) -> BaseException | None:
    """Return the disk error behind an exception; Torch and safetensors raise their own.

    Torch may report that its archive cannot be closed, instead of the reason.
    """
    from safetensors import SafetensorError

    before: BaseException | None = error
    while before is not None:
        if isinstance(before, OSError):
            return before
        before = before.__cause__ or before.__context__
    written = isinstance(error, RuntimeError) and any(
        part in str(error).lower() for part in ("write", "inline_container")
    )
    return error if written or isinstance(error, SafetensorError) else None


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error).split("\n")[0]
