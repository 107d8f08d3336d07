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
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from annotated_types import Ge

from boxpen.config import AtLeast1, ConfigPath, NotNegative, Positive, load_config
from boxpen.errors import ConfigError, ModelError
from boxpen.models.encoded import ANSWER

__all__ = ["ApiSettings", "ServerSettings", "filled", "settings_of", "unusable"]

OPENAI = "https://api.openai.com/v1"
_EXAMPLE = "api:http://localhost:8000#MODEL"

_NAMED = re.compile(r"\$(\w+)")
_TAKEN = {"model", "messages", "max_tokens", "max_completion_tokens", "logprobs", "top_logprobs"}

Price = Annotated[float, Ge(0)]


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """How to reach a server; keys that all TOML files for servers share.

    Attributes:
        url: Where it is.
        headers: Additional headers; ``$NAME`` is replaced with an environment variable.
        concurrency: Maximum requests in flight.
        timeout: Seconds to wait for an answer.
        retries: How often to repeat a request that failed.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    concurrency: AtLeast1 = 16
    timeout: Positive = 60.0
    retries: NotNegative = 5

    any_json: ClassVar[bool] = False  # whether an answer may be a list

    def __post_init__(self) -> None:
        # No message may quote the value: it might be a key.
        if reason := unusable(self.url):
            raise ValueError(f"url {reason}")
        for name, value in self.headers.items():
            if not re.fullmatch(r"[\w-]+", name, re.ASCII) or not _is_plain(value):
                raise ValueError("headers must be plain ASCII")

    @property
    def base(self) -> str:
        """The URL that paths of requests are below."""
        return self.url

    @property
    def root(self) -> str:
        """Where a server keeps endpoints of its own."""
        return self.url

    @property
    def in_query(self) -> bool:
        """Whether what is sent becomes the query of a GET."""
        return False

    @property
    def priced(self) -> bool:
        """Whether the cost of a request is known."""
        return False

    def cost(self, sent: int, made: int) -> float:  # noqa: ARG002
        """Return the price of what was sent and made; 0 if prices are unknown."""
        return 0.0

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold keys."""
        return tuple(dict.fromkeys(n for v in self.headers.values() for n in _NAMED.findall(v)))

    def secrets(self) -> dict[str, str]:
        """Return all headers of a request, with keys.

        Raises:
            ModelError: If an environment variable is not set, or its value cannot be a header.
        """
        found = {name: filled(value) for name, value in self.headers.items()}
        for name, value in found.items():
            if not _is_plain(value):
                raise ModelError(f"header {name} contains characters that a key cannot have")
        return found


@dataclass(frozen=True, kw_only=True)
class ApiSettings(ServerSettings):
    """How to reach a model behind an API; the keys of ``api:FILE.toml``.

    Attributes:
        url: Base URL, with or without ``/v1``.
        model: The server's name for the model; may be omitted if the server has only one.
        key_env: Environment variable that holds the key.
        prompt_price: Price of a million prompt tokens.
        completion_price: Price of a million completion tokens.
        tokenizer: Folder of the model's tokenizer (Transformers), if the server has no
            ``/tokenize``.
        max_answer: Maximum tokens of an answer, including what a model thinks before it.
        extra: More fields of chat requests, such as ``reasoning_effort``.
    """

    model: str | None = None
    key_env: str = "BOXPEN_API_KEY"
    prompt_price: Price | None = None
    completion_price: Price | None = None
    tokenizer: ConfigPath | None = None
    max_answer: AtLeast1 = ANSWER
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", self.key_env, re.ASCII):
            raise ValueError("key_env must be the name of an environment variable, not a key")
        if taken := sorted(_TAKEN & self.extra.keys()):
            raise ValueError(f"extra must not have '{taken[0]}', which boxpen sets itself")
        super().__post_init__()

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

    def cost(self, sent: int, made: int) -> float:
        """Return the price of prompt and completion tokens; 0 if prices are unknown."""
        return ((self.prompt_price or 0) * sent + (self.completion_price or 0) * made) / 1e6

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that hold keys."""
        return (self.key_env,)

    def secrets(self) -> dict[str, str]:
        """Return all headers of a request, with keys; raise as for other servers."""
        key = os.environ.get(self.key_env, "").strip()
        if not _is_plain(key):
            raise ModelError(f"{self.key_env} contains characters that a key cannot have")
        return ({"Authorization": f"Bearer {key}"} if key else {}) | super().secrets()


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
        if reason := unusable(url):
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
    if reason := unusable(url):
        raise ModelError(f"the URL of an api: model {reason}")
    return ApiSettings(url=url, model=name or None)


def unusable(url: str) -> str | None:
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


def filled(template: str) -> str:
    """Replace every ``$NAME`` with an environment variable.

    Raises:
        ModelError: If one is not set.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise ModelError(f"the environment variable {match[1]} is needed and not set")
        return os.environ[match[1]].strip()

    return _NAMED.sub(value, template)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
