"""Ask a model questions with a cache: for an answer, or for its likeliest letter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached.lookup import Progress, looked_up
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
    load, save = cache.translations, cache.add_translations
    return looked_up(model, keys, load, save, model.answer, label, progress)


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
    model.attach(cache)
    settings = {"task": "letters", **model.answer_settings()}
    settings |= policy.as_dict() | model.exactness()
    of = {q.prompt: q for q in questions}
    keys = {p: cache_key(model.fingerprint, settings, (p, q.letters)) for p, q in of.items()}

    def produce(missing: list[str]) -> Iterator[list[tuple[int, Record]]]:
        return model.letters([of[prompt] for prompt in missing], policy)

    with cache.writing() as save:
        records = looked_up(model, keys, cache.records, save, produce, label, progress)
    return {prompt: _likeliest(of[prompt], record) for prompt, record in records.items()}


def _likeliest(question: Question, record: Record) -> str:
    if not len(record.logprobs):
        return ""
    place = int(record.token_ids[int(np.argmax(record.logprobs))])
    return REFUSED if place < 0 else question.letters[place]
