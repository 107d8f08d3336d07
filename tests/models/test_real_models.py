"""The real models at hand; each test is skipped, visibly, where its model is absent."""

from __future__ import annotations

import pytest
import twins

from boxpen import ModelError, Request, resolve_model

SENTENCES = (
    "The box is in the pen.",
    "The pen is in the box.",
    "A souvenir seller wouldn't sell his unbelievable lanterns.",
    "They squeezed a piano into the glove box.",
    "Yes.",
)


@pytest.fixture(scope="module")
def bert_mini(model_dir):
    folder = model_dir / "bert-mini"
    if not folder.is_dir():
        pytest.skip("no bert-mini: set BOXPEN_TEST_MODELS to the folder of real models")
    return resolve_model(f"hf:{folder}", device="cpu")


@pytest.fixture(scope="module")
def opus(model_dir):
    folder = model_dir / "opus-mt-zh-en"
    if not folder.is_dir():
        pytest.skip("no opus-mt-zh-en: set BOXPEN_TEST_MODELS to the folder of real models")
    return resolve_model(f"ct2:{folder}", device="cpu")


@pytest.mark.parametrize(
    "pll",
    [
        "within_word_l2r",
        *(pytest.param(p, marks=pytest.mark.heavy) for p in ("original", "unmasked")),
    ],
)
def test_bert_mini_equals_its_twin(pll, bert_mini, score_all, agree):
    pair = (bert_mini.module, bert_mini.tokenizer)
    records = score_all(bert_mini, [Request(text=s) for s in SENTENCES], pll=pll)
    for sentence, record in zip(SENTENCES, records, strict=True):
        agree(record, twins.masked(pair, sentence, pll=pll, words=twins.WORDS["bert"]))


def test_bert_mini_prefers_sense(bert_mini, score_all):
    pairs = [
        ("He emptied the glass in one gulp.", "He emptied the glass in one brick."),
        ("She went to school by bus.", "She went to school by soup."),
        ("The baker sold warm bread.", "The baker sold warm traffic."),
    ]
    records = score_all(bert_mini, [Request(text=s) for pair in pairs for s in pair])
    assert all(r.total < 0 for r in records)
    right = [good.total > bad.total for good, bad in zip(records[::2], records[1::2], strict=True)]
    assert sum(right) >= 2


def test_opus_prefers_the_right_translation(opus, score_all):
    """With wrong target pieces the right translation scores some -12 a piece."""
    source = "中国的首都是北京。"
    right, wrong = score_all(
        opus,
        [
            Request(text=f"The capital of China is {city}.", source=source, languages=("zh", "en"))
            for city in ("Beijing", "Paris")
        ],
    )
    assert right.total / len(right.logprobs) > -0.6
    assert wrong.total < right.total - 3
    assert right.unknown == wrong.unknown == 0
    assert opus.direction == ("zh", "en")


def test_opus_batches_change_nothing(opus, score_all):
    """Its weights are int8, and its scores still do not depend on the company they keep."""
    pairs = [
        ("中国的首都是北京。", "The capital of China is Beijing."),
        ("你好。", "Hello."),
        ("他每天早上七点骑自行车去上班。", "He rides his bicycle to work at seven every morning."),
        ("你好。", "Good morning, ladies and gentlemen, and thank you all for coming tonight."),
    ]
    requests = [Request(text=t, source=s, languages=("zh", "en")) for s, t in pairs]
    together = score_all(opus, requests)
    for request, record in zip(requests, together, strict=True):
        (alone,) = score_all(opus, [request])
        assert record.token_ids.tolist() == alone.token_ids.tolist()
        assert record.total == pytest.approx(alone.total, abs=1e-3)


def test_opus_eos(opus, score_all):
    request = Request(text="Hello.", source="你好。", languages=("zh", "en"))
    (scored,), (unscored,) = score_all(opus, [request]), score_all(opus, [request], eos="never")
    assert scored.token_ids.tolist()[:-1] == unscored.token_ids.tolist()
    assert scored.logprobs.tolist()[:-1] == unscored.logprobs.tolist()


def test_opus_translates(opus):
    made = dict(
        pair for batch in opus.translate(["你好。"], ("zh", "en"), beam=5) for pair in batch
    )
    assert "ello" in made[0] or "Hi" in made[0]
    assert "▁" not in made[0]


@pytest.mark.heavy  # fast: tiny models of the same class in test_twins.py
def test_smollm2_equals_its_twin(score_all, agree):
    from boxpen.models.loading.embedded import smollm2_path

    try:
        smollm2_path(download=False)
    except ModelError as error:
        pytest.skip(str(error))
    model = resolve_model("smollm2", device="cpu")
    pair = (model.module, model.tokenizer)
    records = score_all(model, [Request(text=s) for s in SENTENCES])
    for sentence, record in zip(SENTENCES, records, strict=True):
        expected = twins.causal(pair, sentence, bos=model.tokenizer.bos_token_id)
        agree(record, expected, tolerance=5e-4)  # 30 layers of float32
