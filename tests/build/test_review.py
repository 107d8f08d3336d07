"""The human filter: triples and wrong tails through sheets, rules and edits, and its commands."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner

from boxpen.build.kg.review import TripleTask, WordingTask, WrongAnswerTask
from boxpen.build.kg.review_edits import edited, worded
from boxpen.build.kg.triples import read_table, schema, triple_id, write_table
from boxpen.cli.app import app
from boxpen.cli.review import review
from boxpen.errors import BuildError
from boxpen.review import Judgement, Review, Rule

TRIPLES = [
    ("usedfor", "pencil", "shade sketch", "a pencil", "shade a sketch", "vp", -2.0),
    ("usedfor", "spoon", "stir soup", "a spoon", "stir soup", "vp", -1.0),
    ("isa", "heron", "bird", "a heron", "a bird", "np", -0.5),
    ("isa", "brick", "fish", "a brick", "a fish", "np", float("nan")),
]
PENCIL, SPOON, HERON, BRICK = (triple_id(*t[:3]) for t in TRIPLES)
SAID = {"usedfor": "{} can be used to {}.", "isa": "{} is {}."}


def triples(*, worded: bool = True, wrong: dict[str, list[str]] | None = None) -> pl.DataFrame:
    rows = []
    for line, (relation, head, tail, head_text, tail_text, form, score) in enumerate(TRIPLES, 1):
        sentence = SAID[relation].format(head_text.capitalize(), tail_text)
        row = {
            "id": triple_id(relation, head, tail), "head": head, "relation": relation, "tail": tail,
            "weight": 2.0, "origin": "toy", "surface": "as it was", "language": "en", "line": line,
        }  # fmt: skip
        if worded:
            row |= {
                "head_text": head_text, "tail_text": tail_text, "form": form,
                "sentence": sentence, "plausibility": score,
            }  # fmt: skip
        if wrong is not None:
            texts = wrong.get(row["id"], [])
            row |= {"wrong": [f"of {text}" for text in texts], "wrong_text": texts}
        rows.append(row)
    kinds = {
        name: pl.Float64 if name == "plausibility" else pl.List(pl.String) if "wrong" in name
        else pl.String
        for name in rows[0] if name not in schema()
    }  # fmt: skip
    return pl.DataFrame(rows, schema={**schema(), **kinds})


class Reviewed:
    """What verdicts make of a table."""

    def __init__(self, task: TripleTask, review: Review) -> None:
        self.accepted, self.dropped, self.open = task.divide(review)
        self.decisions, self.outdated = review.decisions, review.outdated


def review_triples(table, given, rule=None, least=1, **options) -> Reviewed:
    task = TripleTask(table, **options)
    return Reviewed(task, task.decide(given, rule, least))


def votes(*given: tuple[str, str, str]) -> list[Judgement]:
    """Judgements of (item, judge, verdict); 'edit:text' for an edit."""
    return [Judgement(i, j, v.partition(":")[0], v.partition(":")[2]) for i, j, v in given]


def refused(act, *parts: str) -> None:
    with pytest.raises(BuildError) as caught:
        act()
    for part in parts:
        assert part in str(caught.value), (part, str(caught.value))


def nothing(_row) -> None:
    """Restates no triple."""


class TestQuestions:
    def test_triples_are_shown_as_they_are_worded(self):
        first = TripleTask(triples()).questions()[0]
        assert first.item == PENCIL
        assert first.shown == {
            "relation": "usedfor", "head": "a pencil", "tail": "shade a sketch",
            "sentence": "A pencil can be used to shade a sketch.",
        }  # fmt: skip
        assert (first.part, first.score, first.hints) == (
            "usedfor", -2.0, {"plausibility": "-2.00"},
        )  # fmt: skip

    def test_a_plausibility_that_is_no_number_is_none(self):
        last = TripleTask(triples()).questions()[-1]
        assert (last.score, last.hints) == (None, {"plausibility": ""})

    def test_triples_that_nobody_has_worded_can_be_judged(self):
        first = TripleTask(triples(worded=False)).questions()[0]
        assert (first.shown["tail"], first.shown["sentence"], first.hints) == (
            "shade sketch", "", {},
        )  # fmt: skip

    def test_a_question_for_every_wrong_tail(self):
        table = triples(wrong={HERON: ["a spoon", "a lamp"], BRICK: ["a lamp"]})
        questions = WrongAnswerTask(table).questions()
        assert [q.shown["wrong tail"] for q in questions] == ["a spoon", "a lamp", "a lamp"]
        assert questions[0].shown["question"] == "Is the wrong tail really wrong?"
        assert {q.item.split("/")[0] for q in questions} == {HERON, BRICK}
        assert len({q.item for q in questions}) == 3

    def test_tables_that_cannot_be_asked_about(self):
        refused(lambda: TripleTask(pl.concat([triples()] * 2)).questions(), f"'{PENCIL}' twice")
        refused(lambda: WrongAnswerTask(triples()).questions(), "no wrong tails", "wrong_text")
        table = triples(wrong={HERON: ["a spoon", "a spoon"]})
        refused(lambda: WrongAnswerTask(table).questions(), "twice")
        table = triples(wrong={HERON: ["a spoon"]}).with_columns(
            wrong_text=pl.lit([], pl.List(str))
        )
        refused(lambda: WrongAnswerTask(table).questions(), HERON, "1 wrong tails and 0 texts")


class TestTriples:
    def test_accepted_dropped_open(self):
        given = votes(
            (PENCIL, "anna", "accept"), (PENCIL, "bo", "accept"), (PENCIL, "cy", "reject"),
            (BRICK, "anna", "reject"), (BRICK, "bo", "reject"), (BRICK, "cy", "accept"),
            (HERON, "anna", "accept"), (HERON, "bo", "reject"),
            ("of another table", "bo", "reject"),
        )  # fmt: skip
        table = triples()
        found = review_triples(table, given)
        assert found.accepted.columns == [*table.columns, "edited_from"]
        assert found.accepted["id"].to_list() == [PENCIL]
        assert found.accepted["edited_from"].to_list() == [None]
        assert found.accepted.drop("edited_from").equals(table[:1])
        assert found.dropped.columns == [*table.columns, "step", "reason"]
        assert found.dropped.select("id", "step", "reason").rows() == [
            (BRICK, "review", "rejected by 2 of 3 judges")
        ]
        assert found.open.select("id", "reason").rows() == [
            (SPOON, "not judged"), (HERON, "judges are divided: accept 1, reject 1"),
        ]  # fmt: skip
        assert found.outdated == 0

    def test_the_order_of_judgements_and_rows_is_all_one(self):
        given = votes(
            (PENCIL, "anna", "edit:draw"), (SPOON, "bo", "accept"), (HERON, "cy", "reject")
        )
        one = review_triples(triples(), given, restate=nothing)
        other = review_triples(triples()[::-1], given[::-1], restate=nothing)
        for name in ("accepted", "dropped", "open"):
            first, second = getattr(one, name).sort("line"), getattr(other, name).sort("line")
            assert first.equals(second)

    @pytest.mark.parametrize(
        ("rule", "least", "accepted"),
        [
            (Rule("any-reject"), 1, [SPOON, HERON]),
            (Rule("unanimous"), 2, [SPOON]),
            (Rule("adjudicator", adjudicator="cy"), 1, [PENCIL, SPOON, HERON]),
            (Rule(otherwise="accept"), 1, [PENCIL, SPOON, HERON]),
        ],
    )
    def test_rules(self, rule, least, accepted):
        given = votes(
            (PENCIL, "anna", "accept"), (PENCIL, "bo", "reject"), (PENCIL, "cy", "accept"),
            (SPOON, "anna", "accept"), (SPOON, "bo", "accept"), (HERON, "anna", "accept"),
        )  # fmt: skip
        assert review_triples(triples(), given, rule, least).accepted["id"].to_list() == accepted

    def test_a_new_tail_is_a_new_triple_of_the_same_origin(self):
        given = votes((HERON, "anna", "edit:a wading bird"))
        table = triples().with_columns(fluency=pl.lit(-2.5), rank=pl.lit(3))
        found = review_triples(table, given, restate=nothing)
        (row,) = found.accepted.rows(named=True)
        new = triple_id("isa", "heron", "a wading bird")
        assert (row["id"], row["edited_from"], row["origin"], row["line"]) == (new, HERON, "toy", 3)
        assert (row["head"], row["tail"], row["tail_text"]) == (
            "heron", "a wading bird", "a wading bird",
        )  # fmt: skip
        assert row["sentence"] == "A heron is a wading bird."
        of_the_old = ("weight", "surface", "fluency", "plausibility", "rank")
        assert {row[name] for name in of_the_old} == {None}

    def test_into_a_triple_that_is_there_was_rejected_or_is_open(self):
        table = triples(worded=False)
        same = triple_id("isa", "brick", "bird")
        edit = (BRICK, "anna", "edit:head: heron\ntail: bird")
        spoon = (SPOON, "anna", "edit:head: brick\ntail: bird")  # another relation
        found = review_triples(table, votes(edit, (HERON, "anna", "accept"), spoon))
        assert found.accepted["id"].to_list() == [triple_id("usedfor", "brick", "bird"), HERON]
        assert found.dropped.select("id", "reason").rows() == [
            (BRICK, f"edited by 1 of 1 judges into '{HERON}', which is already there")
        ]
        found = review_triples(table, votes(edit, (HERON, "anna", "reject")))
        assert f"'{HERON}', which is rejected" in found.dropped["reason"][1]
        found = review_triples(table, votes(edit))
        assert found.accepted["edited_from"].to_list() == [BRICK]
        both = votes((BRICK, "anna", "edit:bird"), (HERON, "anna", "edit:head: brick"))
        found = review_triples(table, both)
        assert found.accepted["id"].to_list() == [same]
        assert found.accepted["edited_from"].to_list() == [HERON]

    def test_judgements_of_other_texts_are_left_out_and_counted(self):
        given = [Judgement(HERON, "anna", "reject", seen="d0"), *votes((SPOON, "anna", "accept"))]
        found = review_triples(triples(), given)
        assert found.outdated == 1
        assert HERON in found.open["id"].to_list()

    def test_nobody_has_judged(self):
        found = review_triples(triples(), [])
        assert (found.accepted.height, found.dropped.height, found.open.height) == (0, 0, 4)
        assert found.accepted.schema == {**triples().schema, "edited_from": pl.String}

    def test_verdicts_that_are_none(self):
        refused(
            lambda: review_triples(triples(), votes((HERON, "anna", "tense"))),
            "'anna'", HERON, "'tense'", "accept (a, y, yes), edit (e), reject",
        )  # fmt: skip
        refused(lambda: review_triples(triples(), votes((HERON, "bo", "edit:"))), "'bo'", "no edit")
        refused(lambda: review_triples(triples(), [], Rule("any-rejct")), "'rejct'", "'reject'")
        refused(lambda: review_triples(triples(), [], Rule(otherwise="edit")), "'edit'")


class TestEdits:
    ROW = triples().row(0, named=True)

    def checked(self, edit: str) -> Judgement:
        task = TripleTask(triples())
        return task.check(Judgement(PENCIL, "anna", "edit", edit), task.questions()[0])

    @pytest.mark.parametrize(
        ("edit", "kept"),
        [
            ("draw  lines", "draw lines"),
            ("Tail: draw lines", "draw lines"),
            ("head: a crayon", "head: a crayon"),
            ("head: a crayon\n\ndraw lines", "tail: draw lines\nhead: a crayon"),
            ("to do: draw", "to do: draw"),
            ("sentence: Pencils shade.", "sentence: Pencils shade."),
        ],
    )
    def test_one_spelling(self, edit, kept):
        assert self.checked(edit).edit == kept
        assert self.checked(kept).edit == kept

    @pytest.mark.parametrize(
        ("edit", "parts"),
        [
            ("shade a  sketch", ("'shade a  sketch'", "changes nothing", "'accept'")),
            ("head: a pencil", ("changes nothing",)),
            ("head:", ("empty head",)),
            ("draw\npaint", ("the tail twice",)),
        ],
    )
    def test_edits_that_are_none(self, edit, parts):
        refused(lambda: self.checked(edit), *parts)

    def test_a_right_tail_is_no_wrong_one(self):
        task = WrongAnswerTask(triples(wrong={HERON: ["a lamp"]}))
        (question,) = task.questions()
        one = Judgement(question.item, "anna", "edit", "a bird")
        refused(lambda: task.check(one, question), "is the right tail")

    @pytest.mark.parametrize(
        ("edit", "sentence"),
        [
            ("draw lines", "A pencil can be used to draw lines."),
            ("head: a crayon", "A crayon can be used to shade a sketch."),
            ("head: PersonX", "PersonX can be used to shade a sketch."),
            ("head: chalk\ntail: draw", "Chalk can be used to draw."),
            ("draw\nsentence: Use it to draw!", "Use it to draw!"),
        ],
    )
    def test_the_new_text_takes_the_place_of_the_old_one(self, edit, sentence):
        assert edited(self.ROW, edit, nothing)["sentence"] == sentence

    def test_heads_open_a_sentence_and_tails_close_it(self):
        row = {**self.ROW, "head_text": "a pen", "tail_text": "a pen"}
        row["sentence"] = "A pen is next to a pen."
        assert edited(row, "head: a box", nothing)["sentence"] == "A box is next to a pen."
        assert edited(row, "tail: a box", nothing)["sentence"] == "A pen is next to a box."

    def test_a_sentence_that_does_not_have_the_old_text_is_not_kept(self):
        row = {**self.ROW, "sentence": "Shading sketches is what pencils are for."}
        assert edited(row, "draw", nothing)["sentence"] is None

    def test_a_sentence_alone_leaves_the_triple(self):
        new = edited(self.ROW, "sentence: One shades sketches with pencils.", nothing)
        changed = {name for name in new if new[name] != self.ROW[name]}
        assert changed == {"sentence"}

    def test_what_can_be_said_anew_is(self):
        said = {"sentence": "New.", "form": "adj"}
        new = edited(self.ROW, "draw", lambda _: said)
        assert (new["sentence"], new["form"]) == ("New.", "adj")
        bare = {k: v for k, v in self.ROW.items() if k not in ("sentence", "form", "plausibility")}
        assert edited(bare, "draw", lambda _: said).keys() == bare.keys()

    def test_the_wording_is_that_of_the_builder(self):
        row = {**self.ROW, "relation": "isa", "head_text": "a heron", "tail_text": "a bird"}
        assert worded({**row, "form": "np"}) == {"sentence": "A heron is a bird.", "form": "np"}
        assert worded({**row, "head_text": "this", "form": "np"}) is None


WRONG_TAILS = {
    HERON: ["a spoon", "an animal", "a lamp"],
    SPOON: ["sing"],
    PENCIL: ["fly", "swim"],
}


class TestWrongTails:
    def reviewed(self, answers: dict[tuple[str, str], str], at_least: int = 1) -> Reviewed:
        table = triples(wrong=WRONG_TAILS).filter(pl.col("id") != BRICK)
        items = {
            (q.item.split("/")[0], q.shown["wrong tail"]): q.item
            for q in WrongAnswerTask(table).questions()
        }
        given = votes(*((items[key], "anna", verdict) for key, verdict in answers.items()))
        task = WrongAnswerTask(table)
        task.at_least = at_least
        return Reviewed(task, task.decide(given))

    def test_what_is_not_really_wrong_goes(self):
        found = self.reviewed(
            {
                (HERON, "a spoon"): "accept", (HERON, "an animal"): "reject",
                (HERON, "a lamp"): "edit:a table", (SPOON, "sing"): "reject",
                (PENCIL, "fly"): "accept",
            }
        )  # fmt: skip
        rows = {row["id"]: row for row in found.accepted.rows(named=True)}
        assert rows[HERON]["wrong_text"] == ["a spoon", "a table"]
        assert rows[HERON]["wrong"] == ["of a spoon", triple_id("isa", "heron", "a table")]
        assert rows[PENCIL]["wrong_text"] == ["fly"]
        assert found.dropped.select("id", "wrong_tail", "step", "reason").rows() == [
            (SPOON, "sing", "review", "rejected by 1 of 1 judges"),
            (SPOON, None, "review", "0 wrong tail(s) left, expected 1 or more"),
            (HERON, "an animal", "review", "rejected by 1 of 1 judges"),
        ]
        assert found.open.select("id", "wrong_tail", "reason").rows() == [
            (PENCIL, "swim", "not judged")
        ]

    def test_a_triple_waits_while_its_tails_do(self):
        found = self.reviewed({(PENCIL, "fly"): "accept"}, at_least=2)
        assert found.accepted.height == 0
        assert found.dropped.height == 0
        found = self.reviewed({(PENCIL, "fly"): "accept", (PENCIL, "swim"): "reject"}, at_least=2)
        assert found.dropped["reason"].to_list() == [
            "rejected by 1 of 1 judges", "1 wrong tail(s) left, expected 2 or more",
        ]  # fmt: skip

    def test_an_edit_that_makes_one_tail_of_two(self):
        found = self.reviewed({(PENCIL, "fly"): "accept", (PENCIL, "swim"): "edit:fly"})
        (row,) = found.accepted.rows(named=True)
        assert (row["wrong"], row["wrong_text"]) == (["of fly"], ["fly"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(triples(), tmp_path / "ranked.parquet")
    return tmp_path


def boxpen(*words: object):
    """Run a command of the review; the same ways to end as the whole program has."""
    whole = typer.Typer(cls=app.info.cls)
    whole.add_typer(review, name="review")
    return CliRunner().invoke(whole, ["review", *map(str, words)])


def fine(*words: object) -> str:
    done = boxpen(*words)
    assert done.exit_code == 0, done.output
    return done.output


def fill(path: Path, answers: dict[str, tuple[str, ...]]) -> None:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = csv.reader(stream)
    for row in rows:
        for place, cell in enumerate(answers.get(row[0], ()), header.index("verdict")):
            row[place] = cell
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def items(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [row["item"] for row in csv.DictReader(stream)]


class TestCommands:
    def judged(self, folder: Path, judge: str, answers: dict[str, tuple[str, ...]]) -> None:
        path = folder / f"sheet-{judge}.csv"
        fine("export", folder / "ranked.parquet", "--judge", judge, "--out", path, "--overwrite")
        fill(path, answers)
        fine("import", folder / "ranked.parquet", path)

    def test_from_sheets_to_what_is_accepted(self, folder):
        table = folder / "ranked.parquet"
        fine("export", table, "--judge", "anna", "--out", folder / "a.csv")
        assert items(folder / "a.csv") == [HERON, SPOON, PENCIL, BRICK]
        self.judged(folder, "anna", {HERON: ("y",), BRICK: ("N",), PENCIL: ("e", "draw lines")})
        self.judged(folder, "bo", {HERON: ("a",), BRICK: ("a",)})
        again = folder / "again.csv"
        assert "1 item(s)" in fine("export", table, "--judge", "anna", "--out", again)
        assert items(again) == [SPOON]
        fine("export", table, "--judge", "cy", "--disputed", "--out", folder / "cy.csv")
        assert items(folder / "cy.csv") == [BRICK]
        fill(folder / "cy.csv", {BRICK: ("r", "", "a brick!")})
        fine("import", table, folder / "cy.csv", "--time", "noon")
        fine("export", table, "--judge", "cy", "--disputed", "--all", "--out", folder / "all.csv")
        assert items(folder / "all.csv") == [BRICK]
        shown = json.loads(fine("status", table, "--json").partition("\n}")[0] + "\n}")
        assert shown["judges"] == {"anna": 3, "bo": 2, "cy": 1}
        assert shown["decisions"] == {"accept": 1, "edit": 1, "reject": 1, "open": 1}
        assert shown["open"] == {SPOON: "not judged"}
        assert [row["part"] for row in shown["agreement"]] == ["all", "isa", "usedfor"]
        assert shown["disagreements"][0]["item"] == BRICK
        text = fine("status", table)
        assert "anna: 3 of 4 judged" in text
        assert f"{BRICK}: anna reject; bo accept; cy reject" in text
        fine("apply", table, "--out", folder / "accepted.parquet")
        accepted = read_table(folder / "accepted.parquet", "edited_from")
        assert accepted["tail_text"].to_list() == ["draw lines", "a bird"]
        dropped = read_table(folder / "accepted-dropped.parquet", "step", "reason")
        assert dropped["reason"].to_list() == ["rejected by 2 of 3 judges"]
        assert read_table(folder / "accepted-open.parquet")["id"].to_list() == [SPOON]

    def test_everything_comes_back_filled_in(self, folder):
        self.judged(folder, "anna", {HERON: ("e", "head: an egret", "=A1")})
        fine("export", folder / "ranked.parquet", "--judge", "anna", "--all", "--out",
             folder / "all.csv")  # fmt: skip
        lines = (folder / "all.csv").read_text(encoding="utf-8-sig").splitlines()
        assert ",edit,head: an egret,'=A1,anna," in lines[1]
        assert len(lines) == 5
        before = (folder / "review.jsonl").read_bytes()
        fine("import", folder / "ranked.parquet", folder / "all.csv")
        assert (folder / "review.jsonl").read_bytes() == before

    def test_what_one_has_said_oneself_is_no_dispute_of_others(self, folder):
        self.judged(folder, "anna", {HERON: ("a",)})
        self.judged(folder, "bo", {HERON: ("r",)})
        path = folder / "bo.csv"
        fine("export", folder / "ranked.parquet", "--judge", "bo", "--disputed", "--all", "--out",
             path)  # fmt: skip
        assert not path.exists()

    def test_samples_are_the_same_for_all_and_blind_sheets_tell_nothing(self, folder):
        for judge in ("anna", "bo"):
            fine("export", folder / "ranked.parquet", "--judge", judge, "--sample", 2, "--blind",
                 "--out", folder / f"{judge}.csv")  # fmt: skip
        assert set(items(folder / "anna.csv")) == set(items(folder / "bo.csv"))
        assert len(items(folder / "bo.csv")) == 2
        assert b"plausibility" not in (folder / "bo.csv").read_bytes()

    def test_wrong_tails(self, folder):
        table = folder / "negatives.parquet"
        write_table(triples(wrong={HERON: ["a spoon", "an animal"]}).filter(id=HERON), table)
        path = folder / "w.csv"
        fine("export", table, "--task", "wrong-answers", "--judge", "anna", "--out", path)
        first, second = items(path)
        fill(path, {first: ("y",), second: ("n",)})
        fine("import", table, path, "--task", "wrong-answers")
        assert (folder / "review-wrong.jsonl").exists()
        assert "accept: 1, edit: 0, reject: 1, open: 0" in fine(
            "status", table, "--task", "wrong-answers"
        )
        fine("apply", table, "--task", "wrong-answers", "--out", folder / "checked.parquet")
        assert pl.read_parquet(folder / "checked.parquet")["wrong_text"].to_list() == [["a spoon"]]

    @pytest.mark.parametrize(
        ("words", "parts"),
        [
            (("export", "T", "--judge", "a", "--out", "T"), ("ranked.parquet", "ends in .csv")),
            (("export", "no.parquet", "--judge", "a", "--out", "x.csv"), ("no.parquet",)),
            (("export", "T", "--judge", "a", "--overlap", 2, "--out", "x.csv"), ("--judges",)),
            (
                ("export", "T", "--judge", "a", "--task", "wrong-answers", "--out", "x.csv"),
                ("no column 'wrong'",),
            ),
            (("export", "T", "--judge", "a", "--out", "no/x.csv"), ("cannot be written",)),
            (("import", "T", "no.csv"), ("no.csv", "cannot be read")),
            (("status", "T", "--rule", "adjudicator"), ("name of the adjudicator",)),
            (("status", "T", "--min-judges", 0), ("min-judges is 0",)),
        ],
    )
    def test_faults_are_one_sentence(self, folder, monkeypatch, words, parts):
        monkeypatch.chdir(folder)
        done = boxpen(*("ranked.parquet" if word == "T" else word for word in words))
        assert done.exit_code == 2
        message = done.output.strip()
        assert message.startswith("boxpen: ")
        assert "\n" not in message
        for part in parts:
            assert part in message

    @pytest.mark.parametrize("where", ["loop", "loop/there"])
    def test_a_circle_of_links_is_one_sentence(self, folder, monkeypatch, where):
        monkeypatch.chdir(folder)
        for link in ("loop", "loop.csv", "loop.parquet"):
            Path(link).symlink_to(link)
        before = sorted(folder.iterdir())
        for words, ending in ((("export", "--judge", "a"), "csv"), (("apply",), "parquet")):
            done = boxpen(*words, "ranked.parquet", "--out", f"{where}.{ending}")
            assert done.exit_code == 2
            told = f"{where}.{ending} cannot be written: its links lead back to themselves"
            assert done.output == f"boxpen: {told}\n"
        assert sorted(folder.iterdir()) == before

    def test_wordings_are_reviewed_by_themselves(self, folder):
        table, sheet, out = folder / "ranked.parquet", folder / "w.csv", folder / "worded.parquet"
        task = ("--task", "wordings")
        fine("export", table, *task, "--judge", "anna", "--out", sheet)
        good = "A pencil is for shading sketches."
        fill(sheet, {HERON: ("a",), BRICK: ("r",), PENCIL: ("e", good)})
        fine("import", table, sheet, *task)
        assert (folder / "review-wordings.jsonl").exists()
        assert not (folder / "review.jsonl").exists()
        fine("apply", table, *task, "--out", out)
        rows = read_table(out, "sentence", "edited_from").rows(named=True)
        assert [row["id"] for row in rows] == [PENCIL, HERON]
        assert rows[0]["sentence"] == good
        assert rows[0]["plausibility"] == -2.0  # the triple is the same
        question = WordingTask(triples()).questions()[0]
        same = Judgement(PENCIL, "anna", "edit", question.shown["sentence"])
        refused(lambda: WordingTask(triples()).check(same, question), "changes nothing")
