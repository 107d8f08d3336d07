"""Units of the kind ``model``: a worker loads a model once, and asks it for one slice at a time."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from boxpen.errors import ModelError, PolicyError
from boxpen.matrix.payload import ask_of, introduction_of
from boxpen.matrix.results import packed
from boxpen.models.base import Model
from boxpen.models.cached import Ask, looked_up
from boxpen.models.remote.twins import DistrustError
from boxpen.models.resolve import resolve_model
from boxpen.scoring.cache import ScoreCache

__all__ = ["DEVICE", "ModelWork", "refuse_cost_limit"]

DEVICE = "BOXPEN_DEVICE"
"""The environment variable that tells a worker where to compute."""


class ModelWork:
    """A model, as the units of one group need it.

    Equal units have equal results, to the bit, in whatever order they are run, as long as ``place``
    is the same: the token budget is that of the kind of device, whatever memory happens to be free.

    Args:
        shared: What ``matrix.payload.shared_of`` said of the model.

    Raises:
        ModelError: If the model cannot be loaded here, or is another one here.
    """

    def __init__(self, shared: Mapping[str, Any]) -> None:
        name = shared["model"]
        served = name.partition(":")[0] in ("api", "openai", "translator")
        self.model = resolve_model(
            name,
            dtype=shared["dtype"],
            device=None if served else os.environ.get(DEVICE) or shared.get("device"),
            batch_size=shared["batch_size"],
            token_budget=shared["token_budget"],
            deterministic=shared["deterministic"] or None,
            labels=shared["labels"],
        )
        self._lie: DistrustError | None = None
        # What a server has answered stays here: if a unit fails, it is not paid for again.
        self._answered = ScoreCache(":memory:") if self.model.access else None
        if self._answered is not None:
            self._answered.add_records(introduction_of(shared))
            self.model.attach(self._answered)
        if self.model.fingerprint != shared["fingerprint"]:
            raise ModelError(
                f"model '{name}' of this worker is not that of the job: its fingerprint is "
                f"{self.model.fingerprint[:12]}, expected {shared['fingerprint'][:12]}; use the "
                "same files, versions and settings everywhere"
            )
        self.model.load()
        self._threads = _use_threads(shared["exactness"].get("threads"))
        if self.model.exactness() != shared["exactness"]:
            raise ModelError(
                f"model '{name}' computes elsewhere on this worker than where the job was made "
                f"({_said(self.model.exactness())}, expected {_said(shared['exactness'])}), and "
                "deterministic scores depend on that; use the same device everywhere"
            )
        device = getattr(self.model, "device_type", None)
        if device and self.model.token_budget is None and not self.model.deterministic:
            from boxpen.models.engine.memory import usual_tokens

            self.model.adjust(token_budget=usual_tokens(device))

    def run(self, payload: Any) -> bytes:
        """Ask the model for one slice, and return the answers for ``matrix.results``."""
        if self._lie is not None:  # nothing that this server says is of use any more
            raise self._lie
        ask = ask_of(self.model, payload)
        try:
            found = self._found(ask)
        except DistrustError as error:
            self._lie = error
            raise
        finally:
            self._restore_budget()
        reasons = {
            number: self.model.unanswered.get(ask.name_of(item), "no answer")
            for number, item in enumerate(ask.items)
            if number not in found
        }
        return packed(ask, found, reasons)

    @cached_property
    def place(self) -> dict[str, str]:
        """The hardware, as far as results depend on it."""
        if self.model.access:
            return {"device": "server", "dtype": self.model.dtype}
        import torch

        kind = getattr(self.model, "device_type", "cuda" if torch.cuda.is_available() else "cpu")
        facts = {"dtype": self.model.dtype, "torch": str(torch.__version__)}
        if kind == "cuda":
            device = getattr(self.model, "device", None)
            return {"device": torch.cuda.get_device_name(device), **facts}
        if kind != "cpu":
            return {"device": kind, **facts}
        cpu = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
        return {"device": cpu, **facts, "threads": str(torch.get_num_threads())}

    def close(self) -> None:
        """Free the memory of the model."""
        served = self._answered is not None
        if self._answered is not None:
            self._answered.close()
        del self.model
        _use_threads(self._threads)
        if not served:
            from boxpen.models.engine.memory import give_back

            give_back()

    def _found(self, ask: Ask) -> dict[int, Any]:
        """Return the answers that the model gives, by the number of the item."""
        if self._answered is None:
            return {n: value for batch in ask.produce(ask.items) for n, value in batch}
        values = looked_up(ask, self._answered).values
        return {n: values[item] for n, item in enumerate(ask.items) if item in values}

    def _restore_budget(self) -> None:
        """Let the next unit begin like the first, even if memory ran out in this one."""
        budget = vars(self.model).get("budget")
        if budget is not None and budget.lowered:
            self.model.forget_settings()


def _use_threads(count: int | None) -> int | None:
    """Set the number of PyTorch threads, if one is given, and return the previous one."""
    if count is None:
        return None
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    return before


def _said(exactness: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in exactness.items())


def refuse_cost_limit(models: Sequence[Model], limit: float | None) -> None:
    """Raise if there is a limit on the cost: each worker pays by itself, so that none would hold.

    Raises:
        PolicyError: If there is one.
    """
    if limit is not None:
        names = ", ".join(dict.fromkeys(f"'{m.name}'" for m in models if m.access)) or "no model"
        raise PolicyError(
            f"--max-cost {limit:g} cannot be kept by several workers, each of which pays {names} "
            "by itself; leave out --max-cost, or run this without an executor"
        )
