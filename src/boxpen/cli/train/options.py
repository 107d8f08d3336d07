"""Options shared by trainings of language models and classifiers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

if TYPE_CHECKING:
    from boxpen.lm import Options

__all__ = ["Exclude", "Training"]

Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="SUITE", help="Suite to exclude from training; repeatable."),
]


@dataclass(frozen=True)
class Training:
    """How to train."""

    panel: ClassVar[str] = "Training"

    epochs: Annotated[float, typer.Option(help="Number of epochs.")] = 3.0
    batch_size: Annotated[int, typer.Option(help="Items per batch.")] = 32
    accumulate: Annotated[int, typer.Option(help="Batches per optimiser step.")] = 1
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Peak learning rate.", show_default="3e-5, new: 5e-4; bilm: 2e-4, new: 1e-3"
        ),
    ] = None
    warmup: Annotated[float, typer.Option(help="Share of steps used for learning-rate warmup.")] = (
        0.1
    )
    weight_decay: Annotated[float, typer.Option(help="Weight decay of AdamW.")] = 0.01
    max_length: Annotated[int, typer.Option(help="Maximum tokens per sentence or pair.")] = 256
    every: Annotated[
        int | None,
        typer.Option(
            help="Steps between evaluations, each with a checkpoint.",
            show_default="one epoch, at most 500",
        ),
    ] = None
    patience: Annotated[
        int, typer.Option(help="Evaluations without improvement before stopping (0: never).")
    ] = 3
    seed: Annotated[
        int, typer.Option(help="Random seed for weights, order, dropout and split.")
    ] = 1960

    def options(self) -> Options:
        """Return them as the trainings take them."""
        from boxpen.lm import Options

        return Options(**asdict(self))
