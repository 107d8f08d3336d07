"""List the pages of a section where its index has ``<!-- pages -->``.

Each comes with its first sentence. ``<!-- pages: FOLDER -->`` lists one folder of the section.
"""

import posixpath
import re
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_MARKER = re.compile(r"^<!-- pages(?:: ([\w-]+))? -->$", re.M)


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Replace the markers."""
    here = posixpath.dirname(page.file.src_uri)

    def listed(found: re.Match[str]) -> str:
        folder = posixpath.normpath(posixpath.join(here, found[1] or ""))
        rows = [
            (_title(file), posixpath.relpath(file.src_uri, here), _first_sentence(file))
            for file in files.documentation_pages()
            if posixpath.dirname(file.src_uri) == folder and file is not page.file
        ]
        lines = (f"- [{title}]({link}): {said}" for title, link, said in sorted(rows, key=_plain))
        return "\n".join(line.removesuffix(": ") for line in lines)

    return _MARKER.sub(listed, markdown)


def _title(file: File) -> str:
    found = re.search(r"^# (.+)$", file.content_string, re.M)
    return found[1] if found else file.name


def _plain(row: tuple[str, str, str]) -> str:
    return row[0].replace("`", "").lower()


def _first_sentence(file: File) -> str:
    """Return the first sentence after the title, without links; empty if something else follows."""
    after = re.search(r"^# .+\n+(`[^`]|[^\s`|!<#>-])((?:.|\n(?!\n))*)", file.content_string, re.M)
    if not after:
        return ""
    text = " ".join((after[1] + after[2]).split())
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    sentence = re.split(r"(?<=[.?!])[”\"*]* (?=[A-Z`“\"*])", text)[0]
    return sentence if re.search(r"[.?!][”\"*)]*$", sentence) else ""
