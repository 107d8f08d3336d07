"""Judgements in a database: SQLite by default, PostgreSQL by URL."""

from boxpen.review.database.engine import Database, is_database, is_url
from boxpen.review.database.journal import DatabaseJournal

__all__ = ["Database", "DatabaseJournal", "is_database", "is_url"]
