"""Text from files and arguments, made safe to print on a terminal."""

from __future__ import annotations

import re

__all__ = ["printable"]

# Control characters (C0, DEL, C1), line and paragraph separators, bidirectional overrides and
# isolates, and surrogates (bytes of a file name that are not UTF-8).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, keep: str = "") -> str:
    """Escape what would move the cursor, clear the screen, break the line or reorder the text.

    Args:
        text: Any text.
        keep: Characters to leave alone, such as a newline.
    """
    return _UNSAFE.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)
