"""Translation models with random weights, whose sentences end at many lengths."""

from typing import Any

import torch
import transformers

from boxpen.nmt.architectures.sizes import new_model
from boxpen.nmt.context.bert_fused import BertFusedForConditionalGeneration
from boxpen.nmt.context.cadec import CADecForConditionalGeneration
from boxpen.nmt.context.concat import ConcatForConditionalGeneration
from boxpen.nmt.context.thumt import ThumtForConditionalGeneration
from boxpen.nmt.data.subwords import EOS, PAD

WORDS = 60


def transformer(architecture: str = "transformer") -> Any:
    """A model of widely spread weights."""
    torch.manual_seed(3)
    model = new_model(
        architecture, "tiny", source_vocabulary=WORDS, target_vocabulary=WORDS, shared=False,
        pad=PAD, eos=EOS,
    )  # fmt: skip
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and "embed_positions" not in name:
                weight *= 2.5
        if architecture == "transformer":
            model.final_logits_bias[0, EOS] = 3
        else:
            model.lm_head.weight[EOS] *= 3
    return model.eval()


def rnnsearch() -> Any:
    return transformer("rnnsearch")


def thumt() -> Any:
    return ThumtForConditionalGeneration.from_sentence_model(transformer()).eval()


def concat() -> Any:
    return ConcatForConditionalGeneration.from_sentence_model(transformer()).eval()


def cadec() -> Any:
    return CADecForConditionalGeneration.from_sentence_model(transformer()).eval()


def bert_fused() -> Any:
    base = transformer()
    torch.manual_seed(4)
    shape = transformers.BertConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    return BertFusedForConditionalGeneration.from_sentence_model(
        base, transformers.BertModel(shape)
    ).eval()


def bart() -> Any:
    """A model that is none of ours."""
    torch.manual_seed(5)
    shape = transformers.BartConfig(
        vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=64,
        decoder_ffn_dim=64, encoder_attention_heads=4, decoder_attention_heads=4, init_std=0.5,
        pad_token_id=PAD, eos_token_id=EOS, bos_token_id=None, decoder_start_token_id=PAD,
        forced_eos_token_id=None, max_position_embeddings=100,
    )  # fmt: skip
    model = transformers.BartForConditionalGeneration(shape).eval()
    model.final_logits_bias[0, EOS] = 8
    return model


def sources(rows: int, width: int, seed: int) -> dict[str, Any]:
    dice = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, WORDS, (rows, width), generator=dice)
    lengths = torch.randint(2, width + 1, (rows,), generator=dice)
    ids[torch.arange(rows), lengths - 1] = EOS
    mask = torch.arange(width) < lengths[:, None]
    return {"input_ids": ids.masked_fill(~mask, PAD), "attention_mask": mask.long()}


def read_by(model: Any, rows: int, seed: int = 1) -> dict[str, Any]:
    """Sources, with all the contexts that a model reads."""
    read = sources(rows, 9, seed)
    reads = getattr(model, "reads", frozenset()) - {"draft_ids"}  # which a model makes itself
    for number, name in enumerate(sorted(reads)):
        of = name.removesuffix("_ids").removesuffix("_input")
        made = sources(rows, 5, seed=seed + 1 + number)
        read |= {name: made["input_ids"], f"{of}_attention_mask": made["attention_mask"]}
    return read
