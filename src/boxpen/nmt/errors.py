"""The error of this room."""

from boxpen.errors import BoxpenError

__all__ = ["NmtError"]


class NmtError(BoxpenError):
    """A translation model cannot be trained, kept, loaded or used."""
