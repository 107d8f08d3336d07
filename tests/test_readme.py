"""What README.md shows is what boxpen gives."""

import html
import json
import re
from pathlib import Path

import pytest
from results import QUICK, accuracy_on_page, picture, quick_run, readme_results
from typer.testing import CliRunner

import boxpen
from boxpen import ModelError
from boxpen.catalog import entries
from boxpen.cli.app import app
from boxpen.models.loading.embedded import smollm2_path
from boxpen.models.loading.presets import ELMO, PRESETS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short():
    assert len(README.splitlines()) < 120


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=str
)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_suite_is_listed_with_its_size():
    listed: dict[str, int] = {}
    for names, sizes in re.findall(r"^\| (`[^|]+`) \| [^|]+ \| ([\d,; ]+) \|$", README, re.M):
        for name, size in zip(re.findall("`(.+?)`", names), sizes.split("; "), strict=True):
            listed[name] = int(size.replace(",", ""))
    # tests/catalog/test_registry.py loads each and counts
    assert listed == {name: entry.items for name, entry in entries().items()}


def test_models_are_tried_as_it_says():
    said = README.partition("Models: ")[2].partition("\n\n")[0].replace("\n", " ")
    of_a_relative = said.partition("real weights; ")[2].partition(" with those of another")[0]
    kin = {name for name, preset in PRESETS.items() if preset.trial.on == "kin"}
    assert set(re.findall("`([^`]+)`", of_a_relative)) == kin
    assert {name for name, preset in PRESETS.items() if preset.trial.on == "real"} == {"smollm2"}
    assert ELMO.on == "random"


def test_results_are_those_of_the_pages(mirror):
    shown = README.partition("<!-- begin results -->\n")[2].partition("\n<!-- end results -->")[0]
    assert shown == readme_results()


def columns(picture_file):
    """Return the slices of a picture with what no model changes: items, chance and blocks."""
    text = html.unescape(picture_file.read_text("utf-8")).replace("\xa0", " ")
    rows: dict[float, str] = {}
    for y, part in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', text):
        rows[float(y)] = rows.get(float(y), "") + f" {part}"
    slices = [row.split() for row in rows.values() if re.match(r" +(all|part=|set=)", row)]
    return [(row[0], row[1], row[5], *row[8:9]) for row in slices]


def test_the_picture_is_of_todays_sample(gpt2_dir, tmp_path):
    model = boxpen.resolve_model(f"hf:{gpt2_dir}")
    model.languages = frozenset({"en"})  # as smollm2
    run = boxpen.evaluate(model, "starter", limit=QUICK, cache=":memory:")
    picture(run, tmp_path / "demo.svg")
    shown = columns(ROOT / "docs" / "images" / "demo.svg")
    assert len(shown) > 10
    assert shown == columns(tmp_path / "demo.svg")


@pytest.mark.heavy
def test_the_picture_shows_the_run(tmp_path):
    """The very run that ``boxpen run`` makes, scored anew; every number of it is in the picture."""
    try:
        smollm2_path(download=False)
    except ModelError:
        pytest.skip("smollm2 is not available")
    picture(quick_run(":memory:"), tmp_path / "demo.svg")
    assert (tmp_path / "demo.svg").read_text() == (
        ROOT / "docs" / "images" / "demo.svg"
    ).read_text()


def test_the_pictures_of_the_report_are_of_the_same_runs():
    """What the pictures show is kept beside them; it is what the pages have, of today's suite."""
    figures = json.loads((ROOT / "docs" / "data" / "report-figures.json").read_text("utf-8"))
    suite = boxpen.load_suite("starter")
    english = suite.take([item for item in suite if suite.languages_of(item)[0] == "en"])
    for short, system in (("smollm2", "smollm2"), ("bert-mini", "bert-mini, within-word")):
        found = figures[short]
        assert found["signature"].startswith(f"suite:starter@{english.hash[:8]}|model:{short}@")
        shown, n = accuracy_on_page("lm.md", "starter", system)
        assert (shown.split()[0], n) == (found["accuracy"], found["n"])
        assert f"| {shown} |" in README


def test_commands_exist():
    commands = set(re.findall(r"^    boxpen (\w+)", README, re.M))
    assert commands >= {"run", "compare", "report"}
    for command in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
