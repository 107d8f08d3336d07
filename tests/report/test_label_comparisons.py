"""Comparisons of runs that choose between labels, and of models that rate candidates."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from report_runs import Labelling
from typer.testing import CliRunner

import boxpen
from boxpen import Card, Choice, Entail, Model, Run, RunError, Suite
from boxpen.cli.app import app
from boxpen.items import Item
from boxpen.models.base import Encoded, ResolvedPolicy
from boxpen.report.html.data import suite_views
from boxpen.review.human_run import choice_of, human_run
from boxpen.runs.comparison import comparable, same_items
from small_runs import Liking, human_table

EN = Card(language="en")
PAIRS = Suite(
    "nli",
    tuple(
        Entail(id=f"e{n}", premise=f"It rained {n}.", hypothesis=answer, label=label)
        for n, (answer, label) in enumerate(
            [
                ("e", "entailment"),
                ("n", "entailment"),
                ("c", "contradiction"),
                ("n", "contradiction"),
                ("e", "entailment"),
            ]
        )
    ),
    EN,
)
QUESTIONS = Suite(
    "questions",
    tuple(
        Choice(id=f"q{n}", context="A goal.", candidates=(f"right {n}", f"wrong {n}"), gold=0)
        for n in range(4)
    ),
    EN,
)


class Rating(Model):
    """A multiple-choice model that rates a candidate by its last character."""

    kind, dtype, pairs, name, fingerprint = "choice", "float32", True, "rating", "c" * 64

    def resolve_policy(self, policy) -> ResolvedPolicy:
        return ResolvedPolicy(max_length=100)

    def encode(self, requests, policy) -> list[Encoded]:
        return [Encoded(ids=tuple(r.text.encode()), scored=range(1), labels=(0,)) for r in requests]

    def run(self, encoded, policy):
        yield [(n, np.array([one.ids[-1]], dtype=np.float32)) for n, one in enumerate(encoded)]


def judged(suite: Suite = PAIRS, labels=(0, 1, 2), **settings) -> Run:
    return boxpen.evaluate(Labelling("one", labels=labels), suite, cache=":memory:", **settings)


def invoke(*args: object):
    return CliRunner().invoke(app, [str(a) for a in args])


@pytest.mark.parametrize("more", [[], ["--common"]])
def test_two_settings_of_one_model_are_refused_and_said_why(more, tmp_path):
    places = [judged(nli=nli).save(tmp_path) for nli in ("3-way", "2-way")]
    done = invoke("compare", *places, *more)
    assert done.exit_code == 2
    for part in ("two runs of one", "nli 3-way and 2-way", "rescore --nli", "--force"):
        assert part in " ".join(done.stderr.split())


@pytest.mark.parametrize(("labels", "nli"), [((0, 1, 2), "2-way"), ((0, 3), "3-way")])
def test_force_compares_by_what_is_earned(labels, nli):
    """The right label stands at another place among others."""
    three, other = judged(), judged(labels=labels, nli=nli)
    earned = [[v.credit for v in run.verdicts] for run in (three, other)]
    (pair,) = boxpen.compare(three, other, force=True)
    assert pair.n == 5
    assert pair.only_a == sum(a > b for a, b in zip(*earned, strict=True))
    assert pair.only_b == sum(a < b for a, b in zip(*earned, strict=True)) > 0


def test_an_edited_run_of_equal_signature_is_refused():
    three, two = judged(), judged(nli="2-way")
    edited = replace(two, info=replace(two.info, signature=three.signature))
    said = "equal signatures but 3 and 2 scores for item 'e0': one of the runs was edited"
    with pytest.raises(RunError, match=said):
        boxpen.compare(three, edited)
    pairs, reasons = comparable([three, edited])
    assert not pairs
    assert said in reasons[0]


@pytest.mark.parametrize(
    "change", [{"label": "neutral"}, {"also": ("neutral",)}, {"premise": "It snowed."}]
)
def test_another_label_or_premise_is_another_item(change):
    items = (replace(PAIRS.items[0], **change), *PAIRS.items[1:])
    other = judged(Suite("nli", items, EN))
    with pytest.raises(RunError, match="different items with the same name"):
        boxpen.compare(judged(), other, common=True)


@pytest.mark.parametrize(("labels", "nli"), [((0, 1, 2), "2-way"), ((0, 3), "3-way")])
@pytest.mark.parametrize(
    ("label", "also"), [("neutral", "contradiction"), ("contradiction", "neutral")]
)
def test_items_that_accept_two_labels_are_the_same_in_every_setting(labels, nli, label, also):
    items = tuple(replace(item, label=label, also=(also,)) for item in PAIRS)
    suite = Suite("nli", items, EN)
    three, other = judged(suite), judged(suite, labels=labels, nli=nli)
    (pair,) = boxpen.compare(three, other, force=True)
    assert pair.n == 5
    assert same_items(three, other)


def test_items_show_both_texts(tmp_path):
    places = [judged(nli=nli).save(tmp_path) for nli in ("3-way", "2-way")]
    done = invoke("compare", *places, "--force", "--items", 9)
    lines = done.stdout.splitlines()
    start = lines.index("    It rained 1. / n")
    assert lines[start + 1 : start + 4] == [
        "    1. entailment [right, chosen by one · nli=2-way]",
        "    2. neutral [chosen by one · nli=3-way]",
        "    3. contradiction",
    ]


def test_a_label_that_was_kept_is_shown_by_its_name(tmp_path):
    tags = {"operation": "add", "expected": "flipped"}
    items = tuple(
        Entail(id=f"b-{n}", premise=f"It rained {n}.", hypothesis="n", label=label, block="b",
               tags=tags)
        for n, label in enumerate(("neutral", "contradiction"))
    )  # fmt: skip
    place = judged(Suite("duals", items, EN)).save(tmp_path)
    done = invoke("robust", place, "--items")
    assert "b (add): label neutral kept, right in the original" in done.stdout, done.output
    assert "| b | original | neutral |" in invoke("robust", place, "--items", "--markdown").stdout


def test_a_language_model_and_a_choice_model_stand_side_by_side():
    """One reads the space after the goal as part of the candidate, the other does not."""
    likelihood = boxpen.evaluate(Liking("lm", {" right 1"}), QUESTIONS, cache=":memory:")
    rated = boxpen.evaluate(Rating(), QUESTIONS, cache=":memory:")
    assert {c.text for c in likelihood.candidates["q0"]} == {" right 0", " wrong 0"}
    assert {c.text for c in rated.candidates["q0"]} == {"right 0", "wrong 0"}
    (pair,) = boxpen.compare(likelihood, rated, common=True)
    assert pair.n == 4
    (view,) = suite_views([likelihood, rated])
    assert len(view.entries) == 2


def people(suite: Suite, folder, right: Callable[[Item], bool]) -> Run:
    """A run of three judges who all choose the right answer, or all another one."""
    rows = []
    for item in suite:
        choice = choice_of(item)
        chosen = choice.gold if right(item) else (choice.gold + 1) % len(choice.candidates)
        rows += [f"{item.id},{judge},{chosen}" for judge in "xyz"]
    return human_run(suite, human_table(folder, "\n".join(["item,judge,answer", *rows])))


@pytest.mark.parametrize("how", [{}, {"common": True}, {"force": True}])
@pytest.mark.parametrize(("labels", "nli"), [((0, 1, 2), "3-way"), ((0, 3), "3-way")])
def test_people_are_compared_with_a_classifier(labels, nli, how, tmp_path):
    both = replace(PAIRS.items[1], id="e5", label="neutral", also=("contradiction",))
    suite = Suite("nli", (both, *PAIRS.items), EN)
    human = people(suite, tmp_path, lambda item: item.id != "e4")
    model = judged(suite, labels=labels, nli=nli)
    (pair,) = boxpen.compare(human, model, **how)
    earned = [{v.id: v.credit for v in run.verdicts} for run in (human, model)]
    gaps = [earned[0][i.id] - earned[1][i.id] for i in suite]
    assert pair.n == 6
    assert (pair.only_a, pair.only_b) == (sum(g > 0 for g in gaps), sum(g < 0 for g in gaps))
    assert pair.difference.value == pytest.approx(sum(gaps) / 6)
    assert pair.only_b == 1  # 'e4' only
    assert [len(found) for found in comparable([human, model])] == [1, 0]


def test_people_are_compared_on_the_part_of_a_mixed_suite_that_a_model_takes(tmp_path):
    many = Choice(id="q9", context="A goal.", candidates=tuple("abcdef"), gold=5)
    mixed = Suite("mixed", (*PAIRS.items, *QUESTIONS.items, many), EN)
    human = people(mixed, tmp_path, lambda item: True)
    model, rated = judged(mixed), boxpen.evaluate(Rating(), mixed, cache=":memory:")
    pairs, _ = comparable([human, model, rated])
    assert [pair.n for pair in pairs] == [5, 5]


def test_people_who_were_asked_for_another_label_judged_another_item(tmp_path):
    other = Suite("nli", (replace(PAIRS.items[0], label="neutral"), *PAIRS.items[1:]), EN)
    human = people(other, tmp_path, lambda item: True)
    with pytest.raises(RunError, match="different items with the same name"):
        boxpen.compare(human, judged(), common=True)


def test_models_of_two_kinds_have_nothing_in_common_in_a_mixed_suite():
    mixed = Suite("mixed", (*PAIRS.items, *QUESTIONS.items), EN)
    rated = boxpen.evaluate(Rating(), mixed, cache=":memory:")
    pairs, reasons = comparable([judged(mixed), rated])
    assert pairs == []
    assert reasons == ["one and rating have no item of mixed in common"]
