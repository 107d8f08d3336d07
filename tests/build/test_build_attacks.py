"""What an impatient user does to a build: every slip is one sentence, and nothing is lost by it."""

from pathlib import Path

import polars as pl
import pytest

from boxpen.build.kg.config import read_config
from boxpen.build.kg.stages import BUILDER
from boxpen.build.kg.triples import read_table, write_table
from boxpen.build.kg.wording.templates import load_templates
from boxpen.errors import BuildError, TrainError
from boxpen.lm.options import Options

GRAPH = "head\trelation\ttail\n" + "".join(
    f"{head}\tisa\t{tail}\n"
    for head, tail in [
        ("a rose", "a flower"), ("an oak", "a tree"), ("a hammer", "a tool"),
        ("a trout", "a fish"), ("a violin", "an instrument"), ("a sofa", "a seat"),
    ]
)  # fmt: skip
CONFIG = """
name = "toy"
folder = "out"
[[graphs]]
name = "mine"
files = ["graph.tsv"]
language = "en"
[rank]
model = "none"
[negatives]
count = 1
wordnet = false
[render]
tasks = ["nli"]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "graph.tsv").write_text(GRAPH)
    return tmp_path


def config_of(folder, *changes, more=""):
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "kg.toml"
    path.write_text(text + more)
    return read_config(path)


def refusal(folder, *changes, more="", stage=None):
    with pytest.raises(BuildError) as caught:
        list(BUILDER.runner(config_of(folder, *changes, more=more)).run(stage))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"toy"', '"../toy"', "name is '../toy', expected a name that a file can have"),
        ('"toy"', '"a\\u0000b"', "expected a name that a file can have"),
        ('"toy"', f'"{"x" * 300}"', "expected a name that a file can have"),
        ('"out"', '"a\\u0000b"', "expected the path of a file"),
        ('"graph.tsv"', '"."', "expected existing files: "),
        ('"graph.tsv"', '"**.tsv"', "can only be an entire path component"),
        ('language = "en"', 'encoding = "a\\u0000b"', "unknown encoding"),
        ("count = 1", "count = 100000000000000000000", "expected 1 to 1,000"),
        ('["nli"]', "[]", "render.tasks is empty, expected one task or more, each once"),
        ('["nli"]', '["nli", "nli"]', "render.tasks is nli, nli, expected one task or"),
        ('["nli"]', '["nly"]', "a task of render.tasks is 'nly', did you mean"),
        ("[rank]", "[filter]\nmin_weight = nan\n[rank]", "expected a finite number"),
        ("[rank]", "[filter]\nmin_weight = inf\n[rank]", "expected a finite number"),
        ("[rank]", "[filter]\nlanguage = 'fr'\n[rank]", "6 triples are in other languages than"),
        ("[rank]", "[review]\njournal='j'\nmin_judges=0\n[rank]", "review.min_judges is 0, exp"),
        ("[rank]", "[review]\njournal='j'\nrule='adjudicator'\n[rank]", "expected the name of the"),
        ("[rank]", "[review]\njournal='j'\nadjudicator='ann'\n[rank]", "and none with others"),
        ("[rank]", "[review]\njournal='j'\n[rank]", "j; 'boxpen review import' writes it"),
    ],
)  # fmt: skip
def test_slips_of_a_configuration(folder, old, new, message):
    assert message in refusal(folder, (old, new))


def test_a_slip_in_templates_is_told_before_anything_is_read(folder):
    (folder / "mine.toml").write_text('[[isa.nli]]\nname = "mine"\npremise = "{hed}."\n')
    assert "mine.toml, line" in refusal(
        folder, ('tasks = ["nli"]', 'tasks = ["nli"]\ntemplates = ["mine.toml"]')
    )
    assert not (folder / "out").exists()
    assert "none.toml cannot be read: No such file" in refusal(
        folder, ('tasks = ["nli"]', 'tasks = ["nli"]\ntemplates = ["none.toml"]')
    )


def test_a_file_without_text_is_not_called_empty(folder):
    (folder / "graph.tsv").write_bytes(b"\xff\xfe\x80\n" * 50)
    assert "graph.tsv has no line of text in utf-8" in refusal(folder)


TEMPLATE = '[[isa.nli]]\nname = "mine"\npremise = "This is {head}."\nhypothesis = "It is {tail}."\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEMPLATE + "head = 3\n", "line 5: head is 3, expected any, person"),
        (TEMPLATE + "form = true\n", "line 5: form is True, expected np, vp"),
        (TEMPLATE + "form = {a = 1}\n", "line 5: form is {'a': 1}, expected np, vp"),
        ('[tasks]\nriddle = ["qa"]\n', "line 2: task 'riddle' is ['qa'], expected nli"),
        ("[tasks]\nriddle = {a = 1}\n", "line 2: task 'riddle' is {'a': 1}, expected nli"),
        ("a = " + "[" * 3000, "is not TOML"),
        (TEMPLATE.replace("It is", "It is" + "(|n't)" * 40), "line 4: hypothesis is "),
        (
            TEMPLATE.replace("It is", "It (is|was)" * 9).replace("This is", "This (is|was)" * 9),
            "line 1: expected 10,000 forms of a template or fewer",
        ),
    ],
)
def test_slips_of_a_template(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(BuildError) as caught:
        load_templates([path])
    assert message in str(caught.value)


def test_a_template_file_saved_by_an_editor_of_windows_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEMPLATE.replace("\n", "\r\n").encode())
    plain = len(load_templates().of("nli", "isa"))
    assert len(load_templates([path]).of("nli", "isa")) == plain + 1
    path.write_bytes(b"\xe9\xff")
    with pytest.raises(BuildError, match=r"mine\.toml is not UTF-8"):
        load_templates([path])


def test_when_nothing_is_left_what_was_dropped_can_be_listed(folder):
    changes = ("[rank]", "[filter]\nmax_characters = 1\n[rank]")
    assert "the last went at step 'length'" in refusal(folder, changes)
    rows, total = BUILDER.runner(config_of(folder, changes)).dropped()
    assert total == len(rows) == 6
    assert {row["step"] for row in rows} == {"length"}
    fresh = {d.stage: d.fresh for d in BUILDER.runner(config_of(folder)).run()}
    assert not fresh["read"]
    assert fresh["filter"]


def test_what_a_review_rejected_is_not_listed_without_it(folder):
    list(BUILDER.runner(config_of(folder)).run())
    table = pl.read_parquet(folder / "out" / "dropped.parquet")
    sampled = pl.read_parquet(folder / "out" / "sampled.parquet").select(table.columns[:-2])
    rejected = sampled.with_columns(step=pl.lit("review"), reason=pl.lit("rejected by ann"))
    write_table(rejected, folder / "out" / "rejected.parquet")
    assert BUILDER.runner(config_of(folder)).dropped()[1] == table.height
    more = '[review]\njournal = "j.jsonl"\n'
    both = BUILDER.runner(config_of(folder, more=more)).dropped(where={"relation": "IsA"})[1]
    assert both == table.height + rejected.height


def _spoilt(table, how):
    if how == "type":
        return table.with_columns(pl.lit(5).alias(name) for name in table.columns[1:])
    if how == "null":
        return table.with_columns(pl.lit(None, pl.String).alias("head"))
    return table.drop("tail")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("type", "has a column 'head' of Int32, expected texts"),
        ("null", "row 1 has no head"),
        ("column", "has no column 'tail'"),
        ("noise", "is not a Parquet file"),
    ],
)
@pytest.mark.parametrize(
    ("file", "stage"),
    [
        ("filtered", "rank"), ("ranked", "sample"), ("sampled", "negatives"),
        ("triples", "negatives"), ("negatives", "render"),
    ],
)  # fmt: skip
def test_a_table_that_was_edited_between_stages(folder, file, stage, how, message):
    list(BUILDER.runner(config_of(folder)).run())
    path = folder / "out" / f"{file}.parquet"
    if how == "noise":
        path.write_bytes(b"noise")
    else:
        _spoilt(pl.read_parquet(path), how).write_parquet(path)
    said = refusal(folder, stage=stage)
    assert f"{file}.parquet" in said
    assert message in said
    # A build of all stages makes it anew.
    assert {d.stage for d in BUILDER.runner(config_of(folder)).run() if d.fresh}


def test_a_list_of_dropped_triples_that_was_spoilt(folder):
    list(BUILDER.runner(config_of(folder)).run())
    path = folder / "out" / "dropped-rank.parquet"
    for content, message in ((b"noise", "is not a Parquet file"), (None, "no column 'reason'")):
        if content is None:
            pl.read_parquet(folder / "out" / "dropped.parquet").drop("reason").write_parquet(path)
        else:
            path.write_bytes(content)
        with pytest.raises(BuildError, match=message):
            BUILDER.runner(config_of(folder)).dropped()


def test_no_triple_to_draw(folder):
    list(BUILDER.runner(config_of(folder)).run())
    path = folder / "out" / "ranked.parquet"
    pl.read_parquet(path).clear().write_parquet(path)
    assert "ranked.parquet has no triple to draw" in refusal(folder, stage="sample")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_sentence():
    table = pl.DataFrame({"text": [str(n) for n in range(100_000)]})
    with pytest.raises(BuildError, match=r"/dev/full cannot be written: .*No space left"):
        write_table(table, Path("/dev/full"))


def test_lists_of_texts_are_told_from_texts(tmp_path):
    path = tmp_path / "table.parquet"
    row = {"id": "a", "head": "b", "relation": "isa", "tail": "c", "weight": None, "origin": "g",
           "surface": None, "language": None, "line": 1}  # fmt: skip
    pl.DataFrame([{**row, "wrong_text": ["d"]}]).write_parquet(path)
    assert read_table(path, "wrong_text")["wrong_text"].to_list() == [["d"]]
    assert read_table(path, only=["tail"]).columns == ["tail"]
    pl.DataFrame([{**row, "wrong_text": "d"}]).write_parquet(path)
    with pytest.raises(BuildError, match="'wrong_text' of String, expected lists of texts"):
        read_table(path, "wrong_text")


def test_seeds_that_numpy_does_not_take():
    assert Options(seed=(1 << 32) - 1).seed
    with pytest.raises(TrainError, match="seed is 4294967296, expected less than 4294967296"):
        Options(seed=1 << 32)


def test_a_missing_library_is_named_with_the_way_out(monkeypatch):
    from boxpen.build import libraries

    monkeypatch.setattr(libraries, "find_spec", lambda name: None if name == "nltk" else object())
    with pytest.raises(
        BuildError, match=r"need nltk; install it with: pip install 'boxpen\[build\]'"
    ):
        libraries.need_libraries()
