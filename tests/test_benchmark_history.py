"""Ratios of benchmarks: kept by commit, and a fall of over a tenth fails the report."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
history = pytest.importorskip("history")
report = pytest.importorskip("report")

MACHINE = {"cpu": "A CPU", "cores": 2, "threads": 2}


def measured(ours, theirs, date="2026-01-01T00:00Z", **changed):
    rows = [
        {"tool": "boxpen", "part": "all", "rounds": [900.0]},
        {"tool": "boxpen", "part": "share", "rounds": ours},
        {"tool": "loop", "part": "share", "rounds": theirs},
    ]
    named = {"date": date, "commit": "abc", "machine": MACHINE | changed}
    return {"causal": {"rows": rows, **named}}


def test_a_ratio_is_the_middle_of_its_rounds(tmp_path, capsys):
    path = tmp_path / "history.jsonl"
    assert report.record(measured([10, 10, 10], [20, 30, 24]), path) == []
    (kept,) = map(json.loads, path.read_text().splitlines())
    assert (kept["ratio"], kept["low"], kept["high"]) == (2.4, 2.0, 3.0)
    assert (kept["task"], kept["peer"], kept["commit"]) == ("causal", "loop", "abc")
    assert "| causal | loop | 2.40× (2.00-3.00) | 3 | 2026-01-01T00:00Z | abc | – |" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("theirs", "falls"),
    [([22, 22], False), ([21, 21], True), ([18, 22], False)],  # 24 before; a tenth less is 21.6
)
def test_only_a_fall_in_every_round_counts(theirs, falls, tmp_path):
    path = tmp_path / "history.jsonl"
    report.record(measured([10, 10], [24, 24]), path)
    behind = report.record(measured([10, 10], theirs, "2026-01-02T00:00Z"), path)
    assert behind == (["causal (loop)"] if falls else [])


def test_the_same_measurement_is_kept_once_and_still_fails(tmp_path):
    path = tmp_path / "history.jsonl"
    report.record(measured([10], [24]), path)
    for _ in range(2):
        assert report.record(measured([10], [12], "2026-01-02T00:00Z"), path)
    assert len(path.read_text().splitlines()) == 2


def test_other_machines_are_not_compared(tmp_path):
    path = tmp_path / "history.jsonl"
    report.record(measured([10], [24]), path)
    assert report.record(measured([10], [12], "2026-01-02T00:00Z", cores=8), path) == []


def test_measurements_without_a_date_are_left_out(tmp_path):
    found = measured([10], [24])
    del found["causal"]["date"]
    assert report.record(found, tmp_path / "history.jsonl") == []
    assert not (tmp_path / "history.jsonl").read_text()
