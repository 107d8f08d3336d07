"""Templates: TOML files that say how a triple becomes a test.

    [[capableof.nli]]
    name = "this-can"
    premise = "{this} {this.be} {head}."
    hypothesis = "{it} (can|{it.be} able to) {tail}."

A table ``[[relation.task]]`` is one template. ``(one|other)`` are alternations: a template stands
for all their combinations, each of which is one *form*. Slots stand in braces:

- ``{head}``, ``{tail}`` as they were worded; ``{head:plural}``, ``{tail:gerund}`` in another form;
- ``{event}``, ``{event:past}``: a head that is a sentence, with names for its people;
- ``{this}``, ``{that}``, ``{it}``: 'this' or 'these', 'it' or 'they', as the head is one or many;
- ``{name}``, ``{they}``, ``{them}``, ``{their}``: somebody, who keeps one name within an item;
- ``{they.want}``, ``{head.have}``, ``{it.be}``: a verb that agrees with a slot; ``{they.tail}`` is
  the tail as such a verb.

A template may be limited: ``head = "person"`` (see ``HEADS``), ``form = "vp"`` (see ``FORMS``).
A file may name tasks of its own: ``[tasks]`` with lines such as ``riddle = "qa"``.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from boxpen.english.lexicon import parts
from boxpen.errors import BuildError, nearest

__all__ = ["FIELDS", "SLOT", "Form", "Templates", "form_counts", "load_templates"]

FIELDS = {"nli": ("premise", "hypothesis"), "qa": ("goal", "solution"), "pairs": ("sentence",)}
"""The kinds of tasks and the texts that a template of each must have."""

HEADS = ("any", "person", "thing", "singular", "plural", "mass")
FORMS = ("np", "vp", "adj", "clause")
LABELS = ("entailment", "neutral", "contradiction")

MOST_FORMS = 10_000
"""Surface forms of one template: more are a slip."""

SLOT = re.compile(r"\{(?P<slot>\w+)(?:(?P<mark>[:.])(?P<helper>\w+))?\}")
SLOTS: dict[str, frozenset[str]] = {
    "head": frozenset({"a", "plural", "the"}),
    "tail": frozenset({"gerund", "third", "past", "to", "ing", "a"}),
    "event": frozenset({"past", "perfect"}),
    "it": frozenset({"object", "possessive"}),
    **{name: frozenset() for name in ("this", "that", "name", "they", "them", "their", "themself")},
}
"""What may stand in braces, and the helpers of each."""

SUBJECTS = frozenset({"head", "it", "this", "that", "name", "they"})
"""Slots that a verb may agree with."""


@dataclass(frozen=True, slots=True)
class Form:
    """One surface form: a template with one choice made in each of its alternations."""

    task: str
    relation: str
    name: str
    texts: tuple[str, ...]  # in the order of FIELDS
    heads: tuple[str, ...]
    forms: tuple[str, ...]
    label: str


@dataclass(frozen=True, slots=True)
class Templates:
    """All forms by task and relation, and the kind of every task."""

    forms: Mapping[tuple[str, str], tuple[Form, ...]]
    tasks: Mapping[str, str]

    def of(self, task: str, relation: str) -> tuple[Form, ...]:
        """Return the forms of a relation for a task.

        Raises:
            BuildError: If there are none.
        """
        if task not in self.tasks:
            raise BuildError(f"there is no task '{task}'; {nearest(task, list(self.tasks))}")
        found = self.forms.get((task, relation))
        if not found:
            raise BuildError(
                f"the relation '{relation}' has no template for the task '{task}'; "
                f"add a file with a table [[{relation}.{task}]]"
            )
        return found


def load_templates(extra: Sequence[Path] = ()) -> Templates:
    """Read the templates that come with boxpen, and further files.

    Raises:
        BuildError: If a file cannot be read or a template is not right; it names file and line.
    """
    own = files("boxpen.build.kg").joinpath("templates")
    sources = [
        (entry.name, entry.read_text(encoding="utf-8"))
        for entry in sorted(own.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    ]
    for path in extra:
        try:
            sources.append((str(path), path.read_text(encoding="utf-8-sig")))
        except OSError as error:
            raise BuildError(f"{path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise BuildError(f"{path} is not UTF-8 (byte {error.start + 1})") from None
    forms: dict[tuple[str, str], list[Form]] = {}
    tasks = {task: task for task in FIELDS}
    seen: dict[tuple[str, str, str], str] = {}
    for name, text in sources:
        for form, where in _File(name, text).forms(tasks):
            key = (form.task, form.relation, form.name)
            if seen.setdefault(key, where) != where:
                raise BuildError(f"{where}: a template '{form.name}' stands at {seen[key]} already")
            forms.setdefault((form.task, form.relation), []).append(form)
    return Templates({key: tuple(found) for key, found in forms.items()}, tasks)


def form_counts(templates: Templates) -> dict[tuple[str, str], int]:
    """Return how many surface forms each task and relation has."""
    return {key: len(found) for key, found in templates.forms.items()}


class _File:
    """One TOML file, its text kept so that an error can name the line."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    def forms(self, tasks: dict[str, str]) -> Iterator[tuple[Form, str]]:
        try:
            data = tomllib.loads(self.text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise BuildError(f"{self.name} is not TOML: {error}") from None
        self._own_tasks(data.pop("tasks", {}), tasks)
        for relation, of_relation in data.items():
            if not isinstance(of_relation, dict):
                raise self._wrong(f"'{relation}' is no table [[{relation}.task]]", relation)
            for task, tables in of_relation.items():
                header = f"[[{relation}.{task}]]"
                if task not in tasks:
                    offer = nearest(task, list(tasks))
                    raise self._wrong(
                        f"{header} is of no known task; {offer}", f"{relation}.{task}"
                    )
                if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
                    raise self._wrong(f"'{relation}.{task}' is no table {header}", f"{task}")
                if not tables:
                    raise self._wrong(f"{header} is an empty list", task)
                for place, table in enumerate(tables):
                    yield from self._template(relation, task, tasks[task], place, table)

    def _own_tasks(self, declared: Any, tasks: dict[str, str]) -> None:
        if not isinstance(declared, dict):
            raise self._wrong("'tasks' is no table [tasks]", "tasks")
        for task, kind in declared.items():
            if kind not in list(FIELDS):  # which asks of lists and tables, too
                known = ", ".join(FIELDS)
                raise self._wrong(f"task '{task}' is of the kind {kind!r}, expected {known}", task)
            if tasks.setdefault(task, kind) != kind:
                raise self._wrong(f"task '{task}' is of the kind '{tasks[task]}' already", task)

    def _template(
        self, relation: str, task: str, kind: str, place: int, table: dict[str, Any]
    ) -> Iterator[tuple[Form, str]]:
        header = self._header(relation, task, place)
        known = {"name", "head", "form", "label", *FIELDS[kind]}
        for key in table:
            if key not in known:
                offer = nearest(key, sorted(known))
                raise self._wrong(f"unknown field '{key}'; {offer}", key, header)
        for key in ("name", *FIELDS[kind]):
            if key not in table:
                raise self._wrong(f"the template has no field '{key}'", "", header)
            if not isinstance(table[key], str) or not table[key].strip():
                raise self._wrong(f"field '{key}' is empty or no string", key, header)
        heads = self._limits(table, "head", HEADS, header)
        wanted = self._limits(table, "form", FORMS, header)
        label = table.get("label", "entailment")
        if label not in LABELS:
            raise self._wrong(f"label {label!r}, expected {', '.join(LABELS)}", "label", header)
        texts = [self._expanded(table[key], header) for key in FIELDS[kind]]
        if math.prod(map(len, texts)) > MOST_FORMS:
            raise self._wrong(f"the template has more than {MOST_FORMS:,} forms", "", header)
        where = f"{self.name}, line {header}"
        for chosen in itertools.product(*texts):
            yield Form(task, relation, table["name"], chosen, heads, wanted, label), where

    def _limits(
        self, table: dict[str, Any], key: str, known: Sequence[str], header: int
    ) -> tuple[str, ...]:
        value = table.get(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list):
            raise self._wrong(f"{key} {value!r}, expected {', '.join(known)}", key, header)
        if key in table and not values:
            raise self._wrong(f"field '{key}' is an empty list", key, header)
        for one in values:
            if one not in known:
                raise self._wrong(f"{key} {one!r}, expected {', '.join(known)}", key, header)
        return tuple(values)

    def _expanded(self, text: str, header: int) -> list[str]:
        """Return the combinations of a text's alternations, each of them checked."""
        pieces = re.split(r"(\([^()]*\|[^()]*\))", text)
        ways = [
            piece[1:-1].split("|") if place % 2 else [piece] for place, piece in enumerate(pieces)
        ]
        for piece in pieces[::2]:
            if "|" in piece or piece.count("(") != piece.count(")"):
                raise self._wrong(
                    f"an alternation is not closed, or nested, in '{text}'", text, header
                )
        if math.prod(map(len, ways)) > MOST_FORMS:
            raise self._wrong(f"'{text}' has more than {MOST_FORMS:,} forms", text, header)
        texts = ["".join(way) for way in itertools.product(*ways)]
        for one in texts:
            self._check(one, text, header)
        return texts

    def _check(self, one: str, text: str, header: int) -> None:
        rest = SLOT.sub("", one)
        if "{" in rest or "}" in rest:
            raise self._wrong(
                f"a brace is not balanced, or no slot stands in it, in '{text}'", text, header
            )
        for match in SLOT.finditer(one):
            slot, mark, helper = match["slot"], match["mark"], match["helper"]
            if slot not in SLOTS:
                offer = nearest(slot, list(SLOTS))
                raise self._wrong(f"unknown slot '{match[0]}'; {offer}", text, header)
            if mark == ":" and helper not in SLOTS[slot]:
                known = ", ".join(sorted(SLOTS[slot])) or "none"
                raise self._wrong(f"unknown helper in '{match[0]}'; known: {known}", text, header)
            agrees = slot in SUBJECTS and (
                helper in {"be", "tail"} or "VERB" in parts(helper or "")
            )
            if mark == "." and not agrees:
                raise self._wrong(f"'{match[0]}' is no verb that agrees with a slot", text, header)
        if not rest.rstrip().endswith((".", "?", "!")):
            raise self._wrong(f"'{text}' has no final punctuation", text, header)
        if "  " in one or one != one.strip():
            raise self._wrong(f"'{text}' has a space too many", text, header)

    def _header(self, relation: str, task: str, place: int) -> int:
        """Return the line on which a template begins."""
        pattern = rf"^[ \t]*\[\[\s*{re.escape(relation)}\s*\.\s*{re.escape(task)}\s*\]\]"
        found = [match.start() for match in re.finditer(pattern, self.text, re.M)]
        at = found[place] if place < len(found) else 0  # an inline table: the file's first line
        return self.text.count("\n", 0, at) + 1

    def _wrong(self, what: str, near: str, header: int = 1) -> BuildError:
        lines = self.text.splitlines()
        key = re.compile(rf"^\s*{re.escape(near)}\s*=") if re.fullmatch(r"\w+", near) else None
        for number, line in enumerate(lines[header - 1 :], header):
            if near and (key.match(line) if key else near in line):
                return BuildError(f"{self.name}, line {number}: {what}")
        return BuildError(f"{self.name}, line {header}: {what}")
