"""What judges need: the page, their queue, what they have said, and saving."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from boxpen.review.app.campaign import Campaign, CampaignTask
from boxpen.review.app.web.access import Refused, Visitor, allowed
from boxpen.review.app.web.pages import page
from boxpen.review.app.web.saving import save
from boxpen.review.app.web.wording import (
    answer_of,
    answer_text,
    progress_json,
    question_json,
    task_json,
)
from boxpen.review.database.journal import judgement_of

__all__ = ["index", "item", "judgements", "me", "mine", "queue", "task_of"]

_HOMES = {"coordinator": "dashboard", "adjudicator": "disputes"}
_MOST = 200
_FIRST_WORDS = 120  # characters


@allowed(page=True)
async def index(request: Request) -> Response:
    """Show the page for judges; others are sent to their own."""
    home = _HOMES.get(request.state.visitor.role)
    return RedirectResponse(home, 303) if home else await page("index.html")(request)


@allowed()
async def me(request: Request) -> Response:
    """Say who has entered, and what there is to judge."""
    visitor: Visitor = request.state.visitor
    campaign: Campaign = request.app.state.campaign
    return JSONResponse(
        {
            "campaign": campaign.id,
            "judge": f"{campaign.id}-{visitor.person.id}",
            "name": visitor.name,
            "role": visitor.role,
            "csrf": visitor.csrf,
            "blind": campaign.plan.blind,
            "tasks": [task_json(one, visitor.name) for one in campaign.tasks.values()],
        }
    )


@allowed("judge")
async def queue(request: Request) -> Response:
    """Return the next questions of a judge."""
    campaign: Campaign = request.app.state.campaign
    judge = request.state.visitor.name
    one = task_of(request)
    limit = number_of(request, "limit", 6, _MOST)
    phase, items = one.progress.queue(judge, limit, set(request.query_params.getlist("after")))
    questions = [
        question_json(
            one.task,
            one.progress.shown(item, judge),
            training=phase == "training",
            blind=campaign.plan.blind,
        )
        for item in items
    ]
    state = progress_json(one, judge)
    return JSONResponse({"questions": questions, "phase": phase, **state})


@allowed()
async def item(request: Request) -> Response:
    """Return one question, with what was said about it before."""
    campaign: Campaign = request.app.state.campaign
    visitor: Visitor = request.state.visitor
    one = task_of(request)
    place = one.progress.index.get(request.path_params["item"])
    if place is None:
        raise Refused(404, f"there is no such {one.task.noun}")
    question = one.progress.questions[place]
    if visitor.role == "judge":
        question = one.progress.shown(place, visitor.name)
    last = await run_in_threadpool(campaign.store.last_of, one.key, visitor.name, question.item)
    current = last is not None and one.progress.was_seen(place, last.seen)
    return JSONResponse(
        question_json(
            one.task,
            question,
            mine=judgement_of(last) if last is not None and current else None,
            training=place in one.progress.training,
            blind=campaign.plan.blind,
        )
    )


@allowed()
async def mine(request: Request) -> Response:
    """Return what a judge has said, the newest first, each item once."""
    one = task_of(request)
    limit = number_of(request, "limit", 50, _MOST)
    before = number_of(request, "before", 0, 1 << 62) or None
    wanted = request.query_params.get("search", "").casefold()
    found = await run_in_threadpool(
        _mine, request.app.state.campaign, one, request.state.visitor.name, limit, before, wanted
    )
    return JSONResponse({"judgements": found})


def _mine(
    campaign: Campaign, one: CampaignTask, judge: str, limit: int, before: int | None, wanted: str
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    seen: set[str] = set()
    # What is newer than the page before has been shown there, so it must be passed over again.
    for row in campaign.store.of_judge(one.key, judge):
        place = one.progress.index.get(row.item)
        if place is None or row.item in seen:
            continue
        seen.add(row.item)
        if (before is not None and row.seq >= before) or not (row.verdict or row.kind == "skip"):
            continue
        question = one.progress.shown(place, judge)
        text = " · ".join(question.texts.values())
        if wanted and wanted not in f"{row.item} {text} {row.comment} {row.edit}".casefold():
            continue
        found.append(
            {
                "seq": row.seq,
                "item": row.item,
                "answer": answer_of(one.task, question, row.verdict),
                "label": answer_text(one.task, question, row.verdict) if row.verdict else "",
                "edit": row.edit,
                "comment": row.comment,
                "skipped": row.kind == "skip",
                "time": row.time,
                "text": text[:_FIRST_WORDS],
            }
        )
        if len(found) == limit:
            break
    return found


@allowed()
async def judgements(request: Request) -> Response:
    """Save judgements, or decisions of an adjudicator."""
    campaign: Campaign = request.app.state.campaign
    return JSONResponse(await save(request, campaign, request.state.visitor))


def task_of(request: Request) -> CampaignTask:
    """Return the task that a request is about."""
    campaign: Campaign = request.app.state.campaign
    key = request.path_params.get("key") or request.query_params.get("task", "")
    one = campaign.tasks.get(key)
    if one is None:
        raise Refused(404, "there is no such task")
    return one


def number_of(request: Request, name: str, usual: int, most: int) -> int:
    """Return a number of the query."""
    text = request.query_params.get(name, str(usual))
    digits = text.isascii() and text.isdigit() and len(text) < 20
    if not digits or int(text) > most:
        raise Refused(400, f"{name} must be a number up to {most}")
    return int(text)
