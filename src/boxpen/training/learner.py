"""A model in training: its optimiser, its precision, and how a checkpoint stores both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from boxpen.errors import TrainError
from boxpen.printable import excerpt
from boxpen.training.arithmetic import get_rng_state, set_rng_state
from boxpen.training.checkpoints import RESTART, load_weights, weights_of
from boxpen.training.processes import Processes
from boxpen.training.state import Step

if TYPE_CHECKING:
    import torch

__all__ = ["Learner", "Learnt"]


class Learnt(NamedTuple):
    """The result of a step, still on the device, so that nothing waits for it until it is read."""

    loss: torch.Tensor  # summed over the predictions of this process
    gradient: torch.Tensor  # its norm, before it was clipped


class Learner:
    """A model in one process of a training.

    Args:
        model: The model, on its device and in training mode.
        objective: Returns the summed loss of a batch; a module where processes train together.
        optimizer: Updates the weights.
        processes: Those that train together.
        clip: Maximum norm of the gradients (0: any).
        bf16: Whether matrix products are bfloat16.
    """

    def __init__(
        self,
        model: Any,
        objective: Callable[..., torch.Tensor],
        optimizer: torch.optim.Optimizer,
        processes: Processes,
        *,
        clip: float,
        bf16: bool,
    ) -> None:
        self.model, self.optimizer, self.processes = model, optimizer, processes
        self.device, self.clip, self.bf16 = processes.device, clip, bf16
        self._learnt = [weight for weight in model.parameters() if weight.requires_grad]
        self.objective = processes.shared(objective)

    def step(self, step: Step, rate: float) -> Learnt:
        """Learn from a step.

        Args:
            step: What this process learns from.
            rate: The learning rate.
        """
        import torch

        for group in self.optimizer.param_groups:
            group["lr"] = rate
        total = torch.zeros((), device=self.device)
        for number, batch in enumerate(step.batches):
            last = number + 1 == len(step.batches)
            # Gradients add up in this process before they are shared with the others.
            with nullcontext() if last else self.processes.unshared(self.objective):
                loss = self.loss(batch)
                (loss * (self.processes.count / step.tokens)).backward()
            total += loss.detach()
        if self.processes.count > 1 and any(weight.grad is None for weight in self._learnt):
            self.processes.once(self._refuse)  # the same in all; the next step would fail
        norm = torch.nn.utils.clip_grad_norm_(self._learnt, self.clip or math.inf)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return Learnt(total, norm)

    def _refuse(self) -> None:
        idle = [
            name for name, w in self.model.named_parameters() if w.requires_grad and w.grad is None
        ]
        raise TrainError(
            f"{type(self.model).__name__} has weights that get no gradient ({excerpt(idle[0])}); "
            "train it in one process"
        )

    def loss(self, batch: dict[str, torch.Tensor]) -> Any:
        """Return the summed loss of a batch."""
        with self.precision():
            return self.objective(**self.moved(batch))

    def moved(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return a batch on the device of the model."""
        return {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}

    def precision(self) -> AbstractContextManager[Any]:
        """Return the autocast context to compute in."""
        import torch

        found: AbstractContextManager[Any] = torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.bf16
        )
        return found

    def rng_state(self) -> dict[str, torch.Tensor]:
        """Return the state of the generators that dropout draws from."""
        return get_rng_state(self.device)

    def save(self, folder: Path, rng_states: Sequence[dict[str, torch.Tensor]]) -> None:
        """Write what a restart needs: weights, optimiser, and the RNG state of every process."""
        import torch
        from safetensors.torch import save_file

        save_file(weights_of(self.model), str(folder / "model.safetensors"))
        kept = {"optimizer.pt": self.optimizer.state_dict()}
        kept |= {f"rng_state-{rank}.pt": rng_state for rank, rng_state in enumerate(rng_states)}
        for name, state in kept.items():
            # A file that Torch opens by itself does not tell why it cannot be written.
            with (folder / name).open("wb") as stream:
                torch.save(state, stream)

    def restore(self, folder: Path) -> None:
        """Restore a checkpoint; any error means that it is damaged, or of another model."""
        import torch
        from safetensors.torch import load_file

        for name in RESTART:
            if not (folder / name).is_file():
                raise FileNotFoundError(f"it has no {name}")
        load_weights(self.model, load_file(folder / "model.safetensors"))
        kept = torch.load(folder / "optimizer.pt", map_location="cpu", weights_only=True)
        self.optimizer.load_state_dict(kept)
        # There may be more processes now than wrote it.
        written = max(1, len(list(folder.glob("rng_state-*.pt"))))
        rng_state = folder / f"rng_state-{min(self.processes.rank, written - 1)}.pt"
        set_rng_state(torch.load(rng_state, weights_only=True), self.device)
