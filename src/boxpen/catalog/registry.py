"""The registry of all built-in suites."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from boxpen.catalog.download import fetch
from boxpen.catalog.entry import Entry
from boxpen.catalog.files import FORMATS, read_suite
from boxpen.catalog.releases.cats import CATS, CATS_DUAL
from boxpen.catalog.releases.commonmt import COMMONMT
from boxpen.catalog.releases.comve import COMVE, COMVE_TRAIN
from boxpen.catalog.releases.discourse import DISCOURSE
from boxpen.catalog.releases.piqa import PIQA
from boxpen.catalog.releases.senmaking import SENMAKING
from boxpen.catalog.releases.starter import STARTER, STARTER_GRAPH
from boxpen.errors import SuiteError, nearest
from boxpen.items import Entail, Suite
from boxpen.scoring.recipe import ASK, ASK_LETTERS, SOUND, TRANSLATE, Recipe

__all__ = ["ENTRIES", "by_name", "load_suite", "recipes_of", "suite_names"]


def by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return the entries by name.

    Raises:
        ValueError: If two take one name, or a name could be mistaken for a part or a file.
    """
    out: dict[str, Entry] = {}
    for entry in entries:
        if not entry.name or any(character in entry.name for character in "./\\"):
            raise ValueError(f"'{entry.name}' is not a valid suite name")
        if entry.name in out:
            raise ValueError(f"two suites are named '{entry.name}'")
        out[entry.name] = entry
    return out


ENTRIES = by_name(
    (
        STARTER,
        STARTER_GRAPH,
        COMMONMT,
        CATS,
        CATS_DUAL,
        SENMAKING,
        COMVE,
        COMVE_TRAIN,
        PIQA,
        DISCOURSE,
    )
)


_ALWAYS = {recipe.name: recipe for recipe in (SOUND, ASK, ASK_LETTERS)}


def suite_names(*, parts: bool = False) -> list[str]:
    """Return the names that ``load_suite`` knows, with those of the parts if wanted."""
    names = list(ENTRIES)
    if parts:
        names += [f"{name}.{part}" for name, entry in ENTRIES.items() for part in entry.parts]
    return names


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
    suite = Suite(entry.name, tuple(entry.importer(fetch(entry))), entry.card)
    if validate:
        suite.validate()
    if part is None or entry.part_tag is None:
        return suite
    return replace(suite.where(**{entry.part_tag: part}), name=f"{entry.name}.{part}")


def recipes_of(suite: Suite | str | Path) -> dict[str, Recipe]:
    """Return the recipes of a suite by name; ``translate`` is among them if it has sources.

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
        if entry.card.source_language is not None:
            common["translate"] = TRANSLATE
        return common | dict(entry.recipes)
    if not isinstance(suite, Suite):
        return recipes_of(read_suite(suite, validate=False))
    has_sources = any(not isinstance(i, Entail) and i.source is not None for i in suite)
    return _ALWAYS | ({"translate": TRANSLATE} if has_sources else {})


def _entry(name: str) -> tuple[Entry, str | None] | None:
    """Return the entry and the part that a name means, or None for a file."""
    if name in ENTRIES:
        return ENTRIES[name], None
    path = Path(name)
    if path.suffix.lower() in FORMATS or path.name != name:
        return None
    head, dot, tail = name.partition(".")
    if not dot or head not in ENTRIES:
        raise SuiteError(
            f"suite '{name}' is neither known nor a file ({', '.join(FORMATS)}), "
            f"{nearest(name, suite_names())}"
        )
    entry = ENTRIES[head]
    for part in entry.parts:
        if part.lower() == tail.lower():
            return entry, part
    if not entry.parts:
        raise SuiteError(f"suite '{head}' has no parts, expected '{head}' instead of '{name}'")
    known = [f"{head}.{part}" for part in entry.parts]
    raise SuiteError(f"suite '{head}' has no part '{tail}', {nearest(name, known)}")
