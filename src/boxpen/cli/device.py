"""The option --device of commands that train or translate."""

from __future__ import annotations

from typing import Annotated

import typer

from boxpen.errors import ModelError

__all__ = ["Device", "check_device"]

Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


def check_device(device: str) -> None:
    """Refuse a device that is unknown or not there.

    Raises:
        ModelError: If it is so.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ModelError(f"device '{device}' is unknown, expected auto, cpu or cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ModelError("device 'cuda' is not available; use cpu or auto")
