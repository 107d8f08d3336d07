"""A damaged score cache: never a wrong score, never a traceback."""

from __future__ import annotations

import contextlib
import logging
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen import CacheError, Record, ScoreCache, evaluate
from boxpen.scoring.cache import cache_key
from small_runs import Liking, small_suite

COLUMNS = {
    "scores": ("key", "token_ids", "logprobs", "unscored", "unknown", "truncated", "crossing",
                "checksum", "batch"),
    "texts": ("key", "text", "checksum", "batch"),
}  # fmt: skip
VALUES = (
    st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text()
    | st.binary(max_size=64)
    | st.sampled_from(
        [0, 1, "0", b"0", b"", "", "x" * 8, b"\xff" * 12, np.float32("nan").tobytes()]
    )
)


def key(n: int) -> bytes:
    return cache_key("fingerprint", {}, (str(n),))


def record(n: int) -> Record:
    values = -np.arange(n, n + 3, dtype=np.float32) / 7
    return Record(np.arange(n, n + 3, dtype=np.int32), values, unscored=n % 2, truncated=n % 3 == 0)


def same(one: Record, other: Record) -> bool:
    return (
        one.token_ids.tobytes() == other.token_ids.tobytes()
        and one.logprobs.tobytes() == other.logprobs.tobytes()
        and (one.unscored, one.unknown, one.truncated, one.crossing)
        == (other.unscored, other.unknown, other.truncated, other.crossing)
    )


@contextlib.contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path)) as opened:
        yield opened
        opened.commit()


def filled(path: Path, n: int = 40) -> Path:
    with ScoreCache(path) as cache:
        cache.add_records((key(i), record(i)) for i in range(n))
        cache.add_translations((key(i), f"text {i} 箱子") for i in range(n))
    return path


def check(cache: ScoreCache, n: int) -> None:
    """Everything the cache serves is right, and what it lost can be added again."""
    keys = [key(i) for i in range(n)]
    for _ in range(2):
        records, texts = cache.records(keys), cache.translations(keys)
        assert all(same(records[key(i)], record(i)) for i in range(n) if key(i) in records)
        assert all(texts[key(i)] == f"text {i} 箱子" for i in range(n) if key(i) in texts)
        cache.add_records((key(i), record(i)) for i in range(n))
        cache.add_translations((key(i), f"text {i} 箱子") for i in range(n))
    assert len(records) == len(texts) == n


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("token_ids", "four"),
        ("token_ids", 7),
        ("token_ids", b"\0" * 8),
        ("logprobs", np.float32("nan").tobytes() * 3),
        ("logprobs", 0.5),
        ("unscored", "some"),
        ("unknown", 1.5),
        ("truncated", b"0"),
        ("crossing", 1),
        ("checksum", b""),
        ("checksum", None),
    ],
)
def test_a_damaged_row_is_dropped_and_counted(tmp_path, caplog, column, value):
    path = filled(tmp_path / "c", 5)
    with database(path) as opened:
        if value is None:
            value = b"\0" * 8
        opened.execute(f"UPDATE scores SET {column} = ? WHERE key = ?", (value, key(2)))
    with ScoreCache(path) as cache:
        assert cache.records([key(i) for i in range(5)]).keys() == {key(i) for i in (0, 1, 3, 4)}
        assert cache.damaged == 1
        check(cache, 5)
        assert cache.damaged == 1
    assert caplog.messages == [f"1 damaged row(s) dropped from the score cache {path}"]
    with ScoreCache(path) as cache:
        assert len(cache.records([key(i) for i in range(5)])) == 5


@pytest.mark.parametrize("value", [b"text 2 \xe7", b"\xff", 3, 0.5])
def test_a_damaged_translation(tmp_path, value):
    path = filled(tmp_path / "c", 5)
    with database(path) as opened:
        cast = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
        opened.execute(f"UPDATE texts SET text = {cast} WHERE key = ?", (value, key(2)))
    with ScoreCache(path) as cache:
        assert key(2) not in cache.translations([key(i) for i in range(5)])
        check(cache, 5)
        assert cache.damaged == 1


@given(
    st.lists(
        st.sampled_from([(t, c) for t, columns in COLUMNS.items() for c in columns]).flatmap(
            lambda place: st.tuples(st.just(place), st.integers(0, 9), VALUES)
        ),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=60)
def test_random_values_in_random_rows(tmp_path_factory, changes):
    path = filled(tmp_path_factory.mktemp("fuzz") / "c", 10)
    with database(path) as opened:
        for (table, column), row, value in changes:
            opened.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? WHERE key = ?", (value, key(row))
            )
    with ScoreCache(path) as cache:
        check(cache, 10)


@pytest.mark.parametrize("seed", range(12))
def test_a_run_on_a_damaged_cache_gives_the_verdicts_of_a_fresh_one(tmp_path, seed):
    model, suite = Liking("one", {f"right {i}" for i in range(0, 20, 3)}), small_suite()
    fresh = evaluate(model, suite, cache=tmp_path / "c")
    chance = random.Random(seed)
    with database(tmp_path / "c") as opened:
        for (row,) in opened.execute("SELECT key FROM scores").fetchall():
            column = chance.choice(COLUMNS["scores"][1:])
            old = opened.execute(f"SELECT {column} FROM scores WHERE key = ?", (row,)).fetchone()
            new = chance.choice([chance.randbytes(12), chance.random(), "text", 5, old[0]])
            opened.execute(f"UPDATE scores SET {column} = ? WHERE key = ?", (new, row))
    again = evaluate(model, suite, cache=tmp_path / "c")
    assert again.verdicts == fresh.verdicts
    assert again.summary() == fresh.summary()


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes_of_the_file(tmp_path, seed):
    """What was scored comes back as it was, or not at all; at worst there is one sentence."""
    path = filled(tmp_path / "c", 300)
    data = bytearray(path.read_bytes())
    chance = random.Random(seed)
    # Half of the time near the beginning: the header and the schema are there.
    for _ in range(chance.choice([1, 3, 50])):
        end = chance.choice([200, len(data)])
        data[chance.randrange(end)] ^= 1 << chance.randrange(8)
    path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
    with contextlib.suppress(CacheError), ScoreCache(path) as cache:
        check(cache, 300)


@pytest.mark.parametrize(
    "statement",
    ["ANALYZE", "CREATE INDEX mine ON scores (unknown)", "CREATE VIEW mine AS SELECT 1"],
)
def test_what_others_add_to_the_schema_is_no_damage(tmp_path, statement):
    path = filled(tmp_path / "c", 5)
    with database(path) as opened:
        opened.execute(statement)
    with ScoreCache(path) as cache:
        assert len(cache.records([key(i) for i in range(5)])) == 5
        assert not cache.set_aside


def test_a_schema_that_is_not_even_utf_8(tmp_path):
    path = filled(tmp_path / "c", 5)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE texts", b"CREATE TAB\xccE texts"))
    with ScoreCache(path) as cache:
        check(cache, 5)
        assert len(cache.set_aside) == 1


@pytest.mark.parametrize("begin", [100, 4096, 8192])
def test_a_malformed_database_is_set_aside_and_rebuilt(tmp_path, caplog, begin):
    path = filled(tmp_path / "scores.sqlite", 2000)
    data = bytearray(path.read_bytes())
    data[begin:] = b"\xff" * (len(data) - begin)
    path.write_bytes(data)
    with ScoreCache(path) as cache:
        check(cache, 2000)
    place = tmp_path / "scores.sqlite.damaged-1"
    assert place.stat().st_size == len(data)
    said = f"the score cache {path} was damaged: moved to {place.name} and rebuilt with"
    (message,) = caplog.messages
    assert message.startswith(said)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scores.sqlite", place.name]
    with ScoreCache(path) as cache:
        assert len(cache.records([key(i) for i in range(2000)])) == 2000


def test_the_user_is_told_in_one_line(tmp_path):
    path = filled(tmp_path / "c", 5)
    with database(path) as opened:
        opened.execute("UPDATE scores SET unknown = 9")
    code = """if True:
        import sys
        from boxpen import ScoreCache
        from boxpen.scoring.cache import cache_key
        with ScoreCache(sys.argv[1]) as cache:
            cache.records([cache_key("fingerprint", {}, (str(i),)) for i in range(5)])
    """
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    assert done.stderr == f"5 damaged row(s) dropped from the score cache {path}\n"


@pytest.mark.parametrize("mark", [b"BoxP", b"PxoB"])
@pytest.mark.parametrize("kind", ["text", "database"])
def test_a_foreign_file_is_never_moved(tmp_path, mark, kind):
    path = tmp_path / "photos.sqlite"
    if kind == "text":
        path.write_bytes((b"These are notes. " * 4 + mark + b" and more." * 500)[:4096])
    else:
        with database(path) as opened:
            opened.execute("CREATE TABLE photos (name)")
            opened.executemany("INSERT INTO photos VALUES (?)", [("x" * 99,)] * 500)
        data = bytearray(path.read_bytes())
        data[100:4096] = b"\xff" * 3996
        path.write_bytes(data)
    before = path.read_bytes()
    with pytest.raises(CacheError) as caught:
        ScoreCache(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_of_two_that_find_the_same_damage_one_moves_the_file(tmp_path, caplog):
    path = filled(tmp_path / "c", 300)
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    caplog.set_level(logging.WARNING)
    with ScoreCache(path) as one, ScoreCache(path) as other:
        check(one, 300)
        check(other, 300)
        assert len(one.set_aside) == 1
        assert not other.set_aside
    with ScoreCache(path) as cache:
        assert len(cache.records([key(i) for i in range(300)])) == 300
    assert len(list(tmp_path.glob("*.damaged-*"))) <= 3  # one database, with its -wal and -shm
