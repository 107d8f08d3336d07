"""The configuration of a build: one TOML file, a table for every stage."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen

from boxpen.build.discourse.filters import FilterConfig
from boxpen.build.discourse.phenomena.pairs import PAIRS, built_in
from boxpen.build.discourse.phenomena.phenomenon import Phenomenon, classes_of
from boxpen.build.discourse.phenomena.word_classes import WordClasses
from boxpen.build.discourse.texts import TextSpec
from boxpen.build.review_config import ReviewConfig
from boxpen.config import AtLeast1, ConfigPath, Convert, FileName, NotNegative, check_keys
from boxpen.errors import ConfigError
from boxpen.text.normal import base_language

__all__ = ["EXAMPLE", "DiscourseConfig", "MineConfig", "SampleConfig", "SuiteConfig"]


def _language(value: object, _: Path) -> str:
    if not isinstance(value, str) or not re.fullmatch("[A-Za-z]{2,3}(?:[-_][A-Za-z]+)*", value):
        raise ValueError("expected the code of a language, such as 'de'")
    return value


Language = Annotated[str, Convert(_language)]
"""The code of a language, with or without a region."""

EXAMPLE = """\
# boxpen build run THIS_FILE
builder = "discourse"
name = "my-discourse"    # of the suite
seed = 1
folder = "my-discourse"  # for the files of the build, beside this one
source_language = "en"   # en-zh and zh-en have phenomena; other pairs need [[phenomena]]
target_language = "zh"

[[texts]]                # one table for every text: subtitles in both languages, in order
name = "subtitles"
tsv = "subtitles.tsv.xz" # or source, target and ids (Moses); or alignment and folder (XML of OPUS)
columns = {doc = 0, line = 1, source = 2, target = 3}

[clean]                  # every rule reports what it dropped
exclude = ["starter.discourse"]  # suites that must not be found again

[mine]                   # snippets of two lines that may test something, the best of every class
pool = 2000
min_score = 0.0

[sample]                 # how many of every class
pronoun = 80
connective = 40
ellipsis = 400
classes = {"though-不过" = 20}   # other numbers for some; 0 leaves a class out
context = "needed"     # "any": also 'as', whose sentences readers settled without their context
per_document = 2
spare = 1.0              # 1.5: half as many again, to make up for rejected ones

# [[phenomena]]          # of your own: words of the source, and classes of words for them
# name = "dear"
# source = ["dear"]
# classes = {loved = ["亲爱"], costly = ["昂贵"]}  # a word takes the place of the one beside it
# hints = {costly = ["price", "money"]}            # words of the sentence before
# sample = 40

# [review]               # only what judges accept: boxpen review export, import, status
# rule = "majority"
# min_judges = 2
"""


@dataclass(frozen=True, kw_only=True)
class MineConfig:
    """What is kept of all candidates.

    Attributes:
        pool: Candidates per class, the best ones.
        min_score: Minimum score of a candidate.
    """

    pool: AtLeast1 = 2000
    min_score: Annotated[float, Ge(0), Le(1)] = 0.0


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How many candidates are taken.

    Attributes:
        pronoun: Candidates of every class of pronouns.
        connective: Candidates of every class of connectives.
        ellipsis: Candidates of every class of ellipsis.
        tense: Candidates of every tense.
        classes: Other numbers for classes by name.
        context: Whether words are left out of which readers settled every sense without its context
            ('needed'); a class that ``classes`` names is wanted all the same.
        per_document: Maximum candidates of a class from one document.
        per_sentence: How often a class may have the same source sentence, after other contexts.
        by: What comes first: the best, or a random one.
        spare: How many times as many are drawn for a review, where judges reject some; the suite
            has no more of a class than was wanted.
    """

    pronoun: NotNegative = 80
    connective: NotNegative = 40
    ellipsis: NotNegative = 400
    tense: NotNegative = 80
    classes: Mapping[str, NotNegative] = field(default_factory=dict)
    context: Literal["needed", "any"] = "needed"
    per_document: AtLeast1 = 2
    per_sentence: AtLeast1 = 1
    by: Literal["score", "random"] = "score"
    spare: Annotated[float, Ge(1), Le(100)] = 1.0


@dataclass(frozen=True, kw_only=True)
class SuiteConfig:
    """The card of the suite."""

    title: str = ""
    licence: str = ""
    citation: str = ""


@dataclass(frozen=True, kw_only=True)
class DiscourseConfig:
    """The configuration; see ``EXAMPLE``."""

    path: ConfigPath
    builder: Literal["discourse"] = "discourse"
    name: FileName
    folder: ConfigPath
    texts: Annotated[tuple[TextSpec, ...], MinLen(1)]
    seed: int = 1
    source_language: Language = "en"
    target_language: Language = "zh"
    phenomena: tuple[WordClasses, ...] = ()
    clean: FilterConfig = field(default_factory=FilterConfig)
    mine: MineConfig = field(default_factory=MineConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)
    review: ReviewConfig | None = None
    suite: SuiteConfig = field(default_factory=SuiteConfig)

    def __post_init__(self) -> None:
        names = [spec.name for spec in self.texts]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ConfigError(f"texts[{number}].name is '{name}', expected one of its own")
        if base_language(self.source_language) == base_language(self.target_language):
            raise ConfigError(
                f"target_language is '{self.target_language}', expected another than that of the "
                "source"
            )
        self._check_phenomena()
        check_keys(self.sample.classes, list(self.wanted), "sample.classes")
        if not any(self.wanted.values()):
            names = [rule.name for rule in built_in(*self.languages)]
            names += [f"{one.name}.sample" for one in self.phenomena]
            zero = ", ".join(names)
            raise ConfigError(f"sample.{zero} and classes are 0, expected 1 or more")

    def _check_phenomena(self) -> None:
        known = [rule.name for rule in built_in(*self.languages)]
        if not known and not self.phenomena:
            pairs = ", ".join("-".join(pair) for pair in PAIRS)
            raise ConfigError(
                f"phenomena is missing: there are none for {'-'.join(self.languages)}, only for "
                f"{pairs}; add a table [[phenomena]]"
            )
        classes = {*classes_of(built_in(*self.languages))}
        for number, one in enumerate(self.phenomena):
            if one.name in known:
                raise ConfigError(f"phenomena[{number}].name is '{one.name}', which is in use")
            known.append(one.name)
            if twice := sorted(classes.intersection(one.classes)):
                raise ConfigError(
                    f"phenomena[{number}].classes has '{twice[0]}', a class of another phenomenon; "
                    "expected a name of its own"
                )
            classes.update(one.classes)

    @property
    def languages(self) -> tuple[str, str]:
        """The source and the target language."""
        return self.source_language, self.target_language

    @property
    def rules(self) -> tuple[Phenomenon, ...]:
        """The phenomena that are looked for: those of the pair, and those of the configuration."""
        own = (one.phenomenon(*self.languages) for one in self.phenomena)
        return (*built_in(*self.languages), *own)

    @property
    def wanted(self) -> dict[str, int]:
        """How many of every class the suite is to have."""
        own = {one.name: one.sample for one in self.phenomena}
        by_name = {
            cls: own[name] if name in own else self._each(name)
            for cls, name in classes_of(self.rules).items()
        }
        if self.sample.context == "needed":
            left_out = (cls for rule in self.rules for cls in rule.left_out)
            by_name |= dict.fromkeys(left_out, 0)
        return {cls: self.sample.classes.get(cls, number) for cls, number in by_name.items()}

    @property
    def settled(self) -> tuple[str, ...]:
        """The classes whose sentences readers settled without their context, all that they read."""
        return tuple(cls for rule in self.rules for cls in rule.settled)

    @property
    def drawn(self) -> dict[str, int]:
        """How many of every class are drawn, with those to spare."""
        return {name: math.ceil(n * self.sample.spare) for name, n in self.wanted.items()}

    def _each(self, phenomenon: str) -> int:
        number: int = getattr(self.sample, phenomenon)
        return number

    @property
    def journal(self) -> Path:
        """The file of judgements."""
        return (self.review or ReviewConfig()).journal_in(self.folder)
