"""Transformers tokenizers for words or pieces, with <S>, </S> and <UNK>."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from boxpen.errors import ModelError
from boxpen.lm.bilm.characters import spelling
from boxpen.lm.scratch import byte_pairs, lower_case

__all__ = ["learn_pieces", "learn_words", "max_characters", "spellings", "word_tokenizer"]

END_OF_SENTENCE, BEGIN_OF_SENTENCE, UNKNOWN = "</S>", "<S>", "<UNK>"
_SPECIAL = (END_OF_SENTENCE, BEGIN_OF_SENTENCE, UNKNOWN)
_LONGEST = 512  # tokens; an LSTM has no limit, but memory has
_SPELT = "max_characters"

# As the corpus of ELMo (Chelba et al. 2013) is cut: don 't, U.S., 1,000, twelve-year-old, and
# every other sign by itself.
_WORD = (
    r"'(?:s|t|re|ve|d|m|ll)\b|[A-Z](?:\.[A-Z])+\.?|(?:Mr|Mrs|Ms|Dr|St)\.|\w+(?:-\w+)+"
    r"|\d+(?:[.,]\d+)*|\w+|\S"
)


def learn_words(texts: Iterable[str], size: int, longest: int) -> Any:
    """Return a tokenizer of the most frequent words of texts.

    Words that occur once are left out, so that a model learns how often a word is unknown; unless
    all do.

    Args:
        texts: Sentences; read once.
        size: Words at most, <S>, </S> and <UNK> included.
        longest: Maximum characters per word, see ``BiLMConfig.max_characters``.
    """
    _check_size(size)
    cut = _splitter().pre_tokenize_str
    counts = Counter(word for text in texts for word, _ in cut(text))
    for special in _SPECIAL:
        counts.pop(special, None)
    if not counts:
        raise ModelError("cannot train a vocabulary: the texts have no words")
    least = min(2, max(counts.values()))
    # The order of equals must not depend on that of the texts.
    known = sorted((w for w, n in counts.items() if n >= least), key=lambda w: (-counts[w], w))
    return word_tokenizer([*_SPECIAL, *known[: size - len(_SPECIAL)]], longest)


def word_tokenizer(words: Sequence[str], longest: int) -> Any:
    """Return a tokenizer whose tokens are whole words; each is spelt for the model.

    Args:
        words: In the order of the softmax, with <S>, </S> and <UNK> among them.
        longest: Maximum characters per word.
    """
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    vocabulary = {word: number for number, word in enumerate(words)}
    for special in _SPECIAL:
        if special not in vocabulary:
            raise ModelError(f"the vocabulary has no {special}, expected <S>, </S> and <UNK>")
    backend = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    backend.pre_tokenizer = _splitter()
    return _wrapped(backend, unk_token=UNKNOWN, **{_SPELT: longest})


def learn_pieces(texts: Iterable[str], size: int, *, uncased: bool = False) -> Any:
    """Return a tokenizer of byte pairs learnt from texts, to which no word is unknown.

    Args:
        texts: Sentences; read once.
        size: Pieces at most, 256 bytes, <S> and </S> included.
        uncased: Whether texts are lower-cased.
    """
    _check_size(size)
    # Two spaces would make a piece.
    normalizer = lower_case() if uncased else None
    backend = byte_pairs((t for t in texts if t.strip()), size, _SPECIAL[:2], normalizer)
    if backend is None:
        raise ModelError(
            f"no vocabulary of {size} pieces can be learnt, expected texts with words, and room "
            "for more than 258 pieces"
        )
    return _wrapped(backend)


def max_characters(tokenizer: Any) -> int | None:
    """Return how many characters of a word a model reads, or None if it reads pieces."""
    found: int | None = tokenizer.init_kwargs.get(_SPELT)
    return found


def spellings(tokenizer: Any, texts: Sequence[str]) -> list[list[tuple[int, ...]]]:
    """Return the characters of every word of texts, without <S> and </S>."""
    longest = max_characters(tokenizer)
    assert longest is not None
    offsets = tokenizer(
        list(texts),
        add_special_tokens=False,
        return_attention_mask=False,
        return_offsets_mapping=True,
        verbose=False,
    )["offset_mapping"]
    known: dict[str, tuple[int, ...]] = {}
    out = []
    for text, spans in zip(texts, offsets, strict=True):
        words = [text[begin:end] for begin, end in spans]
        for word in words:
            if word not in known:
                known[word] = spelling(word, longest)
        out.append([known[word] for word in words])
    return out


def _splitter() -> Any:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    return Split(Regex(_WORD), "removed", invert=True)


def _wrapped(backend: Any, **options: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=_LONGEST,
        model_input_names=["input_ids", "attention_mask"],
        bos_token=BEGIN_OF_SENTENCE,
        eos_token=END_OF_SENTENCE,
        clean_up_tokenization_spaces=False,
        **options,
    )


def _check_size(size: int) -> None:
    if size <= len(_SPECIAL):
        raise ModelError(
            f"a vocabulary of {size} has no room for words, expected {len(_SPECIAL) + 1} or more"
        )
