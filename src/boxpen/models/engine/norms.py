"""RMSNorm in one kernel instead of six, each of which reads and writes all hidden states."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from boxpen.models.engine.head import replaced

if TYPE_CHECKING:
    import torch

__all__ = ["fused_norms", "norms_of"]

Norm = tuple[Any, Callable[["torch.Tensor"], "torch.Tensor"]]


def norms_of(module: Any) -> list[Norm]:
    """Return the norms of a module that PyTorch's own RMSNorm equals, each with that one."""
    import torch

    found: list[Norm] = []
    for part in module.modules():
        weight = getattr(part, "weight", None)
        epsilon = getattr(part, "variance_epsilon", getattr(part, "eps", None))
        if not type(part).__name__.endswith("RMSNorm") or weight is None or epsilon is None:
            continue
        fused = partial(
            torch.nn.functional.rms_norm, normalized_shape=(len(weight),), weight=weight,
            eps=epsilon,
        )  # fmt: skip
        probe = torch.linspace(-3, 3, 4 * len(weight), dtype=weight.dtype, device=weight.device)
        probe = probe.view(4, -1)
        with torch.inference_mode():
            # Some add one to their weights, and are left as they are.
            if torch.allclose(part(probe), fused(probe), rtol=1e-2, atol=1e-6):
                found.append((part, fused))
    return found


@contextlib.contextmanager
def fused_norms(norms: Sequence[Norm]) -> Iterator[None]:
    """Temporarily use PyTorch's own norms."""
    with contextlib.ExitStack() as stack:
        for part, fused in norms:
            stack.enter_context(replaced(part, fused))
        yield
