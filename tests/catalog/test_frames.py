"""Original data sets in the frames of CATs."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import takewhile
from pathlib import Path

import pytest

from boxpen.catalog import load_suite
from boxpen.catalog.frames import read_frame
from boxpen.errors import SuiteError

WSC = "wsc/WSCollection.xml"
SCHEMA = """<schema><text><txt1>
 The crate did not fit
on the cart because</txt1><pron> {pron} </pron><txt2> {end}
</txt2></text><answers><answer>The crate </answer><answer> Rosa</answer></answers>
<correctAnswer> {right}. </correctAnswer></schema>"""


def wsc(folder: Path, *schemas: str) -> Path:
    path = folder / "WSCollection.xml"
    path.write_text(f"<collection>{''.join(schemas)}</collection>", "utf-8")
    return path


def test_schemas_become_sentences(tmp_path):
    first = SCHEMA.format(pron="it", end="was large.", right="A")
    second = SCHEMA.format(pron="her", end="cart broke.", right="B")
    path = wsc(tmp_path, first, second)
    clean, paper = (read_frame(path, name).items for name in ("wsc", "wsc-paper"))
    start = "The crate did not fit on the cart because "
    assert clean[0].candidates == (f"{start}the crate was large.", f"{start}Rosa was large.")
    assert clean[1].candidates[1] == f"{start}Rosa's cart broke."
    assert [item.gold for item in clean] == [0, 1]
    assert {item.block for item in clean} == {"wsc-001"}
    assert paper[0].candidates[1] == "The crate did not fiton the cart because rosa was large."


def test_other_schemas_with_the_same_answers_are_another_block(tmp_path):
    first = SCHEMA.format(pron="it", end="was large.", right="A")
    other = first.replace("did not fit", "fell").replace("was large", "was loose")
    path = wsc(tmp_path, first, first.replace("not fit", "fit"), other)
    assert [item.block for item in read_frame(path, "wsc")] == ["wsc-001", "wsc-001", "wsc-003"]


def test_blocks_of_the_winograd_schemas(mirror):
    sizes = Counter(len(b) for b in read_frame(mirror / WSC, "wsc").blocks().values())
    assert sizes == {2: 136, 1: 8, 3: 1}


def test_arguments_become_sentences(tmp_path):
    path = tmp_path / "test.tsv"
    head = "#id\twarrant0\twarrant1\tcorrectLabelW0orW1\treason\tclaim"
    path.write_text(f'{head}\nx1\tsoup is hot\tsoup is "cold"\t1\tIt snows.\tEat soup\n', "utf-8")
    [item] = read_frame(path, "arct").items
    assert (item.id, item.gold) == ("x1", 1)
    assert item.candidates == (
        "It snows, and since soup is hot, Eat soup",
        'It snows, but since soup is "cold", Eat soup',
    )


def test_endings_follow_their_beginning(tmp_path):
    path = tmp_path / "val.csv"
    path.write_text(
        "video-id,startphrase,sent1,sent2,ending0,ending1,ending2,ending3,label\n"
        'v,"He opens, slowly, the box. He",He opens the box.,He,eats it.,sings.,looks in.,naps.,2\n'
    )
    [item] = read_frame(path, "swag").items
    assert item.gold == 2
    assert item.candidates[2] == "He opens, slowly, the box. He looks in."


@pytest.mark.parametrize(
    ("frame", "text", "message"),
    [
        ("wsc", "<collection/>", "has no <schema>"),
        ("wsc", "plain", "is not the XML of Winograd schemas"),
        ("wsc", '<?xml version="1.0" encoding="none"?><c/>', "schemas .unknown encoding: none"),
        ("wsc", '<?xml version="1.0" encoding="big5"?><c/>', "multi-byte encodings are not"),
        ("wsc", f"<c>{SCHEMA.format(pron='it', end='x', right='C')}</c>", "schema 1 has 2 answer"),
        ("arct", "#id\twarrant0\n", "has no column 'warrant1'"),
        ("swag", "startphrase,ending0,ending1,ending2,ending3,label\na,b,c\n", "line 2 has 3 cell"),
        ("swag", "startphrase,ending0,ending1,ending2,ending3,label\na,b,c,d,e,7\n", "label '7'"),
        ("swog", "", "there is no frame 'swog', did you mean 'swag'"),
    ],
)
def test_other_files_are_refused(tmp_path, frame, text, message):
    path = tmp_path / "file"
    path.write_text(text, "utf-8")
    with pytest.raises(SuiteError, match=message):
        read_frame(path, frame)


@pytest.mark.parametrize(
    ("frame", "file", "suite", "same"),
    [
        ("wsc-paper", WSC, "cats.wsc", 277),  # of 283: two are not in the XML
        ("arct", "arct/test.tsv", "cats.arct1", 444),
        ("arct", "arct/test.tsv", "cats.arct2", 444),  # of 888: half are negated claims
    ],
)
def test_frames_equal_the_published_rows(mirror, frame, file, suite, same):
    made = {(item.candidates, item.gold) for item in read_frame(mirror / file, frame)}
    assert sum((item.candidates, item.gold) in made for item in load_suite(suite)) == same


def test_swag_frames_equal_the_published_rows(mirror, tmp_path):
    """Split the rows of CATs as SWAG publishes them, and put them together again."""
    published = load_suite("cats.swag").items
    path = tmp_path / "val.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        sheet = csv.writer(stream)
        sheet.writerow(["startphrase", "ending0", "ending1", "ending2", "ending3", "label"])
        for item in published:
            columns = zip(*(text.split(" ") for text in item.candidates), strict=False)
            start = " ".join(words[0] for words in takewhile(lambda w: len(set(w)) == 1, columns))
            sheet.writerow([start, *(c[len(start) + 1 :] for c in item.candidates), item.gold])
    made = read_frame(path, "swag").items
    assert [(m.candidates, m.gold) for m in made] == [(p.candidates, p.gold) for p in published]
