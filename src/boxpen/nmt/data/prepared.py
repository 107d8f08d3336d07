"""A corpus ready to be learnt from: cleaned, cut into subwords, kept as arrays of numbers.

A folder of

text/source.txt, text/target.txt   the cleaned pairs; text/where.tsv has the place of each
valid/source.txt, valid/target.txt the validation set, normalised; only empty sides are left out
subwords/                          the tokenizer, as Transformers reads it
train.npz, valid.npz               tokens and offsets of both sides, document and line of each pair
stages.json                        what was done, with counts; nothing is done twice

Documents and the order of lines are kept, so that models that read context find the sentence
before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from boxpen.build.builders import Builder
from boxpen.build.runner import RECORD, Progress, Runner, Stage
from boxpen.errors import NmtError
from boxpen.models.vocabulary import vocabulary_digest
from boxpen.nmt.config import NmtConfig, read_config, shipped_config
from boxpen.nmt.data.examples import Examples
from boxpen.nmt.data.preparing import (
    SIDES,
    clean_corpus,
    dropped_pairs,
    encode_corpus,
    excluded_suites,
    learn_subwords,
    read_lines,
    read_places,
)
from boxpen.text.cleaning import RULES
from boxpen.training.processes import Processes

__all__ = ["BUILDER", "Prepared", "open_prepared", "prepare", "prepare_once"]

_VERSION = 1
_TEXTS = [f"{part}/{side}.txt" for part in ("text", "valid") for side in SIDES]
_PLACES = ["text/where.tsv", "valid/where.tsv"]
_SUBWORDS = ["subwords/source.spm", "subwords/target.spm", "subwords/vocab.json"]
_STAGES = ("clean", "subwords", "encode")


def _stages(config: NmtConfig, _: Progress) -> list[Stage]:
    languages = {"source": config.source, "target": config.target}
    specs = [*config.corpora, config.valid, *config.tests]
    return [
        Stage(
            name="clean",
            run=lambda: clean_corpus(config),
            reads=[p for s in specs for p in (s.tsv, s.source, s.target) if p is not None],
            writes=[*_TEXTS, *_PLACES],
            settings={
                **languages,
                "clean": asdict(config.clean),
                "corpora": [_told(spec) for spec in specs],
                "suites": [suite.hash for suite in excluded_suites(config)],
            },
            reread={rule: partial(dropped_pairs, config, rule) for rule in RULES},
        ),
        Stage(
            name="subwords",
            run=lambda: learn_subwords(config),
            reads=_TEXTS[:2],
            writes=_SUBWORDS,
            settings={
                **languages,
                "subwords": asdict(config.subwords),
                "punctuation": config.clean.punctuation,
                "seed": config.seed,
            },
        ),
        Stage(
            name="encode",
            run=lambda: encode_corpus(config),
            reads=[*_TEXTS, *_SUBWORDS, *_PLACES],
            writes=["train.npz", "valid.npz"],
            settings={"max_tokens": config.model.max_tokens},
        ),
    ]


BUILDER: Builder[NmtConfig] = Builder(
    load=read_config,
    stages=_stages,
    version=_VERSION,
    example=shipped_config("commonmt-transformer"),
    shown=("source", "target"),
    folder=lambda config: config.data,
)


@dataclass(frozen=True)
class Prepared:
    """A prepared corpus.

    Attributes:
        folder: Where it is.
        train: What is learnt from.
        valid: What it is judged by.
        counts: How many pairs each step took; per corpus and rule.
        digest: Of the tokenizer and the validation set, as they were when it was opened.
    """

    folder: Path
    train: Examples
    valid: Examples
    counts: dict[str, Any]
    digest: str

    @property
    def subwords(self) -> Path:
        """The folder of the tokenizer."""
        return self.folder / "subwords"

    def check_unchanged(self) -> None:
        """Refuse a folder that was prepared anew since it was opened: others may share it.

        Raises:
            NmtError: If it was; what is in memory and what is in the folder differ then.
        """
        if _digest(self.folder) != self.digest:
            raise NmtError(
                f"{self.folder} was prepared anew while it was in use, expected it as it was "
                "opened; run the same command again, or give each training its own data folder"
            )

    def valid_texts(self, side: str) -> list[str]:
        """Return the sentences of the validation set."""
        return list(read_lines(self.folder / "valid" / f"{side}.txt"))

    def valid_contexts(self, sentences: int) -> list[str]:
        """Return up to this many sources before each, one per line."""
        texts = self.valid_texts("source")
        document, line = read_places(self.folder / "valid" / "where.tsv")
        found = []
        for number in range(len(texts)):
            first = number
            while (
                first > max(0, number - sentences)
                and document[first] == document[first - 1] >= 0
                and line[first] == line[first - 1] + 1
            ):
                first -= 1
            found.append("\n".join(texts[first:number]))
        return found


def prepare(config: NmtConfig, note: Callable[[str], None] = lambda _: None) -> Prepared:
    """Read, clean and encode the corpora, unless that has been done.

    Raises:
        NmtError: If a corpus is not as it must be, or nothing is left of it; no empty folder
            stays of what was refused.
    """
    for done in BUILDER.runner(config).run():
        note(f"{done.stage}: {done.report['says']}" + ("" if done.fresh else " (as before)"))
    return open_prepared(config.data)


def prepare_once(config: NmtConfig, processes: Processes, note: Callable[[str], None]) -> Prepared:
    """Prepare the corpus in one of several processes, and open it in all of them."""
    if processes.count == 1:
        return prepare(config, note)

    def work() -> None:  # returns nothing: the corpus is too large to send to other processes
        prepare(config, note)

    processes.once(work)
    return processes.each(lambda: open_prepared(config.data))


def open_prepared(folder: Path) -> Prepared:
    """Open a corpus that has been prepared.

    Raises:
        NmtError: If it has not been, or is damaged.
    """
    if not (folder / RECORD).is_file():
        raise NmtError(f"{folder} is not a prepared corpus; 'boxpen build run' makes one")
    runner = Runner(folder, [])
    counts = {name: runner.report(name) or {} for name in _STAGES}
    train, valid = (_load(folder / f"{part}.npz") for part in ("train", "valid"))
    return Prepared(folder, train, valid, counts, _digest(folder))


def _told(spec: Any) -> dict[str, Any]:
    """Return what a corpus is, without where it is: its content is looked at."""
    return {k: v for k, v in asdict(spec).items() if k not in ("tsv", "source", "target")}


def _digest(folder: Path) -> str:
    """Return the digest of the files that are read after the corpus was opened."""
    out = hashlib.sha256(vocabulary_digest(folder / "subwords").encode())
    try:
        for name in ("source.txt", "target.txt", "where.tsv"):
            out.update(name.encode() + (folder / "valid" / name).read_bytes())
    except OSError as error:
        raise NmtError(f"{error.filename} cannot be read: {error.strerror}") from None
    return out.hexdigest()


def _load(path: Path) -> Examples:
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as found:
            return Examples(**{name: found[name] for name in found.files})
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        raise NmtError(f"{path} cannot be read: {error}") from None
