"""The configuration of a build: one TOML file, a table for every stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from boxpen.build.kg.filter_config import FilterConfig
from boxpen.build.kg.lines import excerpt
from boxpen.build.kg.read import GraphSpec
from boxpen.build.kg.vocabulary import read_words
from boxpen.build.settings import read_toml, settings
from boxpen.errors import BuildError

__all__ = [
    "EXAMPLE",
    "KgConfig",
    "NegativesConfig",
    "RankConfig",
    "RenderConfig",
    "ReviewConfig",
    "SampleConfig",
    "read_config",
]

T = TypeVar("T")
MOST_WRONG = 1000
_LONGEST_NAME = 200  # bytes; files are called after it

EXAMPLE = """\
# boxpen build kg THIS_FILE
name = "my-graph"        # of the suite
seed = 1
folder = "my-graph"      # where the stages leave their files, beside this one

[[graphs]]               # one table for every graph
name = "conceptnet"
files = ["conceptnet-assertions-5.7.0.csv.gz"]

[[graphs]]
name = "atomic"
files = ["v4_atomic_trn.csv"]

[filter]                 # every step reports what it dropped, and why
relations = ["capableof", "desires", "usedfor", "xAttr", "xWant"]
min_weight = 1.0

[rank]                   # a language model words the triples and ranks them
model = "smollm2"
most = 3000              # triples of a relation that are ranked
keep = 0.3               # share of them that stays

[sample]
per_relation = 100

[negatives]              # wrong tails for questions and sentence pairs
count = 5

[render]
tasks = ["nli", "qa", "pairs"]
forms = {nli = 4, qa = 1, pairs = 1}   # surface forms of a triple, or of each wrong tail
"""


@dataclass(frozen=True, kw_only=True)
class RankConfig:
    """How triples are worded and ranked.

    Attributes:
        model: The language model; ``none`` takes the first wording and ranks nothing.
        most: How many triples of a relation are ranked, drawn by the seed; all if None.
        fluent: Share of the triples of a relation that is ranked, the best English first.
        keep: Share of the triples of a relation that stays, the likeliest first.
        least: How many of a relation stay in any case, if it has so many.
        device: Where the model computes.
    """

    model: str = "smollm2"
    most: int | None = 3000
    fluent: float = 0.6
    keep: float = 0.3
    least: int = 50
    device: str | None = None

    def __post_init__(self) -> None:
        for name in ("fluent", "keep"):
            if not 0 < getattr(self, name) <= 1:
                given = getattr(self, name)
                raise BuildError(f"{name} is {given}, expected a share above 0, at most 1")
        if self.most is not None and self.most < 1:
            raise BuildError(f"most is {self.most}, expected 1 or more")


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How many triples are taken.

    Attributes:
        per_relation: Triples of every relation; all if None.
        per_head: Most triples with one and the same head in a relation.
        by: What comes first: the likeliest, the heaviest, or chance.
    """

    per_relation: int | None = 100
    per_head: int = 3
    by: Literal["plausibility", "random", "weight"] = "plausibility"

    def __post_init__(self) -> None:
        for name in ("per_relation", "per_head"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise BuildError(f"{name} is {value}, expected 1 or more")


@dataclass(frozen=True, kw_only=True)
class ReviewConfig:
    """How verdicts of people become one (see docs/review.md).

    Attributes:
        journal: Where the judgements of triples are kept.
        wrong_journal: Where those of wrong tails are kept; these are not reviewed if None.
        rule: What decides where judges differ.
        divided: What becomes of a triple on which the judges are divided.
        min_judges: Fewest judges of a triple; with fewer it stays open, and out of the suite.
        adjudicator: The judge who decides, if the rule is ``adjudicator``.
    """

    journal: Path
    wrong_journal: Path | None = None
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


@dataclass(frozen=True, kw_only=True)
class NegativesConfig:
    """How wrong tails are drawn.

    Attributes:
        count: How many a triple gets.
        wordnet: Whether synonyms, hypernyms and hyponyms by WordNet are left out, besides those
            that the graph itself knows.
        pool: Whose tails they are: those of all ranked triples, the sampled first, or only of the
            triples that tests are made of, so that a review of these covers the wrong tails' words.
    """

    count: int = 5
    wordnet: bool = True
    pool: Literal["ranked", "chosen"] = "ranked"

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_WRONG:
            raise BuildError(f"count is {self.count}, expected 1 or more, {MOST_WRONG} at most")


@dataclass(frozen=True, kw_only=True)
class RenderConfig:
    """What the tests look like.

    Attributes:
        tasks: What is made of every triple.
        forms: How many surface forms a triple gets, by task; where there are wrong tails, for
            each of them.
        templates: Files of templates besides boxpen's own.
        title: For the suite's card.
        licence: For the suite's card.
        citation: For the suite's card.
    """

    tasks: tuple[str, ...] = ("nli", "qa", "pairs")
    forms: Mapping[str, int] = field(default_factory=dict)
    templates: tuple[Path, ...] = ()
    title: str = ""
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if not self.tasks or len(set(self.tasks)) < len(self.tasks):
            listed = ", ".join(self.tasks) or "empty"
            raise BuildError(f"tasks is {listed}, expected one task or more, each once")
        for task, count in self.forms.items():
            if task not in self.tasks or count < 1:
                raise BuildError(
                    f"forms has {task} = {count}, expected 1 or more for {', '.join(self.tasks)}"
                )


@dataclass(frozen=True, kw_only=True)
class KgConfig:
    """Everything that a build rests on."""

    path: Path
    name: str
    folder: Path
    graphs: tuple[GraphSpec, ...]
    seed: int = 1
    strict: bool = False
    filter: FilterConfig = field(default_factory=FilterConfig)
    rank: RankConfig = field(default_factory=RankConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)
    review: ReviewConfig | None = None
    negatives: NegativesConfig = field(default_factory=NegativesConfig)
    render: RenderConfig = field(default_factory=RenderConfig)


@dataclass(frozen=True, kw_only=True)
class _Top:
    """The keys outside of tables."""

    name: str
    folder: Path
    seed: int = 1
    strict: bool = False


_TABLES: dict[str, type] = {
    "rank": RankConfig,
    "sample": SampleConfig,
    "review": ReviewConfig,
    "negatives": NegativesConfig,
    "render": RenderConfig,
}


def read_config(path: Path) -> KgConfig:
    """Read the configuration of a build; relative paths start from its folder.

    Raises:
        BuildError: If the file cannot be read, or says what cannot be; the message names the
            table, what was found and what was expected.
    """
    found = read_toml(path)
    folder = path.parent
    plain = {k: v for k, v in found.items() if k not in (*_TABLES, "graphs", "filter")}
    top = settings(_Top, plain, f"{path}", folder)
    if not top.name.strip():
        raise BuildError(f"{path} has an empty name")
    if any(sign in top.name for sign in "/\\\0") or len(top.name.encode()) > _LONGEST_NAME:
        raise BuildError(
            f"{path} has name = {excerpt(top.name, 40)!r}, expected one that a file can have"
        )
    graphs = found.get("graphs")
    if not isinstance(graphs, list) or not graphs:
        raise BuildError(f"{path} has no graph, expected at least one table [[graphs]]")
    tables: dict[str, Any] = {
        name: _made(cls, found[name], f"{path} [{name}]", folder)
        for name, cls in _TABLES.items()
        if name in found
    }
    return KgConfig(
        path=path,
        name=top.name,
        folder=top.folder,
        seed=top.seed,
        strict=top.strict,
        graphs=tuple(
            _graph(table, f"{path} [[graphs]] {number}", folder)
            for number, table in enumerate(graphs, 1)
        ),
        filter=_filter(found.get("filter", {}), f"{path} [filter]", folder),
        **tables,
    )


def _graph(table: object, where: str, folder: Path) -> GraphSpec:
    graph = _made(GraphSpec, table, where, folder)
    files: list[Path] = []
    for pattern in graph.files:
        if any(sign in pattern.name for sign in "*?["):
            try:
                found = sorted(pattern.parent.glob(pattern.name))
            except ValueError as error:
                raise BuildError(f"{where} has a file {pattern}: {error}") from None
            if not found:
                raise BuildError(f"{where} has files that are not there: nothing fits {pattern}")
            files += found
        elif pattern.is_dir():
            raise BuildError(f"{where} has a folder, expected a file: {pattern}")
        elif not pattern.is_file():
            raise BuildError(f"{where} has a file that is not there: {pattern}")
        else:
            files.append(pattern)
    return replace(graph, files=tuple(files))


def _filter(table: object, where: str, folder: Path) -> FilterConfig:
    """Read the table of the filter, in which ``blocklist`` may also be a file."""
    if isinstance(table, Mapping) and isinstance(table.get("blocklist"), str):
        words = read_words(folder / table["blocklist"])
        table = {**table, "blocklist": list(words)}
    return _made(FilterConfig, table, where, folder)


def _made(cls: type[T], table: object, where: str, folder: Path) -> T:
    """Make the dataclass of a table; what it refuses itself is said with the table's name."""
    try:
        return settings(cls, table, where, folder)
    except BuildError as error:
        message = str(error)
        raise BuildError(message if message.startswith(where) else f"{where}: {message}") from None
