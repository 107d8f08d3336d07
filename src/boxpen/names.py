"""User-given names of suites and judges, which appear in tables, messages and files."""

from __future__ import annotations

import unicodedata

from boxpen.errors import BuildError
from boxpen.printable import excerpt

__all__ = ["check_judge", "check_name", "check_suite_name", "fits_a_line", "wanted_of_a_judge"]

# Control characters, half characters (bytes that are no UTF-8), and ends of lines and paragraphs.
_UNFIT = ("Cc", "Cs", "Zl", "Zp")
_UNSEEN = ("Zs", "Cf")
"""Spaces, and marks without a width: nobody sees them at the end of a name."""
_LONGEST = 100
"""Characters of a judge's name."""
_LONGEST_OF_A_FILE = 200
"""Bytes of a suite's name: files are called after it."""
_PLAIN = "a name without control characters"


def fits_a_line(name: str) -> bool:
    """Whether a name fits on a line: no line break, tab or other control character."""
    return not any(unicodedata.category(sign) in _UNFIT for sign in name)


def check_name(name: str | None, what: str) -> None:
    """Reject a name that would break tables and files.

    Args:
        name: The name; None if none was given.
        what: What the name is for, for the message: 'SUITE'.

    Raises:
        BuildError: If it has a control character.
    """
    if name is not None and not fits_a_line(name):
        raise BuildError(f"{what} is {excerpt(name)}, expected {_PLAIN}")


def check_suite_name(name: str | None, what: str) -> None:
    """Reject a suite name that is not a valid file name.

    Args:
        name: The name; None if none was given.
        what: Where it was given, for the message: '--name'.

    Raises:
        BuildError: If it is empty, hugely long, '.' or '..', or has slashes or control characters.
    """
    if name is None:
        return
    fits = name.strip() and fits_a_line(name) and not any(sign in name for sign in "/\\")
    if not fits or name in (".", "..") or len(name.encode()) > _LONGEST_OF_A_FILE:
        found = excerpt(name) if name.strip() else "empty"
        raise BuildError(f"{what} is {found}, expected a valid file name")


def check_judge(name: str | None, what: str) -> None:
    """Reject a judge's name that is invalid or easily mistaken for another.

    Args:
        name: The name; None if none was given.
        what: Where it was given, for the message: '--judge'.

    Raises:
        BuildError: If it is empty, hugely long, or has controls, or spaces at its ends.
    """
    wanted = None if name is None else wanted_of_a_judge(name)
    if name is not None and wanted is not None:
        found = excerpt(name) if name.strip() else "empty"
        raise BuildError(f"{what} is {found}, expected {wanted}")


def wanted_of_a_judge(name: str) -> str | None:
    """Return what a judge's name should have been, for a message; None if it is fine."""
    if not name.strip():
        return "the judge's name"
    if not fits_a_line(name):
        return _PLAIN
    if any(unicodedata.category(sign) in _UNSEEN for sign in (name[0], name[-1])):
        return "a name without spaces at its ends"
    if len(name) > _LONGEST:
        return f"a name of {_LONGEST} characters or fewer"
    return None
