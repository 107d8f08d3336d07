"""The device of a training."""

from __future__ import annotations

from boxpen.errors import ModelError

__all__ = ["check_device", "on_cuda"]


def check_device(device: str) -> None:
    """Check that the device and the required libraries are available.

    Raises:
        ModelError: If they are not.
    """
    try:
        import accelerate  # noqa: F401
        import torch
        import transformers  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"training needs {error.name}; install it with: pip install 'boxpen[hf]'"
        ) from None
    if device not in ("auto", "cpu", "cuda"):
        raise ModelError(f"device '{device}' is unknown, expected auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelError("device 'cuda' is not available; use cpu or auto")


def on_cuda(device: str) -> bool:
    """Whether a GPU is used."""
    import torch

    return device != "cpu" and torch.cuda.is_available()
