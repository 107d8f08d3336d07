"""Mirrors, the cache and the network: only the published bytes are ever used."""

import hashlib
import io
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zipfile import ZipFile

import pytest

from boxpen.catalog import Entry, RemoteFile, entries, fetch, load_suite
from boxpen.catalog.download import _Bar
from boxpen.errors import SuiteError
from boxpen.items import Card

CONTENT = b"one line\n" * 1000
SUM = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves ``content`` and counts how often."""

    content = CONTENT
    status = 200
    length: int | None = None
    count = 0

    def before_first_byte(self):
        pass


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.count += 1
        self.server.before_first_byte()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(self.server.length or len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.delenv("BOXPEN_MIRROR", raising=False)
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def entry_at(port: int) -> Entry:
    file = RemoteFile(f"http://127.0.0.1:{port}/some%20file.txt", SUM, "set/some file.txt")
    return Entry(
        name="set", card=Card(licence="CC BY 4.0"), importer=lambda files: [], files=(file,)
    )


NOTICE = "set: licence CC BY 4.0; fetching http://127.0.0.1:{}/some%20file.txt\n"


def kept(tmp_path) -> list[str]:
    return sorted(p.name for p in tmp_path.rglob("*") if p.is_file())


def test_downloaded_once(server, tmp_path, capfd):
    entry = entry_at(server.server_port)
    path = fetch(entry)["set/some file.txt"]
    assert path == tmp_path / "cache" / "data" / "set" / "some file.txt"
    assert path.read_bytes() == CONTENT
    assert fetch(entry)["set/some file.txt"] == path
    assert server.count == 1
    assert kept(tmp_path) == ["some file.txt"]
    assert capfd.readouterr() == ("", NOTICE.format(server.server_port))


def test_the_licence_is_shown_before_the_first_byte(server, capfd):
    shown = []
    server.before_first_byte = lambda: shown.append(capfd.readouterr().err)
    fetch(entry_at(server.server_port))
    assert shown == [NOTICE.format(server.server_port)]


def zipped(**members):
    stream = io.BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_a_file_in_an_archive(server):
    entry = entry_at(server.server_port)
    entry = replace(entry, files=(replace(entry.files[0], member="dev"),))
    for damage in (b"<html>", zipped(other=CONTENT), zipped(dev=CONTENT[:-1])):
        server.content = damage
        with pytest.raises(SuiteError, match="is not the published"):
            fetch(entry)
    server.content = zipped(dev=CONTENT, other=b"")
    assert fetch(entry)["set/some file.txt"].read_bytes() == CONTENT


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT[:-1] + b"X"])
def test_a_damaged_copy_in_the_cache_is_fetched_again(server, damage):
    entry = entry_at(server.server_port)
    path = fetch(entry)["set/some file.txt"]
    path.write_bytes(damage)
    assert fetch(entry)["set/some file.txt"].read_bytes() == CONTENT
    assert server.count == 2


@pytest.mark.parametrize("damage", [CONTENT[:-1], b"<html>moved</html>"])
def test_a_wrong_download_is_refused(server, tmp_path, damage):
    server.content = damage
    with pytest.raises(SuiteError) as caught:
        fetch(entry_at(server.server_port))
    message = str(caught.value)
    assert hashlib.sha256(damage).hexdigest() in message
    assert SUM in message
    assert kept(tmp_path) == []


def test_a_download_that_breaks_off_is_refused(server, tmp_path):
    server.content, server.length = CONTENT[:-10], len(CONTENT)
    with pytest.raises(SuiteError, match="the connection broke off"):
        fetch(entry_at(server.server_port))
    assert kept(tmp_path) == []


def test_not_found(server, tmp_path):
    server.status = 404
    with pytest.raises(SuiteError, match=r"could not be downloaded \(HTTP status 404\)"):
        fetch(entry_at(server.server_port))
    assert kept(tmp_path) == []


def test_no_network(server, tmp_path):
    port = server.server_port
    server.shutdown()
    server.server_close()
    with pytest.raises(SuiteError) as caught:
        fetch(entry_at(port))
    message = str(caught.value)
    assert f"http://127.0.0.1:{port}/some%20file.txt could not be downloaded" in message
    assert "BOXPEN_MIRROR" in message
    assert "\n" not in message
    assert kept(tmp_path) == []


def test_a_cache_that_cannot_be_written(server, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(SuiteError, match="cannot be written: "):
        fetch(entry_at(server.server_port))


def test_progress_bar_is_what_pooch_expects():
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(quiet=True))
    bar = _Bar(progress, "x")
    bar.total = 7
    bar.update(3)
    bar.reset()
    bar.update(7)
    bar.close()
    assert (bar.total, progress.tasks[0].completed) == (7, 7)


def test_mirror(monkeypatch, tmp_path):
    monkeypatch.setenv("BOXPEN_MIRROR", str(tmp_path))
    entry = entry_at(1)
    path = tmp_path / "set" / "some file.txt"
    with pytest.raises(SuiteError, match=r"some file\.txt is missing, expected .* http://127"):
        fetch(entry)
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    assert fetch(entry) == {"set/some file.txt": path}
    for damage in (b"", CONTENT[:-5], CONTENT + b"\n"):
        path.write_bytes(damage)
        with pytest.raises(SuiteError) as caught:
            fetch(entry)
        assert SUM in str(caught.value)
        assert hashlib.sha256(damage).hexdigest() in str(caught.value)
        assert path.read_bytes() == damage  # a mirror is never written to


ENTRIES = entries()


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.files])
def test_a_changed_mirror_is_refused(data_dir, monkeypatch, tmp_path, name):
    file = ENTRIES[name].files[-1]
    if not (data_dir / file.path).is_file():
        pytest.skip(f"the mirror of the public data has no {file.path}")
    for other in ENTRIES[name].files:
        (tmp_path / other.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / other.path).symlink_to((data_dir / other.path).resolve())
    changed = tmp_path / file.path
    content = changed.read_bytes()[:-1]
    changed.unlink()
    changed.write_bytes(content)
    monkeypatch.setenv("BOXPEN_MIRROR", str(tmp_path))
    with pytest.raises(SuiteError, match=file.sha256):
        load_suite(name)
