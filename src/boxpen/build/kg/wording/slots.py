"""Filling the slots of a form with a triple's head and tail and with people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from boxpen.build.kg.wording.people import Person, fill_people
from boxpen.build.kg.wording.templates import SLOT, Form
from boxpen.build.kg.wording.wordings import reflected
from boxpen.english.conjugation import (
    agree,
    event_tense,
    gerund,
    has_clear_tense,
    infinitive,
    past,
    present,
    third,
)
from boxpen.english.grammar import (
    DETERMINERS,
    PRONOUNS,
    head_noun,
    indefinite,
    is_person,
    number,
    pluralised,
    pronouns_of,
    sex,
    singular,
)

__all__ = ["Filling", "MisfitError", "filled"]


class MisfitError(Exception):
    """A form that does not suit a triple: 'Rose is {head:a}' and a head that is not a person."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What goes into the slots."""

    relation: str
    head: str
    tail: str
    form: str
    people: Sequence[Person]


def filled(form: Form, filling: Filling) -> list[str]:
    """Return the texts of a form with everything filled in.

    Raises:
        MisfitError: If the form does not suit the head or the tail.
    """
    if form.forms and filling.form not in form.forms:
        raise MisfitError(f"the tail is '{filling.form}'")
    event = filling.head.startswith("Person")
    if form.heads and (event or not any(_suits(filling.head, kind) for kind in form.heads)):
        raise MisfitError(f"the head is not {form.heads}")
    named = any("{name" in text for text in form.texts)
    slots = _Slots(filling, event=event, named=named)
    return [_sentences(SLOT.sub(slots, text)) for text in form.texts]


def _suits(head: str, kind: str) -> bool:
    if kind == "person":  # somebody of whom any name may be said
        one = is_person(head) and sex(head) is None
        return one and head_noun(head)[1] not in {"couple", "couples", "people"}
    if kind == "thing":
        return not is_person(head)
    return kind == "any" or number(head) == kind


def _sentences(text: str) -> str:
    """Return a text in which every sentence begins with a capital."""
    return re.sub(r"(^|[.?!] )([a-z])", lambda match: match[1] + match[2].upper(), text)


class _Slots:
    """Gives the text for each slot of one item."""

    def __init__(self, filling: Filling, *, event: bool, named: bool) -> None:
        self.filling, self.event = filling, event
        self.person = filling.people[0]
        self.kind = "singular" if event else number(filling.head)
        self.many = self.kind == "plural"
        self.of_head = PRONOUNS["they"] if event else pronouns_of(filling.head)
        self.tail = filling.tail
        if not event:
            self.tail = self._agreeing(named)

    def __call__(self, match: re.Match[str]) -> str:
        slot, mark, helper = match["slot"], match["mark"], match["helper"]
        if mark == ".":
            many = self._many(slot)
            return self._conjugated(many=many) if helper == "tail" else agree(helper, many=many)
        if slot == "tail":
            return self._tail(helper)
        if slot == "head":
            return self._head(helper)
        if slot == "event":
            return self._event(helper)
        if slot == "it":
            of_head = self.of_head
            return {"object": of_head.them, "possessive": of_head.their}.get(helper, of_head.they)
        if slot in {"this", "that"}:
            return {"this": "these", "that": "those"}[slot] if self.many else slot
        if slot == "name":
            return self.person.name
        return str(getattr(self.person.pronouns, slot))

    def _many(self, slot: str) -> bool:
        if slot == "they":
            return self.person.pronouns.many
        if slot == "it":
            return self.of_head.many
        return slot != "name" and self.many

    def _agreeing(self, named: bool) -> str:
        """Return the tail in the number and with the pronouns that go with the head.

        A wrong tail was worded for a head of its own.
        """
        filling = self.filling
        tail = filling.tail
        if filling.relation == "isa" and filling.form == "np":
            if self.many and number(tail) == "singular":
                tail = pluralised(tail) or tail
            elif not self.many and number(tail) == "plural":
                tail = _one(tail)
        if filling.relation in {"usedfor", "createdby"}:
            return tail
        if named:
            theirs = self.person.pronouns
            swaps = {"their": theirs.their, "its": theirs.their}
            swaps |= dict.fromkeys(("themselves", "itself"), theirs.themself)
            return " ".join(swaps.get(word, word) for word in tail.split(" "))
        return reflected(tail, filling.head)

    def _tail(self, helper: str | None) -> str:
        verbal = self.filling.form == "vp"
        tail = self.tail
        if helper in {"gerund", "third", "past"} and not verbal:
            raise MisfitError("the tail is not a verb phrase")
        if helper == "gerund" or (helper == "ing" and verbal):
            tail = gerund(tail)
        elif helper == "third":
            tail = third(tail)
        elif helper == "past":
            tail = past(tail)
        elif helper == "to" and verbal:
            tail = infinitive(tail)
        elif helper == "a":
            tail = _one(tail)
        return self._peopled(tail)

    def _conjugated(self, *, many: bool) -> str:
        if self.filling.form != "vp":
            raise MisfitError("the tail is not a verb phrase")
        return self._peopled(present(self.tail) if many else third(self.tail))

    def _peopled(self, tail: str) -> str:
        return fill_people(tail, self.filling.people, known="XYZ") if self.event else tail

    def _head(self, helper: str | None) -> str:
        head = self.filling.head
        if self.event:
            raise MisfitError("the head is a sentence")
        if helper == "a":
            return _one(head)
        if helper == "plural":
            many = pluralised(head)
            if many is None:
                raise MisfitError("the head has no plural")
            return many
        if helper == "the":
            return "the " + re.sub(r"^(an?|the) ", "", head)
        return head

    def _event(self, helper: str | None) -> str:
        if not self.event:
            raise MisfitError("the head is not a sentence")
        head = self.filling.head
        if helper is not None:
            if not has_clear_tense(head):
                raise MisfitError("not all verbs of the event can be changed with certainty")
            head = event_tense(head, "past" if helper == "past" else "participle")
        return fill_people(head, self.filling.people)


def _one(phrase: str) -> str:
    """Return a noun phrase for one thing, or refuse."""
    kind = number(phrase)
    if kind == "singular" or kind == "mass":
        if kind == "mass":
            raise MisfitError(f"'{phrase}' cannot be counted")
        return phrase
    before, noun, behind = head_noun(phrase)
    first = before.split(" ")[0]
    single = singular(noun)
    if single == noun or first in DETERMINERS or first.isdigit() or " and " in phrase:
        raise MisfitError(f"'{phrase}' has no singular")
    return indefinite(" ".join(piece for piece in (before, single, behind) if piece))
