"""Labels that two readers gave to the items of a published suite: ids and labels, no texts."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib import resources

__all__ = ["Labels", "read_labels"]

Labels = dict[str, dict[str, tuple[str, str]]]
"""The labels of both readers, by item and tag."""


def read_labels(file: str, tags: Iterable[str]) -> Labels:
    """Read the labels of a file in ``data``, whose columns are ``id`` and, per tag, two readers.

    Args:
        file: Its name.
        tags: The tags; that of the columns ``steps_a`` and ``steps_b`` is ``steps``.
    """
    text = resources.files("boxpen.catalog").joinpath("data", file).read_text("utf-8")
    names = list(tags)
    return {
        row["id"]: {tag: (row[f"{tag}_a"], row[f"{tag}_b"]) for tag in names}
        for row in csv.DictReader(text.splitlines())
    }
