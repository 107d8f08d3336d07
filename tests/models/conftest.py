"""Tiny models, made once, as checkpoint folders and as pairs in memory; and the real ones."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch

from boxpen import Model, Record, Request, ScoringPolicy, resolve_model
from boxpen.models.base import ResolvedPolicy


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Faster than several for models of this size; CTranslate2 sets it anew for all of OpenMP."""
    torch.set_num_threads(1)


class TinyModels:
    """Tiny checkpoints by name, each built when first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._built: dict[str, Any] = {}

    def folder(self, name: str) -> Path:
        self.pair(name)
        return self._root / name

    def pair(self, name: str) -> Any:
        if name not in self._built:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._built[name] = tiny.build(name, self._root / name)
        return self._built[name]

    @cache  # noqa: B019
    def shared(self, name: str) -> Model:
        """The same, resolved once: for tests that run many examples."""
        return self.model(name)

    def model(self, name: str, **options: Any) -> Model:
        """The checkpoint folder, resolved afresh."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return resolve_model(f"hf:{self.folder(name)}", device="cpu", **options)


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    return TinyModels(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def twin(tiny_models: TinyModels) -> Any:
    """The twins, each answer computed once."""
    import twins

    @cache
    def answer(name: str, text: str, prefix: str = "", **how: Any) -> Any:
        pair = tiny_models.pair(name)
        kind = tiny.KINDS[name]
        if kind == "causal":
            return twins.causal(pair, text, prefix, **how)
        if kind == "masked":
            return twins.masked(pair, text, prefix, words=twins.WORDS[name], **how)
        if kind == "permuted":
            return twins.permuted(pair, text, prefix)
        return twins.translation(name, pair, tiny_models.folder(name), prefix, text, **how)

    return answer


def scored(
    model: Model,
    requests: list[Request],
    resolved_policy: ResolvedPolicy | None = None,
    **policy: Any,
) -> list[Record]:
    """Return the records of requests in their order."""
    resolved_policy = resolved_policy or model.resolve_policy(ScoringPolicy(**policy))
    found: dict[int, Record] = {}
    for batch in model.score(requests, resolved_policy):
        for index, record in batch:
            assert index not in found, "a request was scored twice"
            found[index] = record
    assert sorted(found) == list(range(len(requests)))
    return [found[i] for i in range(len(requests))]


@pytest.fixture(scope="session")
def score_all() -> Any:
    return scored


@pytest.fixture(scope="session")
def agree() -> Any:
    def check(record: Record, expected: Any, tolerance: float = 1e-4) -> None:
        """The same tokens, and log-probabilities equal to a ten-thousandth nat, also in sum."""
        ids, values = expected
        assert record.token_ids.tolist() == list(ids)
        assert record.logprobs.dtype == np.float32
        np.testing.assert_allclose(record.logprobs, values, rtol=0, atol=tolerance)
        assert record.total == pytest.approx(sum(values), rel=0, abs=tolerance)

    return check


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """Where the real models lie."""
    named = os.environ.get("BOXPEN_TEST_MODELS")
    return Path(named) if named else Path(__file__).parents[3] / "shared" / "models"
