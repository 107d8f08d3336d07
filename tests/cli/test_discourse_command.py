"""boxpen discourse: the class judge, sheets, agreement, tables, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from test_commands import invoke, refused

from boxpen.runs.run import Run, Translation
from small_runs import small_run

ITEMS = [
    ("pronoun", "你们", "Are you both ready?", "你们俩准备好了吗？"),
    ("pronoun", "她们", "They left.", "她们走了。"),
    ("connective", "while-而", "He works while she sleeps.", "他工作，而她睡觉。"),
    ("ellipsis", "ellipsis", "Neither do I.", "我也不讨厌。"),
]
GOOD = ["你们准备好了吗？", "她们走了。", "他工作，而她睡觉。", "我也不讨厌。"]
BAD = ["你准备好了吗？", "她们走了。", "当她睡觉的时候他工作。", "不。"]


def saved(
    folder: Path,
    texts: list[str],
    model: str,
    cls: str | None = None,
    context: str = "given",
    fingerprint: str | None = None,
) -> Path:
    weights = fingerprint or f"{sum(model.encode()):064x}"
    run = small_run("++++", model=model, fingerprint=weights)
    if context != "given":
        policy = run.info.policy.but(context=context)
        signature = f"{run.signature}|context:{context}"
        run = replace(run, info=replace(run.info, policy=policy, signature=signature))
    made = [
        Translation(
            f"d{n}", source, reference, text, "zh", {"set": of, "class": cls or name},
            context="I hate rain." if of == "ellipsis" else "Before.",
            reference_context="我讨厌下雨。" if of == "ellipsis" else "以前。",
        )
        for n, ((of, name, source, reference), text) in enumerate(zip(ITEMS, texts, strict=True))
    ]  # fmt: skip
    return replace(run, translations=tuple(made)).save(folder)


@pytest.fixture
def good(tmp_path) -> Path:
    return saved(tmp_path / "runs", GOOD, "good")


@pytest.fixture
def bad(tmp_path) -> Path:
    return saved(tmp_path / "runs", BAD, "bad")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def judged(folder: Path, runs: list[Path], judge: str, verdicts: dict[str, str]) -> Path:
    sheet = folder / f"sheet-{judge}.csv"
    assert (
        invoke(
            "review", "export", "--task", "classes", *runs, "--judge", judge, "--out", sheet
        ).exit_code
        == 0
    )
    rows = rows_of(sheet)
    for row in rows:
        row["verdict"] = verdicts.get(row["translation"], "")
    with sheet.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return sheet


class TestJudge:
    def test_what_is_said_instead_in_every_format(self, good, bad):
        done = invoke("discourse", "report", good, bad, "--csv")
        assert done.exit_code == 0, done.output
        rows = list(csv.DictReader(done.stdout.splitlines()))
        assert [(r["system"], r["class"], r["instead"], r["count"]) for r in rows] == [
            ("bad", "你们", "你", "1"),
            ("bad", "while-而", "当", "1"),
            ("bad", "ellipsis", "", "1"),
        ]
        data = json.loads(invoke("discourse", "report", bad, "--json").stdout)
        assert {"当": 1} in [row["instead"] for row in data["confusions"]]
        shown = invoke("discourse", "report", bad, "--markdown").stdout
        assert "| while → 而 | 当 1 | 1 | 0 | 1 | 0 |" in shown
        assert "| ellipsis, verb said | 0.0 [0.0, 79.3] ?0.0 |" in shown

    def test_csv_stands_alone(self, good):
        for options, message in (
            (["--json"], "--csv cannot be combined with --items, --json or --markdown; choose one"),
            (["--by", "readers"], "--csv requires --by judge"),
        ):
            refused(invoke("discourse", "report", good, "--csv", *options), message)

    def test_the_table_and_the_evidence(self, good, bad):
        done = invoke("discourse", "report", good, bad, "--json", "--items")
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        right = {(r["system"], r["class"]): r["right"]["value"] for r in data["accuracy"]}
        assert right["good", "pronoun"] == right["good", "ellipsis"] == 1
        assert (right["bad", "pronoun"], right["bad", "while"]) == (0.5, 0)
        outcomes = [i["outcome"] for i in data["items"] if i["system"] == "bad"]
        assert outcomes == ["wrong", "right", "wrong", "wrong"]
        assert data["items"][4]["evidence"] == "你 at 1: 你们 is asked for"
        shown = invoke("discourse", "report", good, bad, "--items", "--paper")
        assert "当…的时候 at 1: time, not contrast" in shown.stdout
        assert "thumt (paper)" in shown.stdout

    def test_items_are_as_wide_as_the_terminal(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COLUMNS", "90")
        run = Run.load(saved(tmp_path / "runs", GOOD, "good"))
        long = "他" + "很" * 60 + "高兴，而她睡觉。"
        made = [
            replace(t, source=t.source + " Really [not]," * 12, translation=long)
            for t in run.translations
        ]
        place = replace(run, translations=tuple(made)).save(tmp_path / "long")
        shown = invoke("discourse", "report", place, "--items").stdout
        start = shown.index("good, d0 (pronoun, 你们): ")
        lines = shown[start:].splitlines()
        assert 80 < max(map(cell_len, lines)) <= 90
        assert all(line.startswith("  ") for line in lines if not line.startswith("good, d"))
        assert "".join(line.strip() for line in lines).count(long) == 4
        assert shown.count("Really [not],") >= 4 * 10  # no markup; a few stand on two lines

    def test_markdown(self, good):
        shown = invoke("discourse", "report", good, "--markdown").stdout
        assert "| pronoun | 100.0 [34.2, 100.0] ?0.0 |" in shown


class TestCompare:
    """Two systems on the same sentences."""

    def test_what_is_right_and_bleu_are_compared(self, good, bad):
        done = invoke("discourse", "compare", good, bad, "--json")
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        pairs = {pair["part"]: pair for pair in data["pairs"]}
        assert list(pairs) == ["all", "pronoun", "connective", "ellipsis"]
        whole = pairs["all"]
        assert (whole["a"], whole["b"], whole["n"]) == ("good", "bad", 4)
        assert (whole["only_a"], whole["only_b"], whole["difference"]["value"]) == (3, 0, 0.75)
        assert whole["p"] == whole["adjusted"] == 0.25  # 2 / 2³
        assert (pairs["pronoun"]["only_a"], pairs["pronoun"]["n"]) == (1, 2)
        table = json.loads(invoke("discourse", "report", good, bad, "--json").stdout)
        bleu = {(row["system"], row["set"]): row["value"] for row in table["bleu"]}
        assert pairs["pronoun"]["bleu"]["a"] == pytest.approx(bleu["good", "pronoun"])
        assert pairs["pronoun"]["bleu"]["b"] == pytest.approx(bleu["bad", "pronoun"])

    def test_pairs_are_corrected_for_their_number(self, tmp_path, good, bad):
        third = saved(tmp_path / "runs", GOOD, "third")
        pairs = json.loads(invoke("discourse", "compare", good, bad, third, "--json").stdout)[
            "pairs"
        ]
        found = {(p["a"], p["b"]): (p["p"], p["adjusted"]) for p in pairs if p["part"] == "all"}
        assert found == {
            ("good", "bad"): (0.25, 0.75),
            ("good", "third"): (1, 1),
            ("bad", "third"): (0.25, 0.75),
        }

    def test_people_decide(self, tmp_path, good, bad):
        runs = [good, bad]
        verdicts = {GOOD[0]: "wrong", BAD[0]: "right", GOOD[2]: "right"}
        sheet = judged(tmp_path, runs, "anna", verdicts)
        assert invoke("review", "import", "--task", "classes", *runs, sheet).exit_code == 0
        done = invoke("discourse", "compare", *runs, "--by", "readers", "--json")
        pairs = {pair["part"]: pair for pair in json.loads(done.stdout)["pairs"]}
        # Only one sentence is judged of both; of the connective only one side is.
        assert [pairs["all"][key] for key in ("n", "only_a", "only_b")] == [1, 0, 1]
        assert pairs["all"]["difference"]["value"] == -1
        assert pairs["connective"]["n"] == 0
        assert pairs["connective"]["difference"]["value"] is None
        assert pairs["connective"]["p"] is pairs["connective"]["adjusted"] is None
        assert "readers" in invoke("discourse", "compare", *runs, "--by", "readers").stdout

    def test_what_cannot_be_tested_is_no_test(self, tmp_path, good, bad):
        third = saved(tmp_path / "runs", ["他走了。", "他走了。", "他工作。", "好。"], "third")
        runs = [good, bad, third]
        verdicts = dict.fromkeys(GOOD, "right") | {
            BAD[0]: "wrong",
            BAD[2]: "wrong",
            BAD[3]: "wrong",
        }
        assert (
            invoke(
                "review",
                "import",
                "--task",
                "classes",
                *runs,
                judged(tmp_path, runs, "anna", verdicts),
            ).exit_code
            == 0
        )
        done = invoke("discourse", "compare", *runs, "--by", "readers", "--json")
        pairs = [pair for pair in json.loads(done.stdout)["pairs"] if pair["part"] == "all"]
        found = {(pair["a"], pair["b"]): (pair["n"], pair["p"], pair["adjusted"]) for pair in pairs}
        assert found == {
            ("good", "bad"): (4, 0.25, 0.25),
            ("good", "third"): (0, None, None),
            ("bad", "third"): (0, None, None),
        }

    def test_suites_may_use_the_same_names_of_items(self, tmp_path, good):
        one = Run.load(good)
        names = ("my.v1", "my.v2")
        places = []
        for name, shift in zip(names, ("", " again"), strict=True):
            made = tuple(replace(t, source=t.source + shift) for t in one.translations)
            suite = replace(one.info.suite, name=name)
            run = replace(one, translations=made, info=replace(one.info, suite=suite))
            places.append(run.save(tmp_path / name))
        done = invoke("discourse", "report", *places, "--json", "--items")
        assert len(json.loads(done.stdout)["items"]) == 8

    def test_a_page_and_80_columns(self, good, bad):
        shown = invoke("discourse", "compare", good, bad, "--markdown").stdout
        assert "| all | good | bad | 4 | 3 | 0 | +75.0 [" in shown
        assert "tok:zh" in shown
        screen = invoke("discourse", "compare", good, bad).stdout
        assert max(map(len, screen.splitlines())) <= 80

    def test_what_is_refused(self, tmp_path, good):
        refused(invoke("discourse", "compare", good), "one system (good), expected two")
        both = invoke("discourse", "compare", good, good, "--json", "--markdown")
        refused(both, "cannot be combined; choose one")
        other = saved(tmp_path / "runs", GOOD, "other")
        done = invoke("discourse", "compare", good, other, "--by", "readers")
        refused(done, "no translation is decided")


class TestContexts:
    """Runs of one model that differ in their context."""

    CONTEXTS = ("given", "none", "shuffled")

    def systems(self, *runs: Path) -> list[str]:
        done = invoke("discourse", "report", *runs, "--json")
        assert done.exit_code == 0, done.output
        return list(dict.fromkeys(row["system"] for row in json.loads(done.stdout)["accuracy"]))

    def test_are_named_in_words(self, tmp_path, bad):
        texts = dict(zip(self.CONTEXTS, (GOOD, BAD, BAD), strict=True))
        runs = [saved(tmp_path / "runs", texts[c], "m", context=c) for c in self.CONTEXTS]
        assert self.systems(bad, *runs) == ["bad", "m", "m, no context", "m, shuffled context"]
        done = invoke("discourse", "report", *runs, "--json")
        data = json.loads(done.stdout)
        right = {(r["system"], r["class"]): r["right"]["value"] for r in data["accuracy"]}
        assert (right["m", "while"], right["m, no context", "while"]) == (1, 0)
        bleu = {(r["system"], r["set"]): r["value"] for r in data["bleu"]}
        assert bleu["m", "ellipsis"] > bleu["m, shuffled context", "ellipsis"]
        shown = invoke("discourse", "report", *runs, "--markdown").stdout
        assert "|  | m | m, no context | m, shuffled context |" in shown
        assert "#" not in shown.replace("###", "")

    def test_without_the_context_given(self, tmp_path):
        runs = [saved(tmp_path / "runs", GOOD, "m", context=c) for c in self.CONTEXTS[1:]]
        assert self.systems(*runs) == ["m, no context", "m, shuffled context"]

    def test_one_context_needs_no_words(self, tmp_path, good):
        run = saved(tmp_path / "runs", GOOD, "m", context="none")
        assert self.systems(good, run) == ["good", "m"]

    def test_other_weights_are_told_too(self, tmp_path):
        runs = [
            saved(tmp_path / "runs", GOOD, "m", context=context, fingerprint=sign * 64)
            for context, sign in (("given", "a"), ("none", "b"))
        ]
        assert self.systems(*runs) == ["m (@aaaaaaaa)", "m (@bbbbbbbb), no context"]

    def test_a_fault_names_the_folder_of_the_run(self, tmp_path, good):
        run = saved(tmp_path / "runs", GOOD, "good", cls="我们", context="none")
        refused(invoke("discourse", "report", good, run), f"run {run.name}, item 'd0': ")


class TestPeople:
    def test_from_sheets_to_tables(self, tmp_path, good, bad):
        runs = [good, bad]
        ann = judged(tmp_path, runs, "ann", dict.fromkeys(GOOD, "r") | {BAD[0]: "w", BAD[2]: "W",
                                                                       BAD[3]: "ok"})  # fmt: skip
        bo = judged(tmp_path, runs, "bo", dict.fromkeys(GOOD, "right") | {BAD[0]: "c", BAD[2]: "w"})
        assert len(rows_of(ann)) == 7  # one translation is the same in both
        done = invoke("review", "import", "--task", "classes", *runs, ann, bo)
        assert done.exit_code == 0, done.output
        assert "13 judgement(s) added" in done.stderr
        assert (good.parent / "discourse-judgements.jsonl").exists()

        # A pattern of the shell, runs/discourse-*, finds the journal too.
        beside = [*runs, good.parent / "discourse-judgements.jsonl"]
        done = invoke("discourse", "report", *beside, "--by", "readers", "--json")
        assert done.exit_code == 0, done.output
        refused(invoke("discourse", "report", beside[-1]), "is not a run directory")
        assert invoke("review", "status", "--task", "classes", *beside).exit_code == 0
        data = json.loads(invoke("discourse", "report", *runs, "--by", "readers", "--json").stdout)
        assert json.loads(done.stdout) == data
        right = {(r["system"], r["class"]): r["right"] for r in data["accuracy"]}
        assert right["bad", "you (pl.)"]["n"] == 0  # ann and bo differ
        assert right["bad", "she (pl.)"]["value"] == 1
        assert right["bad", "ellipsis"]["value"] == 1
        assert {row["set"] for row in data["bleu"]} == {"pronoun", "connective", "ellipsis"}
        text = invoke(
            "discourse", "report", *runs, "--by", "readers", "--paper", "--markdown"
        ).stdout
        assert "### BLEU [95 %]" in text
        assert "not decided yet, and left out: 1 of 8" in text
        assert "- BLEU is of fewer items than the paper's: pronoun 2 of 400, connective 1" in text
        assert "- accuracy is of fewer items than the paper's: you (pl.) 0 to 1 of 80," in text

        same = invoke(
            "discourse", "report", *runs, "--by", "readers", "--same-items", "--json"
        ).stdout
        right = {(r["system"], r["class"]): r["right"]["n"] for r in json.loads(same)["accuracy"]}
        assert {n for (_, name), n in right.items() if name == "you (pl.)"} == {0}
        assert {n for (_, name), n in right.items() if name == "she (pl.)"} == {1}
        assert {n for (_, name), n in right.items() if name == "pronoun"} == {1}
        assert "not decided for every system, and left out: 2 of 8" in same
        assert "BLEU is of all items" in same

        status = json.loads(invoke("review", "status", "--task", "classes", *runs, "--json").stdout)
        assert status["decisions"] == {"right": 5, "wrong": 1, "cannot tell": 0, "open": 1}
        whole = status["class_judge"][0]
        assert (whole["part"], whole["items"], whole["same"]) == ("all", 6, pytest.approx(5 / 6))
        shown = invoke("review", "status", "--task", "classes", *runs).stdout
        assert "ann: 7 of 7 judged" in shown
        assert re.search(r"all +6 +0\.833 +0\.\d+ \[", shown)
        assert "ann wrong; bo cannot tell" in shown
        asked = tmp_path / "cy.csv"
        invoke(
            "review",
            "export",
            "--task",
            "classes",
            *runs,
            "--judge",
            "cy",
            "--out",
            asked,
            "--disputed",
        )
        assert [row["translation"] for row in rows_of(asked)] == [BAD[0]]

    def test_a_sheet_shows_the_context_and_not_the_system(self, tmp_path, good, bad):
        rows = rows_of(judged(tmp_path, [good, bad], "ann", {}))
        assert list(rows[0]) == ["item", "context", "source", "reference", "translation", "asked",
                                 "verdict", "edit", "comment", "judge", "digest"]  # fmt: skip
        row = next(row for row in rows if row["translation"] == GOOD[3])
        assert row["context"] == "I hate rain."
        assert "verb that English leaves out" in row["asked"]
        assert not any("good" in cell or "bad" in cell for row in rows for cell in row.values())


class TestRefused:
    def test_runs_without_a_phenomenon(self, tmp_path):
        bare = small_run("+-").save(tmp_path / "runs")
        refused(invoke("discourse", "report", bare), "has 0 translation(s), none with the tag set=")

    def test_an_unknown_class(self, tmp_path):
        run = saved(tmp_path / "runs", GOOD, "odd", cls="我们")
        refused(invoke("discourse", "report", run), "item 'd0': pronoun has no class '我们'")

    def test_a_table_of_nothing(self, good):
        done = invoke("discourse", "report", good, "--by", "readers")
        refused(done, "no translation is decided", "has 0 judgement(s)")
        refused(
            invoke("discourse", "report", good, "--same-items"),
            "--same-items requires --by readers",
        )
        refused(invoke("discourse", "report", good, "--json", "--markdown"), "cannot be combined")
        items = invoke("discourse", "report", good, "--by", "readers", "--items")
        refused(items, "--items requires --by judge")

    def test_a_table_of_no_sentence_that_all_have(self, tmp_path, good, bad):
        sheet = judged(tmp_path, [good, bad], "ann", {GOOD[0]: "r", BAD[2]: "w"})
        assert invoke("review", "import", "--task", "classes", good, bad, sheet).exit_code == 0
        done = invoke("discourse", "report", good, bad, "--by", "readers", "--same-items")
        refused(done, "no sentence is decided for all of 2 systems")

    def test_an_unknown_verdict(self, tmp_path, good):
        sheet = judged(tmp_path, [good], "ann", {GOOD[0]: "maybe"})
        done = invoke("review", "import", "--task", "classes", good, sheet)
        refused(done, "has the verdict 'maybe', expected right (r, ok), wrong (w), cannot tell")

    def test_a_journal_of_other_verdicts(self, tmp_path, good):
        sheet = judged(tmp_path, [good], "ann", {GOOD[0]: "r"})
        assert invoke("review", "import", "--task", "classes", good, sheet).exit_code == 0
        journal = good.parent / "discourse-judgements.jsonl"
        journal.write_text(journal.read_text("utf-8").replace('"right"', '"accept"'), "utf-8")
        done = invoke("review", "status", "--task", "classes", good)
        refused(
            done,
            f"{journal.resolve()}: judge 'ann' gives item",
            "the verdict 'accept', expected right",
        )

    @pytest.mark.parametrize("name", ["a\nb", "a\tb", "a\x1b[31mb", "a\udcffb"])
    def test_judges_with_control_characters(self, tmp_path, good, name):
        sheet = judged(tmp_path, [good], "ann", {GOOD[0]: "r"})
        out = tmp_path / "new.csv"
        adjudicator = ("--rule", "adjudicator", "--adjudicator", name)
        for words, what in (
            (("review", "export", good, "--judge", name, "--out", out), "--judge"),
            (("review", "import", good, sheet, "--judge", name), "--judge"),
            (("discourse", "report", good, "--by", "readers", *adjudicator), "--adjudicator"),
        ):
            done = invoke(*words)
            refused(done, f"{what} is {name!r}, expected a name without control characters")
        assert not out.exists()

    def test_paths_that_the_system_refuses(self, tmp_path, good):
        long = tmp_path / ("x" * 300)
        told = "cannot be used: File name too long"
        for words, path in (
            (("report", long), long / "run.json"),
            (("compare", good, long), long / "run.json"),
            (("context", long), long / "run.json"),
        ):
            refused(invoke("discourse", *words), f"boxpen: {path} {told}")

    def test_a_damaged_run_is_told_with_its_file(self, good):
        (good / "translations.parquet").write_bytes(b"PAR1")
        refused(invoke("discourse", "report", good), f"{good} is not a whole", "(translations.parq")
