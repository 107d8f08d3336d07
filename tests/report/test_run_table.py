"""The table that ``boxpen run`` prints: chance, means, counts of blocks, what was not read."""

import json
import re
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

import boxpen
from boxpen import Card, Choice, Suite
from boxpen.cli.app import app
from boxpen.report.formats.latex import matrix_latex
from boxpen.report.formats.markdown import run_markdown
from boxpen.report.html.report import html_report
from boxpen.report.tables import matrix
from boxpen.report.terminal import main_tags, notes, run_table

WORDS = (
    *("box", "pen", "house", "river", "stone", "garden"),
    *("window", "letter", "bridge", "candle", "mirror", "basket"),
)


def item(n: int, block: int | None, options: int = 2, **tags: str) -> Choice:
    texts = [f"{WORDS[n % 12]} {WORDS[k]} {n}" for k in range(options)]
    return Choice(
        id=f"i{n}",
        candidates=tuple(texts),
        gold=n % options,
        block=None if block is None else f"b{block}",
        tags=tags,
    )


@pytest.fixture(scope="module")
def run(gpt2):
    """40 pairs in 20 blocks, of which 12 lie in one set and 8 in the other; 10 of three options."""
    pairs = [item(n, n // 2, part="pairs", set="a" if n < 24 else "b") for n in range(40)]
    triples = [item(100 + n, None, 3, part="triples", set="c") for n in range(10)]
    return boxpen.evaluate(
        gpt2, Suite("table", (*pairs, *triples), Card(language="en")), cache=":memory:"
    )


def shown(run) -> dict[str, list[str]]:
    """Return the cells of every line of the table, by the first."""
    screen = Console(width=100, record=True)
    with screen.capture() as captured:
        screen.print(run_table(run))
    lines = captured.get().splitlines()[1:]
    return {line[:16].strip(): line[16:].split() for line in lines}


def test_every_line_has_its_chance(run):
    table = shown(run)
    assert table["slice"] == ["n", "accuracy", "[95", "%]", "chance", "consist.", "both", "blocks"]
    assert table["all"][4] == f"{(40 / 2 + 10 / 3) / 50:.3f}"
    assert table["part=pairs"][4] == "0.500"
    assert table["set=c"][4] == "0.333"


def test_the_mean_of_the_parts_stands_beside_all(run):
    table = shown(run)
    value = {r.slice: r.value for r in run.summary() if r.metric == "accuracy"}
    mean = (value["part=pairs"] + value["part=triples"]) / 2
    assert table["mean of 2 parts"][0] == f"{mean:.3f}"
    assert table["mean of 2 parts"][3] == f"{(1 / 2 + 1 / 3) / 2:.3f}"


def test_blocks_are_counted_and_few_of_them_give_a_dash(run, tmp_path):
    table = shown(run)
    assert table["all"][-1] == "20"
    assert table["set=a"][-1] == "12"
    assert table["set=b"][-3:] == ["–", "–", "8"]
    assert "–: fewer than 10 complete blocks in this slice" in list(notes(run))
    line = next(li for li in run_markdown(run).splitlines() if li.startswith("| set=b"))
    assert line.count("–") == 2
    assert "| 8 |" in line
    by_set = matrix([run], "both_right", "set")
    assert matrix_latex(by_set).count("--") >= 1
    assert any("fewer than 10 complete blocks" in note for note in by_set.notes)
    assert "blocks: a 12, b 8, all 20" in by_set.notes
    assert not any(note.startswith("blocks:") for note in matrix([run], by="set").notes)
    rows = {(row.slice, row.metric): str(row) for row in run.summary()}
    assert rows["set=b", "both_right"] == rows["set=b", "consistency"] == "–"
    assert rows["set=a", "both_right"][0] in "01"
    assert not any("fewer than" in note for note in notes(run, ["part"]))
    place = str(run.save(tmp_path))
    printed = CliRunner().invoke(app, ["slices", place, "--by", "set"]).output.splitlines()
    assert next(li for li in printed if li.startswith("b ")).split()[-3:] == ["–", "–", "8"]
    assert "–: fewer than 10 complete blocks in this slice" in printed
    raw = json.loads(CliRunner().invoke(app, ["slices", place, "--by", "set", "--json"]).output)
    assert [s["consistency"]["n"] for s in raw["slices"] if "consistency" in s] == [12, 8]


def test_tags_that_do_not_fit_are_named(gpt2):
    items = [item(n, None, set="ab"[n % 2], word=WORDS[n % 12], topic=WORDS[n]) for n in range(12)]
    items += [item(12, None, set="a", word="box", topic="box")]
    found = boxpen.evaluate(
        gpt2, Suite("tags", tuple(items), Card(language="en")), cache=":memory:"
    )
    assert main_tags(found) == (["set"], ["word", "topic"])


def test_a_set_of_too_many_values_leaves_room_for_other_tags(gpt2):
    items = [item(n, None, set=f"s{n}", level="ab"[n % 2]) for n in range(25)]
    found = boxpen.evaluate(
        gpt2, Suite("sets", tuple(items), Card(language="en")), cache=":memory:"
    )
    assert main_tags(found) == (["level"], ["set"])


def test_a_tag_that_all_items_share_makes_no_line(gpt2):
    items = [item(n, None, set="a", kind="ab"[n % 2]) for n in range(4)]
    found = boxpen.evaluate(gpt2, Suite("one", tuple(items), Card(language="en")), cache=":memory:")
    assert main_tags(found) == (["kind"], [])


class TestSource:
    @pytest.fixture
    def suite(self):
        items = [
            Choice(id=str(n), candidates=("A box.", "A pen."), gold=n % 2, source="箱")
            for n in range(4)
        ]
        return Suite("mt", tuple(items), Card(language="en", source_language="zh"))

    def test_a_model_that_does_not_read_the_source_is_told_apart(self, gpt2, suite, tmp_path):
        run = boxpen.evaluate(gpt2, suite, cache=":memory:")
        assert any(note.startswith("source not read: the model judged 4") for note in notes(run))
        kept = boxpen.Run.load(run.save(tmp_path))
        assert any("source not read: " in note for note in matrix([kept]).notes)

    @pytest.mark.parametrize(("template", "unread"), [("{source} =", 0), ("English:", 4)])
    def test_a_prompt_shows_it_or_not(self, gpt2, suite, template, unread):
        run = boxpen.evaluate(
            gpt2, suite, cache=":memory:", template=template, check_languages=False
        )
        assert run.info.unread_sources == unread


def test_without_a_suite_a_quick_sample_of_starter_is_run(gpt2_dir, tmp_path):
    common = ["--model", f"hf:{gpt2_dir}", "--cache", ":memory:", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, ["run", *common])
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) <= 40
    assert "starter (sample of 300 of 860, seed 0)" in result.stdout
    assert f"boxpen run --full --model hf:{gpt2_dir} (all 860 items)" in result.stderr
    assert f"boxpen report {tmp_path} --html report.html" in result.stderr
    assert re.search(r"first \d+ items: accuracy 0\.\d\d \[0\.\d\d, 0\.\d\d\]", result.stderr)
    whole = CliRunner().invoke(app, ["run", "--full", *common])
    assert "sample" not in whole.stdout.partition("\n")[0]
    assert "--full" not in whole.stderr
    for more in (["--limit", "3"], ["starter.mt"]):
        refused = CliRunner().invoke(app, ["run", *more, "--full", *common])
        assert refused.exit_code == 2
        assert "full only works without suite and limit" in refused.stderr


def test_the_page_shows_neither_a_share_of_few_blocks_nor_hides_an_unread_source(gpt2):
    def page(blocks: int) -> str:
        items = tuple(replace(item(n, n // 2), source="箱") for n in range(2 * blocks))
        card = Card(language="en", source_language="zh")
        return html_report([boxpen.evaluate(gpt2, Suite("few", items, card), cache=":memory:")])

    few, enough = page(9), page(10)
    assert few.count('<span class="none">–</span>') == 2
    assert '<span class="none">–</span>' not in enough
    assert "source not read" in few
    assert "Too few blocks to show shares" in few
    assert "Too few blocks" not in enough
