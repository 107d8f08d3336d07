"""Suppress output of Transformers and the hub while they load and save."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from boxpen.refcounted import refcounted

__all__ = ["quiet"]

_CRITICAL = 50


@contextlib.contextmanager
def quiet(*, silent: bool = True) -> Iterator[None]:
    """Temporarily suppress progress bars and warnings about new heads, loading and saving.

    Log levels, bars and stderr are shared by all threads: they are restored when the last exits.

    Args:
        silent: Whether nothing at all is let through to stderr; some bars heed no setting.
    """
    with _few_words(), _no_stderr() if silent else contextlib.nullcontext():
        yield


@refcounted
@contextlib.contextmanager
def _few_words() -> Iterator[None]:
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging

    levels = logging.get_verbosity(), hub_logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    hub_logging.set_verbosity(_CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(levels[0])
        hub_logging.set_verbosity(levels[1])
        if bars:
            logging.enable_progress_bar()


@refcounted
@contextlib.contextmanager
def _no_stderr() -> Iterator[None]:
    with contextlib.redirect_stderr(io.StringIO()):
        yield
