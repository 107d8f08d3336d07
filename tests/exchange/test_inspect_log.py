"""Runs as logs of inspect_ai, read back with its own library and opened in its viewer."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.scorer import SampleScore, stderr

from boxpen import Card, Choice, Entail, Run, RunError, Suite, evaluate, recipes_of
from boxpen.exchange import export_runs
from boxpen.exchange.inspect_log import letter
from boxpen.metrics.summary import Translation
from boxpen.models.base import Encoded
from boxpen.review.human_run import human_run
from boxpen.scoring.ask import Answer, answered, decide_asked, questions
from boxpen.scoring.reading import Reading, decide_reading
from boxpen.scoring.recipe import ASK
from small_runs import Liking, human_table, small_run, small_suite


def logged(run: Run, folder: Path):
    export_runs([run], "inspect", folder)
    (path,) = folder.glob("*.eval")
    return read_eval_log(str(path))


def number(run: Run, metric: str) -> float:
    return next(r.value for r in run.summary() if (r.slice, r.metric) == ("all", metric))


def agrees(run: Run, log) -> None:
    """Every number of the log is that of the run, and inspect's own of its samples."""
    (credit,) = (score for score in log.results.scores if score.name == "credit")
    for row in run.summary():
        if row.slice == "all" and row.metric in credit.metrics:
            assert credit.metrics[row.metric].value == row.value
    assert credit.metrics["accuracy"].value == number(run, "accuracy")
    earned = {sample.id: sample.scores["credit"].value for sample in log.samples}
    assert earned == {v.id: v.credit for v in run.verdicts}
    scores = [
        SampleScore(score=s.scores["credit"], sample_id=s.id, sample_metadata=s.metadata)
        for s in log.samples
    ]
    assert credit.metrics["stderr"].value == pytest.approx(stderr(cluster="cluster")(scores))
    assert log.eval.metadata["signature"] == run.signature
    assert log.status == "success"


def test_a_scored_run(tmp_path):
    run = small_run("++-=+-", k=3)
    log = logged(run, tmp_path / "logs")
    agrees(run, log)
    assert (log.eval.task, log.eval.model) == ("small", "one")
    assert log.eval.task_args == {"recipe": "sound", "norm": "sum", "ties": "half"}
    first, third, tied = log.samples[0], log.samples[2], log.samples[3]
    assert first.choices == ["right 0", "wrong 0.0", "wrong 0.1"]
    assert (first.target, first.output.completion) == (["A"], "right 0")
    assert (third.output.completion, third.scores["credit"].answer) == ("wrong 2.0", "B")
    assert first.metadata == {"block": "b0", "cluster": "block b0", "set": "A"}
    assert "tie of 3 candidates" in tied.scores["credit"].explanation
    assert third.scores["credit"].explanation == f"margin {run.verdicts[2].margin:.4f}"
    (listed,) = list_eval_logs(str(tmp_path / "logs"))
    assert listed.task == "small"


def test_ids_and_tags_of_any_kind(tmp_path):
    ids = ["a/b", "../up", "x" * 150, "ü 漢 %2F", "<b>", "nul\x01", " "]
    items = tuple(
        Choice(id=i, candidates=(f"r {n}", f"w {n}"), gold=0, tags={"block": "x", "cluster": "y"})
        for n, i in enumerate(ids)
    )
    suite = Suite("odd / name", items, Card(language="en"))
    run = evaluate(Liking("m", {"r 1", "w 2"}), suite, cache=":memory:")
    log = logged(run, tmp_path / "logs")
    found = {s.id: s for s in log.samples}  # in an order of the library's
    assert sorted(found) == sorted(ids)
    assert found["a/b"].metadata == {
        "block": None, "cluster": "item a/b", "tag:block": "x", "tag:cluster": "y",
    }  # fmt: skip
    agrees(run, log)


def test_choices_with_a_common_ending_are_shown_whole(tmp_path):
    gap = [f"Ann met Eve so {name} was glad." for name in ("Ann", "Eve")]
    suite = Suite("gap", (Choice(id="1", candidates=tuple(gap), gold=1),), Card(language="en"))
    recipe = recipes_of("winogrande")["partial"]
    run = evaluate(Liking("m", {gap[1]}), suite, recipe=recipe, cache=":memory:")
    assert [one.text for one in run.candidates["1"]] == [" was glad."] * 2
    log = logged(run, tmp_path / "logs")
    (sample,) = log.samples
    assert (sample.choices, sample.input) == (gap, " / ".join(gap))


class Labelling(Liking):
    """A classifier whose answer is the first letter of the hypothesis."""

    kind, pairs, labels = "nli", True, (0, 1, 2)

    def encode(self, requests, policy) -> list[Encoded]:
        return [
            Encoded(ids=tuple((r.prefix + r.text).encode()), scored=range(3), labels=self.labels,
                    source=(ord(r.text[0]),))
            for r in requests
        ]  # fmt: skip

    def run(self, encoded, policy) -> Iterator:
        for n, one in enumerate(encoded):
            found = "enc".index(chr(one.source[0]))
            yield [(n, np.array([-0.2 if i == found else -3.0 for i in range(3)], np.float32))]


def test_labels_of_inference(tmp_path):
    items = [
        Entail(id="1", premise="it rains", hypothesis="e wet", label="entailment"),
        Entail(id="2", premise="it rains", hypothesis="n wet", label="neutral",
               also=("entailment",)),
        Entail(id="3", premise="it rains", hypothesis="c wet", label="entailment"),
    ]  # fmt: skip
    run = evaluate(Labelling("nli", set()), Suite("e", tuple(items), Card(language="en")),
                   cache=":memory:")  # fmt: skip
    log = logged(run, tmp_path / "logs")
    agrees(run, log)
    assert log.samples[0].input == "Premise: it rains\nHypothesis: e wet"
    assert log.samples[0].choices == ["entailment", "neutral", "contradiction"]
    assert sorted(log.samples[1].target) == ["A", "B"]
    assert log.samples[2].output.completion == "contradiction"


def asked_run() -> Run:
    """A run of a model that always answers A, made of its parts."""
    run = small_run("+-+")
    items = small_suite(3).items
    answers: list[Answer] = []
    for item in items:
        put = questions(item, ASK, language="en")
        answers += answered(item, put, ["A"] * len(put))
    verdicts = tuple(decide_asked(i, [a for a in answers if a.item == i.id]) for i in items)
    recipe = replace(run.info.recipe, name="ask", more={**run.info.recipe.more, "asks": "text"})
    info = replace(run.info, recipe=recipe)
    return replace(run, info=info, verdicts=verdicts, answers=tuple(answers))


def test_answers_are_messages(tmp_path):
    run = asked_run()
    log = logged(run, tmp_path / "logs")
    agrees(run, log)
    turns = log.samples[0].messages
    assert [m.role for m in turns] == ["user", "assistant"] * 2
    assert [m.text for m in turns if m.role == "assistant"] == ["A", "A"]
    assert turns[0].text == run.answers[0].prompt
    assert log.samples[0].scores["credit"].value == 0.5
    assert log.samples[0].scores["credit"].metadata["outcomes"] == ["chosen", "chosen"]


def translated(ids: list[str]) -> tuple[Translation, ...]:
    return tuple(
        Translation(i, f"源 {i}", f"Reference {i} is a sentence.", f"Output {i} is a sentence.",
                    "en", {"set": "A"})
        for i in ids
    )  # fmt: skip


def test_judged_translations_and_sentences_without_a_verdict(tmp_path):
    run = small_run("+-+")
    readings = tuple(
        Reading(v.id, v.block, 0, (f"right {n}", f"wrong {n}.0"), (1.0, 0.0), 0, "model")
        for n, v in enumerate(run.verdicts)
    )
    verdicts = tuple(
        decide_reading(i, r) for i, r in zip(small_suite(3).items, readings, strict=True)
    )
    more = {**run.info.recipe.more, "generates": True}
    info = replace(run.info, recipe=replace(run.info.recipe, name="generate", more=more))
    run = replace(run, info=info, verdicts=verdicts, readings=readings, candidates={},
                  translations=translated(["i0", "i1", "i2", "left"]))  # fmt: skip
    log = logged(run, tmp_path / "logs")
    assert log.samples[0].input == "源 i0"
    assert log.samples[0].output.completion == "Output i0 is a sentence."
    assert log.samples[0].choices == ["right 0", "wrong 0.0"]
    assert (log.samples[3].id, log.samples[3].scores) == ("left", None)
    bleu = next(score for score in log.results.scores if score.name == "bleu")
    assert bleu.metrics["bleu"].value == number(run, "bleu")


def test_a_run_that_only_translates(tmp_path):
    run = replace(small_run("+"), verdicts=(), candidates={}, translations=translated(["a", "b"]))
    log = logged(run, tmp_path / "logs")
    assert [s.target for s in log.samples] == [
        "Reference a is a sentence.", "Reference b is a sentence.",
    ]  # fmt: skip
    assert [score.name for score in log.results.scores] == ["bleu"]


def test_human_answers(tmp_path):
    table = human_table(tmp_path, "item,ann,ben,cat\ni0,0,0,1\ni1,1,1,1\ni2,0,0,0\n")
    run = human_run(small_suite(3), table)
    log = logged(run, tmp_path / "logs")
    agrees(run, log)
    # Runs of human answers are saved without the texts.
    assert log.samples[0].choices == ["candidate 0", "candidate 1"]
    assert log.samples[1].output.completion == "candidate 1"


def test_several_runs_and_the_same_one_twice(tmp_path):
    run = small_run("+-")
    export_runs([run, small_run("++", model="two"), run], "inspect", tmp_path / "logs")
    logs = [read_eval_log(str(p)) for p in sorted((tmp_path / "logs").glob("*.eval"))]
    assert sorted(log.eval.model for log in logs) == ["one", "one", "two"]
    assert len({log.eval.eval_id for log in logs}) == 3


def test_without_inspect_it_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(RunError, match=r"pip install 'boxpen\[inspect\]'"):
        export_runs([small_run("+-")], "inspect", tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


def test_letters_are_those_of_inspect():
    from inspect_ai._util.answer import answer_character

    assert [letter(n) for n in range(40)] == [answer_character(n) for n in range(40)]


@pytest.fixture(scope="module")
def viewer(tmp_path_factory) -> Iterator[str]:
    """``inspect view`` on the logs of three runs."""
    folder = tmp_path_factory.mktemp("view") / "logs"
    export_runs([small_run("++-="), small_run("+++-", model="two"), asked_run()], "inspect", folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--host", "127.0.0.1"]
    started = subprocess.Popen(
        [*command, "--log-dir", str(folder), "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{address}/api/logs", timeout=5).close()
                break
            except OSError:
                assert started.poll() is None, "inspect view ended"
                assert time.monotonic() < end, "inspect view does not answer"
                time.sleep(0.1)
        yield address
    finally:
        started.terminate()
        started.wait(20)


def test_inspect_view_lists_the_logs(viewer):
    with urllib.request.urlopen(f"{viewer}/api/logs", timeout=20) as answer:
        listed = json.load(answer)
    names = [entry["name"] for entry in listed["files"]]
    assert len(names) == 3
    assert all(name.endswith(".eval") for name in names)


def test_inspect_view_shows_the_runs(viewer, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("no Chromium on this machine: inspect view is not opened in a browser")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(20_000)
        page.goto(viewer)
        page.get_by_text("two", exact=True).first.click()
        page.get_by_text("wrong 3.0").first.wait_for()
        assert "0.75" in page.inner_text("body")
        browser.close()
