"""The score cache: bit-exact, shared by processes, and one sentence for every mishap."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen import CacheError, Record, ScoreCache
from boxpen.scoring.cache import cache_key


def key(n: int) -> bytes:
    return cache_key("fingerprint", {}, (str(n),))


def record(n: int, size: int = 3) -> Record:
    return Record(
        token_ids=np.arange(n, n + size, dtype=np.int32),
        logprobs=-np.arange(n, n + size, dtype=np.float32) / 7,
    )


def same(one: Record, other: Record) -> bool:
    return (
        one.token_ids.dtype == other.token_ids.dtype
        and one.logprobs.dtype == other.logprobs.dtype
        and one.token_ids.tobytes() == other.token_ids.tobytes()
        and one.logprobs.tobytes() == other.logprobs.tobytes()
        and (one.unscored, one.unknown, one.truncated, one.crossing)
        == (other.unscored, other.unknown, other.truncated, other.crossing)
    )


RECORDS = st.integers(0, 6).flatmap(
    lambda n: st.builds(
        lambda ids, values, *rest: Record(
            np.array(ids, dtype=np.int32), np.array(values, dtype=np.float32), *rest
        ),
        st.lists(st.integers(0, 2**31 - 1), min_size=n, max_size=n),
        st.lists(st.floats(width=32, max_value=0), min_size=n, max_size=n),
        st.integers(0, 9),
        st.integers(0, 9),
        st.booleans(),
        st.booleans(),
    )
)


@given(st.dictionaries(st.binary(min_size=32, max_size=32), RECORDS, max_size=8))
def test_what_goes_in_comes_out_bit_by_bit(records):
    with ScoreCache(":memory:") as cache:
        cache.add_records(records.items())
        found = cache.records([*records, bytes(32)])
    assert found.keys() - {bytes(32)} == records.keys() - {bytes(32)}
    assert all(same(found[k], r) for k, r in records.items())


def test_more_keys_than_one_query_takes():
    with ScoreCache(":memory:") as cache:
        cache.add_records((key(i), record(i)) for i in range(1234))
        found = cache.records([key(i) for i in range(2000)])
    assert len(found) == 1234
    assert all(same(found[key(i)], record(i)) for i in range(1234))


def test_it_lasts(tmp_path):
    path = tmp_path / "deep" / "er" / "scores.sqlite"
    with ScoreCache(path) as cache:
        cache.add_records([(key(1), record(1))])
        cache.add_translations([(key(2), "The box is in the pen. 箱子 \U0001f4e6")])
    with ScoreCache(str(path)) as cache:
        assert same(cache.records([key(1)])[key(1)], record(1))
        assert cache.translations([key(2), key(3)]) == {
            key(2): "The box is in the pen. 箱子 \U0001f4e6"
        }


def test_what_is_there_stays(tmp_path):
    with ScoreCache(tmp_path / "c") as cache:
        cache.add_records([(key(1), record(1))])
        cache.add_records([(key(1), record(9)), (key(2), record(2))])
        assert same(cache.records([key(1)])[key(1)], record(1))


def test_a_batch_is_kept_whole_or_not_at_all(tmp_path):
    def half() -> object:
        yield key(2), record(2)
        raise KeyboardInterrupt

    with ScoreCache(tmp_path / "c") as cache:
        cache.add_records([(key(1), record(1))])
        with pytest.raises(KeyboardInterrupt):
            cache.add_records(half())
        assert list(cache.records([key(1), key(2)])) == [key(1)]
        cache.add_records([(key(3), record(3))])  # and it goes on


_WRITER = """
import sys
import numpy as np
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.requests import Record

path, who = sys.argv[1], int(sys.argv[2])
with ScoreCache(path) as cache:
    for batch in range(20):
        for shared in (0, who):
            n = 1000 * shared + batch
            values = -np.arange(n, n + 3, dtype=np.float32) / 7
            one = Record(np.arange(n, n + 3, dtype=np.int32), values)
            cache.add_records([(cache_key("fingerprint", {}, (str(n),)), one)])
"""


def test_processes_share_one_file(tmp_path):
    """All at once, from the making of the file on, half of it the same records."""
    path = tmp_path / "scores.sqlite"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path), str(who)], stderr=subprocess.PIPE, text=True
        )
        for who in (1, 2, 3)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    numbers = [1000 * who + batch for who in range(4) for batch in range(20)]
    with ScoreCache(path) as cache:
        found = cache.records([key(n) for n in numbers])
    assert all(same(found[key(n)], record(n)) for n in numbers)


def refused(path) -> str:
    with pytest.raises(CacheError) as caught:
        ScoreCache(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


def test_not_a_database(tmp_path):
    path = tmp_path / "notes.txt"
    text = "These are notes, and no database at all.\n" * 50
    path.write_text(text, "utf-8")
    assert "is not a boxpen cache" in refused(path)
    assert path.read_text("utf-8") == text


def test_a_foreign_database_is_refused_and_left_as_it_was(tmp_path):
    path = tmp_path / "photos.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE photos (name)")
        database.execute("INSERT INTO photos VALUES ('box.jpg')")
        database.commit()
    before = path.read_bytes()
    assert "not a boxpen cache" in refused(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("version", [1, 99])
def test_other_formats_are_refused(tmp_path, version):
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as cache:
        cache.add_records([(key(1), record(1))])
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version={version}")
    assert f"format {version}" in refused(path)


def test_a_place_that_cannot_be_written(tmp_path):
    file = tmp_path / "file"
    file.write_text("", "utf-8")
    refused(file / "below" / "scores.sqlite")
    refused(tmp_path)  # a folder


def test_a_full_disk_keeps_what_was_scored(tmp_path):
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path) as cache:
        cache.add_records([(key(1), record(1))])
        (pages,) = cache._db.execute("PRAGMA page_count").fetchone()
        cache._db.execute(f"PRAGMA max_page_count={pages + 2}")
        with pytest.raises(CacheError, match=r"disk is full.*kept") as caught:
            cache.add_records((key(i), record(i, size=500)) for i in range(2, 200))
        assert "\n" not in str(caught.value)
        assert list(cache.records([key(i) for i in range(200)])) == [key(1)]
    with ScoreCache(path) as cache:
        assert same(cache.records([key(1)])[key(1)], record(1))
        cache.add_records([(key(2), record(2))])


@given(
    st.lists(
        st.tuples(st.text(max_size=3), st.text(max_size=3), st.none() | st.text(max_size=3)),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_trap_24_different_requests_have_different_keys(two):
    """Fields that were only glued together made ``ab`` + ``c`` equal to ``a`` + ``bc``."""
    one, other = two
    assert cache_key("f", {}, one) != cache_key("f", {}, other)
    assert cache_key("f", {"a": 1}, one) != cache_key("f", {}, one)
