"""Which models can rank what rules make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from boxpen.errors import BuildError

if TYPE_CHECKING:
    from boxpen.models.base import Model

__all__ = ["check_ranker"]

_KINDS = ("causal", "masked", "permuted")


def check_ranker(model: Model, ranked: str) -> None:
    """Refuse a model of a kind that does not rank.

    Args:
        model: That is to rank.
        ranked: What, in the plural.

    Raises:
        BuildError: If it is of another kind.
    """
    if model.kind not in _KINDS:
        *others, last = _KINDS
        raise BuildError(
            f"{model.short} is of the kind {model.kind}, {ranked} are ranked by a language model "
            f"of the kind {', '.join(others)} or {last}"
        )
