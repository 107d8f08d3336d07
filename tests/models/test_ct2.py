"""CTranslate2 against Transformers: the same tiny Marian, converted, gives the same numbers."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import tiny
import torch

from boxpen import Choice, ModelError, Request, Suite, evaluate, resolve_model
from boxpen.matrix.settings import RunSettings

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


def test_precision_fast_scores_as_stored_and_says_so(folders):
    """Nobody asked for float32, so nothing is refused."""
    source, text = PAIRS[0][1], PAIRS[0][0]
    item = Choice(id="one", source=source, candidates=(text, f"{text} {text}"), gold=0)
    name = f"ct2:{folders / 'ct2'}"
    how = {"cache": ":memory:", "check_languages": False, "translate": False}
    run = evaluate(name, Suite("one", (item,)), precision="fast", **how)
    assert "precision 'fast' is not available here" in run.info.model.remark
    assert run.signature == evaluate(name, Suite("one", (item,)), **how).signature
    settings = RunSettings(suite=("starter",), model=(name,), precision="fast")
    assert settings.resolved(name, print).dtype == "stored"


def test_padding_that_a_marian_forbids_takes_no_probability(tmp_path, score_all):
    """As converted from Marian, padding has a logit of zero, and is only kept out of searches."""
    converters = pytest.importorskip("ctranslate2.converters")
    module, tokenizer = tiny.marian(tmp_path)
    pad = module.config.pad_token_id
    requests = [Request(text=t, source=s, languages=("zh", "en")) for s, t in PAIRS]
    with torch.no_grad():
        module.model.shared.weight[pad] = 0
        module.final_logits_bias -= 1.5
        module.final_logits_bias[0, pad] = 0
    tokenizer.save_pretrained(tmp_path / "hf")
    scores, fingerprints = {}, {}
    for name, words in (("allowed", None), ("forbidden", [[pad], [1, 2]])):
        module.generation_config.bad_words_ids = words
        module.save_pretrained(tmp_path / "hf")
        model = resolve_model(f"hf:{tmp_path / 'hf'}")
        scores[name], fingerprints[name] = score_all(model, requests), model.fingerprint
    converters.TransformersConverter(str(tmp_path / "hf")).convert(str(tmp_path / "ct2"))
    for side in ("source.spm", "target.spm"):
        shutil.copy(tmp_path / "hf" / side, tmp_path / "ct2" / side)
    converted = score_all(resolve_model(f"ct2:{tmp_path / 'ct2'}"), requests)
    older = tmp_path / "hf" / "config.json"  # which held the settings for generation once
    (tmp_path / "hf" / "generation_config.json").unlink()
    older.write_text(json.dumps(json.loads(older.read_text()) | {"bad_words_ids": [[pad]]}))
    for one, other in zip(
        score_all(resolve_model(f"hf:{tmp_path / 'hf'}"), requests), converted, strict=True
    ):
        np.testing.assert_allclose(one.logprobs, other.logprobs, rtol=0, atol=1e-4)
    for allowed, forbidden, other in zip(*scores.values(), converted, strict=True):
        np.testing.assert_allclose(forbidden.logprobs, other.logprobs, rtol=0, atol=1e-4)
        assert (allowed.logprobs < other.logprobs - 1e-4).all()
    assert len(set(fingerprints.values())) == 2
    bias = module.final_logits_bias
    pair = resolve_model((module, tokenizer))
    for one, other in zip(score_all(pair, requests), converted, strict=True):
        np.testing.assert_allclose(one.logprobs, other.logprobs, rtol=0, atol=1e-4)
    assert module.final_logits_bias is bias
    module.generation_config.bad_words_ids = None
    for one, other in zip(
        score_all(resolve_model((module, tokenizer)), requests), scores["allowed"], strict=True
    ):
        np.testing.assert_allclose(one.logprobs, other.logprobs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("words", [5, "x", [5], [[10**6]], [["a"]], [[None]], [[-1]], [[1.5]]])
def test_a_marian_that_forbids_no_tokens_is_refused(folders, tmp_path, words):
    shutil.copytree(folders / "hf", tmp_path / "hf")
    path = tmp_path / "hf" / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"bad_words_ids": words}))
    with pytest.raises(ModelError, match="has bad_words_ids that are not lists of its token ids"):
        resolve_model(f"hf:{tmp_path / 'hf'}")


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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'["a", ', "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b'["\xff"]', "is not UTF-8"),
        (b'{"a": 1}', "is not a list of strings"),
        (b'["a", 1]', "is not a list of strings"),
    ],
)
def test_a_damaged_vocabulary_is_told_in_one_sentence(folders, tmp_path, content, message):
    folder = shutil.copytree(folders / "ct2", tmp_path / "ct2")
    (folder / "shared_vocabulary.json").write_bytes(content)
    with pytest.raises(ModelError, match=rf"shared_vocabulary\.json {message}$"):
        resolve_model(f"ct2:{folder}")


@pytest.mark.parametrize("name", [b"linear_1/weight", b"layer_norm/gamma"])
def test_damaged_names_of_weights_are_told_in_one_sentence(folders, tmp_path, score_all, name):
    folder = shutil.copytree(folders / "ct2", tmp_path / "ct2")
    weights = (folder / "model.bin").read_bytes()
    assert name in weights
    (folder / "model.bin").write_bytes(weights.replace(name, b"x\r\n" + name[3:]))
    requests = [Request(text=t, source=s, languages=("zh", "en")) for s, t in PAIRS]
    with pytest.raises(ModelError, match="cannot be loaded") as refused:
        score_all(resolve_model(f"ct2:{folder}"), requests)
    assert "\n" not in str(refused.value)
