"""Tables of TOML files become dataclasses, or are refused in one sentence."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Le, Lt
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boxpen.config import (
    AtLeast1,
    ConfigPath,
    FileName,
    Positive,
    Share,
    check_config,
    check_keys,
    load_config,
    one_of,
    read_toml,
)  # fmt: skip
from boxpen.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Part:
    size: AtLeast1 = 1
    paths: tuple[ConfigPath, ...] = ()
    words: tuple[str, ...] = ()
    sizes: Mapping[str, Annotated[int, Ge(0), Lt(9)]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.size == 13:
            raise ConfigError("size is 13, expected a lucky number")
        if self.size == 14:
            raise ConfigError("found 14, expected another")


@dataclass(frozen=True, kw_only=True)
class Example:
    path: ConfigPath
    name: FileName
    count: int = 5
    share: Share = 0.5
    beam: Annotated[int, Ge(1), Le(1000)] = 1
    quick: bool = False
    least: Positive | None = None
    by: Literal["weight", "random"] = "random"
    columns: Mapping[str, str | int] = field(default_factory=dict)
    part: Part = field(default_factory=Part)
    parts: tuple[Part, ...] = ()


def load(folder, text):
    path = folder / "c.toml"
    path.write_text(text)
    return load_config(Example, path)


def test_every_kind_of_value(tmp_path):
    text = """
        name = "a"
        count = 2
        share = 1
        quick = true
        least = 2
        by = "weight"
        columns = {head = 1, tail = "t"}
        [part]
        paths = ["x.tsv", "/y"]
        [[parts]]
        words = ["b"]
        sizes = {b = 3}
    """
    assert load(tmp_path, text) == Example(
        path=tmp_path / "c.toml",
        name="a",
        count=2,
        share=1.0,
        quick=True,
        least=2.0,
        by="weight",
        columns={"head": 1, "tail": "t"},
        part=Part(paths=(tmp_path / "x.tsv", tmp_path / "/y")),
        parts=(Part(words=("b",), sizes={"b": 3}),),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name is missing"),
        ('nmae = "a"', "unknown key 'nmae', did you mean 'name'?"),
        ('name = "a"\npath = "x"', "unknown key 'path', did you mean 'part' or 'parts'?"),
        ('name = "a"\nquikc = 1', "unknown key 'quikc', did you mean 'quick'?"),
        ("name = 1", "name is 1, expected a name that a file can have"),
        ('name = "a/b"', "name is 'a/b', expected a name that a file can have"),
        ('name = "a"\ncount = true', "count is True, expected a whole number"),
        ('name = "a"\ncount = 1.5', "count is 1.5, expected a whole number"),
        ('name = "a"\ncount = "1"', "count is '1', expected a whole number"),
        ('name = "a"\nshare = "x"', "share is 'x', expected a number"),
        ('name = "a"\nshare = 2', "share is 2, expected more than 0 and 1 or less"),
        ('name = "a"\nshare = nan', "share is nan, expected a finite number"),
        ('name = "a"\nshare = inf', "share is inf, expected a finite number"),
        ('name = "a"\nbeam = 1001', "beam is 1001, expected 1 to 1,000"),
        ('name = "a"\nquick = 1', "quick is 1, expected true or false"),
        ('name = "a"\nleast = "x"', "least is 'x', expected a number"),
        ('name = "a"\nleast = 0', "least is 0, expected more than 0"),
        ('name = "a"\nby = 3', "by is 3, expected 'weight' or 'random'"),
        (
            'name = "a"\nby = "wieght"',
            "by is 'wieght', expected 'weight' or 'random', did you mean 'weight'?",
        ),
        ('name = "a"\ncolumns = 1', "columns is 1, expected a table"),
        (
            'name = "a"\ncolumns = {a = true}',
            "columns.a is True, expected a string or a whole number",
        ),
        ('name = "a"\npart = 3', "part is 3, expected a table"),
        ('name = "a"\nparts = 3', "parts is 3, expected a list"),
        ('name = "a"\n[part]\nsize = 0', "part.size is 0, expected 1 or more"),
        ('name = "a"\n[part]\nsizes = {b = 9}', "part.sizes.b is 9, expected 0 or more and less"),
        ('name = "a"\n[part]\nsiez = 0', "unknown key 'part.siez', did you mean 'size'"),
        ('name = "a"\n[part]\nsize = 13', "part.size is 13, expected a lucky number"),
        ('name = "a"\n[part]\nsize = 14', "part: found 14, expected another"),
        ('name = "a"\n[part]\nwords = "x"', "part.words is 'x', expected a list"),
        ('name = "a"\n[part]\nwords = [1]', "part.words[0] is 1, expected a string"),
        ('name = "a"\n[part]\npaths = [""]', "part.paths[0] is '', expected the path of a file"),
        (
            'name = "a"\n[[parts]]\n[[parts]]\nsize = -1',
            "parts[1].size is -1, expected 1 or more",
        ),
        (
            'name = "a"\n[[parts]]\nsiez = 1',
            "unknown key 'parts[0].siez', did you mean 'size' or 'sizes'?",
        ),
        ('name = "a"\n[[parts]]\nsize = 13', "parts[0].size is 13, expected a lucky number"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(tmp_path, text, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'c.toml'}: {message}")
    assert "\n" not in said


values = st.recursive(
    st.none().map(lambda _: date(2020, 1, 1))
    | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)  # fmt: skip
keys = st.sampled_from([*Example.__dataclass_fields__, *Part.__dataclass_fields__])


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(keys, values | st.dictionaries(keys, values)))
@example({"part": {"\n": ""}})
def test_whatever_is_in_a_file_is_taken_or_refused_in_one_sentence(table):
    try:
        check_config(Example, table, "c.toml")
        said = "c.toml: fine"
    except ConfigError as error:
        said = str(error)
    assert said.startswith("c.toml: ")
    assert "\n" not in said


def test_missing_tables_come_with_the_way_to_write_them():
    @dataclass(frozen=True, kw_only=True)
    class Needs:
        part: Part
        parts: tuple[Part, ...]

    for table, message in (({"parts": []}, "[part]"), ({"part": {}}, "[[parts]]")):
        with pytest.raises(ConfigError) as caught:
            check_config(Needs, table, "c.toml")
        name = message.strip("[]")
        assert str(caught.value) == f"c.toml: {name} is missing; add a table {message}"


def test_a_name_that_is_not_known_brings_the_nearest():
    one_of("a", ["a", "b"], "key")
    with pytest.raises(ConfigError, match="key is 'weigth', did you mean 'weight'"):
        one_of("weigth", ["weight", "random"], "key")


def test_a_key_of_a_mapping_that_is_not_known_brings_the_nearest():
    check_keys({"a": 1}, ["a", "b"], "table")
    with pytest.raises(ConfigError, match=r"unknown key 'table\.weigth', did you mean 'weight'"):
        check_keys({"weigth": 1}, ["weight"], "table")


def test_the_library_is_imported_when_a_file_is_loaded():
    code = (
        "import sys, boxpen.cli.app, boxpen.build.kg.config, boxpen.nmt.config\n"
        "assert 'pydantic' not in sys.modules and 'pydantic_core' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_that_are_no_toml(tmp_path):
    path = tmp_path / "c.toml"
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_toml(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_toml(path)
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(ConfigError, match=r"is not TOML: .*line 2"):
        read_toml(path)
    path.write_text("﻿a = 1\n")
    assert read_toml(path) == {"a": 1}
