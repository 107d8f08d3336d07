"""The figures of the dashboard."""

from __future__ import annotations

import json
from typing import Any

from boxpen.review.app.campaign import Campaign, CampaignTask

__all__ = ["dashboard_json"]


def dashboard_json(campaign: Campaign) -> bytes:
    """Return all figures as JSON."""
    with campaign.lock:
        data = {
            "campaign": {
                "name": campaign.name,
                "started": campaign.started,
                "blind": campaign.plan.blind,
                "rule": str(campaign.plan),
            },
            "tasks": [_task(one) for one in campaign.tasks.values()],
            "judges": [row for one in campaign.tasks.values() for row in _judges(campaign, one)],
            "outliers": [],
        }
    return json.dumps(data, ensure_ascii=False).encode()


def _task(one: CampaignTask) -> dict[str, Any]:
    progress = one.progress
    finished = sum(item < progress.size for item in progress.finished)
    return {
        "key": one.key,
        "title": one.task.guide.title or one.task.name,
        "questions": progress.size,
        "judgements": progress.judgements,
        "finished": finished,
        "disputed": len(progress.disputed - progress.decided.keys()),
        "open": progress.size - finished,
        "agreement": [],
        "failed": [],
    }


def _judges(campaign: Campaign, one: CampaignTask) -> list[dict[str, Any]]:
    progress = one.progress
    rows = []
    for person in campaign.people.values():
        if person.role != "judge":
            continue
        done = progress.done[person.name]
        rows.append(
            {
                "name": person.name,
                "role": person.role,
                "task": one.key,
                "done": done,
                "total": done + progress.left[person.name],
                "seconds_median": progress.seconds(person.name),
                "slow": 0,
                "fast": 0,
                "gold_right": 0,
                "gold_total": 0,
                "last": progress.last.get(person.name),
                "revoked": person.revoked,
            }
        )
    return rows
