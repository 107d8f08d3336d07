"""Names of models behind an API, and their settings.

- ``api:URL#MODEL``: any OpenAI-compatible server; the key, if any, is ``BOXPEN_API_KEY``.
- ``api:FILE.toml``: the same with prices, headers, limits or a tokenizer.
- ``openai:MODEL``: the server ``OPENAI_BASE_URL``, with the key ``OPENAI_API_KEY``.

A key is never part of a name. ``OPENAI_API_KEY`` is only sent where ``openai:`` points.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

from annotated_types import Ge

from boxpen.config import AtLeast1, ConfigPath, NotNegative, Positive, load_config
from boxpen.errors import ConfigError, ModelError

__all__ = ["ApiSettings", "settings_of"]

OPENAI = "https://api.openai.com/v1"
_EXAMPLE = "api:http://localhost:8000#MODEL"

Price = Annotated[float, Ge(0)]


@dataclass(frozen=True)
class ApiSettings:
    """How to reach a model behind an API; the keys of ``api:FILE.toml``.

    Attributes:
        url: Base URL, with or without ``/v1``.
        model: The server's name for the model; may be omitted if the server has only one.
        key_env: Environment variable that holds the key.
        headers: Additional headers; ``$NAME`` is replaced with an environment variable.
        prompt_price: Price of a million prompt tokens.
        completion_price: Price of a million completion tokens.
        concurrency: Maximum requests in flight.
        timeout: Seconds to wait for an answer.
        retries: How often to repeat a request that failed.
        tokenizer: Folder of the model's tokenizer (Transformers), if the server has no
            ``/tokenize``.
    """

    url: str
    model: str | None = None
    key_env: str = "BOXPEN_API_KEY"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prompt_price: Price | None = None
    completion_price: Price | None = None
    concurrency: AtLeast1 = 16
    timeout: Positive = 60.0
    retries: NotNegative = 5
    tokenizer: ConfigPath | None = None

    def __post_init__(self) -> None:
        # Neither message may quote the value: it might be a key.
        if not re.fullmatch(r"[A-Za-z_]\w*", self.key_env, re.ASCII):
            raise ValueError("key_env must be the name of an environment variable, not a key")
        reason = _unusable(self.url)
        if reason:
            raise ValueError(f"url {reason}")
        for name, value in self.headers.items():
            if not re.fullmatch(r"[\w-]+", name, re.ASCII) or not _is_plain(value):
                raise ValueError("headers must be plain ASCII")

    @property
    def base(self) -> str:
        """The URL, ending in ``/v1`` unless it already ends in a version."""
        url = self.url.rstrip("/")
        return url if re.search(r"/v\d\w*(/openai)?$", url) else f"{url}/v1"

    @property
    def root(self) -> str:
        """The URL without the version, where servers keep endpoints of their own."""
        return self.base.rpartition("/v")[0]

    @property
    def priced(self) -> bool:
        """Whether both prices are known."""
        return self.prompt_price is not None and self.completion_price is not None

    def cost(self, prompt: int, completion: int) -> float:
        """Return the price of some tokens; 0 if prices are unknown."""
        rates = (self.prompt_price or 0) * prompt + (self.completion_price or 0) * completion
        return rates / 1e6

    def secrets(self) -> dict[str, str]:
        """Return all headers of a request, with keys.

        Raises:
            ModelError: If an environment variable is not set, or its value cannot be a header.
        """
        found = {}
        if key := os.environ.get(self.key_env, "").strip():
            found["Authorization"] = f"Bearer {key}"
        for name, value in self.headers.items():
            found[name] = re.sub(r"\$(\w+)", lambda m: _variable(m[1]), value)
        for name, value in found.items():
            if not _is_plain(value):
                source = self.key_env if name == "Authorization" else f"header {name}"
                raise ModelError(f"{source} contains characters that a key cannot have")
        return found


def settings_of(spec: str) -> ApiSettings:
    """Return the settings for ``api:…`` or ``openai:…``.

    Raises:
        ModelError: If the name is not valid; a key that is part of it is not repeated.
    """
    scheme, _, rest = spec.partition(":")
    if scheme == "openai":
        if not rest:
            raise ModelError("model 'openai:' has no name, expected openai:MODEL")
        url, name = os.environ.get("OPENAI_BASE_URL") or OPENAI, rest
        if reason := _unusable(url):
            raise ModelError(f"OPENAI_BASE_URL {reason}")
        if url == OPENAI and not os.environ.get("OPENAI_API_KEY"):
            raise ModelError(f"model '{spec}' needs a key: set OPENAI_API_KEY")
        return ApiSettings(url=url, model=name, key_env="OPENAI_API_KEY")
    if rest.endswith(".toml") and "://" not in rest:
        try:
            return load_config(ApiSettings, Path(rest).expanduser())
        except ConfigError as error:
            raise ModelError(f"model 'api:{rest}': {error}") from None
    url, _, name = rest.partition("#")
    if reason := _unusable(url):
        raise ModelError(f"the URL of an api: model {reason}")
    return ApiSettings(url=url, model=name or None)


def _unusable(url: str) -> str | None:
    """Return what is wrong with a base URL, without quoting it."""
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        port_is_valid, parts = False, urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_valid:
        return f"must be http://HOST or https://HOST, as in {_EXAMPLE}"
    if parts.username is not None or parts.password is not None:
        return "contains a user name or a password; set BOXPEN_API_KEY instead"
    if parts.query or parts.fragment or "?" in url:
        return "contains a query, which might hold a key; set BOXPEN_API_KEY instead"
    if not _is_plain(url) or " " in urlunsplit(parts):
        return "contains spaces or characters other than ASCII"
    return None


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ModelError(f"a header needs the environment variable {name}, which is not set")
    return os.environ[name].strip()


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
