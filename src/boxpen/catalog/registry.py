"""Suites by name: built in, from plug-ins, or in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from boxpen.catalog.download import fetch
from boxpen.catalog.entry import Entry
from boxpen.catalog.files import FORMATS, read_suite
from boxpen.errors import SuiteError, nearest
from boxpen.items import Entail, Suite
from boxpen.plugins import SUITES
from boxpen.scoring.recipe import ASK, ASK_LETTERS, ENTAILMENT, GENERATE, SOUND, TRANSLATE, Recipe

__all__ = ["entries", "is_suite", "load_suite", "recipes_of", "suite_names"]


def entries() -> dict[str, Entry]:
    """Return all suites that ``load_suite`` knows by name; warn about broken plug-ins."""
    return SUITES.listed()


_ALWAYS = {recipe.name: recipe for recipe in (SOUND, ASK, ASK_LETTERS)}
_OF_SOURCES = {recipe.name: recipe for recipe in (TRANSLATE, GENERATE)}


def suite_names(*, parts: bool = False) -> list[str]:
    """Return the names that ``load_suite`` knows, with those of the parts if wanted."""
    if not parts:
        return list(SUITES)
    found = entries()
    return [*found, *(f"{name}.{part}" for name, e in found.items() for part in e.parts)]


def is_suite(name: str) -> bool:
    """Whether ``load_suite`` knows a suite or a part of this name."""
    head, dot, part = name.partition(".")
    try:
        return head in SUITES and (not dot or part in SUITES.load(head).parts)
    except SuiteError:  # a broken plug-in
        return False


def load_suite(name: str | Path, *, validate: bool = True) -> Suite:
    """Load a suite.

    Args:
        name: A name of the registry (``commonmt``), one of its parts (``commonmt.LA``), or the
            path of a file (``my.jsonl``; see ``read_suite``).
        validate: Reject items that a model cannot score.

    Raises:
        SuiteError: If there is no such suite, it cannot be fetched, or it is not valid.
    """
    found = _entry(str(name))
    if found is None:
        return read_suite(name, validate=validate)
    entry, part = found
    with SUITES.guarding(entry.name):
        suite = Suite(entry.name, tuple(entry.importer(fetch(entry))), entry.card)
        if validate:
            suite.validate()
    if part is None or entry.part_tag is None:
        return suite
    return replace(suite.where(**{entry.part_tag: part}), name=f"{entry.name}.{part}")


def recipes_of(suite: Suite | str | Path) -> dict[str, Recipe]:
    """Return the recipes of a suite by name; ``translate`` and ``generate`` need sources.

    Args:
        suite: A suite, or what ``load_suite`` takes. A suite that was exported under its name of
            the registry keeps its recipes.

    Raises:
        SuiteError: If there is no such suite, or its file cannot be read.
    """
    name = suite.name if isinstance(suite, Suite) else str(suite)
    try:
        found = _entry(name)
    except SuiteError:
        if not isinstance(suite, Suite):
            raise
        found = None
    # A user's own table may bear the name of a public suite; only the card tells them apart.
    if found is not None and isinstance(suite, Suite):
        found = found if suite.card.citation == found[0].card.citation else None
    if found is not None:
        entry = found[0]
        common = dict(_ALWAYS)
        if entry.card.source_language is not None or any("-" in pair for pair in entry.languages):
            common |= _OF_SOURCES
        return common | dict(entry.recipes)
    if not isinstance(suite, Suite):
        return recipes_of(read_suite(suite, validate=False))
    has_sources = any(not isinstance(i, Entail) and i.source is not None for i in suite)
    lenient = any(isinstance(i, Entail) and i.also for i in suite)
    paper = {ENTAILMENT.name: ENTAILMENT} if lenient else {}
    return _ALWAYS | (_OF_SOURCES if has_sources else {}) | paper


def _entry(name: str) -> tuple[Entry, str | None] | None:
    """Return the entry and the part that a name means, or None for a file."""
    path = Path(name)
    if path.suffix.lower() in FORMATS or path.name != name:
        return None
    head, dot, tail = name.partition(".")
    if head not in SUITES:
        raise SuiteError(
            f"suite '{name}' is neither known nor a file ({', '.join(FORMATS)}), "
            f"{nearest(name, suite_names())}"
        )
    entry: Entry = SUITES.load(head)
    if not dot:
        return entry, None
    for part in entry.parts:
        if part.lower() == tail.lower():
            return entry, part
    if not entry.parts:
        raise SuiteError(f"suite '{head}' has no parts, expected '{head}' instead of '{name}'")
    known = [f"{head}.{part}" for part in entry.parts]
    raise SuiteError(f"suite '{head}' has no part '{tail}', {nearest(name, known)}")
