"""A store in a folder: objects are there as a whole or not at all, and are made by one."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from boxpen.cluster.store import DirectoryStore, open_store
from boxpen.errors import ClusterError


@pytest.fixture
def store(tmp_path):
    return DirectoryStore(tmp_path / "store")


def test_objects_are_written_read_listed_and_removed(store):
    assert store.get("claims/4f.0") is None
    store.put("claims/4f.0", b"one")
    store.put("claims/4f.0", b"two")
    store.put("claims/50.1", b"")
    store.put("done/4f/4f0", b"three")
    assert store.get("claims/4f.0") == b"two"
    assert store.names("claims/") == {"4f.0", "50.1"}
    assert store.names("claims/4f") == {".0"}
    assert store.names("done/") == {"4f/4f0"}
    store.delete("claims/4f.0")
    store.delete("claims/4f.0")
    assert store.get("claims/4f.0") is None
    assert store.names("nothing/") == set()
    assert list((store.root / "unfinished").iterdir()) == []


@pytest.mark.parametrize("links", [True, False])
def test_one_of_many_creates_an_object(store, monkeypatch, links):
    if not links:

        def refuse(*_, **__):
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(os, "link", refuse)
    together = threading.Barrier(16)

    def claim(number):
        won = []
        for key in range(20):
            together.wait()
            won.append(store.put_new(f"claims/{key}", b"%d" % number))
        return won

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(claim, range(16)))
    for key in range(20):
        winners = [number for number in range(16) if won[number][key]]
        assert len(winners) == 1
        assert store.get(f"claims/{key}") == b"%d" % winners[0]


def test_one_of_several_processes_creates_an_object(store):
    code = (
        "import sys; from boxpen.cluster.store import open_store; s = open_store(sys.argv[1]);"
        "print(sum(s.put_new(f'claims/{n}', sys.argv[2].encode()) for n in range(300)))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, store.url, str(n)], stdout=subprocess.PIPE, text=True
        )
        for n in range(3)
    ]
    assert sum(int(one.communicate()[0]) for one in running) == 300


def test_a_full_disk_leaves_nothing_half_written(store, monkeypatch):
    written = Path.write_bytes

    def full(self, data):
        written(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store.put("done/a", b"whole")
    monkeypatch.setattr(Path, "write_bytes", full)
    for write in (store.put, store.put_new):
        with pytest.raises(ClusterError, match=r"cannot be written: .*No space left on device"):
            write("done/a", b"other")
        with pytest.raises(ClusterError):
            write("done/b", b"other")
    assert store.names("done/") == {"a"}
    assert store.get("done/a") == b"whole"
    assert list((store.root / "unfinished").iterdir()) == []


def test_what_killed_processes_left_is_removed_after_a_day(store):
    ages = {"1a2b-0-0123abcd": 25 * 3600, "1a2b-1-0123abcd": 60, "chapter.txt": 25 * 3600}
    for name, age in ages.items():
        place = store.root / "unfinished" / name
        place.write_bytes(b"half")
        then = place.stat().st_mtime - age
        os.utime(place, (then, then))
    DirectoryStore(store.root)
    left = {place.name for place in (store.root / "unfinished").iterdir()}
    assert left == {"1a2b-1-0123abcd", "chapter.txt"}  # never a file of the user's


def test_a_place_that_is_no_folder_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    for place in (file, file / "below"):
        with pytest.raises(ClusterError, match="cannot be written: ") as told:
            open_store(place)
        assert "\n" not in str(told.value)
        assert str(place) in str(told.value)
