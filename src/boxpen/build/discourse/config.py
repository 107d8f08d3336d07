"""The configuration of a build: one TOML file, a table for every stage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from boxpen.build.discourse import connectives, pronouns
from boxpen.build.discourse.filters import FilterConfig
from boxpen.build.discourse.read import TextSpec
from boxpen.build.settings import read_toml, settings
from boxpen.errors import BuildError, nearest
from boxpen.names import check_name, fits_a_line

__all__ = [
    "CLASSES",
    "EXAMPLE",
    "DiscourseConfig",
    "MineConfig",
    "ReviewConfig",
    "SampleConfig",
    "SuiteConfig",
    "read_config",
]

T = TypeVar("T")
CLASSES: Mapping[str, tuple[str, ...]] = {
    "pronoun": pronouns.CLASSES,
    "connective": connectives.CLASSES,
    "ellipsis": ("ellipsis",),
}
"""What is looked for: the classes of every phenomenon, in the order in which they are shown."""
_LONGEST_NAME = 200  # bytes; files are called after it
_MOST_PROCESSES = 256

EXAMPLE = """\
# boxpen build discourse run THIS_FILE
name = "my-discourse"    # of the suite
seed = 1
folder = "my-discourse"  # where the stages leave their files, beside this one

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
spare = 1.0              # 1.5: half as many again, for those that people reject

# [review]               # only what people accept: boxpen review export, import, status
# rule = "majority"
# min_judges = 2
"""


@dataclass(frozen=True, kw_only=True)
class MineConfig:
    """What is kept of all candidates.

    Attributes:
        pool: Candidates of every class, the best ones.
        min_score: Least score of a candidate, from 0 to 1.
        processes: How many work at the same time, 256 at most; the outcome does not depend on it.
    """

    pool: int = 2000
    min_score: float = 0.0
    processes: int = 1

    def __post_init__(self) -> None:
        if self.processes > _MOST_PROCESSES:
            raise BuildError(f"processes is {self.processes}, expected {_MOST_PROCESSES} at most")
        if not 0 <= self.min_score <= 1:
            raise BuildError(f"min_score is {self.min_score}, expected from 0 to 1")
        for name in ("pool", "processes"):
            if getattr(self, name) < 1:
                raise BuildError(f"{name} is {getattr(self, name)}, expected 1 or more")


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How many candidates are taken.

    Attributes:
        pronoun: Candidates of every class of pronouns.
        connective: Candidates of every class of connectives.
        ellipsis: Candidates of ellipsis.
        classes: Other numbers for classes by name.
        per_document: Most candidates of a class from one document.
        by: Who comes first: the best, or chance.
        spare: How many times as many are drawn for a review, of which people reject some; the
            suite has no more of a class than was wanted.
    """

    pronoun: int = 80
    connective: int = 40
    ellipsis: int = 400
    classes: Mapping[str, int] = field(default_factory=dict)
    per_document: int = 2
    by: Literal["score", "random"] = "score"
    spare: float = 1.0

    def __post_init__(self) -> None:
        known = [name for names in CLASSES.values() for name in names]
        for name in self.classes:
            if name not in known:
                raise BuildError(f"classes has the unknown class '{name}', {nearest(name, known)}")
        numbers = {name: getattr(self, name) for name in CLASSES} | dict(self.classes)
        for name, value in numbers.items():
            if value < 0:
                raise BuildError(f"{name} is {value}, expected 0 or more")
        if not any(self.wanted.values()):
            raise BuildError("no class is wanted, expected 1 or more of one of them")
        if self.per_document < 1:
            raise BuildError(f"per_document is {self.per_document}, expected 1 or more")
        if not 1 <= self.spare <= 100:
            raise BuildError(f"spare is {self.spare}, expected 1 or more, 100 at most")

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
class ReviewConfig:
    """How verdicts of people become one (see docs/review.md).

    Attributes:
        journal: Where judgements are kept; ``review.jsonl`` in the build's folder if None.
        rule: What decides where judges differ.
        divided: What becomes of a candidate on which the judges are divided.
        min_judges: Fewest judges of a candidate; with fewer it stays open, and out of the suite.
        adjudicator: The judge who decides, if the rule is ``adjudicator``.
    """

    journal: Path | None = None
    rule: Literal["majority", "unanimous", "any-reject", "adjudicator"] = "majority"
    divided: Literal["open", "reject"] = "open"
    min_judges: int = 1
    adjudicator: str | None = None

    def __post_init__(self) -> None:
        if self.min_judges < 1:
            raise BuildError(f"min_judges is {self.min_judges}, expected 1 or more")
        if (self.rule == "adjudicator") != bool(self.adjudicator):
            raise BuildError(
                f"rule is '{self.rule}' and adjudicator {self.adjudicator!r}, expected the name of "
                "the adjudicator with that rule, and none with others"
            )
        check_name(self.adjudicator, "adjudicator")


@dataclass(frozen=True, kw_only=True)
class SuiteConfig:
    """What the card of the suite says.

    Attributes:
        title: Of the suite.
        licence: Of its texts.
        citation: What to cite.
    """

    title: str = ""
    licence: str = ""
    citation: str = ""


@dataclass(frozen=True, kw_only=True)
class DiscourseConfig:
    """Everything that a build rests on."""

    path: Path
    name: str
    folder: Path
    texts: tuple[TextSpec, ...]
    seed: int = 1
    clean: FilterConfig = field(default_factory=FilterConfig)
    mine: MineConfig = field(default_factory=MineConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)
    review: ReviewConfig | None = None
    suite: SuiteConfig = field(default_factory=SuiteConfig)

    @property
    def journal(self) -> Path:
        """Where the judgements of people are kept."""
        given = self.review.journal if self.review is not None else None
        return given or self.folder / "review.jsonl"


@dataclass(frozen=True, kw_only=True)
class _Top:
    """The keys outside of tables."""

    name: str
    folder: Path
    seed: int = 1


_TABLES: dict[str, type] = {
    "clean": FilterConfig,
    "mine": MineConfig,
    "sample": SampleConfig,
    "review": ReviewConfig,
    "suite": SuiteConfig,
}


def read_config(path: Path) -> DiscourseConfig:
    """Read the configuration of a build; relative paths start from its folder.

    Raises:
        BuildError: If the file cannot be read, or says what cannot be; the message names the
            table, what was found and what was expected.
    """
    found = read_toml(path)
    folder = path.parent
    plain = {k: v for k, v in found.items() if k not in (*_TABLES, "texts")}
    for key in plain:
        if key not in ("name", "folder", "seed"):
            known = ["name", "folder", "seed", "texts", *_TABLES]
            raise BuildError(f"{path} has the unknown key '{key}', {nearest(key, known)}")
    top = settings(_Top, plain, f"{path}", folder)
    fits = top.name.strip() and len(top.name.encode()) <= _LONGEST_NAME
    if not fits or not fits_a_line(top.name) or any(sign in top.name for sign in "/\\"):
        raise BuildError(f"{path} has name = {top.name[:40]!r}, expected one that a file can have")
    texts = found.get("texts")
    if not isinstance(texts, list) or not texts:
        raise BuildError(f"{path} has no text, expected at least one table [[texts]]")
    tables: dict[str, Any] = {
        name: _made(cls, found[name], f"{path} [{name}]", folder)
        for name, cls in _TABLES.items()
        if name in found
    }
    specs = tuple(
        _made(TextSpec, table, f"{path} [[texts]] {number}", folder)
        for number, table in enumerate(texts, 1)
    )
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise BuildError(f"{path} has two texts with the name '{name}', expected one of each")
    return DiscourseConfig(
        path=path, name=top.name, folder=top.folder, seed=top.seed, texts=specs, **tables
    )


def _made(cls: type[T], table: object, where: str, folder: Path) -> T:
    """Make the dataclass of a table; what it refuses itself is said with the table's name."""
    try:
        return settings(cls, table, where, folder)
    except BuildError as error:
        message = str(error)
        raise BuildError(message if message.startswith(where) else f"{where}: {message}") from None
