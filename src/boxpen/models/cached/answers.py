"""Ask a model questions with a cache: for an answer, or for its likeliest letter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached.requests import Progress
from boxpen.models.cached.texts import cached_texts
from boxpen.scoring.ask import REFUSED, Question
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.requests import Record

__all__ = ["answer_texts", "likeliest_letters"]


def answer_texts(
    model: Model,
    questions: Sequence[Question],
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Return the answers to questions, by prompt.

    A question without one is missing; ``model.unanswered`` may have the reason.
    """
    model.attach(cache)
    settings = {"task": "answer", **model.answer_settings(), **model.exactness()}
    prompts = dict.fromkeys(question.prompt for question in questions)
    keys = {p: cache_key(model.fingerprint, settings, (p,)) for p in prompts}
    return cached_texts(model, keys, model.answer, cache, label, progress)


def likeliest_letters(
    model: Model,
    policy: ResolvedPolicy,
    questions: Sequence[Question],
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> dict[str, str]:
    """Return the likeliest letter of every question, by prompt; empty if the model lists none.

    A question without an answer is missing; ``model.unanswered`` may have the reason.
    """
    report = progress or (lambda *_: None)
    model.attach(cache)
    settings = {"task": "letters", **model.answer_settings()}
    settings |= policy.as_dict() | model.exactness()
    of = {q.prompt: q for q in questions}
    keys = {p: cache_key(model.fingerprint, settings, (p, q.letters)) for p, q in of.items()}
    known = cache.records(list(keys.values()))
    records = {p: known[key] for p, key in keys.items() if key in known}
    missing = [question for prompt, question in of.items() if prompt not in records]
    report(label, len(records), len(of))
    if missing:
        with cache.writing() as write:
            for batch in model.letters(missing, policy):
                found = [(missing[i].prompt, record) for i, record in batch]
                write([(keys[prompt], record) for prompt, record in found])
                records.update(found)
                told = model.detail(len(records), len(of))
                report(label, len(records), len(of), *([told] if told else []))
    return {prompt: _likeliest(of[prompt], record) for prompt, record in records.items()}


def _likeliest(question: Question, record: Record) -> str:
    if not len(record.logprobs):
        return ""
    place = int(record.token_ids[int(np.argmax(record.logprobs))])
    return REFUSED if place < 0 else question.letters[place]
