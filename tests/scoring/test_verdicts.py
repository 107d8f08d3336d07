"""Decisions: ties, margins, consistency, intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from boxpen import Choice, Entail, Record, ScoringPolicy
from boxpen.errors import ScoringError
from boxpen.metrics.choice import accuracy, both_right, consistency
from boxpen.metrics.intervals import share, wilson
from boxpen.scoring.normalise import TIE_TOLERANCE
from boxpen.scoring.verdicts import Scored, Verdict, decide


def candidate(total: float, tokens: int = 4, **flags: bool) -> Scored:
    values = np.full(tokens, total / tokens, dtype=np.float32)
    return Scored("a box", Record(np.zeros(tokens, dtype=np.int32), values, **flags))


def verdict(totals: list[float], gold: int = 0, **policy: str) -> Verdict:
    item = Choice(id="i", candidates=tuple(f"c{i}" for i in range(len(totals))), gold=gold)
    return decide(item, [candidate(t) for t in totals], ScoringPolicy(**policy))


def test_trap_18_the_larger_log_probability_wins():
    """A loss was taken for a score, so that the unlikelier candidate won."""
    made = verdict([-9.0, -3.0, -5.0], gold=1)
    assert (made.winner, made.credit, made.tied) == (1, 1.0, 1)
    assert made.margin == pytest.approx(2.0)
    assert verdict([-9.0, -3.0], gold=0).margin == pytest.approx(-6.0)


@pytest.mark.parametrize("gold", [0, 1])
def test_trap_16_an_identical_pair_earns_half_wherever_gold_stands(gold):
    """``argmax`` with gold first counted every tie, also of identical candidates, as right."""
    assert verdict([-4.0, -4.0], gold, ties="half").credit == 0.5
    assert verdict([-4.0, -4.0], gold, ties="strict").credit == 0.0
    assert verdict([-4.0, -4.0], gold, ties="first").credit == float(gold == 0)
    assert verdict([-4.0, -4.0], gold).tied == 2


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_trap_16_credit_is_one_in_k(k):
    totals = [-4.0] * k + [-9.0]
    assert verdict(totals, gold=k - 1).credit == pytest.approx(1 / k)
    assert verdict(totals, gold=k).credit == 0


def test_trap_16_chance_stays_chance():
    """With nothing but ties, no placing of gold earns more than chance."""
    for ties, expected in (("half", 0.5), ("strict", 0.0)):
        made = [verdict([-4.0, -4.0], gold=g, ties=ties) for g in (0, 0, 0, 1)]
        assert accuracy(made).value == expected


def test_trap_16_rounding_is_a_tie_a_difference_is_not():
    """A difference that can change with the batch says nothing."""
    assert verdict([-4.0, -4.0 - TIE_TOLERANCE / 2]).tied == 2
    assert verdict([-4.0, -4.0 - TIE_TOLERANCE * 3]).tied == 1
    assert verdict([-4.0, -4.0 - TIE_TOLERANCE / 2], norm="token").tied == 2
    assert verdict([-4.0, -4.0 - TIE_TOLERANCE * 5], norm="token").tied == 1


def test_flags_of_any_candidate_reach_the_verdict():
    item = Choice(id="i", candidates=("a", "b"), gold=0)
    made = decide(
        item, [candidate(-1, truncated=True), candidate(-2, crossing=True)], ScoringPolicy()
    )
    assert made.truncated
    assert made.crossing


@given(
    totals=st.lists(st.sampled_from([-1.0, -2.0, -3.0]), min_size=2, max_size=5),
    data=st.data(),
)
def test_credits_over_all_golds_sum_to_one(totals, data):
    """Whatever the scores, the candidates share one credit; and their order does not matter."""
    golds = range(len(totals))
    assert math.fsum(verdict(totals, g).credit for g in golds) == pytest.approx(1)
    order = data.draw(st.permutations(list(golds)))
    for gold in golds:
        moved = verdict([totals[i] for i in order], order.index(gold))
        assert moved.credit == verdict(totals, gold).credit
        assert moved.margin == verdict(totals, gold).margin


def outcome(block: str, credit: float, n: list[int] = [0]) -> Verdict:  # noqa: B006
    n[0] += 1
    return Verdict(
        id=str(n[0]), block=block, gold=0, scores=(0.0, 0.0), winner=0, tied=1, credit=credit,
        margin=0.0,
    )  # fmt: skip


def test_trap_17_always_wrong_is_consistent_and_never_both_right():
    """Consistency as the papers define it makes an always-wrong model perfect."""
    wrong = [outcome(b, 0.0) for b in "aabbcc"]
    assert consistency(wrong).value == 1
    assert both_right(wrong).value == 0
    assert accuracy(wrong).value == 0
    mixed = [outcome("a", 1.0), outcome("a", 1.0), outcome("b", 1.0), outcome("b", 0.0)]
    assert consistency(mixed).value == 0.5
    assert both_right(mixed).value == 0.5


def test_blocks_of_one_are_no_blocks():
    assert consistency([outcome("a", 1.0)]).n == 0


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (1, 7), (50, 100), (999, 1000)])
def test_trap_23_wilson_against_scipy(right, n):
    expected = stats.binomtest(right, n).proportion_ci(method="wilson")
    made = share([1.0] * right + [0.0] * (n - right))
    assert made.value == right / n
    assert (made.low, made.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert wilson(right / n, n) == (made.low, made.high)


@given(
    blocks=st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), min_size=1, max_size=12
    )
)
def test_trap_23_a_clustered_interval_is_not_narrower(blocks):
    """Items of a block are not independent; taking them for it gave intervals too narrow."""
    earned = [c for block in blocks for c in block]
    clusters = [i for i, block in enumerate(blocks) for _ in block]
    independent, clustered = share(earned), share(earned, clusters)
    assert clustered.value == independent.value
    assert clustered.low <= independent.low + 1e-12
    assert clustered.high >= independent.high - 1e-12
    assert 0 <= clustered.low <= clustered.value <= clustered.high <= 1


def test_trap_23_duplicated_items_add_no_certainty():
    once = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    thrice = list(itertools.chain.from_iterable([c] * 3 for c in once))
    clustered = share(thrice, [i for i in range(len(once)) for _ in range(3)])
    naive = share(thrice)
    assert clustered.high - clustered.low >= share(once).high - share(once).low
    assert naive.high - naive.low < clustered.high - clustered.low


def test_trap_23_accuracy_clusters_by_block():
    items = [outcome(f"b{i // 2}", float(i // 2 % 2)) for i in range(20)]
    loose = [outcome(f"b{i}", v.credit) for i, v in enumerate(items)]
    wide, narrow = accuracy(items), accuracy(loose)
    assert wide.value == narrow.value
    assert wide.high - wide.low > narrow.high - narrow.low


LABELS = ("entailment", "neutral", "contradiction")


def labelled(scores: dict[str, float], label: str, *also: str, **policy: str) -> Verdict:
    """Decide an item by the log-probabilities of labels."""
    names = [*LABELS, "not_entailment"]
    ids = np.array([names.index(name) for name in scores], dtype=np.int32)
    record = Record(ids, np.array(list(scores.values()), dtype=np.float32))
    item = Entail(id="i", premise="p", hypothesis="h", label=label, also=also)
    return decide(item, [Scored("h", record)], ScoringPolicy(**policy))


@given(
    st.lists(st.sampled_from([-1.0, -2.0, -3.0, -4.0]), min_size=3, max_size=3),
    st.permutations(LABELS),
    st.sampled_from(["half", "strict", "first"]),
)
def test_either_of_two_accepted_labels_earns_the_credit(totals, order, ties):
    """Against the plain way: sum the credits of each accepted label alone."""
    scores = dict(zip(LABELS, totals, strict=True))
    made = labelled(scores, order[0], order[1], ties=ties)
    alone = [labelled(scores, label, ties=ties) for label in order]
    tied = [label for label in LABELS if scores[label] == max(totals)]
    if ties == "strict":
        assert made.credit == float(set(tied) <= set(order[:2]))
    else:
        assert made.credit == pytest.approx(alone[0].credit + alone[1].credit)
    best = max(scores[order[0]], scores[order[1]])
    assert made.margin == pytest.approx(best - scores[order[2]])
    assert (made.gold, made.also) == (LABELS.index(order[0]), (order[1],))


def test_accepted_labels_in_every_setting():
    forced = {"entailment": -2.0, "neutral": -0.1, "contradiction": -3.0}
    assert labelled(forced, "entailment", "neutral").credit == 1
    assert labelled(forced, "contradiction", "neutral").credit == 1
    assert labelled(forced, "entailment", "neutral", nli="2-way").credit == 1
    assert labelled(forced, "contradiction", "neutral", nli="2-way").credit == 0
    two = labelled(forced, "neutral", "contradiction", nli="2-way")
    assert (two.gold, two.also, two.credit) == (1, ("neutral",), 0)
    binary = {"entailment": -2.0, "not_entailment": -0.1}
    assert labelled(binary, "contradiction", "neutral").credit == 1
    with pytest.raises(ScoringError, match="expects 'entailment or neutral'"):
        labelled(binary, "entailment", "neutral")  # no answer would be wrong
