"""A model in training: its objective, optimiser, precision and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, NamedTuple

from safetensors import SafetensorError

from boxpen.errors import NmtError
from boxpen.nmt.arithmetic import generator_of, get_rng_state, set_rng_state
from boxpen.nmt.checkpoints import load_weights, weights_of
from boxpen.nmt.compiled import compile_layers
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.data.feed import Step
from boxpen.nmt.data.inputs import Batch
from boxpen.nmt.objective import Objective
from boxpen.nmt.processes import Processes

if TYPE_CHECKING:
    import torch

__all__ = ["Learner", "Learnt"]

_DAMAGED = (NmtError, OSError, RuntimeError, ValueError, EOFError, SafetensorError, UnpicklingError)


class Learnt(NamedTuple):
    """The result of a step, still on the device, so that nothing waits for it until it is read."""

    loss: torch.Tensor  # summed over the tokens of this process
    gradient: torch.Tensor  # its norm, before it was clipped


class Learner:
    """A model in one process of a training.

    Args:
        config: How it learns.
        model: With its first weights, the same in all processes.
        processes: Those that train together.
        device: Where it goes.
        lengths: Mean lengths of its sources and its targets.

    Attributes:
        model: The model.
        device: Where it is.
        bf16: Whether matrix products are bfloat16.
    """

    def __init__(
        self,
        config: NmtConfig,
        model: Any,
        processes: Processes,
        device: torch.device,
        lengths: tuple[float, float],
    ) -> None:
        import torch

        train = config.train
        cuda = device.type == "cuda"
        self.config, self.processes, self.device = train, processes, device
        self.model = model.to(device)
        if hasattr(model, "freeze_sentence_model"):  # what it begins from is learnt already
            model.freeze_sentence_model()
        self.model.train()
        self._learnt = [weight for weight in self.model.parameters() if weight.requires_grad]
        if processes.rank:  # the same weights, but other units dropped than elsewhere
            torch.manual_seed(config.seed + 1_000_003 * processes.rank)
        compiled = train.compile == "yes" or (train.compile == "auto" and cuda)
        if compiled:
            compile_layers(self.model, *lengths)
        self.bf16 = train.precision == "bf16" or (
            train.precision == "auto" and cuda and torch.cuda.is_bf16_supported()
        )
        self.optimizer = torch.optim.AdamW(
            self._learnt,
            lr=train.learning_rate,
            betas=(train.betas[0], train.betas[1]),
            eps=train.epsilon,
            weight_decay=train.weight_decay,
            fused=cuda,
        )
        self._objective = processes.shared(
            Objective(self.model, train.label_smoothing, compiled=compiled)
        )

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
            with nullcontext() if last else self.processes.unshared(self._objective):
                loss = self._loss(batch)
                (loss * (self.processes.count / step.tokens)).backward()
            total += loss.detach()
        norm = torch.nn.utils.clip_grad_norm_(self._learnt, self.config.clip or math.inf)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return Learnt(total, norm)

    def precision(self) -> AbstractContextManager[Any]:
        """Return the autocast context to compute in."""
        import torch

        found: AbstractContextManager[Any] = torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.bf16
        )
        return found

    def keep(self, folder: Path, rng_states: Sequence[dict[str, torch.Tensor]]) -> None:
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

    def take_up(self, folder: Path) -> None:
        """Restore a checkpoint.

        Raises:
            NmtError: If it is damaged, or of another model.
        """
        import torch
        from safetensors.torch import load_file

        try:
            load_weights(self.model, load_file(folder / "model.safetensors"))
            kept = torch.load(folder / "optimizer.pt", map_location="cpu", weights_only=True)
            self.optimizer.load_state_dict(kept)
            rng_state = folder / f"rng_state-{min(self.processes.rank, self._kept(folder) - 1)}.pt"
            set_rng_state(torch.load(rng_state, weights_only=True), self.device)
        except _DAMAGED as error:
            raise NmtError(
                f"{folder} cannot be resumed from ({[*str(error).splitlines(), '?'][0]}); remove "
                f"{folder.parent} to start over, or use another folder"
            ) from error

    def _kept(self, folder: Path) -> int:
        """Return how many processes wrote a checkpoint; there may be more of them now."""
        return max(1, len(list(folder.glob("rng_state-*.pt"))))

    def rng_state(self) -> dict[str, torch.Tensor]:
        """Return the state of the generators that dropout draws from."""
        return get_rng_state(self.device)

    def _loss(self, batch: Batch) -> Any:
        moved = {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.items()}
        with self.precision():
            if "draft_ids" in getattr(self.model, "reads", ()):
                from boxpen.nmt.context.drafts import drafts_for_training

                moved |= drafts_for_training(
                    self.model.base, moved, generator=generator_of(self.device)
                )
            return self._objective(**moved)
