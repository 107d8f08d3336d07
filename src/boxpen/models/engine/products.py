"""float32 matrix products by oneDNN on AMD CPUs with AVX-512.

PyTorch multiplies float32 matrices with MKL, which is less than half as fast there as oneDNN.
PyTorch asks oneDNN for float32 products only where it may also round factors to bfloat16; whether
it does, on this CPU, is tried out.
"""

from __future__ import annotations

import contextlib
import functools
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from boxpen.refcounted import refcounted

__all__ = ["fast_products", "fast_products_used", "multiplies_bfloat16"]

_ROUNDING = 1e-5  # of float32, relative; bfloat16 is off by 1e-3
_SHAPES = ((1, 256, 256), (256, 256, 256), (1024, 1536, 576))  # thin, square, large


@contextlib.contextmanager
def fast_products(device_type: str) -> Iterator[None]:
    """Temporarily multiply float32 matrices as fast as the CPU can, without rounding factors.

    Meanwhile ``torch.get_float32_matmul_precision()`` raises in every thread, so keep it short.
    """
    with _by_onednn() if fast_products_used(device_type) else contextlib.nullcontext():
        yield


def fast_products_used(device_type: str) -> bool:
    """Whether float32 products on a device are oneDNN's."""
    return device_type == "cpu" and _gains()


def multiplies_bfloat16(device_type: str) -> bool:
    """Whether a device multiplies bfloat16 faster than float32."""
    if device_type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    # Of a CPU: AVX512-BF16 or AMX.
    told = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return device_type == "cpu" and any(bool(getattr(torch.cpu, name, bool)()) for name in told)


@functools.cache
def _gains() -> bool:
    """Whether oneDNN is faster than the default on this CPU, and as exact."""
    if not hasattr(_matmul(), "fp32_precision"):  # before PyTorch 2.9
        return False
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or _maker() != "AuthenticAMD":
        return False
    random = torch.Generator().manual_seed(1960)
    with torch.inference_mode(), _by_onednn():
        return all(_apart(*shape, random) < _ROUNDING for shape in _SHAPES)


def _apart(rows: int, inner: int, columns: int, random: torch.Generator) -> float:
    """Return how far a product is from the exact one, relative to its largest entry."""
    left = torch.randn(rows, inner, generator=random)
    right = torch.randn(inner, columns, generator=random)
    exact = left.double() @ right.double()
    return float((left @ right - exact).abs().max() / exact.abs().max())


def _matmul() -> Any:
    return getattr(torch.backends.mkldnn, "matmul", None)


def _maker() -> str:
    """Return the maker of the CPU as the CPU itself gives it, or nothing."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n"):
            if line.startswith("vendor_id"):
                return line.partition(":")[2].strip()
    return platform.processor().rpartition(", ")[2]  # of Windows


@refcounted
@contextlib.contextmanager
def _by_onednn() -> Iterator[None]:
    switch = _matmul()
    before = switch.fp32_precision
    if before == torch.backends.mkldnn.fp32_precision:
        before = "none"  # inherited: it goes on following the wider setting
    switch.fp32_precision = "bf16"
    try:
        yield
    finally:
        switch.fp32_precision = before
