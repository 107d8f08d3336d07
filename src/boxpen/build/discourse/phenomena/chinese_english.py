"""Chinese to English."""

from __future__ import annotations

from boxpen.build.discourse.phenomena.phenomenon import Phenomenon

__all__ = ["PHENOMENA"]
PHENOMENA: tuple[Phenomenon, ...] = ()
