"""The figures of the dashboard, from a copy of the state, so that nobody waits for them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boxpen.review.answers import AnswerTask, most_fail
from boxpen.review.app.campaign import Campaign, CampaignTask
from boxpen.review.app.measures import agreement_json, possible_answers

__all__ = ["Dashboard", "outlying"]

FRESH = 2.0
"""Seconds for which figures are used again."""
_SHOWN = 100  # outliers
_FEWEST = 10  # answers of a judge before a time can stand out
_FAR = 3.5  # modified z-score (Iglewicz and Hoaglin 1993)


class Dashboard:
    """Figures that are worked out at most every two seconds."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._made = (-1, 0.0, b"")

    def json(self) -> bytes:
        """Return all figures as JSON."""
        version, at, text = self._made
        if version == self.campaign.version or (text and time.monotonic() - at < FRESH):
            return text
        version = self.campaign.version
        text = json.dumps(_figures(self.campaign), ensure_ascii=False).encode()
        self._made = (version, time.monotonic(), text)
        return text


def outlying(ms: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return how far each time is from the median of a judge; 0 where it is not far.

    Times are compared as logarithms. One stands out if its modified z-score, by the median absolute
    deviation, is above 3.5, and if it is at least twice or at most half the median. Negative values
    are fast ones.
    """
    logs = np.log(np.maximum(ms, 1))
    away = logs - np.median(logs) if len(logs) else logs
    if len(logs) < _FEWEST:
        return np.zeros_like(away)
    spread = float(np.median(np.abs(away))) / 0.6745
    far = np.abs(away) > max(_FAR * spread, np.log(2))
    return np.where(far, away, 0.0)


@dataclass
class _Copy:
    """What is needed of a task, copied while the state could not change."""

    one: CampaignTask
    codes: NDArray[np.int32]
    labels: dict[str, int]
    times: dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]
    people: list[dict[str, Any]]
    figures: dict[str, Any]


def _figures(campaign: Campaign) -> dict[str, Any]:
    with campaign.lock:
        copies = [_copy(campaign, one) for one in campaign.tasks.values()]
    outliers = [row for copy in copies for row in _times(copy)]
    outliers.sort(key=lambda row: -abs(row.pop("far")))
    return {
        "campaign": {
            "name": campaign.name,
            "started": campaign.started,
            "blind": campaign.plan.blind,
            "rule": str(campaign.plan),
        },
        "tasks": [_task(copy) for copy in copies],
        "judges": [row for copy in copies for row in copy.people],
        "outliers": outliers[:_SHOWN],
    }


def _copy(campaign: Campaign, one: CampaignTask) -> _Copy:
    progress = one.progress
    finished = sum(item < progress.size for item in progress.finished)
    figures = {
        "key": one.key,
        "title": one.task.guide.title or one.task.name,
        "questions": progress.size,
        "judgements": progress.judgements,
        "finished": finished,
        "disputed": len(progress.disputed - progress.decided.keys()),
        "open": progress.size - finished,
        "outdated": progress.outdated,
    }
    right: dict[str, list[bool]] = {}
    for (judge, item), verdict in progress.first_gold.items():
        right.setdefault(judge, []).append(progress.gold_items[item].is_right(verdict))
    known = {p.name: p for p in campaign.people.values() if p.role == "judge"}
    people = []
    for name in dict.fromkeys((*known, *sorted(progress.columns))):
        done = progress.done[name]
        hits = right.get(name, [])
        people.append(
            {
                "name": name,
                "role": "judge" if name in known else "imported",
                "task": one.key,
                "done": done,
                "total": done + progress.left[name],
                "seconds_median": None,
                "slow": 0,
                "fast": 0,
                "gold_right": sum(hits),
                "gold_total": len(hits),
                "last": progress.last.get(name) or None,
                "revoked": name in known and known[name].revoked,
            }
        )
    used = len(progress.columns)
    times = {name: timing.arrays() for name, timing in progress.timing.items()}
    codes = progress.codes[: progress.size, :used].copy()
    return _Copy(one, codes, dict(progress.labels), times, people, figures)


def _task(copy: _Copy) -> dict[str, Any]:
    progress, task = copy.one.progress, copy.one.task
    possible = np.array(
        [possible_answers(q, task.verdicts) for q in progress.questions[: progress.size]]
    )
    choices = possible if (possible > 0).all() else None
    return {
        **copy.figures,
        "agreement": agreement_json(copy.codes, choices),
        "failed": _failed(copy, task) if isinstance(task, AnswerTask) else [],
    }


def _failed(copy: _Copy, task: AnswerTask) -> list[dict[str, Any]]:
    """Return the items that most of three or more judges fail."""
    questions = copy.one.progress.questions
    right = task.right
    rights = [
        [copy.labels.get(one, -2) for one in right[q.item]] for q in questions[: len(copy.codes)]
    ]
    # One column per right verdict; most items have one, and -2 is nobody's.
    gold = np.array(list(zip_longest(*rights, fillvalue=-2))).reshape(-1, len(copy.codes), 1)
    hits = (copy.codes == gold).sum(axis=(0, 2)).tolist()
    judges = (copy.codes >= 0).sum(axis=1).tolist()
    return [
        {"item": questions[item].item, "right": hits[item], "judges": judges[item]}
        for item in range(len(hits))
        if most_fail(hits[item], judges[item])
    ]


def _times(copy: _Copy) -> list[dict[str, Any]]:
    """Return the times that stand out, and write the median of every judge into their row."""
    found = []
    rows = {row["name"]: row for row in copy.people}
    for judge, (items, ms) in copy.times.items():
        if not len(ms):
            continue
        far = outlying(ms)
        row = rows[judge]
        row["seconds_median"] = round(float(np.median(ms)) / 1000, 1)
        row["slow"], row["fast"] = int((far > 0).sum()), int((far < 0).sum())
        most = np.argsort(-np.abs(far))[:_SHOWN]
        found += [
            {
                "judge": judge,
                "task": copy.one.key,
                "item": copy.one.progress.questions[items[place]].item,
                "seconds": round(int(ms[place]) / 1000, 1),
                "kind": "slow" if far[place] > 0 else "fast",
                "far": float(far[place]),
            }
            for place in most[far[most] != 0].tolist()
        ]
    return found
