"""The journal of judgements: a file of JSON lines to which every judgement is added for good.

Nothing in it is ever rewritten: a judge who thinks again adds a line, and the last one counts.
Several programs may add to it at once.
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
from boxpen.review.judgement import Judgement, latest

__all__ = ["History", "Journal"]

_FIELDS = tuple(f.name for f in fields(Judgement))
_NEEDED = ("item", "judge", "verdict")
_TAG = "tag"


@dataclass(frozen=True, slots=True)
class History:
    """What a journal holds."""

    judgements: tuple[Judgement, ...] = ()
    """All of them, superseded ones too, in the order in which they came."""
    torn: str | None = None
    """A sentence about the last line, if writing it was cut off."""


class Journal:
    """A file of judgements; it need not be there yet.

    Args:
        path: The file.
        tag: The tag that is judged, which every line then names: a line of another is refused. None
            if no tag is.
        untagged: Whether lines that name no tag, as none did once, are of this one.
    """

    def __init__(self, path: Path | str, *, tag: str | None = None, untagged: bool = False) -> None:
        self.path = Path(path)
        self.tag = tag
        self.untagged = untagged

    def read(self) -> History:
        """Read all judgements.

        A last line that was cut off, by a crash or a full disk, is left out and reported.

        Raises:
            BuildError: If the file cannot be read, or another line is no judgement, or one of
                another tag.
        """
        try:
            with self._opened(os.O_RDONLY) as file:
                content = _content(file)
        except FileNotFoundError:
            return History()
        except OSError as error:
            raise BuildError(f"{self.path} cannot be read: {error.strerror or error}") from None
        return self._parsed(content)

    def latest(self) -> dict[str, dict[str, Judgement]]:
        """Return for every item what each judge said last."""
        return latest(self.read().judgements)

    def append(self, judgements: Iterable[Judgement]) -> list[Judgement]:
        """Add judgements, all or none, and return those that were added.

        What a judge has said already, and not taken back since, is not added again. A cut-off last
        line, which is no judgement, makes room.

        Raises:
            BuildError: If the journal cannot be read or written.
        """
        wanted = list(judgements)
        if not wanted:
            return []
        try:
            with self._opened(os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
                content = _content(file)
                history = self._parsed(content)
                new = _news(history.judgements, wanted)
                if new:
                    self._add(file, content, new, torn=history.torn is not None)
                return new
        except OSError as error:
            raise BuildError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def _add(self, file: int, content: bytes, new: list[Judgement], *, torn: bool) -> None:
        whole = len(content)
        start = b""
        if torn:
            whole = content.rfind(b"\n") + 1
            os.ftruncate(file, whole)
        elif content and not content.endswith(b"\n"):
            start = b"\n"
        left = memoryview(start + b"".join(map(self._line, new)))
        try:
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, whole)  # all or none
            raise

    def _line(self, judgement: Judgement) -> bytes:
        kept = {
            name: value for name, value in asdict(judgement).items() if value or name in _NEEDED
        }
        if self.tag is not None:
            kept[_TAG] = self.tag
        try:
            return (json.dumps(kept, ensure_ascii=False) + "\n").encode()
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
                    torn = f"{where} was cut off while it was written, and is left out"
                    return History(tuple(found), torn)
                raise BuildError(f"{where} is no judgement ({error})") from None
            self._check_tag(data.get(_TAG), where)
        return History(tuple(found))

    def _check_tag(self, named: object, where: str) -> None:
        if self.tag is None or named == self.tag or (named is None and self.untagged):
            return
        if named is None:
            raise BuildError(
                f"{where} does not say which tag it is of, expected '{self.tag}'; if that is "
                f"right, add {json.dumps({_TAG: self.tag}, ensure_ascii=False)[1:-1]} to every line"
            )
        raise BuildError(
            f"{where} is of the tag {str(named)!r}, expected '{self.tag}': a journal is of one tag"
        )

    @contextlib.contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        file = os.open(self.path, flags, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise BuildError(f"{self.path} is no file, expected the journal of a review")
            _lock(file, shared=not flags & os.O_RDWR)
            yield file
        finally:
            os.close(file)  # which gives the lock back


def _news(history: tuple[Judgement, ...], wanted: list[Judgement]) -> list[Judgement]:
    last = {(one.item, one.judge): one for one in history}
    new = []
    for one in wanted:
        before = last.get((one.item, one.judge))
        if before is None or not one.says_as_much_as(before):
            new.append(one)
            last[one.item, one.judge] = one
    return new


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
        if value is not None and not isinstance(value, str):
            raise ValueError(f"its '{name}' is {value!r}, expected text")
    return Judgement(**{name: data[name] for name in _FIELDS if data.get(name) is not None})


def _is_begun(line: bytes) -> bool:
    """Whether a line is the beginning of a judgement: no other text is ever cut off for it."""
    begun = b'{"item": '
    if not (line.startswith(begun) or begun.startswith(line)):
        return False
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return True
    return False


def _content(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _lock(file: int, *, shared: bool) -> None:
    """Wait until nobody else writes; on systems without such locks, go on at once."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
