"""Intervals cover the truth as often as they say, with and without clusters."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from boxpen.metrics.intervals import Estimate, between, bootstrap, mean, share, wilson

TRIALS = 2000


def draws(rng, count: int, size: int, truth: float, alike: float):
    """Right or wrong in blocks: with some probability a block's items go the same way."""
    together = rng.random((TRIALS, count, 1)) < alike
    block = rng.random((TRIALS, count, 1)) < truth
    alone = rng.random((TRIALS, count, size)) < truth
    return np.where(together, block, alone).astype(float)


def covered(estimates: list[Estimate], truth: float) -> float:
    return float(np.mean([e.low <= truth <= e.high for e in estimates]))


@pytest.mark.parametrize("truth", [0.5, 0.6, 0.85])
@pytest.mark.parametrize(("size", "alike"), [(1, 0.0), (2, 0.0), (2, 0.5), (2, 1.0), (4, 0.3)])
def test_shares_cover_the_truth(truth, size, alike):
    rng = np.random.default_rng(int(1000 * truth) + size)
    count = 200
    rows = draws(rng, count, size, truth, alike)
    of = np.repeat(np.arange(count), size).tolist()
    clusters = of if size > 1 else None
    found = [share(row.ravel().tolist(), clusters) for row in rows]
    # Wilson's interval never pretends that a block says more than its items.
    assert 0.93 <= covered(found, truth) <= 0.97


PLAIN = np.random.default_rng


@cache
def resampled(seed: int, count: int, shares: tuple[float, ...], size: int):
    """What a fresh generator of that seed draws first."""
    return PLAIN(seed).multinomial(count, shares, size=size)


def remembering(seed: int) -> SimpleNamespace:
    """A generator for one draw, which is not made again for each of thousands of bootstraps."""
    return SimpleNamespace(
        multinomial=lambda count, shares, size: resampled(seed, count, tuple(shares), size)
    )


@pytest.mark.parametrize(("size", "alike"), [(1, 0.0), (2, 0.5), (2, 1.0), (4, 0.3)])
def test_bootstraps_cover_the_truth(size, alike, monkeypatch):
    rng = np.random.default_rng(size)
    count, truth = 200, 0.65
    of = np.repeat(np.arange(count), size).tolist()
    rows = draws(rng, count, size, truth, alike)
    plain = [bootstrap(row.ravel().tolist(), of, resamples=500) for row in rows[:3]]
    monkeypatch.setattr(np.random, "default_rng", remembering)
    found = [bootstrap(row.ravel().tolist(), of, resamples=500) for row in rows]
    assert found[:3] == plain
    assert 0.93 <= covered(found, truth) <= 0.97


@pytest.mark.parametrize(("size", "alike"), [(1, 0.0), (2, 1.0), (4, 0.3)])
def test_means_cover_the_truth(size, alike):
    rng = np.random.default_rng(size)
    count = 40
    shared = rng.normal(size=(TRIALS, count, 1)) * alike
    values = 3 + shared + rng.normal(size=(TRIALS, count, size))
    of = np.repeat(np.arange(count), size).tolist()
    found = [mean(row.ravel().tolist(), of) for row in values]
    assert 0.93 <= covered(found, 3) <= 0.97


@pytest.mark.parametrize(("size", "alike"), [(1, 0.0), (2, 0.7)])
def test_differences_of_two_groups_cover_the_truth(size, alike):
    rng = np.random.default_rng(size)
    found = []
    of = [np.repeat(np.arange(n), size).tolist() for n in (120, 80)]
    some, others = (draws(rng, n, size, t, alike) for n, t in ((120, 0.7), (80, 0.55)))
    for a, b in zip(some, others, strict=True):
        one, other = share(a.ravel().tolist(), of[0]), share(b.ravel().tolist(), of[1])
        found.append(between(one, other))
    assert 0.93 <= covered(found, 0.15) <= 0.97


def test_a_difference_by_hand():
    """Newcombe's own example (1998, table II): 56/70 and 48/80."""
    found = between(share([1.0] * 56 + [0.0] * 14), share([1.0] * 48 + [0.0] * 32))
    assert found[:3] == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_wilson_is_scipys():
    for right, n in ((0, 7), (3, 7), (50, 81), (81, 81)):
        theirs = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert wilson(right / n, n) == pytest.approx((theirs.low, theirs.high))


def test_the_mean_of_single_items_is_students():
    values = [0.3, -1.2, 4.0, 2.2, 0.0]
    theirs = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    ours = mean(values)
    assert (ours.low, ours.high) == pytest.approx(theirs)
    assert mean(values, list("abcde")) == pytest.approx(ours)


def test_a_doubled_item_says_nothing_new():
    values = [0.3, -1.2, 4.0, 2.2, 0.0]
    twice = mean([v for v in values for _ in range(2)], [i for i in range(5) for _ in range(2)])
    assert twice[:3] == pytest.approx(mean(values)[:3])
    assert twice.n == 10


def test_the_bootstrap_is_close_to_all_resamples():
    """With three clusters all 27 resamples can be written down."""
    earned, of = [1.0, 0.0, 1.0, 1.0, 0.0], ["a", "a", "b", "b", "c"]
    members = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.0]}
    means = []
    for x in members.values():
        for y in members.values():
            for z in members.values():
                means.append(np.mean([*x, *y, *z]))  # noqa: PERF401
    found = bootstrap(earned, of, resamples=20000)
    low, high = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)
    assert found == bootstrap(earned, of, resamples=20000), "the same draws every time"


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40))
def test_intervals_hold_their_value(earned):
    for found in (share(earned), bootstrap(earned, resamples=50)):
        assert 0 <= found.low <= found.value + 1e-9
        assert found.value <= found.high + 1e-9 <= 1 + 2e-9


def test_nothing_has_no_interval():
    for found in (share([]), mean([]), bootstrap([])):
        assert found.n == 0
        assert math.isnan(found.value)
    assert math.isnan(mean([1.0]).low)
    assert math.isnan(mean([1.0, 2.0], ["a", "a"]).high)
