"""Trap 15: records are joined by id, never by line order, and leftovers are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pytest

from boxpen import Card, Choice, Model, Run, RunError, Suite, evaluate
from boxpen.models.base import Encoded, Settled


class Letters(Model):
    """A model whose log-probabilities can be read off a text."""

    name, kind, fingerprint, dtype = "letters", "causal", "f" * 64, "float32"

    def settle(self, policy) -> Settled:
        return Settled(bos=True, eos=False, max_length=100)

    def encode(self, requests, settled) -> list[Encoded]:
        return [
            Encoded(ids=tuple(r.text.encode()), scored=tuple(range(len(r.text.encode()))))
            for r in requests
        ]

    def run(self, encoded: Sequence[Encoded], settled) -> Iterator:
        yield [
            (n, np.array([-i / 256 for i in e.ids], dtype=np.float32))
            for n, e in enumerate(encoded)
        ]


@pytest.fixture
def run() -> Run:
    items = tuple(
        Choice(
            id=f"item {n}",
            candidates=(f"right {n}", f"wrong answer {n * n}", f"other {n}"),
            gold=0,
            block=f"b{n // 2}",
            tags={"half": str(n % 2)},
        )
        for n in range(10)
    )
    return evaluate(Letters(), Suite("small", items, Card(language="en")), cache=None)


@pytest.fixture
def folder(run, tmp_path):
    return run.save(tmp_path)


def rewritten(folder, change) -> None:
    path = folder / "records.parquet"
    change(pl.read_parquet(path)).write_parquet(path)


def test_trap_15_shuffled_rows_change_nothing(run, folder):
    rewritten(folder, lambda rows: rows.sample(fraction=1, shuffle=True, seed=7))
    again = Run.load(folder)
    assert again.verdicts == run.verdicts
    assert again.summary() == run.summary()
    assert again.candidates.keys() == run.candidates.keys()
    for item, members in run.candidates.items():
        for one, other in zip(members, again.candidates[item], strict=True):
            assert one.text == other.text
            assert one.record.logprobs.tobytes() == other.record.logprobs.tobytes()
            assert one.record.token_ids.tobytes() == other.record.token_ids.tobytes()
    for policy in ({"norm": "token"}, {"norm": "char", "ties": "strict"}):
        assert again.rescore(**policy).verdicts == run.rescore(**policy).verdicts


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.filter(pl.col("item") != "item 3"),
        lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 0)),
        lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 1)),
        lambda rows: rows.filter((pl.col("item") != "item 3") | (pl.col("candidate") != 2)),
        lambda rows: rows.head(0),
        lambda rows: rows.with_columns(item=pl.col("item").str.replace("item 3", "item 33")),
        lambda rows: pl.concat(
            [rows, rows.head(1).with_columns(item=pl.lit("leftover"))], how="vertical"
        ),
        lambda rows: pl.concat(
            [rows, rows.head(1).with_columns(candidate=pl.lit(3, pl.Int64))], how="vertical"
        ),
        lambda rows: pl.concat([rows, rows.head(1)], how="vertical"),
        lambda rows: rows.drop("logprobs"),
    ],
    ids=[
        "an item is missing",
        "the first candidate is missing",
        "a middle candidate is missing",
        "the last candidate is missing",
        "all are missing",
        "an id was changed",
        "an item is left over",
        "a candidate is left over",
        "a record stands twice",
        "a column is missing",
    ],
)
def test_trap_15_missing_and_leftover_records_are_refused(folder, change):
    rewritten(folder, change)
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert str(folder) in str(caught.value)
