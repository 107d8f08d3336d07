"""Robustness: pairs of originals and duals, what survives, and answers that were kept."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen import Choice, Suite, evaluate, load_suite
from boxpen.analysis.kept import kept_answers
from boxpen.analysis.robustness import dual_pairs, find_pairs, robustness
from boxpen.errors import RunError
from boxpen.metrics.choice import both_right, consistency
from boxpen.metrics.compare import holm
from dual_runs import dual_run, dual_suite
from small_runs import Liking, small_run


def first(suite, count):
    return suite.take(suite.items[:count])


def test_the_numbers_of_six_pairs():
    # Blocks: ++ +- +- -+ -- ++, the last of another operation and with its truth kept.
    run = dual_run("+++-+--+--++", dual_suite(["add"] * 5 + ["swap="]))
    add, swap, whole = robustness(dual_pairs(run))
    assert [r.operation for r in (add, swap, whole)] == ["add", "swap", "all"]
    assert (add.pairs, add.flipped, swap.flipped, whole.pairs, whole.flipped) == (5, 5, 0, 6, 5)
    assert add.original.value == pytest.approx(3 / 5)
    assert add.dual.value == pytest.approx(2 / 5)
    assert add.both.value == pytest.approx(1 / 5)
    assert add.consistency.value == pytest.approx(2 / 5)
    assert add.survives.value == pytest.approx(1 / 3)
    assert add.survives.n == 3
    assert add.same.value == pytest.approx(3 / 5)
    assert add.independent == pytest.approx(3 / 5 * 2 / 5)
    assert (swap.survives.value, swap.same.n) == (1.0, 0)
    assert whole.survives.value == pytest.approx(2 / 4)
    assert whole.same.value == pytest.approx(3 / 5)
    assert whole.guessing == pytest.approx(0.25)
    assert [add.adjusted, swap.adjusted] == holm([add.p, swap.p])


signs = st.sampled_from("+-=")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(signs, signs), min_size=1, max_size=8))
def test_pairs_add_up_as_blocks_do(outcome):
    run = dual_run("".join(a + b for a, b in outcome), dual_suite(["add"] * len(outcome)))
    row = robustness(dual_pairs(run))[-1]
    assert row.both == both_right(run.verdicts)
    assert row.consistency == consistency(run.verdicts)
    decided = [(a, b) for a, b in outcome if "=" not in (a, b)]
    assert row.ties == len(outcome) - len(decided)
    assert row.same.n == len(decided)
    kept = [pair for pair in decided if pair[0] != pair[1]]
    assert len(kept_answers(run, dual_pairs(run))) == len(kept)
    if decided:
        assert row.same.value == pytest.approx(len(kept) / len(decided))


def test_what_was_kept_is_shown_with_its_change_and_margins():
    run = dual_run("+--++++-", dual_suite(["add"] * 4))
    found = {one.block: one for one in kept_answers(run, dual_pairs(run))}
    assert set(found) == {"b0", "b1", "b3"}
    one = found["b0"]
    assert (one.right, one.option, one.original, one.dual) == ("original", 0, "b0-0", "b0-1")
    assert one.texts == ("0 went in and got wet", "0.1 never went in and got wet")
    assert one.change == (("", "1 never"),)
    assert one.margins == pytest.approx((1.0, -1.0), abs=1e-5)
    # The candidates of this dual stand the other way round, and it is the same answer.
    assert (found["b1"].right, found["b1"].option) == ("dual", 1)
    assert found["b1"].texts == ("1 went in and stayed dry", "1.1 never went in and stayed dry")


def test_the_surest_come_first():
    run = dual_run("+-+-+-", dual_suite(["add"] * 3))
    margins = {"b0-0": 0.5, "b0-1": -9.0, "b1-0": 3.0, "b1-1": -2.0, "b2-0": 1.0, "b2-1": -1.0}
    run = replace(run, verdicts=tuple(replace(v, margin=margins[v.id]) for v in run.verdicts))
    assert [one.block for one in kept_answers(run, dual_pairs(run))] == ["b1", "b2", "b0"]


def test_a_run_without_texts_still_names_the_pairs():
    run = replace(dual_run("+-", dual_suite(["add"])), candidates={})
    (one,) = kept_answers(run, dual_pairs(run))
    assert (one.texts, one.change) == (None, ())


def test_several_duals_of_an_original_are_pairs_of_one_block():
    suite = dual_suite(["add", "add"], duals=3)
    pairs = dual_pairs(dual_run("++-+-+-+", suite))
    assert [(p.original.id, p.dual.id) for p in pairs][:3] == [
        ("b0-0", "b0-1"), ("b0-0", "b0-2"), ("b0-0", "b0-3"),
    ]  # fmt: skip
    row = robustness(pairs)[-1]
    assert row.test == "permutation of blocks"
    assert row.survives.value == pytest.approx(2 / 3)
    # Six pairs of two blocks say no more than two blocks.
    alone = robustness([replace(p, block=str(n)) for n, p in enumerate(pairs)])[-1]
    assert row.both.high - row.both.low >= alone.both.high - alone.both.low


def test_an_original_without_the_tag_is_one_wherever_it_stands():
    suite = dual_suite(["add"])
    dual, original = suite.items[1], replace(suite.items[0], tags={})
    run = dual_run("-+", suite.take([dual, original]))
    (pair,) = dual_pairs(run)
    assert (pair.original.id, pair.dual.id) == ("b0-0", "b0-1")


def test_an_original_with_several_blocks_counts_as_one():
    # As the builder duals makes them: the original stands in every block again.
    suite = dual_suite(["add", "del", "add", "del"])
    sides = ("original", "dual")
    items = [
        replace(i, tags={**i.tags, "side": sides[n % 2], "item": f"o{n // 4}"})
        for n, i in enumerate(suite)
    ]
    pairs = dual_pairs(dual_run("+++-----", suite.take(items)))
    assert [p.cluster for p in pairs] == ["o0", "o0", "o1", "o1"]
    add, _, whole = robustness(pairs)
    assert (add.test, whole.test) == ("exact conditional", "permutation of blocks")
    apart = robustness([replace(p, dual=replace(p.dual, tags={})) for p in pairs])[-1]
    assert apart.test == "exact conditional"
    for name in ("original", "consistency"):
        mine, theirs = getattr(whole, name), getattr(apart, name)
        assert mine.value == theirs.value
        assert mine.high - mine.low > theirs.high - theirs.low
    # The dual may stand first, if the tags say which is which.
    turned = dual_pairs(dual_run("++", suite.take(items[1::-1])))
    assert [(p.original.id, p.dual.id) for p in turned] == [("b0-0", "b0-1")]


def test_of_three_candidates_the_number_tells():
    items = [
        Choice(id=f"{b}{side}", candidates=tuple(f"{b}{side}{c}" for c in "xyz"), gold=gold,
               block=b, tags={"operation": "sub"})
        for b, golds in (("p", (0, 1)), ("q", (0, 1)))
        for side, gold in zip("ab", golds, strict=True)
    ]  # fmt: skip
    # p: x and then x; q: x and then z, which is wrong but another answer.
    run = evaluate(
        Liking("one", {"pax", "pbx", "qax", "qbz"}), Suite("three", tuple(items)), cache=":memory:"
    )
    assert [one.block for one in kept_answers(run, dual_pairs(run))] == ["p"]
    assert robustness(dual_pairs(run))[-1].guessing == pytest.approx(1 / 9)


def test_the_tags_of_the_starter_suite_are_read():
    suite = load_suite("starter")
    run = dual_run("+" * 160, suite.where(part="dual"))
    pairs = dual_pairs(run)
    assert len(pairs) == 80
    assert {p.operation for p in pairs} == {"add", "del", "sub", "swap"}
    assert sum(p.flips for p in pairs) == 64
    # Other parts of the suite have blocks too, which are no duals.
    assert find_pairs(dual_run("+" * 40, first(suite.where(part="mt"), 40))) == []


def test_the_published_duals(mirror):
    suite = load_suite("cats-dual")
    pairs = dual_pairs(dual_run("+" * len(suite), suite))
    counts = {o: sum(p.operation == o for p in pairs) for o in ("add", "del", "sub", "swap")}
    assert counts == {"add": 92, "del": 82, "sub": 75, "swap": 74}
    assert {p.operation: sum(not q.flips for q in pairs if q.operation == p.operation)
            for p in pairs} == {"add": 0, "del": 0, "sub": 1, "swap": 6}  # fmt: skip
    assert all(p.original.id[-1] == "a" and p.dual.id[-1] == "b" for p in pairs)
    assert robustness(pairs)[-1].same.value == 0.0


def test_a_model_that_keeps_its_answer_is_found_out():
    outcome = "+-" * 10 + "-+" * 10
    row = robustness(dual_pairs(dual_run(outcome, dual_suite(["add"] * 20))))[-1]
    assert (row.original.value, row.dual.value, row.both.value) == (0.5, 0.5, 0.0)
    assert row.same.value == 1.0
    assert row.independent == 0.25
    assert row.p < 0.001


def test_where_no_original_is_right_nothing_survives():
    row = robustness(dual_pairs(dual_run("-+-+", dual_suite(["add"] * 2))))[-1]
    assert math.isnan(row.survives.value)


def test_suites_without_blocks_or_duals_are_refused():
    alone = Suite("alone", tuple(replace(i, block=None) for i in dual_suite(["add"] * 2)))
    with pytest.raises(RunError, match="the run of alone has no blocks, expected a suite in which"):
        dual_pairs(dual_run("++++", alone))
    blocks = small_run("++++")
    with pytest.raises(RunError, match=r"has no duals: no block .* tag 'operation'; .* --by names"):
        dual_pairs(blocks)
    with pytest.raises(RunError, match=r"no item .* has the tag 'sets', did you mean 'set'"):
        dual_pairs(blocks, "sets")
    assert len(dual_pairs(blocks, "set")) == 2
    half = first(dual_suite(["add"]), 1)
    with pytest.raises(RunError, match="has no duals: no block of two judged items"):
        dual_pairs(dual_run("+", half), "operation")
