"""How HTTP translators are asked: TOML files, and presets for DeepL and LibreTranslate."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from boxpen.config import AtLeast1, load_config
from boxpen.errors import ConfigError, ModelError
from boxpen.models.remote.client import MismatchError
from boxpen.models.remote.settings import Price, ServerSettings, filled, unusable

__all__ = ["TranslatorSettings", "translator_settings"]

_FIELD = re.compile(r"\{(source|source_language|target_language|context)\}|\$(\w+)")
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
    def prices(self) -> tuple[float, float] | None:
        """Price of the characters that are sent, if it is known."""
        return None if self.price is None else (self.price, 0.0)

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
            MismatchError: If there are not as many as sources; the message gives the numbers.
        """
        found = [answer]
        for step in self.result.split("."):
            try:
                if step == "*":
                    (many,) = found
                    found = many if isinstance(many, list) else []
                else:
                    found = [one[int(step) if isinstance(one, list) else step] for one in found]
            except (KeyError, IndexError, TypeError, ValueError):
                raise MismatchError(f"the answer has no {self.result}") from None
        texts = [one for one in found if isinstance(one, str)]
        if len(texts) != count or len(found) != count:
            raise MismatchError(f"{len(texts)} translations came back for {count} texts")
        return texts


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
