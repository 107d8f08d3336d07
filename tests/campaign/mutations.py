"""Damaged files of every format: each is read in a child process with limits on time and memory.

    python tests/campaign/mutations.py                     # how many of each format, all of them
    python tests/campaign/mutations.py gguf --first 17 --count 1    # one file again

A file is damaged by its format and number alone, so a finding can be repeated. What may come of it:

loaded    and what was loaded is right, as the format's ``check`` tells
refused   with one sentence of boxpen
finding   anything else: a traceback, a hang, a dead process, too much memory, a wrong value
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import lzma
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

SECONDS = 40.0  # per file
MEMORY = 4 << 30  # of address space, beyond what the process has when it begins
GROWTH = 600  # MB of real memory by which one file may raise the peak
NUMBERS = (
    b"1e999",
    b"-1",
    b"9" * 30,
    b"NaN",
    b"0.5",
    b"true",
    b"null",
    b'"x"',
    b"[]",
    b"0",
    b"-Infinity",
)


@dataclass(frozen=True)
class Format:
    """A format that boxpen reads.

    Attributes:
        name: What the format is called.
        make: Writes a whole file, or a folder of files, and returns its place.
        load: Reads it.
        check: Raises an AssertionError if what was loaded from a damaged file is not right; it
            gets the place, what was loaded, and what is loaded from the whole file.
        share: How many of 10,000 files are of this format.
        files: Of a folder, the files to damage.
    """

    name: str
    make: Callable[[Path], Path]
    load: Callable[[Path], Any]
    check: Callable[[Path, Any, Any], None]
    share: int
    files: str = "*"


@dataclass
class Told:
    """What came of the damaged files of one format."""

    files: int = 0
    loaded: int = 0
    refused: int = 0
    findings: list[str] = field(default_factory=list)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a damaged copy, or now and then an equal one."""
    out = bytearray(data)
    size = len(out)
    # Half of the time near the beginning, where headers are.
    at = chance.randrange(chance.choice([min(size, 200), size]) or 1) if size else 0
    length = chance.choice([1, 4, 8, 60, 1000])
    match chance.randrange(14):
        case 0:
            for _ in range(chance.choice([1, 3, 30])):
                if size:
                    out[chance.randrange(size)] ^= 1 << chance.randrange(8)
        case 1:
            return bytes(out[:at])
        case 2:
            out[at:at] = chance.randbytes(length)
        case 3:
            out[at:at] = out[at : at + length]
        case 4:
            del out[at : at + length]
        case 5:
            out[at : at + length] = bytes(len(out[at : at + length]))
        case 6:
            out[at : at + 8] = chance.choice([b"\xff" * 8, b"\0\0\0\0\0\0\0\x7f", b"\xff" * 4])
        case 7 | 8:  # a number or a value becomes another
            found = list(re.finditer(rb"-?\d+(?:\.\d+)?|\"[^\"\n]*\"|true|false|null", data))
            if found:
                one = chance.choice(found)
                out[one.start() : one.end()] = chance.choice(NUMBERS)
        case 9:
            with contextlib.suppress(UnicodeDecodeError):
                text = data.decode()
                return text.encode(chance.choice(["utf-16", "utf-8-sig", "utf-32"]))
        case 10:
            sign = chance.choice([b"[", b'{"a":', b"(", b"\0", b'"', b"\xed\xa0\x80", b"\r"])
            out[at:at] = sign * chance.choice([1, 3, 100_000])
        case 11:
            lines = data.split(b"\n")
            chance.shuffle(lines)
            return b"\n".join(lines)
        case 12:
            return data * 2 if chance.random() < 0.8 else b""
        case 13:
            other = chance.choice(
                [b"\x1f\x8b\x08\0", b"\xfd7zXZ\0", b"PAR1", b"PK\x03\x04", b"GGUF"]
            )
            return other + bytes(out[len(other) :])
    return bytes(out)


def damage(whole: Path, place: Path, files: str, number: int) -> str:
    """Put a damaged copy at a place; return what was damaged."""
    chance = random.Random(f"{whole.name}-{number}")
    packed = {".gz": gzip, ".xz": lzma}.get(whole.suffix)
    if packed and chance.random() < 0.5:  # the text inside
        inside = mutated(packed.decompress(whole.read_bytes()), chance)
        place.write_bytes(packed.compress(inside))
        return f"what is in {whole.name}"
    if whole.is_file():
        place.write_bytes(mutated(whole.read_bytes(), chance))
        return whole.name
    shutil.copytree(whole, place)
    inside = sorted(p for p in place.rglob("*") if p.is_file() and p.match(files))
    one = chance.choice(inside)
    if chance.random() < 0.02:
        one.unlink()
    else:
        one.write_bytes(mutated(one.read_bytes(), chance))
    return str(one.relative_to(place))


def read(form: Format, whole: Path, numbers: Sequence[int], out: Connection) -> None:
    """Read damaged files, one after the other, and tell what came of each."""
    from boxpen.errors import BoxpenError

    stream = os.open(
        os.environ.get("CAMPAIGN_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND
    )
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    expected = form.load(whole)
    begun = int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (begun + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / whole.name
            what = damage(whole, place, form.files, number)
            out.send((number, "begun", what))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                found = form.load(place)
                form.check(place, found, expected)
                told = "loaded", ""
            except BoxpenError as error:
                said = str(error)
                one = said and not re.search(r"[\n\r]", said)
                told = ("refused", said) if one else ("finding", f"not one line: {said[:300]!r}")
            except AssertionError as error:
                told = "finding", f"a wrong value: {str(error)[:300]}"
            except BaseException as error:
                where = _where(error)
                told = "finding", f"{type(error).__name__} in {where}: {str(error)[:200]}"
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
            if grown > GROWTH:
                told = "finding", f"{grown} MB of memory; {told[0]}"
            out.send((number, *told))
    out.send(None)


def _where(error: BaseException) -> str:
    trace, place = error.__traceback__, "?"
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "?")
        if name.startswith("boxpen"):
            place = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def attempts(form: Format, whole: Path, numbers: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    """Yield what came of each damaged file; a process that dies or hangs is replaced."""
    context = multiprocessing.get_context("fork")
    waiting = list(numbers)
    while waiting:
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=read, args=(form, whole, waiting, theirs))
        child.start()
        theirs.close()
        current, what = None, ""
        while True:
            try:
                if not ours.poll(SECONDS):
                    os.kill(child.pid, signal.SIGKILL)
                    child.join()
                    ended = f"it took more than {SECONDS:g} s"
                    break
                said = ours.recv()
            except EOFError:
                child.join()
                ended = f"the process died: {child.exitcode}"
                break
            if said is None:
                return
            number, outcome, text = said
            if outcome == "begun":
                current, what = number, text
            else:
                yield number, outcome, f"{what}: {text}"
                waiting.remove(number)
        if current not in waiting:
            raise RuntimeError(f"{form.name}: {ended} before the first file")
        yield current, "finding", f"{what}: {ended}"
        waiting.remove(current)


def campaign(form: Format, count: int, first: int = 0, show: Callable[[str], None] = print) -> Told:
    """Read damaged files of a format."""
    told = Told()
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        # In a process of its own, so that this one stays small, and has no threads.
        maker = context.Process(target=lambda: theirs.send(form.make(Path(folder))))
        maker.start()
        theirs.close()
        try:
            whole = ours.recv()
        except EOFError:
            raise RuntimeError(f"{form.name}: no whole file could be made") from None
        maker.join()
        for number, outcome, text in attempts(form, whole, range(first, first + count)):
            told.files += 1
            if outcome == "finding":
                told.findings.append(f"{number}: {text.replace(folder, '')}")
                show(f"{form.name} {told.findings[-1]}")
            else:
                if os.environ.get("CAMPAIGN_ALL"):
                    show(f"{number} {outcome}: {text}")
                setattr(told, outcome, getattr(told, outcome) + 1)
    return told


def main() -> None:
    from formats import FORMATS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[form.name for form in FORMATS])
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", type=Path, help="Add what was found to this file.")
    options = parser.parse_args()
    found = 0
    for form in FORMATS:
        if form.name in options.names:
            told = campaign(form, options.count or form.share, options.first)
            found += len(told.findings)
            counts = Counter(loaded=told.loaded, refused=told.refused, found=len(told.findings))
            print(f"{form.name}: {told.files} files, {dict(counts)}", flush=True)
            if options.json:
                keep(options.json, "mutations", form.name, vars(told))
    raise SystemExit(found > 0)


def keep(path: Path, part: str, name: str, value: Any) -> None:
    """Put a result of the campaign into its file."""
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    known.setdefault(part, {})[name] = value
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
