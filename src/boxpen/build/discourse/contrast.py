"""Wrong translations, as near to the right one as can be: only the class is exchanged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from boxpen.build.discourse.phenomena.ellipsis import repeated
from boxpen.build.discourse.phenomena.pairs import built_in
from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.catalog.files import FORMATS
from boxpen.errors import BuildError, SuiteError, nearest
from boxpen.files import check_free
from boxpen.items import Item, Suite, Translate
from boxpen.names import check_name

__all__ = ["with_contrasts", "write_contrasts"]

_UNTOLD = ("en", "zh")  # what a suite translates that does not tell its languages


def with_contrasts(suite: Suite) -> Suite:
    """Return a suite whose items of translation have contrasts, wherever one can be made.

    An item that has contrasts keeps them; one whose reference does not show its class has none.

    Raises:
        SuiteError: If no item tests a phenomenon of discourse, or one is of a class that does not
            exist.
    """
    rules = {item.id: rule for item in suite.items if (rule := _rule(item, suite)) is not None}
    if not rules:
        raise SuiteError(
            f"suite '{suite.name}' has no sentence to translate with the tag set=pronoun, "
            "connective or ellipsis, expected a suite such as discourse"
        )
    return suite.take(
        [
            _with_contrast(item, rules[item.id], suite.name)
            if isinstance(item, Translate) and item.id in rules
            else item
            for item in suite.items
        ]
    )


def _rule(item: Item, suite: Suite) -> Phenomenon | None:
    """Return the phenomenon that an item tests, by its languages and its tag."""
    if not isinstance(item, Translate):
        return None
    target, source = suite.languages_of(item)
    rules = built_in(source or _UNTOLD[0], target or _UNTOLD[1])
    return next((rule for rule in rules if rule.name == item.tags.get("set")), None)


def _with_contrast(item: Translate, rule: Phenomenon, suite: str) -> Translate:
    cls, before = item.tags.get("class", ""), item.reference_context or ""
    if item.contrast:
        return item
    elided = rule.name == "ellipsis" and rule.pair == ("en", "zh")
    if cls not in rule.classes and not elided:
        raise SuiteError(
            f"item '{item.id}' of suite '{suite}': {rule.name} has no class '{cls}', "
            f"{nearest(cls, list(rule.classes))}"
        )
    word: str | None = item.tags.get("word", cls.rpartition("-")[2])
    if elided:
        word = repeated(item.source, item.reference, before)
    if not word:
        return item
    found = rule.contrasts(cls, word, item.source, item.reference, before)
    return replace(item, contrast=found) if found else item


def write_contrasts(suite: str, out: Path, *, overwrite: bool) -> dict[str, tuple[int, int]]:
    """Write a suite with wrong translations added to the items that have none.

    Args:
        suite: A suite by name, or a ``.jsonl`` file.
        out: The new suite, another ``.jsonl`` file.
        overwrite: Whether an existing file may be overwritten.

    Returns:
        For every class, the number of items, and how many of them have a contrast.

    Raises:
        BoxpenError: If a file has another format, or items lack the tags of a discourse suite.
    """
    from boxpen.catalog import load_suite, write_suite

    check_name(suite, "SUITE")
    path = Path(suite)
    ending = path.suffix.lower()
    if ending != ".jsonl" and (ending in FORMATS or path.name != suite):
        raise BuildError(f"SUITE is {suite}, expected the name of a suite, or a .jsonl file")
    if out.suffix.lower() != ".jsonl":
        raise BuildError(f"--out is {out}, expected a file that ends in .jsonl")
    if out.exists() and path.exists() and out.samefile(path):
        raise BuildError(f"--out is {out}, the suite that is read, expected another file")
    check_free(out, BuildError, overwrite=overwrite)
    before = load_suite(suite)
    check_name(before.name, f"the name of the suite in {suite}")
    after = with_contrasts(before)
    write_suite(after, out)
    counts: dict[str, tuple[int, int]] = {}
    for item in after:
        shown = " ".join(dict.fromkeys(item.tags[t] for t in ("set", "class") if t in item.tags))
        items, contrastive = counts.get(shown or "all", (0, 0))
        counts[shown or "all"] = items + 1, contrastive + bool(getattr(item, "contrast", ()))
    return counts
