"""Triples in words, and how sensible they sound to a language model.

Of the ways to say a triple the one stays whose sentence has the greatest log-probability per
token. Its *plausibility* is the pointwise mutual information of the tail with what stands before
it, in nats: log p(tail | head, relation) - log p(tail alone). A tail that is rare in itself is no
less plausible for that; a tail that this head makes no likelier is. The number orders triples
within a relation, roughly, and means nothing across relations.
``scripts/kg_plausibility.py`` compares it with others on triples that people have judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.models.base import Model
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.requests import Record, Request

__all__ = ["Ranked", "Said", "Sayable", "rank_triples", "score_wordings"]

Progress = Callable[[str, int, int], None]

_KINDS = ("causal", "masked", "permuted")

DIGITS = 3
"""Decimals of a plausibility: engines differ in the fifth, and ranks should not."""


class Sayable(Protocol):
    """One way to say a triple (see ``boxpen.build.kg.wording``)."""

    @property
    def head(self) -> str:
        """The head as it stands in the sentence."""

    @property
    def tail(self) -> str:
        """The tail as it stands in the sentence."""

    @property
    def form(self) -> str:
        """Kind of phrase that the tail is."""

    @property
    def sentence(self) -> str:
        """A sentence that states the triple."""

    @property
    def stem(self) -> str:
        """That sentence up to the tail."""


Wordings = Callable[[str, str, str], Sequence[Sayable]]
"""From relation, head and tail to the ways to say them."""


@dataclass(frozen=True)
class Ranked:
    """What ranking made of some triples.

    Attributes:
        table: The triples that stay, with ``head_text``, ``tail_text``, ``form``, ``sentence``,
            ``plausibility`` and ``rank`` (1 is the most plausible of its relation), in that order.
        dropped: Those that cannot be said, or rank too low, with ``step`` and ``reason``.
    """

    table: pl.DataFrame
    dropped: pl.DataFrame


@dataclass(frozen=True)
class Said:
    """The log-probabilities of one wording.

    Attributes:
        sentence: Of the whole sentence.
        sentence_tokens: Its tokens.
        tail: Of the tail given what stands before it.
        tail_tokens: Its tokens.
        alone: Of the tail as a sentence of its own.
    """

    sentence: float
    sentence_tokens: int
    tail: float
    tail_tokens: int
    alone: float

    @property
    def fluency(self) -> float:
        """What the best wording of a triple is chosen by."""
        return self.sentence / max(self.sentence_tokens, 1)

    @property
    def plausibility(self) -> float:
        """What triples of a relation are ranked by."""
        return round(self.tail - self.alone, DIGITS)


def rank_triples(
    table: pl.DataFrame,
    model: Model | None,
    *,
    wordings: Wordings | None = None,
    keep: float = 1.0,
    cache: str | Path | ScoreCache | None = None,
    progress: Progress | None = None,
) -> Ranked:
    """Say every triple as well as can be, and rank those of a relation by their plausibility.

    Args:
        table: Triples.
        model: A language model. Without one the first wording is taken, nothing is ranked, and
            ``plausibility`` and ``rank`` are null.
        wordings: The ways to say a triple; those of ``boxpen.build.kg.wording`` if None.
        keep: Share of a relation's triples that stays, the most plausible first.
        cache: Scores that are known, as for ``boxpen.evaluate``: an interrupted ranking goes on
            where it stopped.
        progress: Called as the work goes on.

    Raises:
        BuildError: If no triple can be said, or if the model is no language model.
    """
    import polars as pl

    if not 0 < keep <= 1:
        raise BuildError(f"keep is {keep}, expected a share above 0, at most 1")
    if model is not None and model.kind not in _KINDS:
        raise BuildError(
            f"{model.short} is of the kind {model.kind}, triples are ranked by a language model: "
            f"{', '.join(_KINDS)}"
        )
    wordings = wordings or _own_wordings()
    ways = [wordings(*row) for row in table.select("relation", "head", "tail").iter_rows()]
    sayable = pl.Series([bool(way) for way in ways], dtype=pl.Boolean)
    if not sayable.any():
        raise BuildError(f"none of {table.height:,} triples can be said in English")
    best = _best([way for way in ways if way], model, cache, progress)
    said = table.filter(sayable).with_columns(
        pl.Series("head_text", [w.head for w, _ in best], dtype=pl.String),
        pl.Series("tail_text", [w.tail for w, _ in best], dtype=pl.String),
        pl.Series("form", [w.form for w, _ in best], dtype=pl.String),
        pl.Series("sentence", [w.sentence for w, _ in best], dtype=pl.String),
        pl.Series("plausibility", [number for _, number in best], dtype=pl.Float64),
    )
    unsaid = _dropped(table.filter(~sayable), "wording", _why(table.filter(~sayable)))
    ranked = (_with_ranks(said) if model is not None else _without_ranks(said)).rechunk()
    most = (pl.len().over("relation") * keep).ceil()
    stays = pl.col("rank").is_null() | (pl.col("rank") <= most)
    low = pl.format(
        "ranks {} of {} in its relation, the first {} stay",
        "rank",
        pl.len().over("relation"),
        most.cast(pl.Int64),
    )
    marked = ranked.with_columns(stays.alias("_stays"), low.alias("_low"))
    gone = marked.filter(~pl.col("_stays"))
    dropped = _dropped(gone.select(table.columns), "rank", gone["_low"])
    kept = marked.filter("_stays").drop("_stays", "_low")
    return Ranked(kept, pl.concat([unsaid, dropped]))


def score_wordings(
    wordings: Iterable[Sayable],
    model: Model,
    *,
    cache: str | Path | ScoreCache | None = None,
    progress: Progress | None = None,
) -> list[Said]:
    """Return the log-probabilities of wordings; all of them are scored in one go."""
    from boxpen.scoring.requests import Request

    asked: list[tuple[Request, Request, Request]] = []
    for way in wordings:
        rest = way.sentence.removeprefix(way.stem)
        bare = rest.strip()
        asked.append(
            (
                Request(text=way.sentence),
                Request(text=rest, prefix=way.stem),
                Request(text=bare[:1].upper() + bare[1:]),
            )
        )
    records = _scored(list(dict.fromkeys(r for few in asked for r in few)), model, cache, progress)
    return [
        Said(
            sentence=records[whole].total,
            sentence_tokens=len(records[whole].logprobs),
            tail=records[rest].total,
            tail_tokens=len(records[rest].logprobs),
            alone=records[alone].total,
        )
        for whole, rest, alone in asked
    ]


def _best(
    ways: Sequence[Sequence[Sayable]],
    model: Model | None,
    cache: str | Path | ScoreCache | None,
    progress: Progress | None,
) -> list[tuple[Sayable, float | None]]:
    """Return the most fluent wording of every triple with its plausibility."""
    if model is None:
        return [(way[0], None) for way in ways]
    flat = iter(
        score_wordings((w for way in ways for w in way), model, cache=cache, progress=progress)
    )
    best: list[tuple[Sayable, float | None]] = []
    for way in ways:
        scored = [(w, next(flat)) for w in way]
        wording, said = max(scored, key=lambda pair: round(pair[1].fluency, DIGITS))
        if not math.isfinite(said.plausibility):
            raise BuildError(f"{model.short} gives '{wording.sentence}' no number")
        best.append((wording, said.plausibility))
    return best


def _scored(
    requests: Sequence[Request],
    model: Model,
    cache: str | Path | ScoreCache | None,
    progress: Progress | None,
) -> dict[Request, Record]:
    """Take from the cache what is there, and score the rest."""
    from boxpen.folders import default_cache
    from boxpen.scoring.cache import ScoreCache, cache_key
    from boxpen.scoring.policy import ScoringPolicy

    if not isinstance(cache, ScoreCache):
        with ScoreCache(cache or default_cache()) as opened:
            return _scored(requests, model, opened, progress)
    settled = model.settle(ScoringPolicy())
    settings = settled.as_dict() | model.exactness()
    keys = {r: cache_key(model.fingerprint, settings, astuple(r)) for r in requests}
    known = cache.records(list(keys.values()))
    records = {r: known[key] for r, key in keys.items() if key in known}
    missing = [r for r in requests if r not in records]
    report = progress or (lambda *_: None)
    label = f"plausibility × {model.short}"
    report(label, len(records), len(requests))
    with cache.writing() as write:
        for batch in model.score(missing, settled) if missing else ():
            found = [(missing[i], record) for i, record in batch]
            write([(keys[r], record) for r, record in found])
            records.update(found)
            report(label, len(records), len(requests))
    return records


def _with_ranks(said: pl.DataFrame) -> pl.DataFrame:
    """Order by relation and plausibility; equals by id, whatever the order of the rows."""
    import polars as pl

    keys = ["relation", "plausibility", "id", "origin", "line"]
    return said.sort(
        keys, descending=[False, True, False, False, False], nulls_last=True, maintain_order=True
    ).with_columns(rank=pl.int_range(1, pl.len() + 1).over("relation"))


def _without_ranks(said: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return said.sort("relation", "id", "origin", "line").with_columns(
        rank=pl.lit(None, dtype=pl.Int64)
    )


def _dropped(rows: pl.DataFrame, step: str, reasons: pl.Series) -> pl.DataFrame:
    import polars as pl

    return rows.with_columns(pl.lit(step).alias("step"), reasons.alias("reason"))


def _why(rows: pl.DataFrame) -> pl.Series:
    """Say why triples cannot be said, where the wordings of the house know."""
    import polars as pl

    from boxpen.build.kg.wording import unwordable

    triples = rows.select("relation", "head", "tail").iter_rows()
    reasons = [unwordable(*row) or "it has no wording" for row in triples]
    return pl.Series(reasons, dtype=pl.String)


def _own_wordings() -> Wordings:
    from boxpen.build.kg.wording import wordings

    return wordings
