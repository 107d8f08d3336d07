"""Tables of discourse: counts, intervals, and the figures of the paper beside them."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from boxpen.analysis.discourse.accuracy import COLUMNS, accuracies, paper
from boxpen.analysis.discourse.readers import (
    ClassTask,
    compared,
    of_same_items,
    question_of,
)
from boxpen.analysis.discourse.renderings import Rendering
from boxpen.metrics.intervals import wilson
from boxpen.report.discourse.tables import (
    discourse_object,
    discourse_page,
    discourse_table,
)
from boxpen.review import Decision, sampled


def made(number: int, phenomenon: str, cls: str, text: str = "", system: str = "one") -> Rendering:
    return Rendering(
        system, f"i{number}", phenomenon, cls, "Before.", "Now.", "以前。", "现在。", text
    )


SOME = [
    made(0, "pronoun", "你"),
    made(1, "pronoun", "你们"),
    made(2, "pronoun", "你们"),
    made(3, "connective", "while-而"),
    made(4, "connective", "while-当"),
    made(5, "ellipsis", "ellipsis"),
]
OUTCOMES = dict(zip(SOME, ["right", "right", "wrong", "cannot tell", "right", None], strict=True))


def test_classes_are_counted_by_hand():
    rows = {row.column: row for row in accuracies(SOME, OUTCOMES)}
    assert list(rows) == [c for c in COLUMNS if c in rows]  # in the order of the paper
    counted = {name: (row.translations, row.right.n, row.right.value) for name, row in rows.items()}
    assert counted.pop("ellipsis")[:2] == (1, 0)  # open: no share of it
    assert counted == {
        "you (pl.)": (2, 2, 0.5),
        "you (sing.)": (1, 1, 1.0),
        "while": (2, 2, 0.5),
        "pronoun": (3, 3, pytest.approx(2 / 3)),
        "connective": (2, 2, 0.5),
    }
    assert rows["while"].cannot_tell.value == 0.5
    assert (rows["while"].right.low, rows["while"].right.high) == wilson(0.5, 2)


def test_totals_of_the_paper_are_the_means_of_its_classes_but_for_one_slip():
    for system, row in paper().accuracy.items():
        pronouns = sum(row[c] for c in COLUMNS[:5]) / 5
        connectives = sum(row[c] for c in COLUMNS[5:10]) / 5
        swapped = system == "thumt"
        expected = (
            (row["connective"], row["pronoun"]) if swapped else (row["pronoun"], row["connective"])
        )
        assert (pronouns, connectives) == expected
        # Shares of so many items: 7 of 80 are 8.75 %.
        assert all(paper().items[c] * row[c] % 100 == 0 for c in COLUMNS)
    assert "thumt" in paper().note
    assert list(paper().bleu["CADec"].values()) == [19.1, 15.3, 25.5]


class TestShown:
    def test_markdown(self):
        table = discourse_table([("one|two", [])], SOME, OUTCOMES, by="judge", paper=paper())
        shown = discourse_page(table).markdown()
        assert "|  | one\\|two | thumt (paper) | CADec (paper) | bert-nmt (paper) |" in shown
        assert "- not decided yet, and left out: 1 of 6" in shown
        assert "BLEU" not in shown  # no run has it

    def test_numbers(self):
        table = discourse_table([("one", [])], SOME, OUTCOMES, by="readers", paper=paper())
        shown = discourse_page(table).markdown()
        assert "### right by readers, % [95 %]" in shown
        assert "| while | 50.0 [9.5, 90.5] ?50.0 | 57.5 | 48.75 | 53.75 |" in shown
        assert "| ellipsis | – | 10.75 | 2.25 | 5.75 |" in shown
        assert "| as |" not in shown  # nobody translated any

    def test_fewer_items_than_the_paper_has_are_told(self):
        other = [replace(one, system="two") for one in SOME[:2]]
        outcomes = OUTCOMES | dict.fromkeys(other, "right")
        both = [("one", []), ("two", [])]
        table = discourse_table(both, [*SOME, *other], outcomes, by="readers", paper=paper())
        assert table.notes[-1] == (
            "accuracy is of fewer items than the paper's: you (pl.) 1 to 2 of 80, you (sing.) "
            "1 of 80, while 2 of 80, pronoun 2 to 3 of 400, connective 2 of 400, ellipsis 0 of 400"
        )
        assert discourse_object(table)["paper"]["items"]["while"] == 80
        table = discourse_table(both[:1], SOME, OUTCOMES, by="readers", paper=paper())
        assert table.notes[-1].startswith("accuracy is of fewer items than the paper's: you (pl.)")
        table = discourse_table(both[:1], SOME, OUTCOMES, by="readers")
        assert not any("fewer" in note for note in table.notes)

    def test_as_many_items_as_the_paper_has_need_no_note(self):
        whole = [made(n, "ellipsis", "ellipsis") for n in range(400)]
        outcomes = dict.fromkeys(whole, "right")
        table = discourse_table([("one", [])], whole, outcomes, by="judge", paper=paper())
        assert not any("fewer" in note for note in table.notes)
        del outcomes[whole[0]]
        table = discourse_table([("one", [])], whole, outcomes, by="judge", paper=paper())
        assert table.notes[-1].endswith("than the paper's: ellipsis 399 of 400")

    def test_terminal_has_the_same_numbers(self):
        table = discourse_table([("one", [])], SOME, OUTCOMES, by="judge")
        screen = Console(file=io.StringIO(), width=76)
        for part in discourse_page(table).terminal():
            screen.print(part)
        assert "50.0 [9.5, 90.5] ?50.0" in screen.file.getvalue()

    def test_json(self):
        table = discourse_table([("one", [])], SOME, OUTCOMES, by="judge")
        data = json.loads(json.dumps(discourse_object(table)))
        assert (data["by"], data["paper"], data["bleu"]) == ("judge", None, [])
        row = next(row for row in data["accuracy"] if row["class"] == "while")
        assert (row["translations"], row["right"]["value"], row["cannot_tell"]["value"]) == (
            2,
            0.5,
            0.5,
        )


class TestPeople:
    def test_what_systems_translate_alike_is_asked_once_and_systems_are_not_told(self):
        alike = [made(0, "pronoun", "你", "你好吗", s) for s in ("one", "two")]
        other = made(0, "pronoun", "你", "你们好吗", "two")
        questions = ClassTask([*alike, other]).questions()
        assert len(questions) == 2
        assert questions == ClassTask([other, *reversed(alike)]).questions()
        assert list(questions[0].shown) == [
            "context",
            "source",
            "reference",
            "translation",
            "asked",
        ]
        assert questions[0].shown["asked"] == "'you' is one person: 你"

    def test_a_sample_has_the_translations_of_all_systems(self):
        both = [made(n, "pronoun", "你", "你", s) for n in range(9) for s in ("one", "two")]
        for n, one in enumerate(both):
            both[n] = replace(one, translation=one.system)
        taken = sampled(ClassTask(both).questions(), 3, seed=1)
        assert len(taken) == 6
        assert len({question.unit for question in taken}) == 3

    def test_the_class_judge_against_readers_by_hand(self):
        texts = [
            "你好吗",
            "你好吗？",
            "你们好吗",
            "你们好吗？",
            "好吗",
        ]  # right, right, wrong, wrong, ?
        some = [made(n, "pronoun", "你", text) for n, text in enumerate(texts)]
        said = ["right", "wrong", "wrong", "wrong", "right"]
        decisions = {
            (item := question_of(one).item): Decision(item, verdict, "", {}, "")
            for one, verdict in zip(some, said, strict=True)
        }
        whole, pronouns = compared(some, decisions)
        assert (whole.part, pronouns.part, whole.items, whole.same) == ("all", "pronoun", 5, 0.6)
        assert {pair: n for pair, n in whole.confusion.items() if n} == {
            ("right", "right"): 1, ("wrong", "right"): 1, ("wrong", "wrong"): 2,
            ("right", "cannot tell"): 1,
        }  # fmt: skip
        # Chance: people right 2/5, wrong 3/5; the judge right 2/5, wrong 2/5: 4/25 + 6/25 = 0.4.
        assert whole.kappa.value == pytest.approx((0.6 - 0.4) / 0.6)
        assert whole.kappa.low < whole.kappa.value < whole.kappa.high
        assert compared(some[::-1], decisions) == [whole, pronouns]
        # Right or not: 3 of 5 alike; chance 4/25 + 9/25 = 0.52.
        assert whole.kappa_right.value == pytest.approx((0.6 - 0.52) / 0.48)

    def test_translations_of_one_item_are_drawn_together(self):
        some = [made(0, "pronoun", "你", text, system=text) for text in ("你在", "他在")]
        said = ["right", "right"]
        decisions = {
            (item := question_of(one).item): Decision(item, verdict, "", {}, "")
            for one, verdict in zip(some, said, strict=True)
        }
        whole, _ = compared(some, decisions)
        assert whole.items == 2
        assert whole.kappa.low == whole.kappa.value == whole.kappa.high  # one item, one draw

    def test_the_same_items_are_those_that_all_systems_have(self):
        some = [
            replace(made(0, "pronoun", "你", "你在", system=system), source=source)
            for system in ("one", "two")
            for source in ("Of one suite.", "Of another.")
        ]
        said = dict(zip(some, ["right", "wrong", None, "wrong"], strict=True))
        assert list(of_same_items(some, said).values()) == [None, "wrong", None, "wrong"]
        assert list(of_same_items(some, {some[0]: "right"}).values()) == [None] * 4

    def test_what_is_open_is_left_out(self):
        (whole,) = compared(SOME, {})
        assert whole.items == 0
        assert whole.same != whole.same  # NaN
