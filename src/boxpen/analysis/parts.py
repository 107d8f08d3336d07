"""A suite divided by a tag."""

from __future__ import annotations

from boxpen.errors import SuiteError, nearest
from boxpen.items import Suite

__all__ = ["parts"]


def parts(suite: Suite, tag: str) -> dict[str, Suite]:
    """Return the suite of every value of a tag, in order of first appearance.

    Raises:
        SuiteError: If no item has the tag.
    """
    values = suite.tag_values()
    if tag not in values:
        known = nearest(tag, list(values)) if values else "it has no tags at all"
        raise SuiteError(f"suite '{suite.name}' has no tag '{tag}', {known}")
    return {value: suite.where(**{tag: value}) for value in values[tag]}
