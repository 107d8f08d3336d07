"""How well duals read, by a language model, and which of them are shown to judges.

The *fluency* of a dual is the mean log-probability per token of its two sentences less that of the
two sentences that they were made of. How far the model prefers one of the two new sentences is not
looked at: that would choose tests by the answers of a model under test.

A sibling changes the senseless sentence only. If that reads better than before, the new word may
fit ('People often eat in the kitchen' for 'in the toilet'), and the dual is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from boxpen.build.duals.propose import Proposal
from boxpen.build.ranker import check_ranker
from boxpen.errors import BuildError

if TYPE_CHECKING:
    from boxpen.items import Choice
    from boxpen.models.base import Model
    from boxpen.models.cached import Progress
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.requests import Record, Request

__all__ = ["Ranked", "rank_proposals", "shortlist", "sifted"]

_ONCE = frozenset({("add", "restriction"), ("sub", "role")})  # operations and edits
_SIBLING = 0.0  # the largest fluency of a sibling
_DIGITS = 3  # engines differ in the fifth decimal, and ranks should not


@dataclass(frozen=True, slots=True)
class Ranked:
    """A proposal with its fluency; None where no model was asked."""

    proposal: Proposal
    fluency: float | None


def rank_proposals(
    proposals: Sequence[Proposal],
    items: Mapping[str, Choice],
    model: Model | None,
    *,
    cache: str | Path | ScoreCache | None = None,
    progress: Progress | None = None,
) -> list[Ranked]:
    """Return proposals with their fluency, in their order.

    Args:
        proposals: Duals.
        items: What they were made of, by id.
        model: A language model; without one nothing is ranked.
        cache: Known scores, so that an interrupted ranking resumes; the user's own if None.
        progress: Called as the work goes on.

    Raises:
        BuildError: If the model is not a language model, or returns NaN or Inf.
    """
    if model is None:
        return [Ranked(proposal, None) for proposal in proposals]
    check_ranker(model, "duals")
    from boxpen.scoring.requests import Request

    old = {one.item: items[one.item].candidates for one in proposals}
    texts = [text for one in proposals for text in (*one.edit.texts, *old[one.item])]
    requests = [Request(text=text) for text in dict.fromkeys(texts)]
    records = _scored(requests, model, cache, progress)
    fluency = {request.text: _fluency(records[request], model) for request in requests}

    def change(one: Proposal) -> float:
        pairs = zip(one.edit.texts, old[one.item], strict=True)
        return round(sum(fluency[new] - fluency[before] for new, before in pairs) / 2, _DIGITS)

    return [Ranked(one, change(one)) for one in proposals]


def sifted(ranked: Iterable[Ranked]) -> dict[int, tuple[str, str]]:
    """Return which duals are refused, by their ``id``, with the step and the reason.

    Those are siblings that read better than what they replace, and, of edits of which one per pair
    is enough, all but the most fluent.
    """
    refused: dict[int, tuple[str, str]] = {}
    seen: set[tuple[str, str, str]] = set()
    for one in _by_fluency(ranked):
        edit = one.proposal.edit
        key = (one.proposal.item, edit.operation, edit.kind)
        if edit.kind == "sibling" and one.fluency is not None and one.fluency > _SIBLING:
            reason = f"the new word reads better than the senseless one (fluency {one.fluency})"
            refused[id(one)] = ("sibling", reason)
        elif key in seen and key[1:] in _ONCE:
            refused[id(one)] = ("repeated", f"one {edit.kind} of this kind per pair is enough")
        seen.add(key)
    return refused


def shortlist(ranked: Iterable[Ranked], top: int, least: float | None = None) -> list[Ranked]:
    """Return the most fluent duals of every item and operation.

    Duals that flip the label and duals that keep it take turns, those that flip it first, each
    kind of edit once before one comes again: the most fluent edits are nearly always the smallest.
    """
    groups: dict[tuple[str, str], list[Ranked]] = {}
    for one in ranked:
        group = groups.setdefault((one.proposal.item, one.proposal.edit.operation), [])
        if least is None or one.fluency is None or one.fluency >= least:
            group.append(one)
    return [one for group in groups.values() for one in _in_turns(group)[:top]]


def _in_turns(group: list[Ranked]) -> list[Ranked]:
    ordered = _by_fluency(group)
    seen: Counter[tuple[bool, str]] = Counter()
    turns: dict[bool, list[tuple[int, int, Ranked]]] = {True: [], False: []}
    for place, one in enumerate(ordered):
        edit = one.proposal.edit
        seen[edit.flipped, edit.kind] += 1
        turns[edit.flipped].append((seen[edit.flipped, edit.kind], place, one))
    sides = [[one for *_, one in sorted(side, key=lambda t: t[:2])] for side in turns.values()]
    return [one for turn in zip_longest(*sides) for one in turn if one is not None]


def _by_fluency(ranked: Iterable[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda one: (-(one.fluency or 0.0), one.proposal.edit.texts))


def _fluency(record: Record, model: Model) -> float:
    value = record.total / max(len(record.logprobs), 1)
    if not math.isfinite(value):
        raise BuildError(f"{model.short} produced NaN or Inf for a sentence")
    return value


def _scored(
    requests: Sequence[Request],
    model: Model,
    cache: str | Path | ScoreCache | None,
    progress: Progress | None,
) -> Mapping[Request, Record]:
    """Score with this cache, or with the user's own."""
    from boxpen.folders import default_cache
    from boxpen.models.cached import scored
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.policy import ScoringPolicy

    if not isinstance(cache, ScoreCache):
        with ScoreCache(cache or default_cache()) as opened:
            return _scored(requests, model, opened, progress)
    resolved_policy = model.resolve_policy(ScoringPolicy())
    label = f"fluency × {model.short}"
    return scored(model, resolved_policy, requests, cache, label, progress).records
