"""The configuration of a build: one TOML file, a table for every stage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen

from boxpen.build.discourse.filters import FilterConfig
from boxpen.build.discourse.phenomena import connectives, pronouns
from boxpen.build.discourse.texts import TextSpec
from boxpen.build.review_config import ReviewConfig
from boxpen.config import AtLeast1, ConfigPath, FileName, NotNegative, check_keys
from boxpen.errors import ConfigError

__all__ = ["CLASSES", "EXAMPLE", "DiscourseConfig", "MineConfig", "SampleConfig", "SuiteConfig"]

CLASSES: Mapping[str, tuple[str, ...]] = {
    "pronoun": pronouns.CLASSES,
    "connective": connectives.CLASSES,
    "ellipsis": ("ellipsis",),
}
"""The classes of every phenomenon, in the order in which they are shown."""
_MOST_PROCESSES = 256

EXAMPLE = """\
# boxpen build run THIS_FILE
builder = "discourse"
name = "my-discourse"    # of the suite
seed = 1
folder = "my-discourse"  # for the files of the build, beside this one

[[texts]]                # one table for every text: subtitles in English and Chinese, in order
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
per_document = 2
spare = 1.0              # 1.5: half as many again, to make up for rejected ones

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
        processes: How many work at the same time; the outcome does not depend on it.
    """

    pool: AtLeast1 = 2000
    min_score: Annotated[float, Ge(0), Le(1)] = 0.0
    processes: Annotated[AtLeast1, Le(_MOST_PROCESSES)] = 1


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How many candidates are taken.

    Attributes:
        pronoun: Candidates of every class of pronouns.
        connective: Candidates of every class of connectives.
        ellipsis: Candidates of ellipsis.
        classes: Other numbers for classes by name.
        per_document: Maximum candidates of a class from one document.
        by: What comes first: the best, or a random one.
        spare: How many times as many are drawn for a review, where judges reject some; the suite
            has no more of a class than was wanted.
    """

    pronoun: NotNegative = 80
    connective: NotNegative = 40
    ellipsis: NotNegative = 400
    classes: Mapping[str, NotNegative] = field(default_factory=dict)
    per_document: AtLeast1 = 2
    by: Literal["score", "random"] = "score"
    spare: Annotated[float, Ge(1), Le(100)] = 1.0

    def __post_init__(self) -> None:
        check_keys(self.classes, list(self.wanted), "classes")
        if not any(self.wanted.values()):
            raise ConfigError("pronoun, connective, ellipsis and classes are 0, expected 1 or more")

    @property
    def wanted(self) -> dict[str, int]:
        """How many of every class the suite is to have."""
        return {
            name: self.classes.get(name, getattr(self, phenomenon))
            for phenomenon, names in CLASSES.items()
            for name in names
        }

    @property
    def drawn(self) -> dict[str, int]:
        """How many of every class are drawn, with those to spare."""
        return {name: math.ceil(count * self.spare) for name, count in self.wanted.items()}


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

    @property
    def journal(self) -> Path:
        """The file of judgements."""
        return (self.review or ReviewConfig()).journal_in(self.folder)
