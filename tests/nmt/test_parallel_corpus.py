"""Parallel text: what is read, from which line, and what is refused."""

import bz2
import gzip
import lzma
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.config import check_config
from boxpen.errors import ConfigError, NmtError
from boxpen.text.corpus import CorpusSpec, Pair, read_pairs


def read(spec):
    counts = Counter()
    return list(read_pairs(spec, counts)), counts


def two_files(folder, source, target, **more):
    (folder / "a.zh").write_bytes(source)
    (folder / "a.en").write_bytes(target)
    return CorpusSpec("toy", source=folder / "a.zh", target=folder / "a.en", **more)


def table(folder, content, name="a.tsv", **more):
    (folder / name).write_bytes(content)
    return CorpusSpec("toy", tsv=folder / name, **more)


def test_two_files(tmp_path):
    spec = two_files(tmp_path, "\ufeff一\r\n二\n三".encode(), "\ufeffone\ntwo\r\nthree\n".encode())
    pairs, counts = read(spec)
    assert pairs == [
        Pair("一", "one", None, 1, "toy"),
        Pair("二", "two", None, 2, "toy"),
        Pair("三", "three", None, 3, "toy"),
    ]
    assert counts == {"lines": 3}


def test_a_table_with_columns_and_documents(tmp_path):
    content = "d1\t0\tone\t一\nd1\t1\ttwo\t二\td2\nd2\t0\tthree\t三\n".encode()
    columns = {"source": 3, "target": 2, "doc": 0}
    spec = table(tmp_path, content, columns=columns, documents="column")
    assert [(p.source, p.target, p.doc, p.line) for p in read(spec)[0]] == [
        ("一", "one", "d1", 1),
        ("二", "two", "d1", 2),
        ("三", "three", "d2", 3),
    ]
    quiet = table(tmp_path, content, columns=columns)
    assert {p.doc for p in read(quiet)[0]} == {None}


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.tsv.xz", "a.tsv.bz2"])
def test_an_empty_compressed_file_is_damaged(tmp_path, name):
    with pytest.raises(NmtError, match=f"{name} is empty, expected compressed text; download it"):
        read(table(tmp_path, b"", name))


def test_empty_lines_end_documents(tmp_path):
    source = "\n\n一\n二\n\n \n\n\n四\n".encode()
    target = b"\n\none\ntwo\n\n\n\t\n\nfour\n"
    pairs, counts = read(two_files(tmp_path, source, target, documents="blank"))
    assert [(p.source, p.doc, p.line) for p in pairs] == [
        ("一", "1", 3),
        ("二", "1", 4),
        ("四", "2", 9),
    ]
    assert counts == {"lines": 9}

    pairs, counts = read(two_files(tmp_path, source, target))
    assert [p.line for p in pairs] == [3, 4, 9]
    assert counts == {"lines": 9, "empty": 6}

    spec = table(tmp_path, "一\tone\n\n二\ttwo\n\t\n \t \n四\tfour\n".encode(), documents="blank")
    pairs, counts = read(spec)
    assert [(p.source, p.doc, p.line) for p in pairs] == [
        ("一", "1", 1),
        ("二", "2", 3),
        ("四", "3", 6),
    ]
    assert counts["empty"] == 0


def test_a_line_that_is_empty_on_one_side_ends_no_document(tmp_path):
    source, target = "一\n\n三\n \n五\n".encode(), b"one\n\nthree\nfour\nfive\n"
    said = r"line 4: the source is empty and the other side is not; .* expected both or neither"
    with pytest.raises(NmtError, match=rf"a\.zh, {said}"):
        read(two_files(tmp_path, source, target, documents="blank"))
    said = said.replace("source", "target")
    with pytest.raises(NmtError, match=rf"a\.en, {said}"):
        read(two_files(tmp_path, target, source, documents="blank"))
    rows = "一\tone\n\n三\tthree\n四\t\n".encode()
    with pytest.raises(NmtError, match=rf"a\.tsv, {said}"):
        read(table(tmp_path, rows, documents="blank"))
    assert len(read(table(tmp_path, rows, documents="blank", limit=2))[0]) == 2
    # Where no line ends a document, such a pair is only left out.
    pairs, counts = read(table(tmp_path, rows))
    assert [p.line for p in pairs] == [1, 3]
    assert counts == {"lines": 4, "empty": 2}


def test_only_a_line_feed_ends_a_line(tmp_path):
    odd = "一\u2028二\x0b三\x0c四\x85五\r六"
    spec = two_files(tmp_path, f"{odd}\n七\n".encode(), b"one\ntwo\n")
    assert [p.source for p in read(spec)[0]] == [odd, "七"]


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\t", exclude_categories=["Cs"]))))
def test_what_was_written_is_read(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("corpus")
    written = "".join(f"{line}\tx{line}\n" for line in lines).encode()
    spec = table(folder, b"\xef\xbb\xbf" + written)
    expected = [(line, f"x{line}", n) for n, line in enumerate(lines, 1) if line.strip()]
    assert [(p.source, p.target, p.line) for p in read(spec)[0]] == expected


@pytest.mark.parametrize(
    ("suffix", "packed"), [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
def test_packed_files_and_damaged_ones(tmp_path, suffix, packed):
    content = "".join(
        f"句{n * n * 7919}\tsentence {n * n * 104729}\n" for n in range(20000)
    ).encode()
    plain, _ = read(table(tmp_path, content))
    data = packed(content)
    assert read(table(tmp_path, data, f"a.tsv{suffix}"))[0] == plain

    spec = table(tmp_path, data[: len(data) // 2], f"cut.tsv{suffix}")
    with pytest.raises(
        NmtError, match=rf"cut\.tsv\{suffix} is damaged or cut off after line \d+: "
    ):
        read(spec)
    broken = data[:2000] + bytes(255 - b for b in data[2000:2400]) + data[2400:]
    with pytest.raises(NmtError, match=rf"bad\.tsv\{suffix} (is damaged|cannot be read)"):
        read(table(tmp_path, broken, f"bad.tsv{suffix}"))
    assert read(table(tmp_path, content, f"plain.tsv{suffix}"))[0] == plain  # not by its name


def test_a_limit(tmp_path):
    spec = table(tmp_path, "一\ta\n\n二\tb\n三\tc\n四".encode(), limit=3)
    pairs, counts = read(spec)  # the broken row is never reached
    assert [p.line for p in pairs] == [1, 3, 4]
    assert counts == {"lines": 4, "empty": 1}


def test_sides_of_unequal_length(tmp_path):
    spec = two_files(tmp_path, "一\n二\n三\n".encode(), b"a\nb\nc\nd\n")
    with pytest.raises(NmtError, match=r"a\.zh ends after line 3, .*a\.en has a line 4; expected"):
        read(spec)
    spec = two_files(tmp_path, "一\n二\n".encode(), b"a\n")
    with pytest.raises(NmtError, match=r"a\.en ends after line 1, .*a\.zh has a line 2; expected"):
        read(spec)


def test_a_row_with_too_few_columns(tmp_path):
    spec = table(tmp_path, "一\tone\n二\n".encode())
    with pytest.raises(NmtError, match=r"a\.tsv, line 2: found 1 column\(s\), expected 2 or more"):
        read(spec)


def test_another_encoding(tmp_path):
    spec = two_files(tmp_path, "一\n".encode() + "汉字\n".encode("gb18030"), b"a\nb\n")
    with pytest.raises(NmtError, match=r"a\.zh, line 2: byte 0xba is not UTF-8"):
        read(spec)
    with pytest.raises(NmtError, match=r"a\.tsv, line 1: byte 0xff is not UTF-8"):
        read(table(tmp_path, "一\tone\n".encode("utf-16")))


def test_missing_files(tmp_path):
    with pytest.raises(NmtError, match=r"none\.tsv cannot be read: No such file"):
        read(CorpusSpec("toy", tsv=tmp_path / "none.tsv"))
    with pytest.raises(NmtError, match="cannot be read: Is a directory"):
        read(CorpusSpec("toy", tsv=tmp_path))


def test_settings(tmp_path):
    found = check_config(
        CorpusSpec,
        {"name": "x", "tsv": "a.tsv", "columns": {"source": 1, "target": 0}, "limit": 5},
        "train.toml, corpus",
        tmp_path,
    )
    assert found == CorpusSpec(
        "x", tsv=tmp_path / "a.tsv", columns={"source": 1, "target": 0}, limit=5
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "c: found no file, expected either tsv, or both source"),
        ({"source": Path("a")}, "c: found source, expected either"),
        ({"tsv": Path("a"), "target": Path("b")}, "c: found tsv and target, expected either"),
        ({"tsv": Path("a"), "columns": {"source": 0}}, "c: columns.target is missing"),
        ({"tsv": Path("a"), "documents": "column"}, "c: columns.doc is missing"),
        (
            {"tsv": Path("a"), "columns": {"source": 0, "target": 1, "en": 2}},
            "c: unknown key 'columns.en', known: source, target, doc",
        ),
        (
            {"tsv": Path("a"), "columns": {"source": -1, "target": 0}},
            "c: columns.source is -1, expected 0 or more",
        ),
        (
            {"source": Path("a"), "target": Path("b"), "documents": "column"},
            "c: documents is 'column', expected 'blank' or 'none' without tsv",
        ),
        ({"tsv": Path("a"), "limit": 0}, "c: limit is 0, expected 1 or more"),
    ],
)
def test_specs_that_cannot_be(fields, message):
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in fields.items()}
    with pytest.raises(ConfigError, match=message):
        check_config(CorpusSpec, {"name": "x", **plain}, "c")
