"""Duals ranked, reviewed and written: what is shown to people, and what becomes a suite."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from boxpen import Request
from boxpen.build.duals.dictionary import Dictionary
from boxpen.build.duals.pair import Edit
from boxpen.build.duals.propose import Proposal
from boxpen.build.duals.rank import Ranked, rank_proposals, shortlist, sifted
from boxpen.build.duals.review import DualTask
from boxpen.build.duals.rows import dual_rows, read_rows, write_rows
from boxpen.build.duals.stages import BUILDER, PROPOSALS, SOURCE
from boxpen.build.duals.suite import dual_suite
from boxpen.catalog import read_suite, write_suite
from boxpen.english.wordnet import Sense, WordNet, open_wordnet
from boxpen.english.wordnet_files import find_wordnet
from boxpen.errors import BuildError, ConfigError
from boxpen.items import Card, Choice, Suite
from boxpen.review import Journal, Judgement, Question, Rule, export_sheet
from boxpen.review.assignment import Selection
from boxpen.scoring.policy import ScoringPolicy

for library in ("lemminflect", "inflect", "nltk", "spellchecker"):
    pytest.importorskip(library)

ITEMS = (
    Choice(id="1", candidates=("A box is in a pen.", "A pen is in a tree."), gold=0,
           tags={"set": "toy"}),
    Choice(id="2", candidates=("A tree is in a box.", "A tree is in a house."), gold=1),
    Choice(id="3", candidates=("A bell is not cast of tin.", "A bell is not cast of wax."), gold=1),
    Choice(id="4", candidates=("one", "two", "three"), gold=1),
)  # fmt: skip
SUITE = Suite("toy", ITEMS, Card(title="Toys", language="en", licence="CC0"))


@pytest.fixture(scope="module", autouse=True)
def _wordnet() -> None:
    try:
        find_wordnet(download=False)
    except BuildError as error:
        pytest.skip(str(error))


def proposal(item: str, texts: tuple[str, str], *, operation: str = "add", kind: str = "negation",
             flipped: bool = True) -> Proposal:  # fmt: skip
    gold = next(one for one in ITEMS if one.id == item).gold
    edit = Edit(operation, kind, texts, flipped, "because")
    return Proposal(item, edit, 1 - gold if flipped else gold)


def test_fluency_is_the_change_of_the_mean_per_token(gpt2: Any) -> None:
    some = [
        proposal("1", ("A box is not in a pen.", "A pen is not in a tree.")),
        proposal("2", ("A tree is by a box.", "A tree is by a house."), operation="sub"),
    ]
    items = {item.id: item for item in ITEMS}
    found = rank_proposals(some, items, gpt2, cache=":memory:")

    def alone(text: str) -> float:
        resolved_policy = gpt2.resolve_policy(ScoringPolicy())
        [(_, record)] = [r for batch in gpt2.score([Request(text)], resolved_policy) for r in batch]
        return float(record.total / len(record.logprobs))

    for one, before in zip(found, some, strict=True):
        assert one.proposal == before
        old = items[before.item].candidates
        twin = sum(
            alone(new) - alone(text) for new, text in zip(before.edit.texts, old, strict=True)
        )
        assert one.fluency == pytest.approx(twin / 2, abs=2e-3)


def test_the_margin_between_the_new_sentences_is_no_matter(gpt2: Any) -> None:
    """A label that the model finds right or wrong changes nothing in the ranking."""
    items = {item.id: item for item in ITEMS}
    texts = ("A box is not in a pen.", "A pen is not in a tree.")
    flipped = proposal("1", texts)
    kept = proposal("1", texts, flipped=False)
    one, two = rank_proposals([flipped, kept], items, gpt2, cache=":memory:")
    assert one.fluency == two.fluency


def test_the_best_of_either_label_take_turns() -> None:
    def ranked(name: str, fluency: float, *, flipped: bool, kind: str = "negation") -> Ranked:
        return Ranked(proposal("1", (name, name + "!"), kind=kind, flipped=flipped), fluency)

    some = [
        ranked("low", -3, flipped=True),
        ranked("best", 2, flipped=False, kind="restriction"),
        ranked("second", 1.9, flipped=False, kind="restriction"),
        ranked("other", -0.5, flipped=False, kind="degree"),
        ranked("not", 0, flipped=True),
    ]

    def names(top: int, least: float | None) -> list[str]:
        return [one.proposal.edit.texts[0] for one in shortlist(some, top, least)]

    assert names(9, None) == ["not", "best", "low", "other", "second"]
    assert names(2, None) == ["not", "best"]
    assert names(9, -1.0) == ["not", "best", "other", "second"]
    assert names(9, 3.0) == []
    assert [*shortlist(reversed(some), 9)] == shortlist(some, 9)


def test_one_of_a_kind_is_enough_and_siblings_read_no_better() -> None:
    def ranked(name: str, fluency: float | None, item: str = "1", operation: str = "add",
               kind: str = "restriction") -> Ranked:  # fmt: skip
        return Ranked(
            proposal(item, (name, "x"), operation=operation, kind=kind, flipped=False), fluency
        )

    some = [
        ranked("late", -0.5), ranked("early", 0.2), ranked("other item", -2, "2"),
        ranked("another edit", 0.1, kind="degree"), ranked("and again", 0.0, kind="degree"),
        ranked("deleted", 0.3, operation="del"), ranked("both", 0.1, operation="del"),
        ranked("he", -0.1, operation="sub", kind="role"),
        ranked("she", -0.2, operation="sub", kind="role"),
        ranked("fits", 0.001, operation="sub", kind="sibling"),
        ranked("equal", 0.0, operation="sub", kind="sibling"),
        ranked("worse", -0.4, operation="sub", kind="sibling"),
    ]  # fmt: skip
    found = sifted(some)
    assert {one.proposal.edit.texts[0]: found[id(one)][0] for one in some if id(one) in found} == {
        "late": "repeated", "she": "repeated", "fits": "sibling",
    }  # fmt: skip
    assert "reads better than the senseless one (fluency 0.001)" in found[id(some[9])][1]
    unranked = [ranked(name, None) for name in "cab"]
    assert [one for one in unranked if id(one) not in sifted(unranked)] == [unranked[1]]
    fitting = [ranked("any", None, operation="sub", kind="sibling")]
    assert sifted(fitting) == {}


def test_a_model_of_another_kind_is_refused() -> None:
    class Classifier:
        kind, short = "nli", "judge"

    class Bidirectional:
        kind, short = "bidirectional", "bilm"

    kinds = "duals are ranked by a language model of the kind causal, masked or permuted$"
    with pytest.raises(BuildError, match=f"judge is of the kind nli, {kinds}"):
        rank_proposals([], {}, Classifier())  # type: ignore[arg-type]
    with pytest.raises(BuildError, match=f"bilm is of the kind bidirectional, {kinds}"):
        rank_proposals([], {}, Bidirectional())  # type: ignore[arg-type]


def built(folder: Path, suite: Suite = SUITE, more: str = "") -> list[Any]:
    """Build into the folder 'out' of a folder."""
    folder.mkdir(exist_ok=True)
    write_suite(suite, folder / "suite.jsonl")
    path = folder / "duals.toml"
    path.write_text(f'suite = "suite.jsonl"\nfolder = "out"\nmodel = "none"\n{more}', "utf-8")
    return list(BUILDER.runner(BUILDER.load(path)).run())


def test_another_operation_makes_everything_again(tmp_path: Path) -> None:
    built(tmp_path)
    again = built(tmp_path, more='operations = ["del", "del"]')
    assert [one.fresh for one in again] == [True, True]
    assert {row["operation"] for row in read_rows(tmp_path / "out" / PROPOSALS)} == {"del"}
    assert not any(one.fresh for one in built(tmp_path, more='operations = ["del"]'))


def test_duals_that_are_not_proposed_are_listed(tmp_path: Path) -> None:
    first, second = built(tmp_path, more="top = 1")
    runner = BUILDER.runner(BUILDER.load(tmp_path / "duals.toml"))
    made = sum(row["duals"] for row in first.report["duals"])
    kept = sum(row["duals"] for row in second.report["table"])
    rows, total = runner.dropped("top")
    assert total == made - kept > 0
    assert {row["reason"] for row in rows} == {"not among the best 1"}
    assert runner.dropped("pair")[0][0]["item"] == "4"
    assert runner.dropped("pair")[0][0]["reason"] == "it has 3 candidates, not two"


def test_a_build_reports_what_it_left(tmp_path: Path) -> None:
    report = built(tmp_path, more='operations = ["del"]')[0].report
    assert (report["pairs"], report["changed"], report["no_pairs"]) == (3, 1, 1)
    reasons = {row["reason"]: row["pairs"] for row in report["unchanged"]}
    assert reasons == {"both have no negation, degree or restriction that could go": 2}


def test_samples_follow_the_seed(tmp_path: Path) -> None:
    def drawn(seed: int) -> set[str]:
        built(tmp_path / str(seed), more=f"sample = 2\nseed = {seed}")
        return {row["item"] for row in read_rows(tmp_path / str(seed) / "out" / PROPOSALS)}

    samples = [drawn(seed) for seed in range(6)]
    assert all(len(sample) == 2 for sample in samples)
    assert len(set(map(frozenset, samples))) > 1
    assert drawn(0) == samples[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('operations = ["sup"]', r"operations\[0\] is 'sup', expected .*did you mean 'sub'"),
        ("top = 0", "top is 0, expected 1 or more"),
        ("sample = 0", "sample is 0, expected 1 or more"),
        ("min_fluency = nan", "min_fluency is nan, expected a finite number"),
        ("tpo = 1", "unknown key 'tpo', did you mean 'top'"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        built(tmp_path, more=more)
    assert not (tmp_path / "out").exists()


def test_suites_without_duals_are_refused(tmp_path: Path) -> None:
    built(tmp_path)
    other = Suite("other", ITEMS, SUITE.card)
    with pytest.raises(BuildError, match="has the duals of suite 'toy', not of 'other'"):
        built(tmp_path, other)
    none = Suite("none", (Choice(id="1", candidates=("Go!", "Go now!"), gold=0),))
    with pytest.raises(BuildError, match="no rule can change any of 1 pairs of suite 'none'"):
        built(tmp_path / "none", none)
    assert not (tmp_path / "none" / "out").exists()


ROWS = dual_rows(
    [
        Ranked(proposal("1", ("A box is not in a pen.", "A pen is not in a tree.")), 0.5),
        Ranked(proposal("2", ("A tree is by a box.", "A tree is by a house."),
                        operation="sub", kind="role", flipped=False), None),
    ],
    {item.id: item for item in ITEMS},
)  # fmt: skip


def said(row: Any, judge: str, verdict: str) -> Judgement:
    return Judgement(row["id"], judge, verdict)


def turned(row: Any) -> Any:
    """A dual whose labels are the other way round."""
    return {**row, "gold": 1 - row["gold"], "original_gold": 1 - row["original_gold"],
            "reason": "another"}  # fmt: skip


def test_nothing_that_judges_see_depends_on_a_label() -> None:
    for row in ROWS:
        [one], [two] = DualTask([row]).questions(), DualTask([turned(row)]).questions()
        assert (one.shown, one.hints, one.part) == (two.shown, two.hints, two.part)
        assert [o.text for o in one.options] == [o.text for o in two.options]
        assert set(one.shown.values()) == {row["original_first"], row["original_second"]}
        assert {o.text: o.verdict for o in one.options} == {
            (row["first"], row["second"])[row["gold"]]: "accept",
            (row["first"], row["second"])[1 - row["gold"]]: "relabel",
        }
        for judge in "abcd":
            mine, other = one.shuffled(judge, 3), two.shuffled(judge, 3)
            assert mine.texts == other.texts
    sides = [
        DualTask([{**ROWS[0], "id": f"{n}"}]).questions()[0].shuffled("a", 0).options[0].verdict
        for n in range(200)
    ]
    assert 70 < sides.count("accept") < 130
    firsts = [
        DualTask([{**ROWS[0], "id": f"{n}"}]).questions()[0].shown["original_a"] for n in range(200)
    ]
    assert 70 < firsts.count(ROWS[0]["original_first"]) < 130


def test_sheets_name_no_side(tmp_path: Path) -> None:
    task = DualTask(ROWS, folder=tmp_path)
    out = tmp_path / "a.csv"
    export_sheet(task, "a", out, Selection(), blind=False)
    header = out.read_text("utf-8-sig").splitlines()[0].split(",")
    assert header == ["item", "original_a", "original_b", "1", "2", "kind", "fluency", "verdict",
                      "edit", "comment", "judge", "digest", "order"]  # fmt: skip
    text = out.read_text("utf-8-sig")
    for word in ("sensible", "senseless", "expected", "flipped", "kept", "accept", "relabel"):
        assert word not in text


def test_judgements_of_earlier_versions_count() -> None:
    """Journals of the sheets that showed the expected sentence first: see duals-review.jsonl."""
    row = ROWS[0]
    shown = {
        "operation": "add", "original_sensible": "A box is in a pen.",
        "original_senseless": "A pen is in a tree.", "dual_sensible": "A pen is not in a tree.",
        "dual_senseless": "A box is not in a pen.",
    }  # fmt: skip
    old = Judgement(row["id"], "a", "accept", seen=Question(row["id"], shown).digest)
    task = DualTask(ROWS)
    assert task.decide([old]).counts["accept"] == 1
    assert task.decide([replace(old, verdict="reject")]).counts["reject"] == 1
    changed = DualTask([{**row, "first": "A box is never in a pen."}])
    assert (changed.decide([old]).counts["accept"], changed.decide([old]).outdated) == (0, 1)


def test_judgements_do_not_count_when_the_other_sentence_is_expected() -> None:
    """An 'accept' would mean the sentence that the judge did not choose."""
    row = ROWS[0]
    [question] = DualTask([row]).questions()
    one = Judgement(row["id"], "a", "accept", seen=question.digest)
    assert DualTask([row]).decide([one]).counts["accept"] == 1
    for gold in (row["original_gold"], 1 - row["original_gold"]):
        other = DualTask([{**row, "gold": 1 - row["gold"], "original_gold": gold}])
        found = other.decide([one])
        assert (found.counts["accept"], found.outdated) == (0, 1)


def test_faults_of_any_kind_reject() -> None:
    task = DualTask(ROWS)
    given = [
        said(ROWS[0], "a", "both"),
        said(ROWS[0], "b", "english"),
        said(ROWS[0], "c", "accept"),
    ]
    found = task.decide(given, Rule("majority"), 3)
    assert found.counts == {"accept": 0, "relabel": 0, "reject": 1, "open": 1}
    assert found.decisions[ROWS[0]["id"]].votes == {"reject": 2, "accept": 1}


def test_people_decide_and_correct_labels() -> None:
    given = [said(ROWS[0], "a", "accept"), said(ROWS[0], "b", "accept"),
             said(ROWS[1], "a", "relabel"), said(ROWS[1], "b", "relabel")]  # fmt: skip
    task = DualTask(ROWS)
    found = task.decide(given, Rule("unanimous"), 2)
    assert found.counts == {"accept": 1, "relabel": 1, "reject": 0, "open": 0}
    first, second = task.accepted(found)
    assert first == ROWS[0]
    assert (second["gold"], second["expected"]) == (0, "flipped")
    divided = [*given[:1], said(ROWS[0], "b", "reject"), *given[2:]]
    assert task.decide(divided, Rule("unanimous"), 2).counts["open"] == 1
    assert task.decide(divided, Rule("any-reject"), 2).counts["reject"] == 1
    assert len(task.decide(given, None, 3).open) == 2
    with pytest.raises(
        BuildError, match=r"gives item '1-add-.*' the verdict 'maybe', expected acc"
    ):
        task.decide([said(ROWS[0], "a", "maybe")])
    assert task.verdicts.read("B") == "both"


def test_a_suite_has_a_block_for_every_dual() -> None:
    suite = dual_suite(SUITE, ROWS, "toy-duals", judges=[2, 2])
    assert [len(block) for block in suite.blocks().values()] == [2, 2]
    first, second, third, fourth = suite
    assert isinstance(second, Choice)
    assert first.candidates == ITEMS[0].candidates  # type: ignore[union-attr]
    assert second.candidates == ("A box is not in a pen.", "A pen is not in a tree.")
    assert (first.gold, second.gold) == (0, 1)  # type: ignore[union-attr]
    assert dict(second.tags) == {
        "set": "toy", "operation": "add", "edit": "negation", "expected": "flipped", "item": "1",
        "side": "dual",
    }  # fmt: skip
    assert (first.tags["side"], first.tags["expected"]) == ("original", "flipped")
    assert (third.gold, fourth.gold) == (1, 1)  # type: ignore[union-attr]
    assert suite.card.licence == "CC0"
    other = Suite("toy", ITEMS[1:], SUITE.card)
    with pytest.raises(BuildError, match="is of item '1', which suite 'toy' does not have"):
        dual_suite(other, ROWS, "x")


@pytest.mark.parametrize("notes", ["", "read (twice); accepted by people"])
def test_the_card_says_how_many_judged(notes: str) -> None:
    source = replace(SUITE, card=replace(SUITE.card, notes=notes))
    judged = {
        (): "",
        (2, 2): "; accepted by judges, each dual judged by 2",
        (3, 1): "; accepted by judges, each dual judged by 1 to 3",
    }
    end = f"; of the originals: {notes}" if notes else ""
    for judges, told in judged.items():
        suite = dual_suite(source, ROWS, "d", judges=judges)
        assert suite.card.notes == "duals made by boxpen build run" + told + end


class Reordered(WordNet):
    """A dictionary with the senses of one noun the other way round, or without them."""

    def __init__(self, noun: str, *, there: bool) -> None:
        self._book, self._noun, self._there = open_wordnet(), noun, there

    def senses(self, word: str, part: str, count: int | None = None) -> list[Sense]:
        found = self._book.senses(word, part, count)
        return found if word != self._noun else found[::-1] if self._there else []

    def above(self, sense: Sense) -> tuple[Sense, ...]:
        return self._book.above(sense)

    def name(self, sense: Sense) -> str:
        return self._book.name(sense)


@pytest.mark.parametrize(
    ("noun", "there", "message"),
    [
        ("whole", True, "sense 2 of the noun 'whole' in WordNet is not a kind of 'object', expect"),
        ("unit", False, "sense 3 of the noun 'unit' in WordNet is not a kind of 'organization'"),
        ("entity", False, "sense 1 of the noun 'entity' in WordNet is not what all things are, ex"),
    ],
)
def test_another_edition_of_wordnet_is_refused(noun: str, there: bool, message: str) -> None:
    Dictionary(open_wordnet())
    with pytest.raises(BuildError, match=message):
        Dictionary(Reordered(noun, there=there))


def test_the_duals_of_chosen_samples_are_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    script = importlib.import_module("duals_judged")
    drawn = tmp_path / "drawn.csv"
    lines = [
        f"{row['id']},toy,add,negation,flipped,{n}" for row, n in zip(ROWS, (1, 3), strict=True)
    ]
    drawn.write_text("\n".join(["id,suite,operation,kind,expected,sample", *lines]), "utf-8")
    monkeypatch.setattr(script, "DRAWN", drawn)
    build = tmp_path / "build"
    build.mkdir()
    write_suite(SUITE, build / SOURCE)
    write_rows(ROWS, build / PROPOSALS)
    for samples, joined in (((1, 2), ROWS[:1]), ((3,), ROWS[1:]), ((1, 3), ROWS)):
        words = ["join", str(build), "--samples", *map(str, samples), "--out", str(tmp_path / "to")]
        monkeypatch.setattr("sys.argv", ["duals_judged.py", *words])
        script.main()
        assert read_rows(tmp_path / "to" / "toy" / PROPOSALS) == joined
    monkeypatch.setattr("sys.argv", ["duals_judged.py", "join", str(build), "--samples", "2",
                                     "--out", str(tmp_path / "none")])  # fmt: skip
    with pytest.raises(SystemExit, match="no dual of suite 'toy' was judged in --samples 2"):
        script.main()
    assert not (tmp_path / "none").exists()


def test_blind_answers_become_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    script = importlib.import_module("duals_judged")
    drawn, journal = tmp_path / "drawn.csv", tmp_path / "review.jsonl"
    drawn.write_text("id,suite,operation,kind,expected,sample,seen\nold,toy,add,x,kept,1,\n")
    monkeypatch.setattr(script, "DRAWN", drawn)
    monkeypatch.setattr(script, "REVIEW", journal)
    build, key = tmp_path / "build", tmp_path / "key"
    build.mkdir()
    write_suite(SUITE, build / SOURCE)
    write_rows(ROWS, build / PROPOSALS)

    def run(*words: object) -> None:
        monkeypatch.setattr("sys.argv", ["duals_judged.py", *map(str, words)])
        script.main()

    run("draw", build, "--out", tmp_path, "--key", key)
    gold = {(row["first"], row["second"])[row["gold"]] for row in ROWS}
    for reader in "AB":
        sheet = (tmp_path / f"sheet-{reader}.tsv").read_text("utf-8").splitlines()
        assert sheet[0].split("\t") == ["row", "source_1", "source_2", "edited_1", "edited_2"]
        assert not {row["id"] for row in ROWS} & set("\t".join(sheet).split("\t"))
        said = ["row\tverdict\tenglish\tcomment"]
        for line in sheet[1:]:
            number, _, _, one, two = line.split("\t")
            right = "1" if one in gold else "2"
            assert (one in gold) != (two in gold)
            other = {"1": "2", "2": "1"}[right]
            house = "by a house" in line
            said.append(f"{number}\t{other if house and reader == 'A' else right}\t"
                        f"{'bad' if house and reader == 'B' else 'ok'}\tas is")  # fmt: skip
        (tmp_path / f"answers-{reader}.tsv").write_text("\n".join(said), "utf-8")
    answers = [tmp_path / f"answers-{reader}.tsv" for reader in "AB"]
    run("answers", build, "--key", key, "--answers", *answers)
    found = {(one.item, one.judge): one for one in Journal(journal).read().judgements}
    first, second = (row["id"] for row in ROWS)
    assert {name: one.verdict for name, one in found.items()} == {
        (first, "A"): "accept", (first, "B"): "accept",
        (second, "A"): "relabel", (second, "B"): "english",
    }  # fmt: skip
    assert found[second, "B"].comment == "sense: accept; as is"
    assert DualTask(ROWS, Journal(journal)).review().outdated == 0
    assert script._judged(6)[1] == {first: "accept", second: "reject"}
    assert "| all | 2 | 1 | 0.50 [0.09, 0.91] | 0 | 0.50 |" in script.accepted(6)
    answers[0].write_text(answers[0].read_text("utf-8").replace("\tok\t", "\tfine\t"), "utf-8")
    with pytest.raises(SystemExit, match="expected 1, 2, both or neither, and ok or bad"):
        run("answers", build, "--key", key, "--answers", *answers)
    answers[0].write_text("row\tverdict\tenglish\tcomment\n1\t1\tok\t", "utf-8")
    with pytest.raises(SystemExit, match=r"answers-A.tsv: row 2 is there 0 time\(s\)"):
        run("answers", build, "--key", key, "--answers", *answers)


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    write_rows(ROWS, tmp_path / "duals.parquet")
    assert read_rows(tmp_path / "duals.parquet") == ROWS
    with pytest.raises(BuildError, match=r"there is no .*; run the stage that writes it"):
        read_rows(tmp_path / "nothing.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(BuildError, match=r"bad\.parquet is not a Parquet file"):
        read_rows(tmp_path / "bad.parquet")


def test_the_source_stands_beside_the_duals(tmp_path: Path) -> None:
    built(tmp_path)
    assert read_suite(tmp_path / "out" / SOURCE).hash == SUITE.hash
    suite = dual_suite(
        read_suite(tmp_path / "out" / SOURCE), read_rows(tmp_path / "out" / PROPOSALS), "d"
    )
    assert len(suite) == 2 * len(read_rows(tmp_path / "out" / PROPOSALS))
