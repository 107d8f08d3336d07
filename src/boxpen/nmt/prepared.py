"""A corpus ready to be learnt from: cleaned, cut into subwords, kept as arrays of numbers.

A folder of

text/source.txt, text/target.txt   the cleaned pairs; text/where.tsv says where each comes from
valid/source.txt, valid/target.txt the validation set, normalised; only empty sides are left out
subwords/                          the tokenizer, as Transformers reads it
train.npz, valid.npz               tokens and offsets of both sides, document and line of each pair
stages.json                        what was done, with counts; nothing is done twice

Documents and the order of lines are kept, so that models that read context find the sentence
before.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.atomic import replaced
from boxpen.build.stages import Stages
from boxpen.items import Suite
from boxpen.nmt.cleaning import Cleaner
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.corpus import Pair, read_pairs
from boxpen.nmt.errors import NmtError
from boxpen.nmt.examples import Examples, lengths_of
from boxpen.nmt.overlap import Overlap, overlap_of
from boxpen.nmt.subwords import encode_lines, train_subwords, vocabulary_sizes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Prepared", "open_prepared", "prepare"]

_VERSION = 1
"""Raised when a mend of the code changes what is made of the same input."""
_SIDES = ("source", "target")


@dataclass(frozen=True)
class Prepared:
    """A prepared corpus.

    Attributes:
        folder: Where it is.
        train: What is learnt from.
        valid: What it is judged by.
        counts: How many pairs each step took; per corpus and rule.
    """

    folder: Path
    train: Examples
    valid: Examples
    counts: dict[str, Any]

    @property
    def subwords(self) -> Path:
        """The folder of the tokenizer."""
        return self.folder / "subwords"

    def valid_texts(self, side: str) -> list[str]:
        """Return the sentences of the validation set."""
        return list(_lines(self.folder / "valid" / f"{side}.txt"))

    def valid_contexts(self, sentences: int) -> list[str]:
        """Return the sources that stand before each, at most so many, one a line."""
        texts = self.valid_texts("source")
        document, line = _places(self.folder / "valid" / "where.tsv")
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
        NmtError: If a corpus is not as it must be, or nothing is left of it.
    """
    stages = Stages(config.data)
    for name, work in (("clean", _clean), ("subwords", _learn), ("encode", _encode)):
        settings, inputs, outputs = _rests_on(config, name)
        report, fresh = stages.run(
            name,
            settings={"version": _VERSION, **settings},
            inputs=inputs,
            outputs=outputs,
            work=lambda work=work: work(config),  # type: ignore[misc]
        )
        note(f"{name}: {report['says']}" + ("" if fresh else " (as before)"))
    return open_prepared(config.data)


def open_prepared(folder: Path) -> Prepared:
    """Open a corpus that has been prepared.

    Raises:
        NmtError: If it has not been, or is damaged.
    """
    if not (folder / "stages.json").is_file():
        raise NmtError(f"{folder} is no prepared corpus; 'boxpen nmt prepare' makes one")
    stages = Stages(folder)
    counts = {name: stages.report(name) or {} for name in ("clean", "subwords", "encode")}
    return Prepared(folder, _load(folder / "train.npz"), _load(folder / "valid.npz"), counts)


def _rests_on(config: NmtConfig, name: str) -> tuple[dict[str, Any], list[Path], list[str]]:
    """Return the settings of a stage, the files it reads, and those it writes."""
    languages = {"source": config.source, "target": config.target}
    specs = [*config.corpora, config.valid, *config.tests]
    texts = [f"{part}/{side}.txt" for part in ("text", "valid") for side in _SIDES]
    subwords = ["subwords/source.spm", "subwords/target.spm", "subwords/vocab.json"]
    if name == "clean":
        files = [p for s in specs for p in (s.tsv, s.source, s.target) if p is not None]
        if missing := next((p for p in files if not p.is_file()), None):
            raise NmtError(f"there is no file {missing}")
        return (
            {
                **languages,
                "clean": asdict(config.clean),
                "corpora": [_told(s) for s in specs],
                "suites": [suite.hash for suite in _suites(config)],
            },
            files,
            [*texts, "text/where.tsv", "valid/where.tsv"],
        )
    if name == "subwords":
        settings = {
            **languages,
            "subwords": asdict(config.subwords),
            "punctuation": config.clean.punctuation,
            "seed": config.seed,
        }
        return settings, [config.data / t for t in texts[:2]], subwords
    return (
        {"max_tokens": config.model.max_tokens},
        [config.data / t for t in [*texts, *subwords, "text/where.tsv", "valid/where.tsv"]],
        ["train.npz", "valid.npz"],
    )


def _told(spec: Any) -> dict[str, Any]:
    """Return what a corpus is, without where it is: its content is looked at."""
    return {k: v for k, v in asdict(spec).items() if k not in ("tsv", "source", "target")}


def _clean(config: NmtConfig) -> dict[str, Any]:
    for part in ("text", "valid", "subwords"):  # told now, and not when the last is written
        _make(config.data / part)
    excluded = _excluded(config)
    cleaner = Cleaner(config.clean, config.source, config.target, excluded)
    read: dict[str, dict[str, int]] = {}
    folder = config.data / "text"
    with (
        replaced(folder / "source.txt", NmtError) as sources,
        replaced(folder / "target.txt", NmtError) as targets,
        replaced(folder / "where.tsv", NmtError) as where,
    ):
        for spec in config.corpora:
            counts: Counter[str] = Counter()
            for pair in cleaner.clean(read_pairs(spec, counts)):
                sources.write(f"{pair.source}\n".encode())
                targets.write(f"{pair.target}\n".encode())
                where.write(_place(pair))
            read[spec.name] = dict(counts)
    rules = dict(cleaner.counts)
    for counted in read.values():  # lines with an empty side have come to no rule
        for name in ("read", "empty"):
            rules[name] += counted.get("empty", 0)
    if not rules["kept"]:
        raise NmtError(f"no pair of {rules['read']:,} is left: {_shown(rules)}")
    kept = _clean_valid(config)
    says = f"{rules['kept']:,} of {rules['read']:,} pairs stay; "
    says += f"{kept:,} to validate"
    if cleaner.unchecked:
        says += f"; the script of {' and '.join(cleaner.unchecked)} is not known, nor checked"
    return {
        "says": says,
        "lines": read,
        "rules": rules,
        "unchecked": cleaner.unchecked,
        "overlap": cleaner.overlaps,
    }


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NmtError(f"{folder} cannot be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise NmtError(f"{folder} cannot be written: it is closed to you (no permission)")


def _place(pair: Pair) -> bytes:
    doc = "" if pair.doc is None else pair.doc.replace("\t", " ")
    return f"{pair.corpus}\t{doc}\t{pair.line}\n".encode()


def _clean_valid(config: NmtConfig) -> int:
    """Normalise the validation set; what is judged by it must not be chosen by us."""
    from boxpen.nmt.text import normalised

    folder = config.data / "valid"
    kept = 0
    with (
        replaced(folder / "source.txt", NmtError) as sources,
        replaced(folder / "target.txt", NmtError) as targets,
        replaced(folder / "where.tsv", NmtError) as where,
    ):
        for pair in read_pairs(config.valid, Counter()):
            sides = pair.source, pair.target
            if config.clean.normalise:
                sides = (
                    normalised(pair.source, config.source, punctuation=config.clean.punctuation),
                    normalised(pair.target, config.target, punctuation=config.clean.punctuation),
                )
            if all(sides):
                sources.write(f"{sides[0]}\n".encode())
                targets.write(f"{sides[1]}\n".encode())
                where.write(_place(pair))
                kept += 1
    if not kept:
        raise NmtError(f"the validation set '{config.valid.name}' is empty")
    return kept


def _excluded(config: NmtConfig) -> Overlap:
    """Return what must not be learnt from: suites, the validation set, and test sets."""
    specs = (config.valid, *config.tests) if config.clean.held_out == "drop" else ()
    held = (pair for spec in specs for pair in read_pairs(spec, Counter()))
    return overlap_of(_suites(config), config.source, config.target, held)


def _suites(config: NmtConfig) -> list[Suite]:
    if not config.clean.exclude:
        return []
    from boxpen.catalog import load_suite

    return [load_suite(name) for name in config.clean.exclude]


def _learn(config: NmtConfig) -> dict[str, Any]:
    train_subwords(
        config.subwords,
        _lines(config.data / "text" / "source.txt"),
        _lines(config.data / "text" / "target.txt"),
        config.data / "subwords",
        source_language=config.source,
        target_language=config.target,
        seed=config.seed,
        punctuation=config.clean.punctuation,
    )

    source, target = vocabulary_sizes(config.data / "subwords")
    joint = config.subwords.kind == "joint"
    says = f"{source:,} pieces for both" if joint else f"{source:,} and {target:,} pieces"
    return {"says": says, "source": source, "target": target, "joint": joint}


def _encode(config: NmtConfig) -> dict[str, Any]:
    import numpy as np

    limit = config.model.max_tokens
    counts = {}
    for part, name in (("text", "train"), ("valid", "valid")):
        sides = {
            side: _encoded(config.data / "subwords", side, config.data / part / f"{side}.txt")
            for side in _SIDES
        }
        lengths = {side: lengths_of(ends) for side, (_, ends) in sides.items()}
        fits = (lengths["source"] <= limit) & (lengths["target"] <= limit)
        if not fits.any():
            raise NmtError(f"no pair of {len(fits):,} has {limit} tokens or fewer on both sides")
        document, line = _places(config.data / part / "where.tsv")
        arrays: dict[str, Any] = {
            "document": document[fits],
            "line": line[fits],
            "row": np.flatnonzero(fits).astype(np.int32),
        }
        for side, (flat, _) in sides.items():
            inside = np.repeat(fits, lengths[side])
            arrays[side] = flat[inside]
            arrays[f"{side}_ends"] = np.cumsum(lengths[side][fits])
        with replaced(config.data / f"{name}.npz", NmtError) as stream:
            np.savez(stream, **arrays)
        counts[name] = {
            "pairs": int(fits.sum()),
            "too_long": int((~fits).sum()),
            **{f"{side}_tokens": int(lengths[side][fits].sum()) for side in _SIDES},
        }
    made = counts["train"]
    return {
        "says": f"{made['pairs']:,} pairs, {made['source_tokens']:,} source and "
        f"{made['target_tokens']:,} target tokens; {made['too_long']:,} too long",
        **counts,
    }


def _encoded(folder: Path, side: Any, path: Path) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    import numpy as np

    flat: list[NDArray[np.int32]] = []
    sizes: list[int] = []
    for tokens in encode_lines(folder, side, _lines(path)):
        flat.append(np.asarray(tokens, np.int32))
        sizes.append(len(tokens))
        if len(flat) >= 100_000:
            flat = [np.concatenate(flat)]
    return np.concatenate(flat), np.cumsum(np.asarray(sizes, np.int64))


def _places(path: Path) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the documents in their order, and return the lines; a pair without one has -1."""
    import numpy as np

    known: dict[str, int] = {}
    documents, lines = [], []
    for row in _lines(path):
        corpus, doc, line = row.split("\t")
        documents.append(known.setdefault(f"{corpus}\t{doc}", len(known)) if doc else -1)
        lines.append(int(line))
    return np.asarray(documents, np.int32), np.asarray(lines, np.int32)


def _load(path: Path) -> Examples:
    import zipfile

    import numpy as np

    try:
        with np.load(path) as found:
            return Examples(**{name: found[name] for name in found.files})
    except (OSError, ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        raise NmtError(f"{path} cannot be read: {error}") from None


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.removesuffix("\n")


def _shown(counts: Iterable[Any] | dict[str, int]) -> str:
    return json.dumps(counts)
