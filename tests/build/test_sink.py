"""Parquet files that grow frame by frame appear whole or not at all."""

import polars as pl
import pytest

from boxpen.build.sink import ParquetSink
from boxpen.errors import BuildError

SCHEMA = {"a": pl.Int64, "b": pl.String}


def frame(start, size):
    return pl.DataFrame({"a": range(start, start + size)}, schema={"a": pl.Int64}).with_columns(
        b=pl.format("row {}", "a")
    )


@pytest.mark.parametrize("sizes", [[], [0], [3], [2, 0, 5], [7] * 40])
def test_holds_what_was_added_in_order(tmp_path, sizes):
    frames, start = [], 0
    for size in sizes:
        frames.append(frame(start, size))
        start += size
    with ParquetSink(tmp_path / "t.parquet", SCHEMA) as sink:
        for each in frames:
            sink.add(each.with_columns(more=pl.lit(1)))
    expected = pl.concat([pl.DataFrame(schema=SCHEMA), *frames])
    assert pl.read_parquet(tmp_path / "t.parquet").equals(expected)
    assert sink.rows == sum(sizes)


def test_two_files_grow_at_the_same_time(tmp_path):
    with (
        ParquetSink(tmp_path / "even.parquet", SCHEMA) as even,
        ParquetSink(tmp_path / "odd.parquet", SCHEMA) as odd,
    ):
        for start in range(0, 1000, 100):
            rows = frame(start, 100)
            even.add(rows.filter(pl.col("a") % 2 == 0))
            odd.add(rows.filter(pl.col("a") % 2 == 1))
    assert pl.read_parquet(tmp_path / "even.parquet")["a"].to_list() == list(range(0, 1000, 2))
    assert pl.read_parquet(tmp_path / "odd.parquet")["a"].to_list() == list(range(1, 1000, 2))


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(path)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_no_such_folder_is_one_sentence(tmp_path):
    with pytest.raises(BuildError, match=r"gone/t\.parquet cannot be written"):
        _filled(tmp_path / "gone" / "t.parquet")


def _interrupted(path):
    with ParquetSink(path, SCHEMA) as sink:
        sink.add(frame(0, 10))
        raise KeyboardInterrupt


def _filled(path):
    with ParquetSink(path, SCHEMA) as sink:
        for start in range(100):
            sink.add(frame(start, 1))
