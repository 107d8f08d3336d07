"""BLEU of translations, by sacreBLEU and under its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from boxpen.errors import ModelError
from boxpen.metrics.intervals import SEED, Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Bleu", "BleuPair", "bleu", "corpus_bleu", "paired_bleu", "require_sacrebleu"]

_RESAMPLES = 1000
_TRIALS = 2000
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
        translations: One a sentence.
        references: Sets of references, each with one a sentence.
        language: Of the target; it decides the tokenizer, as in ``bleu``.
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


def paired_bleu(
    a: Sequence[str], b: Sequence[str], references: Sequence[str], language: str | None
) -> BleuPair:
    """Compare two systems on the same sentences by approximate randomisation (Riezler 2005).

    Sentences are exchanged at random between the systems, 2,000 times; p is the share of exchanges
    that leave them as far apart as they are, or further. It is two-sided and at least 1/2,001.
    sacreBLEU's own test counts only what is further apart, so that two systems that are the same
    differ with p = 0.0005.
    """
    require_sacrebleu()
    import numpy as np
    from sacrebleu.metrics import BLEU

    metric = BLEU(tokenize=_tokenizer(language), effective_order=True)  # for single sentences

    def counts(translations: Sequence[str]) -> NDArray[np.int64]:
        scores = [
            metric.sentence_score(text, [reference])
            for text, reference in zip(translations, references, strict=True)
        ]
        return np.array([[*s.counts, *s.totals, s.sys_len, s.ref_len] for s in scores], np.int64)

    def score(total: Sequence[int]) -> float:
        got = BLEU.compute_bleu(list(total[:4]), list(total[4:8]), total[8], total[9], "exp")
        return float(got.score)

    mine, theirs = counts(a), counts(b)
    first, second = score(mine.sum(0).tolist()), score(theirs.sum(0).tolist())
    exchanged = np.random.default_rng(SEED).random((_TRIALS, len(mine))) < 0.5
    moved = exchanged @ (theirs - mine)
    apart = [
        abs(score(one) - score(other))
        for one, other in zip(
            (mine.sum(0) + moved).tolist(), (theirs.sum(0) - moved).tolist(), strict=True
        )
    ]
    as_far = sum(gap >= abs(first - second) - 1e-9 for gap in apart)
    _, signature = corpus_bleu(a, [references], language, resamples=0)
    return BleuPair(first, second, (as_far + 1) / (_TRIALS + 1), signature)


def require_sacrebleu() -> None:
    """Refuse work whose BLEU could not be computed in the end.

    Raises:
        ModelError: If sacreBLEU is not installed.
    """
    import importlib.util

    if importlib.util.find_spec("sacrebleu") is None:
        raise ModelError(
            "BLEU needs sacreBLEU; install it with: pip install 'boxpen[mt]', or use --no-bleu"
        )


def _tokenizer(language: str | None) -> str:
    code = (language or "").replace("_", "-").split("-")[0].lower()
    return _TOKENIZERS.get(code, "13a")
