"""The build of conjunction acceptability items from any text: one sentence per line."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from boxpen.build.builders import Builder
from boxpen.build.conjunctions.swap import Refused, Swapped, paper_swaps, sound_swaps
from boxpen.build.libraries import need_libraries
from boxpen.build.runner import Progress, Report, Stage
from boxpen.build.tables import write_table
from boxpen.catalog import write_suite
from boxpen.config import AtLeast1, ConfigPath, FileName, NotNegative, load_config
from boxpen.errors import BuildError
from boxpen.items import Card, Choice, Suite
from boxpen.text.lines import read_lines

__all__ = ["BUILDER", "ConjunctionsConfig"]

DROPPED = "dropped.parquet"
EXAMPLE = """\
# boxpen build run THIS_FILE
builder = "conjunctions"
name = "my-conjunctions"    # of the suite, my-conjunctions/my-conjunctions.jsonl
folder = "my-conjunctions"  # for the files of the build, beside this one
text = "sentences.txt"      # one English sentence per line; plain or compressed
column = 0                  # of lines with tabs

swaps = "sound"             # only where the clauses speak against the other conjunction;
                            # "paper": every conjunction, for judges to choose from
# per_swap = 50             # maximum items per pair of conjunctions, drawn at random
seed = 0
"""


@dataclass(frozen=True, kw_only=True)
class ConjunctionsConfig:
    """The configuration; see ``EXAMPLE``."""

    path: ConfigPath
    builder: Literal["conjunctions"] = "conjunctions"
    name: FileName
    folder: ConfigPath
    text: ConfigPath
    column: NotNegative = 0
    swaps: Literal["sound", "paper"] = "sound"
    per_swap: AtLeast1 | None = None
    seed: int = 0


def _stages(config: ConjunctionsConfig, progress: Progress) -> list[Stage]:  # noqa: ARG001
    need_libraries()
    return [
        Stage(
            name="swap",
            run=lambda: _swap(config),
            reads=[config.text],
            writes=[f"{config.name}.jsonl", DROPPED],
            settings={
                "name": config.name,
                "column": config.column,
                "swaps": config.swaps,
                "per_swap": config.per_swap,
                "seed": config.seed if config.per_swap else None,
            },
            dropped=DROPPED,
        )
    ]


BUILDER: Builder[ConjunctionsConfig] = Builder(
    load=lambda path: load_config(ConjunctionsConfig, path),
    stages=_stages,
    version=1,
    example=EXAMPLE,
    shown=("sentence",),
)


def _swap(config: ConjunctionsConfig) -> Report:
    sentences = list(dict.fromkeys(_sentences(config)))
    pairs, dropped = _pairs(sentences, config.swaps)
    kept = _drawn(pairs, config)
    if not kept:
        raise BuildError(f"no conjunction of {len(sentences):,} sentences can be exchanged")
    chosen = set(kept)
    dropped += [
        (one.right, "per_swap", f"more than {config.per_swap} of {one.swap}")
        for one in pairs
        if one not in chosen
    ]
    schema = dict.fromkeys(("sentence", "step", "reason"), pl.String)
    write_table(pl.DataFrame(dropped, schema=schema, orient="row"), config.folder / DROPPED)
    suite = _suite(config, kept)
    write_suite(suite, config.folder / f"{config.name}.jsonl")
    counts = Counter(one.swap for one in kept)
    return {
        "says": f"{len(suite):,} items of {len(sentences):,} sentences",
        "table": [{"swap": swap, "items": count} for swap, count in counts.most_common()],
    }


def _sentences(config: ConjunctionsConfig) -> Iterator[str]:
    for number, line in enumerate(read_lines(config.text, BuildError), start=1):
        cells = line.split("\t")
        if config.column >= len(cells):
            raise BuildError(
                f"{config.text}, line {number} has {len(cells)} column(s), expected column "
                f"{config.column}, counted from 0"
            )
        if text := " ".join(cells[config.column].split()):
            yield text


def _pairs(sentences: Iterable[str], way: str) -> tuple[list[Swapped], list[tuple[str, str, str]]]:
    """Return the exchanges, and sentences with a conjunction of which none is made."""
    pairs: list[Swapped] = []
    dropped: list[tuple[str, str, str]] = []
    used: Counter[str] = Counter()
    for sentence in sentences:
        if way == "paper":
            pairs += paper_swaps(sentence)
            continue
        found = sound_swaps(sentence)
        if isinstance(found, Refused):
            if found.step != "none":
                dropped.append((sentence, *found))
            continue
        # One item per sentence, of the exchange that is rarest so far.
        best = min(found, key=lambda one: used[one.swap])
        used[best.swap] += 1
        pairs.append(best)
    return pairs, dropped


def _drawn(pairs: list[Swapped], config: ConjunctionsConfig) -> list[Swapped]:
    if config.per_swap is None:
        return pairs
    lots = {one: random.Random(f"{config.seed} {one.wrong}").random() for one in pairs}
    kept: set[Swapped] = set()
    for swap in {one.swap for one in pairs}:
        some = sorted((one for one in pairs if one.swap == swap), key=lambda one: lots[one])
        kept |= set(some[: config.per_swap])
    return [one for one in pairs if one in kept]


def _suite(config: ConjunctionsConfig, pairs: Iterable[Swapped]) -> Suite:
    items: list[Choice] = []
    used: set[str] = set()
    for one in pairs:
        digest = hashlib.sha256(f"{one.right}\0{one.wrong}".encode()).hexdigest()
        # Of 100,000 items, two are likely to share eight digits.
        key = next(digest[:length] for length in (8, 64) if digest[:length] not in used)
        used.add(key)
        gold = int(digest[8:10], 16) % 2
        items.append(
            Choice(
                id=key,
                candidates=(one.wrong, one.right) if gold else (one.right, one.wrong),
                gold=gold,
                tags={"swap": one.swap},
            )
        )
    notes = f"made by boxpen build run from {config.text.name}, swaps: {config.swaps}"
    card = Card(title="Conjunction acceptability", language="en", notes=notes)
    return Suite(config.name, tuple(items), card).validate()
