"""Databases for the tests of the review app: SQLite, and PostgreSQL where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import started_browser


@pytest.fixture(scope="module")  # longer, and its event loop would be in the way of other files
def browser() -> Iterator[Any]:
    """Chromium, started once per file."""
    yield from started_browser()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server of our own, without the name of a database."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg")
    folder = Path(subprocess.check_output(["mktemp", "-d", "/tmp/pg-XXXXXX"], text=True).strip())
    as_user: list[str] = []
    if os.getuid() == 0:  # which PostgreSQL refuses
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    bin_, data = found[-1].parent, folder / "data"

    def run(*words: object) -> None:
        subprocess.run([*as_user, *map(str, words)], check=True, capture_output=True, cwd=folder)

    run(bin_ / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
    options = f"-k {folder} -c listen_addresses= -c fsync=off -c max_connections=50"
    run(bin_ / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
    try:
        yield f"postgresql://postgres@/{{}}?host={folder}"
    finally:
        run(bin_ / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The place of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "review.db")
    import psycopg

    url: str = request.getfixturevalue("postgres")
    name = f"t{abs(hash(request.node.nodeid)):x}"
    with psycopg.connect(url.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.format(name)
