"""What all models behind a server share: a client, what was sent, and a limit on the cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from boxpen.errors import ModelError, PolicyError
from boxpen.models.base import Encoded, Model, ModelSpec, ResolvedPolicy, Scores
from boxpen.models.remote.client import Budget, Client, UnansweredError
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.requests import Request

__all__ = ["ServedModel", "limit_cost", "refuse_options"]

_T = TypeVar("_T")


class ServedModel(Model):
    """A model behind a server.

    Attributes:
        client: The server.
        unit: What the price is for.
        prices: How to set the price.
    """

    dtype = "server"
    unit = "tokens"
    prices = "prompt_price and completion_price in api:FILE.toml"
    client: Client
    _fresh = 0  # what was done in this session, and the cost before it
    _before = 0.0

    @property
    def engine(self) -> str:  # type: ignore[override]
        """What was sent so far."""
        used = self.client.usage
        cost = f", cost {used.cost:.4g}" if self.client.settings.prices else ""
        return (
            f"api:{self.access}: {used.requests:,} requests, {used.retries:,} of them repeated, "
            f"{used.sent:,} {self.unit} sent, {used.made:,} made{cost}"
        )

    def adjust(self, **settings: Any) -> None:
        """Change how texts are run; raise if scores should be bit-identical."""
        if settings.get("deterministic"):
            raise ModelError(f"--deterministic is up to the server of '{self.name}'; leave it out")
        super().adjust(**settings)

    def detail(self, done: int, total: int) -> str:
        """Return tokens and cost so far, and the cost to come."""
        used = self.client.usage
        text = f"{used.sent + used.made:,} {self.unit}"
        if self.client.settings.prices:
            text += f", cost {used.cost:.3g}"
            if self._fresh and done < total:
                text += f" + about {(used.cost - self._before) / self._fresh * (total - done):.2g}"
        return text

    def handed_on(
        self, found: Iterable[tuple[int, _T | UnansweredError]], asked: Sequence[Request | str]
    ) -> Iterator[list[tuple[int, _T]]]:
        """Yield what was found, each in a batch of its own; note why the rest was not.

        Args:
            found: Numbers of what was asked for, with answers.
            asked: What was asked for.
        """
        self._fresh, self._before = 0, self.client.usage.cost
        for number, one in found:
            if isinstance(one, UnansweredError):
                self.unanswered[asked[number]] = one.reason
            else:
                self._fresh += 1
                yield [(number, one)]

    def distrust(self, cache: ScoreCache) -> None:
        """Let nothing be used again that a cache has of this server, if it can be caught lying."""

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:  # noqa: ARG002
        """Return tokens as far as they are known here: not at all."""
        return [Encoded((), range(0)) for _ in requests]

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:
        """Not used: the server is asked directly."""
        raise NotImplementedError


def refuse_options(spec: ModelSpec) -> None:
    """Raise if a server is told how to compute."""
    if spec.dtype != "auto" or spec.device is not None:
        option = "--dtype" if spec.device is None else "--device"
        raise ModelError(f"{option} is up to the server of '{spec.name}'; leave it out")


def limit_cost(models: Sequence[Model], limit: float) -> None:
    """Let all models behind a server share a limit on their cost.

    Raises:
        PolicyError: If there is none, or the price of one is unknown.
    """
    remote = {id(m): m for m in models if isinstance(m, ServedModel)}.values()
    if not remote:
        raise PolicyError("--max-cost only applies to models behind an API; leave it out")
    for model in remote:
        if not model.client.settings.prices:
            raise PolicyError(f"--max-cost needs the prices of '{model.name}': set {model.prices}")
    spent = sum(model.client.usage.cost for model in remote)
    if math.isnan(limit):
        raise PolicyError("--max-cost is not a number")
    if spent > limit:
        raise PolicyError(f"--max-cost is {limit:g}, but the probe alone has cost {spent:.4g}")
    budget = Budget(limit, spent=spent)
    for model in remote:
        model.client.budget = budget
