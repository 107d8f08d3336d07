"""A campaign to look at: the starter suite, and three sample judges who have begun."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from boxpen.review.app.campaign import Campaign
from boxpen.review.app.plan import Plan
from boxpen.review.app.start import Address, Request, serve
from boxpen.review.database.journal import row_of
from boxpen.review.judgement import Judgement

__all__ = ["sample_judgements", "serve_demo"]

_JUDGES = {"ada": (0.97, 6.0), "bo": (0.92, 9.0), "cy": (0.80, 4.0)}
"""How often each sample judge is right, and the seconds they take."""
_GIVEN = 40
_START = "2026-01-05T09:{:02}:{:02}Z"


def serve_demo(address: Address, say: Callable[[str, list[str]], None]) -> None:
    """Serve the demo until it is interrupted; its database goes with it."""
    with tempfile.TemporaryDirectory(prefix="boxpen-demo-") as folder:
        request = Request(
            words=["starter"],
            judges=[*_JUDGES],
            database=str(Path(folder) / "review.db"),
            plan=Plan(sample=120),
        )
        serve(request, address, say, prepare=_begin)


def _begin(campaign: Campaign) -> None:
    rows = [row for judge in _JUDGES for row in sample_judgements(campaign, judge, _GIVEN)]
    campaign.learn(campaign.store.save(rows, campaign.writer.after))
    campaign.writer.after += len(rows)


def sample_judgements(campaign: Campaign, judge: str, number: int) -> Sequence[dict[str, Any]]:
    """Return answers such as a judge might give, drawn with a fixed seed."""
    one = next(iter(campaign.tasks.values()))
    right, seconds = _JUDGES[judge]
    rng = random.Random(judge)
    rows = []
    gold = {item.id: str(choice.gold + 1) for item, choice in one.task.choices}  # type: ignore[attr-defined]
    for n, item in enumerate(one.progress.queue(judge, number)[1]):
        question = one.progress.shown(item, judge)
        others = [o.verdict for o in question.options if o.verdict != gold[question.item]]
        verdict = gold[question.item] if rng.random() < right else rng.choice(others)
        ms = int(1000 * seconds * rng.lognormvariate(0, 0.4))
        time = _START.format(n // 6, n % 6 * 10)
        texts = (question.item, judge, verdict, "", "", question.digest, time, question.order)
        rows.append(row_of(Judgement(*texts), one.key, f"sample-{judge}-{n}", ms=ms))
    return rows
