"""Translators behind HTTP: any server that takes a text and answers with JSON.

- ``translator:FILE.toml``: as the file says.
- ``translator:deepl``: DeepL, with the key ``DEEPL_API_KEY``.
- ``translator:libretranslate#URL``: LibreTranslate, with the key ``LIBRETRANSLATE_API_KEY`` if set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from boxpen.errors import ModelError
from boxpen.models.base import ModelSpec, ResolvedPolicy
from boxpen.models.remote.client import Call, Client, UnansweredError
from boxpen.models.remote.served import ServedModel, refuse_options
from boxpen.models.remote.translators.settings import TranslatorSettings, translator_settings
from boxpen.scoring.policy import ScoringPolicy

__all__ = ["HttpTranslator", "from_translator", "try_translator"]

_TRY = "The box is in the pen."


def from_translator(spec: ModelSpec) -> HttpTranslator:
    """Return the translator of ``translator:…``; nothing is sent yet.

    Raises:
        ModelError: If its name or its settings are not valid, or a key is missing.
    """
    refuse_options(spec)
    settings = translator_settings(spec.path)
    return HttpTranslator(spec.name, Client(spec.name, settings), settings)


def try_translator(name: str) -> dict[str, str]:
    """Translate one sentence from English to German, and return what to show to people.

    Raises:
        ModelError: If that fails.
    """
    model = from_translator(ModelSpec(name=name, path=name.partition(":")[2]))
    made = [text for batch in model.translate([_TRY], ("en", "de"), beam=1) for _, text in batch]
    if not made:
        raise ModelError(f"model '{name}' does not translate: {model.unanswered[_TRY]}")
    return {
        "url": model.settings.url,
        "access": model.access,
        "batch": str(model.settings.batch),
        "context": "sent" if model.reads_context else "not sent",
        "en": _TRY,
        "de": made[0],
    }


class HttpTranslator(ServedModel):
    """A translator behind HTTP; it can do nothing else.

    Attributes:
        settings: How it is asked.
    """

    kind = "seq2seq"
    encoder = True
    access = "http"
    unit = "characters"
    prices = "price in translator:FILE.toml"

    def __init__(self, name: str, client: Client, settings: TranslatorSettings) -> None:
        self.name = name
        self.client = client
        self.settings = settings
        self.reads_context = settings.reads_context
        identity = (settings.url, settings.method, settings.body, settings.result)
        maps = (settings.languages, settings.target_languages)
        text = json.dumps([identity, [sorted(each.items()) for each in maps]], sort_keys=True)
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()

    @property
    def short(self) -> str:
        """The name of the preset or the file."""
        return PurePosixPath(self.name.partition(":")[2].partition("#")[0]).stem

    def cannot_score(self) -> str | None:
        """Return why texts cannot be scored: there is only a translation."""
        return f"'{self.name}' translates, and gives no log-probabilities"

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:  # noqa: ARG002
        """Return a policy without anything in it: nothing of it applies."""
        return ResolvedPolicy()

    def can_translate(self) -> bool:
        """Whether it translates: always."""
        return True

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],
        *,
        beam: int,
        contexts: Sequence[str] | None = None,
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate in batches, yielding each translation as soon as it arrives."""
        del beam  # up to the server
        return self.handed_on(self._translations(sources, languages, contexts), sources)

    def _translations(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],
        contexts: Sequence[str] | None,
    ) -> Iterator[tuple[int, str | UnansweredError]]:
        step = self.settings.batch
        every = range(len(sources))
        parts: Sequence[Sequence[int]] = [every[i : i + step] for i in every[::step]]

        def call(part: Sequence[int]) -> Call:
            texts = [sources[i] for i in part]
            before = contexts[part[0]] if contexts else ""
            body = self.settings.filled_body(texts, languages, before)
            return Call("", body, sum(map(len, texts)), part)

        def read(call: Call, answer: Any) -> list[str]:
            return self.settings.read(answer, len(call.tag))

        while parts:
            singly = []
            for sent, made in self.client.read_each(map(call, parts), read):
                if isinstance(made, UnansweredError):
                    if made.status is not None and len(sent.tag) > 1:  # one text may be the reason
                        singly += [[i] for i in sent.tag]
                    else:
                        yield from ((i, made) for i in sent.tag)
                    continue
                for i, text in zip(sent.tag, made, strict=True):
                    tidy = " ".join(text.split())
                    yield i, tidy or UnansweredError(self.name, "a translation is empty")
            parts = singly
