"""An S3 server for the tests of this room."""

import itertools
from collections.abc import Iterator

import pytest
from s3_server import S3Server, running

from boxpen.plugins import UNITS

UNITS.builtin["squares"] = "stub_units:Squares"
_numbers = itertools.count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with running() as server:
        yield server


@pytest.fixture
def s3_url(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a store in a new bucket; AWS_ENDPOINT_URL leads there."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server.make_bucket(f"bucket-{next(_numbers)}")
