"""The application: routes, pages, static files and the headers of every response."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from boxpen.errors import BoxpenError
from boxpen.review.app.campaign import Campaign
from boxpen.review.app.dashboard import Dashboard
from boxpen.review.app.web import coordinating, entering, judging
from boxpen.review.app.web.access import Access, Refused
from boxpen.review.app.web.pages import page

__all__ = ["create_app"]

HERE = Path(__file__).parent
_log = logging.getLogger("boxpen.review")

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def create_app(campaign: Campaign, **options: Any) -> Starlette:
    """Return the ASGI application of a campaign, which may be mounted under any path.

    Args:
        campaign: What is judged. Whoever made it also closes it.
        options: See ``Access``.
    """
    app = Starlette(
        routes=[
            Route("/api/judgements", judging.judgements, methods=["POST"]),
            Route("/", judging.index),
            Route("/enter", page("enter.html"), methods=["GET"]),
            Route("/enter", entering.enter, methods=["POST"]),
            Route("/leave", entering.leave, methods=["POST"]),
            Route("/healthz", entering.health),
            Route("/api/me", judging.me),
            Route("/api/tasks/{key}/queue", judging.queue),
            Route("/api/tasks/{key}/items/{item:path}", judging.item),
            Route("/api/tasks/{key}/mine", judging.mine),
            Route("/dashboard", coordinating.dashboard_page),
            Route("/disputes", coordinating.disputes_page),
            Route("/people", coordinating.people_page),
            Route("/api/dashboard", coordinating.dashboard),
            Route("/api/disputes", coordinating.disputes),
            Route("/api/people", coordinating.people, methods=["GET"]),
            Route("/api/people", coordinating.change_people, methods=["POST"]),
            Route("/export/{key}.jsonl", coordinating.export),
            Mount("/static", StaticFiles(directory=HERE / "static", check_dir=False)),
        ],
        exception_handlers={
            Refused: _refused,
            BoxpenError: _refused_by_boxpen,
            HTTPException: _not_found,
        },
    )
    app.state.campaign = campaign
    app.state.dashboard = Dashboard(campaign)
    app.state.access = Access(campaign, **options)
    app.add_middleware(_Headers)
    return app


class _Headers:
    """Puts the usual headers on every response, also on that of a fault."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                static = "/static/" in scope["path"]
                caching = "no-cache" if static else "no-store"
                own = {**HEADERS, "Cache-Control": caching}
                message["headers"] = [
                    *message.get("headers", ()),
                    *((name.lower().encode(), value.encode()) for name, value in own.items()),
                ]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            _log.error("%s %r failed", scope["method"], scope["path"], exc_info=error)
            if begun:
                raise
            fault = JSONResponse({"error": "the server has a fault; try again"}, 500)
            await fault(scope, receive, sending)


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, Refused)
    return error.response()


async def _refused_by_boxpen(request: Request, error: Exception) -> Response:  # noqa: ARG001
    return JSONResponse({"error": str(error)}, 400)


async def _not_found(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, HTTPException)
    why = {404: "there is no such page", 405: "this method is not allowed here"}
    text = why.get(error.status_code, error.detail)
    return JSONResponse({"error": text}, error.status_code, error.headers)
