"""A translation model in training: its objective, optimiser and precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boxpen.nmt.architectures.compiled import compile_layers
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.objective import Objective
from boxpen.training import learner
from boxpen.training.arithmetic import generator_of
from boxpen.training.processes import Processes

if TYPE_CHECKING:
    import torch

__all__ = ["Learner"]


class Learner(learner.Learner):
    """A model in one process of a training.

    Args:
        config: How it learns.
        model: With its first weights, the same in all processes.
        processes: Those that train together.
        device: Where it goes.
        lengths: Mean lengths of its sources and its targets.
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
        self.denoising = config.model.denoising
        cuda = device.type == "cuda"
        model = model.to(device)
        if hasattr(model, "freeze_sentence_model"):  # the base is trained already
            model.freeze_sentence_model()
        model.train()
        compiled = train.compile == "yes" or (train.compile == "auto" and cuda)
        if compiled:
            compile_layers(model, *lengths)
        optimizer = torch.optim.AdamW(
            [weight for weight in model.parameters() if weight.requires_grad],
            lr=train.learning_rate,
            betas=(train.betas[0], train.betas[1]),
            eps=train.epsilon,
            weight_decay=train.weight_decay,
            fused=cuda,
        )
        super().__init__(
            model,
            Objective(model, train.label_smoothing, compiled=compiled),
            optimizer,
            processes,
            clip=train.clip,
            bf16=train.precision == "bf16"
            or (train.precision == "auto" and cuda and torch.cuda.is_bf16_supported()),
        )

    def moved(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return a batch on the device of the model, with drafts where it reads them."""
        found = super().moved(batch)
        if "draft_ids" in getattr(self.model, "reads", ()):
            from boxpen.nmt.context.drafts import drafts_for_training

            generator = generator_of(self.device)
            found |= drafts_for_training(
                self.model.base, found, denoising=self.denoising, generator=generator
            )
        return found
