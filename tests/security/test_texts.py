"""Hostile names and texts in every output: shown, never acted on."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import tempfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from typer.testing import CliRunner

from boxpen import Card, Choice, PolicyError, Run, Suite, evaluate, load_suite, write_suite
from boxpen.analysis.discourse.confusions import Confusion
from boxpen.build.kg.wording.templates import load_templates
from boxpen.catalog.tabular import write_csv
from boxpen.cli.app import app
from boxpen.errors import BoxpenError
from boxpen.models.remote.settings import settings_of
from boxpen.printable import neutral, restored
from boxpen.report.discourse.confusions import confusion_csv
from boxpen.report.formats.csv import rows_csv
from boxpen.report.formats.junit import junit_xml
from boxpen.report.formats.latex import matrix_latex
from boxpen.report.formats.markdown import run_markdown
from boxpen.report.html.report import html_report
from boxpen.report.plain_table import escaped, inert
from boxpen.report.tables import matrix
from boxpen.runs.rules import check_runs, parse_bound
from boxpen.scoring.recipe import Recipe
from small_runs import Liking

HOSTILE = {
    "formula": "=HYPERLINK(\"http://evil\")",
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3",
    "at": "@SUM(1)",
    "spaced": " \t=1",
    "marked": "'=1",
    "wide": "＝1+1",
    "script": "</script><img src=x onerror=alert(1)>",
    "attribute": "\" onmouseover=\"alert(1)",
    "jinja": "{{ 7 * 7 }}{% raw %}",
    "format": "{0.__class__}{context.__class__}",
    "clear": "\x1b[2J\x1b]8;;http://evil\x1b\\",
    "c1": "\x9b1m\x07",
    "override": "a\u202ecod.exe\u202c\u2066b",
    "separators": "a\u2028b\u2029c",
    "tex": "\\input{/etc/passwd}^^M$x$%&#_~",
    "markdown": "![a](http://evil) [b](javascript:1) | `c`",
    "reference": "![a][b] [c] [d][] [b]: http://evil",
    "definition": "[0.5]: http://evil 'x'",
    "interval": "![0.1](http://evil) ![0.1][0.2] [0.3](http://evil)",
    "address": "see https://evil.example/x, www.evil.example and HTTP://evil",
    "entity": "&lt;b&gt; &#60;img src=x&#x3e; &amp;lt; <b>",
    "rich": "[bold red]x[/bold red][link=http://evil]",
}  # fmt: skip
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
CELLS = st.text(st.sampled_from("'=+-@\t\r\n \"a,;＝") | st.characters(codec="utf-8"), min_size=1)
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")


@pytest.fixture(params=HOSTILE, scope="module")
def text(request) -> str:
    return HOSTILE[request.param]


@pytest.fixture(scope="module")
def suite(text: str) -> Suite:
    items = tuple(
        Choice(
            id=f"{text}{n}",
            candidates=(f"{text} right {n}", f"{text} wrong {n}"),
            gold=0,
            context=text,
            block=f"{text}{n // 2}",
            tags={"set": f"{text}{'AB'[n % 2]}", f"t{text}": text},
        )
        for n in range(4)
    )
    card = Card(title=text, language="en", licence=text, citation=text, url=text, notes=text)
    return Suite(text, items, card)


@pytest.fixture(scope="module")
def run(suite: Suite, text: str) -> Run:
    liked = {c.candidates[0] for c in suite}
    return evaluate(Liking(text, liked), suite, cache=":memory:")


OUTPUTS: dict[str, Callable[[Run], str]] = {
    "markdown": run_markdown,
    "latex": lambda run: matrix_latex(matrix([run]), [run.signature]),
    "html": lambda run: html_report([run], items=False),
    "junit": lambda run: junit_xml(check_runs([run], [parse_bound("accuracy>=0")], [])).decode(),
}


@pytest.mark.parametrize("form", OUTPUTS)
def test_nothing_steers_a_terminal_or_reorders_a_line(run, form):
    assert not CONTROLS.findall(OUTPUTS[form](run))


def test_csv_has_no_formula(run):
    rows = list(csv.reader(io.StringIO(rows_csv(run.summary()), newline="")))
    texts = [row[place] for row in rows for place in (0, 1, 2, 9)]
    assert not [cell for cell in texts if FORMULA.match(cell)]
    assert {restored(row[0]) for row in rows[1:]} == {run.info.suite.name}


def test_tables_of_confusions_have_no_formula(text):
    one = Confusion(
        system=text, word=text, cls=text, translations=1, right=0, cannot_tell=0, instead={text: 1}
    )
    _, row = csv.reader(io.StringIO(confusion_csv([one])))
    assert not [cell for cell in row[:4] if FORMULA.match(cell)]
    assert [restored(cell) for cell in row[:4]] == [text] * 4


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(CELLS.filter(str.strip), min_size=4, max_size=4, unique=True))
@example(texts=["'-ing is a suffix.", "-ing", "''=1", "x"])
def test_tables_keep_every_text(texts):
    stream = io.BytesIO()
    one = Choice(id=texts[0], candidates=(texts[1], texts[2]), gold=0, tags={"t": texts[3]})
    plain = Choice(id="plain", candidates=("'right", "wrong"), gold=0)
    write_csv(Suite("s", (one, plain), Card(language="en")), stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.csv"
        path.write_bytes(stream.getvalue())
        assert [_texts(item) for item in load_suite(path)] == [_texts(one), _texts(plain)]


def test_apostrophes_of_unmarked_rows_stay(tmp_path):
    """A file of an earlier version, or one that you wrote, has no column ``marked``."""
    head, row = "kind,id,candidate_0,candidate_1,gold", "choice,{},'-ing is a suffix.,b,0"
    path = tmp_path / "s.csv"
    path.write_text(f"{head}\n{row.format(1)}\n")
    assert load_suite(path).items[0].candidates[0] == "'-ing is a suffix."
    path.write_text(f"{head},marked\n{row.format(1)},yes\n{row.format(2)},\n")
    assert [item.candidates[0][0] for item in load_suite(path)] == ["-", "'"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_exported_suites_come_back_and_have_no_formula(suite, tmp_path, ending):
    path = tmp_path / f"suite.{ending}"
    write_suite(suite, path)
    again = load_suite(path)
    assert [_texts(item) for item in again] == [_texts(item) for item in suite]
    if ending in ("csv", "tsv"):
        delimiter = "," if ending == "csv" else "\t"
        with path.open(newline="", encoding="utf-8") as stream:
            cells = [cell for row in csv.reader(stream, delimiter=delimiter) for cell in row]
        assert not [cell for cell in cells if FORMULA.match(cell)]


def _texts(item: Choice) -> tuple[object, ...]:
    return item.id, item.candidates, item.context, item.block, dict(item.tags)


def test_cells_are_marked_once_and_restored(text):
    for cell in (text, f"'{text}", f"''{text}", "plain", "'quoted'", ""):
        assert restored(neutral(cell)) == cell
        assert not FORMULA.match(neutral(cell))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))


def test_html_has_no_tag_or_handler_of_a_text(run):
    page = html_report([run])
    tags = _Tags()
    tags.feed(page)
    assert not [tag for tag, _ in tags.found if tag == "img"]
    assert not [a for _, attrs in tags.found for a, _ in attrs if a.startswith("on")]
    links = [value or "" for _, attrs in tags.found for a, value in attrs if a == "href"]
    assert not [link for link in links if link.lower().lstrip().startswith("javascript")]
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", page, re.DOTALL)[0]


def test_markdown_has_no_html_link_or_image(run):
    page = run_markdown(run)
    outside = re.sub(r"`[^`\n]*`", "", page)
    assert not re.search(r"<(?!br)|(?<!\\)\]\(", outside)
    assert not re.search(r"://|www\.", outside, re.IGNORECASE)
    (signed,) = (line for line in page.splitlines() if line.startswith("`"))
    assert signed.count("`") == 2


@pytest.mark.parametrize("shown", [inert, escaped])
def test_markdown_shows_texts_as_they_are(text, shown):
    """A text makes no link, image, tag or definition, whatever the document around it defines."""
    names = ("A", "B", "C", "D", "0.1", "0.2", "0.3")
    defined = {"references": {name: {"href": "http://x", "title": ""} for name in names}}
    tokens = MarkdownIt().parse(shown(text), defined)
    kinds = {part.type for token in tokens for part in (token, *(token.children or ()))}
    assert not kinds & {"link_open", "image", "html_inline", "html_block"}
    assert len(defined["references"]) == len(names)
    assert tokens  # a definition is not shown


def test_markdown_keeps_common_texts_readable():
    for text in ("0.812 [0.79, 0.83]", "-1.5 [-2, 0.5]", "R&D, AT&T", "50 % [40 %–60 %]", "a: b"):
        assert inert(text) == text


def test_latex_has_no_command_of_a_text(run):
    lines = matrix_latex(matrix([run]), [run.signature]).splitlines()
    source = "\n".join(line for line in lines if not line.startswith("%"))
    assert "\\input" not in source
    assert "^^" not in source
    assert source.count("\\begin{") == source.count("\\end{") == 1
    assert all(line.startswith(("%", "\\", "model", " &")) or "&" in line for line in lines)


def test_junit_is_xml_and_says_it_all(run):
    root = ElementTree.fromstring(OUTPUTS["junit"](run))
    assert root.find(".//testcase") is not None


@pytest.mark.parametrize(
    "words", [["report"], ["report", "--matrix"], ["report", "--markdown"], ["slices"]]
)
def test_commands(run, tmp_path, words):
    place = run.save(tmp_path / "runs")
    done = CliRunner().invoke(app, [words[0], str(place), *words[1:]])
    assert done.exit_code == 0, done.output
    assert not CONTROLS.findall(done.stdout + done.stderr)
    assert "49" not in html.unescape(done.stdout).replace("0.49", "")


class TestTemplates:
    """Templates name fields; they reach no attribute, no item, no format and no gigabyte."""

    BAD = ("{context.__class__}", "{context[0]}", "{context!r}", "{context:>999999999}", "{0}", "{")

    @pytest.mark.parametrize("template", BAD)
    @pytest.mark.parametrize("field", ["prompt", "prefix", "unconditional"])
    def test_recipes(self, template, field):
        with pytest.raises(PolicyError, match="template"):
            Recipe(name="mine", **{field: template})

    @pytest.mark.parametrize("template", BAD[:4])
    def test_the_graph(self, tmp_path, template):
        path = tmp_path / "templates.toml"
        wanted = template.replace("context", "head")
        path.write_text(
            f"[[isa.nli]]\nname = 'one'\npremise = '{wanted}'\nhypothesis = '{{tail}}'\n"
        )
        with pytest.raises(BoxpenError, match="head"):
            load_templates([path])

    def test_texts_are_values_and_no_templates(self):
        item = Choice(id="i", candidates=("a", "b"), gold=0, context="{context.__class__}")
        one, _ = Recipe(name="mine").requests(
            item, language="en", source_language=None, encoder=False
        )
        assert one.prefix == "{context.__class__}"

    def test_chat_templates_are_sandboxed(self, gpt2):
        from boxpen import ModelError
        from boxpen.models.engine.chat import chat_prompt

        gpt2.tokenizer.chat_template = (
            "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[0].content }}"
        )
        try:
            with pytest.raises(ModelError, match="unsafe"):
                chat_prompt(gpt2, "?")
        finally:
            gpt2.tokenizer.chat_template = None


class TestSecrets:
    """No key is in a name, a file, a message or a repr."""

    @pytest.mark.parametrize(
        "name", ["api:http://me:s3cret@localhost#m", "api:http://localhost/?key=s3cret#m"]
    )
    def test_addresses_with_keys_are_refused_and_not_quoted(self, name, tmp_path):
        done = CliRunner().invoke(app, ["run", "starter", "--model", name])
        assert done.exit_code == 2
        assert "s3cret" not in done.output.replace(name, "")

    def test_settings_do_not_show_them(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MY_KEY", "s3cret")
        path = tmp_path / "api.toml"
        path.write_text(
            "url = 'http://localhost'\nmodel = 'm'\nheaders = {Authorization = 'Bearer $MY_KEY'}\n"
        )
        found = settings_of(f"api:{path}")
        assert "s3cret" in found.secrets()["Authorization"]
        assert "s3cret" not in repr(found) + json.dumps(vars(found), default=str)
