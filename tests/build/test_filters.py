"""The filter against a plain twin that looks at one row, or two, at a time."""

import itertools
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.kg.filter.config import check_relations
from boxpen.build.kg.filter.filters import (
    STEPS,
    FilterConfig,
    Filtered,
    RowFilter,
    dropped_schema,
    filter_pairs,
    filter_triples,
)
from boxpen.build.kg.triples import schema, triple_id
from boxpen.build.sink import ParquetSink
from boxpen.config import check_config
from boxpen.english.normal import normal, unordered
from boxpen.english.vocabulary import misspelt_word, profane_words, read_words
from boxpen.errors import BuildError, ConfigError

Row = tuple[str, str, str]


def graph(*rows: Any) -> pl.DataFrame:
    """A table of (relation, head, tail, then weight, language and origin if given)."""
    full = []
    for line, row in enumerate(rows, 1):
        relation, head, tail, *more = row
        weight, language, origin = [*more, *[None, "en", "toy"][len(more) :]]
        name = triple_id(relation, head, tail)
        full.append((name, head, relation, tail, weight, origin, None, language, line))
    return pl.DataFrame(full, schema=schema(), orient="row")


GOOD = ("usedfor", "kettle", "boil water")  # something must be left


def filtered(
    table: pl.DataFrame, config: FilterConfig, size: int = 100
) -> tuple[Filtered, pl.DataFrame]:
    """Filter a table in chunks; return what it gives and what it drops."""
    dropped = [pl.DataFrame(schema=dropped_schema())]
    chunks = table.iter_slices(size) if table.height else [table]
    return filter_triples(chunks, config, dropped.append), pl.concat(dropped)


def fate(*rows: Any, **config: Any) -> list[str | None]:
    """The step at which each row goes, None where it stays."""
    table = graph(*rows, GOOD)
    found, dropped = filtered(table, FilterConfig(**config))
    gone = dict(dropped.select("line", "step").iter_rows())
    assert found.report.rows == found.report.kept + sum(found.report.totals.values())
    assert found.report.kept == found.kept.height
    assert found.kept.columns == table.columns
    return [gone.get(line) for line in range(1, len(rows) + 1)]


@pytest.mark.parametrize(
    ("row", "step"),
    [
        (("usedfor", "pan", "fry an egg"), None),
        (("atlocation", "pan", "kitchen"), "relation"),
        (("isa", "kater", "tier", None, "de"), "language"),
        (("isa", "cat", "chat", None, "en-fr"), "language"),
        (("isa", "cat", "pet", None, None), None),  # unknown language
        (("xWant", "PersonX sits", "None."), "none"),
        (("xWant", "PersonX sits", "n/a"), "none"),
        (("xWant", "PersonX sits", " "), "none"),
        (("isa", "?", "pet"), "none"),
        (("isa", "cat", "&"), "none"),
        (("isa", "(/)", "pet"), "none"),
        (("xWant", "PersonX finds ___", "keep it"), "blank"),
        (("xWant", "PersonX sits", "___"), "blank"),
        (("isa", "PersonX", "human"), "blank"),
        (("isa", "person x", "human"), "blank"),
        (("xWant", "PersonX sits", "thank PersonY"), None),
        (("isa", "dog", "dogs"), "self-loop"),
        (("isa", "a dog", "the dog"), "self-loop"),
        (("isa", "apple tree", "tree"), "self-loop"),
        (("hasa", "door", "door handle"), "self-loop"),
        (("xWant", "PersonX eats lunch", "to eat lunch"), "self-loop"),
        (("xAttr", "PersonX", "calm"), None),
        (("isa", "cat", "one " * 11), "length"),
        (("isa", "c" * 81, "pet"), "length"),
        (("hasa", "bike", "2 wheels"), "symbols"),
        (("isa", "www.page.net", "place"), "symbols"),
        (("isa", "cat", "<b>pet"), "symbols"),
        (("isa", "кот", "pet"), "symbols"),
        (("isa", "crème brûlée", "dessert"), "spelling"),  # Latin letters, but no English word
        (("usedfor", "broom", "sweep your house"), "talk"),
        (("isa", "I", "person"), "talk"),
        (("isa", "this", "picture"), "talk"),
        (("isa", "this tall tower", "building"), "talk"),
        (("desires", "dog", "it"), "talk"),
        (("isa", "coal mine", "place"), None),
        (("isa", "yoursister", "person"), "spelling"),  # 'your' is no word of it
        (("madeof", "carton is a thing which", "paper"), "fragment"),
        (("isa", "cat", "of the family"), "fragment"),
        (("desires", "sailor", "porn"), "profanity"),
        (("isa", "buscuit", "snack"), "spelling"),
        (("isa", "well-known colour", "shade"), None),
        (("xNeed", "PersonX doesn't sleep", "drink coffee"), None),
    ],
)
def test_each_step_takes_what_it_should(row: Any, step: str | None) -> None:
    assert fate(row) == [step]


def test_weights() -> None:
    rows = [("isa", "cat", "pet", 0.5), ("isa", "dog", "pet", 1.0), ("isa", "cow", "animal")]
    assert fate(*rows, min_weight=1.0) == ["weight", None, None]
    with pytest.raises(BuildError, match="no triple is left, the last went at step 'weight'"):
        filtered(graph(rows[0], rows[2]), FilterConfig(min_weight=1.0, keep_unweighted=False))


def test_what_is_wanted_can_stay() -> None:
    assert fate(("xWant", "PersonX finds ___", "keep it"), keep_blanks=True) == [None]
    assert fate(("isa", "apple tree", "tree"), keep_contained=True) == [None]
    assert fate(("isa", "trees", "tree"), keep_contained=True) == ["self-loop"]
    assert fate(("usedfor", "broom", "sweep your house"), keep_talk=True) == [None]
    assert fate(("desires", "sailor", "porn"), keep_profane=True) == [None]
    assert fate(("isa", "buscuit", "snack"), keep_misspelt=True) == [None]
    assert fate(("atlocation", "pan", "kitchen"), relations=()) == [None]
    both = [("desires", "cat", "fish"), ("notdesires", "cat", "fish")]
    assert fate(*both, keep_contradictions=True) == [None, "relation"]
    twice = [("isa", "cat", "pet"), ("isa", "a cat", "pets")]
    assert fate(*twice, keep_near_duplicates=True) == [None, None]


def test_relations_in_any_spelling() -> None:
    assert fate(("isa", "cat", "pet"), relations=("/r/IsA", "Used_For")) == [None]


def test_lists_match_whole_words_in_any_inflection() -> None:
    listed = {"blocklist": ("gun", "box cutter")}
    assert fate(("isa", "toy guns", "plaything"), **listed) == ["blocklist"]
    assert fate(("isa", "gunner", "soldier"), **listed) == [None]
    assert fate(("isa", "big box cutters", "tool"), **listed) == ["blocklist"]
    assert fate(("isa", "box", "cutter"), **listed) == [None]


def test_of_equal_rows_the_heaviest_stays_in_any_order() -> None:
    rows = [
        ("isa", "cat", "pet", None),
        ("isa", "cat", "pet", 2.0),
        ("isa", "cat", "pet", 1.0),
        ("isa", "the cats", "a pet", 3.0),
    ]
    for order in itertools.permutations(range(4)):
        steps = fate(*(rows[i] for i in order))
        assert [steps[order.index(i)] for i in range(4)] == [
            "duplicate", "near-duplicate", "duplicate", None,
        ]  # fmt: skip


def test_near_duplicates_without_weights_keep_the_shortest() -> None:
    assert fate(("hasa", "cake", "eggs, flour"), ("hasa", "a cake", "flour and egg")) == [
        None, "near-duplicate",
    ]  # fmt: skip
    assert fate(("desires", "cats", "to sleep"), ("desires", "cat", "sleep")) == [
        "near-duplicate", None,
    ]  # fmt: skip
    assert fate(("desires", "cat", "fish"), ("desires", "cat", "meat")) == [None, None]
    assert fate(("desires", "cat", "fish"), ("hasa", "cat", "fish")) == [None, None]


def test_what_is_denied_goes_though_the_denial_was_not_asked_for() -> None:
    rows = [("desires", "cats", "bath"), ("notdesires", "cat", "a bath"), ("desires", "cat", "nap")]
    assert fate(*rows, relations=("desires", "usedfor")) == ["contradiction", "relation", None]
    asked = ("desires", "notdesires", "usedfor")
    assert fate(*rows, relations=asked) == ["contradiction", "contradiction", None]
    assert fate(*rows, relations=()) == ["contradiction", "contradiction", None]


def test_a_denial_that_is_not_believed_denies_nothing() -> None:
    said = ("desires", "cat", "bath", 2.0)
    assert fate(said, ("notdesires", "cat", "bath", 1.0), min_weight=2) == [None, "relation"]
    assert fate(said, ("notdesires", "cat", "bath", 2.0), min_weight=2) == [
        "contradiction", "relation",
    ]  # fmt: skip
    assert fate(said, ("notdesires", "cat", "bath", 2.0, "fr")) == [None, "relation"]


def test_a_denial_in_another_chunk_counts() -> None:
    parts = [graph(("notdesires", "cat", "bath")), graph(("desires", "cats", "baths"), GOOD)]
    for chunks in (parts, parts[::-1]):
        found = filter_triples(iter(chunks), FilterConfig(relations=("desires", "usedfor")))
        assert found.kept["head"].to_list() == ["kettle"]
        assert found.report.totals["contradiction"] == 1


def test_both_ways_is_a_contradiction_where_only_one_can_hold() -> None:
    assert fate(("isa", "cat", "feline"), ("isa", "felines", "cats")) == ["contradiction"] * 2
    assert fate(("desires", "cat", "dog"), ("desires", "dog", "cat")) == [None, None]
    assert fate(("isa", "cat", "feline"), ("hasa", "feline", "cat")) == [None, None]


def test_unknown_relations_are_named() -> None:
    with pytest.raises(BuildError) as caught:
        filtered(graph(GOOD), FilterConfig(relations=("capableoff",)))
    assert str(caught.value) == (
        "relation 'capableoff' is unknown, did you mean 'capableof' or 'notcapableof' or "
        "'partof'? Relations in the graph: usedfor"
    )
    with pytest.raises(
        BuildError, match="has none of the relations isa; relations in the graph: u"
    ):
        filtered(graph(GOOD), FilterConfig(relations=("isa",)))
    assert check_relations(["isa", "mine"], ["mine"]) == ("isa",)


def test_an_empty_result_tells_what_each_step_took() -> None:
    table = graph(("isa", "cat", "none"), ("isa", "dog", "dogs"), ("partof", "leg", "cow"))
    with pytest.raises(BuildError) as caught:
        filtered(table, FilterConfig())
    assert str(caught.value) == (
        "no triple is left, the last went at step 'self-loop': 3 triples, 0 kept; "
        "dropped: relation 1, none 1, self-loop 1"
    )
    with pytest.raises(BuildError, match="no triples"):
        filter_triples(iter([]), FilterConfig())
    for config in (FilterConfig(), FilterConfig(relations=())):
        with pytest.raises(BuildError, match="the graph has no triples"):
            filtered(table.clear(), config)


def test_reports_count_by_step_and_relation() -> None:
    found, _ = filtered(
        graph(GOOD, ("isa", "cat", "none"), ("hasa", "dog", "dogs"), ("isa", "dogs", "dog")),
        FilterConfig(relations=("usedfor", "isa", "hasa", "madeof")),
    )
    assert found.report.steps["self-loop"] == {"hasa": 1, "isa": 1}
    assert list(found.report.steps) == list(STEPS)
    assert found.report.as_dict()["kept_by_relation"] == {"usedfor": 1}
    assert found.report.absent == ("madeof",)


def test_files_are_filtered_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        (r, h, t) for r in ("isa", "hasa", "atlocation") for h in "abcdefgh" for t in ("pet", "leg")
    ]
    table = graph(*rows, GOOD)
    table.write_parquet(tmp_path / "triples.parquet")
    config = FilterConfig(keep_misspelt=True, keep_fragments=True)
    whole, expected = filtered(table, config)
    monkeypatch.setattr("boxpen.build.kg.filter.filters.CHUNK", 7)
    with ParquetSink(tmp_path / "dropped.parquet", dropped_schema()) as sink:
        parts = filter_triples(tmp_path / "triples.parquet", config, sink.add)
    assert parts.kept.equals(whole.kept)
    assert parts.report == whole.report
    dropped = pl.read_parquet(tmp_path / "dropped.parquet")
    assert dropped.sort("line").equals(expected.sort("line"))


def test_bad_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"there is no .*gone\.parquet"):
        filter_triples(tmp_path / "gone.parquet", FilterConfig())
    (tmp_path / "x.parquet").write_text("x")
    with pytest.raises(BuildError, match=r"x\.parquet is not a Parquet file"):
        filter_triples(tmp_path / "x.parquet", FilterConfig())
    pl.DataFrame({"head": ["a"]}).write_parquet(tmp_path / "y.parquet")
    with pytest.raises(BuildError, match="has no column 'id', it has head"):
        filter_triples(tmp_path / "y.parquet", FilterConfig())


def test_bad_settings_are_told() -> None:
    for table, message in (
        ({"min_words": 0}, "min_words is 0, expected 1 or more"),
        (
            {"min_words": 3, "max_tail_words": 2},
            r"max_tail_words is 2, expected min_words \(3\) or",
        ),
        ({"blocklist": 3}, "blocklist is 3, expected a list of words, or the path of a file"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_config(FilterConfig, table, "c.toml")


def test_a_blocklist_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("gun\n")
    for value in (["gun"], "words.txt"):
        made = check_config(FilterConfig, {"blocklist": value}, "c.toml", tmp_path)
        assert made.blocklist == ("gun",)


def test_word_lists(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("gun  # a weapon\n\n# all of it\nbox cutter\ngun\n")
    assert read_words(tmp_path / "words.txt") == ("gun", "box cutter")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(BuildError, match=r"latin\.txt is not UTF-8 text \(byte 3\)"):
        read_words(tmp_path / "latin.txt")
    with pytest.raises(BuildError, match=r"none\.txt cannot be read: No such file"):
        read_words(tmp_path / "none.txt")
    assert len(profane_words()) == len(set(profane_words())) > 50


@pytest.mark.parametrize(
    "text", ["the colour of a shirt", "PersonX’s tv", "they can't", "two-wheeled carts", "Iowa?"]
)
def test_words_that_are_known(text: str) -> None:
    assert misspelt_word(text) is None


@pytest.mark.parametrize("word", ["recieve", "freind", "becuase", "definately", "peice", "thier"])
def test_words_that_are_not(word: str) -> None:
    assert misspelt_word(f"a {word} of cake") == word


# The twin: every rule once more, in plain Python, by hand for the words used here.

RELATIONS = ("isa", "notisa", "hasa", "xWant", "partof")
NODES = (
    "cat", "cats", "a cat", "pet", "black cat", "PersonX eats", "to eat", "eat", "None", "", "you",
    "this", "2 pets", "pet and cat", "cat, pet", "thing which", "fuck", "wierd pet", "___ pet",
    "one two three four five six seven eight nine ten eleven",
)  # fmt: skip
CONFIGS = (
    FilterConfig(relations=("isa", "xWant"), min_weight=1.0),
    FilterConfig(relations=("isa", "notisa", "hasa"), keep_talk=True, keep_contained=True),
    FilterConfig(relations=(), keep_blanks=True, blocklist=("black",), min_words=2),
    FilterConfig(relations=("isa",), language=None, keep_near_duplicates=True),
    FilterConfig(relations=("isa", "hasa"), keep_misspelt=True, keep_profane=True),
)
rows = st.tuples(
    st.sampled_from(RELATIONS),
    st.sampled_from(NODES),
    st.sampled_from(NODES),
    st.sampled_from([None, 0.5, 1.0, 2.0]),
    st.sampled_from(["en", "en", "en", "fr", None]),
)


def twin_row(row: dict[str, Any], config: FilterConfig) -> str | None:
    nodes = [row["head"], row["tail"]]
    words = [set(normal(n).split()) - {"personx"} for n in nodes]
    english = config.language == "en"
    if config.relations and row["relation"] not in config.relations:
        return "relation"
    if config.language and row["language"] not in (None, config.language):
        return "language"
    if (row["weight"] or 9) < (config.min_weight or 0):
        return "weight"
    if "" in nodes or row["tail"] == "None":
        return "none"
    if any("___" in n for n in nodes) and not config.keep_blanks:
        return "blank"
    if any("PersonX" in n for n in nodes) and row["relation"] != "xWant":
        return "blank"
    if normal(nodes[0]) == normal(nodes[1]):
        return "self-loop"
    within = words[0] <= words[1] or words[1] <= words[0]
    if english and not config.keep_contained and all(words) and within:
        return "self-loop"
    if any(not config.min_words <= len(n.split()) <= 10 for n in nodes):
        return "length"
    if any(re.search("[0-9]", n) for n in nodes):
        return "symbols"
    if english and not config.keep_talk and any(n in ("you", "this") for n in nodes):
        return "talk"
    if english and not config.keep_fragments and "thing which" in nodes:
        return "fragment"
    if any("black" in n for n in nodes) and config.blocklist:
        return "blocklist"
    if english and not config.keep_profane and "fuck" in nodes:
        return "profanity"
    if english and not config.keep_misspelt and "wierd pet" in nodes:
        return "spelling"
    return None


def twin(table: pl.DataFrame, config: FilterConfig) -> dict[int, str]:
    """The step at which each line goes."""
    everything = table.to_dicts()
    gone = {r["line"]: step for r in everything if (step := twin_row(r, config))}

    def better(row: dict[str, Any]) -> tuple[Any, ...]:
        weight = row["weight"]
        size = len(row["head"]) + len(row["tail"])
        return (weight is None, -(weight or 0), size, row["head"], row["tail"], row["line"])

    def exact(row: dict[str, Any]) -> Any:
        return row["relation"], row["head"], row["tail"]

    def same(row: dict[str, Any]) -> Any:
        return row["relation"], unordered(row["head"]), unordered(row["tail"])

    for step, key in (("duplicate", exact), ("near-duplicate", same)):
        if step == "near-duplicate" and config.keep_near_duplicates:
            continue
        left = [r for r in everything if r["line"] not in gone]
        for row in left:
            if any(key(o) == key(row) and better(o) < better(row) for o in left):
                gone[row["line"]] = step
    left = [r for r in everything if r["line"] not in gone]
    believed = [
        r
        for r in everything
        if config.relations and r["relation"] == "notisa" and "notisa" not in config.relations
        and r["language"] in (None, config.language or r["language"])
        and (config.min_weight is None or r["weight"] is None or r["weight"] >= config.min_weight)
    ]  # fmt: skip
    for row in left:
        for other in [*left, *believed]:
            there = unordered(row["head"]), unordered(row["tail"])
            back = unordered(other["tail"]), unordered(other["head"])
            relations = {row["relation"], other["relation"]}
            denied = relations == {"isa", "notisa"} and there == back[::-1]
            if denied or (relations in ({"isa"}, {"hasa"}, {"partof"}) and there == back):
                gone[row["line"]] = "contradiction"
    return gone


@settings(max_examples=150, deadline=None)
@given(st.lists(rows, max_size=12), st.sampled_from(CONFIGS), st.integers(1, 5))
def test_the_filter_equals_its_twin(found: list[Any], config: FilterConfig, size: int) -> None:
    table = graph(*found, ("isa", "big kettle", "round vessel", 9.0))
    expected = twin(table, config)
    result, dropped = filtered(table, config, size)
    assert dict(dropped.select("line", "step").iter_rows()) == expected
    assert dropped["reason"].null_count() == 0
    assert result.kept["line"].to_list() == [line for line in table["line"] if line not in expected]
    totals = result.report.totals
    assert totals == {step: list(expected.values()).count(step) for step in STEPS}


@settings(max_examples=50, deadline=None)
@given(st.lists(rows, max_size=10), st.sampled_from(CONFIGS), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_no_matter(
    found: list[Any], config: FilterConfig, random: Any
) -> None:
    table = graph(*found, ("isa", "big kettle", "round vessel", 9.0))
    shuffled = list(range(table.height))
    random.shuffle(shuffled)
    kept = filtered(table, config)[0].kept
    again = filtered(table[shuffled], config)[0].kept
    assert sorted(kept["line"]) == sorted(again["line"])


def test_parts_can_be_called_alone() -> None:
    config = FilterConfig()
    row_filter = RowFilter(config)
    table = graph(("isa", "cat", "pet"), ("isa", "cat", "pet"), ("notisa", "cat", "pet"), GOOD)
    kept, dropped = row_filter.apply(table)
    assert (kept.height, dropped["step"].to_list()) == (3, ["relation"])
    alone, gone = filter_pairs(kept, config, denied=row_filter.denied[:0])
    assert (alone.height, gone["step"].to_list()) == (2, ["duplicate"])
    told, gone = filter_pairs(kept, config, denied=row_filter.denied)
    assert (told.height, gone["step"].to_list()) == (1, ["duplicate", "contradiction"])
