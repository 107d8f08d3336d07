"""Fixtures that several rooms share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The mirror of the public data sets; what needs it is skipped where it is absent."""
    named = os.environ.get("BOXPEN_TEST_DATA")
    path = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip("no mirror of the public data: set BOXPEN_TEST_DATA to its folder")
    return path


@pytest.fixture
def mirror(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same mirror, in the place where boxpen looks for one."""
    monkeypatch.setenv("BOXPEN_MIRROR", str(data_dir))
    return data_dir
