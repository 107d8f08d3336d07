"""Headers that people have: read with no options, or refused with the command that reads them."""

from __future__ import annotations

import json
import shlex
import zipfile

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from boxpen.catalog import load_suite, read_suite
from boxpen.catalog.tables.cells import going_on
from boxpen.catalog.tables.golds import Label, right_candidates
from boxpen.catalog.tables.headers import import_command, recognised
from boxpen.cli.app import app
from boxpen.errors import SuiteError
from boxpen.items import Choice, Suite


@pytest.fixture
def read(tmp_path):
    """Read a table of rows in any of the formats."""

    def read(rows, ending=".jsonl", **options):
        path = tmp_path / f"mine{ending}"
        if ending == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        elif ending == ".parquet":
            pl.DataFrame(rows).write_parquet(path)
        else:
            pl.DataFrame(rows).write_csv(path)
        return read_suite(path, **options)

    return read


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_winogrande(read, ending):
    rows = [
        {"qID": "a-1", "sentence": "Ann left Eve as _ was tired.", "option1": "Ann",
         "option2": "Eve", "answer": "1"},
        {"qID": "a-2", "sentence": "Ann left Eve as _ was rude.", "option1": "Ann",
         "option2": "Eve", "answer": "2"},
    ]  # fmt: skip
    first, second = read(rows, ending)
    assert first.candidates == ("Ann left Eve as Ann was tired.", "Ann left Eve as Eve was tired.")
    assert (first.gold, second.gold) == (0, 1)


GAP = {"sentence": "Ann left Eve as _ was tired.", "option1": "Ann", "option2": "Eve"}


@pytest.mark.parametrize(("answers", "golds"), [("11", [0, 0]), ("2", [1]), ("AB", [0, 1])])
@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_answers_of_winogrande_count_from_one(read, ending, answers, golds):
    rows = [{**GAP, "answer": answer} for answer in answers]
    assert [item.gold for item in read(rows, ending)] == golds


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (3, "line 2: column 'answer' is '3', expected 1 to 2$"),
        (0, r"line 2: column 'answer' is '0', expected 1 to 2; if it counts from 0: "
            r"boxpen suite import .*mine.jsonl --out mine-suite.jsonl --gold-start 0$"),
        ("", "line 2: column 'answer' is empty, expected the number of a candidate, 1 for the"),
    ],
)  # fmt: skip
def test_an_answer_that_winogrande_cannot_have(read, answer, message):
    rows = [{**GAP, "answer": 1}, {**GAP, "answer": answer}]
    with pytest.raises(SuiteError, match=message):
        read(rows)
    if answer == 0:
        assert [item.gold for item in read(rows, gold_start=0)] == [1, 0]


@pytest.mark.parametrize(
    "names", [("option0", "option1", "answer"), ("option1", "option2", "label")]
)
def test_a_gap_with_other_names_counts_as_its_labels_do(read, names):
    one, other, gold = names
    rows = [{"sentence": "It is _.", one: "hot", other: "cold", gold: g} for g in (0, 1)]
    assert [item.gold for item in read(rows)] == [0, 1]


def test_wrong_candidates_in_a_list(read):
    rows = [{"correct": "a", "wrong": ["b", "c"]}, {"correct": "d", "wrong": ["e"]}]
    for ending in (".jsonl", ".parquet"):
        assert [item.candidates for item in read(rows, ending)] == [("a", "b", "c"), ("d", "e")]
    rows = [{"de": "s", "en": "t", "errors": ["u", "v"]}]
    [item] = read(rows, source="de", reference="en", contrast="errors")
    assert item.contrast == ("u", "v")


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_keys_of_objects(read, ending):
    errors = [{"text": "u", "type": "x"}, {"text": "v", "type": "y"}]
    rows = [{"de": {"text": "s"}, "en": "t", "errors": errors}]
    [item] = read(rows, ending, source="de.text", correct="en", wrong="errors.text", tags="de.text")
    assert (item.source, item.candidates) == ("s", ("t", "u", "v"))
    assert item.tags == {"de.text": "s"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("errors.txt", r"line 1: column 'errors.txt' is '\[null\]', expected a list of texts"),
        ("en.text", "line 1: column 'en' is '\"t\"', expected objects with the key 'text'"),
        ("error.text", "has no column 'error.text'"),
    ],
)
def test_keys_that_objects_do_not_have(read, wrong, message):
    with pytest.raises(SuiteError, match=message):
        read([{"en": "t", "errors": [{"text": "u"}]}], correct="en", wrong=wrong)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_copa(read, ending):
    rows = [
        {"premise": "The cup broke.", "choice1": "I dropped it.", "choice2": "It was full.",
         "question": "cause", "label": 0},
        {"premise": "The cup broke.", "choice1": "He cheered.", "choice2": "The tea ran out.",
         "question": "effect", "label": 1},
    ]  # fmt: skip
    first, second = read(rows, ending)
    assert first.context == "The cup broke because"
    assert first.candidates == ("I dropped it.", "it was full.")
    assert (first.gold, first.tags["question"]) == (0, "cause")
    assert second.context == "The cup broke so"
    assert (second.candidates, second.gold) == (("he cheered.", "the tea ran out."), 1)


COPA = {"premise": "Sam yawned.", "choice1": "Sam slept badly.", "choice2": "Sam ate an egg.",
        "question": "cause", "label": 0}  # fmt: skip


def test_english_is_recognised_in_the_choices_too(read, capsys):
    premises = ["Sam yawned.", "Ann laughed.", "Eve sneezed."]
    choices = ["I woke Sam up.", "Bo tickled Ann with a feather.", "Eve opened the pepper mill."]
    rows = [{**COPA, "premise": p, "choice1": c} for p, c in zip(premises, choices, strict=True)]
    assert [item.context for item in read(rows)] == [
        "Sam yawned because", "Ann laughed because", "Eve sneezed because",
    ]  # fmt: skip
    assert not capsys.readouterr().err


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_a_connective_that_is_left_out_is_noted_once(read, ending, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        suite = read([COPA, {**COPA, "label": 1}], ending)
    assert suite.items[0].context == "Sam yawned."
    (line,) = capsys.readouterr().err.splitlines()
    assert "the words for 'because' and 'so' are left out, so causes and effects" in line
    command = shlex.split(line.partition("with: boxpen ")[2])
    assert command[-2:] == ["--language", "en"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert read_suite(command[command.index("--out") + 1]).items[0].context == "Sam yawned because"


def test_a_connective_in_the_language_that_is_named(read, capsys):
    estonian = {"premise": "Ma tühjendasin oma taskud.", "choice1": "Ma leidsin pileti.",
                "choice2": "Ma leidsin relva.", "question": "effect", "label": 0}  # fmt: skip
    rows = [estonian, {**estonian, "label": 1}]
    item = read(rows, language="et").items[0]
    assert item.context == "Ma tühjendasin oma taskud seetõttu"
    assert item.candidates[0] == "ma leidsin pileti."
    assert not capsys.readouterr().err
    assert read(rows, language="fi").items[0].context == "Ma tühjendasin oma taskud."
    assert "does not know the words for 'because' and 'so' in 'fi'" in capsys.readouterr().err


def test_a_note_about_a_data_frame_names_the_argument(capsys):
    frame = pl.DataFrame([COPA, {**COPA, "label": 1}])
    Suite.from_polars(frame)
    assert 'name the language with: language="en"' in capsys.readouterr().err
    assert Suite.from_polars(frame, language="en").items[0].context == "Sam yawned because"


@pytest.mark.parametrize(
    ("language", "sentence", "expected"),
    [
        ("tr", "İp atladı.", "ip atladı."),
        ("tr", "Işığı açtım.", "ışığı açtım."),
        ("tr", "Uyudu.", "uyudu."),
        ("it", "Inciampò.", "inciampò."),
        ("en", "The cup", "the cup"),
        ("en", "Ice melted.", "Ice melted."),
        ("zh", "我", "我"),
        ("et", "", ""),
    ],
)
def test_a_sentence_that_goes_on(language, sentence, expected):
    assert going_on(sentence, language) == expected


def test_a_relation_that_is_neither_cause_nor_effect(read):
    row = {"premise": "p", "choice1": "a", "choice2": "b", "question": "why", "label": 0}
    with pytest.raises(SuiteError, match="line 1: column 'question' is 'why', expected cause or"):
        read([row])


def test_piqa(read):
    rows = [
        {"goal": "Cut it.", "sol1": "Use a knife.", "sol2": "Use soup.", "label": n} for n in (0, 1)
    ]
    first, second = read(rows, ".csv")
    assert first == Choice(
        id="1", context="Cut it.", candidates=("Use a knife.", "Use soup."), gold=0
    )
    assert second.gold == 1


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_hellaswag(read, ending):
    row = {"ind": 4, "activity_label": "Skiing", "ctx_a": "A man skis.", "ctx_b": "He",
           "ctx": "A man skis. He", "endings": ["turns.", "melts.", "sings.", "eats."],
           "source_id": "x", "split": "val", "split_type": "indomain", "label": "3"}  # fmt: skip
    rows = [row, row | {"label": "0"}]
    first, _ = read(rows, ending)
    assert (first.context, first.candidates[3], first.gold) == ("A man skis. He", "eats.", 3)
    assert first.tags == {"activity_label": "Skiing", "split_type": "indomain"}


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_choices_of_the_hub(read, ending):
    mmlu = {"question": "2 + 2?", "subject": "maths", "choices": ["3", "4", "5", "6"], "answer": 1}
    [item] = read([mmlu], ending, gold_start=0)
    assert (item.context, item.candidates, item.gold) == ("2 + 2?", ("3", "4", "5", "6"), 1)
    arc = {"id": "q", "question": "Hot?", "answerKey": "B",
           "choices": {"text": ["ice", "fire"], "label": ["A", "B"]}}  # fmt: skip
    [item] = read([arc], ending)
    assert (item.id, item.candidates, item.gold) == ("q", ("ice", "fire"), 1)
    numbered = arc | {"choices": {"text": ["ice", "fire"], "label": ["1", "2"]}, "answerKey": "2"}
    assert [item.gold for item in read([numbered], ending)] == [1]


def test_lists_in_a_csv_must_be_json(read, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('question,choices,label\nq,"[""a"", ""b""]",1\nq,"[""a"", ""b""]",0\n')
    assert [item.gold for item in read_suite(path)] == [1, 0]
    path.write_text("question,choices,label\nq,['a' 'b'],0\n")
    with pytest.raises(SuiteError, match=r"line 2: column 'choices' is .* best saved as \.jsonl"):
        read_suite(path)


@pytest.mark.parametrize(
    "header",
    [
        "sentence1,sentence2,label",  # GLUE: pairs to compare
        "passage,question,choice1,choice2,label",  # a text that nothing would follow
        "article,question,choices,answer",
        "option1,option2,choice1,choice2,label",  # two sets
        "text,label",
    ],
)
def test_what_is_not_certain_is_refused_with_a_command(tmp_path, header):
    path = tmp_path / "x.csv"
    path.write_text(header + "\n" + ",".join("0" for _ in header.split(",")) + "\n")
    with pytest.raises(SuiteError, match="say which columns they are with: boxpen suite import"):
        read_suite(path)


@pytest.mark.parametrize(
    "header",
    [
        "passage,question,choice1,choice2,label",
        "stem,opt_a,opt_b,opt_c,key",
        "prompt,chosen,rejected",
        "question,correct_answer,distractor1,distractor2",
    ],
)
def test_the_command_that_is_named_works(tmp_path, header, monkeypatch):

    monkeypatch.chdir(tmp_path)
    cells = ["1" if name in ("label", "key") else f"text of {name}" for name in header.split(",")]
    more = ["0" if name in ("label", "key") else f"more of {name}" for name in header.split(",")]
    (tmp_path / "x.csv").write_text("\n".join([header, ",".join(cells), ",".join(more)]) + "\n")
    with pytest.raises(SuiteError) as error:
        read_suite("x.csv")
    command = shlex.split(str(error.value).partition("with: boxpen ")[2])
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    item = read_suite("x.jsonl").items[0]
    shown = " ".join([item.context or "", *item.candidates])
    texts = [c for c in cells if c != "1"]
    assert all(text in shown for text in texts)


def naive_golds(labels, options):
    """The right candidates by trying both counts; None if both fit or neither does."""
    fits = [
        [n - start for n in labels]
        for start in (0, 1)
        if all(0 <= n - start < k for n, k in zip(labels, options, strict=True))
    ]
    return fits[0] if len(fits) == 1 else None


@given(st.lists(st.tuples(st.integers(2, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_where_labels_start_twin(rows):
    options, numbers = [k for k, _ in rows], [min(n, k) for k, n in rows]
    labels = [
        Label(f"row {i}", str(n), k) for i, (k, n) in enumerate(zip(options, numbers, strict=True))
    ]
    expected = naive_golds(numbers, options)
    if expected is None:
        with pytest.raises(SuiteError):
            right_candidates(labels, "label", None, "COMMAND")
    else:
        assert right_candidates(labels, "label", None, "COMMAND") == expected


@given(st.lists(st.text(max_size=12), max_size=6, unique=True))
def test_any_header_gets_an_answer(header):
    found = recognised(header)
    found.pop("gold_start", None)
    named = [c for v in found.values() for c in ((v,) if isinstance(v, str) else v)]
    assert set(named) <= set(header)
    assert import_command(header, "x.csv").startswith("boxpen suite import x.csv --out x.jsonl")


def test_published_files_as_they_are(mirror, tmp_path):
    winogrande = read_suite(mirror / "winogrande" / "dev.jsonl")
    labels = (mirror / "winogrande" / "dev-labels.lst").read_text().split()
    assert len(winogrande) == 1267
    assert [str(item.gold + 1) for item in winogrande] == labels
    assert all("_" not in c for item in winogrande for c in item.candidates)
    with zipfile.ZipFile(mirror / "blimp" / "BLiMP.zip") as archive:
        name = next(n for n in archive.namelist() if n.endswith("causative.jsonl"))
        (tmp_path / "causative.jsonl").write_bytes(archive.read(name))
    blimp = read_suite(tmp_path / "causative.jsonl")
    assert len(blimp) == 1000
    assert {item.gold for item in blimp} == {0}
    estonian = read_suite(mirror / "xcopa" / "data" / "et" / "test.et.jsonl")
    assert len(estonian) == 500
    assert {item.gold for item in estonian} == {0, 1}
    path = mirror / "xcopa" / "data" / "tr" / "test.tr.jsonl"
    texts = [(item.context, item.candidates) for item in read_suite(path, language="tr")]
    assert texts == [(i.context, i.candidates) for i in load_suite("xcopa.tr")]


def test_a_command_takes_such_a_file_directly(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "sentence,option1,option2,answer\nThe _ is hot.,sun,ice,1\nThe _ is cold.,sun,ice,2\n"
    )
    assert [item.gold for item in load_suite(str(path))] == [0, 1]


def test_a_command_takes_a_file_with_semicolons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "semi.csv").write_text("good;bad\nThe box, in the pen.;The pen, in the box.\n")
    words = ["suite", "import", "semi.csv", "--out", "semi.jsonl"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert load_suite("semi.jsonl").items == load_suite("semi.csv").items
    (tmp_path / "odd.csv").write_text("right answer;poor answer;x\na;b;1\n")
    with pytest.raises(SuiteError) as caught:
        load_suite("odd.csv")
    command = str(caught.value).partition(" with: ")[2].partition(" (or ")[0]
    named = command.replace("COLUMN", "'poor answer'")
    assert CliRunner().invoke(app, shlex.split(named)[1:]).exit_code == 0
