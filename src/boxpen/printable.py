"""Text from files and arguments, made safe to print."""

from __future__ import annotations

import re

__all__ = ["excerpt", "neutral", "one_line", "printable", "restored"]

# Control characters (C0, DEL, C1), line and paragraph separators, bidirectional overrides and
# isolates, and surrogates (bytes of a file name that are not UTF-8).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_QUOTED = re.compile(r"(?<!\w)'([^']{81,})'(?!\w)")  # and no apostrophes
_FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]|'*[\t\r\n]")
_LONGEST = 500
_EXCERPT = 60


def printable(text: str, keep: str = "") -> str:
    r"""Escape what would move the cursor, clear the screen, break the line or reorder the text.

    The escapes are those of JSON, such as ``\u001b``: JSON stays JSON.

    Args:
        text: Any text.
        keep: Characters to leave alone, such as a newline.
    """
    return _UNSAFE.sub(
        lambda c: c[0] if c[0] in keep else _SHORT.get(c[0], f"\\u{ord(c[0]):04x}"), text
    )


def one_line(message: str) -> str:
    """Make a message safe to print, and shorten it: what it quotes first, then its middle."""
    text = _QUOTED.sub(lambda quoted: f"'{quoted[1][:79]}…'", printable(message.strip()))
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} … {text[-half:]}"


def excerpt(text: str) -> str:
    """Return the text, quoted and cut short, for use in a message of one line."""
    return repr(text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…")


def neutral(cell: str) -> str:
    """Mark a cell of a table that a spreadsheet program would take for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def restored(cell: str) -> str:
    """Remove the mark."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
