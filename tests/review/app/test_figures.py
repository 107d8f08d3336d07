"""Agreement with intervals against slow twins and published examples; times that stand out."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from campaigns import Small, Words, suite
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from boxpen.metrics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    free_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from boxpen.metrics.agreement_estimates import MEASURES, agreement_estimates
from boxpen.review import Judgement, VerdictSet, agreement_table
from boxpen.review.answers import AnswerTask
from boxpen.review.app.dashboard import Dashboard, outlying
from boxpen.review.app.measures import agreement_json, possible_answers
from boxpen.review.database.journal import row_of


def slow(table: list[list[int]], choices: list[int], size: int) -> dict[str, float]:
    """Every measure by the plain functions; Fleiss over items with ``size`` answers."""
    several = [
        (row, k) for row, k in zip(table, choices, strict=True) if sum(a >= 0 for a in row) > 1
    ]
    items = [[a for a in row if a >= 0] for row, _ in several]
    said = [
        Judgement(f"{i:03}", f"{j:02}", str(a))
        for i, (row, _) in enumerate(several)
        for j, a in enumerate(row)
        if a >= 0
    ]
    even = [of for of in items if len(of) == size]
    return {
        "observed": percent_agreement(items),
        "alpha": krippendorff_alpha(items),
        "cohen": agreement_table(said)[0].cohen if said else math.nan,
        "fleiss": fleiss_kappa(even) if even else math.nan,
        "free": free_kappa(items, [k for _, k in several]),
    }


TABLES = st.integers(2, 4).flatmap(
    lambda judges: st.lists(
        st.lists(st.sampled_from([-1, 0, 0, 1, 2]), min_size=judges, max_size=judges),
        min_size=1,
        max_size=12,
    )
)


@settings(max_examples=60, deadline=None)
@given(table=TABLES)
def test_values_and_intervals_are_those_of_the_slow_twin(table):
    choices = [3 + n % 2 for n in range(len(table))]
    found = agreement_estimates(np.array(table), np.array(choices))
    wanted = slow(table, choices, found.fleiss_size)
    telling = [n for n, row in enumerate(table) if sum(a >= 0 for a in row) > 1]
    assert found.observed.n == len(telling)
    for name in MEASURES:
        one = getattr(found, name)
        assert one.value == pytest.approx(wanted[name], abs=1e-9, nan_ok=True)
        if math.isnan(one.value) or name == "observed":
            continue
        left = []
        for out in telling:  # the jackknife, item by item
            kept = [n for n in range(len(table)) if n != out]
            rest = slow([table[n] for n in kept], [choices[n] for n in kept], found.fleiss_size)
            if not math.isnan(rest[name]):
                left.append(rest[name])
        if len(left) < 2:
            assert math.isnan(one.low)
            continue
        g, mean = len(left), statistics.fmean(left)
        half = t.ppf(0.975, g - 1) * math.sqrt((g - 1) / g * sum((x - mean) ** 2 for x in left))
        assert one.low == pytest.approx(max(-1, one.value - half), abs=1e-7)
        assert one.high == pytest.approx(min(1, one.value + half), abs=1e-7)


def test_krippendorffs_own_example():
    """Krippendorff (2011), section C: four observers, twelve units, missing data; nominal 0.743."""
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .",
            "1 2 3 3 2 4 4 1 2 5 1 ."]  # fmt: skip
    table = np.array([[-1 if a == "." else int(a) for a in row.split()] for row in rows]).T
    assert agreement_estimates(table).alpha.value == pytest.approx(0.743, abs=5e-4)


def test_fleiss_own_example():
    """Fleiss (1971), as in his worked example: ten subjects, fourteen raters; kappa 0.210."""
    counts = ["0 0 0 0 14", "0 2 6 4 2", "0 0 3 5 6", "0 3 9 2 0", "2 2 8 1 1", "7 7 0 0 0",
              "3 2 6 3 0", "2 5 3 2 2", "6 5 2 1 0", "0 2 2 3 7"]  # fmt: skip
    table = np.array(
        [[k for k, n in enumerate(map(int, row.split())) for _ in range(n)] for row in counts]
    )
    found = agreement_estimates(table, np.full(10, 5))
    assert found.fleiss.value == pytest.approx(0.210, abs=5e-4)
    # Randolph's free-marginal kappa of the same data: (0.378 - 0.2) / 0.8.
    assert found.free.value == pytest.approx((found.observed.value - 0.2) / 0.8)


def test_cohens_kappa_of_a_known_table():
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: kappa 0.4."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    found = agreement_estimates(np.array(pairs))
    assert found.cohen.value == pytest.approx(0.4)
    assert found.cohen.value == pytest.approx(cohen_kappa(*zip(*pairs, strict=True)))
    assert found.cohen.low < 0.4 < found.cohen.high


def test_intervals_cover_the_truth():
    """Judges who are right with probability 0.8: 95 % intervals hold alpha in most samples."""
    rng = np.random.default_rng(3)

    def draw(n):
        truth = rng.integers(0, 2, (n, 1))
        return np.where(rng.random((n, 3)) < 0.8, truth, 1 - truth)

    target = agreement_estimates(draw(200_000)).alpha.value
    hits = [
        (one := agreement_estimates(draw(150)).alpha).low <= target <= one.high for _ in range(200)
    ]
    assert 180 <= sum(hits) <= 200


def test_groups_of_items_give_nearly_the_same_interval():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, (3000, 1))
    table = np.where(rng.random((3000, 4)) < 0.7, truth, rng.integers(0, 3, (3000, 4)))
    table[rng.random(table.shape) < 0.3] = -1
    grouped = agreement_estimates(table, np.full(3000, 3))
    import boxpen.metrics.agreement_estimates as module

    most, module.GROUPS = module.GROUPS, 3000
    try:
        single = agreement_estimates(table, np.full(3000, 3))
    finally:
        module.GROUPS = most
    for name in MEASURES:
        one, other = getattr(grouped, name), getattr(single, name)
        assert one.value == pytest.approx(other.value)
        assert one.high - one.low == pytest.approx(other.high - other.low, rel=0.35)


class TestWarnings:
    def said(self, table, choices=None):
        rows = agreement_json(np.array(table), choices)
        return {row["name"]: (row["value"], row["warning"]) for row in rows}

    def test_nothing_yet(self):
        found = self.said([[0, -1], [-1, 1]])
        assert set(found.values()) == {(None, "no item has two verdicts yet")}

    def test_all_the_same(self):
        found = self.said([[0, 0]] * 50, np.full(50, 2))
        assert found["Krippendorff's α"] == (None, "undefined: all verdicts are the same")
        assert found["free-marginal κ"] == (1.0, "no two judges differ yet")

    def test_few_items_and_one_verdict_that_prevails(self):
        table = [[0, 0]] * 19 + [[0, 1]]
        found = self.said(table, np.full(20, 2))
        value, warning = found["Krippendorff's α"]
        assert value < 0.01
        assert "only 20 items" in warning
        assert "98% of verdicts are the same one" in warning
        assert "98%" not in found["observed"][1]

    def test_any_text(self):
        assert "any text" in self.said([[0, 1]] * 40)["free-marginal κ"][1]

    def test_too_many_different_verdicts(self):
        rows = agreement_json(np.arange(3000).reshape(1500, 2), None)
        assert {row["value"] for row in rows} == {None}
        assert "more than 1,000 different verdicts" in rows[0]["warning"]

    def test_fleiss_over_some_items(self):
        found = self.said([[0, 1, -1]] * 40 + [[0, 1, 1]] * 41)
        assert found["Fleiss' κ"][1] == "only over the 41 items with 3 verdicts"


def test_how_many_answers_are_possible():
    small = Words().questions()[0]
    assert possible_answers(small, Words.verdicts) == 3
    types = VerdictSet(dict.fromkeys("rabc", ()), joined=frozenset("abc"))
    assert possible_answers(small, types) == 8
    assert possible_answers(small, VerdictSet({})) == 0


def test_times_that_stand_out():
    usual = [4000, 5000, 6000, 4500, 5500, 5200, 4800, 5100, 4900, 5300, 4700]
    far = outlying(np.array([*usual, 60_000, 300]))
    assert [np.sign(x) for x in far] == [0] * len(usual) + [1, -1]
    assert not outlying(np.array([1000, 60_000])).any()  # too few to say
    assert not outlying(np.array([5000] * 20 + [6000])).any()  # not even twice as long
    assert outlying(np.array([], dtype=int)).size == 0


def test_the_dashboard(tmp_path):
    small = Small(tmp_path / "r.db", [AnswerTask(suite(12))], ("ann", "bo", "cy"))
    progress = small.task.progress
    rows = []
    for judge in ("ann", "bo", "cy"):
        for n in range(12):
            wrong = n == 0 or (n == 1 and judge != "ann") or (n == 2 and judge == "bo")
            one = Judgement(f"i{n}", judge, "2" if wrong else "1", seen=progress.digests[n],
                            time=f"2026-01-01T00:00:{n:02}Z")  # fmt: skip
            ms = 90_000 if (judge, n) == ("bo", 7) else 4000 + n
            rows.append(row_of(one, "answers", f"{judge}-{n:08}", ms=ms))
    small.campaign.learn(small.store.save(rows, 0))
    small.campaign.writer.after = len(rows)
    import json

    dashboard = Dashboard(small.campaign)
    found = json.loads(dashboard.json())
    (task,) = found["tasks"]
    assert (task["questions"], task["judgements"], task["finished"]) == (12, 36, 12)
    assert (task["disputed"], task["open"]) == (2, 0)
    assert task["failed"] == [
        {"item": "i0", "right": 0, "judges": 3}, {"item": "i1", "right": 1, "judges": 3},
    ]  # fmt: skip
    assert found["outliers"] == [
        {"judge": "bo", "task": "answers", "item": "i7", "seconds": 90.0, "kind": "slow"}
    ]
    bo = found["judges"][1]
    assert (bo["name"], bo["done"], bo["total"], bo["slow"], bo["fast"]) == ("bo", 12, 12, 1, 0)
    assert bo["seconds_median"] == 4.0
    assert bo["last"] == "2026-01-01T00:00:11Z"
    observed = next(row for row in task["agreement"] if row["name"] == "observed")
    assert observed["value"] == pytest.approx((10 + 2 / 3) / 12, abs=1e-4)
    assert dashboard.json() is dashboard.json()  # nothing has changed
    small.close()
