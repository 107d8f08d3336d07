"""A leak-free split of sentences: no sentence, and no head and tail, is on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.errors import TrainError
from boxpen.lm.classifier.split import Split, drawn, joined
from boxpen.lm.sentences import Sentence
from boxpen.text.normal import key

__all__ = ["given_sentences", "hold_out_sentences"]


def hold_out_sentences(
    sentences: Sequence[Sentence], share: float, seed: int, language: str
) -> Split:
    """Hold out whole groups of sentences, up to a share of all.

    Sentences are of one group if they are the same but for spaces, case and punctuation, or if
    they state triples with the same head and tail, whatever the relation and its direction; and
    so are those that a third one joins. The draw follows from the seed and the texts.

    Raises:
        BoxpenError: If one of the two sides would be empty.
    """
    split = drawn(_groups(sentences, language), share, seed)
    if not split.train:
        raise TrainError(f"a holdout of {share:g} leaves none of {len(sentences)} for training")
    return split


def given_sentences(
    sentences: Sequence[Sentence], held: Sequence[Sentence], language: str
) -> Split:
    """Take others as the held-out side; what is the same, or goes with it, leaves training.

    Raises:
        TrainError: If no training sentence is left.
    """
    taken = {one for sentence in held for one in _same(sentence, language)}
    groups = _groups(sentences, language)
    shared = {
        group
        for group, sentence in zip(groups, sentences, strict=True)
        if not taken.isdisjoint(_same(sentence, language))
    }
    kept = [place for place, group in enumerate(groups) if group not in shared]
    if not kept:
        raise TrainError("every training sentence also occurs in --valid, so nothing is left")
    return Split(kept, list(range(len(held))), len(sentences) - len(kept))


def _groups(sentences: Sequence[Sentence], language: str) -> list[str]:
    return joined(
        [*_same(s, language), *([] if s.pair is None else [f"block\0{s.pair}"])] for s in sentences
    )


def _same(sentence: Sentence, language: str) -> list[str]:
    """Return what a sentence shares with those that are the same; a row of dots has no words."""
    text = f"text\0{' '.join(sentence.text.casefold().split())}"
    words = key(sentence.text, language)
    return [text, f"words\0{words}"] if words else [text]
