"""Attention without cuDNN's plans; its switch can be looked at without a GPU."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from at_once import at_once  # noqa: E402
from boxpen import Request  # noqa: E402
from boxpen.models.engine import cudnn  # noqa: E402
from boxpen.models.engine.cudnn import unplanned_attention  # noqa: E402
from boxpen.nmt.translate import force_score, translate_lines  # noqa: E402
from boxpen.training.arithmetic import fast_arithmetic  # noqa: E402

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def planned() -> bool:
    return torch.backends.cuda.cudnn_sdp_enabled()


@pytest.mark.parametrize("before", [True, False])
def test_the_switch_is_put_back_as_it_was(before):
    was = planned()
    torch.backends.cuda.enable_cudnn_sdp(before)
    try:
        with unplanned_attention(CPU):
            assert planned() is before
        with unplanned_attention(CUDA):
            assert not planned()
            with unplanned_attention(CUDA):
                assert not planned()
            assert not planned()
        assert planned() is before
        with pytest.raises(KeyError), unplanned_attention(CUDA):
            raise KeyError
        assert planned() is before
    finally:
        torch.backends.cuda.enable_cudnn_sdp(was)


def test_threads_that_overlap_leave_the_switch_as_it_was():
    seen: list[bool] = []

    def work() -> None:
        for _ in range(200):
            with unplanned_attention(CUDA):
                seen.append(planned())

    was = planned()
    at_once(work, 4)
    assert len(seen) == 800
    assert not any(seen)
    assert planned() is was


@pytest.fixture
def watched(monkeypatch):
    """Return what notes how the switch stands whenever a model runs, as if it ran on a GPU."""
    monkeypatch.setattr(cudnn, "_plans", lambda device: True)
    seen: list[bool] = []

    def watch(module: Any) -> list[bool]:
        module.register_forward_pre_hook(lambda *_: seen.append(planned()))
        return seen

    was = planned()
    torch.backends.cuda.enable_cudnn_sdp(True)
    yield watch
    assert planned()
    torch.backends.cuda.enable_cudnn_sdp(was)


@pytest.mark.parametrize("name", ["gpt2", "bert", "xlnet", "marian"])
def test_models_score_without_plans(tiny_models, score_all, watched, name):
    model = tiny_models.model(name)
    for layer in model.module.modules():  # what is not called as a whole has parts that are
        seen = watched(layer)
    more = {"source": "the box", "languages": ("en", "zh")} if name == "marian" else {}
    score_all(model, [Request(text=text, **more) for text in ("the pen is in the box", "the pen")])
    assert seen
    assert not any(seen)


def test_translations_are_searched_and_scored_without_plans(tiny_models, watched):
    model = tiny_models.model("marian")
    seen = watched(model.module)
    assert list(translate_lines(model.module, model.tokenizer, ["the box"], beam=2))
    searched = len(seen)
    force_score(model.module, model.tokenizer, ["the box"], ["the pen"])
    forced = len(seen)
    assert list(model.translate(["the box"], ("en", "zh"), beam=2))
    assert 0 < searched < forced < len(seen)
    assert not any(seen)


def test_a_training_makes_no_plans(watched):
    with fast_arithmetic(CUDA):
        assert not planned()
