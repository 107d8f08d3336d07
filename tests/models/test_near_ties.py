"""Precision fast aims at the verdicts of float32; records name the precision they are in."""

import copy

import numpy as np
import pytest
import tiny

import boxpen
from boxpen.errors import PolicyError, RunError
from boxpen.evaluate import run_plans
from boxpen.models.base import Model
from boxpen.models.cached import near_ties
from boxpen.models.engine import products
from boxpen.plans import plan
from boxpen.sampling import draw_sample
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Record, Request

SUITE = draw_sample(boxpen.load_suite("starter.sense"), 60)
CONTEXTS = boxpen.Suite(
    "contexts",
    tuple(
        boxpen.Choice(id=f"{a}{b}", context=f"The {a} was in the {b}.", candidates=texts, gold=0)
        for a in ("box", "boy", "bird", "piano", "letter", "lake", "sun", "coffee")
        for b in ("pen", "drawer", "van", "shop", "kettle", "room", "newspaper", "door")
        for texts in [(f"He found the {a}.", f"He found the {b}.", f"The {b} found him.")]
    ),
)


@pytest.fixture(autouse=True)
def _capable(monkeypatch):
    """Take bfloat16 on any processor; it is only slower on some."""
    monkeypatch.setattr(products, "multiplies_bfloat16", lambda _: True)
    monkeypatch.setattr(near_ties, "CALIBRATION", (20, 20))


@pytest.fixture(scope="module")
def pair():
    return tiny.gpt2()


def outcomes(run):
    return [(v.id, v.winner, v.tied, v.credit) for v in run.verdicts]


@pytest.fixture(scope="module")
def full(pair):
    return boxpen.evaluate(pair, SUITE, cache=":memory:")


@pytest.mark.parametrize("norm", ["sum", "token", "pmi"])
def test_verdicts_are_those_of_full_precision(pair, norm):
    full, fast = (
        boxpen.evaluate(pair, CONTEXTS, cache=":memory:", norm=norm, precision=precision)
        for precision in ("full", "fast")
    )
    assert outcomes(fast) == outcomes(full)
    dtypes = {one.dtype for of in fast.candidates.values() for one in of}
    assert dtypes == {"bfloat16", "float32"}
    for name, candidates in fast.candidates.items():
        assert len({one.dtype for one in candidates}) == 1  # never mixed within an item
        for ours, theirs in zip(candidates, full.candidates[name], strict=True):
            apart = abs(ours.record.total - theirs.record.total)
            assert (apart < 1e-4) == (ours.dtype == "float32") or apart < 1e-3


def test_a_bound_that_does_not_hold_grows():
    """Item n leads by n, and rounding moves it by n + 1: more than the first item promises."""
    ids = [f"item {n}" for n in range(40)]
    rounded, exact = {}, {}
    for n, item in enumerate(ids):
        for place in range(2):
            rounded[Request(f"{item} {place}")] = record(-n * place)
            exact[Request(f"{item} {place}")] = record(-n * place - (n + 1) * place)
    contest = {item: ((Request(f"{item} 0"), Request(f"{item} 1")), ()) for item in ids}
    pairs = near_ties._Decided(near_ties.Contest("sum", contest), rounded)
    bounds, near = [], ids[:1]
    while near:
        near = pairs.near(near, exact)
        bounds.append((pairs.bounds["sum"], len(near)))
    # Items 1 and 2 lead by no more than 2, and 2 moves by 3; so all up to 6 are scored again.
    assert bounds[:3] == [(2, 2), (6, 4), (14, 8)]
    assert pairs.done == set(ids)


def record(total, length=1):
    return Record(np.arange(length, dtype=np.int32), np.full(length, total / length, np.float32))


def test_the_longest_items_are_in_the_sample():
    """Rounding grows with the scored text, and a draw by ids could miss the longest."""
    items = {f"item {n}": ((Request(f"{n} a"), Request(f"{n} b")), ()) for n in range(200)}
    rounded = {r: record(-1, n + 1) for n, (few, _) in enumerate(items.values()) for r in few}
    sample = near_ties._Decided(near_ties.Contest("sum", items), rounded).sample()
    assert {f"item {n}" for n in range(193, 200)} <= set(sample)  # a quarter of the whole sample
    assert 20 < len(sample) == len(set(sample)) <= 27
    assert any(int(name.split()[1]) < 100 for name in sample)


def together(pair, contests):
    """Score suites in one call."""
    model = boxpen.resolve_model(pair)
    with ScoreCache(":memory:") as cache:
        plans = [plan(model, suite, precision="fast", norm=norm) for suite, norm in contests]
        return run_plans(plans, cache)


def test_suites_scored_together_are_decided_and_counted_apart(pair, monkeypatch):
    monkeypatch.setattr(near_ties, "CALIBRATION", (3, 3))
    twice = [
        (boxpen.Suite(name, CONTEXTS.items), norm) for name, norm in (("a", "sum"), ("b", "pmi"))
    ]
    runs = together(pair, twice)
    for run, contest in zip(runs, twice, strict=True):
        (alone,) = together(pair, [contest])
        assert precisions(run) == precisions(alone)
        exact = sum(dtype == "float32" for dtype in precisions(run).values())
        assert run.info.engine["rescored"] == alone.info.engine["rescored"] == exact
    assert precisions(runs[0]) != precisions(runs[1])  # they share all requests of candidates


def precisions(run):
    return {name: candidates[0].dtype for name, candidates in run.candidates.items()}


def test_engine_facts_are_those_of_both_passes(pair):
    with ScoreCache(":memory:") as cache:
        full = boxpen.evaluate(pair, SUITE, cache=":memory:").info.engine
        first = boxpen.evaluate(pair, SUITE, cache=cache, precision="fast").info.engine
        again = boxpen.evaluate(pair, SUITE, cache=cache, precision="fast").info.engine
    assert first["rescored"] >= 20
    assert full["texts"] < first["texts"] <= 2 * full["texts"]
    assert first["computed"] > full["computed"]
    assert first["how"] == full["how"]
    assert again["from_cache"] == first["texts"]
    assert "computed" not in again


def test_the_signature_has_the_batch_of_the_rounded_model(pair):
    settings = ({}, {"deterministic": True}, {"batch_size": 1})
    signatures = [
        boxpen.evaluate(
            boxpen.resolve_model(pair), SUITE, cache=":memory:", precision="fast", **how
        ).signature
        for how in settings
    ]
    assert ["|batch:any|" in one for one in signatures] == [True, False, True]
    assert "|batch:1|" in signatures[1]


def test_a_module_in_another_precision_is_scored_as_it_is(pair):
    """Nobody asked for float32, so nothing is refused."""
    halves = (copy.deepcopy(pair[0]).bfloat16(), pair[1])
    run = boxpen.evaluate(halves, SUITE, cache=":memory:", precision="fast")
    assert run.info.model.dtype == "bfloat16"
    assert "precision 'fast' is not available here" in run.info.model.remark


def test_the_signature_and_the_cache_keep_precisions_apart(pair, full, tmp_path):
    with ScoreCache(tmp_path / "cache.db") as cache:
        fast = boxpen.evaluate(pair, SUITE, cache=cache, precision="fast")
        again = boxpen.evaluate(pair, SUITE, cache=cache)
    assert "|dtype:fast|" in fast.signature
    assert again.signature == full.signature
    assert 0 < again.info.engine["from_cache"] < 150  # what was scored in float32, and no more
    assert outcomes(again) == outcomes(full)


def test_records_keep_their_precision_on_disk(pair, tmp_path):
    fast = boxpen.evaluate(pair, SUITE, cache=":memory:", precision="fast")
    loaded = boxpen.Run.load(fast.save(tmp_path))
    for name, candidates in fast.candidates.items():
        assert [c.dtype for c in loaded.candidates[name]] == [c.dtype for c in candidates]
    assert loaded.info.rounding == fast.info.rounding
    assert set(loaded.to_polars("records")["dtype"]) == {"bfloat16", "float32"}


def test_another_norm_is_refused_where_rounding_could_decide(pair):
    fast = boxpen.evaluate(pair, SUITE, cache=":memory:", precision="fast")
    with pytest.raises(RunError, match="run again with --precision fast --norm token"):
        fast.rescore(norm="token")
    strict = fast.rescore(ties="strict")
    assert [v.winner for v in strict.verdicts] == [v.winner for v in fast.verdicts]


def test_hardware_without_bfloat16_scores_in_full_and_says_so(pair, full, monkeypatch):
    monkeypatch.setattr(products, "multiplies_bfloat16", lambda _: False)
    model = boxpen.resolve_model(pair)
    run = boxpen.evaluate(model, SUITE, cache=":memory:", precision="fast")
    assert run.signature == full.signature
    assert "precision 'fast' is not available here" in run.info.model.remark
    assert Model.rounded.fget(model) is None


def test_a_dtype_beside_it_is_refused(pair):
    with pytest.raises(PolicyError, match="precision 'fast' scores near ties in float32"):
        boxpen.evaluate(pair, SUITE, precision="fast", dtype="bfloat16")
