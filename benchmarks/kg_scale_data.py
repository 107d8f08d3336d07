"""A made-up ConceptNet of any size, in the format of the official assertions file.

The file is sorted as the official one is, by relation, language and start, and mixes relations,
languages, data sets, weights and lengths of lines roughly as it does (34 M lines of some 290
bytes, of which a tenth are English and a hundredth the relations that tests are made of). The
English words are those of a dictionary, all others syllables drawn at random. A few lines are
damaged.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

__all__ = ["write_assertions"]

# Shares are rough: what matters is that most lines are neither English nor of a wanted relation.
RELATIONS = {
    "Antonym": 0.003, "AtLocation": 0.003, "CapableOf": 0.0016, "Causes": 0.003,
    "CreatedBy": 0.0004, "DerivedFrom": 0.03, "Desires": 0.0008,
    "EtymologicallyRelatedTo": 0.01, "ExternalURL": 0.08, "FormOf": 0.27, "HasA": 0.0012,
    "HasContext": 0.07, "HasPrerequisite": 0.003, "IsA": 0.04, "MadeOf": 0.0006,
    "MannerOf": 0.003, "PartOf": 0.006, "RelatedTo": 0.24, "SimilarTo": 0.004,
    "Synonym": 0.22, "UsedFor": 0.0034, "dbpedia/genre": 0.003,
}  # fmt: skip
LANGUAGES = {
    "de": 0.08, "en": 0.12, "es": 0.08, "fr": 0.22, "fro": 0.02, "it": 0.08, "ja": 0.09,
    "la": 0.08, "pt": 0.05, "ru": 0.08, "sh": 0.05, "zh": 0.05,
}  # fmt: skip
COMMONSENSE = {"CapableOf", "CreatedBy", "Desires", "HasA", "MadeOf", "UsedFor", "AtLocation"}
ENGLISH = 0.75  # share of English among the commonsense relations
ROWS = 200_000  # written at a time


def write_assertions(path: Path, rows: int, seed: int) -> int:
    """Write a gzip file of ``rows`` assertions and return its size before compression."""
    deflate = zlib.compressobj(4, zlib.DEFLATED, 31)
    size = 0
    with path.open("wb") as stream:
        for text in _blocks(rows, np.random.default_rng(seed)):
            size += len(text)
            stream.write(deflate.compress(text))
        stream.write(deflate.flush())
    return size


def _blocks(rows: int, rng: np.random.Generator) -> Iterator[bytes]:
    words = {language: _words(language, rng) for language in LANGUAGES}
    shares = np.array(list(RELATIONS.values()))
    ends = np.rint(np.cumsum(shares / shares.sum()) * rows).astype(int)
    for relation, start, end in zip(RELATIONS, [0, *ends], ends, strict=False):
        for language, count in _languages(relation, int(end - start)):
            for first in range(0, count, ROWS):
                size = min(ROWS, count - first)
                yield _damaged(_lines(relation, language, size, words, rng), rng)


def _languages(relation: str, rows: int) -> list[tuple[str, int]]:
    """Return how many of a relation's rows each language has."""
    shares = np.array(list(LANGUAGES.values()))
    if relation in COMMONSENSE:
        english = np.array([name == "en" for name in LANGUAGES])
        shares = np.where(english, ENGLISH, shares / shares[~english].sum() * (1 - ENGLISH))
    ends = np.rint(np.cumsum(shares / shares.sum()) * rows).astype(int)
    return list(zip(LANGUAGES, np.diff(ends, prepend=0).tolist(), strict=True))


def _words(language: str, rng: np.random.Generator, size: int = 40_000) -> pl.Series:
    """Return words: of a dictionary, or of one to four syllables in the script of a language."""
    if language == "en":
        from spellchecker import SpellChecker

        known = SpellChecker(language="en").word_frequency
        common = sorted((w for w in known if w.isascii() and w.isalpha()), key=lambda w: -known[w])
        return pl.Series(common[:size]).sort()
    script = {"ja": "かきさたなはまやらわのしいうえ", "zh": "山水火木人大小中天地日月石田力",
              "ru": "бавогидежузиклмн"}.get(language)  # fmt: skip
    syllables = list(script) if script else [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    parts = [pl.Series(rng.choice(syllables, size).tolist()) for _ in range(4)]
    more = [pl.Series(rng.random(size) < share) for share in (0.95, 0.6, 0.25)]
    frame = pl.DataFrame([parts[0].alias("a")])
    for part, there in zip(parts[1:], more, strict=True):
        frame = frame.with_columns(a=pl.col("a") + pl.when(there).then(part).otherwise(pl.lit("")))
    return frame["a"].sort()


def _concepts(
    language: str, size: int, words: dict[str, pl.Series], rng: np.random.Generator
) -> pl.Series:
    """Return concepts such as ``gola_rimu``, a few frequent and most rare."""
    pool = words[language]
    index = (len(pool) * rng.random((2, size)) ** 2.5).astype(np.uint32)
    two = pl.Series(rng.random(size) < 0.4)
    frame = pl.DataFrame({"a": pool.gather(index[0]), "b": pool.gather(index[1]), "two": two})
    return frame.select(
        pl.when("two").then(pl.concat_str("a", "b", separator="_")).otherwise("a")
    ).to_series()


def _lines(
    relation: str, language: str, size: int, words: dict[str, pl.Series], rng: np.random.Generator
) -> bytes:
    other = rng.choice(list(LANGUAGES), size, p=np.array(list(LANGUAGES.values())))
    other = np.where(rng.random(size) < 0.8, language, other)
    if relation in COMMONSENSE or relation == "IsA":
        other = np.full(size, language)
    names = np.unique(other).tolist()
    ends = pl.Series([None] * size, dtype=pl.String)
    for name in names:
        here = pl.Series(other == name)
        ends = ends.zip_with(~here, _concepts(name, size, words, rng))
    senses = ["", "", "", "/n", "/n", "/v", "/a", "/n/wn/animal", "/n/wn/artifact"]
    frame = pl.DataFrame(
        {
            "head": _concepts(language, size, words, rng),
            "tail": ends,
            "other": pl.Series(other.tolist()),
            "sense": pl.Series(rng.choice(senses, size).tolist()),
            "vote": pl.Series(rng.integers(1, 4000, size)),
            "weight": pl.Series(rng.choice([0.5, 1.0, 1.0, 1.0, 1.0, 2.0, 2.828, 3.464], size)),
            "loop": pl.Series(rng.random(size) < 0.002),
        }
    ).sort("head")
    head, tail = pl.col("head"), pl.when("loop").then("head").otherwise("tail")
    start = pl.format(f"/c/{language}/{{}}{{}}", head, pl.col("sense"))
    end = pl.format("/c/{}/{}", pl.col("other"), tail)
    if relation == "ExternalURL":
        end = pl.format("http://example.org/resource/{}", tail)
    uri = pl.format(f"/a/[/r/{relation}/,{{}}/,{{}}/]", start, end)
    return (
        frame.select(pl.format(f"{{}}\t/r/{relation}\t{{}}\t{{}}\t{{}}",
                               uri, start, end, _details(relation, language, head, tail)))
        .to_series().str.join("\n").item().encode() + b"\n"
    )  # fmt: skip


def _details(relation: str, language: str, head: pl.Expr, tail: pl.Expr) -> pl.Expr:
    """Return the last cell: what a wiki's line has, or what a volunteer's has."""
    if relation in COMMONSENSE or (relation == "IsA" and language == "en"):
        dataset, licence = f"/d/conceptnet/4/{language}", "cc:by/4.0"
        source = (
            '{"activity": "/s/activity/omcs/omcs1_possibly_free_text",'
            ' "contributor": "/s/contributor/omcs/user@"},'
            ' {"activity": "/s/activity/omcs/vote", "contributor": "/s/contributor/omcs/u@"}'
        )
        surface = ' "surfaceEnd": "@", "surfaceStart": "@", "surfaceText": "[[@]] may be [[@]]",'
        head, tail = (one.str.replace_all("_", " ", literal=True) for one in (head, tail))
        values = [pl.col("vote"), pl.col("vote") // 7, tail, head, head, tail]
    else:
        dataset, licence = f"/d/wiktionary/{language}", "cc:by-sa/4.0"
        source = (
            f'{{"contributor": "/s/resource/wiktionary/{language}",'
            ' "process": "/s/process/wikiparsec/2"}'
        )
        surface, values = "", []
    first, *pieces = (
        f'{{"dataset": "{dataset}", "license": "{licence}", "sources": [{source}],{surface}'
        ' "weight": @}'
    ).split("@")
    woven: list[pl.Expr] = [pl.lit(first)]
    for value, piece in zip([*values, pl.col("weight")], pieces, strict=True):
        woven += [value.cast(pl.String), pl.lit(piece)]
    return pl.concat_str(woven)


def _damaged(text: bytes, rng: np.random.Generator) -> bytes:
    """Damage about one line in a million, in one of the ways that files have."""
    for _ in range(rng.poisson(text.count(b"\n") / 1_000_000)):
        at = int(rng.integers(0, len(text)))
        start, end = text.rfind(b"\n", 0, at) + 1, text.index(b"\n", at)
        cells = text[start:end].split(b"\t")
        match int(rng.integers(0, 5)):
            case 0:
                cells = cells[:3]
            case 1:
                cells[4] = cells[4][:-20]
            case 2:
                cells[4] = cells[4].replace(b'"weight": ', b'"weight": "?" ')
            case 3:
                cells[2] = cells[2][:7] + b"\xff" + cells[2][7:]
            case _:
                cells.append(b"one more")
        text = text[:start] + b"\t".join(cells) + text[end:]
    return text
