"""Whether the Python code that some checkpoints bring along may run: only if you say so.

Only a person can: with ``--trust-remote-code`` on the command line, ``trust_remote_code=True`` in
Python, or the environment variable. No file can: not a plan, a gate, a build or a unit of work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["TRUST", "brings_code", "code_of", "foreign_attention", "refused", "trusted", "trusting"]

TRUST = "BOXPEN_TRUST_REMOTE_CODE"
"""The environment variable; workers of this machine inherit it."""

_WAY_OUT = (
    "it needs Python code from the checkpoint, which boxpen does not run; read that code, and if "
    "you trust it, give --trust-remote-code (in Python: trust_remote_code=True)"
)


def trusted() -> bool:
    """Return whether this process may run code of checkpoints."""
    return os.environ.get(TRUST) == "1"


@contextlib.contextmanager
def trusting() -> Iterator[None]:
    """Let this process, and the workers that it starts meanwhile, run code of checkpoints."""
    before = os.environ.get(TRUST)
    os.environ[TRUST] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(TRUST, None)
        else:
            os.environ[TRUST] = before


def brings_code(config: Any, tokenizer: Any = None) -> bool:
    """Return whether a checkpoint names code, for the model or the tokenizer."""
    return bool(_auto_map(config) or _auto_map(tokenizer) or foreign_attention(config))


def code_of(auto: str, config: Any, tokenizer: Any) -> list[str]:
    """Return the classes of its own that a checkpoint is loaded with, as ``auto_map`` names them.

    Args:
        auto: The Auto class of its model.
        config: Its configuration.
        tokenizer: Its tokenizer.
    """
    classes = (
        _named(config, "AutoConfig"),
        _named(config, auto),
        _named(tokenizer, "AutoTokenizer"),
    )
    return sorted({name for named in classes for name in named})


def foreign_attention(config: Any) -> str | None:
    """Return why to refuse a configuration whose attention is code from another repository."""
    wanted = getattr(config, "_attn_implementation", None)
    if isinstance(wanted, str) and "/" in wanted:
        return (
            f"its config.json has the attn_implementation {wanted!r}, which is code from another "
            "repository; remove it"
        )
    parts = (getattr(config, name, None) for name in getattr(config, "sub_configs", ()))
    return next(
        (why for part in parts if part is not None and (why := foreign_attention(part))), None
    )


def refused(error: BaseException) -> str | None:
    """Return what to say if this error of Transformers means that code was not run."""
    return _WAY_OUT if "trust_remote_code" in str(error) else None


def _auto_map(part: Any) -> Any:
    """Return what a configuration or a tokenizer has for ``auto_map``; {} if nothing."""
    settings = getattr(part, "init_kwargs", None)
    found = settings.get("auto_map") if isinstance(settings, Mapping) else None
    return found or getattr(part, "auto_map", None) or {}


def _named(part: Any, auto: str) -> list[str]:
    """Return the classes for an Auto class; a tokenizer may have two, or just a list of them."""
    found = _auto_map(part)
    found = found.get(auto) if isinstance(found, Mapping) else found
    names = found if isinstance(found, list | tuple) else [found]
    return [name for name in names if isinstance(name, str)]
