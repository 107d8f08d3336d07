"""A full disk and too many open files: one sentence, and nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from boxpen import write_suite
from boxpen.build.kg.triples import write_table
from boxpen.build.sink import ParquetSink
from boxpen.errors import BoxpenError
from boxpen.report.html.page import write_page
from small_runs import small_run, small_suite

FRAME = pl.DataFrame({"a": range(5000), "b": [f"row {n}" for n in range(5000)]})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system is not permitted")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def grow(path: Path) -> None:
    with ParquetSink(path, FRAME.schema) as sink:
        sink.add(FRAME)


@pytest.mark.parametrize(
    "write",
    [
        lambda disk: small_run("+-" * 200).save(disk),
        lambda disk: write_table(FRAME, disk / "t.parquet"),
        lambda disk: grow(disk / "t.parquet"),
        lambda disk: write_suite(small_suite(1000), disk / "s.jsonl"),
        lambda disk: write_suite(small_suite(9000), disk / "s.parquet"),
        lambda disk: write_page("a page" * 9999, disk / "r.html"),
    ],
    ids=["run", "table", "sink", "jsonl", "parquet", "html"],
)
def test_a_full_disk(small_disk: Path, write: Callable[[Path], object]) -> None:
    with pytest.raises(BoxpenError, match=r"cannot be written: .*No space left") as caught:
        write(small_disk)
    assert "\n" not in str(caught.value)
    assert not list(small_disk.iterdir())


_FEW = """
import os, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import polars as pl, polars._utils.parquet, encodings.idna
from boxpen import Run
from boxpen.errors import BoxpenError
from boxpen.runs.directory import write_run
from boxpen.build.kg.triples import scan_table
from boxpen.build.sink import ParquetSink
from small_runs import small_run

what, place, free = sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
run = small_run("+-")
works = {
    "write": lambda: run.save(place / "new"),
    "read": lambda: Run.load(place / "run"),
    "grow": lambda: grow(),
}
def grow():
    with ParquetSink(place / "t.parquet", {"a": pl.Int64}) as sink:
        sink.add(pl.DataFrame({"a": [1]}))

next = os.open(os.devnull, os.O_RDONLY)
os.close(next)
resource.setrlimit(resource.RLIMIT_NOFILE, (next + free, 4096))
try:
    works[what]()
except BoxpenError as error:
    assert "\\n" not in str(error)
    # Of two threads, the second may be told only that the first has panicked.
    told = any(why in str(error) for why in ("Too many open files", "poisoned"))
    print("refused" if told else error)
else:
    print("done")
"""


@pytest.mark.parametrize("free", range(5))
@pytest.mark.parametrize("what", ["write", "read", "grow"])
def test_too_many_open_files(tmp_path: Path, what: str, free: int) -> None:
    """Polars panics when it is used for the first time and no file can be opened."""
    small_run("+-").save(tmp_path).rename(tmp_path / "run")
    (tmp_path / "new").mkdir()
    command = [sys.executable, "-c", _FEW, str(Path(__file__).parent), what, tmp_path, str(free)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("refused\n", "done\n")
    if done.stdout == "refused\n":
        assert not list((tmp_path / "new").iterdir())
        assert {p.name for p in tmp_path.iterdir()} == {"new", "run"}
