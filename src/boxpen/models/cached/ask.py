"""What is asked of a model, as one value: keys in the score cache, and how the model answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from boxpen.models.base import Model, ResolvedPolicy
from boxpen.scoring.cache import cache_key
from boxpen.scoring.requests import Request

__all__ = ["BEAM", "Ask", "Source", "Task"]

BEAM = 5  # as in CommonMT section 5.1

Task = Literal["score", "translate", "answer", "letters"]

Source = tuple[str, str]
"""A sentence, and the text before it; empty if there is none or the model does not read it."""


@dataclass(frozen=True)
class Ask:
    """Items that a model is asked about in one way.

    Attributes:
        task: ``score`` requests, ``translate`` sources, ``answer`` questions (given by prompt), or
            give the log-probabilities of the ``letters`` of questions.
        model: The model.
        items: What it is asked; duplicates are dropped.
        policy: How to score; how long sources may be.
        languages: Source and target language of translations.
        label: What progress shows.
    """

    task: Task
    model: Model
    items: tuple[Any, ...]
    policy: ResolvedPolicy = field(default_factory=ResolvedPolicy)
    languages: tuple[str | None, str | None] = (None, None)
    label: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        # Questions whose options are equal have one prompt, in whatever order.
        named = {getattr(item, "prompt", item): item for item in self.items}
        object.__setattr__(self, "items", tuple(named.values()))

    @property
    def makes_text(self) -> bool:
        """Whether answers are texts, which the cache keeps as translations, and not records."""
        return self.task in ("translate", "answer")

    def keys(self) -> dict[Any, bytes]:
        """Return the key of every item in the cache that the model is attached to."""
        model = self.model
        settings = self._settings() | model.exactness()
        return {i: cache_key(model.fingerprint, settings, self._parts(i)) for i in self.items}

    def name_of(self, item: Any) -> Request | str:
        """Return what ``model.unanswered`` has an item under."""
        if self.task == "letters":
            return str(item.prompt)
        name: Request | str = item[0] if self.task == "translate" else item
        return name

    def produce(self, items: Sequence[Any]) -> Iterator[list[tuple[int, Any]]]:
        """Let the model answer some items: yield batches of (index, answer)."""
        if self.task == "score":
            return self.model.score(items, self.policy)
        if self.task == "letters":
            return self.model.letters(items, self.policy)
        return self.model.answer(items) if self.task == "answer" else self._translations(items)

    def _settings(self) -> dict[str, object]:
        if self.task == "score":
            return self.policy.as_dict()
        if self.task == "translate":
            return {
                "task": self.task,
                "beam": BEAM,
                "max_length": self.policy.max_length,
                "cut": "own source",  # what bounds the length of a translation
                **self.model.translation_settings(),
            }
        settings = {"task": self.task, **self.model.answer_settings()}
        return settings | self.policy.as_dict() if self.task == "letters" else settings

    def _parts(self, item: Any) -> Sequence[object]:
        if self.task == "score":
            parts: Sequence[object] = item.parts()
            return parts
        if self.task == "translate":
            text, before = item
            return (text, *self.languages, *([before] if self.model.reads_context else []))
        return (item.prompt, item.letters) if self.task == "letters" else (item,)

    def _translations(self, sources: Sequence[Source]) -> Iterator[list[tuple[int, str]]]:
        model = self.model
        step = 1 if model.deterministic else len(sources)
        for start in range(0, len(sources), step):
            few = sources[start : start + step]
            texts = [text for text, _ in few]
            contexts = [before for _, before in few] if model.reads_context else None
            for batch in model.translate(texts, self.languages, beam=BEAM, contexts=contexts):
                yield [(start + number, text) for number, text in batch]
