"""Edits of triples: how judges write them, and what they change.

An edit is the new tail. 'head: …' and 'sentence: …' change these instead; several changes take one
line each. The edit of a wrong tail is another wrong tail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from boxpen.build.kg.triples import triple_id
from boxpen.errors import BuildError
from boxpen.printable import excerpt
from boxpen.review import Judgement, plain

__all__ = [
    "EDITABLE", "WRONG", "Restate", "canonical_edit", "edited", "node_text", "split_edit",
    "worded",
]  # fmt: skip

WRONG = "wrong tail"
"""What wrong tails are called in questions."""

EDITABLE = ("tail", "head", "sentence")
# What the graph and the model say of a triple is not said of another one.
_OF_THE_OLD = ("weight", "surface", "fluency", "plausibility", "rank")

Restate = Callable[[Mapping[str, Any]], Mapping[str, str] | None]
"""Given the row of a triple in its new words: its ``sentence`` and ``form``, or None."""


def canonical_edit(one: Judgement, shown: Mapping[str, str], fields: Sequence[str]) -> Judgement:
    """Check the edit of a judgement, and return it in one spelling.

    Args:
        one: The judgement.
        shown: The texts that were judged.
        fields: What may be changed; an edit without a name changes the first.

    Raises:
        BuildError: If something is changed twice, made empty, or not changed at all.
    """
    if not one.edit:
        return one
    edits: dict[str, str] = {}
    for name, text in _parts(one.edit, fields):
        if name in edits:
            raise BuildError(f"the edit changes the {name} twice, expected one text")
        if not text:
            raise BuildError(f"the edit has an empty {name}, expected a text")
        edits[name] = text
    if all(text == plain(shown.get(name, "")) for name, text in edits.items()):
        raise BuildError(
            f"the edit {excerpt(one.edit)} changes nothing; expected another text, or the verdict "
            "'accept'"
        )
    if edits.get(WRONG) == plain(shown.get("tail", "")):
        raise BuildError("the edit is the right tail, expected a wrong one")
    named = [f"{name}: {edits[name]}" for name in fields if name in edits]
    return replace(one, edit=edits[fields[0]] if set(edits) == {fields[0]} else "\n".join(named))


def split_edit(edit: str, *, wrong: bool = False) -> dict[str, str]:
    """Return what an edit changes, and into what."""
    return dict(_parts(edit, (WRONG,) if wrong else EDITABLE))


def worded(row: Mapping[str, Any]) -> dict[str, str] | None:
    """Say a triple as ``wordings`` would, in just these words, if it can."""
    from boxpen.build.kg.wording.wordings import wordings

    head, tail = node_text(row, "head"), node_text(row, "tail")
    ways = [w for w in wordings(row["relation"], head, tail) if (w.head, w.tail) == (head, tail)]
    if not ways:
        return None
    way = next((w for w in ways if w.form == row.get("form")), ways[0])
    return {"sentence": way.sentence, "form": way.form}


def edited(row: Mapping[str, Any], edit: str, restate: Restate = worded) -> dict[str, Any]:
    """Return the row of a triple with its new texts, and without what was known of the old ones.

    Where ``restate`` has nothing to say, the new text takes the place of the old one in the old
    sentence; the sentence is null if the old text is not in it.
    """
    edits = split_edit(edit)
    new = dict(row)
    sentence = row.get("sentence")
    for name in ("head", "tail"):
        if name in edits:
            sentence = _swapped(sentence, node_text(row, name), edits[name], last=name == "tail")
            new[name] = edits[name]
            if f"{name}_text" in row:
                new[f"{name}_text"] = edits[name]
    if {"head", "tail"} & set(edits):
        new["id"] = triple_id(new["relation"], new["head"], new["tail"])
        said: Mapping[str, str | None] = {"sentence": sentence}
        if "sentence" in row:
            said = restate(new) or said
        changes = {**said, **dict.fromkeys(_OF_THE_OLD)}
        new |= {name: value for name, value in changes.items() if name in row}
    if "sentence" in edits and "sentence" in row:
        new["sentence"] = edits["sentence"]
    return new


def node_text(row: Mapping[str, Any], name: str) -> str:
    """Return head or tail in words, or, where nobody has worded it, as the graph has it."""
    return str(row.get(f"{name}_text") or row[name])


def _parts(edit: str, fields: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for line in filter(str.strip, edit.splitlines()):
        name, colon, text = line.partition(":")
        known = colon and name.strip().lower() in fields
        found.append((name.strip().lower(), plain(text)) if known else (fields[0], plain(line)))
    return found


def _swapped(sentence: str | None, old: str, new: str, *, last: bool) -> str | None:
    """Put a new text in the place of the old one, which heads open and tails close."""
    if sentence is None or not old:
        return None
    found = list(re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", sentence, re.IGNORECASE))
    if not found:
        return None
    place = found[-1 if last else 0]
    text = new if place.start() else new[:1].upper() + new[1:]
    return sentence[: place.start()] + text + sentence[place.end() :]
