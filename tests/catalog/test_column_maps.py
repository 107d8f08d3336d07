"""A user's own tables: columns that are named, and columns that are recognised."""

import json
import re
import zipfile
from pathlib import Path

import polars as pl
import pytest

from boxpen.catalog import load_suite, read_suite, write_suite
from boxpen.items import Choice, Entail, Suite, Translate


@pytest.fixture
def read(tmp_path):
    def read(content, ending=".csv", **options):
        path = tmp_path / f"mine{ending}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_suite(path, **options)

    return read


def test_commonmt_is_read_with_no_options_at_all(data_dir, monkeypatch):
    monkeypatch.setenv("BOXPEN_MIRROR", str(data_dir))
    path = data_dir / "commonmt" / "lexical ambiguity.csv"
    mine, theirs = read_suite(path, block_size=2), load_suite("commonmt.LA")
    assert len(mine) == 400
    for a, b in zip(mine, theirs, strict=True):
        assert (a.source, a.candidates, a.gold) == (b.source, b.candidates, b.gold)
    assert list(map(len, mine.blocks().values())) == [2] * 200
    assert all(item.block is None for item in read_suite(path))


def test_correct_and_wrong(read):
    suite = read("Sentence_Correct, sentence_incorrect,id,other\na,b,q7,z\n")
    assert suite.items == (Choice(id="q7", candidates=("a", "b"), gold=0),)
    assert suite.name == "mine"


def test_correct_and_wrong_with_a_source(read):
    [item] = read("german source\tenglish correct\tenglish wrong\nja\tyes\tno\n", ".tsv")
    assert item == Choice(id="1", candidates=("yes", "no"), gold=0, source="ja")


@pytest.mark.parametrize("stem", ["sent", "sentence", "option", "candidate_"])
def test_numbered_columns(read, stem):
    suite = read(f"{stem}1,{stem}0,label\nb,a,1\nd,c,0\n")
    assert [item.candidates for item in suite] == [("a", "b"), ("c", "d")]
    assert [item.gold for item in suite] == [1, 0]


@pytest.mark.parametrize("named", [{}, {"candidates": ["option1", "option2"], "gold": "answer"}])
def test_labels_that_count_from_one(read, named):
    content = "answer,option1,option2\n2,a,b\n1,c,d\n"
    assert [item.gold for item in read(content, **named)] == [1, 0]
    [item] = read("answer,option1,option2\n1,a,b\n", gold_start=1, **named)
    assert (item.candidates, item.gold) == (("a", "b"), 0)


BLIMP = {
    "sentence_good": "Aaron breaks the glass.", "sentence_bad": "Aaron appeared the glass.",
    "field": "syntax", "linguistics_term": "argument_structure", "UID": "causative",
    "simple_LM_method": True, "one_prefix_word_good": "breaks", "one_prefix_word_bad": "appeared",
    "lexically_identical": False, "pairID": "0",
}  # fmt: skip


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize(
    ("good", "bad"), [("good", "bad"), ("Sentence_Good", "sentence_bad"), ("good", "bad_sentence")]
)
def test_good_and_bad(read, good, bad, ending):
    delimiter = "\t" if ending == ".tsv" else ","
    content = f"{good}{delimiter}{bad}\na{delimiter}b\n"
    if ending == ".jsonl":
        content = json.dumps({good: "a", bad: "b"}) + "\n"
    assert read(content, ending).items == (Choice(id="1", candidates=("a", "b"), gold=0),)


def test_blimp(read):
    tags = {"UID": "causative", "linguistics_term": "argument_structure", "field": "syntax"}
    other = {k: v for k, v in BLIMP.items() if not k.startswith("one_prefix")} | {"pairID": "1"}
    suite = read("".join(json.dumps(row) + "\n" for row in (BLIMP, other)), ".jsonl")
    pair = (BLIMP["sentence_good"], BLIMP["sentence_bad"])
    assert suite.items == tuple(
        Choice(id=id_, candidates=pair, gold=0, tags=tags) for id_ in ("1", "2")
    )


def test_the_files_of_blimp_are_read(data_dir, tmp_path):
    path = data_dir / "blimp" / "BLiMP.zip"
    if not path.is_file():
        pytest.skip("needs BLiMP")
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if re.fullmatch(r"data/\w+\.jsonl", n)]
        for name in names:
            (tmp_path / "blimp.jsonl").write_bytes(archive.read(name))
            suite = read_suite(tmp_path / "blimp.jsonl")
            assert len(suite) == 1000
            assert suite.tag_values()["UID"] == [Path(name).stem]
    assert len(names) == 67


def test_json_objects_with_named_keys(read):
    content = '{"n": 7, "chosen": "a", "rejected": "b", "why": ["x"]}\n'
    [item] = read(content, ".jsonl", correct="chosen", wrong="rejected", id="n", language="en")
    assert item == Choice(id="7", candidates=("a", "b"), gold=0)


def test_entailment(read):
    suite = read("premise,hypothesis,label\np,h,Entailment\n", language="en")
    assert suite.items == (Entail(id="1", premise="p", hypothesis="h", label="entailment"),)
    assert suite.card.language == "en"


def test_translation(read):
    content = "de,en,bad,before\nja,yes,no,bitte\nnein,no,,\n"
    options = {"source": "de", "reference": "en", "contrast": ["bad"], "context": "before"}
    first, second = read(content, **options)
    assert first == Translate(
        id="1", source="ja", reference="yes", contrast=("no",), context="bitte"
    )
    assert second == Translate(id="2", source="nein", reference="no")


def test_a_reference_with_wrong_ones_is_a_choice(read):
    [item] = read("de,en,bad\nja,yes,no\n", source="de", reference="en", wrong="bad")
    assert item == Choice(id="1", source="ja", candidates=("yes", "no"), gold=0)


def test_every_option_at_once(read):
    content = "n,b,s,c,x,y,z,g,topic,tag:level\n7,k,S,C,p,q,,1,food,easy\n"
    [item] = read(
        content,
        id="n",
        block="b",
        source="s",
        context="c",
        candidates=["x", "y", "z"],
        gold="g",
        gold_start=0,
        tags=["topic"],
        wrong=None,
    )
    assert item == Choice(
        id="7",
        block="k",
        source="S",
        context="C",
        candidates=("p", "q"),
        gold=1,
        tags={"topic": "food", "level": "easy"},
    )


def test_byte_order_mark_crlf_quotes_and_edges(read):
    content = b'\xef\xbb\xbfa_correct,a_wrong\r\n" x, ""y""\nz ",b\r\n\r\nc,d'
    first, second = read(content)
    assert first.candidates == (' x, "y"\nz ', "b")
    assert second.candidates == ("c", "d")


@pytest.mark.parametrize("separator", ",;\t")
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
@pytest.mark.parametrize("header", ["good{0}bad{0}x", '\n"good"{0}bad{0}"tag:a,b;c\td"'])
def test_the_header_line_tells_the_separator(read, header, ending, separator):
    rows = [header, '"A, a; a"{0}b{0}1', "c{0}d{0}2"]
    table = "".join(row.format(separator) + "\n" for row in rows)
    assert [item.candidates for item in read(table, ending)] == [("A, a; a", "b"), ("c", "d")]


def test_boxpens_own_table_may_have_any_separator_in_the_name_of_a_tag(tmp_path):
    tags = {"a;b;c;d;e;f;g;h": "1", "i\tj": "2"}
    suite = Suite("own", (Choice(id="1", candidates=("x; y", "z"), gold=0, tags=tags),))
    for ending in (".csv", ".tsv"):
        write_suite(suite, tmp_path / f"own{ending}")
        assert read_suite(tmp_path / f"own{ending}").items == suite.items


def test_a_parquet_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.parquet"
    pl.DataFrame({"good": ["a", "c"], "bad": ["b", "d"], "gold": [0, 1]}).write_parquet(path)
    suite = read_suite(path, candidates=["good", "bad"], gold="gold", block_size=2)
    assert [(i.candidates, i.gold, i.block) for i in suite] == [
        (("a", "b"), 0, "1"),
        (("c", "d"), 1, "1"),
    ]
