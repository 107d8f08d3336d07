"""New models: the shape of a small BERT, and a vocabulary trained on the data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boxpen.errors import ModelError

__all__ = ["SHAPES", "new_config", "new_tokenizer"]

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


def new_config(shape: str, tokenizer: Any) -> Any:
    """Return the configuration of a BERT of this shape for a tokenizer."""
    from transformers import BertConfig

    sizes = SHAPES[shape]
    return BertConfig(
        vocab_size=len(tokenizer),
        intermediate_size=4 * sizes["hidden_size"],
        max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id,
        **sizes,
    )


def new_tokenizer(shape: str, texts: Iterable[str]) -> Any:
    """Return a lower-casing tokenizer trained on texts.

    Byte pairs, not word pieces: the trainer of those numbers its letters in an order that differs
    from process to process, and the vocabulary with them.

    Raises:
        ModelError: If the texts have no words.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = list(_SPECIAL.values())
    trainer = BpeTrainer(
        vocab_size=_VOCABULARY[shape],
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    if backend.get_vocab_size() <= len(special) + len(alphabet):
        raise ModelError(f"cannot train a vocabulary for new:{shape}: the data has no words")
    cls, sep = (backend.token_to_id(_SPECIAL[t]) for t in ("cls_token", "sep_token"))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=512,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **_SPECIAL,
    )
