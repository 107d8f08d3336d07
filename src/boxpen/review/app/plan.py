"""The plan of a campaign: how many judges an item gets, and when it is finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boxpen.errors import BuildError

__all__ = ["Plan"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who is asked, and until when.

    Attributes:
        overlap: How many judges judge each item; all of them if None.
        until_agree: An item is finished when this many judges agree, and goes to further judges
            only as long as they do not; None: when ``overlap`` judges have judged it.
        max_judges: With ``until_agree``: most judges of an item.
        blind: Whether judges see no scores and hints, and adjudicators no names.
        sample: How many units to sample, the same for all judges; all if None.
        seed: Seed of samples, assignments and orders.
    """

    overlap: int | None = None
    until_agree: int | None = None
    max_judges: int | None = None
    blind: bool = False
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("overlap", "until_agree", "max_judges", "sample"):
            value = getattr(self, name)
            if value is not None and value < 1:
                option = name.replace("_", "-")
                raise BuildError(f"--{option} is {value}, expected 1 or more")
        if self.until_agree is None:
            if self.max_judges is not None:
                raise BuildError("--max-judges needs --until-agree, which says when to stop")
            return
        if self.overlap is not None:
            raise BuildError(
                "--overlap and --until-agree cannot be combined: --until-agree 2 asks two judges, "
                "and a third only where they differ"
            )
        if self.max_judges is not None and self.max_judges < self.until_agree:
            raise BuildError(
                f"--max-judges is {self.max_judges}, expected --until-agree ({self.until_agree}) "
                "or more"
            )

    def needed(self, votes: Mapping[Any, int], free: int) -> int:
        """Return how many more judges an item needs.

        Args:
            votes: How many judges gave each verdict, including those who are not asked any more.
            free: How many others can be asked.
        """
        given = sum(votes.values())
        needed = free
        if self.overlap is not None:
            needed = self.overlap - given
        elif self.until_agree is not None:
            needed = self.until_agree - max(votes.values(), default=0)
            if self.max_judges is not None:
                needed = min(needed, self.max_judges - given)
        return max(0, min(needed, free))

    def __str__(self) -> str:
        if self.until_agree is not None:
            most = f", by at most {self.max_judges} judges" if self.max_judges else ""
            return f"an item is finished when {self.until_agree} judges agree{most}"
        if self.overlap is not None:
            return f"each item is judged by {self.overlap} of the judges"
        return "every judge judges every item"
