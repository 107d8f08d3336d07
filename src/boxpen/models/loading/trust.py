"""Whether the Python code that some checkpoints bring along may run: only if you say so.

Only a person can: with ``--trust-remote-code`` on the command line, ``trust_remote_code=True`` in
Python, or the environment variable. No file can: not a plan, a gate, a build or a unit of work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from boxpen.errors import ModelError

__all__ = ["TRUST", "brings_code", "refuse_kernels", "refused", "trusted", "trusting"]

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
    """Return whether a checkpoint names code of its own, for the model or the tokenizer."""
    settings = getattr(tokenizer, "init_kwargs", {})
    own = settings.get("auto_map") if isinstance(settings, Mapping) else None
    return bool(getattr(config, "auto_map", None) or own)


def refuse_kernels(config: Any, name: str) -> None:
    """Refuse a configuration whose attention is compiled code from another repository.

    Raises:
        ModelError: If it names one.
    """
    wanted = getattr(config, "_attn_implementation", None)
    if isinstance(wanted, str) and "/" in wanted and not trusted():
        raise ModelError(
            f"model '{name}': its config.json has the attn_implementation {wanted!r}, which is "
            "code from another repository; remove it, or give --trust-remote-code"
        )


def refused(error: BaseException) -> str | None:
    """Return what to say if this error of Transformers means that code was not run."""
    return _WAY_OUT if "trust_remote_code" in str(error) else None
