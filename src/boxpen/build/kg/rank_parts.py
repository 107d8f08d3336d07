"""Ranking in parts: a worker scores some of the sentences that triples become."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boxpen.build.kg.config import RankConfig
from boxpen.build.kg.rank import Ranked, check_wordings, rank_triples, wording_requests
from boxpen.build.kg.sample import Sampled, sample_triples
from boxpen.build.kg.triples import read_table
from boxpen.build.kg.wording.wordings import wordings
from boxpen.build.ranker import check_ranker
from boxpen.build.runner import Progress

if TYPE_CHECKING:
    from boxpen.matrix.work import ModelWork
    from boxpen.models.base import Model
    from boxpen.models.cached import Ask
    from boxpen.scoring.cache import ScoreCache

__all__ = ["RankParts"]


class RankParts:
    """Triples that are worded here, scored in parts, and ranked here.

    Args:
        table: The triples.
        config: How to word and rank them.
        seed: Draws triples where there are too many.
    """

    def __init__(self, table: Path, config: RankConfig, seed: int) -> None:
        self._table, self._config, self._seed = table, config, seed
        self._wordings = functools.cache(wordings)
        self._works: dict[str, ModelWork] = {}

    @cached_property
    def drawn(self) -> Sampled:
        """The triples that are ranked, and those that are too many."""
        table = read_table(self._table)
        return sample_triples(table, self._config.most, self._seed, by="random", per_head=None)

    @cached_property
    def model(self) -> Model | None:
        """The language model, not loaded; None if nothing is ranked."""
        from boxpen.models.resolve import resolve_model

        if self._config.model == "none":
            return None
        return resolve_model(self._config.model, device=self._config.device)

    @cached_property
    def asks(self) -> list[Ask]:
        """What the model is asked, in parts: the sentences that the user's cache does not know."""
        from boxpen.matrix.cut import cut, unknown
        from boxpen.models.cached import Ask
        from boxpen.scoring.policy import ScoringPolicy

        if self.model is None:
            return []
        check_ranker(self.model, "triples")
        ways = check_wordings(self.drawn.table, self._wordings)
        requests = wording_requests(wording for way in ways for wording in way)
        policy = self.model.resolve_policy(ScoringPolicy())
        label = f"plausibility × {self.model.short}"
        ask = Ask("score", self.model, tuple(requests), policy, label=label)
        with _scores() as cache:
            return [part.ask for part in unknown(cut([ask], cache), cache)]

    def listed(self) -> Iterator[dict[str, Any]]:
        """Yield what is to be done in every part."""
        from boxpen.matrix.payload import payload_of, shared_of

        for ask in self.asks:
            shared = {**shared_of(ask.model), "device": self._config.device}
            yield {"model": shared, "asked": payload_of(ask)}

    def do(self, payload: Mapping[str, Any]) -> bytes:
        """Score the sentences of a part."""
        from boxpen.matrix.work import ModelWork

        shared = payload["model"]
        work = self._works.get(shared["fingerprint"])
        if work is None:
            work = self._works[shared["fingerprint"]] = ModelWork(shared)
        return work.run(payload["asked"])

    def ranked(self, results: Iterable[bytes], progress: Progress) -> Ranked:
        """Put the scores into the user's cache, and rank the triples."""
        from boxpen.matrix.results import fill

        with _scores() as cache:
            for number, (ask, data) in enumerate(zip(self.asks, results, strict=True), 1):
                fill(cache, ask, data)
                progress(ask.label, number, len(self.asks))
            for work in self._works.values():
                work.close()
            self._works.clear()
            return rank_triples(
                self.drawn.table,
                self.model,
                wordings=self._wordings,
                fluent=self._config.fluent,
                keep=self._config.keep,
                least=self._config.least,
                cache=cache,
            )


def _scores() -> ScoreCache:
    from boxpen.folders import default_cache
    from boxpen.scoring.cache import ScoreCache

    return ScoreCache(default_cache())
