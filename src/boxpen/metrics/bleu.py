"""BLEU of translations, by sacreBLEU and under its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from boxpen.errors import ModelError
from boxpen.metrics.intervals import Estimate

__all__ = ["Bleu", "bleu", "corpus_bleu", "require_sacrebleu"]

_RESAMPLES = 1000
_TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn"), "zh"),
    **dict.fromkeys(("ja", "jpn", "ko", "kor"), "char"),
}


class Bleu(NamedTuple):
    """A corpus BLEU score with its bootstrap interval and sacreBLEU's signature."""

    estimate: Estimate
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

    code = (language or "").replace("_", "-").split("-")[0].lower()
    tokenizer = _TOKENIZERS.get(code, "13a")
    metric = BLEU(tokenize=tokenizer, lowercase=lowercase)
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
