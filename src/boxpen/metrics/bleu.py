"""BLEU of translations, by sacreBLEU and under its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from boxpen.errors import ModelError
from boxpen.metrics.intervals import SEED, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.bleu import BLEUScore

__all__ = [
    "Bleu",
    "BleuPair",
    "bleu",
    "corpus_bleu",
    "paired_bleu",
    "require_sacrebleu",
    "sentence_bleu",
    "sentence_counts",
]

_RESAMPLES = 1000
_TRIALS = 10_000
_TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn"), "zh"),
    **dict.fromkeys(("ja", "jpn", "ko", "kor"), "char"),
}


class Bleu(NamedTuple):
    """A corpus BLEU score with its bootstrap interval and sacreBLEU's signature."""

    estimate: Estimate
    signature: str


class BleuPair(NamedTuple):
    """The corpus BLEU of two systems, and how likely they differ so much by chance."""

    a: float
    b: float
    p: float
    signature: str


def bleu(translations: Sequence[str], references: Sequence[str], language: str | None) -> Bleu:
    """Return case-sensitive BLEU-4 with a 95 % interval from 1,000 bootstrap resamples.

    Chinese, Japanese and Korean targets take sacreBLEU's tokenizer for that language where it
    needs no dictionary; all others the default, 13a.
    """
    return corpus_bleu(translations, [references], language)


def corpus_bleu(
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    language: str | None,
    *,
    resamples: int = _RESAMPLES,
    lowercase: bool = False,
) -> Bleu:
    """Return BLEU-4 against one or several sets of references.

    Args:
        translations: One per sentence.
        references: Sets of references, each with one per sentence.
        language: Target language; it determines the tokenizer, as in ``bleu``.
        resamples: Of the bootstrap; with 0 the interval is the number itself.
        lowercase: Whether case is ignored; the signature says so.
    """
    require_sacrebleu()
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize=_tokenizer(language), lowercase=lowercase)
    sets = [list(one) for one in references]
    if not resamples:
        result = metric.corpus_score(list(translations), sets)
        value = Estimate(result.score, result.score, result.score, len(translations))
        return Bleu(value, str(metric.get_signature()))
    result = metric.corpus_score(list(translations), sets, n_bootstrap=resamples)
    mean, half = result._mean, result._ci
    return Bleu(
        # It is a mean and what to add and take off, which may lead out of the scale.
        Estimate(result.score, max(0.0, mean - half), min(100.0, mean + half), len(translations)),
        str(metric.get_signature()),
    )


def sentence_counts(
    translations: Sequence[str], references: Sequence[str], language: str | None
) -> NDArray[np.int64]:
    """Return the counts that BLEU is computed from, one row per sentence; corpus rows add up.

    A row has the n-grams of one to four tokens that are right, those that there are, and the
    tokens of translation and reference.
    """
    import numpy as np

    scores = _sentence_scores(translations, references, language)
    rows = [[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in scores]
    return np.array(rows, np.int64).reshape(-1, 10)


def sentence_bleu(
    translations: Sequence[str], references: Sequence[str], language: str | None
) -> list[float]:
    """Return the BLEU of every sentence by itself, of the n-grams that it is long enough for."""
    return [float(s.score) for s in _sentence_scores(translations, references, language)]


def _sentence_scores(
    translations: Sequence[str], references: Sequence[str], language: str | None
) -> list[BLEUScore]:
    require_sacrebleu()
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize=_tokenizer(language), effective_order=True)  # for single sentences
    return [
        metric.sentence_score(text, [reference])
        for text, reference in zip(translations, references, strict=True)
    ]


def paired_bleu(
    mine: NDArray[np.int64], theirs: NDArray[np.int64], language: str | None
) -> BleuPair:
    """Compare two systems on the same sentences by approximate randomisation (Riezler 2005).

    Sentences are exchanged at random between the systems, 10,000 times; p is the share of exchanges
    that leave them as far apart as they are, or further. It is two-sided and at least 1/10,001.
    sacreBLEU's own test counts, by choice, only what is further apart, so that it finds two systems
    that are the same to differ with the least p there is.
    """
    import numpy as np

    first, second = mine.sum(0), theirs.sum(0)
    a, b = (float(score) for score in _scores(np.stack([first, second])))
    apart = abs(a - b)
    rng = np.random.default_rng(SEED)
    as_far = 0
    step = max(1, (1 << 22) // max(1, len(mine)))  # a few million coins at a time
    for start in range(0, _TRIALS, step):
        coins = rng.random((min(step, _TRIALS - start), len(mine))) < 0.5
        moved = coins.astype(np.float64) @ (theirs - mine)
        gaps = abs(_scores(first + moved) - _scores(second - moved))
        as_far += int((gaps >= apart - 1e-9).sum())
    _, made = corpus_bleu(["a"], [["a"]], language, resamples=0)
    signature = made.replace("nrefs:1", f"nrefs:1|ar:{_TRIALS}|seed:{SEED}", 1)
    return BleuPair(a, b, (as_far + 1) / (_TRIALS + 1), signature)


def require_sacrebleu() -> None:
    """Fail early if BLEU cannot be computed.

    Raises:
        ModelError: If sacreBLEU is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("sacrebleu") is None:
        raise ModelError(
            "BLEU needs sacreBLEU; install it with: pip install 'boxpen[mt]' (or skip it with "
            "boxpen run --no-bleu)"
        )


def _tokenizer(language: str | None) -> str:
    code = (language or "").replace("_", "-").split("-")[0].lower()
    return _TOKENIZERS.get(code, "13a")


def _scores(totals: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return corpus BLEU of rows of added counts, smoothed as sacreBLEU does (``exp``)."""
    import numpy as np

    right, there = totals[:, :4].astype(np.float64), totals[:, 4:8].astype(np.float64)
    halved = np.where(right == 0, 0.5, 1.0).cumprod(1)  # each n-gram without a hit halves again
    precision = np.where(right == 0, halved, right) / np.maximum(there, 1)
    length, wanted = totals[:, 8].astype(np.float64), totals[:, 9].astype(np.float64)
    brevity = np.where(length < wanted, np.exp(1 - wanted / np.maximum(length, 1)), 1.0)
    score = 100 * brevity * np.exp(np.log(precision).mean(1))
    return np.where((right.sum(1) == 0) | (there.min(1) == 0), 0.0, score)
