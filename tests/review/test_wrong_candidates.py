"""The wrong answers of a suite: each asked once, judged key by key, and dropped if rejected."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from boxpen import Choice, Entail, Suite, Translate, load_suite, read_suite
from boxpen.analysis.suites.wrong_candidates import WrongCandidateTask, wrong_answers
from boxpen.build.kg.triples import write_table
from boxpen.catalog import write_suite
from boxpen.cli.app import app
from boxpen.cli.keyboard import Keyboard
from boxpen.errors import BuildError
from boxpen.review import Destination, Journal, Judgement, Selection, Target, find_task
from boxpen.review.answers import AnswerTask
from boxpen.review.app.desk import Desk
from small_runs import small_run, small_suite


def form(task: str, right: str, wrong: str, block: str = "b", **more) -> Choice:
    tags = {"task": task, "relation": "capableof"}
    name = f"{block}-{task}-{wrong[-6:-1]}"
    return Choice(id=name, candidates=(wrong, right), gold=1, block=block, tags=tags, **more)


KANGAROO = (
    Entail(id="nli", premise="That is a kangaroo.", hypothesis="It can hop.", label="entailment",
           block="b", tags={"task": "nli"}),
    Entail(id="not", premise="That is a kangaroo.", hypothesis="It can fly.", label="neutral",
           block="b", tags={"task": "nli"}),
    form("qa", "It is able to hop.", "It is able to fly.", context="What can a kangaroo do?"),
    form("qa", "A kangaroo can hop.", "A kangaroo can sing.", context="What can it do?"),
    form("pairs", "A kangaroo can hop.", "A kangaroo can fly."),
    form("pairs", "This is a kangaroo, so it can hop.", "This is a kangaroo, so it can sing."),
    form("pairs", "A robin can fly.", "A robin can swim.", block="c"),
)  # fmt: skip


def test_forms_of_one_test_share_a_wrong_answer():
    found = wrong_answers(Suite("k", KANGAROO))
    assert [list(one.items) for one in found] == [
        ["not", "b-qa-o fly", "b-pairs-n fly"],
        ["b-qa- sing", "b-pairs- sing"],
        ["c-pairs- swim"],
    ]
    assert found[0].question.shown == {
        "premise": "That is a kangaroo.", "right": "It can hop.", "wrong": "It can fly.",
    }  # fmt: skip
    assert found[1].question.part == "capableof"


def test_a_wrong_answer_in_another_tense_is_the_same():
    asked = form("qa", "Then Ann gets up.", "Then Ann feels dizzy.", context="Ann wakes.")
    pair = form("pairs", "Ann woke, and she got up.", "Ann woke, and she felt dizzy.")
    other = form("pairs", "Ann woke, and she got up.", "Ann woke, and she fell ill.")
    found = wrong_answers(Suite("k", (asked, pair, other)))
    assert [list(one.items) for one in found] == [[asked.id, pair.id], [other.id]]


def test_items_of_one_form_are_never_merged():
    one = form("qa", "It can hop.", "It can fly.", context="This is a kangaroo.")
    other = replace(one, id="other", context="This is a kangaroo with wings.")
    untold = [replace(one, id=f"u{n}", tags={}, context=f"{n}") for n in range(2)]
    found = wrong_answers(Suite("k", (one, other, *untold)))
    assert [list(each.items) for each in found] == [[one.id], ["other"], ["u0"], ["u1"]]


@pytest.mark.parametrize("name", ["starter", "starter-graph"])
def test_every_wrong_answer_is_asked_once(name):
    suite = load_suite(name)
    found = wrong_answers(suite)
    asked = [(item, text) for one in found for item, text in one.items.items()]
    expected = [
        (item.id, text)
        for item in suite
        for text in (
            [t for n, t in enumerate(item.candidates) if n != item.gold]
            if isinstance(item, Choice)
            else item.contrast
            if isinstance(item, Translate)
            else [item.hypothesis] * (item.label != "entailment")
        )
    ]
    assert sorted(asked) == sorted(expected)
    ids = [one.question.item for one in found]
    assert len(ids) == len(set(ids))
    if name == "starter-graph":  # five wrong tails of 360 triples, each in two forms or more
        assert len(found) == 1800


def judged(suite: Suite, journal: Path, **verdicts: str) -> WrongCandidateTask:
    """A task in which one judge gives the wrong answers with these texts a verdict."""
    task = WrongCandidateTask(suite, Journal(journal))
    desk = Desk(task, "ann")
    while desk.question is not None:
        verdict = verdicts.get(desk.question.shown["wrong"].split()[-1].strip("."))
        if verdict is None:
            desk.open.popleft()
        else:
            desk.judged(verdict)
    return task


def test_rejected_answers_leave_the_suite(tmp_path):
    three = Choice(id="three", candidates=("It can fly.", "It can hop.", "It can sing."), gold=1)
    said = Translate(id="t", source="x", reference="hop", contrast=("fly", "sing"))
    suite = Suite("k", (*KANGAROO, three, said))
    task = judged(suite, tmp_path / "j.jsonl", fly="reject", swim="accept")
    applied = task.apply(task.review(), Destination(tmp_path / "out.jsonl", "kept"))
    left = {item.id: item for item in read_suite(tmp_path / "out.jsonl")}
    assert list(left) == ["nli", "b-qa- sing", "b-pairs- sing", "c-pairs- swim", "three", "t"]
    assert (left["three"].candidates, left["three"].gold) == (("It can hop.", "It can sing."), 0)
    assert left["t"].contrast == ("sing",)
    assert applied.data == {**applied.data, "items": 6, "dropped": 3, "rejected": 3, "open": 3}
    assert read_suite(tmp_path / "out.jsonl").name == "kept"
    rows = task.details(task.review())[0].rows
    assert ("It can hop.", "It can fly.") in [row[1:] for row in rows]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["accept", "reject", ""]), min_size=12, max_size=12))
def test_any_verdicts_leave_a_suite_that_asks_the_same(tmp_path_factory, verdicts):
    folder = tmp_path_factory.mktemp("any")
    suite = small_suite(4, k=4)
    task = WrongCandidateTask(suite)
    asked = list(zip(task.questions(), verdicts, strict=True))
    review = task.decide([Judgement(q.item, "ann", v) for q, v in asked])
    rejected = {q.shown["wrong"] for q, verdict in asked if verdict == "reject"}
    expected = {
        item.id: [text for text in item.candidates if text not in rejected] for item in suite
    }
    expected = {name: texts for name, texts in expected.items() if len(texts) > 1}
    to = Destination(folder / "out.jsonl")
    if not expected:
        with pytest.raises(BuildError, match="of every item of small"):
            task.apply(review, to)
        return
    task.apply(review, to)
    left = read_suite(to.path)
    assert {item.id: list(item.candidates) for item in left} == expected
    assert all(item.candidates[item.gold].startswith("right") for item in left)


def run(*words: object, keys: str = ""):
    return CliRunner().invoke(app, [str(word) for word in words], input=keys)


class TestKeys:
    @pytest.fixture
    def target(self, tmp_path) -> Path:
        write_suite(small_suite(6, "mine"), tmp_path / "mine.jsonl")
        return tmp_path / "mine.jsonl"

    def judge(self, target: Path, keys: str, *words: object, task: str = "wrong-answers"):
        return run("review", "judge", target, "--task", task, "--judge", "ann", *words, keys=keys)

    def lines(self, target: Path) -> list[dict[str, str]]:
        text = target.with_name("mine-wrong.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def test_one_key_judges_one_item_and_work_goes_on_later(self, target):
        done = self.judge(target, "12w", "--order", "given")
        assert done.exit_code == 0, done.output
        assert "ann: 3 wrong answer(s) judged" in done.stderr
        assert "; 3 left" in done.stderr
        assert (
            "2 of 6\nright  right 1\nwrong  wrong 1.0\n1 Really wrong  2 Not wrong" in done.stdout
        )
        assert [line["verdict"] for line in self.lines(target)] == ["accept", "reject", "accept"]
        again = self.judge(target, "arn")
        assert "1 of 3\n" in again.stdout
        assert "ann: 3 wrong answer(s) judged" in again.stderr
        assert "; 0 left" in again.stderr
        assert "; 0 left" in self.judge(target, "").stderr
        out = target.with_name("out.jsonl")
        assert (
            run("review", "apply", target, "--task", "wrong-answers", "--out", out).exit_code == 0
        )
        assert len(read_suite(out)) == 3

    def test_undo_skip_and_keys_without_meaning(self, target):
        done = self.judge(target, "u1usx3222222q", "--order", "given")
        assert done.exit_code == 0, done.output
        assert done.stderr.count("press 1, 2, a, y, w, r, n, s, u or q") == 2
        assert "there is nothing to undo" in done.stderr
        found = [(line["item"].partition("/")[0], line["verdict"]) for line in self.lines(target)]
        later = [(f"i{n}", "reject") for n in (1, 2, 3, 4, 5, 0)]
        assert found == [("i0", "accept"), ("i0", ""), *later]

    def test_undo_brings_an_earlier_verdict_back(self, target):
        self.judge(target, "111111", "--order", "given")
        before = self.lines(target)
        done = self.judge(target, "2u2uq", "--order", "given", "--all")
        assert done.exit_code == 0, done.output
        lines = self.lines(target)[6:]
        assert [line["verdict"] for line in lines] == ["reject", "accept"] * 2
        assert lines[1] == lines[3] == before[0]

    def test_verdicts_beside_the_options_are_shown(self, tmp_path):
        sample = pytest.importorskip("review_sample", reason="boxpen[review] is not installed")
        task = sample.TASKS["duals"]()
        task.journal = Journal(tmp_path / "j.jsonl")
        desk = Desk(task, "ann")
        assert desk.question is not None
        assert desk.labels == {
            3: "Both make sense", 4: "Neither makes sense", 5: "Wrong English", 6: "Unusable",
        }  # fmt: skip
        desk.judged(desk.keys["4"])
        assert [one.verdict for one in task.journal.read().judgements] == ["neither"]

    def test_candidates_have_the_digits_that_are_shown(self, target):
        answers = {q.item: q for q in AnswerTask(read_suite(target)).questions()}
        done = self.judge(target, "121212", task="answers")
        assert done.exit_code == 0, done.output
        journal = target.with_name("mine-answers.jsonl")
        lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
        for n, line in enumerate(lines):
            shown = answers[line["item"]].arranged(line["order"]).options[n % 2]
            assert line["verdict"] == shown.verdict
        assert len(lines) == 6

    def test_edits_are_typed(self, tmp_path):
        sample = pytest.importorskip("review_sample", reason="boxpen[review] is not installed")
        write_table(sample.triple_table(), tmp_path / "table.parquet")
        words = ("--task", "wrong-answers", "--judge", "ann", "--order", "given")
        done = run("review", "judge", tmp_path / "table.parquet", *words, keys="e\n2another\n1q")
        assert done.exit_code == 0, done.output
        assert "needs a new text" in done.stderr
        said = Journal(tmp_path / "review-wrong.jsonl").read().judgements
        assert [(one.verdict, one.edit) for one in said] == [("edit", "another"), ("accept", "")]

    def test_refused(self, target, tmp_path):
        saved = small_run("++").save(tmp_path / "runs")
        for words, reason in (
            ((saved, "--task", "wrong-answers"), "the task 'wrong-answers' reviews a table"),
            ((saved, "--task", "errors"), ""),
            ((target, "--tag", "topic"), "takes more than one key per item"),
            ((target, "--judge", "a\tb"), "--judge is"),
            (("nosuch", "--task", "wrong-answers"), "nosuch"),
        ):
            done = run("review", "judge", "--judge", "ann", *words, keys="1")
            assert done.exit_code == 2, done.output
            assert reason in done.stderr
        entailed = Suite("sure", KANGAROO[:1])
        with pytest.raises(BuildError, match="'sure' has no wrong answers to judge"):
            WrongCandidateTask(entailed)

    def test_samples_and_judges_are_those_of_sheets(self, target):
        task = find_task(Target((str(target),)), "wrong-answers")
        names = ("ann", "bo", "cy")
        desks = [Desk(task, n, Selection(judges=names, overlap=2)) for n in names]
        assert sum(len(desk.open) for desk in desks) == 12
        assert [len(Desk(task, n, Selection(sample=2)).open) for n in names] == [2, 2, 2]


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("12", ["1", "2"]),
        ("1\x1b[1~2", ["1", "\x1b[1~", "2"]),  # Home
        ("\x1b[1;5C\x1bOP3", ["\x1b[1;5C", "\x1bOP", "3"]),  # Ctrl and an arrow, F1
        ("\x1b1\x1b", ["\x1b1", "\x1b"]),  # Alt and 1, Escape
    ],
)
def test_keys_that_send_several_characters_are_one(monkeypatch, sent, keys):
    reading, writing = os.pipe()
    os.write(writing, sent.encode())
    os.close(writing)
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        keyboard = Keyboard()
        keyboard._before = []  # as of a terminal
        assert list(iter(keyboard.key, "")) == keys


def test_what_is_typed_ahead_of_an_edit_belongs_to_it(monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or "ther")
    keyboard = Keyboard()
    keyboard._pressed = list("new\n2ano")
    assert keyboard.line("text: ") == "new"
    assert keyboard._pressed.pop(0) == "2"
    assert keyboard.line("text: ") == "another"
    assert (asked, keyboard._pressed) == (["text: ano"], [])


@pytest.mark.timeout(30)
def test_in_a_real_terminal(tmp_path):
    write_suite(small_suite(5, "mine"), tmp_path / "mine.jsonl")
    outer, inner = pty.openpty()
    words = ("review", "judge", "mine.jsonl", "--task", "wrong-answers", "--judge", "ann")
    command = [sys.executable, "-m", "boxpen", *words]
    judge = subprocess.Popen(command, cwd=tmp_path, stdin=inner, stdout=inner, stderr=inner)
    os.close(inner)
    shown = b""
    # Keys that come too early are kept; those of more than one character (Delete) mean nothing.
    for place, keys in (
        ("1 of 5", "12"),
        ("3 of 5", "x\x1b[1~"),
        ("press 1", "1"),
        ("4 of 5", "q"),
    ):
        while place.encode() not in shown:
            shown += os.read(outer, 4096)
        os.write(outer, keys.encode())
    with contextlib.suppress(OSError):  # the other side is closed
        while part := os.read(outer, 4096):
            shown += part
    os.close(outer)
    assert judge.wait(10) == 0
    assert b"3 wrong answer(s) judged" in shown
    assert b"1 of 5" in shown
    said = Journal(tmp_path / "mine-wrong.jsonl").read().judgements
    assert [one.verdict for one in said] == ["accept", "reject", "accept"]
