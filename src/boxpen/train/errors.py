"""The error of this room."""

from boxpen.errors import BoxpenError

__all__ = ["TrainError"]


class TrainError(BoxpenError):
    """A training cannot begin, go on, or be kept."""
