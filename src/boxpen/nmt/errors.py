"""The exception for translation models."""

from boxpen.errors import BoxpenError

__all__ = ["NmtError"]


class NmtError(BoxpenError):
    """A translation model cannot be trained, saved, loaded or used."""
