"""Errors of the system and of Polars, put in one line."""

from __future__ import annotations

import re
import sys

__all__ = ["panics", "reason", "refusals"]


def refusals() -> tuple[type[BaseException], ...]:
    """Return the errors with which the system and Polars refuse to read or write a file."""
    polars = sys.modules.get("polars")
    errors = (polars.exceptions.PolarsError,) if polars else ()
    return (OSError, *errors, *panics())


def panics() -> tuple[type[BaseException], ...]:
    """Return the error that is no ``Exception`` with which Polars gives up."""
    polars = sys.modules.get("polars")
    return (polars.exceptions.PanicException,) if polars else ()


def reason(error: BaseException) -> str:
    """Return why, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error).strip() or type(error).__name__
    within = re.search(r'message: "([^"]+)"', text)  # of the system, in a panic of Polars
    return within[1] if within else text.splitlines()[0]
