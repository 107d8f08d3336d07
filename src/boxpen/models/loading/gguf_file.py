"""Faster reading of GGUF files, with the same result.

The reader of the package ``gguf`` splits a vocabulary into a quarter of a million slices of a
memory map, each of which is a memory map again. And Transformers rebuilds the table of all tensor
names for each part of a module. Both are patched while a file is read.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from boxpen.refcounted import refcounted

__all__ = ["read_fast"]


@refcounted
@contextlib.contextmanager
def read_fast() -> Iterator[None]:
    """Let ``gguf`` cut plain arrays and make each table of names once, in all threads."""
    try:
        import gguf
    except ImportError:  # Transformers says what is missing
        yield
        return
    module: Any = gguf
    reader, table = module.GGUFReader, module.get_tensor_name_map

    class Reader(reader):  # type: ignore[misc, valid-type]
        data: Any

        def _get(self, *args: Any, **options: Any) -> Any:
            if isinstance(self.data, np.memmap):
                self.data = self.data.view(np.ndarray)
            return super()._get(*args, **options)

    module.GGUFReader, module.get_tensor_name_map = Reader, functools.cache(table)
    try:
        yield
    finally:
        module.GGUFReader, module.get_tensor_name_map = reader, table
