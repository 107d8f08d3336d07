"""Tokenisation that tracks exactly where the scored text begins.

A text is never glued together from separately tokenised halves: prefix and text are tokenised as
one string, and the tokens that reach past the join belong to the text. Where the tokens of the
prefix alone are not the first tokens of the whole, a token spans the join, and the request is
flagged as *crossing*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from boxpen.scoring.requests import Request

__all__ = ["Pieces", "pieces", "token_texts"]

_CJK = (
    (0x2E80, 0x2FDF), (0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)  # fmt: skip


class Pieces(NamedTuple):
    """The tokens of prefix and text, without special tokens.

    Attributes:
        ids: All of them.
        start: Index of the first token of the text.
        crossing: Whether a token spans the join.
        words: The number of the word of every token, or empty if the tokenizer cannot tell.
    """

    ids: tuple[int, ...]
    start: int
    crossing: bool
    words: tuple[int, ...]


def pieces(tokenizer: Any, requests: Sequence[Request], *, words: bool = False) -> list[Pieces]:
    """Tokenise requests.

    Args:
        tokenizer: A Transformers tokenizer.
        requests: What to tokenise.
        words: Whether the words of the tokens are wanted.
    """
    if not requests:
        return []
    wholes = [r.prefix + r.text for r in requests]
    prefixed = [i for i, r in enumerate(requests) if r.prefix]
    if not words and not prefixed and _plain(tokenizer):
        return [Pieces(tuple(ids), 0, False, ()) for ids in _fast(tokenizer, wholes)]
    # Offsets are dear; whole texts need none.
    fast = bool(tokenizer.is_fast) and bool(words or prefixed)
    encoded = tokenizer(
        wholes,
        add_special_tokens=False,
        return_attention_mask=False,
        return_offsets_mapping=fast,
        verbose=False,
    )
    alone: dict[int, list[int]] = {}
    if prefixed:
        ids = tokenizer(
            [requests[i].prefix for i in prefixed],
            add_special_tokens=False,
            return_attention_mask=False,
            verbose=False,
        )["input_ids"]
        alone = dict(zip(prefixed, ids, strict=True))

    out = []
    for i, request in enumerate(requests):
        ids = encoded["input_ids"][i]
        offsets = encoded["offset_mapping"][i] if fast else None
        start, crossing = 0, False
        if request.prefix:
            shared = _shared(alone[i], ids)
            crossing = shared < len(alone[i])
            start = shared
            if offsets is not None:
                join = len(request.prefix)
                start = _reaching(offsets, join)
                # An unknown token may swallow both sides and still be the prefix's last token.
                crossing |= any(begin < join < end for begin, end in offsets)
        numbers: tuple[int, ...] = ()
        if words and offsets is not None:
            numbers = _words(encoded.word_ids(i), offsets, wholes[i])
        out.append(Pieces(tuple(ids), start, crossing, numbers))
    return out


def token_texts(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Return the texts of tokens, with the space before a word.

    A token alone loses its space when it is decoded, so each is decoded behind another. Those that
    are part of a character only (bytes) show the sign for that.
    """
    anchor = next(iter(tokenizer("a", add_special_tokens=False)["input_ids"]), None)
    if anchor is None:
        return [tokenizer.decode([i]) for i in ids]
    before = tokenizer.decode([anchor])
    out = []
    for one in ids:
        both = tokenizer.decode([anchor, one], clean_up_tokenization_spaces=False)
        out.append(
            both.removeprefix(before) if both.startswith(before) else tokenizer.decode([one])
        )
    return out


def _plain(tokenizer: Any) -> bool:
    """Whether a tokenizer does nothing to a text but hand it to the library ``tokenizers``."""
    ways = (getattr(type(tokenizer), name, None) for name in ("__call__", "_encode_plus"))
    return hasattr(tokenizer, "backend_tokenizer") and all(
        way is not None and way.__module__.startswith("transformers.tokenization_utils")
        for way in ways
    )


def _fast(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return token ids without the offsets, masks and types that would be made besides."""
    # Sets up the library as an ordinary call would: without cutting, without padding.
    tokenizer(texts[0], add_special_tokens=False, verbose=False)
    batch = tokenizer.backend_tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [one.ids for one in batch]


def _reaching(offsets: Sequence[tuple[int, int]], join: int) -> int:
    """Return the index of the first token that ends past the join."""
    for index, (_, end) in enumerate(offsets):
        if end > join:
            return index
    return len(offsets)


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    count = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        count += 1
    return count


def _words(
    word_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]], text: str
) -> tuple[int, ...]:
    """Number the words of tokens, cutting Chinese and Japanese runs into characters.

    A SentencePiece vocabulary splits words at spaces only, so that a whole Chinese sentence would
    count as one word, and masking the rest of the word would mask the sentence.
    """
    numbers: list[int] = []
    for i, word in enumerate(word_ids):
        if i == 0:
            numbers.append(0)
            continue
        start, end = offsets[i]
        before_start, before_end = offsets[i - 1]
        # Byte-level vocabularies give the pieces of one character the same span.
        same_character = start < before_end
        touches = _has_cjk(text[start:end]) or _has_cjk(text[before_start:before_end])
        new = word != word_ids[i - 1] or (touches and not same_character)
        numbers.append(numbers[-1] + new)
    return tuple(numbers)


def _has_cjk(text: str) -> bool:
    return any(low <= ord(c) <= high for c in text for low, high in _CJK)
