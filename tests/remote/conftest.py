"""What the tests of servers share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """Wait for hardly any time before a request is repeated."""
    from boxpen.models.remote import client

    monkeypatch.setattr(client, "FIRST_DELAY", 0.01)
    monkeypatch.setattr(client, "LONGEST_DELAY", 0.05)
