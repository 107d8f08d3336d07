"""What is asked is cut into units: every item once, whatever the order, whoever else asks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import boxpen
from boxpen import Card, Choice, Suite
from boxpen.errors import ModelError
from boxpen.evaluate import asks, run_plans
from boxpen.matrix import cut as cutting
from boxpen.matrix.cut import cut, slices, unknown
from boxpen.matrix.payload import ask_of, payload_of
from boxpen.models.base import ResolvedPolicy
from boxpen.models.cached import Ask
from boxpen.plans import plan
from boxpen.scoring.ask import Question
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Record, Request
from small_runs import Liking, small_suite

MODEL = Liking("one", set())
POLICY = ResolvedPolicy(bos=True, eos=False, max_length=100)
RECORD = Record(np.zeros(1, np.int32), np.full(1, -1.0, np.float32))

text = st.text(st.sampled_from('ab 盒\0\ud800"\\'), max_size=12)
maybe = st.none() | st.sampled_from(["en", "zh"])
requests = st.builds(
    Request, text, text, source=st.none() | text, languages=st.tuples(maybe, maybe),
    context=st.none() | text,
)  # fmt: skip
questions = st.lists(text, min_size=1, max_size=4).map(
    lambda options: Question("\n".join(options), tuple(range(len(options))), tuple(options))
)
items = st.one_of(
    st.tuples(st.just("score"), st.lists(requests, max_size=25)),
    st.tuples(st.just("letters"), st.lists(questions, max_size=25)),
    st.tuples(st.just("translate"), st.lists(st.tuples(text, text), max_size=25)),
    st.tuples(st.just("answer"), st.lists(text, max_size=25)),
)


@pytest.fixture
def narrow(monkeypatch):
    """Cut into units of very few items."""
    monkeypatch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, 30))


@given(what=items, seed=st.randoms(use_true_random=False), width=st.sampled_from([5, 30, 200]))
def test_slices_have_every_item_once_in_any_order(what, seed, width):
    task, found = what
    ask = Ask(task, MODEL, tuple(found), POLICY, ("en", "zh"))
    mixed = list(ask.items)
    seed.shuffle(mixed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, width))
        parts = [part for part, _ in slices(ask)]
        again = [part for part, _ in slices(Ask(task, MODEL, tuple(mixed), POLICY, ("en", "zh")))]
    assert parts == again
    every = [item for part in parts for item in part.items]
    assert len(every) == len(ask.items)
    assert set(every) == set(ask.items)
    for part in parts:
        payload = json.loads(json.dumps(payload_of(part)))
        assert ask_of(MODEL, payload) == part
        assert payload_of(ask_of(MODEL, payload)) == payload


def test_what_begins_alike_stays_together_and_units_are_of_one_size():
    like = [Request(f"{n} is in the pen.", prefix="The box " * 200) for n in range(400)]
    ((_, nodes),) = slices(Ask("score", MODEL, tuple(like), POLICY))
    assert nodes < 10_000  # of 640,000 bytes
    apart = [Request(f"{n} {n * n} " * 40) for n in range(1000)]
    sizes = [nodes for _, nodes in slices(Ask("score", MODEL, tuple(apart), POLICY))]
    assert len(sizes) > 5
    assert all(20_000 < size <= 100_000 for size in sizes[:-1])


def suite(name: str, start: int, count: int) -> Suite:
    things = [f"thing {n}" for n in range(start, start + count)]
    items = [
        Choice(id=t, candidates=(f"The {t} was in it.", f"It was in the {t}."), gold=0)
        for t in things
    ]
    return Suite(name, tuple(items), Card(language="en"))


@pytest.mark.usefixtures("narrow")
def test_another_suite_changes_no_unit(gpt2_dir):
    model = boxpen.resolve_model(f"hf:{gpt2_dir}", device="cpu")
    one, other = plan(model, suite("one", 0, 20)), plan(model, suite("other", 10, 20))
    with ScoreCache(":memory:") as cache:
        alone = {part.unit.id for part in cut(asks([one]), cache)}
        both = cut(asks([other, one]), cache)
    assert len(alone) > 3
    assert alone < {part.unit.id for part in both}
    assert {part.unit.label for part in both} == {"one × " + model.short, "other × " + model.short}
    assert len({id(part.unit.group) for part in both}) == 1
    assert "module" not in vars(model), "the weights were loaded"


def test_recipes_of_one_suite_are_asked_together():
    item = Choice(id="1", candidates=("a box", "a pen"), gold=0, context="It was in")
    one = Suite("one", (item,), Card(language="en"))
    plans = [plan(MODEL, one, template=said) for said in (None, "So: {context}", None)]
    (ask,) = asks(plans)
    assert ask.items == tuple(dict.fromkeys(r for p in plans for r in p.all_requests()))
    assert len(ask.items) == 4


def test_a_unit_depends_on_the_settings_of_its_model(gpt2_dir):
    def unit(**settings):
        model = boxpen.resolve_model(f"hf:{gpt2_dir}", device="cpu", **settings)
        with ScoreCache(":memory:") as cache:
            (part,) = cut(asks([plan(model, small_suite(4))]), cache)
        return part.unit.id

    ids = [unit(), unit(token_budget=50), unit(deterministic=True), unit(dtype="bfloat16")]
    assert len({*ids, unit()}) == len(ids)


def test_a_model_in_memory_is_refused(gpt2):
    pair = boxpen.resolve_model((gpt2.module, gpt2.tokenizer))
    with ScoreCache(":memory:") as cache, pytest.raises(ModelError, match="is in memory"):
        cut(asks([plan(pair, small_suite(4))]), cache)


@pytest.mark.usefixtures("narrow")
def test_what_a_cache_has_is_not_asked_again():
    with ScoreCache(":memory:") as cache:
        parts = cut(asks([plan(MODEL, small_suite(20))]), cache)
        assert unknown(parts, cache) == parts
        known = list(parts[1].ask.keys().values())
        cache.add_records([(key, RECORD) for key in known])
        assert unknown(parts, cache) == [parts[0], *parts[2:]]
        part = next(iter(parts[0].ask.keys().values()))
        cache.add_records([(part, RECORD)])
        assert parts[0] in unknown(parts, cache)


def test_what_is_refused_is_not_asked_again():
    class Silent(Liking):
        def run(self, encoded, policy):
            raise AssertionError("asked")
            yield

    model = Silent("silent", set())
    plans = [plan(model, small_suite(4))]
    (ask,) = asks(plans)
    keys = ask.keys()
    with ScoreCache(":memory:") as cache:
        first, *rest = ask.items
        cache.add_records([(keys[item], RECORD) for item in rest])
        cache.refused[keys[first]] = "HTTP 500 after 6 tries"
        (run,) = run_plans(plans, cache)
    assert run.info.left_out == {"unanswered: HTTP 500 after 6 tries": ["i0"]}
    assert len(run.verdicts) == 3
