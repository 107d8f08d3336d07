"""Pages: templates that only frame what scripts fetch."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from boxpen.review.app.web.access import Handler
from boxpen.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["page"]


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = Path(__file__).parents[1] / "templates"
    return Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, autoescape=True)


def page(name: str) -> Handler:
    """Return what answers with a template."""

    async def shown(request: Request) -> Response:
        root = str(request.scope.get("root_path", "")).rstrip("/")
        text = _templates().get_template(name).render(root=root, version=__version__)
        return HTMLResponse(text)

    return shown
