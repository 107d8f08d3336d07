"""boxpen review: the same cycle of sheets, journal and verdicts for every task."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from test_commands import invoke, refused

from boxpen import Choice, Entail, Run, Suite, Translate, load_suite, read_suite
from boxpen.build.discourse.mine import write_rows as write_candidates
from boxpen.build.duals.rows import write_rows as write_duals
from boxpen.build.kg.triples import schema, triple_id, write_table
from boxpen.catalog import write_suite
from boxpen.plugins import TASKS
from boxpen.review import Journal, Judgement
from boxpen.review.answers import AnswerTask
from boxpen.runs.run import Translation
from small_runs import small_run, small_suite

Row = dict[str, str]


@dataclass
class Case:
    """A target with four items, and how a judge finds one of them good or bad."""

    target: Path
    out: Path
    options: tuple[str, ...]
    verdicts: tuple[str, str] = ("accept", "reject")
    pick: Callable[[Row, bool], str] | None = None

    def run(self, command: str, *words: object):
        return invoke("review", command, self.target, *words, *self.options)

    def sheet(self, judge: str, *words: object) -> Path:
        path = self.target.parent / f"sheet-{judge}.csv"
        done = self.run("export", "--judge", judge, "--out", path, "--overwrite", *words)
        assert done.exit_code == 0, done.output
        return path

    def answer(self, row: Row, good: bool) -> str:
        return self.pick(row, good) if self.pick else self.verdicts[not good]

    def judged(self, judge: str, **answers: bool) -> Path:
        """The sheet of a judge who finds items good or bad; others are not judged."""
        path = self.sheet(judge)
        rows = rows_of(path)
        for row in rows:
            if row["item"] in answers:
                row["verdict"] = self.answer(row, answers[row["item"]])
        write_rows(path, rows)
        return path

    def items(self) -> list[str]:
        rows = rows_of(self.sheet("nobody", "--order", "given"))
        return [row["item"] for row in rows]

    @property
    def journal(self) -> Path:
        return Path(json.loads(self.run("status", "--json").stdout)["journal"])


def rows_of(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def triples(path: Path) -> None:
    rows = [
        {"id": triple_id("isa", f"h{n}", f"t{n}"), "head": f"h{n}", "relation": "isa",
         "tail": f"t{n}", "sentence": f"H{n} is t{n}.", "wrong": [f"w{n}"], "wrong_text": [f"w{n}"]}
        for n in range(4)
    ]  # fmt: skip
    kinds = {"sentence": pl.String, "wrong": pl.List(pl.String), "wrong_text": pl.List(pl.String)}
    write_table(pl.DataFrame(rows, schema={**schema(), **kinds}), path)


def candidates(folder: Path) -> None:
    folder.mkdir()
    rows = [
        {"id": f"c{n}", "set": "connective", "class": "or-否则", "word": "or", "score": 1.0 - n,
         "reason": "x", "document": "d", "line": n, "context_source": "Run!", "source": f"Or {n}.",
         "context_target": "跑！", "target": f"否则 {n}。", "contrast": [], "text": f"{n}"}
        for n in range(4)
    ]  # fmt: skip
    for name in ("candidates", "sampled"):
        write_candidates(rows, folder / f"{name}.parquet")


def duals(folder: Path) -> None:
    folder.mkdir()
    suite = small_suite(4)
    write_suite(suite, folder / "source.jsonl")
    rows = [
        {"id": f"{item.id}-add", "item": item.id, "operation": "add", "kind": "negation",
         "expected": "flipped", "reason": "x", "first": f"not {item.id}",
         "second": f"yes {item.id}", "gold": 1, "original_first": item.candidates[0],
         "original_second": item.candidates[1], "original_gold": 0, "fluency": None}
        for item in suite
        if isinstance(item, Choice)
    ]  # fmt: skip
    write_duals(rows, folder / "proposals.parquet")


def translated(folder: Path, sets: bool) -> Path:
    run = small_run("++++", model="m")
    tags = {"set": "pronoun", "class": "她们"} if sets else {}
    made = [
        Translation(f"i{n}", f"They {n}.", f"她们 {n}。", f"她们走 {n}。", "zh", tags)
        for n in range(4)
    ]
    return replace(run, translations=tuple(made)).save(folder)


def chosen(row: Row, good: bool) -> str:
    """The number under which a judge sees the right candidate, or the wrong one."""
    return next(n for n in ("1", "2") if row[n].startswith("right") == good)


def sensible(row: Row, good: bool) -> str:
    """The number under which a judge sees the expected sentence of a dual, or a fault."""
    return next(n for n in ("1", "2") if row[n].startswith("yes")) if good else "neither"


@pytest.fixture(params=list(TASKS))
def case(request, tmp_path) -> Case:
    name, task = request.param, ("--task", request.param)
    if name in ("triples", "wordings", "wrong-answers"):
        triples(tmp_path / "table.parquet")
        return Case(tmp_path / "table.parquet", tmp_path / "out.parquet", task)
    if name == "candidates":
        candidates(tmp_path / "build")
        return Case(tmp_path / "build", tmp_path / "out.parquet", task)
    if name == "duals":
        duals(tmp_path / "build")
        return Case(tmp_path / "build", tmp_path / "out.jsonl", task, pick=sensible)
    if name in ("classes", "errors"):
        run = translated(tmp_path / "runs", sets=True)
        return Case(run, tmp_path / "out.csv", task, ("right", "w" if name == "classes" else "c+o"))
    if name == "readings":
        run = translated(tmp_path / "runs", sets=False)
        return Case(run, tmp_path / "out.csv", task, pick=chosen)
    write_suite(small_suite(4, "mine"), tmp_path / "mine.jsonl")
    if name == "wrong-candidates":
        return Case(tmp_path / "mine.jsonl", tmp_path / "out.jsonl", task)
    if name == "tags":
        tag = ("--tag", "steps")
        return Case(tmp_path / "mine.jsonl", tmp_path / "out.jsonl", tag, ("1", "2"))
    return Case(tmp_path / "mine.jsonl", tmp_path / "runs", task, pick=chosen)


def test_from_sheets_to_verdicts(case):
    one, two, three, four = items = case.items()
    ann = case.judged("ann", **{one: True, two: True, three: False})
    bo = case.judged("bo", **{one: True, two: False, three: False})
    done = case.run("import", ann, bo)
    assert done.exit_code == 0, done.output
    assert "6 judgement(s) added to " in done.stderr
    again = case.run("import", ann, bo)
    assert "0 judgement(s) added" in again.stderr
    assert "6 known already" in again.stderr

    status = json.loads(case.run("status", "--min-judges", 2, "--json").stdout)
    assert (status["items"], status["outdated"]) == (4, 0)
    assert status["judges"] == {"ann": 3, "bo": 3}
    assert status["agreement"][0]["percent"] == pytest.approx(2 / 3)
    assert [found["item"] for found in status["disagreements"]] == [two]
    assert list(status["open"]) == [two, four]
    assert status["decisions"]["open"] == 2
    shown = case.run("status").stdout
    assert "ann: 3 of 4 judged\nbo: 3 of 4 judged\n" in shown
    assert f"Judges disagree:\n  {two}: ann " in shown

    assert [row["item"] for row in rows_of(case.sheet("ann"))] == [four]
    more = ("--judge", "dee", "--sample", 3, "--out", case.out.with_suffix(".csv"), "--json")
    assert json.loads(case.run("export", *more).stdout)["items"] == 3
    case.out.with_suffix(".csv").unlink()
    assert [row["item"] for row in rows_of(case.sheet("cy", "--disputed"))] == [two]
    rows = rows_of(case.sheet("ann", "--all", "--order", "given"))
    assert [row["item"] for row in rows] == items
    kept = [case.answer(row, good) for row, good in zip(rows, (True, True, False), strict=False)]
    if "c+o" not in case.verdicts and "w" not in case.verdicts:  # which are kept in full
        assert [row["verdict"] for row in rows] == [*kept, ""]
    assert "0 judgement(s) added" in case.run("import", case.sheet("ann", "--all")).stderr

    apply = ("apply", "--min-judges", 2, "--out", case.out)
    done = case.run(*apply)
    assert done.exit_code == 0, done.output
    assert case.out.exists()
    if case.out.is_file():
        before = case.out.read_bytes()
        refused(case.run(*apply), f"{case.out} already exists; give another name or --overwrite")
        assert case.out.read_bytes() == before
        assert case.run(*apply, "--overwrite").exit_code == 0
        assert case.out.read_bytes() == before


def test_a_changed_verdict_is_shown(case):
    first = case.items()[0]
    assert case.run("import", case.judged("ann", **{first: True})).exit_code == 0
    path = case.sheet("ann", "--all")
    rows = rows_of(path)
    for row in rows:
        if row["item"] == first:
            row["verdict"] = case.answer(row, False)
    write_rows(path, rows)
    done = case.run("import", path)
    assert f"ann, {first}: " in done.stdout
    assert "→" in done.stdout
    assert len(case.journal.read_text("utf-8").splitlines()) == 2


def test_each_item_is_judged_by_some(case):
    names = ("ann", "bo", "cy")
    sheets = [case.sheet(name, "--judges", *names, "--overlap", 2) for name in names]
    found = sorted(row["item"] for sheet in sheets if sheet.exists() for row in rows_of(sheet))
    assert found == sorted(case.items() * 2)
    done = case.run("export", "--judge", "ann", "--out", "x.csv", "--overlap", 2)
    refused(done, "--judges and --overlap need each other")


def test_samples_are_the_same_for_all(case):
    one, two = (rows_of(case.sheet(j, "--sample", 2, "--seed", 5)) for j in ("ann", "bo"))
    assert len(one) == 2
    assert {row["item"] for row in one} == {row["item"] for row in two}
    done = case.run("export", "--judge", "ann", "--out", "x.csv", "--sample", 0)
    refused(done, "the sample is 0, expected 1 or more")


def test_a_torn_line_is_reported_and_replaced(case):
    first, second = case.items()[:2]
    sheet = case.judged("ann", **{first: True, second: True})
    assert case.run("import", sheet).exit_code == 0
    journal = case.journal
    journal.write_bytes(journal.read_bytes()[:-20])
    assert "line 2 was cut off" in case.run("status").stderr
    done = case.run("import", sheet)
    assert "line 2 was cut off" in done.stderr
    assert "1 judgement(s) added" in done.stderr
    assert json.loads(case.run("status", "--json").stdout)["judges"] == {"ann": 2}


@pytest.mark.parametrize("case", ["triples", "errors", "answers", "tags"], indirect=True)
class TestRefused:
    def test_an_unknown_verdict(self, case):
        path = case.sheet("ann")
        rows = rows_of(path)
        rows[0]["verdict"] = "x" * 61
        write_rows(path, rows)
        refused(case.run("import", path), f"{path}, line 2 has the verdict 'xxx", "expected ")
        assert not case.journal.exists()

    def test_a_changed_text(self, case):
        path = case.judged("ann", **{case.items()[0]: True})
        rows = rows_of(path)
        name = list(rows[0])[1]
        rows[0][name] += " or not"
        write_rows(path, rows)
        refused(case.run("import", path), f"{path}, line 2: the {name} of item", "or not'")
        assert not case.journal.exists()

    def test_a_sheet_of_something_else(self, case):
        path = case.sheet("ann")
        rows = rows_of(path)
        write_rows(path, [{**rows[0], "item": "other"}])
        refused(case.run("import", path), "has the item 'other', which is not in the ")

    def test_an_adjudicator_who_has_not_judged(self, case):
        rule = ("--rule", "adjudicator", "--adjudicator")
        refused(case.run("status", *rule, "ann"), "there is no judge 'ann' in", "nobody has judged")
        assert case.run("import", case.judged("ann", **{case.items()[0]: True})).exit_code == 0
        refused(case.run("status", *rule, "an"), "there is no judge 'an' in", "expected one of ann")
        assert case.run("status", *rule, "ann").exit_code == 0
        refused(case.run("status", *rule, "a\tb"), "--adjudicator is 'a\\tb'")
        refused(case.run("status", *rule[:2]), "name of the adjudicator")
        refused(case.run("status", *rule[2:], "ann"), "expected no adjudicator")

    def test_an_unknown_rule(self, case):
        refused(case.run("status", "--rule", "majorty"), "there is no rule 'majorty'", "'majority'")
        refused(case.run("status", "--min-judges", 0), "min-judges is 0, expected 1 or more")

    def test_a_journal_that_does_not_exist(self, case, tmp_path):
        missing = ("--journal", tmp_path / "nope.jsonl")
        for words in (("status",), ("apply", "--out", case.out)):
            refused(case.run(*words, *missing), "nope.jsonl, which cannot be read (No such file")
        path = case.judged("ann", **{case.items()[0]: True})
        assert case.run("import", path, *missing).exit_code == 0
        assert case.run("status", *missing).exit_code == 0

    def test_to_overwrite_what_is_needed(self, case):
        assert case.run("import", case.judged("ann", **{case.items()[0]: True})).exit_code == 0
        journal = case.journal
        before = journal.read_bytes()
        link = journal.with_name(f"link{case.out.suffix}")
        link.symlink_to(journal)
        done = case.run("apply", "--out", link, "--overwrite", "--min-judges", 1)
        refused(done, f"--out is {link}, which holds the judgements")
        assert journal.read_bytes() == before

    def test_no_sheet(self, case):
        refused(case.run("import"), "there is no sheet among")
        refused(case.run("import", "gone.csv"), "gone.csv", "cannot be read")


def test_tasks_are_loaded_when_they_are_needed():
    code = (
        "import sys, boxpen.review\n"
        "others = ('boxpen.build', 'boxpen.analysis', 'boxpen.cli')\n"
        "print([name for name in sys.modules if name.startswith(others)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    for name in TASKS:
        assert TASKS.load(name).name == name


class TestTargets:
    """Which task a target means."""

    def name(self, *words: object) -> str:
        done = invoke("review", "status", *words, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)["task"]

    def test_are_known_by_what_they_are(self, tmp_path):
        triples(tmp_path / "t.parquet")
        assert self.name(tmp_path / "t.parquet") == "triples"
        candidates(tmp_path / "c")
        assert self.name(tmp_path / "c") == "candidates"
        duals(tmp_path / "d")
        assert self.name(tmp_path / "d") == "duals"
        write_suite(small_suite(4, "mine"), tmp_path / "mine.parquet")
        assert self.name(tmp_path / "mine.parquet") == "answers"
        assert self.name("starter.sense") == "answers"
        assert self.name("starter.sense", "--tag", "steps") == "tags"
        assert self.name(translated(tmp_path / "runs", sets=False)) == "errors"
        assert self.name(tmp_path / "runs") == "errors"

    def test_a_suite_is_not_a_folder_of_its_name(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        duals(tmp_path / "starter")
        assert self.name("starter") == "answers"
        assert self.name("./starter") == "duals"

    def test_must_be_clear(self, tmp_path):
        run = translated(tmp_path / "runs", sets=True)
        refused(invoke("review", "status", run), "several ways; choose --task classes or errors")
        refused(invoke("review", "status", run, "--task", "dual"), "no task 'dual'", "'duals'")
        done = invoke("review", "status", "starter", "--task", "duals")
        refused(
            done, "the task 'duals' reviews a folder or configuration of the builder 'duals', not"
        )
        refused(invoke("review", "status", "startr"), "suite 'startr' is neither known nor a file")
        refused(invoke("review", "status", "starter", "--task", "tags"), "needs --tag")

    def test_in_several_folders_need_a_journal(self, tmp_path):
        runs = [translated(tmp_path / name, sets=False) for name in ("one", "two")]
        refused(invoke("review", "status", *runs), "the runs are in", "--journal")
        out = tmp_path / "a.csv"
        words = ("--judge", "ann", "--out", out, "--journal", tmp_path / "j.jsonl")
        assert invoke("review", "export", *runs, *words).exit_code == 0
        assert len(rows_of(out)) == 4

    def test_may_include_the_journal_beside_the_runs(self, tmp_path):
        run = translated(tmp_path / "runs", sets=True)
        for name in ("errors", "classes"):
            case = Case(run, tmp_path / "x", ("--task", name), ("right", "w"))
            sheet = case.judged("ann", **{case.items()[0]: True})
            assert case.run("import", sheet).exit_code == 0
            sheet.unlink()
            (run.parent / "sheet-nobody.csv").unlink()
        everything = sorted((tmp_path / "runs").iterdir())  # as runs/* in a shell
        assert len(everything) == 3
        for name in ("errors", "classes"):
            assert self.name(*everything, "--task", name) == name

    def test_with_long_names(self, tmp_path):
        long = tmp_path / ("x" * 300)
        refused(invoke("review", "status", long), "cannot be used: File name too long")
        done = invoke("review", "export", "starter", "--judge", "a", "--out", f"{long}.csv")
        refused(done, f"boxpen: {long}.csv cannot be used: File name too long")


class TestAnswers:
    """People answer the items of a suite."""

    def test_the_run_is_that_of_a_table_of_answers(self, tmp_path):
        suite = tmp_path / "mine.jsonl"
        write_suite(small_suite(6, "mine", k=3), suite)
        votes = {"ann": "000120", "bo": "001121", "cy": "000022"}
        for judge, answers in votes.items():
            sheet = tmp_path / f"{judge}.csv"
            words = ("--judge", judge, "--out", sheet)
            assert invoke("review", "export", suite, *words).exit_code == 0
            rows = rows_of(sheet)
            for row in rows:
                item = int(row["item"][1:])
                wanted = load_suite(suite).items[item].candidates[int(answers[item])]
                row["verdict"] = next(n for n in ("1", "2", "3") if row[n] == wanted)
            write_rows(sheet, rows)
            assert invoke("review", "import", suite, sheet).exit_code == 0
        lines = [f"i{n},{','.join(of[n] for of in votes.values())}" for n in range(6)]
        (tmp_path / "table.csv").write_text("\n".join([f"item,{','.join(votes)}", *lines]))
        for words in (
            ("review", "apply", suite, "--out", tmp_path / "one"),
            (
                "review",
                "apply",
                suite,
                "--answers",
                tmp_path / "table.csv",
                "--out",
                tmp_path / "two",
            ),
        ):
            done = invoke(*words)
            assert done.exit_code == 0, done.output
        one, two = (Run.load(next((tmp_path / name).iterdir())) for name in ("one", "two"))
        assert one.verdicts == two.verdicts
        assert one.signature == two.signature
        assert one.info.human == two.info.human
        done = invoke(
            "review", "apply", suite, "--out", tmp_path / "three", "--name", "us", "--json"
        )
        data = json.loads(done.stdout)
        assert data["human"]["judges"] == 3
        assert {row["model"] for row in data["results"]} == {"us"}
        few = ("--min-judges", 4, "--out", tmp_path / "four")
        refused(invoke("review", "apply", suite, *few), "at most 3 judge(s) for an item")
        rule = ("--rule", "unanimous", "--out", tmp_path / "four")
        refused(invoke("review", "apply", suite, *rule), "expected 'majority'")
        assert not (tmp_path / "four").exists()

    def test_a_sheet_does_not_depend_on_the_right_answer(self, tmp_path, monkeypatch):
        """Whichever candidate is right, and wherever it is, the sheet has the same bytes."""
        monkeypatch.chdir(tmp_path)
        texts = [tuple(f"candidate {n} {sign}" for sign in "cab") for n in range(20)]
        sheets = set()
        for gold in range(3):
            for turn in range(3):
                items = tuple(
                    Choice(id=f"i{n}", candidates=some[turn:] + some[:turn], gold=gold, tags={})
                    for n, some in enumerate(texts)
                )
                write_suite(Suite("mine", items), Path("mine.jsonl"))
                words = ("--judge", "ann", "--out", "a.csv", "--overwrite")
                assert invoke("review", "export", "mine.jsonl", *words).exit_code == 0
                sheets.add(Path("a.csv").read_bytes())
        assert len(sheets) == 1

    def test_orders_differ_between_judges_items_and_seeds_and_are_logged(self, tmp_path):
        suite = tmp_path / "mine.jsonl"
        write_suite(small_suite(20, "mine", k=3), suite)
        orders = []
        for judge, seed in (("ann", 0), ("bo", 0), ("ann", 1), ("ann", 0)):
            sheet = tmp_path / "s.csv"
            words = ("--judge", judge, "--seed", seed, "--out", sheet, "--overwrite")
            assert invoke("review", "export", suite, *words, "--order", "given").exit_code == 0
            orders.append([row["order"] for row in rows_of(sheet)])
        assert orders[0] == orders[3]
        assert len({tuple(order) for order in orders}) == 3
        assert len(set(orders[0])) > 3
        right = [row[n].startswith("right") for row in rows_of(sheet) for n in ("1", "2", "3")]
        assert 2 < sum(right[::3]) < 12  # the right one is not always first, nor never

        rows = rows_of(sheet)
        rows[0]["verdict"] = next(n for n in ("1", "2", "3") if rows[0][n] == "wrong 0.1")
        write_rows(sheet, rows)
        assert invoke("review", "import", suite, sheet).exit_code == 0
        (one,) = Journal(tmp_path / "mine-answers.jsonl").read().judgements
        assert (one.verdict, one.order) == ("3", rows[0]["order"])
        rows[0]["order"] = "1 1 2"
        write_rows(sheet, rows)
        refused(invoke("review", "import", suite, sheet), "line 2 has the order '1 1 2', expected")
        rows[0] |= {"order": rows[1]["order"], "verdict": "4"}
        write_rows(sheet, rows)
        refused(invoke("review", "import", suite, sheet), "line 2")

    def test_the_texts_that_a_judge_sees(self, tmp_path):
        items = (
            Choice(id="a", candidates=("no", "yes"), gold=1, context="Is it?", tags={}),
            Translate(id="b", source="是", reference="yes", contrast=("no",), tags={"set": "x"}),
            Entail(id="c", premise="It rains.", hypothesis="It is wet.", label="entailment"),
        )
        sheet = tmp_path / "a.csv"
        more = Choice(id="d", candidates=("1", "2", "3"), gold=0, context="Count!", tags={})
        write_suite(Suite("all", (*items, more)), tmp_path / "all.jsonl")
        words = ("--judge", "ann", "--out", sheet, "--order", "given")
        assert invoke("review", "export", tmp_path / "all.jsonl", *words).exit_code == 0
        head = ["item", "context", "source", "premise", "hypothesis", "1", "2", "3", "verdict"]
        assert list(rows_of(sheet)[0]) == [*head, "edit", "comment", "judge", "digest", "order"]
        one, two, three = AnswerTask(Suite("all", items)).questions()
        assert list(three.texts) == ["premise", "hypothesis", "1", "2", "3"]
        labels = ["entailment", "neutral", "contradiction"]
        for judge in ("ann", "bo", "cy"):
            assert [option.text for option in three.shuffled(judge, 0).options] == labels
        assert one.texts == {"context": "Is it?", "1": "no", "2": "yes"}
        assert two.texts == {"source": "是", "1": "no", "2": "yes"}
        candidates = items[1].as_choice().candidates
        assert [candidates[int(option.verdict) - 1] for option in two.options] == ["no", "yes"]
        done = AnswerTask(Suite("all", items)).decide([Judgement("a", "ann", "2")], min_judges=1)
        assert done.counts == {"1": 0, "2": 1, "3": 0, "open": 2}


def test_what_was_proposed_can_be_taken_unjudged(tmp_path):
    duals(tmp_path / "d")
    out = tmp_path / "all.jsonl"
    done = invoke("review", "apply", tmp_path / "d", "--unjudged", "--out", out, "--name", "all")
    assert done.exit_code == 0, done.output
    assert "judged by" not in read_suite(out).card.notes
    assert (read_suite(out).name, len(read_suite(out))) == ("all", 8)
    triples(tmp_path / "t.parquet")
    table = tmp_path / "all.parquet"
    done = invoke("review", "apply", tmp_path / "t.parquet", "--unjudged", "--out", table)
    assert done.exit_code == 0, done.output
    assert pl.read_parquet(table).height == 4
    done = invoke("review", "apply", "starter", "--unjudged", "--out", tmp_path / "runs")
    refused(done, "--unjudged accepts proposals")
    both = ("--unjudged", "--rule", "majority", "--out", out)
    refused(
        invoke("review", "apply", tmp_path / "d", *both), "--unjudged and --rule cannot be combined"
    )
