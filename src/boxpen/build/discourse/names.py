"""Names that people give: of suites and judges, which stand in tables, messages and files."""

from __future__ import annotations

import unicodedata

from boxpen.catalog.plaintext import excerpt
from boxpen.errors import BuildError

__all__ = ["check_name", "fits_a_line"]

# Control characters, half characters (bytes that are no UTF-8), and ends of lines and paragraphs.
_UNFIT = ("Cc", "Cs", "Zl", "Zp")


def fits_a_line(name: str) -> bool:
    """Tell whether a name can stand in a line: it has no line break, tab or other control."""
    return not any(unicodedata.category(sign) in _UNFIT for sign in name)


def check_name(name: str | None, what: str) -> None:
    """Refuse a name that would spoil tables and files.

    Args:
        name: The name; None if none was given.
        what: What was called so, for the message: '--judge'.

    Raises:
        BuildError: If it has a control character.
    """
    if name is not None and not fits_a_line(name):
        raise BuildError(f"{what} is {excerpt(name)}, expected a name without control characters")
