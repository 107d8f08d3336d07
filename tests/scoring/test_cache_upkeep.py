"""The size of the cache, pruning, older formats, and what is left of a damaged file."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from boxpen import CacheError, Record, ScoreCache, evaluate
from boxpen.cli.app import app
from boxpen.scoring.cache import LIMIT, cache_key
from boxpen.scoring.cache_file.salvage import salvaged
from boxpen.scoring.cache_file.upkeep import parse_age, parse_size
from small_runs import Liking, small_suite

DAY = 86400
FORMAT_2 = """
CREATE TABLE records (
    key BLOB PRIMARY KEY, token_ids BLOB NOT NULL, logprobs BLOB NOT NULL,
    unscored INTEGER NOT NULL, unknown INTEGER NOT NULL,
    truncated INTEGER NOT NULL, crossing INTEGER NOT NULL, checksum BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE translations (
    key BLOB PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL
) WITHOUT ROWID;
PRAGMA application_id=0x426F7850;
PRAGMA user_version=2;
PRAGMA journal_mode=WAL;
"""


def key(n: int) -> bytes:
    return cache_key("fingerprint", {}, (str(n),))


def record(n: int, size: int = 12) -> Record:
    values = -np.arange(n, n + size, dtype=np.float32) / 7
    return Record(np.arange(n, n + size, dtype=np.int32), values)


def boxpen(*words: object) -> Result:
    return CliRunner().invoke(app, ["cache", *map(str, words)])


def filled(path: Path, models: dict[str, range], *, size: int = 12) -> Path:
    with ScoreCache(path) as cache:
        for model, numbers in models.items():
            cache.add_records([(key(n), record(n, size)) for n in numbers], model)
    return path


def used(path: Path, model: str, days_ago: float) -> None:
    with closing(sqlite3.connect(path)) as db:
        at = int(time.time() - days_ago * DAY)
        db.execute("UPDATE batches SET used = ?, made = ? WHERE model = ?", (at, at, model))
        db.commit()


def known(path: Path, numbers: range) -> set[int]:
    with ScoreCache(path) as cache:
        found = cache.records([key(n) for n in numbers])
        cache._used.clear()  # looking is no use here
    return {n for n in numbers if key(n) in found}


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    return filled(tmp_path_factory.mktemp("large") / "scores.sqlite", {"m": range(50_000)})


class TestDamage:
    @pytest.mark.parametrize("kind", [0x0A, 0x02])
    def test_of_50_000_rows_only_those_of_the_damaged_page_are_lost(
        self, large, tmp_path, caplog, kind
    ):
        path = tmp_path / "scores.sqlite"
        data = bytearray(large.read_bytes())
        size = int.from_bytes(data[16:18], "big")
        pages = [n for n in range(len(data) // size) if n and data[n * size] == kind]
        page = pages[len(pages) // 2]  # in the middle; a leaf, or one with pages below it
        rows = int.from_bytes(data[page * size + 3 : page * size + 5], "big")
        data[page * size : (page + 1) * size] = b"\xa5" * size
        path.write_bytes(data)
        with ScoreCache(path) as cache:
            found = cache.records([key(n) for n in range(50_000)])
            assert 0 < rows <= 50
            assert len(found) == 50_000 - rows
            assert cache.recovered == 50_000 - rows
            assert all(
                found[key(n)].logprobs.tobytes() == record(n).logprobs.tobytes()
                for n in range(0, 50_000, 97) if key(n) in found
            )  # fmt: skip
            assert [one.model for one in cache.usage()] == ["m"]
        aside = tmp_path / "scores.sqlite.damaged-1"
        assert aside.read_bytes() == bytes(data)
        assert caplog.messages == [
            f"the score cache {path} was damaged: moved to {aside.name} and rebuilt with "
            f"{50_000 - rows:,} of its rows"
        ]
        assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, aside.name]

    def test_check_finds_what_nobody_asked_for(self, large, tmp_path):
        path = tmp_path / "scores.sqlite"
        data = bytearray(large.read_bytes())
        data[len(data) // 2 : len(data) // 2 + 4096] = b"\0" * 4096
        path.write_bytes(data)
        done = boxpen("check", "--cache", path, "--json")
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert told["set_aside"] == [f"{path}.damaged-1"]
        assert 49_900 < told["scores"] < 50_000
        assert "no damage" in boxpen("check", "--cache", path).stdout

    def test_long_rows_and_translations(self, tmp_path):
        """A row that is longer than a page goes on in others."""
        path = tmp_path / "c"
        texts = {key(n): "箱子在围栏里。" * (1 + 97 * n) for n in range(40)}
        with ScoreCache(path) as cache:
            cache.add_records([(key(n), record(n, 1 + 211 * n)) for n in range(40)], "m")
            cache.add_translations(texts.items(), "m")
        rows = list(salvaged(path))
        found = {row[0]: row[1] for table, row in rows if table == "texts"}
        assert found == texts
        assert {row[0]: len(row[1]) for table, row in rows if table == "scores"} == {
            key(n): 4 * (1 + 211 * n) for n in range(40)
        }

    def test_what_is_only_in_the_log(self, tmp_path):
        path = tmp_path / "c"
        with closing(sqlite3.connect(path)) as other, ScoreCache(path) as cache:
            other.execute("BEGIN")  # keeps the log from being moved into the database
            other.execute("SELECT count(*) FROM scores").fetchone()
            cache.add_records([(key(n), record(n)) for n in range(500)], "m")
            assert len({row[0] for _, row in salvaged(path)}) == 500

    def test_a_file_cut_short(self, large, tmp_path):
        path = tmp_path / "c"
        data = large.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        with ScoreCache(path) as cache:
            found = cache.records([key(n) for n in range(50_000)])
        assert 20_000 < len(found) < 30_000

    @pytest.mark.parametrize("seed", range(20))
    def test_no_wrong_row_and_no_traceback(self, tmp_path, seed):
        chance = np.random.default_rng(seed)
        path = filled(tmp_path / "c", {"m": range(600)})
        data = np.frombuffer(path.read_bytes(), np.uint8).copy()
        places = chance.integers(100, len(data), 2000)
        data[places] = chance.integers(0, 256, 2000)
        path.write_bytes(data.tobytes())
        right = {key(n): record(n).logprobs.tobytes() for n in range(600)}
        for table, row in salvaged(path):
            assert table == "scores"
            assert right[row[0]] == row[2]


class TestFormats:
    def test_format_2_is_upgraded(self, tmp_path, caplog):
        new = filled(tmp_path / "new", {"m": range(40)})
        path = tmp_path / "c"
        with closing(sqlite3.connect(path)) as db:
            db.executescript(FORMAT_2)
            db.execute("ATTACH ? AS new", (str(new),))
            db.execute(
                "INSERT INTO records SELECT key, token_ids, logprobs, unscored, unknown, "
                "truncated, crossing, checksum FROM new.scores"
            )
            db.commit()
        assert known(path, range(40)) == set(range(40))
        assert not caplog.messages
        with ScoreCache(path) as cache:
            cache.add_records([(key(99), record(99))], "m")
            assert {one.model: one.rows for one in cache.usage()} == {"": 40, "m": 1}
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (4,)
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    @pytest.mark.parametrize("words", [["info"], ["check"], ["prune", "--keep", "0MB"]])
    def test_a_newer_format_is_left_alone(self, tmp_path, words):
        path = filled(tmp_path / "c", {"m": range(40)})
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version=5")
            db.execute("ALTER TABLE scores ADD COLUMN more")
            db.commit()
        before = path.read_bytes()
        done = boxpen(*words, "--cache", path)
        assert done.exit_code == 2
        assert "format 5" in done.stderr
        assert path.read_bytes() == before


class TestPruning:
    @pytest.fixture
    def path(self, tmp_path) -> Path:
        models = {"old": range(3000), "mid": range(3000, 6000), "new": range(6000, 9000)}
        path = filled(tmp_path / "c", models)
        for model, days in (("old", 90), ("mid", 40), ("new", 1)):
            used(path, model, days)
        return path

    def test_the_least_recently_used_goes_first_and_the_file_shrinks(self, path):
        before = path.stat().st_size
        keep = before // 2
        with ScoreCache(path) as cache:
            done = cache.prune(keep=keep)
        assert path.stat().st_size <= keep
        assert done.before <= before
        assert done.rows + len(known(path, range(9000))) == 9000
        assert not known(path, range(3000))
        assert 0 < len(known(path, range(3000, 6000))) < 3000
        assert len(known(path, range(6000, 9000))) == 3000
        assert path.stat().st_size > keep // 2  # no more than needed

    def test_by_age_and_by_model(self, path):
        with ScoreCache(path) as cache:
            assert cache.prune(older_than=60 * DAY).rows == 3000
        with ScoreCache(path) as cache:
            assert cache.prune(model="new").rows == 3000
            assert [one.model for one in cache.usage()] == ["mid"]
            with pytest.raises(CacheError, match=r"'other'; 'boxpen cache info' lists"):
                cache.prune(model="other")

    def test_all_conditions_must_hold(self, path):
        with ScoreCache(path) as cache:
            assert cache.prune(model="new", older_than=30 * DAY).rows == 0
            assert cache.prune(keep=10**9).rows == 0

    def test_a_dry_run_removes_nothing(self, path):
        before = path.read_bytes()
        with ScoreCache(path) as cache:
            told = cache.prune(keep=0, dry_run=True)
        assert told.rows == 9000
        assert known(path, range(9000)) == set(range(9000))
        assert len(before) == path.stat().st_size

    def test_a_look_counts_as_use(self, path):
        with ScoreCache(path) as cache:
            cache.records([key(0)])
        with ScoreCache(path) as cache:
            assert [one.model for one in cache.usage()] == ["mid", "new", "old"]

    def test_a_limit_is_kept_when_scores_are_added(self, tmp_path, monkeypatch, caplog):
        path = filled(tmp_path / "c", {"old": range(1000)}, size=200)
        used(path, "old", 90)
        before = path.stat().st_size
        monkeypatch.setenv(LIMIT, "1MB")
        for words in (["info"], ["check"], ["prune", "--keep", "1MB", "--dry-run"]):
            assert boxpen(*words, "--cache", path).exit_code == 0
        assert path.stat().st_size == before > 10**6
        assert not caplog.messages
        with ScoreCache(path) as cache:
            cache.add_records([(key(5000), record(5000))], "new")
        cache.close()  # again
        assert path.stat().st_size <= 10**6
        assert known(path, range(5000, 5001))
        assert "BOXPEN_CACHE_LIMIT" in caplog.messages[0]

    @pytest.mark.parametrize("wrong", ["much", "2", "999kB", "9" * 400])
    def test_a_limit_that_is_no_size(self, tmp_path, monkeypatch, wrong):
        monkeypatch.setenv(LIMIT, wrong)
        with pytest.raises(CacheError, match=f"BOXPEN_CACHE_LIMIT is '{wrong}', expected"):
            ScoreCache(tmp_path / "c")

    def test_a_run_names_its_model(self, tmp_path):
        model = Liking("mine", {"right 0"})
        with ScoreCache(tmp_path / "c") as cache:
            evaluate(model, small_suite(4), cache=cache)
            assert {one.model: one.rows for one in cache.usage()} == {"mine": 8}

    def test_two_processes(self, path):
        """One scores and looks while the other prunes; neither fails, and no row is wrong."""
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)], stderr=subprocess.PIPE, text=True
        )
        rows = 0
        while writer.poll() is None:
            with ScoreCache(path) as cache:
                rows += cache.prune(keep=100_000).rows
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
        assert rows > 9000
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


_WRITER = """
import sys
import numpy as np
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.requests import Record

with ScoreCache(sys.argv[1]) as cache:
    for batch in range(60):
        rows = []
        for n in range(100_000 + 100 * batch, 100_100 + 100 * batch):
            one = Record(np.arange(n, n + 12, dtype=np.int32), -np.ones(12, np.float32) * n)
            rows.append((cache_key("fingerprint", {}, (str(n),)), one))
        cache.add_records(rows, "writer")
        for key, found in cache.records([key for key, _ in rows]).items():
            assert found.token_ids[0] * -1.0 == found.logprobs[0]
    assert not cache.damaged
"""


class TestCommand:
    def test_info(self, tmp_path):
        path = filled(tmp_path / "c", {"hf:gpt2": range(1000), "\x1b[2Jevil": range(1000, 1010)})
        done = boxpen("info", "--cache", path)
        assert done.exit_code == 0, done.output
        assert "hf:gpt2" in done.stdout
        assert "1,010 scores" in done.stdout
        assert "\x1b" not in done.stdout
        told = json.loads(boxpen("info", "--cache", path, "--json").stdout)
        assert told["bytes"] == path.stat().st_size
        assert [m["rows"] for m in told["models"]] == [1000, 10]  # the largest first
        total = sum(m["bytes"] for m in told["models"])
        assert 0.8 * told["bytes"] < total <= told["bytes"]

    def test_every_name_can_be_copied_from_info(self, tmp_path):
        names = ["hf:/home/someone/" + "experiments/" * 20 + "best", "\x1b[2Jevil", "a\udcff", ""]
        path = filled(tmp_path / "c", {name: range(n, n + 1) for n, name in enumerate(names)})
        lines = boxpen("info", "--cache", path).stdout.splitlines()[1:-1]
        assert len(lines) == len(names)
        for line in lines:
            name = line.split("  ")[-1]
            done = boxpen("prune", "--model", name, "--cache", path)
            assert "1 scores removed" in done.stdout, done.output
        assert not known(path, range(9))

    def test_prune(self, tmp_path):
        path = filled(tmp_path / "c", {"m": range(2000)})
        assert (
            "2,000 scores would be removed"
            in boxpen("prune", "--model", "m", "--dry-run", "--cache", path).stdout
        )
        assert "2,000 scores removed" in boxpen("prune", "--model", "m", "--cache", path).stdout
        assert not known(path, range(2000))

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["prune"], "give --keep, --older-than or --model"),
            (["prune", "--keep", "lots"], "--keep is 'lots', expected a size"),
            (["prune", "--older-than", "30"], "--older-than is '30', expected a duration"),
            (["info", "--cache", "none.sqlite"], "there is no score cache none.sqlite"),
            (["prune", "--model", "x"], "the cache has no scores of model 'x'"),
        ],
    )
    def test_wrong_use(self, tmp_path, monkeypatch, words, said):
        monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        filled(tmp_path / "scores.sqlite", {"m": range(3)})
        done = boxpen(*words)
        assert done.exit_code == 2
        assert said in done.stderr

    def test_units(self):
        assert parse_size("500MB", "x") == 500_000_000
        assert parse_size("1.5 GiB", "x") == 3 << 29
        assert parse_size("12 b", "x") == 12
        assert parse_age("30d", "x") == 30 * DAY
        for wrong in ("", "-1", "12", "0", "1x", "1iB", "nan", f"{'9' * 400}MB"):
            with pytest.raises(CacheError, match="expected a size and its unit"):
                parse_size(wrong, "x")
