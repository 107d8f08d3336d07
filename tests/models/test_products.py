"""Products by oneDNN are those of float32, and the setting they take goes with the context."""

import contextlib

import pytest
import tiny
import torch

from boxpen import Request, resolve_model
from boxpen.models.engine import products
from boxpen.scoring.policy import ScoringPolicy

SETTING = getattr(torch.backends.mkldnn, "matmul", None)


@pytest.mark.parametrize("shape", [(300, 576, 192), (1, 64, 64), (7, 1536, 576)])
def test_factors_are_not_rounded(shape):
    rows, inner, columns = shape
    torch.manual_seed(0)
    left, right = torch.randn(rows, inner), torch.randn(inner, columns)
    with products.fast_products("cpu"):
        apart = (left @ right - left.double() @ right.double()).abs().max()
    assert apart < 1e-5 * inner


def test_the_setting_is_put_back():
    if not hasattr(SETTING, "fp32_precision"):
        pytest.skip("this PyTorch has no such setting")
    before = SETTING.fp32_precision
    with products.fast_products("cpu"):
        used = SETTING.fp32_precision != before
    assert used == products.fast_products_used("cpu")
    assert SETTING.fp32_precision == before


def test_it_is_off_while_a_generator_waits(monkeypatch):
    """While it is on, asking PyTorch for the precision of products raises in every thread."""
    model = resolve_model(tiny.gpt2())
    policy = model.resolve_policy(ScoringPolicy())
    seen = []
    monkeypatch.setattr(products, "fast_products_used", lambda _: True)
    monkeypatch.setattr(products, "_by_onednn", lambda: noted(seen))
    waiting = model.score([Request(f"the box {n}") for n in range(5)], policy)
    next(waiting)
    assert seen[0] == "on"
    assert seen[-1] == "off"
    waiting.close()
    assert seen[-1] == "off"


@contextlib.contextmanager
def noted(seen):
    seen.append("on")
    yield
    seen.append("off")


@pytest.mark.parametrize("own", ["none", "ieee"])
def test_an_inherited_setting_stays_inherited(own):
    if not hasattr(SETTING, "fp32_precision"):
        pytest.skip("this PyTorch has no such setting")
    before = torch.backends.fp32_precision, SETTING.fp32_precision
    try:
        torch.backends.fp32_precision, SETTING.fp32_precision = "tf32", own
        with products._by_onednn():
            assert SETTING.fp32_precision == "bf16"
        assert SETTING.fp32_precision == ("tf32" if own == "none" else own)
        torch.backends.fp32_precision = "none"
        assert SETTING.fp32_precision == own
    finally:
        torch.backends.fp32_precision, SETTING.fp32_precision = before


def test_products_of_every_shape_are_tried(monkeypatch):
    """A kernel that rounds only thin or only large products is found too."""
    if not products.fast_products_used("cpu"):
        pytest.skip("this CPU has no such products")
    apart = products._apart
    for bad in products._SHAPES:
        monkeypatch.setattr(
            products,
            "_apart",
            lambda *of, bad=bad: 1.0 if of[:3] == bad else apart(*of),
        )
        assert not products._gains.__wrapped__()
    assert min(rows for rows, _, _ in products._SHAPES) == 1
    assert max(rows for rows, _, _ in products._SHAPES) >= 1024


def test_a_processor_that_would_round_is_left_alone(monkeypatch):
    monkeypatch.setattr(products, "_ROUNDING", 0.0)
    assert not products._gains.__wrapped__()
    with products.fast_products("cuda"):
        assert not products.fast_products_used("cuda")


def test_deterministic_scores_are_kept_apart_by_library(monkeypatch):
    model = resolve_model(tiny.gpt2(), deterministic=True)
    settings = []
    for used in (True, False):
        monkeypatch.setattr(products, "_gains", lambda used=used: used)
        settings.append(model.exactness())
    assert settings[0] == settings[1] | {"products": "onednn"}
    policy = model.resolve_policy(ScoringPolicy())
    assert [r.total for batch in model.score([Request("the box")], policy) for _, r in batch]
