"""The tables of a database of judgements."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["AUDIT", "JUDGEMENT", "METADATA", "PERSON", "SESSION", "SETTING", "TASK"]

METADATA = MetaData()
_SERIAL = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up in INTEGER alone

SETTING = Table(
    "review_setting",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)
"""Settings of the campaign, as JSON."""

TASK = Table(
    "review_task",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("tag", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("place", Integer, nullable=False),
)
"""What is judged; ``place`` is the order in which tasks are shown."""

PERSON = Table(
    "review_person",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", String(16), nullable=False),
    Column("token", String(64), nullable=False, unique=True),
    Column("created", String(32), nullable=False),
    Column("seen", String(32), nullable=False),
    Column("revoked", Boolean, nullable=False),
)
"""People; of a token, only its SHA-256."""

SESSION = Table(
    "review_session",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("person", Integer, nullable=False),
    Column("created", String(32), nullable=False),
)
"""Browsers that have entered; of the cookie, only its SHA-256."""

JUDGEMENT = Table(
    "review_judgement",
    METADATA,
    Column("seq", _SERIAL, primary_key=True),
    Column("id", String(64), nullable=False),
    Column("task", String(64), nullable=False),
    Column("item", Text, nullable=False),
    Column("judge", Text, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("edit", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("seen", String(16), nullable=False),
    Column("shown_order", Text, nullable=False),
    Column("time", Text, nullable=False),
    Column("ms", Integer, nullable=False),
    UniqueConstraint("judge", "id", name="review_judgement_once"),
    Index("review_judgement_of", "task", "judge", "item"),
    sqlite_autoincrement=True,
)
"""Judgements. ``id`` is the browser's; the same one of a judge is stored once. ``kind`` is judge,
skip, decide (by an adjudicator), or extra (of gold items that are not part of the target)."""

AUDIT = Table(
    "review_audit",
    METADATA,
    Column("seq", _SERIAL, primary_key=True),
    Column("time", String(32), nullable=False),
    Column("who", Text, nullable=False),
    Column("action", String(32), nullable=False),
    Column("what", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""Who entered, was added, revoked or renewed, and who decided what."""
