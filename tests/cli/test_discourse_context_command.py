"""boxpen discourse context: its three forms, what they say, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_commands import invoke, refused

from boxpen import Card, Choice, Suite, evaluate
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record
from boxpen.scoring.verdicts import Scored, decide
from small_runs import Liking

CLASSES = [("pronoun", "她们"), ("connective", "though-不过"), ("ellipsis", "ellipsis")]


def saved(folder: Path, context: str, totals: list[float], model: str = "reader") -> Path:
    """A run in which references have these log-probabilities, and contrasts -5."""
    items = [
        Choice(
            id=f"i{n}", candidates=(f"right {n}", f"wrong {n}"), gold=0, source=f"source {n}",
            context=f"before {n}", tags={"set": CLASSES[n % 3][0], "class": CLASSES[n % 3][1]},
        )
        for n in range(len(totals))
    ]  # fmt: skip
    suite = Suite("small", tuple(items), Card(language="zh", source_language="en"))
    run = evaluate(
        Liking(model, set(), f"{sum(model.encode()):064x}"), suite, cache=":memory:",
        context=context, check_languages=False,
    )  # fmt: skip
    candidates = {
        item.id: [scored(item.candidates[0], total), scored(item.candidates[1], -5.0)]
        for item, total in zip(items, totals, strict=True)
    }
    verdicts = tuple(decide(item, candidates[item.id], ScoringPolicy()) for item in items)
    return replace(run, verdicts=verdicts, candidates=candidates).save(folder)


def scored(text: str, total: float) -> Scored:
    return Scored(text, Record(np.arange(4, dtype=np.int32), np.full(4, total / 4, np.float32)))


@pytest.fixture
def runs(tmp_path) -> Path:
    """Of a model to which only the right context tells something, and of one that reads none."""
    alone = [-4.0, -6.0, -6.0, -4.0, -6.0, -6.0]
    helped = [-2.0, -4.0, -4.0, -3.0, -4.5, -4.0]
    misled = [-4.5, -6.5, -6.0, -4.0, -6.5, -6.5]
    for context, totals in (("given", helped), ("none", alone), ("shuffled", misled)):
        saved(tmp_path / "runs", context, totals)
    for context in ("given", "none"):
        saved(tmp_path / "runs", context, alone, "deaf|one")
    return tmp_path / "runs"


def test_json_has_every_number_and_the_signatures(runs):
    done = invoke("discourse", "context", runs, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    systems = {s["system"]: s for s in data["systems"]}
    assert {name: s["reads_context"] for name, s in systems.items()} == {
        "reader": True, "deaf|one": False,
    }  # fmt: skip
    assert list(systems["reader"]["signatures"]) == ["given", "none", "shuffled"]
    assert "context:shuffled" in systems["reader"]["signatures"]["shuffled"]
    right = {(r["system"], r["slice"], r["context"]): r["value"] for r in data["accuracy"]}
    assert (right["reader", "all", "given"], right["reader", "all", "none"]) == (1, 1 / 3)
    assert right["reader", "though-不过", "shuffled"] == 0
    gains = {(g["system"], g["slice"], g["more"], g["less"]): g for g in data["gains"]}
    cxmi = gains["reader", "all", "given", "none"]["cxmi"]
    assert cxmi["sentence"]["value"] == pytest.approx((2 + 2 + 2 + 1 + 1.5 + 2) / 6)
    assert cxmi["token"]["value"] == pytest.approx(10.5 / 24)
    assert (cxmi["p"], cxmi["adjusted"]) == pytest.approx((2 / 64, 4 / 64))
    wrong = gains["reader", "all", "shuffled", "none"]["cxmi"]
    assert wrong["sentence"]["value"] == pytest.approx(-2 / 6)
    paired = gains["reader", "all", "given", "none"]["accuracy"]
    assert (paired["only_more"], paired["only_less"], paired["test"]) == (4, 0, "McNemar")
    assert paired["p"] == 2 / 16
    assert gains["deaf|one", "all", "given", "none"]["cxmi"]["sentence"]["value"] == 0


def test_the_terminal_form_fits_80_columns(runs):
    done = invoke("discourse", "context", runs)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = " ".join(done.stdout.split())
    assert "reader: contrastive accuracy by context, % [95 %] n given none shuffled" in text
    assert "reader: CXMI, shuffled − none, nats [95 %]" in text
    assert "reader: 6 item(s) that all its runs have scored, of up to 6" in text
    assert "deaf|one gives every reference the same log-probability whatever the context" in text
    assert "all 0.000 [0.000, 0.000] 0.000 [0.000, 0.000] 1.000 1.000" in text
    assert "all +1.750" in text
    assert "signature" not in text


def test_markdown_lists_the_runs(runs):
    done = invoke("discourse", "context", runs, "--markdown")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "### deaf\\|one: CXMI, given − none, nats [95 %]" in lines
    tables = [line.replace("\\|", "") for line in lines if line.startswith("|")]
    assert "|  | given − none | Holm | given − shuffled | Holm | shuffled − none | Holm |" in tables
    assert "|  | a sentence | a token | p | Holm |" in tables
    assert sum(line.startswith("- `suite:small@") for line in lines) == 5


def test_what_is_refused(tmp_path):
    one = saved(tmp_path / "runs", "given", [-4.0] * 6)
    refused(
        invoke("discourse", "context", one),
        "reader has only a run with --context given",
        "boxpen run --suite FILE --model reader --context none",
    )
    other = saved(tmp_path / "runs", "none", [-4.0] * 6)
    refused(
        invoke("discourse", "context", one, other, "--json", "--markdown"),
        "--json and --markdown cannot be combined",
    )
    refused(invoke("discourse", "context", tmp_path / "nothing"), "is not a run directory")
