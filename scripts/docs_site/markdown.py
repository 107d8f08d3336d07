"""Render what code hosts render: a list or table right after a paragraph, Markdown in tags."""

import re

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_ITEM = re.compile(r"^ {0,3}([-*+]|\d+\.) ")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put blank lines before lists and tables, and let ``<details>`` hold Markdown."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        before = lines[-1] if lines else ""
        if not fenced and before.strip() and _starts_a_block(line, before):
            lines.append("")
        if not fenced:
            line = re.sub(r"^<(details|div)>", r'<\1 markdown="1">', line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def _starts_a_block(line: str, before: str) -> bool:
    if line.startswith("| ") and line.endswith("|"):
        return not before.startswith("|")
    in_list = _ITEM.match(before) or before.startswith(" ")
    return bool(_ITEM.match(line)) and not in_list and not before.startswith(("#", "<!--"))
