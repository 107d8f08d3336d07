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
from boxpen.catalog import recipes_of
from boxpen.cli.app import app
from boxpen.metrics.choice import chance
from boxpen.metrics.intervals import share
from boxpen.report.failures import ALL, failure_tables
from boxpen.report.formats import failures as formats
from boxpen.report.tables import matrix
from boxpen.review.human_run import human_run
from small_runs import Liking, human_table, small_run

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
        assert table.counts("ATOMIC", ALL) == (16, 6)

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

    def test_a_label_that_cannot_be_accepted_is_refused(self, tmp_path):
        line = {"kind": "entail", "id": "1", "premise": "p", "hypothesis": "h", "label": "neutral"}
        for also in (["neutral"], ["maybe"], ["entailment", "contradiction"]):
            path = tmp_path / "bad.jsonl"
            path.write_text(json.dumps(line | {"also": also}) + "\n")
            shown = self.invoke("suite", "stats", path)
            assert shown.exit_code == 2
            listed = ", ".join(also)
            wanted = f"also accepts '{listed}', expected one of entailment, contradiction or none"
            assert wanted in " ".join(shown.output.split())

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


def tailed(relation: str, triple: int, right: str, wrong: str, *, likely: bool = False):
    """Tests of right tails and, in the same words, of wrong ones, by the answers to them."""
    made_right = made("conceptnet", relation, triple, right)
    out = []
    for one, answer in zip(made_right, wrong, strict=True):
        also = ("neutral",) if likely else ()
        out.append(replace(one, also=also, tags={**one.tags, "tail": "right"}))
        out.append(
            replace(
                one,
                id=f"{one.id}-wrong",
                hypothesis=answer,
                label="contradiction",
                also=("neutral",),
                tags={**one.tags, "tail": "wrong"},
            )
        )
    return out


TAILED = Suite(
    "tailed",
    (
        *tailed("isa", 1, "een", "ecn"),
        *tailed("isa", 2, "ec", "nn"),
        *tailed("desires", 1, "enc", "nce", likely=True),
    ),
    EN,
)


def measured(table, graph: str = "ConceptNet") -> dict[tuple[str, str], list[float | None]]:
    return {
        (one.measure, relation): [
            None if cell is None else round(cell.rate.value, 3) for cell in one.row(graph, relation)
        ]
        for one in (table, *table.more)
        for relation in table.rows[graph]
    }


class TestWrongTails:
    def test_measures_counted_by_hand(self):
        (table,) = failure_tables([judged(suite=TAILED)])
        assert table.columns == (("3-way", "one"), ("2-way", "one"))
        found = measured(table)
        # isa: e e n | e c against e c n | n n; desires: e n c against n c e, neutral accepted
        assert found["failure rate", "isa"] == [0.4, 0.2]
        assert found["failure rate", "desires"] == [0.333, 0.333]
        # 2-way, neutral answers of 'n' lean to entailment
        assert found["failure rate on wrong tails", "isa"] == [0.2, 0.8]
        assert found["failure rate on wrong tails", "desires"] == [0.333, 0.667]
        assert found["balanced accuracy", "isa"] == [0.7, 0.5]
        # always neutral would pass all of these, so that they have none unless forced
        assert found["balanced accuracy", "desires"] == [None, 0.5]
        assert found["balanced accuracy", ALL] == [0.7, 0.5]
        # e-e ties, e>c, n-n ties, e>n, c<n
        assert found["paired accuracy", "isa"] == [0.6, 0.6]
        assert found["paired accuracy", "desires"] == [0.667, 0.667]
        assert [one.guessing for one in table.more[1:]] == [(0.5, 0.5)] * 2
        assert any("only likely accept neutral" in note for note in table.notes)

    @pytest.mark.parametrize("answer", "enc")
    @pytest.mark.parametrize("labels", [(0, 1, 2), (0, 3)])
    def test_a_constant_answer_is_no_better_than_guessing(self, answer, labels):
        run = evaluate(Labelling("same", answer, labels), TAILED, cache=":memory:")
        (table,) = failure_tables([run])
        for (measure, _), values in measured(table).items():
            if measure in ("balanced accuracy", "paired accuracy"):
                assert set(values) <= {0.5, None}
        # Where neutral and contradiction are one label, what is likely cannot be failed.
        known = ["isa"] if labels == (0, 3) else ["desires", "isa", ALL]
        assert table.rows == {"ConceptNet": known}

    def test_suites_with_the_same_ids_and_blocks_are_kept_apart(self):
        """All pairs of one suite are right, all of the other wrong."""
        right, wrong = (
            Suite(name, tuple(
                replace(item, premise=f"{name}: {item.premise}")
                for n in (1, 2) for item in tailed("isa", n, *answers)
            ), EN)
            for name, answers in (("a", ("e", "n")), ("b", ("n", "e")))
        )  # fmt: skip
        runs = [judged(suite=suite) for suite in (right, wrong)]
        for some in (runs, runs[::-1]):
            (table,) = failure_tables(some)
            paired = table.more[-1]
            (cell, _) = paired.row("ConceptNet", "isa")
            assert paired.measure == "paired accuracy"
            assert cell.rate == pytest.approx(share([1, 1, 0, 0], [1, 2, 3, 4]))
            assert (cell.tests, cell.triples) == (8, 4)

    def test_parts_and_samples_of_a_suite_are_one_source(self):
        (expected,) = failure_tables([judged(suite=TAILED)])
        named = Suite("tailed.isa", TAILED.items[:9], EN)
        (table,) = failure_tables([judged(suite=named), judged(suite=TAILED)])
        assert [dict(one.cells) for one in table.more] == [dict(one.cells) for one in expected.more]
        samples = [judged(suite=TAILED, limit=8, seed=seed) for seed in (0, 1)]
        (table,) = failure_tables(samples)
        triples = {v.block for run in samples for v in run.verdicts}
        tests = {v.id for run in samples for v in run.verdicts}
        assert len(tests) > 8
        assert table.more[-1].counts("ConceptNet", ALL) == (len(tests), len(triples))

    def test_people_and_runs_without_context_are_of_the_same_suite(self, tmp_path):
        lines = [f"{item.id},neutral,entailment,neutral\n" for item in TAILED]
        people = human_run(TAILED, human_table(tmp_path, "item,a,b,c\n" + "".join(lines)))
        liked = {f"right {n}" for n in range(6)}
        given = evaluate(Liking("one", liked), QUESTIONS, cache=":memory:")
        bare = evaluate(Liking("two", liked), QUESTIONS, cache=":memory:", context="none")
        model = judged(suite=TAILED)
        for runs in ([model, people], [people, model], [given, bare], [bare, given]):
            (table,) = failure_tables(runs)
            assert "not all columns are of the same tests" not in table.notes

    def test_the_recipe_paper_has_the_papers_tests_only(self):
        run = evaluate(
            Labelling("one"), TAILED, recipe=recipes_of(TAILED)["paper"], cache=":memory:"
        )
        (table,) = failure_tables([run])
        assert table.more == ()
        assert table.counts("ConceptNet", ALL) == (8, 3)
        assert rates(table, 0) == {"desires": 66.7, "isa": 40.0}
        assert {v.also for v in run.verdicts} == {()}

    def test_saved_runs_keep_accepted_labels(self, tmp_path):
        run = judged(suite=TAILED, nli="2-way")
        again = Run.load(run.save(tmp_path))
        assert again.verdicts == run.verdicts
        assert again.rescore(nli="3-way").verdicts == judged(suite=TAILED).verdicts

    def test_guessing_is_right_as_often_as_labels_are(self):
        run = judged(suite=TAILED)
        (line,) = [line for line in matrix([run]).lines if line.kind == "chance"]
        # five strict right tails, three that are only likely, eight wrong ones
        assert line.cells[0].value == pytest.approx((5 * 1 + 3 * 2 + 8 * 2) / 3 / 16)
        assert line.cells[0].value == pytest.approx(chance(run.verdicts).value)

    def test_rows_count_the_tests_that_they_are_of(self, tmp_path):
        def answered(suite):
            lines = [f"{item.id},neutral,entailment,neutral\n" for item in suite]
            path = human_table(tmp_path, "item,a,b,c\n" + "".join(lines))
            return failure_tables([human_run(suite, path)])

        extra = tailed("hasa", 1, "e", "c")
        (table,) = answered(Suite("more", (*TAILED.items, *extra), EN))
        assert table.more[1].measure == "balanced accuracy"
        assert table.more[1].rows == {"ConceptNet": ["isa", "hasa", ALL]}
        assert table.more[1].counts("ConceptNet", ALL) == (12, 3)  # and none of desires
        likely = Suite("likely", tuple(tailed("desires", 1, "enc", "nce", likely=True)), EN)
        text = formats.failures_markdown(answered(likely))
        assert "paired accuracy" in text
        assert "NLI: balanced accuracy" not in text  # no relation has one

    def test_a_column_without_wrong_tails_has_no_guess_at_them(self):
        paper = evaluate(
            Labelling("one"), TAILED, recipe=recipes_of(TAILED)["paper"], cache=":memory:"
        )
        (table,) = failure_tables([paper, judged(suite=TAILED)])
        assert "nan" not in formats.failures_markdown([table])
        assert "| *guessing* |  |  |  | 33.3 |  | 50.0 |" in formats.failures_markdown([table])

    def test_records_name_the_measures(self):
        tables = failure_tables([judged(suite=TAILED)])
        records = formats.failure_records(tables)
        (isa,) = [r for r in records if (r["relation"], r["setting"]) == ("isa", "3-way")]
        assert isa["wrong_tail_failure_rate"] == pytest.approx(0.2)
        assert isa["balanced_accuracy"] == pytest.approx(0.7)
        assert isa["balanced_accuracy_low"] < 0.7 < isa["balanced_accuracy_high"]
        (likely,) = [r for r in records if (r["relation"], r["setting"]) == ("desires", "3-way")]
        assert "balanced_accuracy" not in likely
        assert likely["paired_accuracy"] == pytest.approx(2 / 3)
        rows = list(csv.DictReader(io.StringIO(formats.failures_csv(tables), newline="")))
        assert rows[0].keys() == records[1].keys() | records[0].keys()
        text = formats.failures_markdown(tables)
        for measure in ("failure rate on wrong tails", "balanced accuracy", "paired accuracy"):
            assert f"### NLI: {measure}, % [95 %]" in text
