"""Translate with a cache: only sources that are not in the cache reach the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.models.cached.requests import Progress
from boxpen.models.cached.texts import cached_texts
from boxpen.scoring.cache import ScoreCache, cache_key

__all__ = ["BEAM", "translated"]

BEAM = 5  # as in CommonMT section 5.1

Source = tuple[str, str]
"""A sentence, and the text before it; empty if there is none or the model does not read it."""


def translated(
    model: Model,
    sources: Sequence[Source],
    languages: tuple[str | None, str | None],
    policy: ResolvedPolicy,
    cache: ScoreCache,
    label: str,
    progress: Progress | None = None,
) -> dict[Source, str]:
    """Return the translations of sources.

    One that could not be translated is missing; ``model.unanswered`` may have the reason, under
    the sentence.

    Args:
        model: The model.
        sources: What to translate.
        languages: Source and target language.
        policy: How long texts may be.
        cache: The cache; every batch is saved there at once.
        label: A label for progress.
        progress: Called as translations are done.
    """
    model.attach(cache)
    reads = model.reads_context
    settings = {
        "task": "translate",
        "beam": BEAM,
        "max_length": policy.max_length,
        "cut": "own source",  # what bounds the length of a translation
        **model.translation_settings(),
        **model.exactness(),
    }
    keys = {
        (text, before): cache_key(
            model.fingerprint, settings, (text, *languages, *([before] if reads else []))
        )
        for text, before in sources
    }

    def produce(missing: list[Source]) -> Iterator[list[tuple[int, str]]]:
        step = 1 if model.deterministic else len(missing)
        for start in range(0, len(missing), step):
            few = missing[start : start + step]
            contexts = [before for _, before in few] if reads else None
            texts = [text for text, _ in few]
            for batch in model.translate(texts, languages, beam=BEAM, contexts=contexts):
                yield [(start + number, text) for number, text in batch]

    return cached_texts(model, keys, produce, cache, label, progress)
