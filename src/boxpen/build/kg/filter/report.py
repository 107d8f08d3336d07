"""What a filter took away: how many triples, at which step, of which relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["FilterReport", "dropped_schema"]


@dataclass(frozen=True)
class FilterReport:
    """How many triples came in, stayed, and went at each step.

    Attributes:
        rows: How many came in.
        kept: How many stayed.
        steps: How many went, by step in the order of the steps, and by relation.
        kept_by_relation: How many stayed, by relation.
        absent: Relations that were asked for and that the graph does not have.
    """

    rows: int
    kept: int
    steps: Mapping[str, Mapping[str, int]]
    kept_by_relation: Mapping[str, int] = field(default_factory=dict)
    absent: tuple[str, ...] = ()

    @property
    def totals(self) -> dict[str, int]:
        """How many went, by step."""
        return {step: sum(by.values()) for step, by in self.steps.items()}

    def as_dict(self) -> dict[str, object]:
        """Return this report as plain values, for JSON."""
        return {
            "rows": self.rows,
            "kept": self.kept,
            "dropped": self.totals,
            "dropped_by_relation": {step: dict(by) for step, by in self.steps.items() if by},
            "kept_by_relation": dict(self.kept_by_relation),
            "absent": list(self.absent),
        }

    def __str__(self) -> str:
        taken = ", ".join(f"{step} {count:,}" for step, count in self.totals.items() if count)
        return f"{self.rows:,} triples, {self.kept:,} kept; dropped: {taken or 'none'}"


def dropped_schema() -> dict[str, Any]:
    """Return the columns of a table of dropped triples with their Polars types."""
    import polars as pl

    from boxpen.build.kg.triples import schema

    return schema() | {"step": pl.String, "reason": pl.String}
