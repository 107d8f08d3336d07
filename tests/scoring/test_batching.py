"""Batches: everything once, longest first, within the budget."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.scoring.batching import batches


@given(
    lengths=st.lists(st.integers(1, 60), max_size=40),
    budget=st.integers(1, 200),
    size=st.none() | st.integers(1, 10),
)
def test_every_index_once_within_the_budget_longest_first(lengths, budget, size):
    made = list(batches(lengths, budget=budget, size=size))
    assert sorted(i for batch in made for i in batch) == list(range(len(lengths)))
    for batch in made:
        assert batch
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget
        assert size is None or len(batch) <= size
    flat = [lengths[i] for batch in made for i in batch]
    assert flat == sorted(lengths, reverse=True)


@given(lengths=st.lists(st.integers(1, 60), max_size=40), budget=st.integers(1, 200))
def test_batches_are_filled(lengths, budget):
    made = list(batches(lengths, budget=budget))
    for batch, following in itertools.pairwise(made):
        width = max(lengths[i] for i in batch)
        assert (len(batch) + 1) * width > budget, f"{following[0]} had room in the batch before"


@pytest.mark.parametrize(
    ("lengths", "budget", "size", "expected"),
    [
        ([], 10, None, []),
        ([99], 10, None, [[0]]),
        ([3, 3, 3], 6, None, [[0, 1], [2]]),
        ([3, 3, 3], 99, 1, [[0], [1], [2]]),
        ([1, 5, 5, 2], 10, None, [[1, 2], [3, 0]]),
        ([99, 1, 1], 10, None, [[0], [1, 2]]),
    ],
)
def test_examples(lengths, budget, size, expected):
    assert list(batches(lengths, budget=budget, size=size)) == expected
