"""Suites as data sets of the Hub: ``load_dataset`` gives the items, no more and no fewer."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

os.environ["HF_HUB_OFFLINE"] = "1"
datasets = pytest.importorskip("datasets")
yaml = pytest.importorskip("yaml")

from boxpen import Card, Choice, Suite, load_suite, read_suite  # noqa: E402
from boxpen.errors import SuiteError  # noqa: E402
from boxpen.exchange import export_suite  # noqa: E402
from boxpen.exchange.hub_dataset import config_of, dataset_id  # noqa: E402
from boxpen.exchange.yaml import to_yaml  # noqa: E402
from boxpen.items import Item, item_from_dict  # noqa: E402
from boxpen.plugins import SUITES  # noqa: E402
from small_runs import small_suite  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "catalog"))
from suite_strategies import seldom, suites  # noqa: E402

datasets.disable_progress_bars()


def loaded(folder: Path, config: str | None = None) -> list[Item]:
    """The items as someone reads them who has ``datasets`` and no boxpen."""
    with tempfile.TemporaryDirectory() as cache:
        found = datasets.load_dataset(str(folder), config, cache_dir=cache)
        assert list(found) == ["test"]
        rows = found["test"].to_list()
    return [as_item(row) for row in rows]


def as_item(row: dict) -> Item:
    fields = {k: v for k, v in row.items() if v is not None}
    tags = json.loads(fields.pop("tags")) | json.loads(fields.pop("reader_tags", "{}"))
    return item_from_dict(fields | {"tags": tags})


def spelt(suite: Suite) -> list[Item]:
    """The items with the languages that they take from their suite."""
    out = []
    for item in suite:
        language, source_language = suite.languages_of(item)
        fields = {f: getattr(item, f) for f in item.__dataclass_fields__} | {"kind": item.kind}
        fields["language"] = language
        if "source_language" in fields:
            fields["source_language"] = source_language or item.source_language
        out.append(item_from_dict(fields))
    return out


def front_matter(folder: Path) -> dict:
    text = (folder / "README.md").read_text("utf-8")
    return yaml.safe_load(text.split("---\n")[1])


@pytest.mark.parametrize("name", ["starter", "starter-graph", "commonmt"])
def test_rows_are_the_items(name, tmp_path, request):
    if SUITES.load(name).files:
        request.getfixturevalue("mirror")
    suite = load_suite(name)
    folder = tmp_path / "out"
    export_suite(suite, "hf", folder)
    assert loaded(folder) == spelt(suite)
    sets = suite.tag_values().get("set", [])
    configs = [config["config_name"] for config in front_matter(folder)["configs"]]
    assert configs == ["default", *sets]
    for value in sets:
        assert loaded(folder, value) == spelt(suite.where(set=value))
    back = read_suite(folder / "data" / f"{name}.parquet")
    assert (back.name, back.hash, len(back)) == (suite.name, suite.hash, len(suite))


@settings(seldom, max_examples=8)
@given(suite=suites(), values=st.lists(st.text(max_size=4), min_size=1, max_size=3))
def test_any_suite_comes_back(suite, values):
    made = []
    for n, item in enumerate(suite):  # sets of odd names
        tags = item.tags if n % 4 == 3 else {**item.tags, "set": values[n % len(values)]}
        made.append(replace(item, tags=tags))
    suite = suite.take(made)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "out"
        export_suite(suite, "hf", folder)
        assert loaded(folder) == spelt(suite)
        for value in suite.tag_values().get("set", []):
            assert loaded(folder, config_of(value)) == spelt(suite.where(set=value))
        (whole,) = [
            config["data_files"][0]["path"]
            for config in front_matter(folder)["configs"]
            if config["config_name"] == "default"
        ]
        assert read_suite(folder / whole).hash == suite.hash


def test_the_card_tells_what_one_must_know(tmp_path):
    suite = load_suite("starter")
    export_suite(suite, "hf", tmp_path / "out")
    text = (tmp_path / "out" / "README.md").read_text("utf-8")
    head = front_matter(tmp_path / "out")
    assert head["license"] == "apache-2.0"
    assert head["language"] == ["en", "zh"]
    assert head["size_categories"] == ["n<1K"]
    assert head["task_categories"] == ["multiple-choice", "translation"]
    for part in (suite.card.citation, suite.card.licence, suite.hash, suite.card.notes):
        assert part in text
    files = sorted((tmp_path / "out" / "data").iterdir())
    assert len(files) == 13
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text


def test_the_canary_is_that_of_the_suite(tmp_path):
    def found(suite: Suite, name: str) -> str:
        export_suite(suite, "hf", tmp_path / name)
        text = (tmp_path / name / "README.md").read_text("utf-8")
        return re.search(r"canary GUID ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\n", text)[1]

    assert found(small_suite(4), "a") == found(small_suite(4), "b") != found(small_suite(6), "c")


@pytest.mark.parametrize(
    ("licence", "head"),
    [
        ("CC BY-SA 4.0", {"license": "cc-by-sa-4.0"}),
        ("GPL-3.0 (the repository)", {"license": "gpl-3.0"}),
        ("AFL 3.0", {"license": "afl-3.0"}),
        ("none stated", {"license": "unknown"}),
        ("", {"license": "unknown"}),
        ("Ask: me", {"license": "other", "license_name": "Ask: me"}),
    ],
)
def test_licences_become_identifiers_of_the_hub(licence, head, tmp_path):
    suite = Suite("one", small_suite(2).items, Card(licence=licence))
    export_suite(suite, "hf", tmp_path / "out")
    found = front_matter(tmp_path / "out")
    assert {k: v for k, v in found.items() if k.startswith("license")} == head


def test_sets_that_differ_in_case_only_have_files_of_their_own(tmp_path):
    items = tuple(
        Choice(id=f"i{value}", candidates=("a", "b"), gold=0, tags={"set": value})
        for value in ("A", "a", "default", "Default", "b/c", "b c", "")
    )
    export_suite(Suite("one", items), "hf", tmp_path / "out")
    assert len({file.name.lower() for file in (tmp_path / "out" / "data").iterdir()}) == 8
    for item in items:
        assert loaded(tmp_path / "out", config_of(item.tags["set"])) == [item]


def test_what_cannot_be_exported_is_one_sentence(tmp_path):
    with pytest.raises(SuiteError, match="holds items, not prompts, so recipe 'ask'"):
        export_suite(small_suite(2), "hf", tmp_path / "out", recipe="ask")
    half = Suite("one", (Choice(id="1", candidates=("a\ud800", "b"), gold=0),))
    with pytest.raises(SuiteError, match="half of a surrogate pair"):
        export_suite(half, "hf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_data_sets_of_the_hub_are_known_by_their_address():
    assert dataset_id("https://huggingface.co/datasets/ybisk/piqa") == "ybisk/piqa"
    assert dataset_id("https://hf.co/datasets/a/b/tree/main") == "a/b"
    assert dataset_id("https://huggingface.co/ybisk/piqa") is None
    assert dataset_id("") is None


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=12
)


@given(st.dictionaries(texts, values, min_size=1) | st.lists(values, min_size=1))
def test_yaml_is_read_as_it_was_meant(value):
    assert yaml.safe_load(to_yaml(value)) == value
