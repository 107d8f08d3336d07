"""Put a page and the folder of its name into one section: `kg.md` first, then `kg/tests.md`."""

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Move such pages to the head of their section, which takes their title up to a colon."""
    for section in [item for item in nav.items if isinstance(item, Section)]:
        _gather(section)
    nav.pages[:] = list(_pages(nav.items))
    for before, page, after in zip(
        [None, *nav.pages], nav.pages, [*nav.pages[1:], None], strict=False
    ):
        page.previous_page, page.next_page = before, after
    return nav


def _gather(section: Section) -> None:
    for inner in [child for child in section.children if isinstance(child, Section)]:
        _gather(inner)
        folders = {posixpath.dirname(page.file.src_uri) for page in _pages(inner.children)}
        head = next((c for c in section.children if _stem(c) in folders), None)
        if isinstance(head, Page):
            place = section.children.index(head)
            section.children.remove(inner)
            section.children[place] = inner
            inner.children.insert(0, head)
            head.parent = inner
            found = re.search(r"^# (.+?)(: .*)?$", head.file.content_string, re.M)
            inner.title = found[1] if found else inner.title


def _stem(item: Any) -> str:
    return item.file.src_uri.removesuffix(".md") if isinstance(item, Page) else ""


def _pages(items: list[Any]) -> Iterator[Page]:
    for item in items:
        if isinstance(item, Page):
            yield item
        elif isinstance(item, Section):
            yield from _pages(item.children)
