"""Products by oneDNN are those of float32, and the setting they take goes with the context."""

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
