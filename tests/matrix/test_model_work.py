"""Runs that are put together from units equal those in one go, and units equal themselves."""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

for room in ("models", "remote"):
    sys.path.append(str(Path(__file__).parents[1] / room))

import classifiers  # noqa: E402
import tiny  # noqa: E402
from chat_server import ChatServer  # noqa: E402
from honest_server import HonestServer  # noqa: E402

from boxpen import Card, Choice, Entail, Run, Suite  # noqa: E402
from boxpen.errors import BoxpenError, ModelError, PolicyError, RunError  # noqa: E402
from boxpen.evaluate import asks, run_plans  # noqa: E402
from boxpen.matrix import cut as cutting  # noqa: E402
from boxpen.matrix.cut import Slice, cut  # noqa: E402
from boxpen.matrix.results import distrust, fill, packed, unpacked  # noqa: E402
from boxpen.matrix.work import ModelWork, refuse_cost_limit  # noqa: E402
from boxpen.models.cached import Ask  # noqa: E402
from boxpen.models.remote.twins import DistrustError  # noqa: E402
from boxpen.plans import Plan, plan  # noqa: E402
from boxpen.plugins import UNITS  # noqa: E402
from boxpen.scoring.cache import ScoreCache  # noqa: E402

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
THINGS = ("box", "pen", "piano", "letter", "drawer", "kettle", "van", "ladder")


def choices(source: str | None = None, context: str | None = None) -> Suite:
    found = [
        Choice(
            id=f"{one} {other}",
            candidates=(f"The {one} was in the {other}.", f"The {other} was in the {one}."),
            gold=0,
            source=source and f"{source}{number}。",
            context=context and f"{context} {one}.",
        )
        for number, one in enumerate(THINGS)
        for other in THINGS[number + 1 :]
    ]
    return Suite("choices", tuple(found), Card(language="en", source_language="zh"))


def inferences() -> Suite:
    found = [
        Entail(id=f"{one} {other}", premise=f"The {one} was in the {other}.", label=label,
               hypothesis=f"The {other} was in the {one}.")
        for one in THINGS[:5]
        for other, label in zip(THINGS[5:], ("entailment", "neutral", "contradiction"), strict=True)
    ]  # fmt: skip
    return Suite("inferences", tuple(found), Card(language="en"))


def saved(pair: tiny.Pair, folder: Path) -> str:
    for part in pair:
        part.save_pretrained(folder)
    return f"hf:{folder}"


def chatty(folder: Path) -> str:
    spec = saved(tiny.gpt2(n_positions=512), folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": TEMPLATE}))
    return spec


def marian(folder: Path) -> str:
    tiny.build("marian", folder)
    return f"hf:{folder}"


@dataclass(frozen=True)
class Case:
    """A model, what it is asked, and how."""

    build: Callable[[Path], str]
    suite: Suite
    options: dict[str, Any] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("score",)


CASES = {
    "causal": Case(lambda f: saved(tiny.gpt2(), f), choices(context="Look at the")),
    "deterministic": Case(lambda f: saved(tiny.gpt2(), f), choices(), {"deterministic": True}),
    "masked": Case(lambda f: saved(tiny.bert(), f), choices()),
    "seq2seq": Case(marian, choices("盒子在围栏里"), tasks=("score", "translate")),
    "nli": Case(lambda f: saved(classifiers.right(), f), inferences()),
    "labels": Case(
        lambda f: saved(classifiers.right(), f), inferences(),
        {"labels": "contradiction,neutral,entailment"},
    ),
    "choice": Case(lambda f: saved(classifiers.choice("bert"), f), choices(context="Look at the")),
    "letters": Case(chatty, choices(), {"recipe": "ask-letters"}, ("letters",)),
    "answers": Case(chatty, choices(), {"recipe": "ask"}, ("answer",)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    """Cut into units of few items."""
    torch.set_num_threads(1)
    monkeypatch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, 200))


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Names of the models of cases, built when first asked for."""
    root, built = tmp_path_factory.mktemp("work"), {}

    def spec(name: str) -> str:
        if name not in built:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                built[name] = CASES[name].build(root / name)
        return built[name]

    return spec


def planned(spec: str, case: Case) -> Plan:
    return plan(spec, case.suite, device="cpu", check_languages=False, **case.options)


def works(parts: list[Slice]) -> Iterator[tuple[Slice, bytes]]:
    """Run units in random order, as two workers would."""
    shared = json.loads(json.dumps(parts[0].unit.group.shared))
    mixed = random.Random(3).sample(parts, len(parts))
    for few in (mixed[::2], mixed[1::2]):
        work = UNITS.load("model")(shared)
        for part in few:
            yield part, work.run(json.loads(json.dumps(part.unit.payload)))
        work.close()


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the model was asked")


def put_together(target: Plan, cache: ScoreCache) -> tuple[Run, list[Slice]]:
    """Run a plan by its units, and put the run together without the model."""
    parts = cut(asks([target]), cache)
    with ScoreCache(":memory:") as fresh, pytest.MonkeyPatch.context() as patch:
        for part, data in works(parts):
            fill(fresh, part.ask, data)
        for method in ("run", "score", "translate", "answer", "letters", "load"):
            patch.setattr(target.model, method, never)
        (run,) = run_plans([target], fresh)
    return run, parts


def assert_equal(one: Run, other: Run) -> None:
    assert one.signature == other.signature
    assert [v.id for v in one.verdicts] == [v.id for v in other.verdicts]
    assert [v.winner for v in one.verdicts] == [v.winner for v in other.verdicts]
    for a, b in zip(one.verdicts, other.verdicts, strict=True):
        assert a.scores == pytest.approx(b.scores, abs=1e-4)
    assert one.translations == other.translations
    assert one.answers == other.answers
    assert one.info.left_out == other.info.left_out
    assert one.info.model == other.info.model
    for item, found in one.candidates.items():
        for a, b in zip(found, other.candidates[item], strict=True):
            np.testing.assert_array_equal(a.record.token_ids, b.record.token_ids)
            np.testing.assert_allclose(a.record.logprobs, b.record.logprobs, rtol=1e-5, atol=1e-5)
            facts = ("unscored", "unknown", "truncated", "crossing")
            assert [getattr(a.record, n) for n in facts] == [getattr(b.record, n) for n in facts]


@pytest.mark.parametrize("name", CASES)
def test_a_run_of_units_equals_a_run_in_one_go(name, specs):
    case = CASES[name]
    with ScoreCache(":memory:") as cache:
        run, parts = put_together(planned(specs(name), case), cache)
        (plain,) = run_plans([planned(specs(name), case)], cache)
    assert_equal(run, plain)
    assert tuple(dict.fromkeys(part.ask.task for part in parts)) == case.tasks
    assert len(parts) > 2
    assert ("self-check" in {part.unit.label for part in parts}) == (name in ("nli", "labels"))


@pytest.mark.parametrize("name", ["causal", "masked", "seq2seq", "nli", "choice", "letters"])
def test_units_have_equal_results_in_any_order(name, specs):
    with ScoreCache(":memory:") as cache:
        parts = cut(asks([planned(specs(name), CASES[name])]), cache)
    first = {part.unit.id: data for part, data in works(parts)}
    again = {part.unit.id: data for part, data in works(parts[::-1])}
    assert first == again


WAYS = {"echo": ("echo",), "echo, ids": ("echo", "tokenize"), "forced": ("forced", "tokenize")}


@pytest.mark.parametrize(
    "way", [pytest.param(w, marks=[pytest.mark.heavy] if n else []) for n, w in enumerate(WAYS)]
)
def test_a_server_is_asked_by_workers(way, gpt2_dir):
    pytest.importorskip("httpx")
    case = Case(str, Suite("few", choices().items[:16], Card(language="en")))
    with HonestServer(gpt2_dir, serves=WAYS[way]) as server, ScoreCache(":memory:") as cache:
        target = plan(server.spec, case.suite)
        run, parts = put_together(target, cache)
        (plain,) = run_plans([plan(server.spec, case.suite)], cache)
    assert len(parts) > 1
    for one, other in zip(run.verdicts, plain.verdicts, strict=True):
        assert one.scores == pytest.approx(other.scores, abs=1e-3)
    assert run.info.model.fingerprint == plain.info.model.fingerprint


class Drifting(HonestServer):
    """Its log-probabilities are a little different for each client, as those of big servers are."""

    drift = 0.0

    def answer(self, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        status, said = super().answer(path, body, headers)
        for choice in said.get("choices", ()) if status == 200 else ():
            found = choice["logprobs"] or {}
            for one in found.get("content", ()):
                one["logprob"] -= self.drift
            for place, value in enumerate(found.get("token_logprobs", ())):
                found["token_logprobs"][place] = value and value - self.drift
        return status, said


def test_a_server_is_recognised_by_workers_and_in_a_new_cache(gpt2_dir):
    pytest.importorskip("httpx")
    few = Suite("few", choices().items[:16], Card(language="en"))
    with Drifting(gpt2_dir) as server, ScoreCache(":memory:") as cache:
        run_plans([plan(server.spec, few)], cache)
        server.drift = 1e-4
        target = plan(server.spec, few)
        own = target.model.fingerprint
        parts = cut(asks([target]), cache)
        assert parts[0].unit.group.shared["fingerprint"] == target.model.fingerprint != own
        server.drift = 2e-4
        run, again = put_together(target, cache)
        assert [p.unit.id for p in again] == [p.unit.id for p in parts]
        assert run.info.model.fingerprint == parts[0].unit.group.shared["fingerprint"]
        server.drift = 3.0
        with pytest.raises(ModelError, match="is not that of the job"):
            ModelWork(parts[0].unit.group.shared)


def test_what_a_server_does_not_answer_is_left_out_with_its_reason():
    pytest.importorskip("httpx")
    items = choices().items[:6]

    def brain(question: str) -> Any:
        return 418 if "piano" in question else "A"

    with ChatServer(brain=brain) as server, ScoreCache(":memory:") as cache:
        few = Suite("few", items, Card(language="en"))
        run, parts = put_together(plan(server.spec, few, recipe="ask"), cache)
        (plain,) = run_plans([plan(server.spec, few, recipe="ask")], cache)
    assert run.info.left_out == plain.info.left_out
    assert [*run.info.left_out.values()] == [["box piano"]]
    assert_equal(run, plain)
    assert len(parts) > 1


def test_what_a_worker_has_paid_for_is_kept_when_a_unit_fails():
    pytest.importorskip("httpx")
    waiting: list[str] = []

    def brain(question: str) -> Any:
        waiting.append(question)
        return 401 if len(waiting) == 20 else "A"  # two of them are the probe's

    few = Suite("few", choices().items[:16], Card(language="en"))
    with ChatServer(brain=brain) as server, ScoreCache(":memory:") as cache:
        target = plan(server.spec, few, recipe="ask")
        (ask,) = asks([target])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, 1 << 20))
            (part,) = cut([ask], cache)
        work = ModelWork(part.unit.group.shared)
        waiting.clear()
        with pytest.raises(ModelError, match="denied access"):
            work.run(part.unit.payload)
        found, reasons = unpacked(ask, work.run(part.unit.payload))
        work.close()
    assert (len(found), reasons) == (len(ask.items), {})
    again = [question for question in ask.items if waiting.count(question) > 1]
    assert len(again) == 1  # the one that was denied


def test_a_server_that_a_worker_caught_lying_is_not_used_again(gpt2_dir):
    pytest.importorskip("httpx")
    few = Suite("few", choices().items[:3], Card(language="en"))
    with HonestServer(gpt2_dir) as server, ScoreCache(":memory:") as cache:
        target = plan(server.spec, few)
        before = cut(asks([target]), cache)[0]
        distrust([target.model], ["out of memory"], cache)
        assert cut(asks([plan(server.spec, few)]), cache)[0].unit.id == before.unit.id
        distrust([target.model], [f"model '{server.spec}' cannot be trusted: it lies"], cache)
        work = ModelWork(before.unit.group.shared)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(work.model, "score", lying)
            with pytest.raises(DistrustError):
                work.run(before.unit.payload)
        with pytest.raises(DistrustError, match="cannot be trusted: it lies"):
            work.run(before.unit.payload)
        work.close()
        after = cut(asks([plan(server.spec, few)]), cache)[0]
        assert after.unit.group.shared["fingerprint"] != before.unit.group.shared["fingerprint"]
        ModelWork(after.unit.group.shared).close()


def lying(*_: Any) -> Any:
    raise DistrustError("tiny", "it lies")


def test_a_limit_on_the_cost_is_refused(gpt2):
    refuse_cost_limit([gpt2], None)
    with pytest.raises(PolicyError, match="--max-cost 2 cannot be kept by several workers") as told:
        refuse_cost_limit([gpt2], 2.0)
    assert "\n" not in str(told.value)


def test_another_model_under_the_same_name_is_refused(specs, tmp_path):
    part = first_part(specs)
    other = {**part.unit.group.shared, "fingerprint": "0" * 64}
    with pytest.raises(ModelError, match=r"is not that of the job: .* expected 000000000000; use"):
        ModelWork(other)
    with pytest.raises(ModelError, match="no such file or folder"):
        ModelWork({**other, "model": str(tmp_path / "gone")})


def test_a_worker_computes_where_it_is_told(specs, monkeypatch):
    part = first_part(specs)
    monkeypatch.setenv("BOXPEN_DEVICE", "cpu")
    work = ModelWork(part.unit.group.shared)
    assert work.place["threads"] == "1"
    assert work.place["dtype"] == "float32"
    assert set(work.place) == {"device", "dtype", "torch", "threads"}
    assert work.model.budget.tokens == 1024
    monkeypatch.setenv("BOXPEN_DEVICE", "nowhere")
    with pytest.raises(ModelError, match="device 'nowhere' is not available"):
        ModelWork(part.unit.group.shared)


def test_deterministic_scores_are_of_the_device_and_the_threads_of_the_job(specs):
    case = CASES["deterministic"]
    with ScoreCache(":memory:") as cache:
        part = cut(asks([planned(specs("deterministic"), case)]), cache)[0]
    shared = part.unit.group.shared
    assert shared["exactness"]["threads"] == 1
    torch.set_num_threads(2)
    work = ModelWork(shared)
    assert work.place["threads"] == "1"
    work.close()
    assert torch.get_num_threads() == 2
    elsewhere = {**shared, "exactness": {**shared["exactness"], "device": "cuda"}}
    with pytest.raises(ModelError, match=r"device cpu, .* expected .*device cuda, .* same device"):
        ModelWork(elsewhere)


def test_memory_that_ran_out_once_changes_no_later_unit(specs, monkeypatch):
    with ScoreCache(":memory:") as cache:
        one, other, *_ = cut(asks([planned(specs("masked"), CASES["masked"])]), cache)
    work = ModelWork(one.unit.group.shared)
    plain = work.run(other.unit.payload)
    work.model.budget.halve(600)
    assert work.model.budget.lowered
    work.run(one.unit.payload)
    assert work.model.budget.tokens == 1024
    assert work.run(other.unit.payload) == plain


def first_part(specs: Callable[[str], str]) -> Slice:
    with ScoreCache(":memory:") as cache:
        return cut(asks([planned(specs("causal"), CASES["causal"])]), cache)[0]


@pytest.fixture(scope="module")
def scores(specs: Callable[[str], str]) -> tuple[Ask, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_BYTES", dict.fromkeys(cutting._BYTES, 200))
        part = first_part(specs)
    return part.ask, ModelWork(part.unit.group.shared).run(part.unit.payload)


class TestResults:
    """What does not fit is rejected whole."""

    @pytest.mark.parametrize("end", [0, 10, -1, -30])
    def test_a_result_that_is_cut_off(self, scores, end):
        self.refused(scores[0], scores[1][:end])

    def test_a_result_of_another_unit(self, scores):
        ask, data = scores
        self.refused(Ask("score", ask.model, ask.items[1:], ask.policy), data)
        self.refused(Ask("answer", ask.model, ("a",)), data)

    @pytest.mark.parametrize("damage", ["nan", "lost", "both", "more"])
    def test_a_result_with_something_wrong_in_it(self, scores, damage):
        ask, data = scores
        found, reasons = unpacked(ask, data)
        if damage == "nan":
            found[0].logprobs[0] = np.nan
        elif damage == "lost":
            del found[0]
        elif damage == "both":
            reasons[0] = "no answer"
        else:
            reasons[len(ask.items)] = "no answer"
        self.refused(ask, packed(ask, found, reasons))

    def test_pickled_objects_are_not_read(self, scores, tmp_path):
        np.savez(tmp_path / "x.npz", reasons=np.array([{}], dtype=object))
        self.refused(scores[0], (tmp_path / "x.npz").read_bytes())

    def test_nothing_of_it_reaches_the_cache(self, scores):
        ask, data = scores
        with ScoreCache(":memory:") as cache:
            with pytest.raises(RunError):
                fill(cache, ask, data[:-1])
            assert cache.records(list(ask.keys().values())) == {}

    def test_texts_may_be_any(self, scores):
        ask = Ask("answer", scores[0].model, ("a", "b", "c"))
        found, reasons = {0: "盒\0\ud800\n", 2: ""}, {1: "HTTP 500 after 6 tries"}
        assert unpacked(ask, packed(ask, found, reasons)) == (found, reasons)

    def refused(self, ask: Ask, data: bytes) -> None:
        with pytest.raises(BoxpenError) as told:
            unpacked(ask, data)
        assert isinstance(told.value, RunError)
        assert "\n" not in str(told.value)
