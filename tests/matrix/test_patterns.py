"""Names in files: paths start from the folder of the file, patterns find many, in natural order."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.matrix.patterns import expanded, natural, placed


def slowly(pattern: str, folder: Path) -> list[str]:
    """Every path below a folder, matched part by part, in the order of their numbers."""
    found = []
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name).relative_to(folder)
            wanted = pattern.split("/")
            if len(path.parts) == len(wanted) and all(
                fnmatch.fnmatchcase(part, sign) and (not part.startswith(".") or sign[0] == ".")
                for part, sign in zip(path.parts, wanted, strict=True)
            ):
                found.append(path)
    return [str(folder / one) for one in sorted(found, key=lambda one: numbered(str(one)))]


def numbered(text: str) -> str:
    """Numbers with so many zeros before them that text sorts as they do."""
    return re.sub(r"\d+", lambda found: found[0].zfill(30), text)


@pytest.fixture
def tree(tmp_path):
    for name in ("step-2", "step-10", "step-1", "b/step-30", "b/step-4", "a10/x", "a9/x", ".h/x"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "one.jsonl").write_text("")
    (tmp_path / "my[1]").mkdir()
    return tmp_path


class TestExpanded:
    @pytest.mark.parametrize(
        "pattern", ["step-*", "*/step-*", "step-?", "step-[12]", "a*/x", "*/x", "*", "o*.jsonl"]
    )
    def test_equals_the_slow_way(self, tree, pattern):
        assert expanded(pattern, tree) == slowly(pattern, tree) != []

    def test_the_order_is_that_of_numbers(self, tree):
        found = [Path(one).name for one in expanded("step-*", tree)]
        assert found == ["step-1", "step-2", "step-10"]

    def test_a_scheme_stays(self, tree):
        assert expanded("hf:b/step-*", tree) == [f"hf:{tree}/b/step-4", f"hf:{tree}/b/step-30"]

    def test_all_below(self, tree):
        assert expanded("**/step-4", tree) == [f"{tree}/b/step-4"]

    def test_nothing_is_an_error_that_names_the_pattern(self, tree):
        with pytest.raises(ValueError, match=r"^expected 'stop-\*' to match something in the f"):
            expanded("stop-*", tree)

    def test_what_is_there_is_no_pattern(self, tree):
        assert expanded("./my[1]", tree) == [f"{tree}/./my[1]"]

    @pytest.mark.parametrize(
        "name", ["api:http://[::1]:8000/v1?x=*#m", "smollm2", "hf:gpt2", "commonmt.LA"]
    )
    def test_other_names_stay(self, tree, name):
        assert expanded(name, tree) == [name]

    def test_here(self, tree, monkeypatch):
        monkeypatch.chdir(tree)
        # With a slash, so that no preset is meant.
        assert expanded("step-*", Path()) == ["./step-1", "./step-2", "./step-10"]
        assert expanded("b/*", Path()) == ["b/step-4", "b/step-30"]


class TestPlaced:
    def test_paths_start_from_the_folder(self, tree):
        assert placed("./x", tree) == f"{tree}/./x"
        assert placed("hf:../x", tree) == f"hf:{tree}/../x"
        assert placed("b/step-4", tree) == f"{tree}/b/step-4"
        assert placed("one.jsonl", tree) == f"{tree}/one.jsonl"
        assert placed(f"{tree}/b", tree) == f"{tree}/b"

    @pytest.mark.parametrize(
        "name", ["step-2", "two.jsonl", "hf:org/name", "org/name", "x\0/y", "~nobody/x", "x" * 999]
    )
    def test_what_is_not_there_stays(self, tree, name):
        assert placed(name, tree) == name


@given(st.lists(st.text("ab/-019", max_size=8)))
def test_natural_order(names):
    assert sorted(names, key=natural) == sorted(
        sorted(names), key=lambda one: [numbered_parts(part) for part in one.split("/")]
    )


def numbered_parts(part: str) -> list[tuple[int, object]]:
    """Text and numbers in turn."""
    return [(n % 2, int(p) if n % 2 else p) for n, p in enumerate(re.split(r"(\d+)", part))]


def test_a_pattern_that_would_take_minutes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected at most 4,096 characters"):
        expanded("small.js" + "[" * 100_000, tmp_path)
