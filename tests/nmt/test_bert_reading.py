"""What BERT reads beside a translation model, and BERTs from folders, good and bad."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from context_task import EOS, padded, tiny_marian  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from toy_corpus import write_config, write_corpus  # noqa: E402

from boxpen.errors import NmtError  # noqa: E402
from boxpen.nmt.config import ModelConfig, read_config  # noqa: E402
from boxpen.nmt.context import making  # noqa: E402
from boxpen.nmt.context.bert_fused import BertFusedForConditionalGeneration  # noqa: E402
from boxpen.nmt.data.bert_reading import BertReader, load_bert  # noqa: E402
from boxpen.nmt.data.examples import Examples  # noqa: E402
from boxpen.nmt.data.inputs import Reads, batch_of  # noqa: E402
from boxpen.nmt.data.prepared import prepare  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "girls", "left", "they", "##s", "."]
CLS, SEP = 2, 3


def tiny_bert(vocabulary: int = len(WORDS), positions: int = 12) -> Any:
    torch.manual_seed(5)
    shape = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=positions,
    )
    return transformers.BertModel(shape)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a BERT that knows eleven tokens and takes twelve at once."""
    place = tmp_path / "tiny-bert"
    bert = tiny_bert()
    bert.save_pretrained(place)
    vocabulary = place / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (place / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return place


def read(reader: BertReader, sources: list[str], contexts: list[str]) -> dict[str, Any]:
    """Return the input of a BERT-fused model."""
    sides = (reader.sentence_ids(contexts), reader.sentence_ids(sources))
    rows = [reader.joined(context, source) for context, source in zip(*sides, strict=True)]
    ids, mask = padded(rows)
    return {"bert_input_ids": ids.masked_fill(mask == 0, 0), "bert_attention_mask": mask}


def test_what_bert_reads(folder: Path) -> None:
    found = read(BertReader(folder), ["They left.", "the girls"], ["The girls left.", ""])
    assert found["bert_input_ids"].tolist() == [
        [CLS, 5, 6, 7, 10, SEP, 8, 7, 10, SEP],
        [CLS, 5, 6, SEP, 0, 0, 0, 0, 0, 0],
    ]
    assert found["bert_attention_mask"].tolist() == [[1] * 10, [1] * 4 + [0] * 6]


@given(
    context=st.lists(st.integers(5, 10), max_size=20),
    source=st.lists(st.integers(5, 10), max_size=8),
    most=st.integers(10, 30),
)
@settings(deadline=None)
def test_a_long_context_loses_its_beginning(
    context: list[int], source: list[int], most: int
) -> None:
    row = BertReader(a_tokenizer(), max_length=most).joined(context, source)
    assert len(row) <= most
    assert row[0] == CLS
    assert row[-len(source) - 1 :] == [*source, SEP]
    kept = row[1 : -len(source) - 1]
    if kept:
        assert kept.pop() == SEP
        assert kept
        assert context[-len(kept) :] == kept
        assert len(row) == most or kept == context
    else:
        assert not context or len(source) + 3 >= most


@given(
    sentences=st.lists(
        st.tuples(st.lists(st.integers(5, 10), max_size=8), st.booleans()), min_size=1, max_size=12
    ),
    before=st.integers(1, 3),
    most=st.integers(10, 30),
    data=st.data(),
)
@settings(deadline=None)
def test_rows_of_a_batch_are_joined_one_by_one(
    sentences: list[tuple[list[int], bool]], before: int, most: int, data: st.DataObject
) -> None:
    tokens, begins = zip(*sentences, strict=True)
    sizes = np.array([len(ids) for ids in tokens])
    documents = np.cumsum(begins).astype(np.int32)
    one = np.ones(len(sizes), np.int32)
    examples = Examples(
        one, np.cumsum(one), one, np.cumsum(one), documents, np.cumsum(one).astype(np.int32),
        bert=np.array([i for ids in tokens for i in ids], np.int32), bert_ends=np.cumsum(sizes),
    )  # fmt: skip
    reader = BertReader(a_tokenizer(), max_length=most)
    numbers = np.array(data.draw(st.permutations(range(len(sizes)))))
    batch = batch_of(
        examples, numbers, pad=0, start=0, reads=Reads(before, source=False, bert=reader)
    )
    for place, number in enumerate(numbers):
        first = number
        while first > 0 and documents[first - 1] == documents[number] and number - first < before:
            first -= 1
        context = [i for ids in tokens[first:number] for i in ids]
        mask = batch["bert_attention_mask"][place]
        row = batch["bert_input_ids"][place]
        assert row[mask == 1].tolist() == reader.joined(context, tokens[number])
        assert set(row[mask == 0].tolist()) <= {0}


def a_tokenizer() -> Any:
    return transformers.BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)})


def test_a_saved_model_takes_its_bert_tokenizer_along(folder: Path, tmp_path: Path) -> None:
    reader, saved = BertReader(folder), tmp_path / "model"
    model = BertFusedForConditionalGeneration.from_sentence_model(tiny_marian(1), load_bert(folder))
    model.save_pretrained(saved)
    reader.save_bert_tokenizer(saved)
    reader.save_bert_tokenizer(saved)  # over what is there
    assert [p.name for p in saved.iterdir() if p.name.startswith(".")] == []
    again = BertReader(saved)
    assert again.max_length == BertReader(saved / "bert").max_length == 12
    texts = ["They left .", "the girls said so"]
    assert again.sentence_ids(texts) == reader.sentence_ids(texts) == [[8, 7, 10], [5, 6, 1, 1]]
    with torch.no_grad():
        ids = torch.tensor([[9, 11, EOS]])
        inputs = read(again, ["they left"], ["the girls"])
        assert model(input_ids=ids, decoder_input_ids=ids, **inputs).logits.shape == (1, 3, 40)
    with pytest.raises(NmtError, match="holds a BERT-fused model, expected a BERT alone"):
        load_bert(saved)


def test_loading_a_bert_takes_its_weights(folder: Path) -> None:
    found = load_bert(folder)
    expected = tiny_bert()
    assert found.pooler is None
    assert not found.training
    weights = expected.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in found.state_dict().items())


def spoil(folder: Path, what: str) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if what == "no config":
        (folder / "config.json").unlink()
    elif what == "gpt":
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "gpt2"}))
    elif what == "no number":
        (folder / "config.json").write_text(json.dumps(config | {"vocab_size": "many"}))
    elif what == "no tokenizer":
        (folder / "vocab.txt").unlink()
    elif what == "more words":
        (folder / "vocab.txt").write_text("\n".join([*WORDS, "more"]) + "\n")
    elif what == "fewer words":
        (folder / "vocab.txt").write_text("\n".join(WORDS[:-1]) + "\n")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("no config", r"tiny-bert is not a BERT: its config.json cannot be read \(No such file"),
        ("gpt", "is not a BERT: its config.json has the model_type 'gpt2', expected 'bert' or"),
        ("no number", "config.json: vocab_size of BERT is 'many', expected a number"),
        ("no tokenizer", "tiny-bert has no tokenizer of BERT, expected tokenizer.json or vocab"),
        ("more words", "has 12 tokens, but BERT's embedding has 11: it is a BERT of another tok"),
        ("fewer words", "has 10 tokens, but BERT's embedding has 11: it is a BERT of another"),
    ],
)
def test_a_folder_that_is_no_bert_is_refused(folder: Path, what: str, message: str) -> None:
    spoil(folder, what)
    with pytest.raises(NmtError, match=message):
        BertReader(folder)


def test_too_long_a_source_is_refused(folder: Path) -> None:
    reader = BertReader(folder)
    read(reader, ["the " * 10], ["the"])
    with pytest.raises(NmtError, match=r"has 11 tokens.*expected 10 at most"):
        read(reader, ["the " * 11], [""])


def test_a_bert_without_its_weights_is_refused(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    weights = load_file(path)
    weights.pop("encoder.layer.1.output.dense.bias")
    save_file(weights, path, {"format": "pt"})
    with pytest.raises(
        NmtError, match=r"lacks the weight 'encoder\.layer\.1\.output\.dense\.bias'"
    ):
        load_bert(folder)
    path.write_bytes(b"nothing")
    with pytest.raises(NmtError, match=r"the BERT of .*tiny-bert cannot be loaded"):
        load_bert(folder)


def test_a_real_bert_is_read_and_fused() -> None:
    named = os.environ.get("BOXPEN_TEST_MODELS")
    real = (Path(named) if named else Path(__file__).parents[3] / "shared/models") / "bert-mini"
    if not real.is_dir():
        pytest.skip("no bert-mini: set BOXPEN_TEST_MODELS to the folder of real models")
    reader, bert = BertReader(real), load_bert(real)
    assert reader.max_length == bert.config.max_position_embeddings == 256
    torch.manual_seed(0)
    model = BertFusedForConditionalGeneration.from_sentence_model(tiny_marian(1), bert).eval()
    texts = ["They were tired.", "Nobody answered."]
    inputs = read(reader, texts, ["The girls came home.", ""])
    ids, mask = padded([[9, 11, 12, EOS], [14, EOS]])
    with torch.no_grad():
        both = model(input_ids=ids, attention_mask=mask, decoder_input_ids=ids, **inputs).logits
        alone = model(
            input_ids=ids[1:, :2],
            decoder_input_ids=ids[1:],
            **read(reader, texts[1:], [""]),
        ).logits
    torch.testing.assert_close(both[1], alone[0], rtol=0, atol=1e-4)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[200] ^= 255
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        cut_off,
        flipped,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"nothing"),
        lambda path: np.savez(path, other=np.arange(3)),
        lambda path: path.write_bytes(json.dumps({}).encode()),
    ],
)
def test_damaged_tokens_of_bert_are_made_again(
    folder: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    pytest.importorskip("sentencepiece")
    write_corpus(tmp_path, pairs=20)
    prepared = prepare(read_config(write_config(tmp_path)))
    config = ModelConfig(architecture="bert-fused", base=tmp_path / "base", bert=folder)
    told: list[str] = []
    first = making.with_bert(prepared, config, told.append)
    (path,) = prepared.folder.glob("train-bert-*.npz")
    told.clear()
    making.with_bert(prepared, config, told.append)
    assert told == []
    whole = path.read_bytes()
    damage(path)
    assert path.read_bytes() != whole
    again = making.with_bert(prepared, config, told.append)
    assert told == [
        f"{path} is damaged and will be rebuilt",
        f"train: cut into the tokens of {folder}",
    ]
    assert np.array_equal(again.train.bert, first.train.bert)
    assert np.array_equal(again.train.bert_ends, first.train.bert_ends)
    assert list(prepared.folder.glob("train-bert-*")) == [path]
    making.with_bert(prepared, config, told.append)
    assert len(told) == 2


def test_a_bert_that_is_no_number_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.dense.bias"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    monkeypatch.setattr(making, "load_base", lambda *_: tiny_marian(1))
    config = ModelConfig(architecture="bert-fused", base=Path("base"), bert=folder)
    with pytest.raises(NmtError, match=r"bert = .* has NaN or Inf in its weight 'encoder"):
        making.new_context_model(config, Path("subwords"), lambda: None)
