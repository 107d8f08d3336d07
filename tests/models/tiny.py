"""Tiny random models of real Transformers classes, with tokenizers trained on the text below.

Weights are drawn with a wide spread, so that a wrong position, mask or target moves a score by far
more than the tolerance of the tests.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
import transformers
from tokenizers import Tokenizer, normalizers, pre_tokenizers, trainers
from tokenizers import models as token_models

ENGLISH = """
The box was in the pen. The little boy was looking for his toy box. Finally he found it.
Some porter put a piano into the drawer. Some porter put a letter into the drawer. Who did this?
We filled the blue kettle until it ran over.
We drained the blue kettle until nothing was left.
The ladder does not go into the green van because it is too long, said the owner of the shop.
People eat bread and butter for breakfast; nobody eats stones, chairs or the keys of a piano.
He drank a cup of coffee, read the newspaper and went to work by bicycle at seven in the morning.
The souvenir seller wouldn't sell his unbelievable, unforgettable handmade lanterns to the tourists.
When winter comes, the birds fly south and the lake freezes. The sun rises in the east.
Translate this sentence: the stranger stood at the door and asked for a room. It rained all night!
"""
CHINESE = """
中国的首都是北京。 小男孩在找他的玩具箱。 最后他找到了。 箱子在围栏里。 谁把大象放进了冰箱?
学校里有许多学生和老师。 他每天早上七点骑自行车去上班。 冬天来了,鸟儿飞往南方,湖水结冰了。
太阳从东方升起。 人们早餐吃面包和黄油。 没有人吃石头、椅子或者钢琴的琴键。 大雨下了整整一夜!
"""

LONG = (
    "When winter comes, the birds fly south and the lake freezes, and the little boy who was "
    "looking for his toy box in the brown suitcase of the souvenir seller drank a cup of coffee, "
    "read the newspaper, poured water into the glass until it was full, and went to work by "
    "bicycle at seven in the morning because nobody eats stones, chairs or the keys of a piano."
)
SENTENCES = (
    "Box",
    "The box was in the pen.",
    LONG,
    "Some porter put a piano into the drawer.",
    "unforgettable!",
    "中国的首都是北京。",
    "The souvenir seller wouldn't sell 他的玩具箱 to the tourists.",
    "最后他找到了箱子,冬天来了,大雨下了整整一夜。",
    "It rained all night",
)
"""One word to some sixty words, English, Chinese and both in one."""

Pair = tuple[Any, Any]


def lines() -> list[str]:
    return [line for line in (ENGLISH + CHINESE).split("\n") if line]


def wide(module: Any, seed: int = 1, *, embedding: float = 1.0) -> Any:
    """Redraw the weights: a wide spread, but no norm layer and no sinusoid is touched."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in sorted(module.named_parameters()):
            if not weight.requires_grad or "norm" in name.lower() or "ln_" in name:
                continue  # sinusoids are no weights
            spread = embedding if "embed" in name or "wte" in name else 0.25
            weight.copy_(torch.randn(weight.shape, generator=generator) * spread)
    return module.eval()


def _model_of(tokenizer: Tokenizer) -> dict[str, Any]:
    return json.loads(tokenizer.to_str())["model"]


def _byte_level(specials: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tokenizer = Tokenizer(token_models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=520,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines(), trainer)
    model = _model_of(tokenizer)
    return model["vocab"], [tuple(m) for m in model["merges"]]


def _metaspace(
    specials: list[str], *, leave_out: str = "\0"
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tokenizer = Tokenizer(token_models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=True)
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator([x for x in lines() if leave_out not in x], trainer)
    model = _model_of(tokenizer)
    return model["vocab"], [tuple(m) for m in model["merges"]]


def _unigram(specials: list[str], extra: tuple[str, ...] = ()) -> list[tuple[str, float]]:
    tokenizer = Tokenizer(token_models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=500, special_tokens=specials, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(lines(), trainer)
    pieces = [(piece, score) for piece, score in _model_of(tokenizer)["vocab"]]
    known = {piece for piece, _ in pieces}
    return pieces + [(piece, -12.0) for piece in extra if piece not in known]


def gpt2(**options: Any) -> Pair:
    vocab, merges = _byte_level(["<|endoftext|>"])
    tokenizer = transformers.GPT2Tokenizer(vocab=vocab, merges=merges, **options)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=256, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return wide(transformers.GPT2LMHeadModel(config)), tokenizer


def gpt() -> Pair:
    tokenizer = Tokenizer(token_models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
    )
    tokenizer.train_from_iterator(lines(), trainer)
    model = _model_of(tokenizer)
    made = transformers.OpenAIGPTTokenizer(
        vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]]
    )
    config = transformers.OpenAIGPTConfig(
        vocab_size=len(made), n_positions=256, n_embd=32, n_layer=2, n_head=2
    )
    return wide(transformers.OpenAIGPTLMHeadModel(config)), made


def llama(**options: Any) -> Pair:
    specials = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    # Some characters are left to the byte fallback.
    vocab, merges = _metaspace(specials, leave_out="鸟")
    tokenizer = transformers.LlamaTokenizer(vocab=vocab, merges=merges, **options)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=256,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return wide(transformers.LlamaForCausalLM(config)), tokenizer


def _wordpiece() -> Any:
    tokenizer = Tokenizer(token_models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=430, special_tokens=specials, show_progress=False
    )
    tokenizer.train_from_iterator(lines(), trainer)
    return transformers.BertTokenizer(vocab=_model_of(tokenizer)["vocab"])


def bert_config(tokenizer: Any, **changes: Any) -> Any:
    return transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=256, **changes,
    )  # fmt: skip


def bert() -> Pair:
    tokenizer = _wordpiece()
    return wide(transformers.BertForMaskedLM(bert_config(tokenizer))), tokenizer


def roberta() -> Pair:
    vocab, merges = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer = transformers.RobertaTokenizer(vocab=vocab, merges=merges)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=258, type_vocab_size=1,
    )  # fmt: skip
    return wide(transformers.RobertaForMaskedLM(config)), tokenizer


def unigram_bert() -> Pair:
    """A masked model with a SentencePiece vocabulary, as XLM-R has one."""
    vocab = _unigram(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer = transformers.XLMRobertaTokenizer(vocab=[*vocab, ("<mask>", 0.0)])
    config = transformers.XLMRobertaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=258, type_vocab_size=1,
    )  # fmt: skip
    return wide(transformers.XLMRobertaForMaskedLM(config)), tokenizer


def xlnet() -> Pair:
    specials = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"]
    tokenizer = transformers.XLNetTokenizer(vocab=_unigram(specials))
    config = transformers.XLNetConfig(
        vocab_size=len(tokenizer), d_model=32, n_layer=2, n_head=2, d_inner=48
    )
    # Its output layer is its embedding: wider, and a token would cost twenty nats and more, which
    # float32 does not sum to 1e-4.
    return wide(transformers.XLNetLMHeadModel(config), embedding=0.25), tokenizer


def _spm(text: list[str], prefix: Path, size: int) -> None:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_prefix=str(prefix), vocab_size=size,
        character_coverage=1.0, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip


def marian(folder: Path) -> Pair:
    """Chinese to English, with its own SentencePiece model on each side."""
    _spm([x for x in CHINESE.split("\n") if x], folder / "source", 150)
    _spm([x for x in ENGLISH.split("\n") if x], folder / "target", 220)
    pieces: dict[str, None] = {"</s>": None, "<unk>": None}
    for side in ("source", "target"):
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces.update({model.id_to_piece(i): None for i in range(3, model.get_piece_size())})
    pieces["<pad>"] = None
    vocab = {piece: i for i, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), "utf-8")
    tokenizer = transformers.MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        source_lang="zho",
        target_lang="eng",
    )
    config = transformers.MarianConfig(
        vocab_size=len(vocab), d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48,
        decoder_ffn_dim=48, max_position_embeddings=256, pad_token_id=vocab["<pad>"],
        decoder_start_token_id=vocab["<pad>"], eos_token_id=0, forced_eos_token_id=0,
    )  # fmt: skip
    return wide(transformers.MarianMTModel(config)), tokenizer


def ct2(root: Path, *quantizations: str) -> None:
    """Save the Marian as ``hf``, and what CTranslate2's own converter makes of it.

    The folders are ``ct2`` for float32, and one named after each quantization.
    """
    from ctranslate2.converters import TransformersConverter

    module, tokenizer = marian(root)
    pad = module.config.pad_token_id
    with torch.no_grad():  # as in every trained Marian: the decoder starts from zero, and the
        module.model.shared.weight[pad] = 0  # padding token, which CTranslate2 drops, is
        module.final_logits_bias[0, pad] = -1e9  # never produced
    module.save_pretrained(root / "hf")
    tokenizer.save_pretrained(root / "hf")
    for folder, quantization in (("ct2", None), *zip(quantizations, quantizations, strict=True)):
        TransformersConverter(str(root / "hf")).convert(
            str(root / folder), quantization=quantization
        )
        for name in ("source.spm", "target.spm"):
            shutil.copy(root / "hf" / name, root / folder / name)


def gguf(path: Path, *, chat: str = "") -> None:
    """Write a Llama with weights in Q8_0, as llama.cpp would."""
    import gguf
    from gguf.quants import quantize

    width, inner, layers = 32, 64, 2
    vocab, merges = _byte_level(["<|endoftext|>"])
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(256)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // 2)
    writer.add_vocab_size(len(vocab))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(vocab, key=lambda token: vocab[token]))
    writer.add_token_types([1] * len(vocab))
    writer.add_token_merges([" ".join(merge) for merge in merges])
    if chat:
        writer.add_chat_template(chat)
    for add in (writer.add_bos_token_id, writer.add_eos_token_id):
        add(vocab["<|endoftext|>"])
    blocks = {
        **dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (width, width)),
        **dict.fromkeys(("ffn_gate", "ffn_up"), (inner, width)),
        "ffn_down": (width, inner),
    }
    shapes = {f"blk.{n}.{name}": shape for n in range(layers) for name, shape in blocks.items()}
    dice = np.random.default_rng(1)
    kind = gguf.GGMLQuantizationType.Q8_0
    for name, shape in {"token_embd": (len(vocab), width), **shapes}.items():
        drawn = dice.normal(0, 1 if name == "token_embd" else 0.25, shape).astype(np.float32)
        writer.add_tensor(f"{name}.weight", quantize(drawn, kind), raw_dtype=kind)
    norms = [f"blk.{n}.{part}_norm" for n in range(layers) for part in ("attn", "ffn")]
    for name in (*norms, "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def nllb() -> Pair:
    """Language token first; the vocabulary also has the plain pieces ``en`` and ``zh``."""
    vocab, merges = _metaspace(["<s>", "<pad>", "</s>", "<unk>"])
    for piece in ("en", "zh"):
        vocab.setdefault(piece, len(vocab))
    tokenizer = transformers.NllbTokenizer(
        vocab=vocab, merges=merges, extra_special_tokens=["eng_Latn", "zho_Hans", "fra_Latn"]
    )
    config = transformers.M2M100Config(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48,
        decoder_ffn_dim=48, max_position_embeddings=256, decoder_start_token_id=2,
    )  # fmt: skip
    return wide(transformers.M2M100ForConditionalGeneration(config)), tokenizer


def mbart() -> Pair:
    """Language token last on the source side, and wrapped round to the front of the target."""
    vocab = _unigram(["<s>", "<pad>", "</s>", "<unk>"], extra=("en", "zh"))
    codes = transformers.models.mbart.tokenization_mbart.FAIRSEQ_LANGUAGE_CODES
    vocab += [(code, 0.0) for code in codes] + [("<mask>", 0.0)]
    tokenizer = transformers.MBartTokenizer(vocab=vocab)
    config = transformers.MBartConfig(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=48,
        decoder_ffn_dim=48, max_position_embeddings=256,
    )  # fmt: skip
    return wide(transformers.MBartForConditionalGeneration(config)), tokenizer


def t5() -> Pair:
    vocab = _unigram(["<pad>", "</s>", "<unk>"])
    tokenizer = transformers.T5Tokenizer(vocab=vocab, extra_ids=5)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2,
        decoder_start_token_id=0,
        task_specific_params={
            "translation_en_to_zh": {"prefix": "Translate this sentence: "},
        },
    )  # fmt: skip
    return wide(transformers.T5ForConditionalGeneration(config)), tokenizer


BUILDERS: dict[str, Callable[..., Pair]] = {
    "gpt": gpt,
    "gpt2": gpt2,
    "llama": llama,
    "bert": bert,
    "roberta": roberta,
    "unigram_bert": unigram_bert,
    "xlnet": xlnet,
    "marian": marian,
    "nllb": nllb,
    "mbart": mbart,
    "t5": t5,
}
CAUSAL = ("gpt", "gpt2", "llama")
MASKED = ("bert", "roberta", "unigram_bert")
SEQ2SEQ = ("marian", "nllb", "mbart", "t5")
KINDS = {
    **dict.fromkeys(CAUSAL, "causal"),
    **dict.fromkeys(MASKED, "masked"),
    "xlnet": "permuted",
    **dict.fromkeys(SEQ2SEQ, "seq2seq"),
}


def build(name: str, folder: Path) -> Pair:
    """Make a tiny model and save it as a checkpoint folder."""
    folder.mkdir()
    module, tokenizer = BUILDERS[name](folder) if name == "marian" else BUILDERS[name]()
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return module, tokenizer
