"""Failure tables: every rate counted by hand, in the layout of Tables 1 to 4 of the paper."""

import csv
import io
import json
from dataclasses import replace

import pytest
from report_runs import Labelling
from rich.console import Console
from typer.testing import CliRunner

from boxpen import Card, Choice, Entail, Run, RunError, Suite, SuiteError, evaluate
from boxpen import write_suite as written
from boxpen.analysis.behaviour import count_tests, example_tests
from boxpen.cli.app import app
from boxpen.metrics.intervals import share
from boxpen.report import failure_formats as formats
from boxpen.report.failures import ALL, failure_tables
from small_runs import small_run

EN = Card(language="en")


def made(graph: str, relation: str, triple: int, answers: str, label: str = "entailment"):
    """One test for every answer, all of one triple."""
    return [
        Entail(
            id=f"{relation}-{triple}-{n}",
            premise=f"{relation} {triple} {n}",
            hypothesis=answer,
            label=label,
            block=f"{relation}-{triple}",
            tags={"task": "nli", "relation": relation, "graph": graph, "template": f"t{n}"},
        )
        for n, answer in enumerate(answers)
    ]


SUITE = Suite(
    "kg",
    (
        *made("atomic", "xWant", 1, "nnc"),
        *made("atomic", "xWant", 2, "enc"),
        *made("atomic", "xNeed", 1, "nn"),
        *made("conceptnet", "isa", 1, "eeec"),
        *made("conceptnet", "desires", 1, "en"),
    ),
    EN,
)
QUESTIONS = Suite(
    "questions",
    tuple(
        Choice(
            id=f"q{n}",
            context="A goal.",
            candidates=(f"right {n}", f"wrong {n}.0"),
            gold=0,
            block=f"isa-{n // 2}",
            tags={"task": "qa", "relation": "isa", "graph": "conceptnet", "template": str(n % 2)},
        )
        for n in range(6)
    ),
    EN,
)


def judged(model: str = "one", suite: Suite = SUITE, **settings) -> Run:
    turn = settings.pop("turn", "")
    return evaluate(Labelling(model, turn), suite, cache=":memory:", **settings)


def rates(table, column: int = 0) -> dict[str, float]:
    return {
        relation: round(100 * cell.rate.value, 1)
        for graph, names in table.rows.items()
        for relation in names
        if relation != ALL and (cell := table.row(graph, relation)[column]) is not None
    }


class TestTable:
    def test_rates_counted_by_hand(self):
        (table,) = failure_tables([judged()])
        assert table.task == "nli"
        assert table.columns == (("3-way", "one"), ("2-way", "one"))
        assert table.rows == {
            "ConceptNet": ["desires", "isa", ALL],
            "ATOMIC": ["xNeed", "xWant", ALL],
        }
        assert rates(table, 0) == {"desires": 50.0, "isa": 25.0, "xNeed": 100.0, "xWant": 83.3}
        assert rates(table, 1) == {"desires": 0.0, "isa": 25.0, "xNeed": 0.0, "xWant": 33.3}
        assert table.counts("ATOMIC", "xWant") == (6, 2)
        assert table.counts("ATOMIC", ALL) == (8, 3)
        assert table.guessing == pytest.approx((2 / 3, 1 / 2))

    def test_the_interval_is_that_of_the_failures_by_triple(self):
        (table,) = failure_tables([judged()])
        (cell, _) = table.row("ATOMIC", "xWant")
        expected = share([1, 1, 1, 0, 1, 1], ["1", "1", "1", "2", "2", "2"])
        assert cell.rate == pytest.approx(tuple(expected))

    @pytest.mark.parametrize("given", [("3-way",), ("2-way",), ("3-way", "2-way"), ("2-way",) * 2])
    def test_either_run_of_a_model_gives_both_settings(self, given):
        (expected,) = failure_tables([judged()])
        (table,) = failure_tables([judged(nli=nli) for nli in given])
        assert (table.columns, dict(table.cells)) == (expected.columns, dict(expected.cells))

    def test_settings_first_then_models(self):
        (table,) = failure_tables([judged("one"), judged("two", turn="c")])
        settings = [setting for setting, _ in table.columns]
        assert settings == ["3-way", "3-way", "2-way", "2-way"]
        assert [model for _, model in table.columns] == ["one", "two", "one", "two"]
        assert set(rates(table, 1).values()) == {100.0}

    def test_two_labels_make_one_column(self):
        run = evaluate(Labelling("two", labels=(0, 3)), SUITE, cache=":memory:")
        (table,) = failure_tables([run])
        assert table.columns == (("binary", "two"),)
        assert rates(table)["isa"] == 25.0

    def test_every_task_has_a_table_and_suites_are_joined(self):
        first, second = SUITE.take(SUITE.items[:8]), SUITE.take(SUITE.items[8:])
        parts = [
            judged(suite=Suite(name, part.items, EN))
            for name, part in (("a", first), ("b", second))
        ]
        from small_runs import Liking

        liked = {f" right {n}" for n in range(4)} | {" wrong 4.0"}
        choosing = evaluate(Liking("lm", liked), QUESTIONS, cache=":memory:")
        nli, qa = failure_tables([*parts, choosing])
        assert dict(nli.cells) == dict(failure_tables([judged()])[0].cells)
        assert qa.task == "qa"
        assert qa.columns == (("", "lm"),)
        (cell,) = qa.row("ConceptNet", "isa")
        # Four are right, one is wrong, one is a tie.
        assert cell.rate.value == pytest.approx(1.5 / 6)
        assert (cell.tests, cell.triples) == (6, 3)

    def test_a_test_of_a_suite_and_of_its_part_counts_once(self):
        """As of ``starter`` and ``starter.graph``; an id that two suites share says nothing."""
        part = Suite("kg.part", SUITE.items[:8], EN)
        (expected,) = failure_tables([judged()])
        for runs in ([judged(), judged(suite=part)], [judged(suite=part), judged()]):
            (table,) = failure_tables(runs)
            assert dict(table.cells) == dict(expected.cells)
        items = tuple(replace(item, premise=f"Other: {item.premise}") for item in SUITE)
        (table,) = failure_tables([judged(), judged(suite=Suite("other", items, EN))])
        assert table.counts("ATOMIC", ALL) == (16, 3)

    def test_a_name_that_begins_another_has_notes_of_its_own(self):
        more = made("conceptnet", "isa", 7, "n", label="neutral")
        long = judged("one-large", suite=Suite("kg", (*SUITE.items, *more), EN))
        (table,) = failure_tables([judged("one"), long])
        left_out = [note for note in table.notes if "neutral" in note]
        assert left_out == ["one-large, 2-way: 1 test(s) expect neutral, and are left out"]
        (table,) = failure_tables([judged("one")])
        assert table.notes == ()

    def test_neutral_tests_are_left_out_when_forced_and_named(self):
        more = made("conceptnet", "isa", 7, "n", label="neutral")
        run = judged(suite=Suite("kg", (*SUITE.items, *more), EN))
        (table,) = failure_tables([run])
        assert "one, 2-way: 1 test(s) expect neutral, and are left out" in table.notes
        three, two = table.row("ConceptNet", "isa")
        assert (three.tests, two.tests) == (5, 4)
        assert "not all columns are of the same tests" in table.notes

    def test_without_graphs_the_relation_tells(self):
        run = small_run("++-")
        with pytest.raises(RunError, match="no item of small has the tag 'relation'"):
            failure_tables([run])
        bare = [
            Entail(
                id=f"b{n}", premise="p", hypothesis="c", label="entailment", tags={"relation": r}
            )
            for n, r in enumerate(("isa", "xWant", "likes"))
        ]
        (table,) = failure_tables([judged(suite=Suite("bare", tuple(bare), EN))])
        assert table.rows == {"ConceptNet": ["isa"], "ATOMIC": ["xWant"], "other": ["likes"]}


class TestFormats:
    @pytest.fixture
    def table(self):
        (table,) = failure_tables([judged()])
        return table

    def test_terminal(self, table):
        console = Console(width=80, record=True, file=io.StringIO())
        for part in formats.failures_terminal(table, 80):
            console.print(part)
        text = console.export_text()
        assert max(map(len, text.splitlines())) <= 80
        line = next(x for x in text.splitlines() if x.strip().startswith("xWant"))
        assert line.split()[:4] == ["xWant", "6", "2", "83.3"]
        assert "66.7" in text.splitlines()[-1]

    def test_many_models_are_cut_into_several_tables(self):
        runs = [judged(name) for name in ("one", "two", "three")]
        (table,) = failure_tables(runs)
        parts = list(formats.failures_terminal(table, 80))
        assert len(parts) == 3

    def test_markdown(self, table):
        text = formats.failures_markdown([table])
        assert "| relation | tests | triples | 3-way one | 2-way one |" in text
        assert "| **ConceptNet** |" in text
        assert "| xNeed | 2 | 1 | 100.0 [" in text

    def test_latex(self, table):
        text = formats.failures_latex([table], ["suite:kg|model:one"])
        assert text.count(r"\begin{tabular}{lrrrr}") == 1
        assert r"\multicolumn{5}{l}{\textit{ATOMIC}} \\" in text
        assert "% suite:kg|model:one" in text
        assert r"xWant & 6 & 2 & 83.3 {\scriptsize [" in text

    def test_csv_and_json_have_the_same_records(self, table):
        rows = list(csv.DictReader(io.StringIO(formats.failures_csv([table]), newline="")))
        records = formats.failure_records([table])
        assert [{k: str(v) for k, v in r.items()} for r in records] == rows
        wanted = {"task": "nli", "graph": "ATOMIC", "relation": "xNeed", "setting": "2-way"}
        (row,) = [r for r in records if wanted.items() <= r.items()]
        assert (row["failure_rate"], row["tests"], row["triples"]) == (0.0, 2, 1)


class TestCommands:
    def invoke(self, *args: object):
        return CliRunner().invoke(app, [str(a) for a in args])

    def test_report(self, tmp_path):
        judged().save(tmp_path)
        shown = self.invoke("report", tmp_path, "--failures")
        assert shown.exit_code == 0, shown.output
        assert "ConceptNet" in shown.stdout
        data = json.loads(self.invoke("report", tmp_path, "--failures", "--json").stdout)
        assert len(data["failures"]) == 12
        assert data["notes"] == []
        for option, start in (("--markdown", "### NLI"), ("--csv", "task,"), ("--latex", "% box")):
            assert self.invoke("report", tmp_path, "--failures", option).stdout.startswith(start)
        for bad in (["--matrix"], ["--html", "x.html"], ["--csv", "--json"], ["--metric", "bleu"]):
            assert self.invoke("report", tmp_path, "--failures", *bad).exit_code == 2

    def test_what_is_left_out_is_said_wherever_the_table_stands(self, tmp_path):
        more = made("conceptnet", "isa", 7, "n", label="neutral")
        judged(suite=Suite("kg", (*SUITE.items, *more), EN)).save(tmp_path)
        for options in ([], ["--failures"], ["--failures", "--json"], ["--failures", "--markdown"]):
            shown = self.invoke("report", tmp_path, *options)
            text = " ".join(shown.output.split())
            assert "one, 2-way: 1 test(s) expect neutral, and are left out" in text

    def test_suite_tests(self, tmp_path):
        both = Suite("both", (*SUITE.items, *QUESTIONS.items), EN)
        written(both, tmp_path / "both.jsonl")
        shown = self.invoke("suite", "stats", tmp_path / "both.jsonl", "--tests")
        assert shown.exit_code == 0, shown.output
        line = next(x for x in shown.stdout.splitlines() if x.strip().startswith("isa"))
        assert line.split() == ["isa", "3", "4", "4", "2", "6"]
        assert "wrong 0.0" in shown.stdout
        data = json.loads(
            self.invoke("suite", "stats", tmp_path / "both.jsonl", "--tests", "--json").stdout
        )
        assert {"graph": "ConceptNet", "relation": "isa", "triples": 3, "task": "qa",
                "templates": 2, "tests": 6} in data["counts"]  # fmt: skip
        assert len(data["examples"]) == 3
        markdown = self.invoke(
            "suite", "stats", tmp_path / "both.jsonl", "--tests", "--markdown"
        ).stdout
        assert "| isa | 3 | 4 | 4 | 2 | 6 |" in markdown


class TestBehaviour:
    def test_counts_are_those_of_table_3(self):
        both = Suite("both", (*SUITE.items, *QUESTIONS.items), EN)
        found = {c.relation: c for c in count_tests(both)}
        assert list(found) == ["desires", "isa", "xNeed", "xWant"]
        assert found["isa"].tasks == {"nli": (4, 4), "qa": (2, 6)}
        assert (
            found["isa"].triples == 3
        )  # the pairs are of one of the three that the questions are of
        assert (found["xWant"].triples, found["xWant"].tasks) == (2, {"nli": (3, 6)})

    def test_examples_are_those_of_table_4(self):
        both = Suite("both", (*SUITE.items, *QUESTIONS.items), EN)
        found = example_tests(both)
        assert [(e.task, e.graph) for e in found] == [
            ("nli", "ConceptNet"), ("nli", "ATOMIC"), ("qa", "ConceptNet"),
        ]  # fmt: skip
        assert found[0].texts == {"P": "isa 1 0", "H": "e", "label": "entailment"}
        assert found[2].texts == {"goal": "A goal.", "right": "right 0", "wrong": "wrong 0.0"}

    def test_another_suite_is_refused(self):
        plain = Suite("plain", (Choice(id="c", candidates=("a", "b"), gold=0),))
        with pytest.raises(SuiteError, match="'plain' has no tag 'relation'"):
            count_tests(plain)
