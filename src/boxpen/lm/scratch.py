"""New models: small shapes, and a vocabulary trained on the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from boxpen.errors import ModelError

__all__ = [
    "SHAPES", "byte_pairs", "lower_case", "new_causal", "new_config", "new_masked", "new_tokenizer",
]  # fmt: skip

# Shapes of the small BERT models (Turc et al. 2019), and a vocabulary that fits them.
SHAPES = {
    "tiny": {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2},
    "small": {"hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8},
}
_VOCABULARY = {"tiny": 8_000, "small": 16_000}
_SPECIAL = {
    "pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}  # fmt: skip
_END = "<|endoftext|>"
_LENGTH = 512


def new_config(size: str, tokenizer: Any) -> Any:
    """Return the configuration of a BERT of this size for a tokenizer."""
    from transformers import BertConfig

    return BertConfig(pad_token_id=tokenizer.pad_token_id, **_shape(size, tokenizer))


def new_tokenizer(size: str, texts: Iterable[str], vocabulary: int | None = None) -> Any:
    """Return a lower-casing tokenizer trained on texts."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    backend = _trained(size, texts, list(_SPECIAL.values()), vocabulary, lower_case())
    cls, sep = (backend.token_to_id(_SPECIAL[t]) for t in ("cls_token", "sep_token"))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=_LENGTH,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **_SPECIAL,
    )


def lower_case() -> Any:
    """Return what BERT does to a text first: no capitals, no accents, single spaces."""
    from tokenizers import normalizers

    return normalizers.BertNormalizer(lowercase=True)


def new_masked(size: str, texts: Iterable[str], vocabulary: int | None = None) -> tuple[Any, Any]:
    """Return a BERT with random weights, and its tokenizer."""
    from transformers import AutoModelForMaskedLM

    tokenizer = new_tokenizer(size, texts, vocabulary)
    return AutoModelForMaskedLM.from_config(new_config(size, tokenizer)), tokenizer


def new_causal(
    size: str, texts: Iterable[str], vocabulary: int | None = None, *, uncased: bool = False
) -> tuple[Any, Any]:
    """Return a Llama with random weights, and its tokenizer.

    Args:
        size: One of ``SHAPES``.
        texts: What to learn byte pairs from.
        vocabulary: How many at most; if None, as many as fit the size.
        uncased: Whether to read a text as a new masked model does, without capitals.
    """
    from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_trained(
            size, texts, [_END], vocabulary, lower_case() if uncased else None
        ),
        bos_token=_END,
        eos_token=_END,
        pad_token=_END,
        model_max_length=_LENGTH,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
    end = tokenizer.bos_token_id
    config = LlamaConfig(
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        tie_word_embeddings=True,
        **_shape(size, tokenizer),
    )
    return AutoModelForCausalLM.from_config(config), tokenizer


def _shape(size: str, tokenizer: Any) -> dict[str, int]:
    return {
        "vocab_size": len(tokenizer),
        "intermediate_size": 4 * SHAPES[size]["hidden_size"],
        "max_position_embeddings": _LENGTH,
        **SHAPES[size],
    }


def _trained(
    size: str,
    texts: Iterable[str],
    special: Sequence[str],
    vocabulary: int | None,
    normalizer: Any = None,
) -> Any:
    most = vocabulary or _VOCABULARY[size]
    backend = byte_pairs(texts, most, special, normalizer, prefix=normalizer is not None)
    if backend is None:
        least = 256 + len(special)
        why = "the data has no words"
        if most <= least:
            why = f"--vocabulary is {most}, expected more than {least}"
        raise ModelError(f"cannot train a vocabulary for new:{size}: {why}")
    return backend


def byte_pairs(
    texts: Iterable[str],
    size: int,
    special: Sequence[str],
    normalizer: Any = None,
    *,
    prefix: bool = True,
) -> Any:
    """Return byte pairs trained on texts, or None if these have no words.

    Not word pieces: their trainer numbers its letters in an order that differs from process to
    process, and the vocabulary with them.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    backend = Tokenizer(models.BPE())
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = BpeTrainer(
        vocab_size=size,
        special_tokens=list(special),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return backend if backend.get_vocab_size() > len(special) + len(alphabet) else None
