"""What processes that share a cache do to each other's rows, and what is left after damage."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from boxpen import Record, ScoreCache
from boxpen.cli.app import app
from boxpen.scoring.cache import cache_key
from boxpen.scoring.cache_file import upkeep
from boxpen.scoring.cache_file.aside import recovered
from boxpen.scoring.cache_file.salvage import salvaged

RECORDS = """CREATE TABLE records (
    key BLOB PRIMARY KEY, token_ids BLOB NOT NULL, logprobs BLOB NOT NULL,
    unscored INTEGER NOT NULL, unknown INTEGER NOT NULL,
    truncated INTEGER NOT NULL, crossing INTEGER NOT NULL, checksum BLOB NOT NULL{batch}
) WITHOUT ROWID"""
TRANSLATIONS = """CREATE TABLE translations (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL{batch}
) WITHOUT ROWID"""
BATCHES = """CREATE TABLE batches (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, made INTEGER NOT NULL, used INTEGER NOT NULL,
    UNIQUE (model, made)
)"""


def key(n: int) -> bytes:
    return cache_key("fingerprint", {}, (str(n),))


def rows(numbers: range, size: int = 12) -> list[tuple[bytes, Record]]:
    values = -np.arange(size, dtype=np.float32) / 7
    return [(key(n), Record(np.arange(n, n + size, dtype=np.int32), values)) for n in numbers]


def models(cache: ScoreCache) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for one in cache.usage():
        counts[one.model] += one.rows
    return counts


def older(path: Path, version: int) -> sqlite3.Connection:
    """Return the connection of a process of an older version, which has 40 rows in the cache."""
    batch = ", batch INTEGER NOT NULL DEFAULT 0" if version == 3 else ""
    new = path.with_name("new")
    with ScoreCache(new) as cache:
        cache.add_records(rows(range(41)))
        cache.add_translations([(key(1), "箱子")])
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(RECORDS.format(batch=batch))
    db.execute(TRANSLATIONS.format(batch=batch))
    if version == 3:
        db.execute(BATCHES)
        db.execute("INSERT INTO batches VALUES (0, '', 0, 0)")
    db.execute("PRAGMA application_id=0x426F7850")
    db.execute(f"PRAGMA user_version={version}")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("ATTACH ? AS new", (str(new),))
    more = ", 0" if version == 3 else ""
    db.execute(
        "INSERT INTO records SELECT key, token_ids, logprobs, unscored, unknown, truncated, "
        f"crossing, checksum{more} FROM new.scores WHERE key != ?",
        (key(40),),
    )
    db.execute(f"INSERT INTO translations SELECT key, text, checksum{more} FROM new.texts")
    return db


@pytest.mark.parametrize("version", [2, 3])
def test_a_process_of_an_older_version_goes_on_after_an_upgrade(tmp_path, version):
    path = tmp_path / "c"
    with closing(older(path, version)) as db:
        before = [db.execute(f"SELECT * FROM {t}").fetchall() for t in ("records", "translations")]
        with ScoreCache(path) as cache:
            assert len(cache.records([key(n) for n in range(40)])) == 40
            assert cache.translations([key(1)]) == {key(1): "箱子"}
            assert models(cache) == {"": 41}
        after = [db.execute(f"SELECT * FROM {t}").fetchall() for t in ("records", "translations")]
        assert after == before
        query = "SELECT key, token_ids, logprobs, unscored, unknown, truncated, crossing, checksum"
        row = db.execute(f"{query} FROM new.scores WHERE key = ?", (key(40),)).fetchone()
        row += (0,) * (version == 3)
        for _ in range(2):
            db.execute(f"INSERT OR IGNORE INTO records VALUES ({','.join('?' * len(row))})", row)
    with ScoreCache(path) as cache:
        assert len(cache.records([key(n) for n in range(41)])) == 41
        assert not cache.damaged


def test_scores_added_after_another_process_pruned_keep_their_model(tmp_path):
    path = tmp_path / "c"
    with ScoreCache(path) as one, ScoreCache(path) as other:
        one.add_records(rows(range(100)), "one")
        other.prune(model="one")
        one.add_records(rows(range(100, 200)), "one")
        other.add_records(rows(range(200, 250)), "other")
        assert models(other) == {"one": 100, "other": 50}
        assert other.prune(older_than=3600).rows == 0
        other.prune(model="other")
        other.add_records(rows(range(250, 260)), "other")
        assert models(one) == {"one": 100, "other": 10}


def test_rows_taken_over_keep_their_model_when_others_added_batches(tmp_path):
    path, aside = tmp_path / "c", tmp_path / "c.damaged-1"
    with ScoreCache(path) as cache:
        cache.add_records(rows(range(50)), "former")
    path.rename(aside)
    with ScoreCache(path) as one, ScoreCache(path) as other:
        one.add_records(rows(range(100, 120)), "new")
        assert recovered(other._db, aside) == 50
        assert models(one) == {"former": 50, "new": 20}


def test_batches_that_are_only_in_the_log(tmp_path):
    path, aside = tmp_path / "c", tmp_path / "aside"
    with ScoreCache(path) as cache:
        cache.add_records(rows(range(50)), "m")
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{aside}{suffix}")
    with ScoreCache(tmp_path / "new") as cache:
        assert recovered(cache._db, aside) == 50
        assert models(cache) == {"m": 50}


def test_rows_of_an_unknown_batch_are_not_the_first_to_be_pruned(tmp_path):
    path, now = tmp_path / "c", time.time()
    with ScoreCache(path) as cache:
        cache.add_records(rows(range(5)), "m")
        cache._db.execute("DELETE FROM batches")
        (one,) = cache.usage()
    assert one.model == ""
    assert one.used >= int(now)


def test_old_frames_of_the_log_do_not_hide_newer_ones(tmp_path):
    path = tmp_path / "c"
    with ScoreCache(path) as cache:
        for n in range(0, 1200, 40):
            cache.add_records(rows(range(n, n + 40)), "m")
        cache._db.execute("PRAGMA wal_checkpoint(PASSIVE)")  # what follows begins the log anew
        cache.add_records(rows(range(1200, 1220)), "m")
        assert {row[0] for _, row in salvaged(path)} == {key(n) for n in range(1220)}


@pytest.mark.parametrize(
    "change", ["model = x'ff'", "made = 'x'", "used = 'x'", "used = 0.5", "used = 1 << 60"]
)
def test_damaged_batches(tmp_path, change):
    path = tmp_path / "c"
    with ScoreCache(path) as cache:
        cache.add_records(rows(range(5)), "one")
        cache.add_records(rows(range(5, 12)), "other")
        cache._db.execute(f"UPDATE batches SET {change} WHERE model = 'one'")
        cache._db.execute("UPDATE scores SET batch = 'x' WHERE key = ?", (key(7),))
        assert models(cache) == {"": 6, "other": 6}
    done = CliRunner().invoke(app, ["cache", "info", "--cache", str(path)])
    assert done.exit_code == 0, done.output
    assert "(earlier versions)" in done.stdout
    with ScoreCache(path) as cache:
        assert cache.prune(keep=0).rows == 12


def test_pruning_while_another_process_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(upkeep, "_WAIT", 20)
    path = tmp_path / "c"
    with ScoreCache(path) as cache:
        cache.add_records(rows(range(1000), size=200), "m")
    words = ["cache", "prune", "--keep", "500kB", "--cache", str(path)]
    with closing(sqlite3.connect(path)) as reader, ScoreCache(path) as cache:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM scores").fetchone()
        done = cache.prune(keep=1_000_000)
        assert not done.shrunk
        assert done.after == sum(Path(f"{path}{end}").stat().st_size for end in ("", "-wal"))
        told = CliRunner().invoke(app, words)
        assert "the disk space is not free yet" in told.stdout
    told = CliRunner().invoke(app, words)
    assert "not free" not in told.stdout
    assert path.stat().st_size <= 500_000
