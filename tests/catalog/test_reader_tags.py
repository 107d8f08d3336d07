"""Tags that later readers gave: outside the hash, named by the signature of slices."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from boxpen import Run, evaluate
from boxpen.analysis.slices import slice_rows
from boxpen.analysis.tagging import TagTask
from boxpen.analysis.trends import trends
from boxpen.catalog import load_suite, read_suite, write_suite
from boxpen.catalog.releases import cats
from boxpen.catalog.releases.commonmt import readings
from boxpen.errors import SuiteError
from boxpen.report.trends import trends_object, trends_page
from boxpen.review import Journal, latest
from small_runs import Liking, small_suite

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def labelled(labels, name="mood"):
    """The small suite, with labels of a reader on its first items."""
    plain = small_suite()
    items = [
        replace(item, tags={**item.tags, name: label}) if label else item
        for item, label in zip(plain, [*labels, *[""] * len(plain)], strict=False)
    ]
    return replace(plain, items=tuple(items), card=replace(plain.card, reader_tags=(name,)))


def test_labels_leave_the_hash_alone():
    suite = labelled(["good", "bad"])
    assert suite.hash == small_suite().hash
    unmarked = replace(suite, card=replace(suite.card, reader_tags=()))
    assert unmarked.hash != suite.hash
    assert suite.label_hashes() != labelled(["good", "good"]).label_hashes()
    assert small_suite().label_hashes() == {}


def test_signatures_of_slices_name_the_labels(tmp_path):
    suites = [small_suite(), labelled(["good"] * 12 + ["bad"]), labelled(["good"] * 11 + ["bad"])]
    model = Liking("one", {"right 1", "right 2"})
    runs = [evaluate(model, suite, cache=":memory:") for suite in suites]
    assert len({run.signature for run in runs}) == 1
    run = Run.load(runs[1].save(tmp_path))
    rows = {row.slice: row.signature for row in run.summary() if row.metric == "accuracy"}
    assert rows["all"] == rows["set=A"] == run.signature
    digest = suites[1].label_hashes()["mood"]
    assert rows["mood=good"] == f"{run.signature}|labels:{digest}"
    assert digest not in next(r.signature for r in runs[2].summary() if r.slice == "mood=good")
    crossed = {row["cut"]: row["signature"] for row in slice_rows(run, ["set", "set x mood"])}
    assert crossed["set"] == run.signature
    assert crossed["set x mood"].endswith(f"|labels:{digest}")


def test_signatures_of_trends_name_the_labels():
    suite = labelled(["1", "2"] * 6)
    run = evaluate(Liking("one", {"right 1", "right 2"}), suite, cache=":memory:")
    found = [(run, trends(run, "mood"))]
    digest = suite.label_hashes()["mood"]
    assert [one["signature"] for one in trends_object(found)] == [
        f"{run.signature}|labels:{digest}"
    ]
    assert trends_page(found).signatures == [f"{run.signature}|labels:{digest}"]


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_files_tell_them_apart(tmp_path, ending):
    suite = labelled(["good", "", "bad"])
    write_suite(suite, tmp_path / f"x{ending}")
    back = read_suite(tmp_path / f"x{ending}")
    assert back.card.reader_tags == ("mood",)
    assert (back.hash, back.label_hashes()) == (suite.hash, suite.label_hashes())
    assert [item.tags for item in back] == [item.tags for item in suite]


def test_a_tag_is_a_readers_or_not(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("kind,id,candidate_0,candidate_1,gold,tag:mood,reader-tag:mood\n")
    with pytest.raises(
        SuiteError, match=r"line 1 has the columns 'tag:mood' and 'reader-tag:mood'"
    ):
        read_suite(path)


def test_labels_of_items_without_other_tags_are_read(tmp_path):
    row = {"kind": "choice", "id": "1", "candidates": ["a", "b"], "gold": 0, "tags": None}
    path = tmp_path / "x.parquet"
    pl.DataFrame([row | {"reader_tags": '{"mood": "good"}'}]).write_parquet(path)
    [item] = read_suite(path)
    assert item.tags == {"mood": "good"}


def test_a_card_with_other_reader_tags_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    for value in ('"mood"', "[1]"):
        path.write_text(f'{{"kind": "suite", "reader_tags": {value}}}\n')
        with pytest.raises(SuiteError, match=r"line 1: key 'reader_tags' .* a list of strings"):
            read_suite(path)


def test_commonmt_has_what_both_readers_say(mirror):
    suite = load_suite("commonmt")
    assert suite.hash.startswith("7950a201")
    given = readings()
    tags = {item.id: item.tags for item in suite}
    assert list(given) == list(tags)
    for tag in ("knowledge", "decidable", "ambiguity", "word"):
        journal = Journal(RESULTS / "data" / f"commonmt-{tag}.jsonl", tag=tag)
        task = TagTask(suite, tag, journal=journal)
        shown = {question.item: question for question in task.questions()}
        for item, by in latest(journal.read().judgements).items():
            said = tuple(by[reader].verdict for reader in ("reader A", "reader B"))
            assert given[item]["ambiguity" if tag == "word" else tag] == said
            assert all(shown[item].was_seen(one) for one in by.values())
            assert tags[item].get(tag) == (said[0] if said[0] == said[1] else None)
    assert {item.tags["ambiguity"] for item in suite if item.tags["set"] == "LA"} == {"word"}
    assert all(item.tags["word"] in item.source for item in suite if "word" in item.tags)


def test_cats_has_what_both_readers_count(mirror):
    suite = load_suite("cats")
    assert suite.hash.startswith("d65c227b")  # as before there were labels
    given = cats.readings()
    for item in suite:
        assert (item.id in given) == (item.tags["set"] in ("sm", "wsc"))
        for tag, side in (("steps", "side"), ("mediators", "mediators_side")):
            one, other = given.get(item.id, {}).get(tag, ("", ""))
            found = given.get(item.id, {}).get(side) == ("right", "right")
            assert item.tags.get(tag) == (one if one == other and found else None)
    counts = {tag: Counter(item.tags.get(tag) for item in suite) for tag in ("steps", "mediators")}
    assert counts["steps"] == {"1": 2067, "2": 37, None: 5593}
    assert counts["mediators"] == {"0": 443, "1": 95, None: 7159}
