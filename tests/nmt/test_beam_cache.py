"""The cache of beam search against that of Transformers: the same translations, scores and all."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from boxpen.nmt.beam_cache import beam_cache  # noqa: E402
from boxpen.nmt.context.bert_fused import BertFusedForConditionalGeneration  # noqa: E402
from boxpen.nmt.context.cadec import CADecForConditionalGeneration  # noqa: E402
from boxpen.nmt.context.concat import ConcatForConditionalGeneration  # noqa: E402
from boxpen.nmt.context.thumt import ThumtForConditionalGeneration  # noqa: E402
from boxpen.nmt.sizes import new_model  # noqa: E402
from boxpen.nmt.subwords import EOS, PAD  # noqa: E402

WORDS = 60


def made(architecture: str = "transformer") -> Any:
    """A model of widely spread weights, whose sentences end at many lengths."""
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
    return model.eval()


def sources(rows: int, width: int, seed: int) -> dict[str, Any]:
    dice = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, WORDS, (rows, width), generator=dice)
    lengths = torch.randint(2, width + 1, (rows,), generator=dice)
    ids[torch.arange(rows), lengths - 1] = EOS
    mask = torch.arange(width) < lengths[:, None]
    return {"input_ids": ids.masked_fill(~mask, PAD), "attention_mask": mask.long()}


def context(rows: int, of: str) -> dict[str, Any]:
    return {f"{of}_{name}": value for name, value in sources(rows, 5, seed=2).items()}


def small_bert() -> Any:
    torch.manual_seed(4)
    shape = transformers.BertConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    return transformers.BertModel(shape)


def searched(model: Any, cache: Any, **read: Any) -> Any:
    return model.generate(
        **read, **({} if cache is None else {"past_key_values": cache}), num_beams=4,
        num_return_sequences=4, max_length=None, max_new_tokens=80, return_dict_in_generate=True,
        output_scores=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "of",
    [
        lambda base: base,
        ThumtForConditionalGeneration.from_sentence_model,
        ConcatForConditionalGeneration.from_sentence_model,
        lambda base: BertFusedForConditionalGeneration.from_sentence_model(base, small_bert()),
    ],
    ids=["transformer", "thumt", "concat", "bert-fused"],
)
def test_translations_are_those_of_the_library(of: Callable[[Any], Any]) -> None:
    model = of(made()).eval()
    read = sources(7, 9, seed=1)
    for name in sorted(getattr(model, "reads", ())):
        read |= context(7, name.removesuffix("_input_ids"))
    cache = beam_cache(model)
    assert cache is not None
    ours, theirs = searched(model, cache, **read), searched(model, None, **read)
    kinds = {type(layer).__name__ for layer in cache.cross_attention_cache.layers}
    assert kinds == {"_OfTheSource"}
    assert ours.sequences.tolist() == theirs.sequences.tolist()
    torch.testing.assert_close(ours.sequences_scores, theirs.sequences_scores)
    lengths = (ours.sequences != PAD).sum(1)
    assert lengths.max() > 64  # buffers have grown twice
    assert len(set(lengths.tolist())) > 3


def test_beams_really_change_places() -> None:
    """What is compared would not show a cache that is never laid out anew."""
    model, read = made(), sources(7, 9, seed=1)
    cache = beam_cache(model)
    assert cache is not None
    orders: list[Any] = []
    cache.self_attention_cache.reorder_cache = orders.append
    broken = searched(model, cache, **read)
    assert any(order.tolist() != list(range(len(order))) for order in orders)
    assert broken.sequences.tolist() != searched(model, None, **read).sequences.tolist()


def test_the_source_is_laid_out_once() -> None:
    model = made()
    cache = beam_cache(model)
    assert cache is not None
    searched(model, cache, **sources(3, 6, seed=4))
    before = [layer.keys for layer in cache.cross_attention_cache.layers]
    cache.reorder_cache(torch.arange(12).flip(0))
    assert all(
        layer.keys is keys
        for layer, keys in zip(cache.cross_attention_cache.layers, before, strict=True)
    )


@pytest.mark.parametrize(
    "model",
    [lambda: made("rnnsearch"), lambda: CADecForConditionalGeneration.from_sentence_model(made())],
    ids=["rnnsearch", "cadec"],
)
def test_models_with_a_memory_of_their_own_keep_it(model: Callable[[], Any]) -> None:
    assert beam_cache(model()) is None


def test_a_cache_that_somebody_has_chosen_stays() -> None:
    model = made()
    model.generation_config.cache_implementation = "static"
    assert beam_cache(model) is None
