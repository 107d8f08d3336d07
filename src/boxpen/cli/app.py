"""The commands put together, and how each of them may end."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from boxpen.errors import BoxpenError
from boxpen.version import __version__

__all__ = ["app", "main"]


class _Group(TyperGroup):
    """Ends every command in one of the ways that are promised: 0, 1, 2 or 130."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BoxpenError as error:
            print(f"boxpen: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print(
                "boxpen: interrupted; what was scored is kept, and the same command goes on",
                file=sys.stderr,
            )
            raise typer.Exit(130) from None
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has gone; there is no one to tell
            raise typer.Exit(0) from None


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"boxpen {__version__}")
        raise typer.Exit()


@app.callback()
def _boxpen(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Does a language model or a translation system have common sense?"""


def main() -> None:
    """Run the command line."""
    app()


from boxpen.cli import model, report, run, suite  # noqa: E402, F401 (they add their commands)
