"""Samples of suites in words: how many items were drawn, and from how many."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["sample_note"]


def sample_note(about_suite: Mapping[str, Any]) -> str:
    """Return ``sample of 100 of 4,830, seed 0``, or nothing for a whole suite.

    Args:
        about_suite: What ``run.json`` says about the suite; its ``sample`` is ``100/4830@0``.
    """
    sample = about_suite.get("sample")
    if not sample:
        return ""
    parts = re.fullmatch(r"(\d+)/(\d+)@(\d+)", str(sample))
    if parts is None:
        return f"sample {sample}"
    size, whole, seed = map(int, parts.groups())
    return f"sample of {size:,} of {whole:,}, seed {seed}"
