"""Ratios of benchmarks: kept by commit, and a fall of over a tenth fails the report."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
history = pytest.importorskip("history")
report = pytest.importorskip("report")

MACHINE = {"cpu": "A CPU", "cores": 2, "threads": 2, "torch": "2.13.0"}


def measured(ours, theirs, date="2026-01-01T00:00Z", texts=300, model="smollm2", **changed):
    rows = [
        {"tool": "boxpen", "part": "all", "texts": 1000, "rounds": [900.0]},
        {"tool": "boxpen", "part": "share", "texts": texts, "rounds": ours},
        {"tool": "loop", "part": "share", "texts": texts, "rounds": theirs},
    ]
    named = {"date": date, "commit": "abc", "model": model, "machine": MACHINE | changed}
    return {"causal": {"rows": rows, **named}}


def test_a_ratio_is_the_middle_of_its_rounds(tmp_path, capsys):
    path = tmp_path / "history.jsonl"
    assert report.record(measured([10, 10, 10], [20, 30, 24]), path) == []
    (kept,) = map(json.loads, path.read_text().splitlines())
    assert (kept["ratio"], kept["low"], kept["high"]) == (2.4, 2.0, 3.0)
    assert (kept["task"], kept["peer"], kept["commit"]) == ("causal", "loop", "abc")
    assert "| causal | loop | 300 | 2.40× (2.00-3.00) | 3 | 2026-01-01T00:00Z | abc | – |" in (
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


def test_a_fall_is_not_kept_and_fails_every_time(tmp_path):
    path = tmp_path / "history.jsonl"
    report.record(measured([10], [24]), path)
    for day in ("02", "02", "03"):
        assert report.record(measured([10], [12], f"2026-01-{day}T00:00Z"), path)
    assert len(path.read_text().splitlines()) == 1


def test_small_falls_add_up(tmp_path):
    path = tmp_path / "history.jsonl"
    falls = [
        bool(report.record(measured([10], [30 * 0.91**n], f"2026-01-{n + 1:02}T00:00Z"), path))
        for n in range(4)
    ]
    assert falls == [False, False, True, True]


def test_an_accepted_fall_is_what_later_ones_are_compared_with(tmp_path):
    path = tmp_path / "history.jsonl"
    report.record(measured([10], [24]), path)
    assert report.record(measured([10], [12], "2026-01-02T00:00Z"), path, accept=True) == []
    assert report.record(measured([10], [12], "2026-01-03T00:00Z"), path) == []
    assert report.record(measured([10], [10], "2026-01-04T00:00Z"), path)
    kept = [(one["ratio"], one["accepted"]) for one in map(json.loads, path.open())]
    assert kept == [(2.4, False), (1.2, True), (1.2, False)]


@pytest.mark.parametrize(
    "other", [{"cores": 8}, {"texts": 64}, {"model": "another"}, {"torch": "2.14.0"}]
)
def test_only_the_same_texts_model_and_machine_are_compared(other, tmp_path):
    path = tmp_path / "history.jsonl"
    report.record(measured([10], [24]), path)
    assert report.record(measured([10], [12], "2026-01-02T00:00Z", **other), path) == []


def test_the_committed_history_can_fail(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_bytes(report.HISTORY.read_bytes())
    (first,) = (one for one in history.read(path) if one.task == "causal")
    found = measured([10], [10 * first.ratio / 2], "2027-01-01T00:00Z", first.texts, first.model)
    found["causal"]["rows"][2]["tool"] = first.peer
    found["causal"]["machine"] = {
        "cpu": "AMD EPYC", "cores": 2, "threads": 1, "clock": "cpu", "torch": first.torch,
    }  # fmt: skip
    assert report.record(found, path) == ["causal (lm-eval)"]


def test_without_boxpen_there_is_no_ratio(tmp_path, monkeypatch, capsys):
    found = measured([10], [24])
    found["causal"]["rows"] = found["causal"]["rows"][2:]
    found["fast"] = found["causal"] | {"rows": [{"suite": "starter"}]}
    assert report.record(found, tmp_path / "history.jsonl") == []
    speed = pytest.importorskip("speed")
    monkeypatch.setattr(sys, "argv", ["speed.py", "--tools", "loop"])
    with pytest.raises(SystemExit) as caught:
        speed.main()
    assert caught.value.code == 2
    assert "--tools needs boxpen" in capsys.readouterr().err


def test_measurements_without_a_date_are_left_out(tmp_path):
    found = measured([10], [24])
    del found["causal"]["date"]
    assert report.record(found, tmp_path / "history.jsonl") == []
    assert not (tmp_path / "history.jsonl").read_text()
