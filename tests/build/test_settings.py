"""Tables of TOML files become dataclasses, or are refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from boxpen.build.settings import read_toml, settings
from boxpen.errors import BuildError


@dataclass(frozen=True)
class Example:
    name: str
    count: int = 5
    share: float = 0.5
    quick: bool = False
    files: tuple[Path, ...] = ()
    words: tuple[str, ...] = ()
    least: float | None = None
    by: Literal["weight", "random"] = "random"
    columns: Mapping[str, str | int] = field(default_factory=dict)


def test_every_kind_of_value(tmp_path):
    table = {
        "name": "a", "count": 2, "share": 1, "quick": True, "files": ["x.tsv", "/y"],
        "words": ["b"], "least": 2, "by": "weight", "columns": {"head": 1, "tail": "t"},
    }  # fmt: skip
    assert settings(Example, table, "f [t]", tmp_path) == Example(
        name="a",
        count=2,
        share=1.0,
        quick=True,
        files=(tmp_path / "x.tsv", Path("/y")),
        words=("b",),
        least=2.0,
        by="weight",
        columns={"head": 1, "tail": "t"},
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "f [t] has no 'name'"),
        ({"name": "a", "quikc": 1}, "f [t] has the unknown key 'quikc', did you mean 'quick'?"),
        ({"name": 1}, "f [t] has name = 1, expected a text"),
        ({"name": "a", "count": True}, "f [t] has count = True, expected a whole number"),
        ({"name": "a", "count": 1.5}, "f [t] has count = 1.5, expected a whole number"),
        ({"name": "a", "share": "x"}, "f [t] has share = 'x', expected a number"),
        ({"name": "a", "quick": 1}, "f [t] has quick = 1, expected true or false"),
        ({"name": "a", "files": "x"}, "f [t] has files = 'x', expected a list"),
        ({"name": "a", "files": [""]}, "f [t] has files = [''], expected the path of a file"),
        ({"name": "a", "least": "x"}, "f [t] has least = 'x', expected a number"),
        ({"name": "a", "by": "x"}, "f [t] has by = 'x', expected 'weight', 'random'"),
        ({"name": "a", "columns": 1}, "f [t] has columns = 1, expected a table"),
        (3, "f [t] is 3, expected a table"),
    ],
)
def test_what_does_not_fit_is_named(table, message):
    with pytest.raises(BuildError) as caught:
        settings(Example, table, "f [t]")
    assert str(caught.value) == message


def test_files_that_are_no_toml(tmp_path):
    path = tmp_path / "c.toml"
    with pytest.raises(BuildError, match="cannot be read: No such file"):
        read_toml(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BuildError, match="is not UTF-8"):
        read_toml(path)
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(BuildError, match=r"is not TOML: .*line 2"):
        read_toml(path)
    path.write_text("﻿a = 1\n")
    assert read_toml(path) == {"a": 1}
