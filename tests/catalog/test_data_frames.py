"""Suites as data frames of pandas and Polars, and the other way round."""

from __future__ import annotations

import datetime
import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from suite_strategies import suites

from boxpen import Card, Choice, Entail, Suite, SuiteError, load_suite, read_suite
from small_runs import small_suite

pd = pytest.importorskip("pandas", reason="pandas is not installed")

PAIRS = {"good": ["a cat", "a dog"], "bad": ["cat a", "dog a"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_columns_are_found_as_an_import_finds_them(make):
    read = Suite.from_pandas if make is pd.DataFrame else Suite.from_polars
    suite = read(make(PAIRS), name="cats", language="en")
    assert suite.name == "cats"
    assert suite.card.language == "en"
    assert suite.items == (
        Choice(id="1", candidates=("a cat", "cat a"), gold=0),
        Choice(id="2", candidates=("a dog", "dog a"), gold=0),
    )


def test_columns_that_are_named():
    frame = pd.DataFrame(
        {"x": ["r", "r2"], "y": ["w", "w2"], "z": ["v", None], "topic": ["sea", None]}
    )
    suite = Suite.from_pandas(frame, correct="x", wrong=["y", "z"], tags=["topic"], block_size=2)
    assert [item.candidates for item in suite] == [("r", "w", "v"), ("r2", "w2")]
    assert [dict(item.tags) for item in suite] == [{"topic": "sea"}, {}]
    assert {item.block for item in suite} == {"1"}


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]), np.array([0, 1], dtype=np.int8), [0.0, 1.0], ["0", "1"],
        pd.array([0, 1], dtype="Int64"), np.array([0, 1], dtype=object),
        pd.Series([np.int64(0), np.int64(1)], dtype=object), pd.Categorical(["0", "1"]),
    ],
    ids=str,
)  # fmt: skip
def test_labels_of_any_type_of_whole_numbers(labels):
    frame = pd.DataFrame({"sent0": ["a", "b"], "sent1": ["c", "d"], "label": labels})
    assert [item.gold for item in Suite.from_pandas(frame)] == [0, 1]


@pytest.mark.parametrize("none", [None, np.nan, pd.NA, pd.NaT, float("nan")])
def test_missing_cells_of_any_kind(none):
    frame = pd.DataFrame({**PAIRS, "context": ["before", none], "tag:set": [none, "x"]})
    first, second = Suite.from_pandas(frame)
    assert (first.context, second.context) == ("before", None)
    assert (dict(first.tags), dict(second.tags)) == ({}, {"set": "x"})
    frame = pd.DataFrame({"good": ["a", none], "bad": ["b", "c"]}, dtype=object)
    with pytest.raises(SuiteError, match="data frame, row 2: item '2' has an empty candidate 0"):
        Suite.from_pandas(frame)


DATE = datetime.date(2020, 1, 31)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (DATE, "2020-01-31"), (datetime.datetime(2020, 1, 31, 12, 5), "2020-01-31T12:05:00"),
        (datetime.time(12, 5), "12:05:00"), (Decimal("1.50"), "1.50"),
        (datetime.timedelta(hours=2), "2:00:00"), (True, "true"), (1.5, "1.5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("library", ["pandas", "polars", "parquet"])
def test_values_that_are_no_texts(value, text, library, tmp_path):
    columns = {**PAIRS, "tag:of": [value, None]}
    if library == "pandas":
        suite = Suite.from_pandas(pd.DataFrame(columns, dtype=object))
    elif library == "polars":
        suite = Suite.from_polars(pl.DataFrame(columns))
    else:
        pl.DataFrame(columns).write_parquet(tmp_path / "x.parquet")
        suite = read_suite(tmp_path / "x.parquet")
    assert [dict(item.tags) for item in suite] == [{"of": text}, {}]


def test_bytes_and_missing_options_in_a_parquet_file(tmp_path):
    path = tmp_path / "x.parquet"
    pl.DataFrame({"good": [b"a", b"b"], "bad": ["c", "d"]}).write_parquet(path)
    with pytest.raises(SuiteError, match=r"row 1: column 'good' is .*, expected a text"):
        read_suite(path)
    pl.DataFrame({"options": [[1.5, float("nan")]], "gold": [1]}).write_parquet(path)
    with pytest.raises(SuiteError, match=r"row 1: column 'options' is .*, expected a list of"):
        read_suite(path)


def test_half_of_a_surrogate_pair_is_refused():
    frame = pd.DataFrame({"good": ["a", "x\ud800"], "bad": ["b", "c"]}, dtype=object)
    with pytest.raises(SuiteError, match="frame, row 2 has half of a surrogate pair, expected"):
        Suite.from_pandas(frame)


def test_a_suite_without_items_is_an_empty_frame():
    assert small_suite(2).where(set="none").to_polars().shape == (0, 0)


def test_tuples_are_lists():
    frame = pd.DataFrame({"options": [("a", "b"), ("c", "d")], "gold": [1, 0]})
    assert [item.candidates for item in Suite.from_pandas(frame)] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    "choices",
    [
        {"label": np.array(["A", "B"], object), "text": np.array(["fire", "ice"], object)},
        np.array([{"label": "A", "text": "fire"}, {"label": "B", "text": "ice"}], object),
        np.array(["fire", "ice"], object),
    ],
    ids=["struct of lists", "list of structs", "list"],
)
def test_multiple_choice_as_datasets_of_the_hub_give_it_to_pandas(choices):
    """CommonsenseQA, ARC and MMLU: ``load_dataset(...).to_pandas()`` has arrays in structs."""
    frame = pd.DataFrame({"question": ["What is cold?"], "choices": [choices], "answerKey": ["B"]})
    expected = Choice(id="1", context="What is cold?", candidates=("fire", "ice"), gold=1)
    assert Suite.from_pandas(frame).items == (expected,)


def test_an_index_with_a_name_is_a_column():
    frame = pd.DataFrame({"key": [7, 9], **PAIRS}).set_index("key")
    assert [i.id for i in Suite.from_pandas(frame, id="key")] == ["7", "9"]
    assert [i.id for i in Suite.from_pandas(frame.rename_axis("id"))] == ["7", "9"]
    assert [i.id for i in Suite.from_pandas(frame.rename_axis(None))] == ["1", "2"]
    two = pd.DataFrame({"block": ["b", "b"], "id": ["x", "y"], **PAIRS}).set_index(["block", "id"])
    assert [(i.block, i.id) for i in Suite.from_pandas(two)] == [("b", "x"), ("b", "y")]


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({"a": ["x"], "b": ["y"]}, {}, r"the data frame has the columns 'a', 'b', .*correct=\"COL"),
        (PAIRS, {"correct": "god"}, "has no column 'god', did you mean 'good'"),
        (PAIRS, {"corect": "good"}, "option 'corect' is unknown, did you mean 'correct'"),
        ({"sent0": ["a"] * 7, "sent1": ["b"] * 7, "label": [0] * 6 + [0.5]}, {},
         r"the data frame, row 7: column 'label' is '0.5', expected the number of a candidate"),
        ({"sent0": ["a"] * 3, "sent1": ["b"] * 3, "label": [0, None, 1]}, {},
         r"row 2: column 'label' is empty"),
        ({"sent0": ["a"] * 2, "sent1": ["b"] * 2, "label": [0, 2]}, {},
         r"row 2: item '2' has label 2, expected 0 to 1"),
        ({**PAIRS, "id": ["x", "x"]}, {}, r"row 2 has the id 'x' a second time \(see the data fra"),
        ({"good": [], "bad": []}, {}, "the data frame has no rows"),
        ({}, {}, "the data frame has no rows"),
        (PAIRS, {"name": ""}, "the name of a suite is ''"),
        (PAIRS, {"tags": 5}, "option 'tags' is 5, expected names"),
        ({"good": ["a", b"a box"], "bad": ["b", "c"]}, {},
         "row 2: column 'good' is .*, expected a text"),
        ({"options": [["a", np.nan], ["c", "d"]], "gold": [1, 0]}, {},
         "row 1: column 'options' is .*NaN.*, expected a list of texts"),
    ],
)  # fmt: skip
def test_bad_frames_are_one_sentence(frame, options, message):
    with pytest.raises(SuiteError, match=message):
        Suite.from_pandas(pd.DataFrame(frame), **options)


def test_what_is_no_frame():
    with pytest.raises(SuiteError, match="expected a data frame of pandas or Polars, found dict"):
        Suite.from_pandas(PAIRS)
    with pytest.raises(SuiteError, match="the column 'good' twice"):
        Suite.from_pandas(pd.DataFrame([["a", "b", "c"]], columns=["good", "good", "bad"]))


@settings(max_examples=40, deadline=None)
@given(suites())
def test_a_suite_is_the_same_after_a_frame(suite):
    for frame, read in (
        (suite.to_polars(), Suite.from_polars), (suite.to_pandas(), Suite.from_pandas),
    ):  # fmt: skip
        try:
            wanted = suite.validate().hash
        except SuiteError:
            with pytest.raises(SuiteError):
                read(frame, name=suite.name or "x")
        else:
            assert read(frame, name=suite.name or "x").hash == wanted


def test_a_public_suite_as_a_frame():
    suite = load_suite("starter")
    frame = suite.to_pandas()
    assert len(frame) == len(suite)
    assert list(frame["id"]) == [item.id for item in suite]
    assert Suite.from_pandas(frame).hash == suite.hash
    assert "premise" not in suite.where(part="sense").to_polars().columns
    assert any(isinstance(item, Entail) for item in load_suite("starter-graph"))
    assert Suite.from_pandas(load_suite("starter-graph").to_pandas()).hash == (
        load_suite("starter-graph").hash
    )


@pytest.mark.parametrize("read", [Suite.from_polars, Suite.from_pandas])
def test_tags_are_columns(read):
    """Those of later readers, too, whose columns are named apart."""
    first, second, third = small_suite(3)
    items = (
        replace(first, tags={"set": "A", "clear": "yes"}),
        replace(second, tags={}),
        replace(third, tags={"clear": "no"}),
    )
    suite = Suite("small", items, Card(language="en", reader_tags=("clear",)))
    frame = suite.to_polars() if read == Suite.from_polars else suite.to_pandas()
    assert list(frame.columns)[-2:] == ["tag:set", "reader-tag:clear"]
    again = read(frame, name="small")
    assert [item.tags for item in again] == [item.tags for item in suite]
    assert again.card.reader_tags == ("clear",)
    assert again.hash == suite.hash


def test_a_tag_may_have_any_name():
    item = replace(small_suite(1).items[0], tags={"\0": "a", "^x$": "b", "tag:y": "c", "": "d"})
    suite = Suite("odd", (item,))
    for again in (Suite.from_pandas(suite.to_pandas()), Suite.from_polars(suite.to_polars())):
        assert again.items == suite.items


def test_tags_as_json_are_read_as_well():
    frame = small_suite(2).to_polars().drop("tag:set")
    for cell, wanted in (('{"set": "B"}', {"set": "B"}), (None, {})):
        suite = Suite.from_polars(frame.with_columns(tags=pl.lit(cell)))
        assert [item.tags for item in suite] == [wanted, wanted]
    with pytest.raises(SuiteError, match="row 1: column 'tags' is 'B', expected a JSON object"):
        Suite.from_polars(frame.with_columns(tags=pl.lit("B")))
    with pytest.raises(SuiteError, match=r"row 1: tag 'set' is 1\.5, expected a string"):
        Suite.from_polars(frame.with_columns(pl.lit(1.5).alias("tag:set")))


def test_without_pandas_it_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SuiteError, match=r"pip install 'boxpen\[pandas\]'"):
        small_suite(2).to_pandas()
