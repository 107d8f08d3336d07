"""The command line in a process that has imported it already; without torch, so it forks fast."""

from __future__ import annotations

import os

import httpx  # noqa: F401

import boxpen.models.remote.model  # noqa: F401
from boxpen.cli.app import app


def run(options: list[str], log: str) -> None:
    """Run ``boxpen`` with options; what it prints goes to a file."""
    stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 1)
    os.dup2(stream, 2)
    app(options)
