"""An honest split of sentences: no sentence, and no head and tail, stands on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from boxpen.items import Translate
from boxpen.train.errors import TrainError
from boxpen.train.lm_sentences import Sentence
from boxpen.train.split import Split, hold_out, without

__all__ = ["given_sentences", "hold_out_sentences"]


def hold_out_sentences(sentences: Sequence[Sentence], share: float, seed: int) -> Split:
    """Hold out whole groups of sentences, up to a share of all.

    Sentences are of one group if they are the same, however they are spaced or capitalised, or if
    they state triples with the same head and tail, whatever the relation and its direction; and
    so are those that a third one joins. The draw follows from the seed and the texts.

    Raises:
        BoxpenError: If one of the two sides would be empty.
    """
    split = hold_out(_as_items(sentences), share, seed)
    if not split.train:
        raise TrainError(f"a holdout of {share:g} leaves nothing of {len(sentences)} to learn from")
    return split


def given_sentences(sentences: Sequence[Sentence], held: Sequence[Sentence]) -> Split:
    """Take others as the held-out side; what is the same, or goes with it, leaves training.

    Raises:
        TrainError: If nothing is left to learn from.
    """
    kept = without(_as_items(sentences), _as_items(held))
    if not kept:
        raise TrainError("every sentence to learn from stands in --valid, too: nothing is left")
    return Split(kept, list(range(len(held))), len(sentences) - len(kept))


def _as_items(sentences: Sequence[Sentence]) -> list[Translate]:
    """Return sentences as the split of items takes them: asked by their text, blocks by pair."""
    return [Translate(id="", source=s.text, reference="", block=s.pair) for s in sentences]
