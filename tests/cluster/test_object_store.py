"""A store in S3: a real server, real threads, real failures."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from s3_server import running

from boxpen.cluster.object_store import ObjectStore
from boxpen.cluster.store import open_store
from boxpen.errors import ClusterError

pytest.importorskip("s3fs")


@pytest.fixture(params=["s3", "memory"])
def store(request, tmp_path):
    if request.param == "s3":
        return ObjectStore(request.getfixturevalue("s3_url"), patience=5)
    return ObjectStore(f"memory://{tmp_path.name}/boxpen")


def test_objects_are_written_read_and_removed(store):
    assert store.get("claims/4f.0") is None
    store.put("claims/4f.0", b"one")
    store.put("claims/4f.0", b"two")
    assert store.get("claims/4f.0") == b"two"
    store.delete("claims/4f.0")
    store.delete("claims/4f.0")
    assert store.get("claims/4f.0") is None
    store.put("empty", b"")
    assert store.get("empty") == b""


def test_new_objects_do_not_replace_others(store):
    assert store.put_new("claims/4f.0", b"mine")
    assert not store.put_new("claims/4f.0", b"yours")
    assert not store.put_new("claims/4f.0", b"mine")
    assert store.get("claims/4f.0") == b"mine"


def test_names_begin_with_the_prefix(store):
    for key in ("claims/4f.0", "claims/4f.1", "claims/50.0", "claimsx/1", "done/4f/4f", "done/a"):
        store.put(key, b"")
    assert store.names("claims/") == {"4f.0", "4f.1", "50.0"}
    assert store.names("claims/4f.") == {"0", "1"}
    assert store.names("done/") == {"4f/4f", "a"}
    assert store.names("failures/") == set()


def test_one_of_many_threads_creates_an_object(store):
    together = threading.Barrier(20)

    def claim(number):
        won = []
        for key in range(10):
            together.wait()
            won.append(store.put_new(f"claims/{key}", b"%d" % number))
        return won

    with ThreadPoolExecutor(20) as pool:
        won = list(pool.map(claim, range(20)))
    for key in range(10):
        winners = [number for number in range(20) if won[number][key]]
        assert len(winners) == 1
        assert store.get(f"claims/{key}") == b"%d" % winners[0]


def test_stores_see_what_others_write_at_once(s3_url):
    ours, theirs = ObjectStore(s3_url), ObjectStore(s3_url)
    assert ours.names("workers/") == set()
    theirs.put("workers/a", b"1")
    assert ours.names("workers/") == {"a"}
    assert ours.get("workers/a") == b"1"
    theirs.put("workers/a", b"2")
    assert ours.get("workers/a") == b"2"
    theirs.delete("workers/a")
    assert ours.names("workers/") == set()
    assert ours.get("workers/a") is None


def test_more_names_than_a_page_are_listed(s3_server, s3_url):
    store = ObjectStore(s3_url)
    s3_server.fill(s3_url, "done/", 2500)
    store.requests.clear()
    assert store.names("done/") == {str(number) for number in range(2500)}
    assert store.requests == {"list": 3}


def test_each_operation_is_one_request(s3_url):
    store = ObjectStore(s3_url)
    assert store.requests == {"put_new": 2}  # to prove that the server knows how
    assert ObjectStore(s3_url).requests == {"put_new": 1}
    store.requests.clear()
    store.put("a", b"1")
    store.put_new("b", b"1")
    store.put_new("b", b"2")
    store.get("a")
    store.get("c")
    store.names("")
    store.delete("a")
    assert store.requests == {"put": 1, "put_new": 2, "get": 2, "list": 1, "delete": 1}


def test_a_busy_server_is_asked_again(s3_server, s3_url):
    store = ObjectStore(s3_url)
    store.requests.clear()
    s3_server.fail("busy", 2)
    assert store.put_new("a", b"1")
    s3_server.fail("busy", 1)
    assert store.get("a") == b"1"
    s3_server.fail("busy", 1)
    assert store.names("") == {"a", "boxpen-store"}
    assert store.requests == {"put_new": 3, "get": 2, "list": 2}


def test_a_server_that_stays_busy_is_reported(s3_server, s3_url):
    store = ObjectStore(s3_url, patience=0.3)
    s3_server.fail("busy", 100)
    try:
        with pytest.raises(ClusterError, match=r"too busy.*use fewer workers or try again later"):
            store.put("a", b"1")
    finally:
        s3_server.fail("busy", 0)


def test_a_claim_whose_answer_was_lost_is_ours(s3_server, s3_url):
    store = ObjectStore(s3_url)
    s3_server.fail("lost", 1)
    assert store.put_new("claims/a", b"ours")
    assert not store.put_new("claims/a", b"ours")


def test_a_claim_that_another_made_while_ours_was_refused_is_theirs(s3_server, s3_url):
    store = ObjectStore(s3_url)
    store.put("claims/a", b"theirs")
    s3_server.fail("busy", 1)
    assert not store.put_new("claims/a", b"ours")


def test_a_server_without_exclusive_creates_is_refused(s3_server, s3_url):
    s3_server.fail("ignore", 2)
    with pytest.raises(ClusterError, match=r"If-None-Match\); use another server"):
        ObjectStore(s3_url)


def test_wrong_credentials_are_reported(s3_server, s3_url):
    s3_server.check_credentials(check=True)
    try:
        with pytest.raises(ClusterError, match=r"does not accept the credentials \(Invalid.*check"):
            ObjectStore(s3_url)
    finally:
        s3_server.check_credentials(check=False)


def test_missing_credentials_are_reported(s3_url, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(ClusterError, match=r"without credentials: Unable to locate.*AWS_PROFILE"):
        ObjectStore(s3_url)


def test_a_missing_bucket_is_reported(s3_url):
    with pytest.raises(ClusterError, match="there is no bucket for s3://no-bucket/boxpen; create"):
        ObjectStore("s3://no-bucket/boxpen")


def test_a_missing_network_is_reported(s3_url, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(
        ClusterError, match=r"cannot be reached.*check the network and the endpoint"
    ):
        ObjectStore(s3_url, patience=0.2)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://", "names no bucket; give one, such as s3://bucket/boxpen"),
        ("ftp://host/boxpen", "cannot be created exclusively at ftp://; use s3://, gs://"),
        ("ram://host/boxpen", "cannot be created exclusively at ram://; use s3://, gs://"),
    ],
)
def test_urls_that_cannot_be_stores_are_refused(url, said):
    with pytest.raises(ClusterError, match=said):
        ObjectStore(url)


@pytest.mark.parametrize("gone", ["fsspec", "s3fs"])
def test_a_missing_package_is_named(gone, s3_url, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == gone]:
        monkeypatch.delitem(sys.modules, name)
    if gone == "s3fs" and (registry := sys.modules.get("fsspec.registry")):
        monkeypatch.delitem(registry._registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, gone, None)
    with pytest.raises(ClusterError, match=r"pip install 'boxpen\[s3\]'"):
        ObjectStore(s3_url)


def test_urls_open_object_stores(s3_url):
    store = open_store(s3_url + "/")
    assert isinstance(store, ObjectStore)
    store.put("a", b"1")
    assert open_store(store.url).get("a") == b"1"


@pytest.fixture
def short_lived(monkeypatch):
    """A server that a test may kill."""
    with running() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


def test_a_killed_server_ends_in_a_sentence(short_lived):
    store = ObjectStore(short_lived.make_bucket("bucket"), patience=0.5)
    threading.Timer(0.3, short_lived.kill).start()
    written = []

    def write():
        for number in range(10_000):
            store.put(f"a/{number}", bytes(1 << 20))
            written.append(number)

    with pytest.raises(ClusterError, match="cannot be reached"):
        write()
    assert written
    for refused in (lambda: store.get("a/0"), lambda: store.names("a/")):
        with pytest.raises(ClusterError, match="cannot be reached"):
            refused()


def test_a_server_that_comes_back_is_used_again(short_lived):
    store = ObjectStore("s3://first/boxpen", patience=20)
    short_lived.kill()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(store.put, "a", b"1")
        time.sleep(0.5)
        assert not writing.done()
        with running(short_lived.port):
            writing.result()
            assert store.get("a") == b"1"
