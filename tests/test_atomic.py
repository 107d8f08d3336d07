"""Files written whole or not at all, and what is no file left what it is."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from boxpen.errors import RunError
from boxpen.files import new_folder, replaced, temporary
from boxpen.runs.directory import check_writable


def write(path, text=b"new"):
    with replaced(path, RunError) as stream:
        stream.write(text)


def test_a_link_stays_one_and_its_file_is_new(tmp_path):
    target, link = tmp_path / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_stays_one_and_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join(5)
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["", ".", "folder", "no/where"])
def test_places_that_take_no_file(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="cannot be written"):
        write(type(tmp_path)(name))
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", ["itself", "one", "itself/file", "one/folder/file"])
def test_links_that_lead_in_a_circle(tmp_path, name):
    for link, target in (("itself", "itself"), ("one", "two"), ("two", "one")):
        (tmp_path / link).symlink_to(target)
    with pytest.raises(RunError, match=f"{name} cannot be written: its links lead back"):
        write(tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["itself", "one", "two"]


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(RunError, match="cannot be written: File name too long"):
        write(tmp_path / ("x" * 300))


def test_what_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with replaced(path, RunError) as stream:
            stream.write(b"half")
            raise ValueError

    with pytest.raises(ValueError):
        fail()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [pl.exceptions.ComputeError, pl.exceptions.PanicException])
@pytest.mark.parametrize("kind", [replaced, new_folder])
def test_errors_of_polars_are_one_sentence(tmp_path, kind, error):
    def fail():
        with kind(tmp_path / "made", RunError):
            raise error("no space\nat all")

    with pytest.raises(RunError, match=r"made cannot be written: no space$"):
        fail()
    assert not list(tmp_path.iterdir())


def fill(folder, text):
    with new_folder(folder, RunError) as new:
        (new / "file").write_text(text)


def test_a_folder_takes_the_place_of_another(tmp_path):
    fill(tmp_path / "a" / "folder", "old")
    fill(tmp_path / "a" / "folder", "new")
    assert (tmp_path / "a" / "folder" / "file").read_text() == "new"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["folder"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path):
    folder = tmp_path / "folder"
    fill(folder, "old")

    def fail():
        with new_folder(folder, RunError) as new:
            (new / "file").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (folder / "file").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


_FOLDERS = """
import sys
from pathlib import Path
from boxpen.files import new_folder
from boxpen.errors import RunError

for _ in range(200):
    with new_folder(Path(sys.argv[1]), RunError) as new:
        (new / "file").write_text(sys.argv[2])
"""


def test_processes_write_one_folder(tmp_path):
    run = [sys.executable, "-c", _FOLDERS, str(tmp_path / "folder")]
    at_once = [
        subprocess.Popen([*run, str(n)], stderr=subprocess.PIPE, text=True) for n in range(3)
    ]
    for process in at_once:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert (tmp_path / "folder" / "file").read_text() in "012"
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from boxpen.files import new_folder, replaced
from boxpen.build.sink import ParquetSink
import polars as pl

folder = Path(sys.argv[1])
sink = ParquetSink(folder / "grown.parquet", {"a": pl.Int64})
with replaced(folder / "file") as stream, new_folder(folder / "run", ValueError) as run, sink:
    stream.write(b"half")
    stream.flush()
    (run / "run.json").write_text("half")
    sink.add(pl.DataFrame({"a": [1]}))
    while not [p for p in folder.iterdir() if "grown" in p.name]:
        pass
    print("writing", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path):
    run = [sys.executable, "-c", _KILLED, str(tmp_path)]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        written = {p.name for p in tmp_path.iterdir()}
        assert len(written) == 3
        write(tmp_path / "other")
        assert {p.name for p in tmp_path.iterdir()} == {"other"} | written  # it is still at work
        process.stdin.close()
    assert {p.name for p in tmp_path.iterdir()} == {"other"} | written
    write(tmp_path / "other")
    assert [p.name for p in tmp_path.iterdir()] == ["other"]


def owned(path: Path, pid: int, part: str, host: str | None = None) -> Path:
    """Return a temporary name as another process would make it."""
    name, mark, _ = temporary(path).name.rsplit(".", 2)
    own, _, number = mark.split("-")
    return path.with_name(f"{name}.{host or own}-{pid:x}-{number}.{part}")


@pytest.fixture
def dead() -> int:
    with subprocess.Popen(["true"]) as process:
        pass
    return process.pid


def test_an_old_folder_comes_back_if_nothing_took_its_place(tmp_path, dead):
    old = owned(tmp_path / "run", dead, "old")
    old.mkdir()
    (old / "file").write_text("old")
    write(tmp_path / "other")
    assert (tmp_path / "run" / "file").read_text() == "old"
    again = owned(tmp_path / "run", dead, "old")
    again.mkdir()
    write(tmp_path / "other")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "run"]


def test_what_is_not_known_to_be_left_over_stays(tmp_path, dead):
    kept = [
        tmp_path / ".file.1234abcd.tmp",
        tmp_path / "file.tmp",
        owned(tmp_path / "file", os.getpid(), "tmp"),
        owned(tmp_path / "file", 1, "tmp"),
        owned(tmp_path / "file", dead, "tmp", host="00000000"),
    ]
    for place in kept:
        place.touch()
    write(tmp_path / "file")
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in kept} | {"file"}
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(kept[-1], (long_ago, long_ago))
    write(tmp_path / "file")
    assert not kept[-1].exists()


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces of PIDs are Linux's")
def test_a_process_of_another_namespace_is_not_known_to_be_dead(tmp_path, dead, monkeypatch):
    """Containers may have one host name, and PIDs of their own."""
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    found_at = os.stat
    place = "/proc/self/ns/pid"

    def elsewhere(path, *args, **options):
        found = found_at(path, *args, **options)
        return SimpleNamespace(st_ino=found.st_ino + 1) if path == place else found

    with monkeypatch.context() as other:
        other.setattr(os, "stat", elsewhere)
        theirs = owned(tmp_path / "file", dead, "tmp")
    ours = owned(tmp_path / "file", dead, "tmp")
    theirs.touch()
    ours.touch()
    write(tmp_path / "file")
    assert {p.name for p in tmp_path.iterdir()} == {theirs.name, "file"}


def test_a_killed_check_of_a_place_leaves_nothing_for_long(tmp_path, dead, monkeypatch):
    monkeypatch.setattr(Path, "rmdir", lambda _: None)
    check_writable(tmp_path)
    monkeypatch.undo()
    (left,) = tmp_path.iterdir()
    left.rename(left.with_name(left.name.replace(f"-{os.getpid():x}-", f"-{dead:x}-")))
    check_writable(tmp_path)
    assert not list(tmp_path.iterdir())
