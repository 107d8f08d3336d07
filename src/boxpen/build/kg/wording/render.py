"""From triples to tests: every triple is put into the surface forms of its relation.

All tests of a triple are one block. A test of inference with the right tail expects entailment. The
same words with a wrong tail make a test that does not: *contradiction* and *neutral* are both
right, since what is wrong of most things may hold of one. Which forms a triple gets rotates, so
that all forms of a relation are used about equally often; names are balanced over the pronouns.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from boxpen.analysis.relations import WRONG
from boxpen.build.kg.wording.names import Draw, Names, load_names
from boxpen.build.kg.wording.people import Person
from boxpen.build.kg.wording.slots import Filling, MisfitError, filled
from boxpen.build.kg.wording.templates import Form, Templates
from boxpen.build.kg.wording.wordings import form_of
from boxpen.english.grammar import PRONOUNS
from boxpen.errors import BuildError
from boxpen.items import Choice, Entail, Item

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PER_TRIPLE", "TASKS", "render"]

TASKS = ("nli", "qa", "pairs")
PER_TRIPLE = {"nli": 4, "qa": 1, "pairs": 1}
"""Surface forms for each triple, or, where there are wrong answers, for each wrong tail."""

_COLUMNS = ("id", "head_text", "relation", "tail_text", "form", "origin")


class _Triple(NamedTuple):
    id: str
    head: str
    relation: str
    tail: str
    form: str
    graph: str
    wrong: tuple[str, ...]


def render(
    table: pl.DataFrame,
    templates: Templates,
    *,
    tasks: Sequence[str] = TASKS,
    seed: int,
    per_triple: Mapping[str, int] | None = None,
    names: Names | None = None,
) -> Iterator[Item]:
    """Yield the tests of all triples, in the order of their ids.

    Args:
        table: Triples with the columns ``head_text``, ``tail_text`` and ``form``; for tasks with
            wrong answers ``wrong_text`` too, a list. Tests of inference do without it, and then
            all expect entailment.
        templates: The templates.
        tasks: Which tasks to make.
        seed: Decides names, and which forms a triple gets; the order of rows does not.
        per_triple: Surface forms by task (see ``PER_TRIPLE``, which holds for what is not given).
        names: The names; those that come with boxpen if not given.

    Raises:
        BuildError: If a column is missing, a relation has no template for a task, or no template
            fits a triple. A wrong tail that fits none beside this head is left out.
    """
    triples = _triples(table, any(_kind(templates, task) != "nli" for task in tasks))
    for relation in sorted({triple.relation for triple in triples}):
        for task in tasks:
            templates.of(task, relation)
    known = {(triple.relation, triple.tail): triple.form for triple in triples}
    wanted = PER_TRIPLE | dict(per_triple or {})
    draw = Draw(names or load_names(), seed)
    used: Counter[Form] = Counter()
    for triple in triples:
        for task in tasks:
            count = wanted.get(task, 1)
            number = 0
            kind = _kind(templates, task)
            right = (triple.tail, triple.form)
            wrongs = [
                (wrong, known.get((triple.relation, wrong)) or form_of(triple.relation, wrong))
                for wrong in triple.wrong
            ]
            for tails in [[right]] if kind == "nli" else [[right, wrong] for wrong in wrongs]:
                for form in _chosen(
                    triple, tails, templates.of(task, triple.relation), used, count, seed
                ):
                    number += 1
                    people = draw.people() if _names_somebody(form, triple) else _NOBODY
                    name = f"{triple.id}-{task}-{number}"
                    if kind != "nli":
                        yield _choice(name, triple, tails, form, people, kind)
                        continue
                    yield _entail(name, triple, right, form, people, is_right=True)
                    # Each wrong tail in turn, in the same words as the right one.
                    turns = (wrongs[(number + n) % len(wrongs)] for n in range(len(wrongs)))
                    fits = (tail for tail in turns if _fits(triple, [right, tail], form))
                    if form.label == "entailment" and (wrong := next(fits, None)):
                        yield _entail(name + WRONG, triple, wrong, form, people, is_right=False)


def _kind(templates: Templates, task: str) -> str:
    if task not in templates.tasks:
        raise BuildError(f"there is no task '{task}', known: {', '.join(templates.tasks)}")
    return templates.tasks[task]


def _triples(table: pl.DataFrame, with_wrong: bool) -> list[_Triple]:
    for column in (*_COLUMNS, *(["wrong_text"] if with_wrong else [])):
        if column not in table.columns:
            raise BuildError(
                f"the triples have no column '{column}'; run the stage that adds it first"
            )
    out = []
    for row in table.sort("id").iter_rows(named=True):
        if not row["head_text"] or not row["tail_text"]:
            raise BuildError(f"the triple '{row['id']}' has an empty head or tail")
        wrong = tuple(row.get("wrong_text") or ())
        out.append(_Triple._make([*(row[name] for name in _COLUMNS), wrong]))
    return out


def _chosen(
    triple: _Triple,
    tails: Sequence[tuple[str, str]],
    forms: Sequence[Form],
    used: Counter[Form],
    count: int,
    seed: int,
) -> list[Form]:
    """Return the least used forms that fit a triple and its wrong tail, if it has one here."""

    def turn(place: int) -> tuple[int, int]:
        key = f"{seed}\t{triple.id}\t{tails[-1][0]}\t{place}"
        return used[forms[place]], zlib.crc32(key.encode())

    chosen: list[Form] = []
    for place in sorted(range(len(forms)), key=turn):
        if len(chosen) == count:
            break
        if _fits(triple, tails, forms[place]):
            chosen.append(forms[place])
    if not chosen and len(tails) > 1 and any(_fits(triple, tails[:1], form) for form in forms):
        return []  # this wrong tail cannot be said of this head in good English
    if not chosen:
        raise BuildError(
            f"no template of the task '{forms[0].task}' fits the triple '{triple.id}' "
            f"({triple.head} | {triple.relation} | {tails[-1][0]})"
        )
    used.update(chosen)
    return chosen


def _fits(triple: _Triple, tails: Sequence[tuple[str, str]], form: Form) -> bool:
    try:
        texts = [_texts(triple, tail, form, _NOBODY) for tail in tails]
    except MisfitError:
        return False
    return len(texts) == 1 or texts[0][-1] != texts[1][-1]


def _texts(
    triple: _Triple, tail: tuple[str, str], form: Form, people: Sequence[Person]
) -> list[str]:
    return filled(form, Filling(triple.relation, triple.head, *tail, people))


def _entail(
    name: str,
    triple: _Triple,
    tail: tuple[str, str],
    form: Form,
    people: Sequence[Person],
    *,
    is_right: bool,
) -> Entail:
    premise, hypothesis = _texts(triple, tail, form, people)
    shared = _shared(name, triple, form)
    shared["tags"]["tail"] = "right" if is_right else "wrong"
    label, also = (form.label, form.also) if is_right else ("contradiction", ("neutral",))
    return Entail(premise=premise, hypothesis=hypothesis, label=label, also=also, **shared)


def _choice(
    name: str,
    triple: _Triple,
    tails: Sequence[tuple[str, str]],
    form: Form,
    people: Sequence[Person],
    kind: str,
) -> Choice:
    right, wrong = (_texts(triple, tail, form, people) for tail in tails)
    gold = zlib.crc32(name.encode()) % 2  # no position is favoured
    pair = (right[-1], wrong[-1])
    return Choice(
        candidates=pair if gold == 0 else pair[::-1],
        gold=gold,
        context=right[0] if kind == "qa" else None,
        **_shared(name, triple, form),
    )


def _shared(name: str, triple: _Triple, form: Form) -> dict[str, Any]:
    tags = {
        "task": form.task,
        "relation": triple.relation,
        "graph": triple.graph,
        "template": f"{triple.relation}-{form.name}",
    }
    return {"id": name, "block": triple.id, "tags": tags, "language": "en"}


def _names_somebody(form: Form, triple: _Triple) -> bool:
    return "PersonX" in triple.head or any(
        slot in text for text in form.texts for slot in ("{name", "{they", "{the")
    )


_NOBODY = (
    Person("Rose", PRONOUNS["she"]),
    Person("Omar", PRONOUNS["he"]),
    Person("Robin", PRONOUNS["they"]),
)
