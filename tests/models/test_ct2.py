"""CTranslate2 against Transformers: the same tiny Marian, converted, gives the same numbers."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import tiny

from boxpen import Request, resolve_model

PAIRS = [
    ("盒子在围栏里。", "The box was in the pen."),
    ("小男孩在找他的玩具箱。", "The little boy was looking for his toy box. Finally he found it."),
    ("小男孩在找他的玩具箱。", "Who did this?"),
    ("箱", "It rained all night!"),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The checkpoint, and what CTranslate2's own converter makes of it."""
    pytest.importorskip("ctranslate2")
    root = tmp_path_factory.mktemp("ct2")
    tiny.ct2(root)
    return root


@pytest.mark.parametrize("eos", ["always", "never"])
@pytest.mark.parametrize("batch_size", [1, 3, None])
def test_a_converted_marian_scores_as_its_original(folders, score_all, eos, batch_size):
    """The converter leaves EOS of the source to the caller; without it every score is off."""
    requests = [Request(text=t, source=s, languages=("zh", "en")) for s, t in PAIRS]
    original = resolve_model(f"hf:{folders / 'hf'}", batch_size=batch_size)
    converted = resolve_model(f"ct2:{folders / 'ct2'}", batch_size=batch_size)
    for a, b in zip(
        score_all(original, requests, eos=eos),
        score_all(converted, requests, eos=eos),
        strict=True,
    ):
        np.testing.assert_allclose(a.logprobs, b.logprobs, rtol=0, atol=1e-4)
        assert a.total == pytest.approx(b.total, rel=0, abs=1e-4 * len(a.logprobs))


def translated(model, pieces):
    """Return the translation of a model that has come upon certain pieces."""
    found = [SimpleNamespace(hypotheses=[pieces])]
    vars(model)["_translator"] = SimpleNamespace(translate_batch=lambda *_, **__: found)
    return list(model.translate(["箱"], ("zh", "en"), beam=1))


def test_a_character_spelt_in_bytes_comes_out_whole(folders, tmp_path):
    from boxpen.nmt.data.subwords import SubwordConfig, train_subwords

    shutil.copytree(folders / "ct2", tmp_path / "ct2")
    texts = [target for _, target in PAIRS]
    train_subwords(
        SubwordConfig(size=400),
        texts,
        texts,
        tmp_path / "ct2",
        source_language="en",
        target_language="en",
    )
    pieces = ["▁The", "▁", *(f"<0x{byte:02X}>" for byte in "鑫".encode()), "▁box", "▁other", "."]
    model = resolve_model(f"ct2:{tmp_path / 'ct2'}")
    assert translated(model, pieces) == [[(0, "The 鑫 box other.")]]
    assert translated(model, []) == [[(0, "")]]
    (tmp_path / "ct2" / "target.spm").unlink()
    model = resolve_model(f"ct2:{tmp_path / 'ct2'}")
    assert translated(model, ["▁The", "▁box", "es", "."]) == [[(0, "The boxes.")]]
