"""How each tool is asked for the sums of log-probabilities of texts.

Nothing of boxpen or of a peer is imported before it is used: a tool may live in an environment in
which the others are not.

minicons scores the batches that it is given, so it is here twice: in the order of the texts, and
sorted by length first, which is for its user to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boxpen.models.base import Model
    from boxpen.scoring.requests import Record, Request

__all__ = ["Loaded", "Text", "boxpen_records", "lm_eval_scores", "load", "minicons_scores"]

Text = tuple[str | None, str]
"""A source, for models with an encoder, and the text that is scored."""


class Loaded:
    """A tool with its model: call it with texts and a batch size (None: as it comes).

    Attributes:
        model: boxpen's own, which says what it has computed; None for the peers.
    """

    def __init__(
        self, scores: Callable[[Sequence[Text], int | None], list[float]], model: Any = None
    ) -> None:
        self.model = model
        self._scores = scores

    def __call__(self, texts: Sequence[Text], batch_size: int | None = None) -> list[float]:
        """Return the sum of the log-probabilities of every text."""
        return self._scores(texts, batch_size)


def load(
    tool: str, kind: str, folder: Path, *, pll: str = "within_word_l2r", device: str = "cpu"
) -> Loaded:
    """Load a checkpoint into a tool.

    Args:
        tool: ``boxpen``, ``lm-eval``, ``minicons``, ``minicons-sorted`` or ``loop``.
        kind: ``causal``, ``masked`` or ``seq2seq``.
        folder: The checkpoint.
        pll: For masked models, what is masked beside the token that is scored.
        device: Where it computes.
    """
    if tool == "boxpen":
        return _boxpen(kind, folder, pll, device)
    module, tokenizer = _checkpoint(kind, folder)
    module.to(device)
    if tool == "loop":
        import loop

        if kind == "seq2seq":
            return Loaded(lambda texts, size: loop.seq2seq(module, tokenizer, texts, size or 1))
        run = partial(loop.masked, pll=pll) if kind == "masked" else loop.causal
        return Loaded(lambda texts, size: run(module, tokenizer, [t for _, t in texts], size or 1))
    if tool == "lm-eval" and kind == "causal":
        return _lm_eval(module, tokenizer)
    if tool in ("minicons", "minicons-sorted") and kind in ("causal", "masked"):
        return _minicons(kind, module, tokenizer, pll, by_length=tool == "minicons-sorted")
    raise SystemExit(f"{tool} does not score with a {kind} model here")


def boxpen_records(model: Model, requests: Sequence[Request], **policy: str) -> list[Record]:
    """Score requests with boxpen, in their order."""
    from boxpen.scoring.policy import ScoringPolicy

    resolved_policy = model.resolve_policy(ScoringPolicy(**policy))  # type: ignore[arg-type]
    scored = dict(pair for batch in model.score(requests, resolved_policy) for pair in batch)
    return [scored[i] for i in range(len(requests))]


def lm_eval_scores(harness: Any, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Score (context, continuation) pairs with an HFLM; after an empty context stands BOS."""
    from lm_eval.api.instance import Instance

    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=i)
        for i, pair in enumerate(pairs)
    ]
    return [score for score, _ in harness.loglikelihood(requests, disable_tqdm=True)]


def minicons_scores(
    scorer: Any, texts: Sequence[str], batch_size: int, *, by_length: bool = False, **how: Any
) -> list[float]:
    """Score texts with a scorer of minicons, in batches.

    Args:
        scorer: An IncrementalLMScorer or a MaskedLMScorer.
        texts: What to score.
        batch_size: Texts in a batch.
        by_length: Sort them by length first.
        how: What the scorer's ``sequence_score`` takes besides.
    """
    order = list(range(len(texts)))
    if by_length:
        lengths = [len(ids) for ids in scorer.tokenizer(list(texts))["input_ids"]]
        order.sort(key=lambda i: -lengths[i])
    out = [0.0] * len(texts)
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        scores = scorer.sequence_score(
            [texts[i] for i in batch], reduction=lambda x: x.sum(0).item(), **how
        )
        for i, score in zip(batch, scores, strict=True):
            out[i] = score
    return out


def _boxpen(kind: str, folder: Path, pll: str, device: str) -> Loaded:
    from boxpen.models.resolve import resolve_model
    from boxpen.scoring.requests import Request

    model = resolve_model(f"hf:{folder}", device=device, dtype="float32")
    model.load()
    policy = {"causal": {"bos": "always"}, "masked": {"pll": pll}, "seq2seq": {}}[kind]

    def scores(texts: Sequence[Text], batch_size: int | None) -> list[float]:
        assert batch_size is None, "boxpen runs as it comes"
        requests = [Request(text, source=source) for source, text in texts]
        return [record.total for record in boxpen_records(model, requests, **policy)]

    return Loaded(scores, model)


def _lm_eval(module: Any, tokenizer: Any) -> Loaded:
    from lm_eval.models.huggingface import HFLM

    logging.getLogger("lm_eval").setLevel(logging.ERROR)  # it warns of a model in memory

    harnesses: dict[int | None, Any] = {}

    def scores(texts: Sequence[Text], batch_size: int | None) -> list[float]:
        if batch_size not in harnesses:
            harnesses[batch_size] = HFLM(
                pretrained=module, tokenizer=tokenizer, batch_size=batch_size or 1
            )
        return lm_eval_scores(harnesses[batch_size], [("", text) for _, text in texts])

    return Loaded(scores)


def _minicons(kind: str, module: Any, tokenizer: Any, pll: str, *, by_length: bool) -> Loaded:
    from minicons.scorer import IncrementalLMScorer, MaskedLMScorer

    # The scorer has a PLL_metric of its own, which sequence_score does not look at.
    how = {"bos_token": True} if kind == "causal" else {"PLL_metric": pll}
    scorer = (IncrementalLMScorer if kind == "causal" else MaskedLMScorer)(
        module, str(module.device), tokenizer=tokenizer
    )
    return Loaded(
        lambda texts, size: minicons_scores(
            scorer, [text for _, text in texts], size or 1, by_length=by_length, **how
        )
    )


def _checkpoint(kind: str, folder: Path) -> tuple[Any, Any]:
    import transformers

    auto = {
        "causal": transformers.AutoModelForCausalLM,
        "masked": transformers.AutoModelForMaskedLM,
        "seq2seq": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return auto.from_pretrained(folder).eval(), tokenizer
