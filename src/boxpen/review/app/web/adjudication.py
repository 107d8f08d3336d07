"""Disputed items, with what each judge said."""

from __future__ import annotations

import string
from typing import Any

from boxpen.review.app.campaign import Campaign, CampaignTask
from boxpen.review.app.web.wording import answer_of, answer_text, question_json
from boxpen.review.judgement import lot

__all__ = ["disputes_json"]


def disputes_json(
    campaign: Campaign, one: CampaignTask, limit: int = 50, offset: int = 0
) -> dict[str, Any]:
    """Return disputed items, the open ones first.

    Options are in alphabetical order, the same for all. Where the campaign is blind, judges are
    letters, which are drawn for each item anew.
    """
    progress = one.progress
    with campaign.lock:
        disputed = sorted(progress.disputed, key=lambda item: (item in progress.decided, item))
        decided = dict(progress.decided)
    some = disputed[offset : offset + limit]
    names = [progress.questions[item].item for item in some]
    said: dict[str, dict[str, Any]] = {name: {} for name in names}
    for row in campaign.store.of_items(one.key, names):
        if row.kind != "decide":
            said[row.item][row.judge] = row
    found = []
    for item, name in zip(some, names, strict=True):
        question = progress.questions[item]
        order = question.arranged(" ".join(str(n) for n in range(1, len(question.options) + 1)))
        question = order if question.options and order is not None else question
        rows = sorted(said[name].values(), key=lambda row: row.judge)
        shown = {row.judge: row.judge for row in rows}
        if campaign.plan.blind:
            rows.sort(key=lambda row: lot(campaign.plan.seed, "blind", name, row.judge))
            shown = {
                row.judge: f"judge {letter}"
                for row, letter in zip(rows, string.ascii_uppercase, strict=False)
            }
        votes = [
            {
                "judge": shown.get(row.judge, "judge"),
                "answer": answer_of(one.task, question, row.verdict),
                "label": answer_text(one.task, question, row.verdict),
                "edit": row.edit,
                "comment": row.comment,
            }
            for row in rows
            if row.verdict and progress.was_seen(item, row.seen)
        ]
        settled = decided.get(item)
        found.append(
            {
                "question": question_json(one.task, question, blind=campaign.plan.blind),
                "votes": votes,
                "decided": answer_of(one.task, question, settled.verdict) if settled else None,
                "decided_edit": settled.edit if settled else "",
            }
        )
    open_ = sum(item not in decided for item in disputed)
    return {"disputes": found, "total": len(disputed), "open": open_}
