"""boxpen: does a language model, a classifier or a translation system have common sense?

    import boxpen
    suite = boxpen.load_suite("commonmt")
    run = boxpen.evaluate("hf:gpt2", suite)
    run.summary()

Names are imported when first used, so that ``import boxpen`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from boxpen.errors import (
    BoxpenError,
    CacheError,
    ModelError,
    PolicyError,
    RunError,
    ScoringError,
    SuiteError,
)
from boxpen.version import __version__

if TYPE_CHECKING:
    from boxpen.analysis.suites.audit import audit
    from boxpen.analysis.suites.stats import stats
    from boxpen.catalog import load_suite, read_suite, recipes_of, suite_names, write_suite
    from boxpen.catalog.lint.items import Finding, lint
    from boxpen.evaluate import evaluate
    from boxpen.items import Card, Choice, Entail, Item, Suite, Translate
    from boxpen.models.base import Model
    from boxpen.models.resolve import resolve_model
    from boxpen.runs.comparison import compare
    from boxpen.runs.run import Row, Run
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.policy import ScoringPolicy
    from boxpen.scoring.recipe import Recipe
    from boxpen.scoring.requests import Record, Request
    from boxpen.scoring.verdicts import Verdict

_HOMES = {
    "Card": "items",
    "Choice": "items",
    "Entail": "items",
    "Finding": "catalog.lint.items",
    "Item": "items",
    "Model": "models.base",
    "Recipe": "scoring.recipe",
    "Record": "scoring.requests",
    "Request": "scoring.requests",
    "Row": "runs.run",
    "Run": "runs.run",
    "ScoreCache": "scoring.cache",
    "ScoringPolicy": "scoring.policy",
    "Suite": "items",
    "Translate": "items",
    "Verdict": "scoring.verdicts",
    "audit": "analysis.suites.audit",
    "compare": "runs.comparison",
    "evaluate": "evaluate",
    "lint": "catalog.lint.items",
    "load_suite": "catalog",
    "read_suite": "catalog",
    "recipes_of": "catalog",
    "resolve_model": "models.resolve",
    "stats": "analysis.suites.stats",
    "suite_names": "catalog",
    "write_suite": "catalog",
}

__all__ = [
    "BoxpenError",
    "CacheError",
    "Card",
    "Choice",
    "Entail",
    "Finding",
    "Item",
    "Model",
    "ModelError",
    "PolicyError",
    "Recipe",
    "Record",
    "Request",
    "Row",
    "Run",
    "RunError",
    "ScoreCache",
    "ScoringError",
    "ScoringPolicy",
    "Suite",
    "SuiteError",
    "Translate",
    "Verdict",
    "__version__",
    "audit",
    "compare",
    "evaluate",
    "lint",
    "load_suite",
    "read_suite",
    "recipes_of",
    "resolve_model",
    "stats",
    "suite_names",
    "write_suite",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'boxpen' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"boxpen.{home}"), name)
    globals()[name] = value  # so that a module of the same name cannot take its place
    return value


def __dir__() -> list[str]:
    return __all__
