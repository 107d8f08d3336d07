"""The option --device of commands that train or translate."""

from __future__ import annotations

from typing import Annotated

import typer

from boxpen.training.device import check_device

__all__ = ["Device", "check_device"]

Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
