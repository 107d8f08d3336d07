"""Saving judgements: each is checked alone, and stored exactly once."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request

from boxpen.errors import BuildError
from boxpen.review.app.campaign import Campaign
from boxpen.review.app.store import now
from boxpen.review.app.web.access import Refused, Visitor, body_of
from boxpen.review.app.web.wording import answer_of, progress_json, verdict_of
from boxpen.review.database.journal import DECIDE, EXTRA, row_of
from boxpen.review.judgement import Judgement

__all__ = ["save"]

MOST = 50
"""Judgements in one request."""
_LONGEST = {"id": 64, "task": 64, "item": 4000, "answer": 1000, "edit": 20_000, "comment": 5000,
            "seen": 16, "order": 1000}  # fmt: skip
_ID = re.compile(r"[0-9A-Za-z-]{8,64}")
_DAY = 24 * 3600 * 1000


async def save(request: Request, campaign: Campaign, visitor: Visitor) -> dict[str, Any]:
    """Check and store the judgements of a request; see the contract of ``api/judgements``."""
    entries = await _entries(request)
    rows, saved, refused = [], [], []
    feedback: dict[str, Any] = {}
    for entry in entries:
        name = entry["id"] if isinstance(entry, dict) else ""
        try:
            row, told = _row(entry, campaign, visitor)
        except BuildError as error:
            refused.append({"id": name, "reason": str(error)})
            continue
        rows.append(row)
        saved.append(name)
        if told is not None:
            feedback[name] = told
    if rows:
        await campaign.writer.save(rows)
    touched = {row["task"]: campaign.tasks[row["task"]] for row in rows}
    return {
        "saved": saved,
        "refused": refused,
        "feedback": feedback,
        "progress": {key: progress_json(one, visitor.name) for key, one in touched.items()},
    }


async def _entries(request: Request) -> list[Any]:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused(415, "expected JSON")
    try:
        entries = json.loads(await body_of(request))["judgements"]
    except (ValueError, TypeError, KeyError, RecursionError):
        entries = None
    if not isinstance(entries, list) or len(entries) > MOST:
        raise Refused(400, f'expected {{"judgements": [up to {MOST}]}}')
    for entry in entries:
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise Refused(400, "every judgement needs an id of 8 to 64 letters, digits and hyphens")
    return entries


def _row(
    entry: dict[str, Any], campaign: Campaign, visitor: Visitor
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return what is stored of an entry, and the feedback in a training round."""
    texts = {name: _text(entry, name, most) for name, most in _LONGEST.items()}
    ms, skipped = entry.get("ms", 0), entry.get("skipped", False)
    if type(ms) is not int or type(skipped) is not bool:
        raise BuildError("ms must be a whole number, and skipped true or false")
    one = campaign.tasks.get(texts["task"])
    place = None if one is None else one.progress.index.get(texts["item"])
    if one is None or place is None:
        raise BuildError("there is no such item in this campaign")
    task, progress = one.task, one.progress
    question = progress.questions[place]
    if texts["seen"] != progress.digests[place]:
        raise BuildError("the texts have changed since; look at the item again")
    if question.options:
        arranged = question.arranged(texts["order"])
        if arranged is None:
            raise BuildError("the order of the options is not one of this item; reload the page")
        question = arranged
    edit, comment = texts["edit"].strip(), texts["comment"].strip()
    if skipped and (texts["answer"] or edit):
        raise BuildError("an item that is skipped has no answer")
    verdict = verdict_of(task, question, texts["answer"].strip(), edit)
    order = question.order if verdict else ""
    said = Judgement(
        question.item, visitor.name, verdict, edit, comment, question.digest, now(), order
    )
    said = task.check(said, question) if verdict else said
    kind = "skip" if skipped else "judge"
    gold = progress.gold_items.get(place)
    told = None
    if visitor.role != "judge":
        kind = DECIDE
        if skipped:
            raise BuildError("an adjudicator decides, and does not skip")
    elif gold is not None and place in progress.training:
        first = progress.first_gold.get((visitor.name, place))
        if first is not None and first != verdict:
            raise BuildError("answers of the training round stay as they were given")
        if verdict:
            right = gold.is_right(verdict)
            answer = answer_of(task, question, gold.verdict)
            told = {"right": right, "answer": answer, "why": gold.why}
    if place >= progress.size:
        if kind == DECIDE:
            raise BuildError("this item is not part of what is judged")
        kind = EXTRA
    ms = min(max(ms, 0), _DAY)
    return row_of(said, one.key, texts["id"], kind=kind, ms=ms), told


def _text(entry: dict[str, Any], name: str, most: int) -> str:
    text = entry.get(name, "")
    if not isinstance(text, str):
        raise BuildError(f"{name} must be text")
    if len(text) > most:
        raise BuildError(f"{name} has {len(text):,} characters, expected {most:,} or fewer")
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise BuildError(f"{name} has a character that cannot be stored")
    return text
