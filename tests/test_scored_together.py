"""Runs and the engine: suites scored together, exact repeats, settings, what a report must say."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import boxpen
from boxpen import Card, Choice, Suite
from boxpen.cli.app import app
from boxpen.evaluate import run_plans
from boxpen.plans import plan
from boxpen.report.terminal import notes
from boxpen.scoring.cache import ScoreCache

EN = Card(language="en", title="Tests of tests")


def suite(name: str, things: list[str]) -> Suite:
    items = [
        Choice(
            id=f"{name} {thing}",
            candidates=(
                f"On a rainy day the {thing} was left in the garden.",
                f"On a rainy day the garden was left in the {thing}.",
            ),
            gold=0,
        )
        for thing in things
    ]
    return Suite(name, tuple(items), EN)


ONE = suite("one", ["box", "pen", "spoon", "chair", "lamp"])
OTHER = suite("other", ["box", "pen", "kettle", "ladder"])


@pytest.fixture
def model(gpt2_dir):
    return boxpen.resolve_model(f"hf:{gpt2_dir}", device="cpu")


def scores(run) -> dict[str, tuple[float, ...]]:
    return {v.id: v.scores for v in run.verdicts}


def test_suites_of_a_run_are_scored_in_one_go(model):
    with ScoreCache(":memory:") as cache:
        first, second = run_plans([plan(model, ONE), plan(model, OTHER)], cache)
    together = first.info.engine
    assert together == second.info.engine
    assert together["how"] == "prefix tree"
    assert together["texts"] == 14  # of 18, four stand in both
    assert together["nodes"] < together["tokens"] / 2
    apart = [boxpen.evaluate(model, s, cache=":memory:") for s in (ONE, OTHER)]
    assert together["nodes"] < sum(run.info.engine["nodes"] for run in apart)
    for run, alone in zip((first, second), apart, strict=True):
        assert run.signature == alone.signature
        for item, values in scores(run).items():
            assert values == pytest.approx(scores(alone)[item], abs=1e-4)


def test_what_is_cached_needs_no_model(model, gpt2_dir, tmp_path):
    cache = tmp_path / "scores.sqlite"
    boxpen.evaluate(model, ONE, cache=cache)
    fresh = boxpen.resolve_model(f"hf:{gpt2_dir}", device="cpu")
    run = boxpen.evaluate(fresh, ONE, cache=cache)
    assert "module" not in vars(fresh), "the weights were loaded"
    assert run.info.engine["from_cache"] == 10
    assert "how" not in run.info.engine


def test_deterministic_scores_do_not_depend_on_their_company(gpt2_dir, tmp_path):
    def run(what: Suite, cache: str):
        model = boxpen.resolve_model(f"hf:{gpt2_dir}", device="cpu")
        return boxpen.evaluate(model, what, cache=tmp_path / cache, deterministic=True)

    whole = scores(run(ONE, "whole"))
    part = scores(run(Suite("one", ONE.items[2:4], EN), "part"))
    assert {item: whole[item] for item in part} == part  # to the last bit
    run(Suite("one", ONE.items[:3], EN), "interrupted")
    assert scores(run(ONE, "interrupted")) == whole


def test_deterministic_scores_are_kept_apart(model, tmp_path):
    cache = tmp_path / "scores.sqlite"
    boxpen.evaluate(model, ONE, cache=cache)
    exact = boxpen.evaluate(model, ONE, cache=cache, deterministic=True)
    assert exact.info.engine["from_cache"] == 0
    assert exact.info.engine["deterministic"] is True
    again = boxpen.evaluate(model, ONE, cache=cache, deterministic=True)
    assert again.info.engine["from_cache"] == 10
    other = boxpen.evaluate(model, ONE, cache=cache, deterministic=True, token_budget=64)
    assert other.info.engine["from_cache"] == 0


def test_settings_of_a_model_can_be_changed(model):
    boxpen.evaluate(model, ONE, cache=":memory:")
    usual = model.budget.tokens
    boxpen.evaluate(model, ONE, cache=":memory:", token_budget=32, deterministic=True)
    assert (model.budget.tokens, model.deterministic) == (32, True)
    assert usual != 32
    boxpen.evaluate(model, ONE, cache=":memory:")  # what is not named stays
    assert model.budget.tokens == 32
    boxpen.evaluate(model, ONE, cache=":memory:", deterministic=False)
    assert not model.deterministic


def test_the_function_survives_the_import_of_its_module():
    code = (
        "import boxpen.evaluate, boxpen, sys;"
        "sys.path.insert(0, sys.argv[1]);"
        "from small_runs import Liking, small_suite;"
        "run = boxpen.evaluate(Liking('one', set()), small_suite(5), cache=':memory:');"
        "print(len(run.verdicts))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, Path(__file__).parent], capture_output=True, text=True
    )
    assert done.stdout == "5\n", done.stderr


def test_the_interpreter_is_left_as_it_was(model):
    before = sys.getswitchinterval(), gc.get_threshold()
    boxpen.evaluate(model, ONE, cache=":memory:")
    assert (sys.getswitchinterval(), gc.get_threshold()) == before


def test_a_model_that_takes_no_trees_is_named(model, monkeypatch):
    monkeypatch.setattr(
        "boxpen.models.causal.fault", lambda *_, **__: "it gives other scores on a tree"
    )
    run = boxpen.evaluate(model, ONE, cache=":memory:")
    assert "scored in padded batches: it gives other scores on a tree" in list(notes(run))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--token-budget", "0"], "token_budget is 0, expected 1 or more"),
        (["--batch-size", "-3"], "batch_size is -3, expected 1 or more"),
    ],
)
def test_wrong_settings_are_one_sentence(options, sentence, gpt2_dir, tmp_path):
    file = tmp_path / "one.jsonl"
    boxpen.write_suite(ONE, file)
    command = ["run", "--suite", str(file), "--model", f"hf:{gpt2_dir}", *options]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert done.stderr == f"boxpen: {sentence}\n"
