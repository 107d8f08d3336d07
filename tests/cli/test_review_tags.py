"""boxpen review --tag: from sheets to a suite with a tag, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from test_commands import invoke, refused

from boxpen import Card, Choice, Entail, Suite, Translate, load_suite, read_suite
from boxpen.analysis.tagging import TagTask, tag_values
from boxpen.catalog import write_suite
from boxpen.review import Question
from small_runs import small_suite


@pytest.fixture
def suite(tmp_path) -> Path:
    path = tmp_path / "mine.jsonl"
    write_suite(small_suite(6, "mine"), path)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def filled(suite: Path, judge: str, steps: str, *options: object) -> Path:
    """The sheet of a judge who gives item i steps[i]; a dot is no answer."""
    sheet = suite.with_name(f"{judge}.csv")
    done = invoke("review", "export", suite, "--tag", "steps", "--judge", judge,
                  "--out", sheet, *options)  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = rows_of(sheet)
    for row in rows:
        row["verdict"] = steps[int(row["item"][1:])].replace(".", "")
    write_rows(sheet, rows)
    return sheet


def write_rows(sheet: Path, rows: list[dict[str, str]]) -> None:
    with sheet.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


VALUES = ("--values", 0, 1, 2, 3)


def tag(*args: object):
    command, suite, *rest = args
    return invoke("review", command, suite, *rest, "--tag", "steps")


def test_from_sheets_to_a_suite(tmp_path, suite):
    ann, bo = filled(suite, "ann", "012311", *VALUES), filled(suite, "bo", "01231.", *VALUES)
    done = invoke("review", "import", suite, ann, bo, "--tag", "steps", *VALUES)
    assert done.exit_code == 0, done.output
    journal = suite.with_name("mine-steps-tags.jsonl")
    assert f"11 judgement(s) added to {journal}" in done.stderr
    cy = filled(suite, "cy", "112310", *VALUES)
    assert tag("import", suite, cy).exit_code == 0  # any value at all, where none are named

    data = json.loads(tag("status", suite, "--json").stdout)
    assert data["judges"] == {"ann": 6, "bo": 5, "cy": 6}
    assert data["decisions"] == {"0": 1, "1": 2, "2": 1, "3": 1, "open": 1}
    assert list(data["open"]) == ["i5"]
    assert data["agreement"][0]["items"] == 6
    assert [one["item"] for one in data["disagreements"]] == ["i0", "i5"]
    shown = tag("status", suite).stdout
    assert "ann: 6 of 6 judged" in shown
    assert "0: 1, 1: 2, 2: 1, 3: 1, open: 1" in shown

    out = tmp_path / "tagged.jsonl"
    written = tag("apply", suite, "--out", out)
    assert written.exit_code == 0, written.output
    assert "5 of 6 items have the tag 'steps', 1 are open" in written.stderr
    found = read_suite(out)
    assert [item.tags.get("steps") for item in found] == ["0", "1", "2", "3", "1", None]
    assert [item.tags["set"] for item in found] == list("ABABAB")
    assert found.name == "mine"
    assert found.card.notes == "Tag steps: 5 of 6 items, 3 judge(s), rule majority."

    out.unlink()
    assert tag("apply", suite, "--out", out, "--rule", "unanimous").exit_code == 0
    assert [i.tags.get("steps") for i in read_suite(out)] == [None, "1", "2", "3", "1", None]
    rule = ("--rule", "adjudicator", "--adjudicator", "cy", "--overwrite")
    assert tag("apply", suite, "--out", out, *rule).exit_code == 0
    assert [i.tags["steps"] for i in read_suite(out)] == list("112310")
    assert tag("apply", suite, "--out", out, "--min-judges", 3, "--overwrite").exit_code == 0
    assert "steps" not in read_suite(out).items[5].tags


def test_a_sheet_shows_the_right_answer_and_not_the_tag(tmp_path):
    path = tmp_path / "s.jsonl"
    suite = load_suite("starter.sense")
    write_suite(suite.take(suite.items[:4]), path)
    sheet = tmp_path / "ann.csv"
    assert invoke("review", "export", path, "--tag", "steps", "--judge", "ann",
                  "--out", sheet, "--order", "given").exit_code == 0  # fmt: skip
    rows = rows_of(sheet)
    assert list(rows[0]) == ["item", "tag", "right", "wrong", "context", "values", "verdict",
                             "edit", "comment", "judge", "digest"]  # fmt: skip
    first = load_suite("starter.sense").items[0]
    assert rows[0]["right"] == first.candidates[first.gold]
    assert {row["values"] for row in rows} == {"1, 3"}
    assert not any(row["verdict"] for row in rows)
    # The values of the suite are the default, so another one is refused.
    rows[0]["verdict"] = "4"
    write_rows(sheet, rows)
    refused(tag("import", path, sheet), "line 2 has the verdict '4', expected 1, 3")
    assert tag("import", path, sheet, "--values", 1, 2, 3, 4).exit_code == 0
    data = json.loads(tag("status", path, "--json").stdout)
    assert data["same_as_suite"] == [{"same": 0, "of": 1, "kappa": 0.0}]
    refused(tag("apply", path, "--out", tmp_path / "o.jsonl"), "has the tag 'steps' already")
    assert not (tmp_path / "o.jsonl").exists()
    assert tag("apply", path, "--out", tmp_path / "o.jsonl", "--overwrite").exit_code == 0
    made = read_suite(tmp_path / "o.jsonl")
    # What judges have not settled does not keep the old value beside new ones.
    assert [item.tags.get("steps") for item in made] == ["4", None, None, None]


def test_every_kind_of_item_has_a_question():
    items = (
        Choice(id="a", candidates=("no", "yes", "perhaps"), gold=1, context="Is it?", tags={}),
        Entail(id="b", premise="It rains.", hypothesis="It is wet.", label="entailment"),
        Translate(id="c", source="是", reference="yes", contrast=("no",), tags={"set": "x"}),
    )
    suite = Suite("all", items, Card(language="en"))
    asked = TagTask(suite, "steps").questions()
    texts = [
        {"context": "Is it?", "right": "yes", "wrong": "no / perhaps"},
        {"premise": "It rains.", "hypothesis": "It is wet.", "label": "entailment"},
        {"source": "是", "right": "yes", "wrong": "no"},
    ]
    assert [dict(q.shown) for q in asked] == [{"tag": "steps", **shown} for shown in texts]
    # The digest is that of the texts alone, as journals have it from before the tag was shown.
    assert [q.digest for q in asked] == [
        Question(item.id, shown).digest for item, shown in zip(items, texts, strict=True)
    ]
    assert [q.part for q in asked] == ["", "", "x"]
    restricted = tag_values(suite, "kind", ["Physical", "social"])
    assert [restricted.read(text) for text in ("physical", " SOCIAL ", "odd")] == [
        "Physical", "social", None,
    ]  # fmt: skip


def test_what_is_refused(tmp_path, suite):
    sheet = filled(suite, "ann", "0123xx", *VALUES)
    refused(tag("import", suite, sheet, *VALUES), "has the verdict 'x', expected 0, 1, 2, 3")
    assert not suite.with_name("mine-steps-tags.jsonl").exists()
    out = tmp_path / "out.jsonl"
    refused(tag("apply", suite, "--out", out), "no item of suite 'mine' is decided")
    assert not out.exists()
    good = filled(suite, "bo", "012301", *VALUES)
    assert tag("import", suite, good, *VALUES).exit_code == 0
    journal = suite.with_name("mine-steps-tags.jsonl")
    before = journal.read_bytes()
    refused(tag("apply", suite, "--out", journal), "which holds the judgements")
    assert journal.read_bytes() == before
    refused(tag("apply", suite, "--out", out, "--rule", "adjudicator", "--adjudicator", "zoe"),
            "there is no judge 'zoe'")  # fmt: skip
    refused(tag("status", tmp_path / "none.jsonl"), "none.jsonl")
    export = ("review", "export", suite, "--judge", "cy", "--out", tmp_path / "c.csv")
    for name, part in (("", "without spaces"), ("a=b", "without '='"), ("a x b", "without ' x '")):
        refused(invoke(*export, "--tag", name), part)
    refused(invoke(*export, "--tag", "s", "--values", "a", "A"), "does not tell apart")
    refused(invoke(*export, "--tag", "s", "--values", "?"), "that is not '?'")
    assert not (tmp_path / "c.csv").exists()


def test_a_suite_that_changed_is_not_tagged_by_what_was_said_before(tmp_path, suite):
    assert tag("import", suite, filled(suite, "ann", "012301", *VALUES)).exit_code == 0
    text = suite.read_text("utf-8").replace('"right 0"', '"otherwise 0"')
    suite.write_text(text, "utf-8")
    out = tmp_path / "out.jsonl"
    assert tag("apply", suite, "--out", out).exit_code == 0
    assert [i.tags.get("steps") for i in read_suite(out)] == [None, "1", "2", "3", "0", "1"]
    assert json.loads(tag("status", suite, "--json").stdout)["outdated"] == 1


def test_a_sheet_of_another_tag_is_refused(suite):
    sheet = filled(suite, "ann", "012301", *VALUES)
    assert {row["tag"] for row in rows_of(sheet)} == {"steps"}
    done = invoke("review", "import", suite, sheet, "--tag", "other")
    refused(done, f"{sheet}, line 2: the tag of item", "is 'steps', expected 'other'")
    assert not suite.with_name("mine-other-tags.jsonl").exists()
    rows = rows_of(sheet)
    write_rows(sheet, [*rows[:-1], {**rows[-1], "tag": "other"}])  # put together from two
    refused(tag("import", suite, sheet), f"{sheet}, line 7: the tag of item")
    assert not suite.with_name("mine-steps-tags.jsonl").exists()


@pytest.mark.parametrize("gone", [("tag",), ("tag", "digest")])
def test_a_sheet_that_does_not_say_its_tag_is_refused(suite, gone):
    sheet = filled(suite, "ann", "012301", *VALUES)
    rows = [{k: v for k, v in row.items() if k not in gone} for row in rows_of(sheet)]
    write_rows(sheet, rows)
    for name in ("steps", "other"):
        done = invoke("review", "import", suite, sheet, "--tag", name)
        refused(done, f"{sheet}, line 1 has the columns item, right,", "expected 'tag' once among")
        assert not suite.with_name(f"mine-{name}-tags.jsonl").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("status",), ("status", "--json"), ("apply", "--out", "out.jsonl"),
        ("export", "--judge", "bo", "--out", "bo.csv"), ("import", "other.csv"),
    ],
)  # fmt: skip
def test_a_journal_of_another_tag_is_refused(tmp_path, suite, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert tag("import", suite, filled(suite, "ann", "012301", *VALUES)).exit_code == 0
    journal = suite.with_name("mine-steps-tags.jsonl")
    before = journal.read_bytes()
    assert [json.loads(line)["tag"] for line in before.splitlines()] == ["steps"] * 6
    other = ("review", command[0], suite, *command[1:], "--tag", "other")
    rows = rows_of(suite.with_name("ann.csv"))
    write_rows(tmp_path / "other.csv", [{**row, "tag": "other"} for row in rows])
    there = sorted(tmp_path.iterdir())
    told = f"{journal}, line 1 is about the tag 'steps', expected 'other'; use one journal per tag"
    refused(invoke(*other, "--journal", journal), told)
    assert (journal.read_bytes(), sorted(tmp_path.iterdir())) == (before, there)


def test_a_journal_from_before_tags_were_kept_is_read_where_its_name_tells(tmp_path, suite):
    ann = filled(suite, "ann", "012301", *VALUES)
    assert tag("import", suite, ann).exit_code == 0
    journal = suite.with_name("mine-steps-tags.jsonl")
    old = journal.read_text("utf-8").replace(', "tag": "steps"', "")
    assert '"tag"' not in old
    journal.write_text(old, "utf-8")
    assert json.loads(tag("status", suite, "--json").stdout)["judges"] == {"ann": 6}
    assert "0 judgement(s) added" in tag("import", suite, ann).stderr
    assert tag("import", suite, filled(suite, "bo", "012301", *VALUES)).exit_code == 0
    assert journal.read_text("utf-8").count('"tag": "steps"') == 6
    assert json.loads(tag("status", suite, "--json").stdout)["judges"] == {"ann": 6, "bo": 6}
    named = tmp_path / "any.jsonl"
    named.write_text(old, "utf-8")
    for name in ("steps", "other"):
        told = f"{named}, line 1 names no tag, expected '{name}'; if that is"
        options = ("--tag", name, "--journal", named)
        refused(invoke("review", "apply", suite, *options, "--out", tmp_path / "out.jsonl"), told)
        refused(invoke("review", "status", suite, *options), told, f'"tag": "{name}"')
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "judged", "same", "kappa"),
    [("facts", 320, (107, 286), 0.039), ("chains", 160, (69, 136), 0.238)],
)
def test_the_journals_of_the_results_are_read_as_ever(name, judged, same, kappa):
    journal = Path(__file__).parents[2] / f"docs/results/data/steps-{name}.jsonl"
    options = ("starter.sense", "--journal", journal, "--min-judges", 2)
    done = tag("status", *options, "--json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["outdated"] == 0
    assert set(data["judges"].values()) == {judged}
    (found,) = data["same_as_suite"]
    assert found == {"same": same[0], "of": same[1], "kappa": pytest.approx(kappa, abs=0.001)}
    shown = tag("status", *options).stdout
    assert f"Same as suite:\nsame   of  kappa\n{same[0]:>4}  {same[1]}  {kappa:.3f}" in shown
    refused(invoke("review", "status", *options, "--tag", "difficulty"), "'difficulty'")


def test_kappa_has_a_number_only_where_values_differ(tmp_path):
    items = tuple(
        Choice(id=f"i{n}", candidates=(f"right {n}", f"wrong {n}"), gold=0, tags={"steps": "1"})
        for n in range(4)
    )
    path = tmp_path / "one.jsonl"
    write_suite(Suite("one", items, Card(language="en")), path)
    assert tag("import", path, filled(path, "ann", "1111")).exit_code == 0
    assert json.loads(tag("status", path, "--json").stdout)["same_as_suite"][0]["kappa"] is None
    assert re.search(r"\n +4 +4 +–\n", tag("status", path).stdout)


def test_a_suite_is_not_written_over_itself(tmp_path, suite, monkeypatch):
    assert tag("import", suite, filled(suite, "ann", "012301", *VALUES)).exit_code == 0
    before = suite.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(suite)
    (tmp_path / "hard.jsonl").hardlink_to(suite)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, out in (
        (suite, suite), ("mine.jsonl", suite), (suite, "./folder/../mine.jsonl"),
        (suite, "link.jsonl"), ("link.jsonl", suite), (suite, "hard.jsonl"),
    ):  # fmt: skip
        journal = ("--journal", "mine-steps-tags.jsonl")
        done = tag("apply", name, "--out", out, *journal)
        refused(
            done,
            f"--out is {Path(out)}, which holds the suite that is tagged; expected another file",
        )
        assert suite.read_bytes() == before
    assert (tmp_path / "link.jsonl").is_symlink()


def test_a_tag_without_judgements_is_told(tmp_path, suite):
    assert tag("import", suite, filled(suite, "ann", "012301", *VALUES)).exit_code == 0
    assert "no judgements" not in tag("status", suite).stderr
    for form in ((), ("--json",)):
        done = invoke("review", "status", suite, "--tag", "step", *form)
        assert done.exit_code == 0, done.output
        journal = suite.with_name("mine-step-tags.jsonl")
        told = f"{journal} has no judgements of these items\n"
        assert done.stderr == told
