"""Candidates as a suite of sentences to translate in their context."""

from __future__ import annotations

from collections.abc import Iterable

from boxpen.build.discourse.config import DiscourseConfig
from boxpen.build.discourse.pool import Row
from boxpen.items import Card, Suite, Translate

__all__ = ["discourse_suite"]


def discourse_suite(config: DiscourseConfig, rows: Iterable[Row]) -> Suite:
    """Return the suite of candidates, in their order.

    Raises:
        SuiteError: If there are none.
    """
    names = ", ".join(spec.name for spec in config.texts)
    card = Card(
        title=config.suite.title or f"Discourse phenomena from {names}",
        language="zh",
        source_language="en",
        licence=config.suite.licence,
        citation=config.suite.citation,
        notes="made by boxpen build run (discourse); the tag word is what shows the class in the "
        "reference, score how sure the rules are"
        + ("" if config.review is None else "; accepted by judges"),
    )
    return Suite(config.name, tuple(map(_item, rows)), card).validate()


def _item(row: Row) -> Translate:
    return Translate(
        id=row["id"],
        source=row["source"],
        reference=row["target"],
        context=row["context_source"],
        reference_context=row["context_target"],
        contrast=tuple(row["contrast"]),
        tags={
            "set": row["set"],
            "class": row["class"],
            "word": row["word"],
            "score": f"{row['score']:.2f}",
        },
    )
