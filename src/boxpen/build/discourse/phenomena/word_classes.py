"""Phenomena that a configuration describes: one word of the source, classes of words in the target.

German *er* is *he* or *it*, *wenn* is *if* or *when*. The words of a class are its forms; the forms
of another class at the same places take their places in a wrong translation. Nothing is known of
grammar: what must agree is written into the forms, as in "he is" and "they are".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated

from annotated_types import MinLen

from boxpen.build.discourse.phenomena.phenomenon import Phenomenon
from boxpen.build.discourse.phenomena.snippets import Finding, Objection, Snippet, weighed
from boxpen.config import NotNegative, check_keys
from boxpen.errors import ConfigError
from boxpen.scoring.recipe import UNSPACED
from boxpen.text.normal import base_language

__all__ = ["WordClasses"]

Forms = Annotated[tuple[str, ...], MinLen(1)]
_BASE, _HINTED = 0.5, 0.9


@dataclass(frozen=True, kw_only=True)
class WordClasses:
    """A table ``[[phenomena]]``.

    Attributes:
        name: Of the phenomenon.
        source: Words of the source language that have several translations.
        classes: Classes with their words in the target language.
        hints: Words of the sentence before, in the source language, that tell a class.
        exclude: Words of the source that speak against any class, such as those of idioms.
        sample: Candidates of every class in the suite.
    """

    name: str
    source: Forms
    classes: Mapping[str, Forms]
    hints: Mapping[str, Forms] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    sample: NotNegative = 40

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^\W_]+(?:-[^\W_]+)*", self.name):
            raise ConfigError(f"name is {self.name!r}, expected letters, digits and hyphens")
        if len(self.classes) < 2:
            raise ConfigError(f"classes has {len(self.classes)}, expected two or more")
        lengths = {cls: len(forms) for cls, forms in self.classes.items()}
        first, *others = lengths
        for cls in others:
            if lengths[cls] != lengths[first]:
                raise ConfigError(
                    f"classes.{cls} has {lengths[cls]} word(s), expected {lengths[first]}, "
                    f"as many as {first}: a word takes the place of the one beside it"
                )
        owners: dict[str, str] = {}
        for cls, forms in self.classes.items():
            for form in forms:
                if owners.setdefault(form.lower(), cls) != cls:
                    raise ConfigError(
                        f"classes.{cls} has '{form}', which {owners[form.lower()]} has too; "
                        "expected a word that tells the class"
                    )
        for key, words in (("source", self.source), ("exclude", self.exclude), *(
            (f"{table}.{cls}", forms)
            for table, forms_of in (("classes", self.classes), ("hints", self.hints))
            for cls, forms in forms_of.items()
        )):  # fmt: skip
            if any(not word.strip() for word in words):
                raise ConfigError(f"{key} has an empty word")
        check_keys(self.hints, list(self.classes), "hints")

    def phenomenon(self, source_language: str, target_language: str) -> Phenomenon:
        """Return the rule that the table describes."""
        rule = _Rule(self, source_language, target_language)
        return Phenomenon(
            name=self.name,
            pair=(source_language, target_language),
            classes=tuple(self.classes),
            find=rule.find,
            contrasts=rule.contrasts,
            shows=rule.shows,
        )


@dataclass(frozen=True)
class _Rule:
    spec: WordClasses
    source_language: str
    target_language: str

    def find(self, snippet: Snippet) -> Finding | None:
        """Return the class, if the source has one of the words once and the target one class."""
        found = self._source.findall(snippet.source)
        if len(found) != 1 or (self._exclude and self._exclude.search(snippet.source)):
            return None
        shown = [cls for cls, forms in self._forms.items() if forms.search(snippet.target)]
        if len(shown) != 1:
            return None
        [cls] = shown
        word = self._forms[cls].findall(snippet.target)[0]
        told = [name for name, hints in self._hints.items() if hints.search(snippet.context_source)]
        score = _HINTED if told == [cls] else _BASE
        reason = f"'{found[0].lower()}' → '{word.lower()}'"
        reason += f"; the context tells {cls}" if told == [cls] else ""
        return weighed(cls, word.lower(), score, reason, _objections(cls, told, snippet))

    def contrasts(
        self, cls: str, _word: str, _source: str, target: str, _before: str
    ) -> tuple[str, ...]:
        """Return the target with the words of every other class, where it is clear which."""
        if cls not in self.spec.classes:
            return ()
        made = []
        for other, forms in self.spec.classes.items():
            instead: dict[str, set[str]] = {}
            for old, new in zip(self.spec.classes[cls], forms, strict=True):
                instead.setdefault(old.lower(), set()).add(new)
            found = self._forms[cls].findall(target)
            if other == cls or not found or any(len(instead[f.lower()]) > 1 for f in found):
                continue
            made.append(self._forms[cls].sub(partial(_exchanged, instead), target))
        return tuple(made)

    def shows(self, cls: str, target: str) -> bool:
        """Whether a translation has a word of this class, and none of another."""
        return [name for name, forms in self._forms.items() if forms.search(target)] == [cls]

    @cached_property
    def _source(self) -> re.Pattern[str]:
        return _pattern(self.spec.source, self.source_language)

    @cached_property
    def _exclude(self) -> re.Pattern[str] | None:
        words = self.spec.exclude
        return _pattern(words, self.source_language) if words else None

    @cached_property
    def _forms(self) -> dict[str, re.Pattern[str]]:
        classes = self.spec.classes.items()
        return {cls: _pattern(forms, self.target_language) for cls, forms in classes}

    @cached_property
    def _hints(self) -> dict[str, re.Pattern[str]]:
        hints = self.spec.hints.items()
        return {cls: _pattern(words, self.source_language) for cls, words in hints}


def _objections(cls: str, told: Sequence[str], snippet: Snippet) -> list[Objection]:
    against = []
    if told and cls not in told:
        against.append((0.4, f"the context tells {', '.join(told)}"))
    if snippet.context_source.rstrip(" \"'").endswith((",", "-", "...", "…", "……")):
        against.append((0.9, "the context is broken off"))
    return against


def _pattern(words: Sequence[str], language: str) -> re.Pattern[str]:
    """Return what finds any of some words, the longest first, in upper or lower case."""
    listed = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    if base_language(language) in UNSPACED:
        return re.compile(listed)
    return re.compile(rf"(?<![\w])(?:{listed})(?!\w)", re.IGNORECASE)


def _exchanged(instead: Mapping[str, set[str]], found: re.Match[str]) -> str:
    [new] = instead[found[0].lower()]
    return new[:1].upper() + new[1:] if found[0][:1].isupper() else new
