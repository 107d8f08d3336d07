"""The journal of judgements: an append-only file of JSON lines.

Nothing in it is ever rewritten: a judge who changes their mind adds a line, and the last one
counts. Several processes may write to it at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from boxpen.errors import BuildError
from boxpen.review.judgement import Judgement

__all__ = ["History", "Journal", "line_of"]

_FIELDS = tuple(f.name for f in fields(Judgement))
_NEEDED = ("item", "judge", "verdict")
_TAG = "tag"


@dataclass(frozen=True, slots=True)
class History:
    """The contents of a journal."""

    judgements: tuple[Judgement, ...] = ()
    """All of them, including superseded ones, in the order in which they were written."""
    torn: str | None = None
    """A sentence about the last line, if it was cut off."""

    @property
    def adjudicators(self) -> tuple[str, ...]:
        """Who has decided disputed items."""
        return tuple(sorted({one.judge for one in self.judgements if one.decides}))


class Journal:
    """A file of judgements, which need not exist yet.

    Args:
        path: The file.
        tag: The tag that is judged, which every line then names; lines of another tag are refused.
            None if the judgements are not about a tag.
        untagged: Whether lines without a tag, as older versions wrote them, belong to this tag.
    """

    def __init__(self, path: Path | str, *, tag: str | None = None, untagged: bool = False) -> None:
        self.path = Path(path)
        self.tag = tag
        self.untagged = untagged

    def read(self) -> History:
        """Read all judgements; a last line that was cut off by a crash is skipped and reported."""
        try:
            with self._opened(os.O_RDONLY) as file:
                return self._parsed(_content(file))
        except FileNotFoundError:
            return History()
        except OSError as error:
            raise BuildError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def append(self, judgements: Iterable[Judgement]) -> None:
        """Append judgements, all or none, in a time that does not depend on the file's length.

        Only the last line is read: it must be a judgement, of the same tag. A last line that was
        cut off is replaced.
        """
        new = list(judgements)
        if new:
            with self._writing() as file:
                self._add(file, new)

    def merge(self, judgements: Iterable[Judgement]) -> list[Judgement]:
        """Append the judgements that the journal does not have yet, and return them.

        What a judge said before, and has not changed since, is not added again.
        """
        wanted = list(judgements)
        if not wanted:
            return []
        with self._writing() as file:
            history = self._parsed(_content(file)).judgements
            new = self.unknown(wanted, history)
            if new:
                self._add(file, new)
            return new

    @staticmethod
    def unknown(wanted: Iterable[Judgement], history: Iterable[Judgement]) -> list[Judgement]:
        """Return the judgements that say something new after those of ``history``."""
        last = {(one.item, one.judge): one for one in history}
        new = []
        for one in wanted:
            before = last.get((one.item, one.judge))
            if before is None or not one.says_as_much_as(before):
                new.append(one)
                last[one.item, one.judge] = one
        return new

    @contextlib.contextmanager
    def _writing(self) -> Iterator[int]:
        try:
            with self._opened(os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
                yield file
        except OSError as error:
            raise BuildError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def _add(self, file: int, new: list[Judgement]) -> None:
        lines = b"".join(map(self._line, new))
        size = os.fstat(file).st_size
        last, start, ended = _last_line(file, size)
        if last:
            try:
                data = _object(last)
                _judgement(data)
            except (ValueError, BuildError, RecursionError) as error:
                if ended or not _is_begun(last):
                    where = f"the last line of {self.path}"
                    raise BuildError(f"{where} is not a judgement ({error})") from None
                size = start
                os.ftruncate(file, size)
            else:
                self._check_tag(data.get(_TAG), f"the last line of {self.path}")
                lines = lines if ended else b"\n" + lines
        left = memoryview(lines)
        try:
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, size)  # all or none
            raise

    def _line(self, judgement: Judgement) -> bytes:
        try:
            return line_of(judgement, self.tag)
        except UnicodeEncodeError:
            raise BuildError(
                f"{self.path} cannot be written: the judgement of '{judgement.judge}' on item "
                f"'{judgement.item}' holds half a character, expected text"
            ) from None

    def _parsed(self, content: bytes) -> History:
        found: list[Judgement] = []
        lines = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{self.path}, line {number}"
            try:
                data = _object(line)
                found.append(_judgement(data))
            except (ValueError, BuildError, RecursionError) as error:
                if number == len(lines) and _is_begun(line):
                    torn = f"{where} was cut off while it was written, and is skipped"
                    return History(tuple(found), torn)
                raise BuildError(f"{where} is not a judgement ({error})") from None
            self._check_tag(data.get(_TAG), where)
        return History(tuple(found))

    def _check_tag(self, named: object, where: str) -> None:
        if self.tag is None or named == self.tag or (named is None and self.untagged):
            return
        if named is None:
            raise BuildError(
                f"{where} names no tag, expected '{self.tag}'; if that is right, add "
                f"{json.dumps({_TAG: self.tag}, ensure_ascii=False)[1:-1]} to every line"
            )
        raise BuildError(
            f"{where} is about the tag {str(named)!r}, expected '{self.tag}'; "
            "use one journal per tag"
        )

    @contextlib.contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        file = os.open(self.path, flags, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise BuildError(
                    f"{self.path} is not a regular file, expected the journal of a review"
                )
            _lock(file, shared=not flags & os.O_RDWR)
            yield file
        finally:
            os.close(file)  # which gives the lock back


def line_of(judgement: Judgement, tag: str | None = None) -> bytes:
    """Return the line of a judgement in a journal; ``tag`` is the one that is judged, if any."""
    kept = {name: value for name, value in asdict(judgement).items() if value or name in _NEEDED}
    if tag is not None:
        kept[_TAG] = tag
    return (json.dumps(kept, ensure_ascii=False) + "\n").encode()


def _object(line: bytes) -> dict[str, Any]:
    data: Any = json.loads(line.decode())
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return data


def _judgement(data: dict[str, Any]) -> Judgement:
    for name in _FIELDS:
        value = data.get(name)
        if value is None and name in _NEEDED:
            raise ValueError(f"it has no '{name}'")
        kind, wanted = (bool, "true or false") if name == "decides" else (str, "text")
        if value is not None and not isinstance(value, kind):
            raise ValueError(f"its '{name}' is {value!r}, expected {wanted}")
    return Judgement(**{name: data[name] for name in _FIELDS if data.get(name) is not None})


def _is_begun(line: bytes) -> bool:
    """Whether a line is the beginning of a judgement; no other text may be replaced."""
    begun = b'{"item": '
    if not (line.startswith(begun) or begun.startswith(line)):
        return False
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return True
    return False


def _last_line(file: int, size: int) -> tuple[bytes, int, bool]:
    """Return the last line that is not blank, its start, and whether a line break follows it."""
    reach = 1 << 12
    while True:
        start = max(0, size - reach)
        os.lseek(file, start, os.SEEK_SET)
        tail = _content(file)
        text = tail.rstrip()
        cut = text.rfind(b"\n") + 1
        if cut or not start:
            return text[cut:], start + cut, tail.endswith(b"\n")
        reach *= 8


def _content(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _lock(file: int, *, shared: bool) -> None:
    """Wait until nobody else is writing; systems without file locks go on at once."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
