"""Beam search that sentences leave, against that of Transformers: same hypotheses, same scores."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from search_models import (  # noqa: E402
    bart,
    bert_fused,
    cadec,
    concat,
    read_by,
    rnnsearch,
    thumt,
    transformer,
)

from boxpen.models.engine import beam_search  # noqa: E402
from boxpen.models.engine.beam_search import search_options  # noqa: E402
from boxpen.nmt.data.subwords import EOS, PAD  # noqa: E402

EVERY = [transformer, rnnsearch, thumt, concat, cadec, bert_fused, bart]


def searched(model: Any, *, ours: bool, rows: int = 12, seed: int = 1, **options: Any) -> Any:
    beam = options.pop("num_beams", 4)
    given = {"max_new_tokens": 40, "num_return_sequences": beam} | options
    return model.generate(
        **read_by(model, rows, seed), **(search_options(model, beam) if ours else {}),
        num_beams=beam, max_length=None, do_sample=False, return_dict_in_generate=True,
        output_scores=True, **given,
    )  # fmt: skip


def same(model: Any, **options: Any) -> Any:
    ours, theirs = (searched(model, ours=mine, **options) for mine in (True, False))
    width = max(ours.sequences.shape[1], theirs.sequences.shape[1])
    rows = [
        torch.nn.functional.pad(s.sequences, (0, width - s.sequences.shape[1]), value=PAD).tolist()
        for s in (ours, theirs)
    ]
    assert rows[0] == rows[1]
    torch.testing.assert_close(ours.sequences_scores, theirs.sequences_scores)
    return ours


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many sentences stay each time that some leave."""
    stays: list[int] = []
    keep = beam_search._Beams.keep
    monkeypatch.setattr(
        beam_search._Beams, "keep", lambda self, left: (stays.append(len(left)), keep(self, left))
    )
    return stays


@pytest.mark.parametrize("make", EVERY)
@pytest.mark.parametrize("early", [False, True, "never"])
def test_hypotheses_are_those_of_the_library(
    make: Callable[[], Any], early: bool | str, leaving: list[int]
) -> None:
    found = same(make(), early_stopping=early)
    lengths = (found.sequences != PAD).sum(1)
    assert len(set(lengths.tolist())) > 3
    if early != "never":
        assert leaving
        assert leaving == sorted(leaving, reverse=True)


@pytest.mark.parametrize("penalty", [-0.5, 0.0, 0.6, 2.0])
@pytest.mark.parametrize("beams", [2, 5])
def test_penalties_and_beams(penalty: float, beams: int) -> None:
    same(transformer(), length_penalty=penalty, num_beams=beams)


@pytest.mark.parametrize("seed", range(2, 8))
def test_other_sources(seed: int) -> None:
    same(transformer(), seed=seed, rows=seed)


def test_a_gpu_is_asked_now_and_then(monkeypatch: pytest.MonkeyPatch, leaving: list[int]) -> None:
    monkeypatch.setattr(beam_search, "_look_every", lambda _: 4)
    same(transformer())
    assert leaving


def test_what_a_checkpoint_forbids_stays_forbidden() -> None:
    """Settings of a checkpoint work on scores, as in the library."""
    model = transformer()
    free = searched(model, ours=True).sequences
    common = torch.mode(free[free > 4]).values.item()
    options = {"suppress_tokens": [PAD, common], "no_repeat_ngram_size": 2}
    found = same(model, **options)
    assert common not in found.sequences
    assert found.sequences.tolist() != free.tolist()


def test_several_tokens_may_end_a_sentence() -> None:
    model = transformer()
    model.generation_config.eos_token_id = [EOS, 14, 30, 24, 10]
    found = same(model)
    lasts = {row[row != PAD][-1].item() for row in found.sequences}
    assert len(lasts & {EOS, 14, 30, 24, 10}) > 1
    model.generation_config.eos_token_id = [EOS, *range(5, 50)]  # nearly all that is likely
    same(model, early_stopping="never", length_penalty=3.0)


def test_what_is_cut_off_at_the_limit() -> None:
    found = same(transformer(), max_new_tokens=3)
    assert found.sequences.shape[1] == 4
    assert not (found.sequences == EOS).any(1).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: Any) -> None:
    """Scores are of float32, whatever the weights are."""
    same(transformer().to(dtype), num_beams=3)


@pytest.mark.parametrize("penalty", [-0.2, 0.0, 1.5])
def test_what_is_hoped_for_at_any_length(penalty: float) -> None:
    same(transformer(), early_stopping="never", length_penalty=penalty)


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder_no_repeat_ngram_size": 2},
        {"encoder_repetition_penalty": 1.5},
        {"repetition_penalty": 1.3, "min_new_tokens": 6},
        {"bad_words_ids": [[9], [14, 30]], "exponential_decay_length_penalty": (3, 1.2)},
        {"forced_bos_token_id": 11, "forced_eos_token_id": EOS},
        {"output_hidden_states": True, "output_attentions": True},
    ],
    ids=lambda settings: next(iter(settings)),
)
@pytest.mark.parametrize("make", [transformer, bart])
def test_settings_of_checkpoints(make: Callable[[], Any], settings: dict[str, Any]) -> None:
    """Some look at the source of every row, and must not lose their place when sentences leave."""
    model = make()
    if "output_attentions" in settings:
        model.set_attn_implementation("eager")
    for name, value in settings.items():
        setattr(model.generation_config, name, value)
    same(model)


def test_processors_that_are_not_known_keep_everybody(leaving: list[int]) -> None:
    model = transformer()
    model.generation_config.encoder_repetition_penalty = 1.5
    searched(model, ours=True)
    assert not leaving


def test_a_token_is_forbidden_instead_of_what_a_checkpoint_suppresses() -> None:
    model = transformer()
    read = read_by(model, 6)
    options = {"num_beams": 3, "max_length": None, "max_new_tokens": 30, "do_sample": False}
    free = model.generate(**read, **search_options(model, 3), **options)
    common = int(torch.mode(free[free > 4]).values)
    without = model.generate(**read, **search_options(model, 3, forbidden=common), **options)
    assert common in free
    assert common not in without
    library = model.generate(**read, suppress_tokens=[common], **options)
    assert without[:, : library.shape[1]].tolist() == library.tolist()
    model.generation_config.suppress_tokens = [common]
    again = model.generate(**read, **search_options(model, 3, forbidden=PAD), **options)
    assert again.tolist() == free.tolist()


def test_sequences_alone() -> None:
    model = transformer()
    read = read_by(model, 5)
    ours, theirs = (
        model.generate(
            **read, **options, num_beams=3, max_length=None, max_new_tokens=30, do_sample=False
        )
        for options in (search_options(model, 3), {})
    )
    assert ours[:, : theirs.shape[1]].tolist() == theirs.tolist()


def with_an_order_of_its_own() -> Any:
    model = transformer()
    model._reorder_cache = lambda cache, rows: cache
    return model


def changed(name: str, value: Any) -> Any:
    model = transformer()
    setattr(model.generation_config, name, value)
    return model


@pytest.mark.parametrize(
    ("model", "beam"),
    [
        (transformer, 1),
        (lambda: changed("cache_implementation", "static"), 4),
        (lambda: changed("max_time", 3.0), 4),
        (lambda: changed("stop_strings", ["."]), 4),
        (lambda: changed("use_cache", False), 4),
        (lambda: changed("num_beam_groups", 2), 4),
        (lambda: changed("force_words_ids", [[7]]), 4),
        (with_an_order_of_its_own, 4),
    ],
    ids=["greedy", "cache", "time", "strings", "no cache", "groups", "forced", "own order"],
)
def test_other_ways_are_left_to_the_library(model: Callable[[], Any], beam: int) -> None:
    assert search_options(model(), beam) == {}
