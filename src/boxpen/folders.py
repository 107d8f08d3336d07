"""Where boxpen keeps what it need not fetch or compute twice."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_dir", "default_cache"]


def cache_dir() -> Path:
    """Return the folder of downloads and scores: ``BOXPEN_CACHE``, or the user's cache folder."""
    named = os.environ.get("BOXPEN_CACHE")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("boxpen")


def default_cache() -> Path:
    """Return the score cache that is used when none is named."""
    return cache_dir() / "scores.sqlite"
