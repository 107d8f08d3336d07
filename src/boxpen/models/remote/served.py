"""What all models behind a server share: a client, what was sent, and a limit on the cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from boxpen.errors import PolicyError
from boxpen.models.base import Encoded, Model, ResolvedPolicy, Scores
from boxpen.models.remote.client import Budget, Client
from boxpen.scoring.requests import Request

__all__ = ["ServedModel", "limit_cost"]


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
        cost = f", cost {used.cost:.4g}" if self.client.settings.priced else ""
        return (
            f"api:{self.access}: {used.requests:,} requests, {used.retries:,} of them repeated, "
            f"{used.sent:,} {self.unit} sent, {used.made:,} made{cost}"
        )

    def detail(self, done: int, total: int) -> str:
        """Return tokens and cost so far, and the cost to come."""
        used = self.client.usage
        text = f"{used.sent + used.made:,} {self.unit}"
        if self.client.settings.priced:
            text += f", cost {used.cost:.3g}"
            if self._fresh and done < total:
                text += f" + about {(used.cost - self._before) / self._fresh * (total - done):.2g}"
        return text

    def begin(self) -> None:
        """Start to estimate the cost to come."""
        self._fresh, self._before = 0, self.client.usage.cost

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:  # noqa: ARG002
        """Return tokens as far as they are known here: not at all."""
        return [Encoded((), range(0)) for _ in requests]

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:
        """Not used: the server is asked directly."""
        raise NotImplementedError


def limit_cost(models: Sequence[Model], limit: float) -> None:
    """Let all models behind a server share a limit on their cost.

    Raises:
        PolicyError: If there is none, or the price of one is unknown.
    """
    remote = {id(m): m for m in models if isinstance(m, ServedModel)}.values()
    if not remote:
        raise PolicyError("--max-cost is for models behind an API; leave it out")
    for model in remote:
        if not model.client.settings.priced:
            raise PolicyError(f"--max-cost needs the prices of '{model.name}': set {model.prices}")
    budget = Budget(limit, spent=sum(model.client.usage.cost for model in remote))
    for model in remote:
        model.client.budget = budget
