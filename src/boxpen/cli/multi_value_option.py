"""Options that take several values in a row: ``--suite commonmt cats``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

__all__ = ["MultiValueCommand"]


class MultiValueCommand(TyperCommand):
    """A command whose repeatable options also accept several values at once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the name of the option before each of its further values."""
        repeatable = {
            name
            for p in self.params
            if isinstance(p, TyperOption) and p.multiple
            for name in p.opts
        }
        out: list[str] = []
        option: str | None = None
        fresh = False  # the option's own value comes next
        for arg in args:
            if arg.startswith("-") and len(arg) > 1:
                option, fresh = (arg, True) if arg in repeatable else (None, False)
                out.append(arg)
            elif option is None or fresh:
                out.append(arg)
                fresh = False
            else:
                out += [option, arg]
        return super().parse_args(ctx, out)
