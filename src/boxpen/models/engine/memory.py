"""Token budgets: based on free memory, and halved when memory runs out."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from boxpen.ahead import Ahead, Turns, ahead
from boxpen.errors import ModelError

if TYPE_CHECKING:
    import torch

__all__ = ["Budget", "budget_for", "give_back", "out_of_memory", "usual_tokens", "within"]

Part = TypeVar("Part")
Member = TypeVar("Member")
Result = TypeVar("Result")
Split: TypeAlias = Callable[[Sequence[Member], int], Iterable[tuple[Sequence[Member], int, Part]]]

_CPU_TOKENS = 1024  # beyond this a CPU's caches overflow, and it slows down
_GPU_TOKENS = 16384
_SHARE = 0.25  # of the free memory that one batch may take
_LIVE = 16  # hidden states and as many inner ones alive at a time, generously
_LEAST = 8  # tokens; if not even so many fit, none will
_RAISE = 32  # batches without trouble after which a halved budget is doubled again


class Budget:
    """Tokens of a batch, padding included: halved when memory runs out, raised again later.

    Args:
        tokens: To begin with, and at most.
        fixed: Whether it must not change, since scores depend on batches bit by bit.
    """

    def __init__(self, tokens: int, *, fixed: bool = False) -> None:
        self.tokens = tokens
        self._fixed = fixed
        self._most = tokens
        self._quiet = 0

    @property
    def lowered(self) -> bool:
        """Whether it is lower than at first."""
        return self.tokens < self._most

    def halve(self, size: int) -> None:
        """Note that a batch of this size did not fit.

        Raises:
            ModelError: If the budget must not change.
        """
        if self._fixed:
            raise ModelError(
                f"a batch of {size} tokens does not fit in memory, and deterministic mode cannot "
                "split batches; lower --token-budget or --max-length"
            )
        self.tokens = max(1, min(self.tokens, size) // 2)
        self._quiet = 0

    def fitted(self) -> None:
        """Note that a batch fitted."""
        self._quiet += 1
        if self._quiet >= _RAISE and self.tokens < self._most:
            self.tokens = min(self._most, self.tokens * 2)
            self._quiet = 0


def budget_for(config: Any, device: torch.device, itemsize: int) -> int:
    """Choose a token budget from the free memory and the model's width.

    The output layer is evaluated in tiles of a bounded size, so its vocabulary takes no part.
    """
    text = config.get_text_config(decoder=True)
    sizes = [
        value
        for name in ("hidden_size", "d_model", "n_embd", "intermediate_size", "d_ff", "d_inner",
                     "encoder_ffn_dim", "decoder_ffn_dim", "n_inner")
        if isinstance(value := getattr(text, name, None), int)
    ]  # fmt: skip
    width = max(sizes, default=1024)
    most = usual_tokens(device.type)
    fits = int(_SHARE * free_memory(device) / (_LIVE * width * itemsize))
    return max(64, min(most, fits // 64 * 64))


def usual_tokens(device_type: str) -> int:
    """Return the token budget of a kind of device with more memory than it needs."""
    return _GPU_TOKENS if device_type == "cuda" else _CPU_TOKENS


def free_memory(device: torch.device) -> int:
    """Return the bytes that are free on a device; a container's own limit counts."""
    if device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    known = []
    limit, used = (_number(Path("/sys/fs/cgroup") / n) for n in ("memory.max", "memory.current"))
    if limit is not None and used is not None:
        known.append(max(0, limit - used))
    try:
        told = Path("/proc/meminfo").read_text("ascii")
    except OSError:  # not a Linux: half of all there is, if that can be found out
        with contextlib.suppress(AttributeError, ValueError, OSError):
            known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    else:
        known += [int(kib) * 1024 for kib in re.findall(r"MemAvailable:\s*(\d+) kB", told)]
    return min(known, default=1 << 30)


def within(
    budget: Budget,
    first: Callable[[int], Iterable[tuple[Sequence[Member], int, Part]]],
    split: Split[Member, Part],
    run: Callable[[Part], Result],
    *,
    turns: Turns | None = None,
) -> Iterator[tuple[Sequence[Member], Result]]:
    """Run members in parts under a budget that gives way when memory runs out.

    Args:
        budget: Shared by all that is run on a device.
        first: Cuts all there is into parts for a budget; yields the members of each, its size in
            tokens, and what ``run`` takes. It works ahead, in another thread.
        split: Does so with some members.
        run: Runs one part.
        turns: Which it takes with that thread, if any.

    Raises:
        ModelError: If even a single member does not fit.
    """
    planned = budget.tokens
    # Started here, and not when the first result is asked for.
    parts = ahead(first(planned), turns=turns)
    return _run_parts(parts, planned, budget, split, run, turns)


def _run_parts(
    parts: Ahead[tuple[Sequence[Member], int, Part]],
    planned: int,
    budget: Budget,
    split: Split[Member, Part],
    run: Callable[[Part], Result],
    turns: Turns | None,
) -> Iterator[tuple[Sequence[Member], Result]]:
    with contextlib.closing(parts):
        for few, size, part in parts:
            if size <= budget.tokens or planned <= budget.tokens:  # not halved since
                try:
                    with turns.first() if turns else contextlib.nullcontext():
                        result = run(part)
                except (RuntimeError, MemoryError) as error:
                    if not out_of_memory(error):
                        raise
                else:
                    budget.fitted()
                    yield few, result
                    continue
                if budget.tokens <= _LEAST:
                    raise ModelError(
                        f"a single text of {size} tokens does not fit in memory; lower "
                        "--max-length to truncate it"
                    )
                # Outside of the handler, which would keep alive what the failed run had made.
                budget.halve(size)
                give_back()
            again = functools.partial(split, few)
            yield from within(budget, again, split, run, turns=turns)


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory ran out."""
    import torch

    return (
        isinstance(error, (torch.OutOfMemoryError, MemoryError))
        or "can't allocate memory" in str(error)  # the allocator of the CPU
        or "out of memory" in str(error)
        or "ALLOC_FAILED" in str(error)  # of cuBLAS
    )


def give_back() -> None:
    """Free memory that nothing uses any more, on all devices."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _number(path: Path) -> int | None:
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
