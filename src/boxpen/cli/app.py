"""The application: all commands, and how each of them ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from traceback import walk_tb
from typing import Annotated, Any, TextIO, cast

import typer

from boxpen.cli.command import Group
from boxpen.cli.output import Escaping
from boxpen.cli.stopping import TerminatedError
from boxpen.cli.usage import clarify
from boxpen.errors import BoxpenError
from boxpen.failures import panics, reason
from boxpen.printable import one_line
from boxpen.version import __version__

__all__ = ["app"]

# Of Typer's own copy of Click, or of Click itself in older versions.
_UsageError: Any = typer.BadParameter.__mro__[1]
_ClickException: Any = typer.BadParameter.__mro__[2]


@contextlib.contextmanager
def _clear_usage_errors() -> Iterator[None]:
    """Reword usage errors, and escape and shorten the arguments they quote."""
    try:
        yield
    except _ClickException as error:
        if isinstance(error, _UsageError):
            clarify(error)
        if type(error).__name__ != "NoArgsIsHelpError":  # whose message is the help
            error.message = one_line(error.message)
        raise


@contextlib.contextmanager
def _stops() -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a sentence and their exit status."""
    try:
        yield
    except KeyboardInterrupt as stop:
        ended = isinstance(stop, TerminatedError)
        what = "terminated" if ended else "interrupted"
        print(f"boxpen: {what}; rerun the same command to resume", file=sys.stderr)
        raise typer.Exit(143 if ended else 130) from None


class _Group(Group):
    """Ends every command with one of the documented statuses: 0, 1, 2, 130 or 143."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _clear_usage_errors(), _stops():  # Typer would end it without a word
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        # Ids, tags and names come from files; rich writes its colours past this.
        escaping = cast("TextIO", Escaping(sys.stdout))
        try:
            with contextlib.redirect_stdout(escaping), _clear_usage_errors(), _stops():
                result = super().invoke(ctx)
                sys.stdout.flush()
            return result
        except BoxpenError as error:
            print(f"boxpen: {one_line(str(error))}", file=sys.stderr)
            raise typer.Exit(2) from None
        except MemoryError:
            print("boxpen: out of memory; rerun the same command to resume", file=sys.stderr)
            raise typer.Exit(2) from None
        except panics() as error:  # Polars, where no file can be opened, or out of memory
            print(f"boxpen: Polars failed: {one_line(reason(error))}", file=sys.stderr)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            # Whoever read our output is gone; drop the rest quietly.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            print(f"boxpen: {one_line(_failed(error))}", file=sys.stderr)
            raise typer.Exit(2) from None


def _failed(error: OSError) -> str:
    """Return which file could not be used, or that stdout could not be written."""
    reason = error.strerror or error
    if error.filename is not None:
        return f"{error.filename} cannot be used: {reason}"
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    if frames[-1].startswith(("boxpen.cli.", "rich.")):  # which write to stdout only
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return f"cannot write the output: {reason}"
    return f"input or output failed: {reason}"


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


_MODULES = (
    "evaluate.run evaluate.worker cache look.report look.compare look.slices look.robust "
    "look.curve look.errors look.discourse check suite model build review judge serve train.nmt "
    "train.lm train.classifiers translate"
)
"""Modules that add commands, in the order of the help."""

for _module in _MODULES.split():
    import_module(f"boxpen.cli.{_module}")
