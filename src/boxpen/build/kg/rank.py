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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from boxpen.build.ranker import check_ranker
from boxpen.errors import BuildError

if TYPE_CHECKING:
    import polars as pl

    from boxpen.models.base import Model
    from boxpen.models.cached import Progress
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.requests import Record, Request

__all__ = ["Ranked", "Said", "Sayable", "rank_triples", "score_wordings"]

DIGITS = 3
"""Decimals of a plausibility: engines differ in the fifth, and ranks should not."""


class Sayable(Protocol):
    """One way to say a triple (see ``boxpen.build.kg.wording.wordings``)."""

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
            ``fluency``, ``plausibility`` and ``rank`` (1 is the most plausible of its relation), in
            that order.
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
    fluent: float = 1.0,
    keep: float = 1.0,
    least: int = 0,
    cache: str | Path | ScoreCache | None = None,
    progress: Progress | None = None,
) -> Ranked:
    """Say every triple as well as can be, and rank those of a relation by their plausibility.

    Args:
        table: Triples.
        model: A language model. Without one the first wording is taken, nothing is ranked, and
            ``plausibility`` and ``rank`` are null.
        wordings: The ways to say a triple; those of ``boxpen.build.kg.wording.wordings`` if None.
        fluent: Share of a relation's triples that is ranked, the most fluent first: what a model
            finds no good English seldom is.
        keep: Share of a relation's triples that stays, the most plausible first.
        least: How many of a relation stay in any case, if it has so many.
        cache: Scores that are known, as for ``boxpen.evaluate``: an interrupted ranking goes on
            where it stopped.
        progress: Called as the work goes on.

    Raises:
        BuildError: If no triple can be said, or if the model is no language model.
    """
    import polars as pl

    for name, given in (("fluent", fluent), ("keep", keep)):
        if not 0 < given <= 1:
            raise BuildError(f"{name} is {given}, expected a share above 0, at most 1")
    if model is not None:
        check_ranker(model, "triples")
    wordings = wordings or _own_wordings()
    ways = [wordings(*row) for row in table.select("relation", "head", "tail").iter_rows()]
    sayable = pl.Series([bool(way) for way in ways], dtype=pl.Boolean)
    if not sayable.any():
        reason, count = Counter(_why(table)).most_common(1)[0]
        raise BuildError(
            f"none of {table.height:,} triples can be said in English; most often ({count:,} "
            f"times): {reason}"
        )
    best = _best([way for way in ways if way], model, cache, progress)
    said = table.filter(sayable).with_columns(
        pl.Series("head_text", [b.wording.head for b in best], dtype=pl.String),
        pl.Series("tail_text", [b.wording.tail for b in best], dtype=pl.String),
        pl.Series("form", [b.wording.form for b in best], dtype=pl.String),
        pl.Series("sentence", [b.wording.sentence for b in best], dtype=pl.String),
        pl.Series("fluency", [b.fluency for b in best], dtype=pl.Float64),
        pl.Series("plausibility", [b.plausibility for b in best], dtype=pl.Float64),
    )
    unsaid = _dropped(table.filter(~sayable), "wording", _why(table.filter(~sayable)))
    if model is None:
        return Ranked(_without_ranks(said), unsaid)
    # A relation keeps its share of all that could be said, however little of it is fluent.
    most = pl.max_horizontal((pl.len().over("relation") * keep).ceil(), pl.lit(least))
    said = said.with_columns(_most=most.cast(pl.Int64))
    few = pl.max_horizontal((pl.len().over("relation") * fluent).ceil(), pl.col("_most"))
    said, clumsy = _first(_with_ranks(said, "fluency"), few, "fluency", table.columns)
    kept, unlikely = _first(
        _with_ranks(said, "plausibility"), pl.col("_most"), "rank", table.columns
    )
    return Ranked(kept.drop("_most"), pl.concat([unsaid, clumsy, unlikely]))


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


@dataclass(frozen=True)
class _Best:
    """The most fluent wording of a triple; numbers are None where nothing was scored."""

    wording: Sayable
    fluency: float | None = None
    plausibility: float | None = None


def _best(
    ways: Sequence[Sequence[Sayable]],
    model: Model | None,
    cache: str | Path | ScoreCache | None,
    progress: Progress | None,
) -> list[_Best]:
    """Return the most fluent wording of every triple."""
    if model is None:
        return [_Best(way[0]) for way in ways]
    flat = iter(
        score_wordings((w for way in ways for w in way), model, cache=cache, progress=progress)
    )
    best: list[_Best] = []
    for way in ways:
        scored = [(w, next(flat)) for w in way]
        wording, said = max(scored, key=lambda pair: round(pair[1].fluency, DIGITS))
        if not math.isfinite(said.plausibility):
            raise BuildError(f"{model.short} gives '{wording.sentence}' no number")
        best.append(_Best(wording, round(said.fluency, DIGITS), said.plausibility))
    return best


def _scored(
    requests: Sequence[Request],
    model: Model,
    cache: str | Path | ScoreCache | None,
    progress: Progress | None,
) -> Mapping[Request, Record]:
    """Score with this cache, or with the user's own."""
    from boxpen.folders import default_cache
    from boxpen.models.cached import scored
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.policy import ScoringPolicy

    if not isinstance(cache, ScoreCache):
        with ScoreCache(cache or default_cache()) as opened:
            return _scored(requests, model, opened, progress)
    resolved_policy = model.resolve_policy(ScoringPolicy())
    label = f"plausibility × {model.short}"
    return scored(model, resolved_policy, requests, cache, label, progress).records


def _first(
    ranked: pl.DataFrame, most: pl.Expr, step: str, columns: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part the first so many of every relation from the rest, which is dropped."""
    import polars as pl

    what = {"fluency": "by fluency ", "rank": ""}[step]
    marked = ranked.rechunk().with_columns(
        _stays=pl.col("rank") <= most,
        _low=pl.format(
            f"ranks {what}{{}} of {{}} in its relation, the first {{}} stay",
            "rank",
            pl.len().over("relation"),
            most.cast(pl.Int64),
        ),
    )
    gone = marked.filter(~pl.col("_stays"))
    kept = marked.filter("_stays").drop("_stays", "_low")
    return kept, _dropped(gone.select(columns), step, gone["_low"])


def _with_ranks(said: pl.DataFrame, by: str) -> pl.DataFrame:
    """Order by relation and a number; equals by id, whatever the order of the rows."""
    import polars as pl

    keys = ["relation", by, "id", "origin", "line"]
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

    from boxpen.build.kg.wording.wordings import unwordable

    triples = rows.select("relation", "head", "tail").iter_rows()
    reasons = [unwordable(*row) or "it has no wording" for row in triples]
    return pl.Series(reasons, dtype=pl.String)


def _own_wordings() -> Wordings:
    from boxpen.build.kg.wording.wordings import wordings

    return wordings
