"""What a build has left as it is: pairs first, and then the items that are no pairs."""

from __future__ import annotations

from pathlib import Path

from boxpen.build.duals.propose import Unchanged, sentence_pairs
from boxpen.build.duals.rows import read_unchanged
from boxpen.build.duals.work import SOURCE, UNCHANGED

__all__ = ["left_unchanged"]


def left_unchanged(
    folder: Path, operation: str | None = None
) -> tuple[list[Unchanged], list[Unchanged]]:
    """Return the pairs that were left as they are, and the items that are no pairs.

    Args:
        folder: That of the build.
        operation: What was tried; everything if None.

    Raises:
        BuildError: If the build is not there, or is damaged.
        SuiteError: If its suite is.
    """
    from boxpen.catalog import read_suite

    found = read_unchanged(folder / UNCHANGED)
    pairs, _ = sentence_pairs(read_suite(folder / SOURCE))
    ids = {item.id for item in pairs}
    wanted = [one for one in found if operation is None or one.operation in ("", operation)]
    return [o for o in wanted if o.item in ids], [o for o in wanted if o.item not in ids]
