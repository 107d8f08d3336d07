"""Templates: TOML files that describe how a triple becomes a test.

    [[capableof.nli]]
    name = "this-can"
    premise = "{this} {this.be} {head}."
    hypothesis = "{it} (can|{it.be} able to) {tail}."

A table ``[[relation.task]]`` is one template. ``(one|other)`` are alternations: each of their
combinations is one *form*. Slots are written in braces:

- ``{head}``, ``{tail}`` as they were worded; ``{head:plural}``, ``{tail:gerund}`` in another form;
- ``{event}``, ``{event:past}``: a head that is a sentence, with names for its people;
- ``{this}``, ``{that}``, ``{it}``: 'this' or 'these', 'it' or 'they', depending on the head;
- ``{name}``, ``{they}``, ``{them}``, ``{their}``: somebody, who keeps one name within an item;
- ``{they.want}``, ``{head.have}``, ``{it.be}``: a verb that agrees with a slot; ``{they.tail}`` is
  the tail as such a verb.

A template may be limited: ``head = "person"`` (see ``HEADS``), ``form = "vp"`` (see ``FORMS``).
With ``likely = true`` the hypothesis is likely and need not follow, so that *neutral* is right too.
A file may name tasks of its own: ``[tasks]`` with lines such as ``riddle = "qa"``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import MinLen

from boxpen.config import Convert, check_config, read_toml
from boxpen.english.lexicon import parts
from boxpen.errors import BuildError, ConfigError, nearest

__all__ = ["FIELDS", "SLOT", "Form", "Templates", "form_counts", "load_templates"]

HEADS = ("any", "person", "thing", "singular", "plural", "mass")
FORMS = ("np", "vp", "adj", "clause")

MOST_FORMS = 10_000
"""Maximum surface forms of one template: more are a mistake."""

SLOT = re.compile(r"\{(?P<slot>\w+)(?:(?P<mark>[:.])(?P<helper>\w+))?\}")
SLOTS: dict[str, frozenset[str]] = {
    "head": frozenset({"a", "plural", "the"}),
    "tail": frozenset({"gerund", "third", "past", "to", "ing", "a"}),
    "event": frozenset({"past", "perfect"}),
    "it": frozenset({"object", "possessive"}),
    **{name: frozenset() for name in ("this", "that", "name", "they", "them", "their", "themself")},
}
"""The slots, and the helpers of each."""

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
    also: tuple[str, ...] = ()


def _expanded(text: object, _: Path) -> tuple[str, ...]:
    """Return the combinations of a text's alternations, each of them checked."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError("expected a text")
    pieces = re.split(r"(\([^()]*\|[^()]*\))", text)
    ways = [piece[1:-1].split("|") if place % 2 else [piece] for place, piece in enumerate(pieces)]
    for piece in pieces[::2]:
        if "|" in piece or piece.count("(") != piece.count(")"):
            raise ValueError("expected alternations that are closed and not nested")
    if math.prod(map(len, ways)) > MOST_FORMS:
        raise ValueError(f"expected {MOST_FORMS:,} forms or fewer")
    texts = tuple("".join(way) for way in itertools.product(*ways))
    for one in texts:
        _check(one)
    return texts


def _check(text: str) -> None:
    rest = SLOT.sub("", text)
    if "{" in rest or "}" in rest:
        raise ValueError("expected balanced braces with a slot in each")
    for match in SLOT.finditer(text):
        slot, mark, helper = match["slot"], match["mark"], match["helper"]
        if slot not in SLOTS:
            offer = nearest(slot, list(SLOTS))
            raise ValueError(f"expected known slots: '{match[0]}' is unknown; {offer}")
        if mark == ":" and helper not in SLOTS[slot]:
            known = ", ".join(sorted(SLOTS[slot])) or "none"
            raise ValueError(f"expected known helpers: '{match[0]}' has another; known: {known}")
        verb = helper in {"be", "tail"} or "VERB" in parts(helper or "")
        if mark == "." and not (slot in SUBJECTS and verb):
            raise ValueError(f"expected a verb that agrees with a slot in '{match[0]}'")
    if not rest.rstrip().endswith((".", "?", "!")):
        raise ValueError("expected final punctuation")
    if "  " in text or text != text.strip():
        raise ValueError("expected single spaces between words only")


def _limits(known: Sequence[str], value: object, _: Path) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(one in known for one in values):
        raise ValueError(f"expected {', '.join(known)}, or a list of them")
    return tuple(values)


_Text = Annotated[tuple[str, ...], Convert(_expanded)]


@dataclass(frozen=True, kw_only=True)
class _Template:
    name: Annotated[str, MinLen(1)]
    head: Annotated[tuple[str, ...], Convert(partial(_limits, HEADS))] = ()
    form: Annotated[tuple[str, ...], Convert(partial(_limits, FORMS))] = ()
    label: Literal["entailment", "neutral", "contradiction"] = "entailment"
    likely: bool = False


@dataclass(frozen=True, kw_only=True)
class _Nli(_Template):
    premise: _Text
    hypothesis: _Text


@dataclass(frozen=True, kw_only=True)
class _Qa(_Template):
    goal: _Text
    solution: _Text


@dataclass(frozen=True, kw_only=True)
class _Pairs(_Template):
    sentence: _Text


_KINDS: dict[str, type[_Template]] = {"nli": _Nli, "qa": _Qa, "pairs": _Pairs}
FIELDS = {kind: tuple(cls.__annotations__) for kind, cls in _KINDS.items()}
"""The kinds of tasks and the texts that a template of each must have."""


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
        BuildError: If a file cannot be read or a template is wrong; it names file and line.
    """
    own = Path(str(files("boxpen.build.kg").joinpath("templates")))
    forms: dict[tuple[str, str], list[Form]] = {}
    tasks = {task: task for task in FIELDS}
    seen: dict[tuple[str, str, str], str] = {}
    for path in (*sorted(own.glob("*.toml")), *extra):
        for form, where in _File(path).forms(tasks):
            key = (form.task, form.relation, form.name)
            if seen.setdefault(key, where) != where:
                raise BuildError(f"{where}: a template '{form.name}' is at {seen[key]} already")
            forms.setdefault((form.task, form.relation), []).append(form)
    return Templates({key: tuple(found) for key, found in forms.items()}, tasks)


def form_counts(templates: Templates) -> dict[tuple[str, str], int]:
    """Return how many surface forms each task and relation has."""
    return {key: len(found) for key, found in templates.forms.items()}


class _File:
    """One TOML file, with its text, so that an error can name the line."""

    def __init__(self, path: Path) -> None:
        self.path, self.data = path, read_toml(path)
        self.text = path.read_text(encoding="utf-8-sig")

    def forms(self, tasks: dict[str, str]) -> Iterator[tuple[Form, str]]:
        declared = self.data.pop("tasks", {})
        if not isinstance(declared, dict):
            raise self._wrong("expected a table [tasks]", "tasks")
        for task, kind in declared.items():
            if kind not in list(FIELDS):  # which may be asked of lists and tables, too
                known = ", ".join(FIELDS)
                raise self._wrong(f"task '{task}' is {kind!r}, expected {known}", task)
            if tasks.setdefault(task, kind) != kind:
                raise self._wrong(f"task '{task}' is of the kind '{tasks[task]}' already", task)
        for relation, by_task in self.data.items():
            if not isinstance(by_task, dict):
                raise self._wrong(f"expected tables [[{relation}.task]]", relation)
            for task, tables in by_task.items():
                header = f"[[{relation}.{task}]]"
                if task not in tasks:
                    offer = nearest(task, list(tasks))
                    raise self._wrong(
                        f"{header} has an unknown task; {offer}", f"{relation}.{task}"
                    )
                if not isinstance(tables, list) or not tables:
                    raise self._wrong(f"expected tables {header}", task)
                for place, table in enumerate(tables):
                    line = self._line_of(relation, task, place)
                    found = self._template(_KINDS[tasks[task]], table, line)
                    texts = [getattr(found, key) for key in FIELDS[tasks[task]]]
                    if math.prod(map(len, texts)) > MOST_FORMS:
                        what = f"expected {MOST_FORMS:,} forms of a template or fewer"
                        raise self._wrong(what, "", line)
                    also = ("neutral",) if found.likely else ()
                    if found.likely and found.label != "entailment":
                        what = f"likely is true, and label is '{found.label}'; expected entailment"
                        raise self._wrong(what, "likely", line)
                    for chosen in itertools.product(*texts):
                        limits = (found.head, found.form, found.label, also)
                        form = Form(task, relation, found.name, chosen, *limits)
                        yield form, f"{self.path}, line {line}"

    def _template(self, kind: type[_Template], table: Any, line: int) -> _Template:
        try:
            return check_config(kind, table, "")
        except ConfigError as error:
            what = str(error).removeprefix(": ")
            key = re.match(r"(?:unknown key ')?(\w+)", what)
            raise self._wrong(what, key[1] if key else "", line) from None

    def _line_of(self, relation: str, task: str, place: int) -> int:
        """Return the line on which a template begins."""
        pattern = rf"^[ \t]*\[\[\s*{re.escape(relation)}\s*\.\s*{re.escape(task)}\s*\]\]"
        found = [match.start() for match in re.finditer(pattern, self.text, re.M)]
        at = found[place] if place < len(found) else 0  # an inline table: the file's first line
        return self.text.count("\n", 0, at) + 1

    def _wrong(self, what: str, key: str, start: int = 1) -> BuildError:
        """Return an error with the first line from ``start`` that has a key or a header."""
        lines = self.text.splitlines()[start - 1 :]
        near = rf"^\s*{key}\s*=|\[\[\s*{re.escape(key)}\s*\]\]|^\s*\[{key}\]"
        found = (at for at, line in enumerate(lines, start) if key and re.search(near, line))
        return BuildError(f"{self.path}, line {next(found, start)}: {what}")
