"""Reading graphs: one small file of every format, what is refused, and what is kept."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from boxpen.build.kg.read import cells as read_cells
from boxpen.build.kg.read.chunk import Chunk
from boxpen.build.kg.read.graph import FORMATS, GraphSpec, find_format, read_graph
from boxpen.build.kg.read.sample import sample_of
from boxpen.build.kg.triples import schema, triple_id
from boxpen.errors import BuildError
from boxpen.text.lines import blocks


def detect(path: Path, spec: GraphSpec) -> str:
    return find_format(sample_of(path), spec).name


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def chunks(path: Path, **options: object) -> list[Chunk]:
    asked = {name: options.pop(name) for name in ("strict", "keep") if name in options}
    return list(read_graph(GraphSpec((path,), "toy", **options), **asked))  # type: ignore[arg-type]


def triples(path: Path, **options: object) -> list[tuple[str, str, str]]:
    frames = [chunk.triples for chunk in chunks(path, **options)]
    return pl.concat(frames).select("head", "relation", "tail").rows()


def broken(path: Path, **options: object) -> list[tuple[int, str]]:
    frames = [chunk.broken for chunk in chunks(path, **options)]
    return pl.concat(frames).select("line", "reason").rows()


def assertion(relation: str, start: str, end: str, **more: object) -> str:
    uri = f"/a/[{relation}/,{start}/,{end}/]"
    details = {"dataset": "/d/x", "license": "cc", "sources": [{"contributor": "/s/y"}]}
    return "\t".join((uri, relation, start, end, json.dumps(details | more, sort_keys=True)))


ASSERTIONS = "\n".join(
    [
        assertion("/r/IsA", "/c/en/hot_dog/n", "/c/en/snack/n/wn/food", weight=2.5),
        assertion("/r/UsedFor", "/c/en/spoon", "/c/en/eat_soup", weight=1, surfaceText="[[A]] b"),
        assertion("/r/Synonym", "/c/fr/thé", "/c/en/tea", weight=1.0),
        assertion("/r/ExternalURL", "/c/en/tea", "http://example.org/Tea_(drink)", weight=1.0),
        assertion("/r/dbpedia/genre", "/c/en/a_b", "/c/en/c", surfaceText="a\tb"),
    ]
)


def test_official_conceptnet(tmp_path) -> None:
    path = tmp_path / "assertions.csv.gz"
    path.write_bytes(gzip.compress(ASSERTIONS.encode() + b"\n"))
    [chunk] = chunks(path)
    assert detect(path, GraphSpec((), "toy")) == "conceptnet"
    assert chunk.triples.schema == pl.Schema(schema())
    assert list(chunk.triples.columns) == list(schema())
    assert chunk.triples.drop("id", "origin").rows() == [
        ("hot dog", "isa", "snack", 2.5, None, "en", 1),
        ("spoon", "usedfor", "eat soup", 1.0, "[[A]] b", "en", 2),
        ("thé", "synonym", "tea", 1.0, None, "fr-en", 3),
        ("tea", "externalurl", "http://example.org/Tea_(drink)", 1.0, None, None, 4),
        ("a b", "dbpedia/genre", "c", None, "a\tb", "en", 5),
    ]
    assert chunk.triples["id"][0] == triple_id("isa", "hot dog", "snack")
    assert set(chunk.triples["origin"]) == {"toy"}
    assert (chunk.rows, len(chunk.broken), chunk.share) == (5, 0, 1.0)


def test_what_a_source_says_is_not_what_the_assertion_says(tmp_path) -> None:
    source = [{"surfaceText": "no", "weight": "3"}]
    rows = [
        assertion("/r/IsA", "/c/en/a", "/c/en/b", weight=1.5, sources=source),
        assertion("/r/IsA", "/c/en/a", "/c/en/b", weight=1.5, sources=source, surfaceText="yes"),
        assertion("/r/IsA", "/c/en/a", "/c/en/b", sources=[{"surfaceText": "no", "weight": 3}]),
    ]
    [chunk] = chunks(written(tmp_path / "graph", "\n".join(rows) + "\n"))
    assert chunk.triples.select("weight", "surface").rows() == [
        (1.5, None),
        (1.5, "yes"),
        (None, None),
    ]


def test_only_the_first_mark_of_a_file_is_one(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(read_cells, "blocks", partial(blocks, size=8))  # a line in every block
    path = written(tmp_path / "graph", "\ufeffIsA\ta\tb\n\ufeffIsA\ta\tb\n")
    assert triples(path, format="conceptnet-100k") == [("a", "isa", "b"), ("a", "\ufeffisa", "b")]


def test_every_flaw_of_an_assertion_has_its_reason(tmp_path) -> None:
    good = assertion("/r/IsA", "/c/en/a", "/c/en/b", weight=1)
    rows = [
        good,
        "\t".join(good.split("\t")[:4]),
        good + "\tmore\tand more",
        assertion("IsA", "/c/en/a", "/c/en/b", weight=1),
        assertion("/r/IsA", "/c/en", "/c/en/b", weight=1),
        assertion("/r/IsA", "/c/en/a", "b", weight=1),
        assertion("/r/IsA", "/c/en/_", "/c/en/b", weight=1),
        good[:-1],
        "\t".join([*good.split("\t")[:4], "[1]"]),
        assertion("/r/IsA", "/c/en/a", "/c/en/b", weight="1.0"),
        good.replace('"weight": 1', '"weight": NaN'),
        assertion("/r/IsA", "/c/en/a", "/c/en/b", weight=1, surfaceText=7),
        "",
        good,
    ]
    data = "\n".join(rows).encode().replace(b"more\tand", b"more\tand") + b"\n/a\t/r/x\t\xff\t\t\n"
    (tmp_path / "graph").write_bytes(data)
    [chunk] = chunks(tmp_path / "graph", format="conceptnet")
    assert chunk.triples["line"].to_list() == [1, 14]
    assert chunk.rows == 14
    assert chunk.broken.select("line", "reason").rows() == [
        (2, "4 cells instead of 5"),
        (3, "7 cells instead of 5"),
        (4, "the second cell is not a relation (/r/…)"),
        (5, "the start is neither a concept (/c/language/term) nor an address"),
        (6, "the end is neither a concept (/c/language/term) nor an address"),
        (7, "empty head"),
        (8, "no JSON in the last cell"),
        (9, "no JSON object in the last cell"),
        (10, "the weight is not a number"),
        (11, "the weight is not finite"),
        (12, "the surface text is not a string"),
        (15, "not text in the file's encoding"),
    ]
    assert set(chunk.broken["file"]) == {str(tmp_path / "graph")}
    assert chunk.broken["text"][-1] == "/a\t/r/x\t\ufffd\t\t"


def test_strict_refuses_the_first_broken_row(tmp_path) -> None:
    path = written(tmp_path / "g.txt", "IsA\tcat\tanimal\nIsA\tdog\nIsA\t\tx\n")
    message = (
        "g.txt, line 2: 2 cells instead of 3; expected three or four cells: relation, head, tail, "
        "score, found 'IsA\\tdog'"
    )
    with pytest.raises(BuildError) as caught:
        chunks(path, strict=True, format="conceptnet-100k")
    assert message in str(caught.value)


def test_hundred_k_with_and_without_scores(tmp_path) -> None:
    plain = written(
        tmp_path / "a", "CapableOf\tfrog\tjump\r\n\r\nUsedFor\tpot\tboil egg\r\nIsA\ta\t"
    )
    assert triples(plain) == [("frog", "capableof", "jump"), ("pot", "usedfor", "boil egg")]
    assert broken(plain) == [(4, "empty tail")]
    scored = written(tmp_path / "b", "IsA\tpot\tvessel\t2.5\nHasA\tpot\tlid\tmuch\nIsA\ta\tb\t\n")
    [chunk] = chunks(scored)
    assert chunk.triples.select("head", "weight").rows() == [("pot", 2.5), ("a", None)]
    assert broken(scored) == [(2, "the weight is not a number")]


V4 = '''event,oWant,xAttr,xWant,prefix,split
PersonX waters PersonY's plants,"[""to thank person x""]","[""kind"", """"]",[],"[""w""]",trn
"PersonX says ""hello, you"" to ___","[]","[""polite""]","[""none"", ""to go\\thome""]",[],dev
PersonX sleeps,[],[],[],[],tst
PersonX runs,[],"[""fast""",[],[],tst
PersonX swims,[],[],"[3]",[],tst
,[],"[""odd""]",[],[],tst
PersonX flies,[],[]
'''


def test_atomic_v4(tmp_path) -> None:
    path = written(tmp_path / "v4.csv", V4)
    assert detect(path, GraphSpec((), "toy")) == "atomic-v4"
    assert triples(path) == [
        ("PersonX waters PersonY's plants", "oWant", "to thank PersonX"),
        ("PersonX waters PersonY's plants", "xAttr", "kind"),
        ('PersonX says "hello, you" to ___', "xAttr", "polite"),
        ('PersonX says "hello, you" to ___', "xWant", "none"),
        ('PersonX says "hello, you" to ___', "xWant", "to go\thome"),
    ]
    assert broken(path) == [
        (4, "no tail in any column"),
        (5, "xAttr is not a JSON list of strings"),
        (6, "xWant is not a JSON list of strings"),
        (7, "empty head"),
        (8, "3 cells instead of 6"),
    ]
    assert sum(chunk.rows for chunk in chunks(path)) == 7


def test_atomic_with_names_and_lost_blanks(tmp_path) -> None:
    rows = [
        "John feeds Tom's  to the dog\txWant\tto thank person y",
        "John paints \txAttr\tJohn is artistic",
        " is John's idea\txEffect\tpersonx's proud",
        "John gives tom   back\toWant\tto hug Person X's mother",
        "John meets personz\txNeed\tpersonally",
        "John meets Johnson\txNeed\tTomato",
        "   \txNeed\tnothing",
    ]
    path = written(tmp_path / "valid.txt", "\r\n".join(rows))
    assert detect(path, GraphSpec((), "toy")) == "atomic-names"
    assert triples(path) == [
        ("PersonX feeds PersonY's ___ to the dog", "xWant", "to thank PersonY"),
        ("PersonX paints ___", "xAttr", "PersonX is artistic"),
        ("___ is PersonX's idea", "xEffect", "PersonX's proud"),
        ("PersonX gives PersonY ___ ___ back", "oWant", "to hug PersonX's mother"),
        ("PersonX meets PersonZ", "xNeed", "personally"),
        ("PersonX meets Johnson", "xNeed", "Tomato"),
    ]
    assert broken(path) == [(7, "empty head")]


def test_other_names(tmp_path) -> None:
    path = written(tmp_path / "valid.txt", "Ann calls Bob\txWant\tto hear Bob\n")
    persons = {"Ann": "PersonX", "Bob": "PersonY"}
    assert detect(path, GraphSpec((), "toy", persons=persons)) == "atomic-names"
    assert triples(path, persons=persons) == [("PersonX calls PersonY", "xWant", "to hear PersonY")]


def test_atomic_2020(tmp_path) -> None:
    rows = "PersonX mends ___\txNeed\tto find person X's glue\nglue\tObjectUse\tmend a cup\n"
    path = written(tmp_path / "train.tsv", rows)
    assert detect(path, GraphSpec((), "toy")) == "atomic-2020"
    assert triples(path) == [
        ("PersonX mends ___", "xNeed", "to find PersonX's glue"),
        ("glue", "objectuse", "mend a cup"),
    ]


def test_atomic_2020_merged(tmp_path) -> None:
    rows = [
        "PersonX bakes @@ xNeed\tbuy flour| | heat the oven|none\r",
        "PersonX bakes @@ xWant\t| ",
        "PersonX bakes xWant\tto eat",
        "PersonX writes a @@ b @@ xAttr\todd",
        " @@ xAttr\todd",
        "PersonX digs @@ isAfter\tPerson Y digs",
    ]
    path = written(tmp_path / "test.tsv", "\n".join(rows))
    assert triples(path, format="atomic-2020-merged") == [
        ("PersonX bakes", "xNeed", "buy flour"),
        ("PersonX bakes", "xNeed", "heat the oven"),
        ("PersonX bakes", "xNeed", "none"),
        ("PersonX writes a @@ b", "xAttr", "odd"),
        ("PersonX digs", "isAfter", "PersonY digs"),
    ]
    assert broken(path, format="atomic-2020-merged") == [
        (2, "empty tail"),
        (3, "no ' @@ ' between head and relation"),
        (5, "empty head"),
    ]


def test_tables_with_a_header(tmp_path) -> None:
    tab = written(tmp_path / "a", '\ufefftail\tsource\thead\trelation\nb\tx\ta "5\t/r/IsA\n')
    assert detect(tab, GraphSpec((), "toy")) == "tsv"
    assert triples(tab) == [('a "5', "isa", "b")]
    comma = written(
        tmp_path / "b", 'head,relation,tail,language\n"a\nlong, one",is_a,"""b""",en\nc,x\n'
    )
    [chunk] = chunks(comma, language="de")
    assert chunk.triples.select("head", "relation", "tail", "language", "line").rows() == [
        ("a\nlong, one", "isa", '"b"', "en", 2)
    ]
    assert broken(comma) == [(4, "2 cells instead of 4")]


def test_a_first_line_that_is_no_text_hides_nothing(tmp_path) -> None:
    path = tmp_path / "graph"
    path.write_bytes(b"\xff\tb\tc\nant\tisa\tinsect")
    columns = {"head": 1, "relation": 2, "tail": 3}
    assert triples(path, columns=columns) == [("ant", "isa", "insect")]
    assert broken(path, columns=columns) == [(1, "not text in the file's encoding")]
    path.write_bytes(b"\xff\n")
    with pytest.raises(BuildError, match="has no line of text; expected a table"):
        chunks(path, columns=columns, format="tsv")


def test_column_maps(tmp_path) -> None:
    named = written(tmp_path / "a.csv", "subject,predicate,object,score\nant,isa,insect,3\n")
    columns = {"head": "subject", "relation": "predicate", "tail": "object", "weight": "score"}
    [chunk] = chunks(named, columns=columns, language="en")
    assert chunk.triples.select("head", "weight", "language", "line").rows() == [
        ("ant", 3.0, "en", 2)
    ]
    numbered = written(tmp_path / "b.tsv", "1\tinsect\tant\n2\tfish\teel\n")
    columns = {"head": 3, "tail": 2, "relation": "=IsA"}
    assert triples(numbered, columns=columns) == [("ant", "isa", "insect"), ("eel", "isa", "fish")]
    objects = written(
        tmp_path / "c", '{"s": "ant", "o": 6}\n{"s": "eel", "o": ["x"]}\n{"s": "a"}\n'
    )
    columns = {"head": "s", "tail": "o", "relation": "=HasA"}
    assert triples(objects, columns=columns) == [("ant", "hasa", "6")]
    assert broken(objects, columns=columns) == [
        (2, "tail is a list instead of a string"),
        (3, "empty tail"),
    ]


def test_parquet(tmp_path) -> None:
    path = tmp_path / "graph.bin"
    pl.DataFrame({"h": ["ant", ""], "tail": ["leg", "x"], "w": [1.5, None]}).write_parquet(path)
    columns = {"head": "h", "relation": "=HasA", "tail": "tail", "weight": "w"}
    [chunk] = chunks(path, columns=columns)
    assert chunk.triples.select("head", "tail", "weight", "line").rows() == [("ant", "leg", 1.5, 1)]
    assert chunk.broken.select("line", "reason").rows() == [(2, "empty head")]
    with pytest.raises(BuildError, match="has no column 'head' for 'head', it has h, tail, w"):
        chunks(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc\td\n", "line 1 has 2 tab-separated columns: 'a', 'b'"),
        ("\n\nsubject\tp\tobject\nx\ty\tz\n", "line 3 has 3 tab-separated columns: 'subject', 'p'"),
        (
            "subject,verb,object\na,b,c\n",
            "has 3 comma-separated columns: 'subject', 'verb', 'object'",
        ),
        ("just words\nand more\n", "line 1 is 'just words', without tabs or commas"),
        ("\n \n"[:1], "is empty; expected the rows of a graph"),
        ("", "is empty; expected the rows of a graph"),
    ],
)
def test_files_of_no_known_format(tmp_path, text: str, message: str) -> None:
    path = written(tmp_path / "graph", text)
    with pytest.raises(BuildError) as caught:
        chunks(path)
    assert message in str(caught.value)
    assert "empty" in message or "columns = {head = …, relation = …, tail = …}" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"head": 1, "relation": 2, "tail": 4}}, "3 columns, no column 4 for 'tail'"),
        ({"columns": {"head": 0, "relation": 2, "tail": 3}}, "no column 0 for 'head'; columns are"),
        ({"columns": {"head": 1, "tail": 3}}, "columns.relation is missing; give columns ="),
        ({"columns": {"head": "a", "relation": 2, "tail": 3}}, "mixes names and numbers"),
        ({"columns": {"head": 1, "relation": 1, "tail": 3}}, "uses a column twice"),
        ({"columns": {"subject": 1, "relation": 1, "tail": 3}}, "'columns.subject', known: head"),
        ({"columns": {"head": "s", "relation": "r", "tail": "t"}}, "'s' for 'head', it has a, b"),
        ({"format": "atomic-v4"}, "has no columns 'event' and 'xWant' as ATOMIC v4 has"),
    ],
)  # fmt: skip
def test_what_is_asked_for_wrongly(tmp_path, options, message: str) -> None:
    path = written(tmp_path / "graph", "a\tb\tc\n")
    with pytest.raises(BuildError) as caught:
        chunks(path, **options)
    assert message in str(caught.value)


def test_the_starter_graph_is_read_by_itself() -> None:
    import boxpen.catalog

    path = Path(boxpen.catalog.__file__).parent / "data/starter/triples.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert triples(path) == [(row["head"], row["relation"], row["tail"]) for row in lines]


def test_keep_counts_and_lists_what_it_refuses(tmp_path) -> None:
    path = written(tmp_path / "graph", ASSERTIONS + "\nbroken\n")
    keep = pl.col("relation").is_in(["isa", "usedfor", "synonym"]) & (pl.col("language") == "en")
    [chunk] = chunks(path, keep=keep)
    [whole] = chunks(path)
    assert chunk.triples.rows() == whole.triples.head(2).rows()
    assert chunk.broken.rows() == whole.broken.rows()
    assert chunk.refused == 3
    skipped = chunk.skipped().collect()
    assert skipped.select("id", "head", "relation", "tail", "language", "line").sort(
        "line"
    ).rows() == (
        whole.triples.tail(3).select("id", "head", "relation", "tail", "language", "line").rows()
    )
    assert list(skipped.columns) == list(schema())


@pytest.mark.parametrize("keep", [None, pl.col("head") == "pot", pl.lit(None) == pl.col("tail")])
def test_every_row_is_kept_skipped_or_broken(tmp_path, keep) -> None:
    path = written(
        tmp_path / "a", "IsA\tpot\tvessel\nHasA\tcup\thandle\nIsA\t\tb\nHasA\tpot\tlid\n"
    )
    [chunk] = chunks(path, keep=keep)
    parts = [chunk.triples, chunk.broken, chunk.skipped().collect()]
    assert sorted(line for part in parts for line in part["line"]) == [1, 2, 3, 4]
    assert chunk.refused == len(parts[2])


def test_frames_whose_parts_are_empty(tmp_path, monkeypatch) -> None:
    path = written(tmp_path / "graph", ASSERTIONS + "\n")
    [whole] = chunks(path)
    cut = read_cells._cells

    def in_parts(data: bytes, width: int) -> pl.DataFrame:  # as Polars cuts big blocks
        rows = cut(data, width)
        return pl.concat([rows[:2], rows[2:4], rows[4:]], rechunk=False)

    monkeypatch.setattr(read_cells, "_cells", in_parts)
    [chunk] = chunks(path, keep=pl.col("relation").is_in(["synonym", "externalurl"]))
    assert chunk.triples.rows() == whole.triples[2:4].rows()
    assert chunk.triples.n_chunks("all") == [1] * len(schema())
    [rest] = chunks(path, keep=pl.col("relation").is_in(["isa", "usedfor", "dbpedia/genre"]))
    skipped = rest.skipped().collect()
    assert skipped["id"].to_list() == whole.triples["id"][2:4].to_list()
    assert skipped["language"].to_list() == ["fr-en", None]


def test_several_files_and_progress(tmp_path) -> None:
    files = tuple(written(tmp_path / n, f"IsA\t{n}\tletter\nIsA\t{n}\tx\n") for n in "ab")
    seen: list[tuple[str, float, int]] = []
    read = read_graph(
        GraphSpec(files, "toy"),
        progress=lambda file, share, rows: seen.append((file.name, share, rows)),
    )
    assert [chunk.file.name for chunk in read] == ["a", "b"]
    assert seen == [("a", 1.0, 2), ("b", 1.0, 2)]


def test_every_format_says_what_it_is() -> None:
    assert list(FORMATS) == [
        *("conceptnet", "atomic-v4", "atomic-2020-merged", "atomic-names", "atomic-2020"),
        *("conceptnet-100k", "parquet", "jsonl", "tsv", "csv"),
    ]
    assert all(fmt.about for fmt in FORMATS.values())


def test_numbers_stay_as_they_are_written(tmp_path: Path) -> None:
    """1e999 was read as the word Infinity, and 1.10 as 1.1."""
    heads = ("1.10", "1e999", "9" * 30, "NaN", "-Infinity")
    rows = [f'{{"h": {head}, "r": "IsA", "t": "a number"}}' for head in heads]
    path = written(tmp_path / "g.jsonl", "\n".join(rows) + "\n")
    columns = {"head": "h", "relation": "r", "tail": "t"}
    assert [row[0] for row in triples(path, columns=columns)] == list(heads[:3])
    reasons = [f"not JSON ({word} is not a JSON number)" for word in heads[3:]]
    assert broken(path, columns=columns) == list(zip((4, 5), reasons, strict=True))
