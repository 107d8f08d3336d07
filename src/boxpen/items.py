"""Items and suites: what is asked of a model.

An *item* is one decision. There are three kinds, each a small frozen value:

- ``Choice``: which of these candidates is the sensible one?
- ``Entail``: does the premise entail the hypothesis?
- ``Translate``: translate this; a reference (and perhaps a contrasting error) is known.

Items that belong together share a ``block``; ``tags`` are what results can be sliced by.
A ``Suite`` is a named tuple of items with a card and a hash of its content.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from boxpen.errors import SuiteError
from boxpen.notebook import as_pandas, facts_table
from boxpen.plugins import FRAMES

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Card", "Choice", "Entail", "Item", "Suite", "Translate", "item_from_dict"]

LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One question with two or more candidate answers, of which ``gold`` is the sensible one.

    Attributes:
        id: Unique in its suite.
        candidates: The answers, as presented to the model.
        gold: Index of the sensible candidate.
        source: The sentence that the candidates translate, if they are translations.
        context: What comes before: before the source if there is one, else before the candidates.
        block: Items with the same block stand or fall together.
        tags: What results are sliced by.
        language: Language of the candidates; the suite's, if not given.
        source_language: Language of the source; the suite's, if not given.
    """

    kind: ClassVar[Literal["choice"]] = "choice"

    id: str
    candidates: tuple[str, ...]
    gold: int
    source: str | None = None
    context: str | None = None
    block: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    language: str | None = None
    source_language: str | None = None

    def problems(self) -> Iterator[str]:
        """Yield what makes this item unusable."""
        if len(self.candidates) < 2:
            yield f"has {len(self.candidates)} candidate(s), expected two or more"
        elif not 0 <= self.gold < len(self.candidates):
            yield f"has label {self.gold}, expected 0 to {len(self.candidates) - 1}"
        for index, candidate in enumerate(self.candidates):
            if not candidate.strip():
                yield f"has an empty candidate {index}"
        yield from _blank(self, "source", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entail:
    """A premise, a hypothesis and the label that a model of inference should give.

    Attributes:
        label: The label expected.
        also: Other labels that are right as well: what does not follow from the premise is neutral
            or a contradiction, what is only likely is entailed or neutral.
    """

    kind: ClassVar[Literal["entail"]] = "entail"

    id: str
    premise: str
    hypothesis: str
    label: str
    also: tuple[str, ...] = ()
    block: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    language: str | None = None

    def problems(self) -> Iterator[str]:
        """Yield what makes this item unusable."""
        if self.label not in LABELS:
            yield f"has label '{self.label}', expected {', '.join(LABELS)}"
        others = [label for label in LABELS if label != self.label]
        if self.also and (len(self.also) > 1 or self.also[0] not in others):
            listed = ", ".join(self.also)
            yield f"also accepts '{listed}', expected one of {', '.join(others)} or none"
        yield from _blank(self, "premise", "hypothesis")


@dataclass(frozen=True, slots=True, kw_only=True)
class Translate:
    """A sentence to translate, with its context and a reference.

    Attributes:
        source: The sentence to translate.
        reference: A right translation of it.
        context: The sentence before the source, in the source language.
        reference_context: The translation of the context.
        contrast: Wrong translations, minimally different from the reference; with them the item
            can also be scored as a choice (see ``as_choice``).
    """

    kind: ClassVar[Literal["translate"]] = "translate"

    id: str
    source: str
    reference: str
    context: str | None = None
    reference_context: str | None = None
    contrast: tuple[str, ...] = ()
    block: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    language: str | None = None
    source_language: str | None = None

    def problems(self) -> Iterator[str]:
        """Yield what makes this item unusable."""
        yield from _blank(self, "source", "reference", "context", "reference_context")
        for index, wrong in enumerate(self.contrast):
            if not wrong.strip():
                yield f"has an empty contrast {index}"

    def as_choice(self) -> Choice | None:
        """Return the contrastive form of this item, or None where it has no contrast.

        The place of the reference among the candidates follows from the id alone, so that no
        position is favoured and the same item always gives the same choice.
        """
        if not self.contrast:
            return None
        gold = zlib.crc32(self.id.encode()) % (len(self.contrast) + 1)
        candidates = (*self.contrast[:gold], self.reference, *self.contrast[gold:])
        return Choice(
            id=self.id,
            candidates=candidates,
            gold=gold,
            source=self.source,
            context=self.context,
            block=self.block,
            tags=self.tags,
            language=self.language,
            source_language=self.source_language,
        )


Item = Choice | Entail | Translate
_KINDS: dict[str, type[Choice] | type[Entail] | type[Translate]] = {
    cls.kind: cls for cls in (Choice, Entail, Translate)
}


def item_from_dict(data: Mapping[str, Any]) -> Item:
    """Make an item from a JSON object (see docs/reference/suite-format.md).

    Raises:
        SuiteError: If a key is missing, unknown, or of the wrong type.
    """
    kind = data.get("kind", "choice")
    cls = _KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise SuiteError(f"kind {_short(kind)} is unknown, expected one of {', '.join(_KINDS)}")
    known = {f.name: f for f in fields(cls)}
    unknown = sorted(set(data) - set(known) - {"kind"})
    if unknown:
        raise SuiteError(f"unknown key '{unknown[0]}' in a {kind} item, expected {_listed(known)}")
    required = [n for n, f in known.items() if f.type in ("str", "int", "tuple[str, ...]")]
    values: dict[str, Any] = {}
    for name in known:
        if data.get(name) is None:
            if name in required and name not in ("contrast", "also"):
                raise SuiteError(f"key '{name}' is missing")
            continue
        values[name] = _typed(name, str(known[name].type), data[name])
    return cls(**values)


def _typed(name: str, declared: str, value: Any) -> Any:
    if declared.startswith("Mapping"):
        if not isinstance(value, Mapping):
            raise SuiteError(f"key '{name}' is {_short(value)}, expected an object")
        for key, tag in value.items():
            if not isinstance(tag, str | int) or isinstance(tag, bool):
                raise SuiteError(
                    f"tag '{key}' is {_short(tag)}, expected a string or a whole number"
                )
        return {str(key): str(tag) for key, tag in value.items()}
    if declared.startswith("tuple"):
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise SuiteError(f"key '{name}' is {_short(value)}, expected a list of strings")
        return tuple(value)
    if declared == "int":
        if not isinstance(value, int) or isinstance(value, bool):
            raise SuiteError(f"key '{name}' is {_short(value)}, expected a whole number")
        return value
    if not isinstance(value, str):
        raise SuiteError(f"key '{name}' is {_short(value)}, expected a string")
    return value


def item_to_dict(item: Item) -> dict[str, Any]:
    """Return the JSON object of an item: its kind and every field that is set."""
    out: dict[str, Any] = {"kind": item.kind}
    for f in fields(item):
        value = getattr(item, f.name)
        if value is None or value == () or value == {}:
            continue
        if isinstance(value, tuple):
            value = list(value)
        out[f.name] = dict(value) if isinstance(value, Mapping) else value
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What readers should know about a suite before citing its numbers.

    Attributes:
        reader_tags: Names of the tags that later readers gave to items of a published suite. The
            hash of the suite leaves them out; slices by them name their labels in the signature.
    """

    title: str = ""
    language: str | None = None
    source_language: str | None = None
    licence: str = ""
    citation: str = ""
    url: str = ""
    version: str = "1"
    notes: str = ""
    reader_tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """A named set of items, in a fixed order, with a card.

    Attributes:
        name: Its name.
        items: The items.
        card: Its card.
        file: The file that it was read from, as it was named; None if it is from none.
        sample: How the items were drawn from a larger suite, ``100/1200@0`` for 100 of 1,200 by
            seed 0; None for a whole suite.
    """

    name: str
    items: tuple[Item, ...]
    card: Card = field(default_factory=Card)
    file: str | None = field(default=None, compare=False)
    sample: str | None = None

    def __repr__(self) -> str:
        return f"Suite({self.name!r}, {len(self)} items, {len(self.blocks())} blocks)"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        card, counts = self.card, Counter(item.kind for item in self.items)
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in counts.items())
        languages = " → ".join(filter(None, (card.source_language, card.language)))
        tags = ", ".join(f"{tag} ({len(found)})" for tag, found in self.tag_values().items())
        facts = [
            ("suite", f"{self.name}@{self.hash[:8]}"),
            ("title", card.title),
            ("items", kinds),
            ("blocks", f"{len(self.blocks()):,}"),
            ("sample", self.sample or ""),
            ("languages", languages),
            ("tags (values)", tags),
            ("licence", card.licence),
        ]
        return facts_table([(name, fact) for name, fact in facts if fact])

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame, *, name: str = "frame", **columns: Any) -> Suite:
        """Make a suite of a data frame, by the rules of ``boxpen suite import``.

        An index with a name is a column, too. Empty cells are None or NaN.

        Args:
            frame: One row per item.
            name: Name of the suite.
            **columns: Which column is which, if their names do not tell: ``id``, ``block``,
                ``correct`` and ``wrong``, ``candidates`` and ``gold``, ``tags`` … (see
                ``boxpen.catalog.tables.columns.Columns``); and ``language`` and
                ``source_language``.

        Raises:
            SuiteError: If a column or a cell is not as expected; the message names the row.
        """
        suite: Suite = FRAMES.load("read")(frame, name, columns)
        return suite

    @classmethod
    def from_polars(cls, frame: pl.DataFrame, *, name: str = "frame", **columns: Any) -> Suite:
        """Make a suite of a Polars data frame; see ``from_pandas``."""
        suite: Suite = FRAMES.load("read")(frame, name, columns)
        return suite

    def to_polars(self) -> pl.DataFrame:
        """Return the items as a Polars data frame, which ``from_polars`` reads; without the card.

        One row per item, with the fields of items as columns, and a column ``tag:NAME`` for
        each tag.
        """
        frame: pl.DataFrame = FRAMES.load("write")(self)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return the items as a pandas data frame; see ``to_polars``.

        Raises:
            SuiteError: If pandas is not installed.
        """
        return as_pandas(self.to_polars(), SuiteError)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @cached_property
    def hash(self) -> str:
        """Hex sha256 of the items: equal for equal content, whatever file it came from.

        Tags of later readers (``Card.reader_tags``) are no part of it, so that the numbers of a
        published suite stay comparable when labels are added or revised.
        """
        digest = hashlib.sha256()
        for item in self.items:
            language, source_language = self.languages_of(item)
            data = item_to_dict(item) | {"language": language, "source_language": source_language}
            tags = {k: v for k, v in item.tags.items() if k not in self.card.reader_tags}
            if not tags:
                data.pop("tags", None)
            elif len(tags) < len(item.tags):
                data["tags"] = tags
            digest.update(json.dumps(data, ensure_ascii=False, sort_keys=True).encode())
            digest.update(b"\n")
        return digest.hexdigest()

    def label_hashes(self) -> dict[str, str]:
        """Return a short hash of the labels of every tag that later readers gave."""
        return {tag: self._label_hash(tag) for tag in self.card.reader_tags}

    def _label_hash(self, tag: str) -> str:
        labels = {item.id: item.tags[tag] for item in self.items if tag in item.tags}
        text = json.dumps(labels, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def languages_of(self, item: Item) -> tuple[str | None, str | None]:
        """Return the language of an item's candidates and of its source, without region."""
        source_language = None
        if not isinstance(item, Entail) and item.source is not None:
            source_language = item.source_language or self.card.source_language
        return _bare(item.language or self.card.language), _bare(source_language)

    def tag_values(self) -> dict[str, list[str]]:
        """Return every tag with its values, both in order of first appearance."""
        seen: dict[str, dict[str, None]] = {}
        for item in self.items:
            for key, value in item.tags.items():
                seen.setdefault(key, {})[value] = None
        return {key: list(values) for key, values in seen.items()}

    def blocks(self) -> dict[str, list[Item]]:
        """Return the items of every block."""
        out: dict[str, list[Item]] = {}
        for item in self.items:
            if item.block is not None:
                out.setdefault(item.block, []).append(item)
        return out

    def where(self, **tags: str) -> Suite:
        """Return the suite of the items that carry all these tags."""
        return self.take(
            [i for i in self.items if all(i.tags.get(k) == v for k, v in tags.items())]
        )

    def take(self, items: Sequence[Item]) -> Suite:
        """Return the same suite with only these items."""
        return replace(self, items=tuple(items))

    def validate(self) -> Suite:
        """Return the suite itself, or raise if it is invalid.

        Raises:
            SuiteError: If the suite is empty, an id appears twice, or an item is unusable.
        """
        if not self.items:
            raise SuiteError(f"suite '{self.name}' has no items")
        seen: set[str] = set()
        for item in self.items:
            if not item.id:
                raise SuiteError(f"suite '{self.name}': an item has an empty id")
            if item.id in seen:
                raise SuiteError(f"suite '{self.name}': id '{item.id}' appears twice")
            seen.add(item.id)
            for problem in item.problems():
                raise SuiteError(f"suite '{self.name}': item '{item.id}' {problem}")
        return self


def _bare(language: str | None) -> str | None:
    if language is None:
        return None
    return language.replace("_", "-").split("-")[0].lower() or language


def _blank(item: Item, *names: str) -> Iterator[str]:
    for name in names:
        value = getattr(item, name)
        if value is not None and not value.strip():
            yield f"has an empty {name}"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(names)
