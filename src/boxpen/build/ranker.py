"""Which models can rank what rules make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boxpen.errors import BuildError

if TYPE_CHECKING:
    from boxpen.models.base import Model

__all__ = ["check_ranker"]

_KINDS = ("causal", "masked", "permuted")


def check_ranker(model: Model, ranked: str) -> None:
    """Raise a ``BuildError`` for a model that cannot rank; ``ranked`` is a noun in the plural."""
    if model.kind not in _KINDS:
        *others, last = _KINDS
        raise BuildError(
            f"{model.short} is of the kind {model.kind}, {ranked} are ranked by a language model "
            f"of the kind {', '.join(others)} or {last}"
        )
