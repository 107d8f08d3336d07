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
        return "\n".join(f"- [{title}]({link}): {said}" for title, link, said in sorted(rows))

    return _MARKER.sub(listed, markdown)


def _title(file: File) -> str:
    found = re.search(r"^# (.+)$", file.content_string, re.M)
    return found[1] if found else file.name


def _first_sentence(file: File) -> str:
    """Return the first sentence of the first paragraph, without links."""
    body = re.sub(r"^---\n.*?\n---\n", "", file.content_string, flags=re.S)
    for paragraph in re.split(r"\n\s*\n", body):
        if re.match(r"[A-Z0-9`*\"“]", paragraph) and not paragraph.startswith("**"):
            text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
            return re.split(r"(?<=[.?!])[”\"]? (?=[A-Z`“\"])|:$", text)[0].rstrip(":")
    return ""
