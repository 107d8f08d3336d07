"""How commands about discourse end when the system refuses a path."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from boxpen.errors import BuildError

__all__ = ["DiscourseGroup"]


class DiscourseGroup(TyperGroup):
    """Says of which path the system speaks, wherever no one has said so before."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Raises:
            BuildError: If the system refuses a path: its name is too long, nobody may read it.
        """
        try:
            return super().invoke(ctx)
        except OSError as error:
            if not isinstance(error.filename, str):  # the output, which has no path
                raise
            raise BuildError(f"{error.filename} cannot be used: {error.strerror}") from None
