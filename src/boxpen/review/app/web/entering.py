"""Entering with a token, and leaving."""

from __future__ import annotations

import json

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from boxpen.review.app.store import hashed
from boxpen.review.app.web.access import COOKIE, Access, Refused, allowed, body_of, check_origin

__all__ = ["enter", "health", "leave"]


async def enter(request: Request) -> Response:
    """Begin a session; the one that the browser had before ends."""
    access: Access = request.app.state.access
    address = request.client.host if request.client else ""
    access.entering.take(address, cost=0)
    check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused(415, "expected JSON")
    try:
        token = json.loads(await body_of(request))["token"]
    except (ValueError, TypeError, KeyError, RecursionError):
        token = None
    if not isinstance(token, str):
        raise Refused(400, 'expected {"token": …}')
    store = access.campaign.store
    before = access.visitor(request)
    found = await run_in_threadpool(store.enter, token)
    if found is None:
        access.entering.take(address)
        raise Refused(403, "this link is not valid, or not valid any more; ask for a new one")
    if before is not None:
        old = hashed(request.cookies[COOKIE])
        access.sessions.pop(old, None)
        await run_in_threadpool(store.leave, old, before.name)
    person, cookie = found
    access.campaign.know_people()
    access.sessions[hashed(cookie)] = person
    response = JSONResponse({"name": access.campaign.people[person].name})
    access.set_cookie(request, response, cookie)
    return response


@allowed()
async def leave(request: Request) -> Response:
    """End the session."""
    access: Access = request.app.state.access
    visitor = request.state.visitor
    access.sessions.pop(visitor.session, None)
    await run_in_threadpool(access.campaign.store.leave, visitor.session, visitor.name)
    response = Response(status_code=204)
    access.delete_cookie(request, response)
    return response


async def health(request: Request) -> Response:  # noqa: ARG001
    """Say that the server is there."""
    return JSONResponse({"ok": True})
