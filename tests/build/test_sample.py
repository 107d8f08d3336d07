"""Sampling: seeded, whatever the order of the rows, spread over heads, honest where it is short."""

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.kg.sample import sample_triples
from boxpen.build.kg.triples import schema, triple_id
from boxpen.english.normal import normal


def graph(rows: list[tuple[str, str, str, float | None]]) -> pl.DataFrame:
    full = [
        (triple_id(r, h, t), h, r, t, w, "toy", None, "en", line)
        for line, (r, h, t, w) in enumerate(rows, 1)
    ]
    table = pl.DataFrame(full, schema=schema(), orient="row")
    return table.with_columns(plausibility=pl.col("weight"))


LARGE = graph(
    [("isa", f"h{i % 40}", f"t{i}", None) for i in range(400)]
    + [("hasa", "cat", "legs", 1.0), ("hasa", "cats", "fur", 2.0), ("hasa", "dog", "fur", None)]
)


def test_numbers_of_relations_and_heads_are_kept() -> None:
    found = sample_triples(LARGE, 50, 1, by="random", per_head=2)
    isa = found.table.filter(pl.col("relation") == "isa")
    assert isa.height == 50
    assert isa.group_by("head").len()["len"].max() == 2
    assert found.short == {"hasa": 3}
    assert found.table.height + found.dropped.height == LARGE.height
    assert set(found.dropped["step"]) == {"sample"}
    assert found.dropped["reason"].null_count() == 0
    assert found.table.columns == LARGE.columns
    assert found.dropped.columns == [*LARGE.columns, "step", "reason"]


def test_heads_are_the_same_up_to_inflection() -> None:
    found = sample_triples(LARGE, None, 1, by="weight", per_head=1)
    hasa = found.table.filter(pl.col("relation") == "hasa")
    assert hasa["head"].to_list() == ["cats", "dog"]  # the heavier of 'cat' and 'cats'
    assert found.short == {}


def test_seeds_differ_and_repeat() -> None:
    first = sample_triples(LARGE, 50, 1, by="random").table
    assert first.equals(sample_triples(LARGE, 50, 1, by="random").table)
    assert set(first["id"]) != set(sample_triples(LARGE, 50, 2, by="random").table["id"])


def test_every_head_has_a_chance() -> None:
    drawn = [
        row
        for seed in range(40)
        for row in sample_triples(LARGE, 50, seed, by="random").table["head"]
    ]
    counts = [drawn.count(f"h{i}") for i in range(40)]
    assert min(counts) > 25  # 50 are expected of each
    assert max(counts) < 75


def test_the_likeliest_come_first_and_rows_without_a_number_last() -> None:
    table = graph(
        [
            ("isa", "a", "x", 1.0),
            ("isa", "b", "x", None),
            ("isa", "c", "x", float("nan")),
            ("isa", "d", "x", 3.0),
            ("isa", "e", "x", 2.0),
        ]
    )
    assert sample_triples(table, 3, 7).table["head"].to_list() == ["d", "e", "a"]
    assert set(sample_triples(table, 3, 7).dropped["head"]) == {"b", "c"}


def test_relations_that_should_be_there_are_short() -> None:
    found = sample_triples(LARGE, 2, 1, by="random", relations=("isa", "madeof"))
    assert found.short == {"madeof": 0}


rows = st.tuples(
    st.sampled_from(["isa", "hasa"]),
    st.sampled_from(["cat", "cats", "dog", "cow"]),
    st.sampled_from("xyz"),
    st.none() | st.sampled_from([1.0, 2.0, 3.0]),
)


@settings(deadline=None)
@given(
    st.lists(rows, max_size=12, unique_by=lambda r: r[:3]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 5),
    st.randoms(use_true_random=False),
)
def test_sampling_equals_its_twin(
    found: list[Any], many: int, per_head: int, seed: int, random: Any
) -> None:
    table = graph(found)
    order = list(range(table.height))
    random.shuffle(order)
    lots = sample_triples(table, None, seed, by="random", per_head=None).table["id"].to_list()
    expected: list[dict[str, Any]] = []
    for row in sorted(
        table.to_dicts(),
        key=lambda r: (r["relation"], -(r["weight"] or 0), lots.index(r["id"])),
    ):
        mates = [e for e in expected if e["relation"] == row["relation"]]
        heads = [e for e in mates if normal(e["head"]) == normal(row["head"])]
        if len(mates) < many and len(heads) < per_head:
            expected.append(row)
    drawn = sample_triples(table[order], many, seed, by="weight", per_head=per_head).table
    assert drawn["id"].to_list() == [e["id"] for e in expected]
