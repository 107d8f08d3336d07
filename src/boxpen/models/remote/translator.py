"""Translators behind HTTP: any server that takes a text and answers with JSON.

- ``translator:FILE.toml``: as the file says.
- ``translator:deepl``: DeepL, with the key ``DEEPL_API_KEY``.
- ``translator:libretranslate#URL``: LibreTranslate, with the key ``LIBRETRANSLATE_API_KEY`` if set.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from boxpen.config import AtLeast1, load_config
from boxpen.errors import ConfigError, ModelError
from boxpen.models.base import ModelSpec, ResolvedPolicy
from boxpen.models.remote.client import Call, Client, UnansweredError
from boxpen.models.remote.served import ServedModel
from boxpen.models.remote.settings import Price, ServerSettings, filled, unusable
from boxpen.scoring.policy import ScoringPolicy

__all__ = [
    "HttpTranslator",
    "TranslatorSettings",
    "from_translator",
    "translator_settings",
    "try_translator",
]

_FIELD = re.compile(r"\{(source|source_language|target_language|context)\}|\$(\w+)")
_TRY = "The box is in the pen."
_DEEPL = "https://api.deepl.com"
_DEEPL_FREE = "https://api-free.deepl.com"


@dataclass(frozen=True, kw_only=True)
class TranslatorSettings(ServerSettings):
    """How to ask a translator; the keys of ``translator:FILE.toml``.

    Attributes:
        body: What to send. In its strings, ``{source}``, ``{source_language}``,
            ``{target_language}`` and ``{context}`` are replaced, and ``$NAME`` with an environment
            variable. A list with ``{source}`` in it is repeated for every text of a batch.
        result: Where the translation is in the answer: keys and numbers with dots between them, as
            in ``data.0.text``; ``*`` for every element of a list.
        method: ``GET`` sends the body as a query.
        batch: Texts per request.
        languages: The translator's own names for languages, by two-letter code.
        target_languages: The same, for target languages only.
        price: Price of a million characters.
    """

    body: dict[str, Any] | list[Any]
    result: str
    method: Literal["POST", "GET"] = "POST"
    batch: AtLeast1 = 1
    languages: Mapping[str, str] = field(default_factory=dict)
    target_languages: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None

    any_json: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        used = {name or f"${key}" for name, key in _FIELD.findall(json.dumps(self.body))}
        if "source" not in used:
            raise ValueError("body must contain {source}")
        if self.method == "GET" and any(name.startswith("$") for name in used):
            raise ValueError("body must not contain a key if method is GET; use a header")
        if self.method == "GET" and not isinstance(self.body, dict):
            raise ValueError("body must be a table if method is GET")
        if self.batch > 1 and not _repeats(self.body):
            raise ValueError('body must have {source} in a list, as in ["{source}"], for batches')
        if self.batch > 1 and "context" in used:
            raise ValueError("body must not contain {context} if texts are sent in batches")
        steps = self.result.split(".")
        if not all(steps) or steps.count("*") > 1 or (self.batch > 1 and "*" not in steps):
            raise ValueError(
                f"result is '{self.result}', expected keys and numbers with dots between them"
                + (" and one *" if self.batch > 1 else "")
            )

    @property
    def in_query(self) -> bool:
        """Whether what is sent becomes the query of a GET."""
        return self.method == "GET"

    @property
    def reads_context(self) -> bool:
        """Whether the text before a source is sent."""
        return "{context}" in json.dumps(self.body)

    @property
    def priced(self) -> bool:
        """Whether the price of a character is known."""
        return self.price is not None

    def cost(self, sent: int, made: int) -> float:  # noqa: ARG002
        """Return the price of the characters that are sent."""
        return (self.price or 0) * sent / 1e6

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold keys, in headers or in the body."""
        named = (key for _, key in _FIELD.findall(json.dumps(self.body)) if key)
        return tuple(dict.fromkeys((*super().variables, *named)))

    def filled_body(
        self, sources: Sequence[str], languages: tuple[str | None, str | None], context: str
    ) -> Any:
        """Return the body of a request."""
        codes = [self.languages.get(code or "", code or "") for code in languages]
        values = {
            "source_language": codes[0],
            "target_language": self.target_languages.get(languages[1] or "", codes[1]),
            "context": context,
        }
        return _filled(self.body, values, sources)

    def read(self, answer: Any, count: int) -> list[str]:
        """Return the translations of an answer.

        Raises:
            ValueError: If there are not as many as sources; the message says what was found.
        """
        found = [answer]
        for step in self.result.split("."):
            try:
                if step == "*":
                    (many,) = found
                    found = list(many) if isinstance(many, list) else [many][:0]
                else:
                    found = [one[int(step) if isinstance(one, list) else step] for one in found]
            except (KeyError, IndexError, TypeError, ValueError):
                raise ValueError(f"the answer has no {self.result}") from None
        texts = [one for one in found if isinstance(one, str)]
        if len(texts) != count or len(found) != count:
            raise ValueError(f"{len(texts)} translations came back for {count} texts")
        return texts


def from_translator(spec: ModelSpec) -> HttpTranslator:
    """Return the translator of ``translator:…``; nothing is sent yet.

    Raises:
        ModelError: If its name or its settings are not valid, or a key is missing.
    """
    if spec.dtype != "auto" or spec.device is not None:
        option = "--dtype" if spec.device is None else "--device"
        raise ModelError(f"{option} is up to the server of '{spec.name}'; leave it out")
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


def translator_settings(path: str) -> TranslatorSettings:
    """Return the settings for what follows ``translator:``.

    Raises:
        ModelError: If it is neither a preset nor a TOML file that is valid.
    """
    name, _, url = path.partition("#")
    if name in ("deepl", "libretranslate"):
        if url and (reason := unusable(url)):
            raise ModelError(f"the URL of a translator {reason}")
        return _deepl(url.rstrip("/")) if name == "deepl" else _libretranslate(url.rstrip("/"))
    if not path.endswith(".toml"):
        raise ModelError(
            f"translator '{path}' is unknown, expected deepl, libretranslate#URL or a TOML file"
        )
    try:
        return load_config(TranslatorSettings, Path(path).expanduser())
    except ConfigError as error:
        raise ModelError(f"model 'translator:{path}': {error}") from None


def _deepl(url: str) -> TranslatorSettings:
    key = os.environ.get("DEEPL_API_KEY", "").strip()
    if not key:
        raise ModelError("model 'translator:deepl' needs a key: set DEEPL_API_KEY")
    return TranslatorSettings(
        url=f"{url or (_DEEPL_FREE if key.endswith(':fx') else _DEEPL)}/v2/translate",
        headers={"Authorization": "DeepL-Auth-Key $DEEPL_API_KEY"},
        body={
            "text": ["{source}"],
            "source_lang": "{source_language}",
            "target_lang": "{target_language}",
        },
        result="translations.*.text",
        batch=25,  # 50 are allowed
        target_languages={"en": "en-US", "pt": "pt-PT"},
    )


def _libretranslate(url: str) -> TranslatorSettings:
    if not url:
        raise ModelError(
            "model 'translator:libretranslate' has no URL, expected translator:libretranslate#URL"
        )
    key = {"api_key": "$LIBRETRANSLATE_API_KEY"} if "LIBRETRANSLATE_API_KEY" in os.environ else {}
    return TranslatorSettings(
        url=f"{url}/translate",
        body={
            "q": "{source}",
            "source": "{source_language}",
            "target": "{target_language}",
            "format": "text",
            **key,
        },
        result="translatedText",
    )


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
        return re.sub(r"\.toml$", "", self.name.partition(":")[2].partition("#")[0]).rpartition(
            "/"
        )[2]

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
        """Translate in batches, yielding each as soon as it arrives."""
        del beam  # up to the server
        self.begin()
        for few, answer in self._answers(sources, languages, contexts):
            texts = [sources[i] for i in few]
            try:
                if isinstance(answer, UnansweredError):
                    raise ValueError(answer.reason)
                made = [" ".join(text.split()) for text in self.settings.read(answer, len(few))]
            except ValueError as error:
                self.unanswered.update((text, str(error)) for text in texts)
                continue
            self.unanswered.update(
                (source, "a translation is empty")
                for source, text in zip(texts, made, strict=True)
                if not text
            )
            self._fresh += len(few)
            yield [(i, text) for i, text in zip(few, made, strict=True) if text]

    def _answers(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],
        contexts: Sequence[str] | None,
    ) -> Iterator[tuple[range, Any]]:
        step = self.settings.batch

        def calls() -> Iterator[Call]:
            for start in range(0, len(sources), step):
                few = range(start, min(start + step, len(sources)))
                texts = [sources[i] for i in few]
                body = self.settings.filled_body(
                    texts, languages, contexts[start] if contexts else ""
                )
                yield Call("", body, sum(map(len, texts)), few)

        for call, answer in self.client.each(calls()):
            yield call.tag, answer


def _filled(template: Any, values: Mapping[str, str], sources: Sequence[str]) -> Any:
    """Fill in a template; a list with the source in it is repeated for every source."""
    if isinstance(template, dict):
        return {key: _filled(value, values, sources) for key, value in template.items()}
    if isinstance(template, list):
        if _has_source(template):
            return [_filled(one, values, [s]) for s in sources for one in template]
        return [_filled(one, values, sources) for one in template]
    if not isinstance(template, str):
        return template
    known = {**values, "source": sources[0]}
    return _FIELD.sub(lambda m: known[m[1]] if m[1] else filled(m[0]), template)


def _has_source(template: Any) -> bool:
    return "{source}" in json.dumps(template)


def _repeats(template: Any) -> bool:
    """Whether the source is in a list."""
    if isinstance(template, dict):
        return any(map(_repeats, template.values()))
    return isinstance(template, list) and _has_source(template)
