"""The three checkpoints that the tools are timed with, each made once and kept in a folder.

- causal: smollm2 (135 M parameters), as it comes with boxpen.
- masked: the shape of BERT-base (110 M), random weights.
- seq2seq: the shape of Marian-base as OPUS-MT has it (77 M), random weights.

The random ones get a vocabulary learnt from the texts themselves, smaller than their output layer,
so that words fall into about as many pieces as those of a real model. Their weights are spread
wider than usual, so that a wrong mask or position would show in the scores.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools import Text

__all__ = ["checkpoint", "random_smollm2"]

PIECES = 4000
SPREAD = 0.05


def checkpoint(kind: str, root: Path, texts: Sequence[Text]) -> Path:
    """Return the folder of a checkpoint, made first where it is not there yet.

    Args:
        kind: ``causal``, ``masked`` or ``seq2seq``.
        root: Where the folders are kept.
        texts: What the random ones learn their vocabulary from.
    """
    place = root / {"causal": "smollm2", "masked": "bert-base", "seq2seq": "marian-base"}[kind]
    if place.is_dir():
        return place
    from transformers.utils import logging

    logging.disable_progress_bar()
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=root))
    try:
        {"causal": _smollm2, "masked": _bert, "seq2seq": _marian}[kind](folder, texts)
        folder.rename(place)  # whole or not at all
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return place


def random_smollm2(root: Path, seed: int) -> Path:
    """Return the folder of a model with the shape and tokenizer of smollm2 and random weights."""
    place = root / f"random-{seed}"
    if not place.is_dir():
        import torch

        torch.manual_seed(seed)
        _smollm2(place, (), random=True)
    return place


def _smollm2(folder: Path, _texts: Sequence[Text], *, random: bool = False) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    from boxpen.models.resolve import resolve_model

    model: Any = resolve_model("smollm2", device="cpu", dtype="float32")
    # Transformers does not save what was read from GGUF, though the weights are plain by now.
    shape = {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"}
    plain = AutoModelForCausalLM.from_config(AutoConfig.for_model(**shape)).float()
    if not random:
        plain.load_state_dict(model.module.state_dict())
    plain.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def _bert(folder: Path, texts: Sequence[Text]) -> None:
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    learner = BertWordPieceTokenizer(lowercase=True)
    learner.train_from_iterator(
        [text for _, text in texts], vocab_size=PIECES, min_frequency=2, show_progress=False
    )
    learner.save_model(str(folder))
    tokenizer = BertTokenizerFast.from_pretrained(folder, model_max_length=512)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1960)
    config = BertConfig(vocab_size=30522, initializer_range=SPREAD)
    BertForMaskedLM(config).eval().save_pretrained(folder)


def _marian(folder: Path, texts: Sequence[Text]) -> None:
    import sentencepiece
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    pieces: dict[str, None] = {"</s>": None, "<unk>": None}
    for side, number in (("source", 0), ("target", 1)):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(pair[number] or "" for pair in texts),
            model_prefix=str(folder / side), vocab_size=PIECES, hard_vocab_limit=False,
            character_coverage=1.0, minloglevel=2,
        )  # fmt: skip
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces.update({model.id_to_piece(i): None for i in range(3, model.get_piece_size())})
    vocabulary = {piece: number for number, piece in enumerate((*pieces, "<pad>"))}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), "utf-8")
    tokenizer = MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        source_lang="zho",
        target_lang="eng",
        model_max_length=512,
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1960)
    end, pad = vocabulary["</s>"], vocabulary["<pad>"]
    config = MarianConfig(
        vocab_size=65001, d_model=512, encoder_layers=6, decoder_layers=6,
        encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, max_position_embeddings=512, activation_function="swish",
        scale_embedding=True, init_std=SPREAD, pad_token_id=pad, decoder_start_token_id=pad,
        eos_token_id=end, forced_eos_token_id=end,
    )  # fmt: skip
    MarianMTModel(config).eval().save_pretrained(folder)
