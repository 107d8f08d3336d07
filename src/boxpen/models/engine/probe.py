"""The self-check: does a decoder score a tree as it scores each path alone?

Most decoders of Transformers take position ids and a four-dimensional mask. Some take them and
heed something else: ALiBi counts places in the row, a state-space model knows no mask, a sliding
window is forgotten. So a few made-up sequences are scored both ways before the first pack is run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.errors import ModelError
from boxpen.models.engine.memory import out_of_memory
from boxpen.models.engine.packed import PackedDecoder
from boxpen.models.engine.packs import Reading, packs
from boxpen.scoring.tree import Tree

if TYPE_CHECKING:
    import torch

__all__ = ["counts_along_the_row", "fault", "scales_by_length", "tolerance", "window"]

_LONG = 24  # tokens of a probe
_NOISE = 4  # times what rounding alone does, before two scores count as different
_AT_MOST = 5  # times the tolerance: whatever differs more is not rounding


def fault(
    decoder: PackedDecoder,
    alone: Callable[[Sequence[int]], torch.Tensor],
    *,
    vocabulary: int,
    special: Collection[int],
    dtype: torch.dtype,
    stems: bool = False,
    start: int | None = None,
    **more: Any,
) -> str | None:
    """Return why a decoder cannot be run on packs, or None if it can.

    Args:
        decoder: To be tried.
        alone: Returns the logits of one sequence, run plainly.
        vocabulary: How many tokens there are.
        special: Tokens not to use.
        dtype: What the decoder computes in.
        stems: Whether to try a stem with rows below it, or a tree.
        start: The token that every sequence begins with, if there is one.
        **more: What the decoder is given besides.
    """
    probes = _probes(vocabulary, special, start)
    tokens = 8 * _LONG
    if stems:
        probes, tokens = probes[:1], _LONG // 2
    try:
        worst = noise = 0.0
        tree = Tree([probe.tokens for probe in probes])
        for pack in packs(probes, [(range(len(probes)), tree)], tokens, stems=stems):
            values = decoder.run(pack, chunk=7, **more).cpu().numpy()
            for member, found in zip(pack.members, np.split(values, pack.ends[:-1]), strict=True):
                expected = _expected(alone, probes[member])
                apart = np.abs(found - expected).max()
                worst = max(worst, float(apart) if np.isfinite(apart) else np.inf)
                # What stands after a sequence changes nothing of it but the rounding.
                again = _expected(alone, probes[member], after=probes[0].tokens)
                noise = max(noise, float(np.abs(again - expected).max()))
    except Exception as error:  # whatever an architecture may raise: it is run plainly then
        if out_of_memory(error):
            raise ModelError("not enough memory for the model and a few tokens") from None
        return f"it does not support tree masks ({type(error).__name__})"
    allowed = tolerance(dtype)
    if worst > max(allowed, min(_NOISE * noise, _AT_MOST * allowed)):
        return (
            f"scores in a tree differ from scores of single texts (by {worst:.2g} nats per token)"
        )
    return None


def tolerance(dtype: torch.dtype) -> float:
    """Return by how many nats two ways to compute a token's log-probability may differ."""
    import torch

    return 5e-4 if dtype == torch.float32 else 0.2


def window(config: Any) -> int | None:
    """Return the length beyond which a text cannot be part of a tree, if there is one.

    Beyond a sliding window a decoder no longer sees its whole past. Beyond the length that it was
    trained on first, some scale their rotary embeddings by the longest text of the batch.
    """
    text = config.get_text_config(decoder=True)
    sizes = []
    kinds = getattr(text, "layer_types", None)
    if kinds is None or any(kind != "full_attention" for kind in kinds):
        sizes += [getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")]
    if scales_by_length(config):
        rope = _rope(text)
        sizes += [
            rope.get("original_max_position_embeddings"),
            getattr(text, "original_max_position_embeddings", None),
        ]
        if not any(isinstance(size, int) for size in sizes):
            sizes.append(getattr(text, "max_position_embeddings", None))
    return min((s for s in sizes if isinstance(s, int) and s > 0), default=None)


def scales_by_length(config: Any) -> bool:
    """Whether rotary embeddings depend on the longest text of the batch."""
    rope = _rope(config.get_text_config(decoder=True))
    return rope.get("rope_type", rope.get("type")) in ("longrope", "dynamic", "su")


def counts_along_the_row(config: Any) -> bool:
    """Whether a window of attention is counted in places of the row (GPT-Neo)."""
    return "local" in (getattr(config, "attention_layers", None) or ())


def _rope(text: Any) -> dict[str, Any]:
    found = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)
    return found if isinstance(found, dict) else {}


def _probes(vocabulary: int, special: Collection[int], start: int | None) -> list[Reading]:
    """Make sequences that share beginnings of several lengths; one begins another."""
    usable = [i for i in range(vocabulary) if i not in special] or list(range(vocabulary))
    drawn = np.random.default_rng(1960).choice(usable, size=5 * _LONG).tolist()
    trunk = drawn[:_LONG]
    if start is not None:
        trunk[0] = start
    rows = [trunk, trunk[:9]]
    for number, shared in enumerate((3, 9, 16, 0), start=1):
        shared = max(shared, start is not None)
        rows.append(trunk[:shared] + drawn[number * _LONG + shared : (number + 1) * _LONG])
    return [Reading(row[:-1], range(len(row) - 1), row[1:]) for row in rows]


def _expected(
    alone: Callable[[Sequence[int]], torch.Tensor], probe: Reading, after: Sequence[int] = ()
) -> Any:
    import torch

    with torch.inference_mode():
        logits = alone([*probe.tokens, *after])[: len(probe.tokens)]
        every = torch.log_softmax(logits.double(), dim=-1)  # (time, vocab)
        targets = torch.tensor(probe.targets, device=every.device)
        return every.gather(-1, targets[:, None])[:, 0].cpu().numpy()
