"""Take along what pages link to outside docs/: Markdown as pages, code as pages that show it."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = {
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
}
"""Pages of the project that the site shows, and where."""
_LINK = re.compile(r"(?<=\]\()([^)#\s]+)(#[^)\s]+)?(?=\))")
_WHOLE_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s:]+)[^)]*\)")
_LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".sh": "bash", ".yml": "yaml"}
_homes: dict[str, str] = {}  # source in the site -> file in the repository


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the project's pages, and every file that a page links to outside docs/."""
    root = Path(config.docs_dir).parent
    _homes.clear()
    for name, place in PROJECT.items():
        if (root / name).is_file():
            _homes[place] = name
            text = (root / name).read_text("utf-8")
            if name == "CHANGELOG.md":  # which has a word of everything
                text = f"---\nsearch:\n  boost: 0.1\n---\n\n{text}"
            files.append(File.generated(config, place, content=text))
    for file in [f for f in files if f.is_documentation_page()]:
        for link, _ in _LINK.findall(file.content_string):
            target = _in_repository(file.src_uri, link)
            if _leaves(target) and target not in PROJECT and (root / target).is_file():
                place = f"source/{target}.md"
                if files.get_file_from_path(place) is None:
                    files.append(File.generated(config, place, content=_shown(root, target)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Lead the links to those pages."""
    here = posixpath.dirname(page.file.src_uri)
    if page.file.src_uri == PROJECT["CHANGELOG.md"]:
        markdown = _WHOLE_LINK.sub(lambda found: _alive(found, page, files), markdown)

    def led(found: re.Match[str]) -> str:
        target = _in_repository(page.file.src_uri, found[1])
        place = target.removeprefix("docs/") if target.startswith("docs/") else PROJECT.get(target)
        if place is None and files.get_file_from_path(f"source/{target}.md"):
            place = f"source/{target}.md"
        moved = page.file.src_uri in _homes or not target.startswith("docs/")
        if "://" in found[0] or place is None or not moved:
            return found[0]
        return posixpath.relpath(place, here or ".") + (found[2] or "")

    return _LINK.sub(led, markdown)


def _in_repository(page: str, link: str) -> str:
    """Return the path in the repository of what a page of the site links to."""
    home = _homes.get(page, f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(home), link))


def _alive(found: re.Match[str], page: Page, files: Files) -> str:
    """Return a link of the history as it is, or without its target if that is gone by now."""
    target = _in_repository(page.file.src_uri, found[2])
    here = target in PROJECT or files.get_file_from_path(target.removeprefix("docs/"))
    return found[0] if here else found[1]


def _leaves(target: str) -> bool:
    return not target.startswith(("docs/", "../"))


def _shown(root: Path, target: str) -> str:
    code = (root / target).read_text("utf-8")
    language = _LANGUAGES.get(Path(target).suffix, "text")
    head = f"---\ntitle: {Path(target).name}\nsearch:\n  exclude: true\n---\n\n# `{target}`\n"
    return f"{head}\n~~~~~{language}\n{code}\n~~~~~\n"
