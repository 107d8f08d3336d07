"""The exception for training."""

from boxpen.errors import BoxpenError

__all__ = ["TrainError"]


class TrainError(BoxpenError):
    """A training cannot start, continue or be saved."""
