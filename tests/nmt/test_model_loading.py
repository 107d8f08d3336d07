"""Models are loaded whole or not at all: what is missing, broken or no number is one sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("sentencepiece")

from safetensors.torch import load_file, save_file  # noqa: E402
from toy_corpus import write_config, write_corpus  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from boxpen import Card, Choice, ModelError, Suite, resolve_model, write_suite  # noqa: E402
from boxpen.cli.app import app  # noqa: E402
from boxpen.errors import ConfigError, NmtError  # noqa: E402
from boxpen.nmt.config import NmtConfig, read_config  # noqa: E402
from boxpen.nmt.data.prepared import prepare  # noqa: E402
from boxpen.nmt.folder import ModelFolder  # noqa: E402
from boxpen.nmt.loading import load_model, load_tokenizer  # noqa: E402
from boxpen.nmt.reading import Reading  # noqa: E402

KINDS = ["transformer", "rnnsearch", "concat", "thumt", "cadec"]
FC1 = "model.encoder.layers.0.fc1.weight"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of models as a training leaves them, but for what they would have learnt."""
    folder = tmp_path_factory.mktemp("models")
    write_corpus(folder, pairs=40)
    for kind in KINDS:
        config = configured(folder, kind)
        place = ModelFolder(config, prepare(config))
        place.begin()
        torch.manual_seed(1)
        model = place.new_model()
        place.finish(partial(place.save, model), {})
    return folder


def configured(folder: Path, kind: str, base: Path | None = None) -> NmtConfig:
    config = read_config(write_config(folder))
    if kind in ("concat", "thumt", "cadec"):
        base = base or folder / "transformer"
    model = replace(config.model, architecture=kind, base=base)  # type: ignore[arg-type]
    return replace(config, folder=folder / kind, model=model)


@pytest.fixture
def copied(models: Path, tmp_path: Path) -> Callable[[str], Path]:
    def copy(kind: str) -> Path:
        return Path(shutil.copytree(models / kind, tmp_path / "model"))

    return copy


def changed(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def without(folder: Path, *names: str) -> None:
    weights = load_file(folder / "model.safetensors")
    for name in names:
        del weights[name]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def refused(folder: Path, *says: str) -> None:
    with pytest.raises(NmtError) as found:
        load_model(folder)
    told = str(found.value)
    assert told.startswith(f"{folder} ")
    assert "\n" not in told
    for part in says:
        assert part in told


# --- weights ---


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_model_is_loaded_and_one_without_a_weight_is_not(copied, kind):
    folder = copied(kind)
    model, _ = load_model(folder)
    assert not model.training
    names = sorted(load_file(folder / "model.safetensors"))
    last = next(n for n in reversed(names) if n.endswith(".weight") and "embed" not in n)
    without(folder, last)
    refused(folder, f"lacks 1 weight(s), such as '{last}', expected all of them")


def test_what_is_tied_or_computed_need_not_be_there(copied):
    folder = copied("transformer")
    names = set(load_file(folder / "model.safetensors"))
    assert "lm_head.weight" not in names  # it is the target's embedding
    assert not any("embed_positions" in name for name in names)
    without(folder, "final_logits_bias")
    load_model(folder)
    without(folder, "model.decoder.embed_tokens.weight")
    refused(folder, "lacks 2 weight(s), such as 'lm_head.weight'")


def test_a_weight_of_another_shape_is_named(copied):
    folder = copied("transformer")
    changed(folder / "config.json", encoder_ffn_dim=96)
    refused(folder, "has the weight 'model.encoder.layers.0.fc1.bias' of the shape (128,), expected"
            " (96,), as its config.json says")  # fmt: skip


def test_translation_and_a_base_refuse_a_model_without_a_weight(models, copied):
    folder = copied("transformer")
    without(folder, FC1)
    done = CliRunner().invoke(app, ["translate", str(folder)], input="猫\n")
    assert done.exit_code == 2
    assert f"lacks 1 weight(s), such as '{FC1}'" in " ".join(done.stderr.split())
    config = configured(models, "thumt", base=folder)
    with pytest.raises(NmtError, match="lacks 1 weight"):
        ModelFolder(config, prepare(config)).new_model()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_base_that_is_no_number_is_refused(models, copied, value):
    folder = copied("transformer")
    weights = load_file(folder / "model.safetensors")
    weights[FC1][3, 5] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    for kind in ("concat", "thumt", "cadec"):
        config = configured(models, kind, base=folder)
        with pytest.raises(NmtError) as found:
            ModelFolder(config, prepare(config)).new_model()
        assert str(found.value) == (
            f"{folder} has NaN or Inf in its weight '{FC1}', expected a trained model"
        )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_is_no_number_does_not_translate(copied, kind, value):
    folder = copied(kind)
    weights = load_file(folder / "model.safetensors")
    name = next(n for n in sorted(weights) if n.endswith(".weight") and "embed" not in n)
    weights[name].flatten()[3] = value
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    refused(folder, f"has NaN or Inf in its weight '{name}', expected")
    command = ["translate", str(folder)]
    command += ["--context", "none"] if kind not in ("transformer", "rnnsearch") else []
    done = CliRunner().invoke(app, command, input="猫\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "has NaN or Inf" in " ".join(done.stderr.split())


def test_what_is_not_learnt_may_forbid_a_token(copied):
    folder = copied("transformer")
    weights = load_file(folder / "model.safetensors")
    weights["final_logits_bias"][0, 2] = float("-inf")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    load_model(folder)
    weights["final_logits_bias"][0, 2] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    refused(folder, "in its weight 'final_logits_bias'")


# --- the vocabulary ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", ["vocab.json", "target_vocab.json"])
def test_a_vocabulary_of_another_training_is_refused(copied, kind, file):
    folder = copied(kind)
    load_model(folder)
    resolve_model(f"hf:{folder}", device="cpu").load()
    numbers = json.loads((folder / file).read_text())
    one, other = list(numbers)[10:12]
    numbers[one], numbers[other] = numbers[other], numbers[one]
    (folder / file).write_text(json.dumps(numbers))
    says = "has another vocabulary than it was trained with, as its training.json tells; put back "
    refused(folder, says)
    with pytest.raises(ModelError) as found:
        resolve_model(f"hf:{folder}", device="cpu")
    assert str(found.value).startswith(f"model 'hf:{folder}' {says}")
    (folder / "training.json").unlink()  # nothing is known then
    load_model(folder)
    resolve_model(f"hf:{folder}", device="cpu").load()


def test_a_run_with_a_vocabulary_of_another_training_is_one_sentence(copied, tmp_path):
    folder = copied("transformer")
    vocabulary = (folder / "vocab.json").read_text()
    (folder / "vocab.json").write_text(f"{vocabulary} ")
    items = (Choice(id="a", source="猫", candidates=("A cat.", "A dog."), gold=0),)
    suite = tmp_path / "suite.jsonl"
    write_suite(Suite("toy", items, Card(language="en", source_language="zh")), suite)
    out = tmp_path / "run.json"
    command = ["run", "--suite", str(suite), "--model", f"hf:{folder}", "--out", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "has another vocabulary than it was trained with" in " ".join(done.stderr.split())
    assert not out.exists()


def test_a_target_vocabulary_larger_than_the_model_is_refused_by_the_scorer(copied):
    folder = copied("transformer")
    (folder / "training.json").unlink()
    numbers = json.loads((folder / "target_vocab.json").read_text())
    changed(folder / "target_vocab.json", more=len(numbers))
    with pytest.raises(ModelError) as found:
        resolve_model(f"hf:{folder}", device="cpu").load()
    assert str(found.value) == (
        f"the tokenizer of hf:{folder} has 451 tokens for its target, its model 450: they do not "
        "belong together"
    )


# --- files beside the weights ---


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("vocab.json", "{}", "no tokenizer that can be loaded: '<unk> token must be in the vocab'"),
        (
            "vocab.json",
            "[]",
            "no tokenizer that can be loaded: its vocab.json is not a JSON object",
        ),
        (
            "vocab.json",
            '{"<unk>": -1, "<pad>": 2}',
            "the number -1 for the piece '<unk>' of its",
        ),
        ("target_vocab.json", "{}", "has a target vocabulary of no pieces"),
        ("target_vocab.json", "null", "its target_vocab.json is not a JSON object"),
        ("target_vocab.json", '{"</s>": "a"}', "has the number 'a' for the piece '</s>' of its t"),
        ("target_vocab.json", '{"a": 450}', "the number 450 for the piece 'a' of its target"),
        ("tokenizer_config.json", '"x"', "its tokenizer_config.json is not a JSON object"),
        ("generation_config.json", "[]", "its generation_config.json is not a JSON object"),
        ("generation_config.json", "{", "its generation_config.json is not JSON ("),
        (
            "generation_config.json",
            "{}",
            "generation_config.json: decoder_start_token_id is None, expected a whole n",
        ),
        ("config.json", "3", "cannot be loaded: its config.json is not a JSON object"),
        ("config.json", "{}", "cannot be loaded: Unrecognized model"),
    ],
)
def test_a_broken_file_is_one_sentence(copied, file, text, says):
    folder = copied("transformer")
    (folder / file).write_text(text)
    refused(folder, says)


@pytest.mark.parametrize("text", ["{}", "[]"])
def test_a_broken_vocabulary_is_one_sentence_for_a_tokenizer_alone(copied, text):
    folder = copied("transformer")
    (folder / "vocab.json").write_text(text)
    with pytest.raises(NmtError, match="has no tokenizer that can be loaded: "):
        load_tokenizer(folder)


@pytest.mark.parametrize(
    ("kind", "name", "value", "says"),
    [
        ("transformer", "d_model", "x", "its config.json: d_model is 'x', expected a whole number"),
        ("transformer", "d_model", -4, "its config.json: d_model is -4, expected 1 or more"),
        ("transformer", "d_model", None, "Field 'd_model' expected int"),
        ("transformer", "encoder_layers", -1, "encoder_layers is -1, expected 1 or more"),
        ("transformer", "vocab_size", True, "vocab_size is True, expected a whole number"),
        ("transformer", "dropout", -4, "dropout is -4, expected 0 to 1"),
        ("transformer", "activation_function", "x", "cannot be loaded: no 'x' is known"),
        ("transformer", "model_type", [], "cannot be loaded: "),
        ("rnnsearch", "hidden_size", "x", "hidden_size is 'x', expected a whole number"),
        ("rnnsearch", "hidden_size", 63, "cannot be loaded: RNNSearch cannot have 2 layers 63 wid"),
    ],
)
def test_a_broken_setting_is_one_sentence(copied, kind, name, value, says):
    folder = copied(kind)
    changed(folder / "config.json", **{name: value})
    refused(folder, says)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("decoder_start_token_id", 450, "0 to 449"),
        ("eos_token_id", "x", "a whole number or a list"),
        ("pad_token_id", 1.5, "a whole number"),
        ("num_beams", "x", "a whole number"),
        ("num_beams", 100_000, "1 to 1,000"),
        ("length_penalty", [], "a number"),
        ("length_penalty", 1000.0, "-10 to 10"),
    ],
)
def test_a_broken_setting_of_translation_is_one_sentence(copied, name, value, expected):
    folder = copied("transformer")
    changed(folder / "generation_config.json", **{name: value})
    says = f"its generation_config.json: {name} is {value!r}, expected {expected}"
    refused(folder, says)


# --- how much context is read ---


@pytest.mark.parametrize("name", ["context_sentences", "context_tokens"])
@pytest.mark.parametrize("value", [-1, 0, "2", True, None, 1.5, 10**30])
@pytest.mark.parametrize("kind", ["concat", "cadec"])
def test_a_context_of_no_size_is_refused(copied, kind, name, value):
    folder = copied(kind)
    changed(folder / "config.json", **{name: value})
    refused(folder, repr(value), "expected")


def test_a_context_of_no_size_is_refused_by_all_who_read_it(copied):
    folder = copied("concat")
    model, tokenizer = load_model(folder)
    reading = Reading(model, tokenizer)
    assert (reading.sentences, reading.context_tokens) == (1, 128)
    model.config.context_tokens = "many"
    with pytest.raises(ConfigError) as found:
        Reading(model, tokenizer)
    assert str(found.value) == (
        f"{folder} has a wrong config.json: context_tokens is 'many', expected a whole number"
    )
    changed(folder / "config.json", context_sentences="x")
    command = ["translate", str(folder), "--context", "lines"]
    done = CliRunner().invoke(app, command, input="猫\n")
    assert done.exit_code == 2
    assert "config.json: context_sentences is 'x', expected a whole number" in " ".join(
        done.stderr.split()
    )
