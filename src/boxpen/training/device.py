"""The device of a training."""

from __future__ import annotations

from boxpen.errors import ModelError

__all__ = ["check_device"]


def check_device(device: str) -> None:
    """Refuse a device that is unknown or not available."""
    if device not in ("auto", "cpu", "cuda"):
        raise ModelError(f"device '{device}' is unknown, expected auto, cpu or cuda")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ModelError("device 'cuda' is not available; use cpu or auto")
