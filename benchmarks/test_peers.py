"""boxpen's causal scores are those of lm-evaluation-harness and of minicons.

One smollm2 in memory serves all three, so that only the ways of scoring can differ. Where BOS
stands is part of the way, and is made equal here:

- lm-eval puts BOS before a continuation whose context is empty: boxpen's ``bos=always``.
- lm-eval puts before a context only what the tokenizer adds by itself, which is nothing for
  smollm2: boxpen's ``bos=never``. A context that begins with BOS, spelled out, is ``bos=always``.
- minicons puts BOS where ``bos_token=True``, and never scores the first token.

lm-eval is asked for its softmax in float64. By default it takes PyTorch's log_softmax in float32,
whose rounding on a CPU adds up to more than the tolerance on texts of a hundred tokens and more.
boxpen and minicons subtract a log-sum-exp instead, which stays within 1e-4 nats of float64.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from sentences import pairs, sentences
from tools import boxpen_records, lm_eval_scores, minicons_scores

from boxpen.models.base import Model
from boxpen.models.resolve import resolve_model
from boxpen.scoring.requests import Record, Request

pytestmark = pytest.mark.timeout(1800)  # on two busy cores
TOLERANCE = 1e-3  # nats for a whole text, all in float32
TEXTS = sentences(200)
PAIRS = pairs(60)


@pytest.fixture(scope="module")
def model() -> Model:
    pytest.importorskip("transformers")
    return resolve_model("smollm2", device="cpu")


@pytest.fixture(scope="module")
def records(model: Model) -> list[Record]:
    return boxpen_records(model, [Request(text) for text in TEXTS], bos="always")


@pytest.fixture(scope="module")
def harness(model: Model) -> Any:
    pytest.importorskip("lm_eval")
    from lm_eval.models.huggingface import HFLM

    return HFLM(
        pretrained=model.module,
        tokenizer=model.tokenizer,
        batch_size=16,
        softmax_dtype="float64",
    )


def test_the_sentences_are_mixed() -> None:
    lengths = [len(text.split()) for text in TEXTS]
    assert len(set(TEXTS)) == 200
    assert min(lengths) == 1
    assert 55 <= max(lengths) <= 60


def test_sentences_agree_with_lm_eval(records: list[Record], harness: Any) -> None:
    theirs = lm_eval_scores(harness, [("", text) for text in TEXTS])
    _assert_equal(TEXTS, records, theirs)


def test_sentences_agree_with_minicons(model: Model, records: list[Record]) -> None:
    scorer = pytest.importorskip("minicons.scorer")
    loaded = scorer.IncrementalLMScorer(model.module, "cpu", tokenizer=model.tokenizer)
    theirs = minicons_scores(loaded, TEXTS, 16, bos_token=True)
    _assert_equal(TEXTS, records, theirs)


@pytest.mark.parametrize("bos", ["never", "always"])
def test_continuations_agree_with_lm_eval(model: Model, harness: Any, bos: str) -> None:
    ours = boxpen_records(model, [Request(text, prefix=p) for p, text in PAIRS], bos=bos)
    assert not any(record.crossing for record in ours)
    before = model.tokenizer.bos_token if bos == "always" else ""
    theirs = lm_eval_scores(harness, [(before + p, text) for p, text in PAIRS])
    _assert_equal([p + text for p, text in PAIRS], ours, theirs)


def _assert_equal(texts: Sequence[str], ours: Sequence[Record], theirs: Sequence[float]) -> None:
    apart = [abs(o.total - t) for o, t in zip(ours, theirs, strict=True)]
    worst = max(range(len(texts)), key=lambda i: apart[i])
    print(f"largest difference: {apart[worst]:.1e} nats")  # shown by pytest -rP
    assert not any(record.unscored or record.truncated for record in ours)
    assert apart[worst] <= TOLERANCE, (
        f"{texts[worst]!r}: boxpen {ours[worst].total:.4f}, peer {theirs[worst]:.4f}"
    )
