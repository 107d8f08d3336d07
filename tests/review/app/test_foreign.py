"""Judgements from elsewhere: journals, and exports of Label Studio, doccano and Pearmut."""

from __future__ import annotations

import json

import pytest
from campaigns import Words, suite

from boxpen.analysis.translation_errors import ErrorTask, Output
from boxpen.errors import BuildError
from boxpen.review import Journal, Judgement, Question, import_sheets
from boxpen.review.answers import AnswerTask


@pytest.fixture
def imported(tmp_path):
    def run(task, data, judge=None):
        path = tmp_path / "export.json"
        lines = isinstance(data, tuple)
        text = "\n".join(map(json.dumps, data)) if lines else json.dumps(data)
        path.write_text(text, "utf-8")
        journal = Journal(tmp_path / "journal.jsonl")
        done = import_sheets(
            [path], task.questions(), task.verdicts, journal, judge=judge, check=task.check
        )
        return [(one.item, one.judge, one.verdict, one.edit, one.comment) for one in done.added]

    return run


def label_studio(item, *choices, who=3, **texts):
    result = [{"from_name": "verdict", "to_name": "text", "type": "choices",
               "value": {"choices": list(choices)}}]  # fmt: skip
    result += [
        {"from_name": name, "to_name": "text", "type": "textarea", "value": {"text": [text]}}
        for name, text in texts.items()
    ]
    return {"id": 1, "data": {"item": item, "text": "…"}, "annotations": [
        {"id": 7, "completed_by": who, "was_cancelled": False, "result": result,
         "created_at": "2026-01-05T10:00:00Z", "lead_time": 4.2}]}  # fmt: skip


def test_label_studio(imported):
    skipped = label_studio("w/2", "reject")
    skipped["annotations"][0]["was_cancelled"] = True
    data = [
        label_studio("w/0", "Accept", comment="clear"),
        label_studio("w/1", "edit", who={"id": 4, "email": "bo@example.org"}, edit="better"),
        skipped,
    ]
    assert imported(Words(), data) == [
        ("w/0", "3", "accept", "", "clear"),
        ("w/1", "bo@example.org", "edit", "better", ""),
    ]


def test_doccano(imported):
    rows = (
        {"id": 1, "text": "…", "item": "i0", "label": ["Ice is hot, 0."], "Comments": ["odd"]},
        {"id": 2, "text": "…", "meta": {"item": "i1"}, "labels": ["1"], "username": "cy"},
        {"id": 3, "text": "…", "item": "i2", "label": []},
    )
    assert imported(AnswerTask(suite()), rows, judge="ann") == [
        ("i0", "ann", "2", "", "odd"),
        ("i1", "cy", "1", "", ""),
    ]


def test_pearmut(imported):
    texts = {"A": "Ice is hot, 3.", "B": "The sun is hot, 3."}
    scores = {"A": {"score": 20, "error_spans": []}, "B": {"score": 90, "error_spans": []}}
    log = {"user_id": "quick-fox", "item_i": 0, "annotation": [scores],
           "item": [{"item_id": "i3", "src": "", "tgt": texts}]}  # fmt: skip
    again = {**log, "annotation": "__RESET__"}
    assert imported(AnswerTask(suite()), {"camp": [log, again]}) == [
        ("i3", "quick-fox", "1", "", "")
    ]


def test_pearmut_categories_are_types_of_errors(imported):
    shown = {"source": "x", "reference": "y", "wrong": "z", "translation": "t"}
    made = [Output("s", n, Question(n, shown, unit=n), n, None) for n in ("a", "b")]
    spans = [{"start_i": 0, "end_i": 2, "severity": "major", "category": "Meaning/common sense"},
             {"start_i": 4, "end_i": 5, "severity": "minor", "category": "other"}]  # fmt: skip
    logs = [
        {"user_id": "u", "item_i": 0, "item": [{"item_id": "a"}, {"item_id": "b"}],
         "annotation": [{"m": {"score": 3, "error_spans": spans, "textfield": "hm"}},
                        {"m": {"score": 99, "error_spans": []}}]}
    ]  # fmt: skip
    assert imported(ErrorTask(made), {"camp": logs}) == [
        ("a", "u", "common sense+other", "", "hm"),
        ("b", "u", "right", "", ""),
    ]


def test_a_journal_into_another(imported, tmp_path):
    source = Journal(tmp_path / "source.jsonl")
    digest = Words().questions()[0].digest
    source.append([
        Judgement("w/0", "ann", "reject"), Judgement("w/0", "ann", "accept", seen=digest),
        Judgement("w/1", "bo", "edit", "better", "why", time="2026"),
    ])  # fmt: skip
    task, journal = Words(), Journal(tmp_path / "to.jsonl")
    for known in (0, 2):
        done = import_sheets([source.path], task.questions(), task.verdicts, journal)
        assert done.known == known
    assert [(o.item, o.verdict, o.time) for o in journal.read().judgements] == [
        ("w/0", "accept", None), ("w/1", "edit", "2026"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([{"id": 1, "text": "flat", "choice": "accept"}], "not JSON-MIN"),
        ([label_studio("w/99", "accept")], "has the item 'w/99', expected one of this table"),
        ([label_studio(None, "accept")], "has no 'item'"),
        ([label_studio("w/0", "great")], "has the label 'great', expected accept"),
        ([label_studio("w/0", "accept", "reject")], "label 'accept\\+reject'"),
        ([label_studio("w/0", "edit")], "expected the new text with it"),
        ([label_studio("w/0", "accept", other="x")], "text areas named 'edit' and 'comment'"),
        ([label_studio("w/0", "accept", who="a\nb")], "without control characters"),
        (({"item": "w/0", "label": [[0, 3, "PER"]]},), "those of a text classification"),
        (({"item": "w/0", "label": ["accept"]},), "names no judge; give --judge"),
        ({"camp": 3, "x": []}, "the label 'null', expected those of a text"),
        ({"camp": [{"user_id": "u", "annotation": [{}], "item": []}]}, "expected one per"),
        (({"item": "w/0", "judge": "ann", "verdict": "great"},), "the verdict 'great'"),
        (({"item": "w/0", "judge": "ann", "verdict": "accept", "seen": "dx"},), "other texts"),
        (({"a": 1}, {"b": 2}), "expected those of a text classification"),
        ([{"data": ["w/0"], "annotations": []}], "is not a journal, nor an export"),
        ([{"data": {"item": "w/0"}, "annotations": [3]}], "is not a journal, nor an export"),
        ({"camp": [["x"]]}, "is not a journal, nor an export"),
    ],
)
def test_what_does_not_fit_is_refused(imported, tmp_path, data, why):
    with pytest.raises(BuildError, match=why):
        imported(Words(), data)
    assert not (tmp_path / "journal.jsonl").exists()
