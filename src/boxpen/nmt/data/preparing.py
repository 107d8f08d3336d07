"""The work of each stage that prepares a corpus: clean, learn subwords, encode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from boxpen.build.dropped import pairs_dropped_by
from boxpen.build.runner import steps_of
from boxpen.errors import NmtError
from boxpen.files import replaced
from boxpen.items import Suite
from boxpen.nmt.config import NmtConfig
from boxpen.nmt.data.examples import lengths_of
from boxpen.nmt.data.subwords import encode_lines, train_subwords, vocabulary_sizes
from boxpen.text.cleaning import RULES, Cleaner, told_rules
from boxpen.text.corpus import Pair, read_pairs
from boxpen.text.overlap import Overlap, overlap_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "SIDES",
    "clean_corpus",
    "dropped_pairs",
    "encode_corpus",
    "excluded_suites",
    "learn_subwords",
    "read_lines",
    "read_places",
]

SIDES = ("source", "target")


def clean_corpus(config: NmtConfig) -> dict[str, Any]:
    """Write the pairs that the rules leave, and the validation set; return what each rule took."""
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
        if not rules["read"]:
            raise NmtError(f"{config.path} has [[corpora]] without any pair, expected some")
        if not rules["kept"]:
            raise NmtError(
                f"no pair of {rules['read']:,} is left by the rules of [clean], expected some: "
                f"{told_rules(rules)}"
            )
        kept = _clean_valid(config)  # before any of the files is in place
    says = f"{rules['kept']:,} of {rules['read']:,} pairs stay; "
    says += f"{kept:,} to validate"
    if cleaner.unchecked:
        says += f"; the script of {' and '.join(cleaner.unchecked)} is not known, nor checked"
    overlaps = [f"overlap with {where}: {n:,}" for where, n in cleaner.overlaps.items()]
    return {
        "says": says,
        "steps": steps_of(rules["read"], {rule: rules[rule] for rule in RULES}),
        "notes": overlaps,
        "lines": read,
        "rules": rules,
        "unchecked": cleaner.unchecked,
        "overlap": cleaner.overlaps,
    }


def dropped_pairs(config: NmtConfig, rule: str) -> Iterator[pl.LazyFrame]:
    """Read the corpora again for the pairs that a rule dropped."""
    cleaner = Cleaner(config.clean, config.source, config.target, _excluded(config))
    for spec in config.corpora:
        pairs = read_pairs(spec, Counter())
        yield from pairs_dropped_by(rule, pairs, cleaner.clean, lambda: cleaner.counts)


def learn_subwords(config: NmtConfig) -> dict[str, Any]:
    """Write the tokenizer; return how many pieces it has."""
    train_subwords(
        config.subwords,
        read_lines(config.data / "text" / "source.txt"),
        read_lines(config.data / "text" / "target.txt"),
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


def encode_corpus(config: NmtConfig) -> dict[str, Any]:
    """Write the tokens of what is learnt from and of the validation set; return how many."""
    limit = config.model.max_tokens
    counts = {}
    for part, name in (("text", "train"), ("valid", "valid")):
        sides = {
            side: _encoded(config.data / "subwords", side, config.data / part / f"{side}.txt")
            for side in SIDES
        }
        lengths = {side: lengths_of(ends) for side, (_, ends) in sides.items()}
        fits = (lengths["source"] <= limit) & (lengths["target"] <= limit)
        if not fits.any():
            raise NmtError(f"no pair of {len(fits):,} has {limit} tokens or fewer on both sides")
        document, line = read_places(config.data / part / "where.tsv")
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
            **{f"{side}_tokens": int(lengths[side][fits].sum()) for side in SIDES},
        }
    made = counts["train"]
    return {
        "says": f"{made['pairs']:,} pairs, {made['source_tokens']:,} source and "
        f"{made['target_tokens']:,} target tokens; {made['too_long']:,} too long",
        **counts,
    }


def excluded_suites(config: NmtConfig) -> list[Suite]:
    """Return the suites whose sentences must not be learnt from."""
    if not config.clean.exclude:
        return []
    from boxpen.catalog import load_suite

    return [load_suite(name) for name in config.clean.exclude]


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text of the folder; only a line feed ends one."""
    with path.open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.removesuffix("\n")


def read_places(path: Path) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the documents in their order, and return the lines; a pair without one has -1."""
    known: dict[str, int] = {}
    documents, lines = [], []
    for row in read_lines(path):
        corpus, doc, line = row.split("\t")
        documents.append(known.setdefault(f"{corpus}\t{doc}", len(known)) if doc else -1)
        lines.append(int(line))
    return np.asarray(documents, np.int32), np.asarray(lines, np.int32)


def _clean_valid(config: NmtConfig) -> int:
    """Normalise the validation set; what is judged by it must not be chosen by us."""
    from boxpen.text.normal import normalised

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


def _place(pair: Pair) -> bytes:
    doc = "" if pair.doc is None else pair.doc.replace("\t", " ")
    return f"{pair.corpus}\t{doc}\t{pair.line}\n".encode()


def _excluded(config: NmtConfig) -> Overlap:
    """Return what must not be learnt from: suites, the validation set, and test sets."""
    specs = (config.valid, *config.tests) if config.clean.held_out == "drop" else ()
    held = (pair for spec in specs for pair in read_pairs(spec, Counter()))
    return overlap_of(excluded_suites(config), config.source, config.target, held)


def _encoded(folder: Path, side: Any, path: Path) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    flat: list[NDArray[np.int32]] = []
    sizes: list[int] = []
    for tokens in encode_lines(folder, side, read_lines(path)):
        flat.append(np.asarray(tokens, np.int32))
        sizes.append(len(tokens))
        if len(flat) >= 100_000:
            flat = [np.concatenate(flat)]
    return np.concatenate(flat), np.cumsum(np.asarray(sizes, np.int64))
