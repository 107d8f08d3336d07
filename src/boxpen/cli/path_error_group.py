"""A command group that reports which path an operating system error is about."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from boxpen.errors import BuildError

__all__ = ["PathErrorGroup"]


class PathErrorGroup(TyperGroup):
    """Names the path in operating system errors that nothing else has handled."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Raises:
            BuildError: If a path cannot be used, e.g. its name is too long or permission is denied.
        """
        try:
            return super().invoke(ctx)
        except OSError as error:
            if not isinstance(error.filename, str):  # the output, which has no path
                raise
            raise BuildError(f"{error.filename} cannot be used: {error.strerror}") from None
