"""New language models: small shapes, and a vocabulary trained on the sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boxpen.errors import ModelError
from boxpen.lm.classifier.scratch import SHAPES, new_config, new_tokenizer

__all__ = ["new_causal", "new_masked"]

_VOCABULARY = {"tiny": 8_000, "small": 16_000}
_END = "<|endoftext|>"


def new_masked(size: str, texts: Iterable[str]) -> tuple[Any, Any]:
    """Return a BERT with random weights, and its tokenizer.

    Raises:
        ModelError: If the texts have no words.
    """
    from transformers import AutoModelForMaskedLM

    tokenizer = new_tokenizer(size, texts)
    return AutoModelForMaskedLM.from_config(new_config(size, tokenizer)), tokenizer


def new_causal(size: str, texts: Iterable[str]) -> tuple[Any, Any]:
    """Return a Llama with random weights, and its tokenizer: byte pairs, with capitals.

    Raises:
        ModelError: If the texts have no words.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer
    from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = BpeTrainer(
        vocab_size=_VOCABULARY[size],
        special_tokens=[_END],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    if backend.get_vocab_size() <= len(alphabet) + 1:
        raise ModelError(f"cannot train a vocabulary for new:{size}: the text has no words")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=_END,
        eos_token=_END,
        pad_token=_END,
        model_max_length=512,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )
    width = SHAPES[size]["hidden_size"]
    end = tokenizer.bos_token_id
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        intermediate_size=4 * width,
        max_position_embeddings=512,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        tie_word_embeddings=True,
        **SHAPES[size],
    )
    return AutoModelForCausalLM.from_config(config), tokenizer
