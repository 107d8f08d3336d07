"""Sentences: lines of text files, plain or compressed, and what is known about each."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from boxpen.errors import SuiteError
from boxpen.text.lines import LONGEST

__all__ = ["Row", "Sentence", "read_text"]

_PACKED: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\0": lzma.open,
    b"BZh": bz2.open,
}


class Sentence(NamedTuple):
    """One sentence, and the head and tail of the triple that it states, if it does."""

    text: str
    pair: str | None = None


class Row(NamedTuple):
    """A sentence, the triple that it states, and what triples of the same two things share."""

    sentence: str
    relation: str
    head: str
    tail: str
    pair: str


def read_text(paths: Iterable[Path]) -> tuple[list[Sentence], int]:
    """Return the lines of files, and how many of them were blank and left out.

    Args:
        paths: UTF-8 files with one sentence per line; plain, or packed with gzip, xz or bzip2,
            whatever they are called.

    Raises:
        SuiteError: If a file cannot be read, has no sentence, or is a table of sentences with
            their triples.
    """
    out: list[Sentence] = []
    blank = 0
    for path in paths:
        before = len(out)
        for number, line in enumerate(_lines(path)):
            if not number and tuple(line.rstrip("\r\n").split("\t")) == Row._fields:
                raise SuiteError(
                    f"{path} is a table of 'boxpen build sentences', expected one sentence per "
                    "line; give it with --triples, or write only the sentences to a .txt file"
                )
            text = " ".join(line.split())
            if text:
                out.append(Sentence(text))
            else:
                blank += 1
        if len(out) == before:
            raise SuiteError(f"{path} has no text, expected one sentence per line")
    return out, blank


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file; only LF or CRLF ends a line."""
    line = 0
    try:
        with path.open("rb") as file, _unpacked(file) as stream:
            for line, raw in enumerate(iter(lambda: stream.readline(LONGEST), b""), start=1):
                if len(raw) == LONGEST:
                    raise SuiteError(
                        f"{path}, line {line}: {LONGEST:,} bytes without a newline; expected one "
                        "sentence per line"
                    )
                yield raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise SuiteError(
            f"{path}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8; "
            "convert the file first"
        ) from None
    except IsADirectoryError:
        raise SuiteError(
            f"{path} is a folder, expected a file with one sentence per line"
        ) from None
    except FileNotFoundError:
        raise SuiteError(f"there is no file {path}, expected one sentence per line") from None
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise SuiteError(f"{path} is damaged or cut off after line {line}: {error}") from None
    except OSError as error:  # a damaged gzip or bzip2 file is one too
        raise SuiteError(
            f"{path} cannot be read after line {line}: {error.strerror or error}"
        ) from None


def _unpacked(file: BufferedReader) -> BinaryIO:
    start = file.read(max(map(len, _PACKED)))  # a peek has what a pipe's first write had
    again = BufferedReader(_Again(start, file))
    for magic, unpack in _PACKED.items():
        if start.startswith(magic):
            return cast(BinaryIO, unpack(again, "rb"))
    return again


class _Again(RawIOBase):
    """A file from its first byte, though its start is read: a pipe gives its bytes once."""

    def __init__(self, start: bytes, rest: BufferedReader) -> None:
        self.start = start
        self.rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.start:
            return self.rest.readinto1(buffer)
        taken = self.start[: len(buffer)]
        buffer[: len(taken)] = taken
        self.start = self.start[len(taken) :]
        return len(taken)
