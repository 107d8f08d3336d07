"""The cache of beam search against that of Transformers: the same translations, scores and all."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from search_models import (  # noqa: E402
    bert_fused,
    cadec,
    concat,
    read_by,
    rnnsearch,
    thumt,
    transformer,
)

from boxpen.models.engine.beam_cache import beam_cache  # noqa: E402
from boxpen.nmt.data.subwords import PAD  # noqa: E402


def searched(model: Any, cache: Any, **read: Any) -> Any:
    return model.generate(
        **read, **({} if cache is None else {"past_key_values": cache}), num_beams=4,
        num_return_sequences=4, max_length=None, max_new_tokens=80, return_dict_in_generate=True,
        output_scores=True,
    )  # fmt: skip


@pytest.mark.parametrize("make", [transformer, thumt, concat, bert_fused])
def test_translations_are_those_of_the_library(make: Callable[[], Any]) -> None:
    model = make()
    read = read_by(model, 7)
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
    model = transformer()
    read = read_by(model, 7)
    cache = beam_cache(model)
    assert cache is not None
    orders: list[Any] = []
    cache.self_attention_cache.reorder_cache = orders.append
    broken = searched(model, cache, **read)
    assert any(order.tolist() != list(range(len(order))) for order in orders)
    assert broken.sequences.tolist() != searched(model, None, **read).sequences.tolist()


def test_the_source_is_laid_out_once() -> None:
    model = transformer()
    cache = beam_cache(model)
    assert cache is not None
    searched(model, cache, **read_by(model, 3))
    before = [layer.keys for layer in cache.cross_attention_cache.layers]
    cache.reorder_cache(torch.arange(12).flip(0))
    assert all(
        layer.keys is keys
        for layer, keys in zip(cache.cross_attention_cache.layers, before, strict=True)
    )


@pytest.mark.parametrize("make", [rnnsearch, cadec])
def test_models_with_a_memory_of_their_own_keep_it(make: Callable[[], Any]) -> None:
    assert beam_cache(make()) is None


def test_a_cache_that_somebody_has_chosen_stays() -> None:
    model = transformer()
    model.generation_config.cache_implementation = "static"
    assert beam_cache(model) is None
