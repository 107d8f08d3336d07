"""What coordinators and adjudicators need: dashboard, disputes, people and export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from boxpen.review.app.campaign import Campaign
from boxpen.review.app.links import link_to
from boxpen.review.app.store import ROLES
from boxpen.review.app.web.access import Access, Refused, allowed, base_of, body_of
from boxpen.review.app.web.adjudication import disputes_json
from boxpen.review.app.web.judging import number_of, task_of
from boxpen.review.app.web.pages import page
from boxpen.review.database.journal import EXTRA, judgement_of
from boxpen.review.journal import line_of

__all__ = [
    "change_people",
    "dashboard",
    "dashboard_page",
    "disputes",
    "disputes_page",
    "export",
    "people",
    "people_page",
]

dashboard_page = allowed("coordinator", page=True)(page("dashboard.html"))
disputes_page = allowed("adjudicator", "coordinator", page=True)(page("disputes.html"))
people_page = allowed("coordinator", page=True)(page("people.html"))


@allowed("coordinator")
async def dashboard(request: Request) -> Response:
    """Return all figures."""
    campaign: Campaign = request.app.state.campaign
    await campaign.refresh()
    text = await run_in_threadpool(request.app.state.dashboard.json)
    return Response(text, media_type="application/json")


@allowed("adjudicator", "coordinator")
async def disputes(request: Request) -> Response:
    """Return what judges disagree about."""
    campaign: Campaign = request.app.state.campaign
    one = task_of(request)
    limit = number_of(request, "limit", 50, 200)
    offset = number_of(request, "offset", 0, 1 << 31)
    return JSONResponse(await run_in_threadpool(disputes_json, campaign, one, limit, offset))


@allowed("coordinator")
async def people(request: Request) -> Response:
    """Return who there is."""
    campaign: Campaign = request.app.state.campaign
    return JSONResponse(
        [
            {"id": p.id, "name": p.name, "role": p.role, "revoked": p.revoked,
             "created": p.created, "seen": p.seen}
            for p in campaign.people.values()
        ]
    )  # fmt: skip


@allowed("coordinator")
async def change_people(request: Request) -> Response:
    """Add someone, keep someone out, or give someone a new link."""
    campaign: Campaign = request.app.state.campaign
    access: Access = request.app.state.access
    by = request.state.visitor.name
    try:
        asked: Any = json.loads(await body_of(request))
        action = asked["action"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Refused(400, 'expected {"action": …}') from None
    if action == "add":
        name, role = asked.get("name"), asked.get("role", "judge")
        if not isinstance(name, str) or role not in ROLES:
            raise Refused(400, f"expected a name, and a role: {', '.join(ROLES)}")
        token = await run_in_threadpool(campaign.store.add_person, name, role, by)
        campaign.know_people()
        return JSONResponse({"link": link_to(base_of(request), token)})
    number = asked.get("id")
    person = campaign.people.get(number) if type(number) is int else None  # True is no number
    if person is None or action not in ("revoke", "renew"):
        raise Refused(400, "expected the action add, revoke or renew, and the id of a person")
    if action == "revoke":
        if person.id == request.state.visitor.person.id:
            raise Refused(400, "you cannot revoke your own link")
        await run_in_threadpool(campaign.store.revoke, person, by)
        answer = {}
    else:
        token = await run_in_threadpool(campaign.store.renew, person, by)
        answer = {"link": link_to(base_of(request), token)}
    access.end(person.id)
    campaign.know_people()
    return JSONResponse(answer)


@allowed("coordinator")
async def export(request: Request) -> Response:
    """Return the journal of a task as it is at this moment."""
    campaign: Campaign = request.app.state.campaign
    one = task_of(request)

    def lines() -> Iterator[bytes]:
        for row in campaign.store.since():
            if row.task == one.key and row.kind != EXTRA:
                yield line_of(judgement_of(row), one.task.journal.tag)

    headers = {"Content-Disposition": f'attachment; filename="{one.key}.jsonl"'}
    return StreamingResponse(lines(), media_type="application/jsonl", headers=headers)
