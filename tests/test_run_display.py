"""Runs, suites and plans as a person sees them in a shell or a notebook, and as data frames."""

from __future__ import annotations

import sys
from dataclasses import asdict, fields, replace

import numpy as np
import polars as pl
import pytest

from boxpen import RunError, Suite, audit, compare, lint, stats
from boxpen.metrics.summary import Translation
from boxpen.plans import plan
from boxpen.scoring.verdicts import Verdict
from small_runs import Liking, small_run, small_suite


@pytest.fixture
def run():
    return small_run("++-=")


def test_a_run_is_three_lines(run):
    first, second, third = repr(run).splitlines()
    accuracy = next(row for row in run.summary() if row.metric == "accuracy")
    assert first == "small × one"
    assert second == f"4 items, accuracy 0.625 [{accuracy.low:.3f}, {accuracy.high:.3f}]"
    assert third == run.signature


def test_a_notebook_gets_a_table_without_markup_of_others():
    html = small_run("+-", suite="<b>&x", model="<script>")._repr_html_()
    assert html.startswith("<table><tr><th>suite</th><td>&lt;b&gt;&amp;x</td></tr>")
    assert "<script>" not in html
    assert "<th>both right</th><td>– (n = " in html  # of fewer than ten blocks


def test_suites_and_plans_are_one_line():
    suite = small_suite(4)
    assert repr(suite) == "Suite('small', 4 items, 2 blocks)"
    made = plan(Liking("one", set()), suite)
    assert repr(made) == "Plan(small × one, 4 items to judge, 0 left out)"


def test_verdicts_are_a_frame(run):
    frame = run.to_polars()
    assert frame.columns == [f.name for f in fields(Verdict) if f.name != "tags"] + ["tag:set"]
    for row, verdict in zip(frame.to_dicts(), run.verdicts, strict=True):
        wanted = asdict(verdict) | {"scores": list(verdict.scores), "also": list(verdict.also)}
        assert wanted.pop("tags") == {"set": row.pop("tag:set")}
        assert row == wanted
    assert frame["credit"].mean() == 0.625


def test_frames_are_the_files_of_the_run_directory(run, tmp_path):
    place = run.save(tmp_path)
    for table in ("verdicts", "records", "translations"):
        stored = pl.read_parquet(place / f"{table}.parquet")
        frame = run.to_polars(table)
        assert frame.drop(pl.col("^tag:.*$")).equals(stored.drop("tags", strict=False))


def test_a_frame_of_translations_is_a_suite_with_the_same_tags(run):
    tags = [{"set": "A", "": "x"}, {}, {"by": "us"}]
    made = [Translation(f"t{n}", "s", "r", "t", "en", each) for n, each in enumerate(tags)]
    frame = replace(run, translations=tuple(made)).to_polars("translations")
    assert frame.columns[-3:] == ["tag:set", "tag:", "tag:by"]
    suite = Suite.from_polars(frame, id="id", source="source", reference="reference")
    assert [item.tags for item in suite] == tags
    assert [item.id for item in suite] == ["t0", "t1", "t2"]


def test_a_model_is_one_line():
    model = Liking("one", set())
    assert repr(model) == "Liking('one', causal, float32)"
    model.device = "cpu"
    assert repr(model) == "Liking('one', causal, float32, cpu)"


def test_a_long_list_of_results_is_shown_by_its_first_rows(run):
    rows = run.summary()
    lines = repr(rows).splitlines()
    assert len(rows) > 10
    assert lines[:10] == [repr(row) for row in rows[:10]]
    assert lines[10:] == [f"… and {len(rows) - 10} more"]
    assert repr(type(rows)(rows[:2])) == f"{rows[0]!r}\n{rows[1]!r}"
    assert repr(type(rows)()) == "[]"


def test_tokens_are_one_row_each(run):
    run = replace(run, tokens={ord("r"): "r", ord("i"): "i"})
    frame = run.to_polars("tokens")
    assert frame.columns == [
        *("item", "candidate", "role", "position", "token_id", "token", "logprob")
    ]
    first = frame.filter(pl.col("item") == "i0", pl.col("candidate") == 0)
    assert bytes(first["token_id"]).decode() == "right 0"
    assert first["token"].to_list() == ["r", "i", None, None, None, None, None]
    assert first["position"].to_list() == list(range(7))
    np.testing.assert_array_equal(first["logprob"], run.candidates["i0"][0].record.logprobs)
    assert len(frame) == sum(len(s.record.token_ids) for c in run.candidates.values() for s in c)


def test_an_unknown_table_is_one_sentence(run):
    with pytest.raises(RunError, match="table 'verdict' is unknown, did you mean 'verdicts'"):
        run.to_polars("verdict")


def test_tables_are_frames_of_pandas_too(run, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    for table in ("verdicts", "records", "tokens", "answers"):
        frame = run.to_pandas(table)
        assert list(frame.columns) == run.to_polars(table).columns
        assert len(frame) == run.to_polars(table).height
    assert run.to_pandas()["credit"].mean() == 0.625
    assert list(run.to_pandas("records")["logprobs"][0]) == list(
        run.candidates["i0"][0].record.logprobs
    )
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(RunError, match=r"pip install 'boxpen\[pandas\]'"):
        run.to_pandas()


def test_results_are_one_line_each_and_a_table_in_a_notebook():
    hostile = "<script>"
    suite = small_suite(12, name=hostile)
    one = small_run("+" * 10 + "--", suite=hostile)
    two = small_run("+-" * 6, suite=hostile, model="<b>two")
    results = {
        "compare": compare(one, two),
        "audit": audit(suite),
        "stats": stats(suite),
        "summary": one.summary(),
        "lint": lint(suite),
    }
    for found in results.values():
        assert all("\n" not in repr(row) and len(repr(row)) < 160 for row in found)
        html = found._repr_html_()
        assert html.count("<tr>") == len(found) + 1
        assert "<script>" not in html
        assert "<b>" not in html
        assert isinstance(found, list)
    assert repr(results["compare"][0]).startswith("<script>: one − <b>two = +0.333 [")
    assert repr(results["stats"][-1]).startswith("TOTAL: 12 items; sentences / tokens: right 12 / ")
    assert repr(results["summary"][0]).startswith("<script> × one, all: accuracy 0.833 [")
    assert repr(results["audit"][0]).startswith("all: longest ")
    assert "<script>" not in suite._repr_html_()
    assert "&lt;script&gt;@" in suite._repr_html_()
    assert "12 choice" in suite._repr_html_()
