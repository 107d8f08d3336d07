"""The configuration of a build: one TOML file, a table for every stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Le, MinLen

from boxpen.build.kg.filter.config import FilterConfig
from boxpen.build.kg.read.graph import FORMATS, GraphSpec
from boxpen.build.review_config import ReviewConfig
from boxpen.config import AtLeast1, ConfigPath, FileName, Share, check_keys, load_config, one_of
from boxpen.errors import ConfigError

__all__ = [
    "EXAMPLE", "KgConfig", "KgReviewConfig", "NegativesConfig", "RankConfig", "RenderConfig",
    "SampleConfig", "read_config",
]  # fmt: skip

MOST_WRONG = 1000

EXAMPLE = """\
# boxpen build run THIS_FILE
builder = "kg"
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
        least: Minimum triples of a relation to keep, whatever ``keep`` says.
        device: Where the model computes.
    """

    model: str = "smollm2"
    most: AtLeast1 | None = 3000
    fluent: Share = 0.6
    keep: Share = 0.3
    least: int = 50
    device: str | None = None


@dataclass(frozen=True, kw_only=True)
class SampleConfig:
    """How many triples are taken.

    Attributes:
        per_relation: Triples of every relation; all if None.
        per_head: Most triples with one and the same head in a relation.
        by: What comes first: the likeliest, the heaviest, or chance.
    """

    per_relation: AtLeast1 | None = 100
    per_head: AtLeast1 = 3
    by: Literal["plausibility", "random", "weight"] = "plausibility"


@dataclass(frozen=True, kw_only=True)
class KgReviewConfig(ReviewConfig):
    """How verdicts on triples and on wrong tails become one.

    Attributes:
        wrong_journal: Where judgements of wrong tails are kept; they are not reviewed if None.
    """

    wrong_journal: ConfigPath | None = None


@dataclass(frozen=True, kw_only=True)
class NegativesConfig:
    """How wrong tails are drawn.

    Attributes:
        count: How many a triple gets.
        wordnet: Whether synonyms, hypernyms and hyponyms by WordNet are left out, besides those
            that the graph itself knows.
        pool: Whose tails they are: those of all ranked triples, the sampled first, or only of the
            triples that tests are made of, so that a review of these covers the wrong tails' words.
        open_ended: Whether triples get wrong tails, too, where none is surely wrong: what people
            can do, what somebody is like. Review these.
    """

    count: Annotated[AtLeast1, Le(MOST_WRONG)] = 5
    wordnet: bool = True
    pool: Literal["ranked", "chosen"] = "ranked"
    open_ended: bool = False


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
    forms: Mapping[str, AtLeast1] = field(default_factory=dict)
    templates: tuple[ConfigPath, ...] = ()
    title: str = ""
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if not self.tasks or len(set(self.tasks)) < len(self.tasks):
            listed = ", ".join(self.tasks) or "empty"
            raise ConfigError(f"tasks is {listed}, expected one task or more, each once")
        check_keys(self.forms, self.tasks, "forms")


@dataclass(frozen=True, kw_only=True)
class KgConfig:
    """Everything that a build rests on."""

    path: ConfigPath
    builder: Literal["kg"] = "kg"
    name: FileName
    folder: ConfigPath
    graphs: Annotated[tuple[GraphSpec, ...], MinLen(1)]
    seed: int = 1
    strict: bool = False
    filter: FilterConfig = field(default_factory=FilterConfig)
    rank: RankConfig = field(default_factory=RankConfig)
    sample: SampleConfig = field(default_factory=SampleConfig)
    review: KgReviewConfig | None = None
    negatives: NegativesConfig = field(default_factory=NegativesConfig)
    render: RenderConfig = field(default_factory=RenderConfig)

    def __post_init__(self) -> None:
        for number, graph in enumerate(self.graphs):
            one_of(graph.format, ["auto", *FORMATS], f"graphs[{number}].format")


def read_config(path: Path) -> KgConfig:
    """Read the configuration of a build; relative paths start from its folder.

    Raises:
        ConfigError: If the file cannot be read, or a key or a value is wrong.
    """
    return load_config(KgConfig, path)
