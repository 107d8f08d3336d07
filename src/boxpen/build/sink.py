"""Parquet files that grow frame by frame, in little memory, and appear whole or not at all."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from boxpen.errors import BuildError
from boxpen.failures import reason, refusals
from boxpen.files import temporary

__all__ = ["ParquetSink"]

_WAITING = 2  # frames that may wait to be written


class ParquetSink:
    """A Parquet file to which frames of one schema are added; a context manager.

    Frames are written by a thread of their own, so that several files can grow at the same time
    while more is read. Leaving the context by an exception leaves no file behind.

    Args:
        path: Where the file goes when all is written.
        schema: Columns and their Polars types.

    Raises:
        BuildError: If the system refuses: no such folder, no permission, no space.
    """

    def __init__(self, path: Path, schema: Mapping[str, Any]) -> None:
        self._path = path
        self._temporary = temporary(path)
        self._schema = dict(schema)
        self._frames: queue.Queue[pl.DataFrame | None] = queue.Queue(maxsize=_WAITING)
        self._error: BaseException | None = None
        self._writer = threading.Thread(target=self._write, daemon=True)
        self.rows = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Add the rows of a frame; other columns than the file's are left out."""
        if frame.height:
            self.rows += frame.height
            with self._refusals():
                self._put(frame.select(list(self._schema)))
        self._check()

    def __enter__(self) -> ParquetSink:
        self._writer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._put(None)
        self._writer.join()
        try:
            if kind is None:
                self._check()
                with self._refusals():
                    self._temporary.replace(self._path)
        finally:
            with contextlib.suppress(OSError):
                self._temporary.unlink(missing_ok=True)

    def _put(self, frame: pl.DataFrame | None) -> None:
        while self._writer.is_alive():  # a writer that failed takes nothing more
            with contextlib.suppress(queue.Full):
                self._frames.put(frame, timeout=0.2)
                return

    def _write(self) -> None:
        def frames(*_: object) -> Iterator[pl.DataFrame]:
            while (frame := self._frames.get()) is not None:
                yield frame

        try:
            register_io_source(frames, schema=self._schema).sink_parquet(self._temporary)
        except BaseException as error:  # handed to the thread that adds
            self._error = error

    def _check(self) -> None:
        if self._error is not None:
            with self._refusals():
                raise self._error

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except refusals() as error:
            raise BuildError(f"{self._path} cannot be written: {reason(error)}") from None
