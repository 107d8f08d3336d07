"""Tiny models with random weights, and files to train them on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from easy_rules import MARKS, NOUNS, OBJECTS, VERBS, choice_rows, nli_rows, write_csv


@pytest.fixture
def nli_csv(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "nli.csv", nli_rows(400))


@pytest.fixture
def piqa(tmp_path: Path) -> Path:
    path = tmp_path / "goals.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in choice_rows(400)))
    return path


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Give the spec of a tiny checkpoint: 'bert' (a masked model) or 'llama' (a causal one)."""
    pytest.importorskip("torch")
    made: dict[str, str] = {}

    def base(kind: str) -> str:
        if kind not in made:
            made[kind] = f"hf:{_saved(kind, tmp_path_factory.mktemp(kind))}"
        return made[kind]

    return base


def _saved(kind: str, folder: Path) -> Path:
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    from boxpen.lm.scratch import new_tokenizer

    words = [*NOUNS, *VERBS, *OBJECTS, *MARKS, "the"]
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    if kind == "bert":
        tokenizer = new_tokenizer("tiny", words)
        config = transformers.BertConfig(  # so narrow a model hardly learns from the usual 0.02
            vocab_size=len(tokenizer), intermediate_size=64, max_position_embeddings=64,
            initializer_range=0.15, **sizes,
        )  # fmt: skip
        module = transformers.BertForMaskedLM(config)
    else:  # no token to pad with, and none between the texts of a pair: as GPT-2 and Llama are
        vocab = {word: i for i, word in enumerate(["<unk>", "<s>", "</s>", *words])}
        backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
            model_input_names=["input_ids", "attention_mask"],
        )  # fmt: skip
        llama = transformers.LlamaConfig(
            vocab_size=len(vocab), intermediate_size=64, num_key_value_heads=1,
            max_position_embeddings=64, bos_token_id=1, eos_token_id=2, **sizes,
        )  # fmt: skip
        module = transformers.LlamaForCausalLM(llama)
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
