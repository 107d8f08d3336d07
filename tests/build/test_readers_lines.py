"""Blocks of lines: numbers, compression, encodings and damage."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.errors import BuildError
from boxpen.text.lines import blocks


def read(path: Path, **options: object) -> list[tuple[int, bytes]]:
    """Return every line with its number."""
    found = []
    for block in blocks(path, **options):  # type: ignore[arg-type]
        assert block.data.endswith(b"\n")
        lines = block.data[:-1].split(b"\n")
        assert len(lines) == block.lines
        found += list(enumerate(lines, start=block.first))
    return found


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 50))
def test_blocks_are_the_lines_of_the_file(tmp_path_factory, data: bytes, size: int) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    path.write_bytes(b"x" + data)  # no mark, no magic number
    expected = []
    lines = (b"x" + data).split(b"\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], start=1):
        try:
            line.decode()
        except UnicodeDecodeError:
            line = b""
        expected.append((number, line))
    assert read(path, size=size) == expected


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("size", [3, 1 << 20])
def test_compressed_files_are_told_by_their_content(tmp_path, pack, size: int) -> None:
    path = tmp_path / "graph.txt"
    path.write_bytes(pack("one\nzwei\n\nvièr".encode()))
    assert [line.decode() for _, line in read(path, size=size)] == ["one", "zwei", "", "vièr"]


@pytest.fixture(params=["isal", "zlib"])
def library(request, monkeypatch) -> None:
    """Decompress with either library."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 255, 256, 1000, 5000])
def test_gzip_in_pieces_of_any_size(tmp_path, monkeypatch, size: int) -> None:
    path = tmp_path / "file.gz"
    for length in (0, 1, 2, 257, 1999, 2000, 2001):
        data = b"a\n" * length
        path.write_bytes(gzip.compress(data))
        assert b"".join(block.data for block in blocks(path, size=size)) == data


@pytest.mark.usefixtures("library")
def test_gzip_files_glued_together_with_padding(tmp_path) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"a\nb") + b"\0\0" + gzip.compress(b"c\nd\n") + b"\0\0\0")
    assert read(path, size=2) == [(1, b"a"), (2, b"bc"), (3, b"d")]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_file_that_was_not_downloaded_whole(tmp_path, pack) -> None:
    path = tmp_path / "file"
    whole = pack(b"".join(b"%d\n" % (n * n * 7919 % 10007) for n in range(20_000)))
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        BuildError, match=r"file is damaged or cut off after line \d+: .*download it again"
    ):
        read(path)


@pytest.mark.usefixtures("library")
def test_gzip_with_a_wrong_checksum(tmp_path) -> None:
    path = tmp_path / "file.gz"
    packed = bytearray(gzip.compress(b"a\nb\n"))
    packed[-6] ^= 1
    path.write_bytes(bytes(packed))
    with pytest.raises(BuildError, match="is damaged or cut off after line"):
        read(path)


def test_zip_archives_are_named(tmp_path) -> None:
    path = tmp_path / "file.zip"
    path.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(BuildError, match="is a zip archive; unpack it"):
        read(path)


def test_no_file_and_a_folder(tmp_path) -> None:
    with pytest.raises(BuildError, match="nothing cannot be read: No such file"):
        read(tmp_path / "nothing")
    with pytest.raises(BuildError, match="cannot be read: Is a directory"):
        read(tmp_path)


def test_the_mark_of_utf8_is_taken_from_the_beginning_only(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert read(path, size=5) == [(1, b"a"), (2, b"\xef\xbb\xbfb")]


def test_other_encodings(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes("café\nthé\n".encode("latin-1"))
    assert read(path, encoding="latin-1") == [(1, "café".encode()), (2, "thé".encode())]
    [block] = blocks(path)
    assert block.undecodable == {1: b"caf\xe9", 2: b"th\xe9"}
    assert block.texts([2]) == ["th\ufffd"]
    with pytest.raises(BuildError, match="unknown encoding 'klingon'"):
        read(path, encoding="klingon")
    with pytest.raises(BuildError, match="utf-16 cannot be read line by line"):
        read(path, encoding="utf-16")


def test_lines_that_never_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("boxpen.text.lines.LONGEST", 10)
    path = tmp_path / "file"
    path.write_bytes(b"ok\n" + b"x" * 30)
    with pytest.raises(BuildError, match=r"line 2: .* bytes without a newline"):
        read(path, size=4)


def test_a_reader_that_stops_early_leaves_no_thread(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"line\n" * 1000)
    stream = blocks(path, size=10)
    next(stream)
    assert any(thread.name.startswith("boxpen-lines") for thread in threading.enumerate())
    stream.close()  # type: ignore[attr-defined]
    assert not any(thread.name.startswith("boxpen-lines") for thread in threading.enumerate())
