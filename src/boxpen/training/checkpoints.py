"""Checkpoints of a training: written whole or not at all, and pruned to what is still needed.

A checkpoint has the weights; the last one also has what a restart needs (the state of the
optimiser and of the random generators, and the position in the data). The weights of the best
validation are kept, and those of the last ones where they are averaged at the end.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from boxpen.errors import TrainError

__all__ = ["RESTART", "Checkpoints", "averaged", "load_weights", "weights_of", "whole"]

_PREFIX = "step-"
_UNFINISHED = ".unfinished"
_CHECKSUMS = "checksums.json"
RESTART = ("optimizer.pt", "state.json")
"""What only the last checkpoint keeps, along with the RNG states, ``rng_state-N.pt``."""

# Errors that mean a file is not as it must be; an OSError with another number does not.
_OF_DAMAGE = (None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL)
# What PyTorch says in errors that have no type of their own, and safetensors of a file.
_OF_THE_MACHINE = re.compile(
    r"\bCUDA (error|driver|device|GPUs|enabled|out of)|NVIDIA driver|\bCUDNN_|\bcuDNN error|"
    r"\bCUBLAS_|(allocate|enough|out of) memory|Permission denied"
)


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
        """Return the last checkpoint, from which a training resumes, if there is one."""
        return next((self.at(step) for step in reversed(self.steps())), None)

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
            TrainError: If it cannot be written; earlier checkpoints are kept.
        """
        aside = self.folder / _UNFINISHED
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            write(aside)
            sums = {file.name: _checksum(file) for file in sorted(aside.iterdir())}
            (aside / _CHECKSUMS).write_text(json.dumps(sums), "utf-8")
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
            raise TrainError(
                f"the checkpoint of step {step} cannot be written to {self.folder} "
                f"({_reason(refusal)}){stays}"
            ) from error
        with contextlib.suppress(OSError):  # the next checkpoint tries again
            self._prune(step, keep)

    def _prune(self, step: int, keep: Collection[int]) -> None:
        """Remove what is not needed any more now that a step is saved."""
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

    def weights(self, step: int) -> dict[str, Any]:
        """Return the weights of a checkpoint."""
        from safetensors.torch import load_file

        with whole(self.at(step)):
            found: dict[str, Any] = load_file(self.at(step) / "model.safetensors")
            return found


@contextlib.contextmanager
def whole(checkpoint: Path) -> Iterator[None]:
    """Compare a checkpoint with its checksums; turn any error in reading it into one sentence."""
    try:
        _compare(checkpoint)
        yield
    except Exception as error:  # every library has errors of its own for a damaged file
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if _of_the_machine(error):
            raise TrainError(f"{checkpoint} cannot be read ({reason}); it may be intact") from error
        raise TrainError(
            f"{checkpoint} is damaged ({reason}); remove {checkpoint.parent} and rerun the same "
            "command to start over"
        ) from error


def _compare(checkpoint: Path) -> None:
    """Raise if a file has changed since it was written; those of older versions have no sums."""
    listed = checkpoint / _CHECKSUMS
    if not listed.is_file():
        return
    for name, wanted in json.loads(listed.read_text("utf-8")).items():
        place = checkpoint / name  # which may have been pruned
        if place.is_file() and _checksum(place) != wanted:
            raise ValueError(f"{name} does not match its checksum")


def _checksum(path: Path) -> str:
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


def averaged(folders: Collection[Path]) -> dict[str, Any]:
    """Return the mean of the weights of several checkpoints."""
    from safetensors.torch import load_file

    total: dict[str, Any] = {}
    for folder in folders:
        with whole(folder):
            weights = load_file(folder / "model.safetensors")
            if total and (
                weights.keys() != total.keys()
                or any(value.shape != total[name].shape for name, value in weights.items())
            ):
                raise ValueError("it belongs to a different model than the checkpoints before it")
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
    """Load weights into a model; one of several tied weights is enough."""
    state = model.state_dict()
    for name, value in weights.items():
        if name in state and value.shape != state[name].shape:
            raise TrainError(
                f"the weights are not of this model: '{name}' has the shape {tuple(value.shape)}, "
                f"expected {tuple(state[name].shape)}"
            )
    missing, strange = model.load_state_dict(weights, strict=False)
    loaded = {state[name].data_ptr() for name in weights if name in state}
    lost = [name for name in missing if state[name].data_ptr() not in loaded]
    if lost or strange:
        raise TrainError(f"the weights are not of this model: {[*lost, *strange][0]}")


def _of_the_machine(error: BaseException | None) -> bool:
    """Whether an error, or its cause, is about permissions, memory, devices or packages."""
    while error is not None:
        if isinstance(error, ImportError | MemoryError):
            return True
        if isinstance(error, OSError) and error.errno not in _OF_DAMAGE:
            return True
        if _OF_THE_MACHINE.search(str(error)):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


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
