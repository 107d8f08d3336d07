"""Ordered parallel text of three forms, and the rules that drop what is no speech."""

import gzip
import lzma
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.discourse.filters import FilterConfig, LineFilter
from boxpen.build.discourse.texts import TextSpec, read_text, text_files
from boxpen.config import check_config
from boxpen.errors import BuildError, ConfigError
from boxpen.text.corpus import Pair

ROWS = [
    ("a", "1", "The girls are late.", "姑娘们迟到了"),
    ("a", "2", "They missed the bus.", "她们错过了公交车"),
    ("b", "1", "Good soup.", "汤不错"),
]


def read(spec):
    counts = Counter()
    return list(read_text(spec, ("en", "zh"), counts)), counts


def table(path, rows=ROWS, opened=open):
    with opened(path, "wt", encoding="utf-8") as stream:
        stream.writelines("\t".join(row) + "\n" for row in rows)
    return path


def told(pairs):
    return [(pair.doc, pair.line, pair.source, pair.target) for pair in pairs]


@pytest.mark.parametrize(
    ("name", "opened"), [("t.tsv", open), ("t.tsv.gz", gzip.open), ("t.tsv.xz", lzma.open)]
)
def test_a_table_is_read_packed_or_not(tmp_path, name, opened):
    pairs, counts = read(TextSpec(name="s", tsv=table(tmp_path / name, opened=opened)))
    assert told(pairs) == [(f"s/{doc}", int(n), en, zh) for doc, n, en, zh in ROWS]
    assert counts == {"lines": 3, "encoding": 0}


def test_columns_may_stand_elsewhere_and_lines_be_counted(tmp_path):
    path = table(tmp_path / "t.tsv", [("zh", "en", "d"), ("早", "Morning.", "x"), ("", "No.", "x")])
    columns = {"target": 0, "source": 1, "doc": 2}
    pairs, counts = read(TextSpec(name="s", tsv=path, columns=columns, header=True))
    assert told(pairs) == [("s/x", 2, "Morning.", "早")]
    assert counts["lines"] == 2
    assert counts["empty"] == 1


def test_a_limit_ends_the_reading(tmp_path):
    pairs, _ = read(TextSpec(name="s", tsv=table(tmp_path / "t.tsv"), limit=2))
    assert len(pairs) == 2


def test_a_line_that_is_not_utf8_is_counted_and_leaves_a_gap(tmp_path):
    path = table(tmp_path / "t.tsv")
    path.write_bytes(path.read_bytes().replace("错过".encode(), b"\xff\xfe"))
    pairs, counts = read(TextSpec(name="s", tsv=path))
    assert [pair.doc for pair in pairs] == ["s/a", "s/b"]
    assert (counts["encoding"], counts["empty"], counts["lines"]) == (1, 1, 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROWS[0], ("a", "2", "No Chinese.")], r"t\.tsv, line 2: found 3 column\(s\), expected 4"),
        ([ROWS[0], ("a", "two", "x", "y")], r"t\.tsv, line 2: found 'two' for the number of the"),
    ],
)
def test_a_bad_row_is_named(tmp_path, rows, message):
    with pytest.raises(BuildError, match=message):
        read(TextSpec(name="s", tsv=table(tmp_path / "t.tsv", rows)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "c: found no file, expected tsv, or source, target and ids, or"),
        ({"source": "a", "target": "b"}, "c: found source and target, expected tsv"),
        ({"tsv": "a", "ids": "b"}, "c: found tsv and ids, expected"),
        ({"tsv": "a", "columns": {"doc": 0, "source": 1}}, "c: columns.target is missing"),
        (
            {"tsv": "a", "columns": {"en": 0}},
            "c: unknown key 'columns.en', known: doc, l",
        ),
        ({"tsv": "a", "limit": 0}, "c: limit is 0, expected 1 or more"),
    ],
)
def test_a_text_is_of_one_form(given, message):
    with pytest.raises(ConfigError, match=message):
        check_config(TextSpec, {"name": "s", **given}, "c")


def moses(folder, source, target, ids):
    paths = {name: folder / name for name in ("source", "target", "ids")}
    for path, lines in zip(paths.values(), (source, target, ids), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return TextSpec(name="s", **paths)


def test_documents_of_moses_change_where_a_name_does(tmp_path):
    ids = [
        "e1\tz1\t1\t1",
        "e1\tz1\t2 3\t2",
        "e1\tz1\t5\t3",
        "e1\tz1\t6\t5",
        "e1\tz2\t7\t6",
        "e1\tz2",
    ]
    spec = moses(tmp_path, "ABCDEF", "甲乙丙丁戊己", ids)
    pairs, _ = read(spec)
    # After sentence 3 comes 5, and after Chinese sentence 3 comes 5: gaps. The rest is in order.
    assert [pair.line for pair in pairs] == [1, 2, 4, 6, 1, 2]
    assert [pair.doc for pair in pairs] == ["s/e1 z1"] * 4 + ["s/e1 z2"] * 2


@pytest.mark.parametrize(
    ("lengths", "short", "long"),
    [
        ((2, 3, 3), "source", "target"),
        ((3, 2, 3), "target", "source"),
        ((3, 3, 2), "ids", "source"),
    ],
)
def test_moses_files_of_unequal_length_are_refused(tmp_path, lengths, short, long):
    a, b, c = lengths
    spec = moses(tmp_path, ["x"] * a, ["好"] * b, ["e\tz"] * c)
    with pytest.raises(BuildError, match=rf"{short} ends after line 2, .*{long} has a line 3"):
        read(spec)


def test_ids_must_name_two_documents(tmp_path):
    spec = moses(tmp_path, "ab", "好好", ["e\tz", "e"])
    with pytest.raises(BuildError, match=r"ids, line 2: found 'e', expected the names of two"):
        read(spec)


def opus(folder, links, english, chinese, words=False):
    (folder / "en").mkdir(exist_ok=True)
    (folder / "zh").mkdir(exist_ok=True)
    with gzip.open(folder / "en" / "1.xml.gz", "wt", encoding="utf-8") as stream:
        stream.write(sentences(english, words))
    (folder / "zh" / "1.xml").write_text(sentences(chinese, words))
    (folder / "links.xml").write_text(
        '<?xml version="1.0"?>\n<cesAlign><linkGrp fromDoc="en/1.xml.gz" toDoc="zh/1.xml.gz">'
        + "".join(f'<link xtargets="{link}"/>' for link in links)
        + "</linkGrp></cesAlign>"
    )
    return TextSpec(name="s", alignment=folder / "links.xml", folder=folder)


def sentences(texts, words):
    out = '<?xml version="1.0" encoding="utf-8"?>\n<document>'
    for number, text in enumerate(texts, start=1):
        if words:
            text = "".join(f"<w>{word}</w>\n" for word in text.split())
        out += f'<s id="{number}"><time id="T{number}"/>\n{text}\n</s>'
    return out + "</document>"


def test_xml_is_joined_by_its_links(tmp_path):
    spec = opus(
        tmp_path, ["1;1", "2 3;2", "4;", "5;3"],
        ["One.", "Two,", "three.", "Four.", "Five."], ["一", "二 三", "五"],
    )  # fmt: skip
    pairs, counts = read(spec)
    assert [(p.line, p.source, p.target) for p in pairs] == [
        (1, "One.", "一"), (2, "Two, three.", "二 三"), (4, "Five.", "五"),
    ]  # fmt: skip
    assert counts == {"lines": 4, "empty": 1}
    assert [path.name for path in text_files(spec)] == ["links.xml", "1.xml.gz", "1.xml"]


def test_words_of_xml_are_put_together(tmp_path):
    spec = opus(tmp_path, ["1;1"], ["He 's in New York ."], ["他 在 New York 呢"], words=True)
    pairs, _ = read(spec)
    assert [(p.source, p.target) for p in pairs] == [("He 's in New York .", "他在New York呢")]


def test_xml_that_does_not_hang_together_is_refused(tmp_path):
    spec = opus(tmp_path, ["1;1", "2;1"], ["One."], ["一"])
    with pytest.raises(BuildError, match=r"links\.xml links sentence '2' of en/1\.xml\.gz, which"):
        read(spec)
    (tmp_path / "zh" / "1.xml").unlink()
    for look in (read, text_files):
        with pytest.raises(
            BuildError, match=r"links\.xml names zh/1\.xml\.gz, and there is no .*zh"
        ):
            look(spec)
    opus(tmp_path, ["1"], ["One."], ["一"])
    with pytest.raises(BuildError, match=r"<link> 1 of en/1\.xml\.gz: found xtargets = '1'"):
        read(spec)
    (tmp_path / "links.xml").write_text("<cesAlign>\n<linkGrp")
    with pytest.raises(BuildError, match=r"links\.xml is not XML: .*line 2"):
        read(spec)
    (tmp_path / "links.xml").write_text("<cesAlign/>")
    with pytest.raises(BuildError, match=r"links\.xml has no <linkGrp>"):
        read(spec)


def test_a_folder_for_links_is_told_without_a_code(tmp_path):
    (tmp_path / "links.xml").mkdir()
    spec = TextSpec(name="s", alignment=tmp_path / "links.xml", folder=tmp_path)
    with pytest.raises(BuildError) as caught:
        read(spec)
    said = f"{tmp_path / 'links.xml'} cannot be read: Is a directory; is it a whole download?"
    assert str(caught.value) == said


words = st.lists(st.sampled_from(["stars", "rise", "late", "now"]), min_size=1, max_size=3)
texts = st.lists(st.lists(words.map(" ".join), min_size=1, max_size=4), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(texts)
def test_all_forms_of_a_text_say_the_same(tmp_path_factory, documents):
    folder = tmp_path_factory.mktemp("forms")
    rows = [(str(d), n, text) for d, of in enumerate(documents) for n, text in enumerate(of, 1)]
    path = table(folder / "t.tsv", [(f"{d} {d}", str(n), text, "星" * n) for d, n, text in rows])
    ids = [f"{d}\t{d}\t{n}\t{n}" for d, n, _ in rows]
    spec = moses(folder, [row[2] for row in rows], ["星" * row[1] for row in rows], ids)
    assert told(read(TextSpec(name="s", tsv=path))[0]) == told(read(spec)[0])


RULES = [
    ("music", "♪ stars above ♪", "天上的星星"),
    ("music", "stars above", "# 天上的星星 #"),
    ("credits", "Subtitles by Ann Other", "由安制作"),
    ("credits", "Come with me.", "字幕翻译 小王"),
    ("credits", "Visit www.example.org now", "现在就去看看吧"),
    ("copy", "好", "好"),
    ("short", "...", "好的"),
    ("long", "a word " * 40, "词" * 90),
    ("ratio", "Yes.", "我昨天晚上在河边看到了很多很多不知道名字的鸟"),
    ("language", "Привет, мой друг.", "你好 我的朋友"),
    ("language", "Hello, my friend.", "Hello, my friends."),
    ("markup", "(door opens slowly)", "门慢慢地开了"),
    ("markup", "Come | here", "过来"),
    ("markup", "She is a bit stuffy.", "她有点古板【双关】"),
    ("characters", "Take the крест from him, my dear old friend.", "把十字架从他那里拿走"),
    ("characters", "I said good morning to her.", "我跟她说おはよう 早上好"),
]


@pytest.mark.parametrize(("rule", "source", "target"), RULES)
def test_a_line_that_breaks_a_rule_is_dropped_by_it(rule, source, target):
    found = LineFilter(FilterConfig())
    good = Pair("<i>The girls are late.</i>", "姑娘们 迟到了!", "d", 1, "s")
    kept = list(found.keep([good, Pair(source, target, "d", 2, "s")]))
    assert kept == [Pair("The girls are late.", "姑娘们 迟到了！", "d", 1, "s")]
    assert {name for name, count in found.counts.items() if count} == {rule}


def test_speech_that_only_looks_like_a_credit_stays():
    pairs = [
        Pair("He translates for us.", "他给我们翻译", "d", 1, "s"),
        Pair("They were held down.", "他们被压制了", "d", 2, "s"),
        Pair("You're in sync.", "你们很合拍", "d", 3, "s"),
    ]
    assert list(LineFilter(FilterConfig(punctuation="space")).keep(pairs)) == pairs
