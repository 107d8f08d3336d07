"""The embedded model, a GGUF file, is trained further and kept as an ordinary folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from boxpen.errors import ModelError
from boxpen.lm.job import train_lm
from boxpen.lm.options import Options
from boxpen.models.resolve import resolve_model
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Request

ASKED = "A wug is a kind of blicket."


@pytest.fixture(autouse=True)
def _at_hand() -> None:
    from boxpen.models.loading.embedded import smollm2_path

    try:
        smollm2_path(download=False)
    except ModelError as error:
        pytest.skip(str(error))


def loss(spec: str, tokens: int) -> float:
    """Return what boxpen scores, in nats a token."""
    model: Any = resolve_model(spec, device="cpu", dtype="float32")
    ((_, record),) = next(
        iter(model.score([Request(text=ASKED)], model.resolve_policy(ScoringPolicy())))
    )
    assert len(record.logprobs) == tokens
    return -record.total / tokens


@pytest.mark.heavy
def test_the_embedded_model_learns_and_is_scored_as_it_was_trained(tmp_path: Path) -> None:
    text, valid = tmp_path / "t.txt", tmp_path / "v.txt"
    text.write_text("".join(f"A wug number {n} is a kind of blicket.\n" for n in range(8)))
    valid.write_text(f"{ASKED}\n")
    options = Options(epochs=1, batch_size=4, learning_rate=1e-4, warmup=0, patience=0)
    result = train_lm(
        kind="causal", model="smollm2", out=tmp_path / "m", text=[text], valid=[valid],
        options=options, device="cpu",
    )  # fmt: skip
    assert result["loss"] < result["loss_before"] - 0.2
    assert result["loss_before"] == pytest.approx(loss("smollm2", result["tokens"]), abs=1e-3)
    after = loss(f"hf:{tmp_path / 'm'}", result["tokens"])
    assert result["loss"] == pytest.approx(after, abs=1e-3)
