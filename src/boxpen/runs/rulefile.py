"""The table ``[[rule]]`` of a gate file (see docs/how-to/evaluate/gate.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, Lt

from boxpen.errors import ConfigError
from boxpen.runs.rules import Rule, Test

__all__ = ["RuleTable"]

_BOUNDS = ("min", "max", "no_worse_than_baseline")


@dataclass(frozen=True, kw_only=True)
class RuleTable:
    """A rule as a file states it."""

    metric: str
    suite: str | None = None
    model: str | None = None
    slice: str = "all"
    min: float | None = None
    max: float | None = None
    no_worse_than_baseline: bool | None = None
    by: Annotated[float, Ge(0)] | None = None
    test: Test | None = None
    alpha: Annotated[float, Gt(0), Lt(1)] | None = None

    def __post_init__(self) -> None:
        bounds = [name for name in _BOUNDS if getattr(self, name) is not None]
        if len(bounds) != 1:
            found = " and ".join(bounds) or "none"
            raise ConfigError(f"found {found} of {', '.join(_BOUNDS)}, expected one of them")
        if self.slice != "all" and not all(self.slice.partition("=")):
            raise ConfigError(f"slice is '{self.slice}', expected 'all' or 'tag=value'")
        if self.no_worse_than_baseline is False:
            raise ConfigError("no_worse_than_baseline is false, expected true or no such key")
        for name in ("by", "test", "alpha"):
            if getattr(self, name) is not None and not self.no_worse_than_baseline:
                raise ConfigError(f"{name} is set, but applies to no_worse_than_baseline only")
        if self.test == "paired" and self.metric != "accuracy":
            raise ConfigError(
                f"test is 'paired', but metric is '{self.metric}', expected 'accuracy': only that "
                "is decided item by item"
            )
        if self.alpha is not None and self.test != "paired":
            raise ConfigError("alpha is set, but applies to test = 'paired' only")

    def rule(self) -> Rule:
        """Return the rule."""
        names = ("metric", "suite", "model", "slice", "by", "test", "alpha")
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in given.items() if value is not None}
        if self.min is not None:
            return Rule(kind="min", bound=self.min, **given)
        if self.max is not None:
            return Rule(kind="max", bound=self.max, **given)
        return Rule(kind="baseline", **given)
