"""Tokenize pairs of texts: separated, padded on the right and truncated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from boxpen.errors import ModelError

__all__ = ["Encoded", "encode", "longest", "ready_for_pairs"]

_CHUNK = 4096


class Encoded(NamedTuple):
    """The inputs of every pair by name, and whether it was cut."""

    features: list[dict[str, list[int]]]
    cut: list[bool]


def encode(tokenizer: Any, pairs: Sequence[tuple[str, str]], max_length: int) -> Encoded:
    """Return the token ids of pairs, each encoded as by ``tokenizer(first, second)``.

    A pair whose first text is empty is encoded as a single text.
    """
    features: list[dict[str, list[int]]] = [{}] * len(pairs)
    cut = [False] * len(pairs)
    for paired in (True, False):
        places = [i for i, (first, _) in enumerate(pairs) if bool(first) == paired]
        for start in range(0, len(places), _CHUNK):
            part = places[start : start + _CHUNK]
            texts = [[pairs[i][side] for i in part] for side in ((0, 1) if paired else (1,))]
            whole = tokenizer(*texts, verbose=False)["input_ids"]
            short = tokenizer(*texts, truncation="longest_first", max_length=max_length)
            for at, i in enumerate(part):
                features[i] = {name: values[at] for name, values in short.items()}
                cut[i] = len(whole[at]) > max_length
    return Encoded(features, cut)


def longest(config: Any, wanted: int) -> int:
    """Return the maximum tokens that a model takes, at most ``wanted``."""
    positions = getattr(config, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions <= 0:
        return wanted
    # RoBERTa and its kin count positions from behind the padding index.
    offset = config.pad_token_id + 1 if "roberta" in config.model_type else 0
    return min(wanted, positions - offset)


def ready_for_pairs(tokenizer: Any, name: str) -> Any:
    """Return a tokenizer that pads on the right and separates the two texts of a pair.

    The tokenizers of decoder-only models simply concatenate the texts. They get a rule that puts
    the end-of-text token between them. It is saved with the tokenizer, so that pairs are encoded
    as in training wherever it is loaded.
    """
    if tokenizer.is_fast and not _apart(tokenizer):
        tokenizer = _with_rule(tokenizer)
    if tokenizer.pad_token is None:
        padding = tokenizer.eos_token or tokenizer.unk_token
        if padding is None:
            raise ModelError(f"base '{name}': its tokenizer has no token to pad with")
        tokenizer.pad_token = padding
    if tokenizer.cls_token is None:  # a decoder: its last token counts, and is looked for
        tokenizer.padding_side = "right"
    return tokenizer


def _apart(tokenizer: Any) -> bool:
    """Return whether a special token stands between the two texts of a pair."""
    sides = tokenizer("a", "b").sequence_ids(0)
    last = max((i for i, side in enumerate(sides) if side == 0), default=0)
    return last + 1 < len(sides) and sides[last + 1] is None


def _with_rule(tokenizer: Any) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    between = tokenizer.eos_token or tokenizer.sep_token or tokenizer.unk_token
    if between is None:
        return tokenizer
    ids = tokenizer("a")["input_ids"]
    begins = tokenizer.bos_token is not None and ids[:1] == [tokenizer.bos_token_id]
    used = dict.fromkeys([between, *([tokenizer.bos_token] if begins else [])])
    start = [f"{tokenizer.bos_token}:0"] if begins else []
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.post_processor = TemplateProcessing(
        single=[*start, "$A:0"],
        pair=[*start, "$A:0", f"{between}:0", "$B:0"],
        special_tokens=[(token, tokenizer.convert_tokens_to_ids(token)) for token in used],
    )
    special = {
        name: getattr(tokenizer, name)
        for name in ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token")
        if getattr(tokenizer, name) is not None
    }
    # Of the plain class: those of single models write their own rule again when they are loaded.
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=tokenizer.model_max_length,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
        **special,
    )
