"""The files that begin are there: one that is renamed would wait for its turn again."""

from pathlib import Path

import pytest


def test_the_files_that_take_longest_have_their_names(pytestconfig: pytest.Config) -> None:
    here = Path(__file__).parent
    long = pytestconfig.pluginmanager.get_plugin(str(here / "conftest.py")).LONG
    assert long
    assert len(set(long)) == len(long)
    assert set(long) <= {path.name for path in here.rglob("test_*.py")}
