"""The settings of a run as one value: from the options of a command, or a table of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from boxpen.config import AtLeast1, ConfigPath, Convert
from boxpen.errors import ConfigError, ModelError
from boxpen.items import Suite
from boxpen.matrix.patterns import expanded, placed
from boxpen.models.base import Model
from boxpen.plans import READING_JUDGE, Plan, plan
from boxpen.sampling import QUICK
from boxpen.scoring.policy import (
    Bos,
    Context,
    Dtype,
    Eos,
    Nli,
    Norm,
    Pll,
    Precision,
    Ties,
)

__all__ = ["RunSettings"]

Note = Callable[[str], None]


def _name(value: object, folder: Path) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("expected a name or a path")
    return placed(value, folder)


def _names(value: object, folder: Path) -> tuple[str, ...]:
    names = value if isinstance(value, list) and value else [value]
    checked: list[Any] = [one for one in names if _name(one, folder)]
    return tuple(dict.fromkeys(each for one in checked for each in expanded(one, folder)))


def _recipes(value: object, _: Path) -> tuple[str, ...]:
    names = value if isinstance(value, list) and value else [value]
    if not all(isinstance(one, str) and one for one in names):
        raise ValueError("expected the name of a recipe")
    return tuple(dict.fromkeys(names))


Name = Annotated[str, Convert(_name)]
"""A name as commands take it; a path starts from the folder of the file."""
Names = Annotated[tuple[str, ...], Convert(_names)]
"""One or several names or patterns; see ``boxpen.matrix.patterns``."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Which models are evaluated on which suites, and how: the options of ``boxpen run``.

    Attributes:
        suite: Suites; a quick sample of ``starter`` if there is none.
        bleu: Whether to translate too; only translation models do if None.
        out: Folder for run directories.
    """

    suite: Names = ()
    model: Names = ("smollm2",)
    recipe: Annotated[tuple[str, ...], Convert(_recipes)] = ("sound",)
    template: str | None = None
    labels: str | None = None
    judge: Name | None = None
    limit: AtLeast1 | None = None
    seed: int = 0
    full: bool = False
    bleu: bool | None = None
    check_languages: bool = True
    cache: Name | None = None
    max_cost: Annotated[float, Ge(0)] | None = None
    out: ConfigPath = Path("runs")
    norm: Norm | None = None
    bos: Bos | None = None
    eos: Eos | None = None
    pll: Pll | None = None
    ties: Ties | None = None
    nli: Nli | None = None
    dtype: Dtype | None = None
    precision: Precision | None = None
    max_length: int | None = None
    context: Context | None = None
    device: str | None = None
    batch_size: AtLeast1 | None = None
    token_budget: AtLeast1 | None = None
    deterministic: bool = False

    def __post_init__(self) -> None:
        if self.full and (self.suite or self.limit is not None):
            raise ConfigError("full only works without suite and limit; leave it out")
        if self.judge is not None and "generate" not in self.recipe:
            recipes = ", ".join(self.recipe)
            raise ConfigError(f"judge only applies to the recipe generate, not to {recipes}")

    @property
    def quick(self) -> bool:
        """Whether only a quick sample of starter is run."""
        return not self.suite and self.limit is None and not self.full

    def plans(self, note: Note) -> list[Plan]:
        """Check everything that can be checked before anything is scored, and plan.

        Args:
            note: Called with what the user should know.

        Raises:
            BoxpenError: If a suite, a model or a setting cannot be used.
        """
        # One judge for all models.
        judge = self.judge_model(note) if "generate" in self.recipe else None
        plans = []
        for name in dict.fromkeys(self.model):
            model = self.resolved(name, note)
            for suite in dict.fromkeys(self.suite or ("starter",)):
                plans += [self.plan(model, suite, recipe, judge) for recipe in self.recipe]
        if self.max_cost is not None:
            from boxpen.models.remote.served import limit_cost

            limit_cost([p.model for p in plans], self.max_cost)
        return plans

    def smaller(self, planned: Plan, limit: int) -> Plan:
        """Return the same plan for a smaller sample, which is part of the larger one."""
        return replace(self, limit=limit).plan(
            planned.model, planned.suite.name, self.recipe[0], planned.judge
        )

    def plan(self, model: Model, suite: str | Suite, recipe: str, judge: Any = None) -> Plan:
        """Plan one model on one suite with one recipe; the judge is for ``generate``."""
        names = ("template", "seed", "check_languages", "norm", "bos", "eos", "pll", "ties", "nli",
                 "dtype", "precision", "max_length", "context")  # fmt: skip
        settings: dict[str, Any] = {name: getattr(self, name) for name in names}
        settings["judge"] = judge if recipe == "generate" else None
        limit = QUICK if self.quick else self.limit
        return plan(model, suite, recipe=recipe, limit=limit, translate=self.bleu, **settings)

    def judge_model(self, note: Note) -> Model:
        """Return the model that judges translations."""
        return self._resolved(self.judge or READING_JUDGE, note)

    def resolved(self, name: str, note: Note) -> Model:
        """Return a model of these settings."""
        from boxpen.models.resolve import loads_float32

        fast = self.precision == "fast" and loads_float32(name)
        dtype = self.dtype or ("float32" if fast else None)
        return self._resolved(name, note, dtype=dtype, labels=self.labels)

    def _resolved(
        self, name: str, note: Note, dtype: Dtype | None = None, labels: str | None = None
    ) -> Model:
        from boxpen.catalog.files import FORMATS
        from boxpen.catalog.registry import is_suite
        from boxpen.models.resolve import resolve_model, shadowed_by_preset

        if shadowed := shadowed_by_preset(name):
            note(shadowed)
        try:
            return resolve_model(
                name,
                dtype=dtype or "auto",
                labels=labels,
                device=self.device,
                batch_size=self.batch_size,
                token_budget=self.token_budget,
                deterministic=self.deterministic or None,
            )
        except ModelError:
            if is_suite(name) or Path(name).suffix.lower() in FORMATS:
                raise ModelError(
                    f"model '{name}' is a suite; name suites before --model, or with --suite"
                ) from None
            raise
