"""The commands put together, and how each of them may end."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from boxpen.errors import BoxpenError
from boxpen.version import __version__

__all__ = ["app"]


class _Group(TyperGroup):
    """Ends every command in one of the ways that are promised: 0, 1, 2 or 130."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BoxpenError as error:
            print(f"boxpen: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            print(
                "boxpen: interrupted; the same command goes on from what was kept, if anything was",
                file=sys.stderr,
            )
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader of our output has gone; what is left goes nowhere, quietly.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            print(f"boxpen: cannot write the output: {error.strerror}", file=sys.stderr)
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(2) from None


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


from boxpen.cli import (  # noqa: E402, F401 (they add their commands)
    build,
    build_discourse,
    build_duals,
    check,
    compare,
    curve,
    discourse,
    discourse_compare,
    discourse_context,
    errors,
    human,
    model,
    nmt,
    report,
    review,
    robust,
    run,
    slices,
    suite,
    train,
    train_lm,
)
