"""Triples in words, and how plausible a language model finds them.

Of the wordings of a triple, the one whose sentence has the greatest log-probability per token is
kept. Its *plausibility* is the pointwise mutual information of the tail and the words before it,
in nats: log p(tail | head, relation) - log p(tail alone). A rare tail is not less plausible for
being rare; a tail that this head makes no likelier is. The number orders triples roughly within a
relation, and means nothing across relations. ``scripts/kg_plausibility.py`` compares it with others
on triples that were judged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from boxpen.build.kg.wording.wordings import Wording, unwordable
from boxpen.build.kg.wording.wordings import wordings as own_wordings
from boxpen.build.ranker import check_ranker
from boxpen.errors import BuildError

if TYPE_CHECKING:
    from boxpen.models.base import Model
    from boxpen.models.cached import Progress
    from boxpen.scoring.cache import ScoreCache
    from boxpen.scoring.requests import Record, Request

__all__ = [
    "Ranked",
    "Said",
    "check_wordings",
    "rank_triples",
    "score_wordings",
    "wording_requests",
]

DIGITS = 3
"""Decimals of a plausibility: engines differ in the fifth, and ranks should not."""

Wordings = Callable[[str, str, str], Sequence[Wording]]
"""From relation, head and tail to their wordings."""


class Ranked(NamedTuple):
    """The result of ranking."""

    table: pl.DataFrame
    """The triples that stay, with ``head_text``, ``tail_text``, ``form``, ``sentence``,
    ``fluency``, ``plausibility`` and ``rank`` (1 is the most plausible of its relation), in that
    order."""
    dropped: pl.DataFrame
    """Those without a wording, or with too low a rank, with ``step`` and ``reason``."""


@dataclass(frozen=True)
class Said:
    """The log-probabilities of one wording.

    Attributes:
        sentence: Of the whole sentence.
        sentence_tokens: Its tokens.
        tail: Of the tail given the words before it.
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
        """The number that selects the best wording of a triple."""
        return self.sentence / max(self.sentence_tokens, 1)

    @property
    def plausibility(self) -> float:
        """The number that ranks the triples of a relation."""
        return round(self.tail - self.alone, DIGITS)


def rank_triples(
    table: pl.DataFrame,
    model: Model | None,
    *,
    wordings: Wordings = own_wordings,
    fluent: float = 1.0,
    keep: float = 1.0,
    least: int = 0,
    cache: str | Path | ScoreCache | None = None,
    progress: Progress | None = None,
) -> Ranked:
    """Find the best wording of every triple, and rank the triples of a relation.

    Args:
        table: Triples.
        model: A language model. Without one the first wording is taken, nothing is ranked, and
            ``plausibility`` and ``rank`` are null.
        wordings: Returns the wordings of a triple.
        fluent: Share of a relation's triples to rank, the most fluent first: a model seldom finds
            good English unlikely.
        keep: Share of a relation's triples to keep, the most plausible first.
        least: Minimum number of a relation's triples to keep, if it has that many.
        cache: Known scores, as for ``boxpen.evaluate``: an interrupted ranking resumes from them.
        progress: Called during the work.

    Raises:
        BuildError: If no triple can be worded, or if the model is not a language model.
    """
    if model is not None:
        check_ranker(model, "triples")
    ways = check_wordings(table, wordings)
    sayable = pl.Series([bool(way) for way in ways], dtype=pl.Boolean)
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
        unranked = said.sort("relation", "id", "origin", "line")
        return Ranked(unranked.with_columns(rank=pl.lit(None, dtype=pl.Int64)), unsaid)
    # A relation keeps its share of all worded triples, however few of them are fluent.
    most = pl.max_horizontal((pl.len().over("relation") * keep).ceil(), pl.lit(least))
    said = said.with_columns(_most=most.cast(pl.Int64))
    few = pl.max_horizontal((pl.len().over("relation") * fluent).ceil(), pl.col("_most"))
    said, clumsy = _first(said, "fluency", few, "fluency", table.columns)
    kept, unlikely = _first(said, "plausibility", pl.col("_most"), "rank", table.columns)
    return Ranked(kept.drop("_most"), pl.concat([unsaid, clumsy, unlikely]))


def score_wordings(
    wordings: Iterable[Wording],
    model: Model,
    *,
    cache: str | Path | ScoreCache | None = None,
    progress: Progress | None = None,
) -> list[Said]:
    """Return the log-probabilities of wordings; all of them are scored in one go."""
    asked = [_asked(way) for way in wordings]
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


def check_wordings(table: pl.DataFrame, wordings: Wordings) -> list[Sequence[Wording]]:
    """Return the wordings of triples, in their order.

    Raises:
        BuildError: If none can be worded.
    """
    ways = [wordings(*row) for row in table.select("relation", "head", "tail").iter_rows()]
    if not any(ways):
        reason, count = Counter(_why(table)).most_common(1)[0]
        raise BuildError(
            f"none of {table.height:,} triples can be expressed in English; most frequent reason "
            f"({count:,} times): {reason}"
        )
    return ways


def wording_requests(wordings: Iterable[Wording]) -> list[Request]:
    """Return what a model scores for wordings, everything once."""
    return list(dict.fromkeys(request for way in wordings for request in _asked(way)))


def _asked(way: Wording) -> tuple[Request, Request, Request]:
    """Return the requests for the whole sentence, for its tail, and for the tail alone."""
    from boxpen.scoring.requests import Request

    rest = way.sentence.removeprefix(way.stem)
    bare = rest.strip()
    alone = Request(text=bare[:1].upper() + bare[1:])
    return Request(text=way.sentence), Request(text=rest, prefix=way.stem), alone


class _Best(NamedTuple):
    """The most fluent wording of a triple; numbers are None without a model."""

    wording: Wording
    fluency: float | None = None
    plausibility: float | None = None


def _best(
    ways: Sequence[Sequence[Wording]],
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
            raise BuildError(f"{model.short} produced NaN or Inf for '{wording.sentence}'")
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
    policy = model.resolve_policy(ScoringPolicy())
    label = f"plausibility × {model.short}"
    return scored(model, policy, requests, cache, label, progress).records


def _first(
    said: pl.DataFrame, by: str, most: pl.Expr, step: str, columns: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rank triples by a number, equals by id, and divide the first of every relation from the rest.

    Ranks do not depend on the order of the rows.
    """
    ranked = said.sort(
        ["relation", by, "id", "origin", "line"],
        descending=[False, True, False, False, False],
        nulls_last=True,
        maintain_order=True,
    ).with_columns(rank=pl.int_range(1, pl.len() + 1).over("relation"))
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


def _dropped(rows: pl.DataFrame, step: str, reasons: pl.Series) -> pl.DataFrame:
    return rows.with_columns(pl.lit(step).alias("step"), reasons.alias("reason"))


def _why(rows: pl.DataFrame) -> pl.Series:
    """Return why triples cannot be worded."""
    triples = rows.select("relation", "head", "tail").iter_rows()
    reasons = [unwordable(*row) or "it has no wording" for row in triples]
    return pl.Series(reasons, dtype=pl.String)
