"""Files written whole or not at all, and what is no file left what it is."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from boxpen.atomic import replaced
from boxpen.errors import RunError


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
