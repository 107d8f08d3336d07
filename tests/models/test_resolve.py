"""From a name to a model: the right kind, or one sentence that says why not."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import pytest
import tiny
import torch
import transformers

from boxpen import BoxpenError, ModelError, Request, ScoringPolicy, resolve_model
from boxpen.models import resolve
from boxpen.models.loading.fingerprint import of_directory
from boxpen.models.loading.kinds import kind_of
from boxpen.models.resolve import recognised, shadowed_by_preset
from small_runs import Liking


def use_of(spec) -> None:
    """Resolve a model and score something: weights are loaded when first needed."""
    model = resolve_model(spec, device="cpu")
    list(model.score([Request(text="a box")], model.resolve_policy(ScoringPolicy())))


def refused(spec, match: str, *, use: bool = False) -> None:
    with pytest.raises(ModelError, match=match) as caught:
        use_of(spec) if use else resolve_model(spec, device="cpu")
    assert "\n" not in str(caught.value)


def saved(folder, module, tokenizer=None):
    module.save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return f"hf:{folder}"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("hf:mine", "mine"),
        ("hf:mine/", "mine"),
        ("hf:./mine", "mine"),
        ("hf:org/mine", "mine"),
        ("gguf:mine.gguf", "mine.gguf"),
        ("ct2:mine", "mine"),
        ("elmo:mine", "mine"),
        ("smollm2", "smollm2"),
        ("v2:mine", "v2:mine"),  # a name given to a model in memory
        ("hf:.", "hf:."),
        ("hf:../..", "hf:../.."),
    ],
)
def test_the_short_name_has_neither_scheme_nor_folders(name, short):
    assert Liking(name, set()).short == short


@pytest.mark.parametrize("name", list(tiny.BUILDERS))
def test_every_checkpoint_gets_its_kind(name, tiny_models):
    model = tiny_models.model(name)
    assert model.kind == tiny.KINDS[name]
    assert model.encoder == (model.kind == "seq2seq")
    assert model.can_translate() == model.encoder
    assert model.dtype == "float32"
    assert type(model.module) is type(tiny_models.pair(name)[0])


def test_marian_names_its_direction(tiny_models):
    model = tiny_models.model("marian")
    assert model.direction == ("zh", "en")
    assert model.reads("zh")
    assert not model.reads("fr")


@pytest.mark.parametrize(
    ("architecture", "model_type", "kind"),
    [
        ("GPT2LMHeadModel", "gpt2", "causal"),
        ("OpenAIGPTLMHeadModel", "openai-gpt", "causal"),
        ("BertForMaskedLM", "bert", "masked"),
        ("BertForPreTraining", "bert", "masked"),
        ("BertLMHeadModel", "bert", "causal"),
        ("XLMRobertaForMaskedLM", "xlm-roberta", "masked"),
        ("XLNetLMHeadModel", "xlnet", "permuted"),
        ("MarianMTModel", "marian", "seq2seq"),
        ("T5ForConditionalGeneration", "t5", "seq2seq"),
        ("M2M100ForConditionalGeneration", "m2m_100", "seq2seq"),
        ("GPT2Model", "gpt2", "causal"),
        (None, "llama", "causal"),
    ],
)
def test_kind_of(architecture, model_type, kind):
    config = transformers.AutoConfig.for_model(model_type)
    config.architectures = None if architecture is None else [architecture]
    assert kind_of(config, "x") == kind


@pytest.mark.parametrize("architecture", ["BertForTokenClassification", "BertForQuestionAnswering"])
def test_a_model_of_another_task_is_refused(architecture, tiny_models, tmp_path):
    _, tokenizer = tiny_models.pair("bert")
    module = getattr(transformers, architecture)(tiny.bert_config(tokenizer))
    refused(saved(tmp_path / "c", module, tokenizer), f"{architecture}.*gives no probabilities")
    refused((module, tokenizer), f"{architecture}.*gives no probabilities")


def test_a_checkpoint_without_a_head_does_not_get_a_random_one(tiny_models, tmp_path):
    """Transformers invents the missing weights anew at every load, and only warns."""
    module, tokenizer = tiny_models.pair("bert")
    headless = transformers.BertModel(module.config)
    spec = saved(tmp_path / "headless", headless, tokenizer)
    with pytest.raises(ModelError, match=r"head|missing|weights"):
        use_of(spec)


def test_a_headless_module_in_memory_is_refused(tiny_models):
    module, tokenizer = tiny_models.pair("bert")
    with pytest.raises(ModelError):
        use_of((module.bert, tokenizer))


def test_a_headless_checkpoint_with_tied_weights_is_whole(tiny_models, tmp_path, score_all):
    """GPT-2's output layer is its embedding: nothing is missing from a GPT2Model."""
    module, tokenizer = tiny_models.pair("gpt2")
    model = resolve_model(saved(tmp_path / "body", module.transformer, tokenizer), device="cpu")
    (body,) = score_all(model, [Request(text="The box was in the pen.")])
    (whole,) = score_all(tiny_models.model("gpt2"), [Request(text="The box was in the pen.")])
    assert body.logprobs.tolist() == whole.logprobs.tolist()


def test_no_tokenizer(tiny_models, tmp_path):
    refused(saved(tmp_path / "bare", tiny_models.pair("gpt2")[0]), "has no tokenizer files")


def test_the_tokenizer_of_another_model(tiny_models):
    module, _ = tiny_models.pair("gpt2")
    _, foreign = tiny_models.pair("gpt2")
    foreign = copy.deepcopy(foreign)
    foreign.add_tokens([f"word{i}" for i in range(3000)])
    refused((module, foreign), "do not belong together", use=True)


@pytest.mark.parametrize("name", list(tiny.BUILDERS))
def test_a_tokenizer_with_one_piece_too_many(name, tiny_models, tmp_path):
    """A token past the matrix was an IndexError in the midst of a run."""
    module, tokenizer = tiny_models.pair(name)
    added = tokenizer.added_tokens_encoder
    last = max(number for piece, number in tokenizer.get_vocab().items() if piece not in added)
    module = copy.deepcopy(module)
    module.config.pad_token_id = None if name == "marian" else module.config.pad_token_id
    module.resize_token_embeddings(last)
    with pytest.raises(ModelError) as caught:
        resolve_model(saved(tmp_path / "c", module, tokenizer), device="cpu").load()
    told = str(caught.value)
    assert told.endswith(f"tokens, its model {last}: they do not belong together")
    assert "\n" not in told


def test_a_classifier_with_the_tokenizer_of_another_model(tiny_models, tmp_path):
    _, tokenizer = tiny_models.pair("bert")
    config = tiny.bert_config(tokenizer, num_labels=1)
    config.vocab_size -= 1
    spec = saved(tmp_path / "c", transformers.BertForMultipleChoice(config), tokenizer)
    refused(spec, "do not belong together", use=True)


@pytest.mark.parametrize("role", ["pad", "mask"])
def test_a_token_that_is_put_into_rows_must_be_known(role, tiny_models):
    module, tokenizer = tiny_models.pair("bert")
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_special_tokens({f"{role}_token": "[NEW]"})
    refused((module, tokenizer), "do not belong together", use=True)


def test_an_added_token_is_refused_only_where_a_text_has_it(tiny_models, score_all):
    module, tokenizer = tiny_models.pair("gpt2")
    (before,) = score_all(tiny_models.model("gpt2"), [Request(text="The box was in the pen.")])
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.add_special_tokens({"pad_token": "[PAD]", "extra_special_tokens": ["<image>"]})
    model = resolve_model((module, tokenizer), device="cpu")
    (after,) = score_all(model, [Request(text="The box was in the pen.")])
    assert after.logprobs.tolist() == before.logprobs.tolist()
    last = len(tokenizer) - 1
    with pytest.raises(ModelError, match=f"a text has the token {last} of .* no row for it"):
        score_all(model, [Request(text="The box <image> was in the pen.")])


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("gpt3", "'gpt3' is unknown, did you mean 'gpt"),
        ("bert-bse", "did you mean 'bert-base'"),
        ("qqqqqqq", "known: .*smollm2"),
        ("hf:", "is unknown"),
        ("", "is unknown"),
        ("tf:gpt2", "is unknown"),
        ("hf:/nowhere/at/all", "is not a checkpoint folder"),
        ("hf:./nowhere", "is not a checkpoint folder"),
        ("gguf:/nowhere.gguf", r"file .*nowhere\.gguf does not exist"),
        ("ct2:/nowhere", r"folder .*nowhere does not exist"),
        ("./nowhere", r"model './nowhere': no such file or folder$"),
        ("nowhere.gguf", "no such file or folder"),
        ("org/mine", r"is neither a preset nor a path; for the hub, write hf:org/mine$"),
        ("x" * 5000, "cannot be read: File name too long"),
    ],
)
def test_names_that_mean_nothing(spec, match):
    refused(spec, match)


@pytest.mark.parametrize(
    ("files", "scheme"),
    [
        (["config.json", "model.safetensors", "vocab.json"], "hf"),
        (["model.bin", "shared_vocabulary.json", "config.json"], "ct2"),
        (["model.bin", "shared_vocabulary.txt"], "ct2"),
        (["metadata.json", "model/model.bin", "model/source_vocabulary.json"], "ct2"),
        (["elmo_weights.hdf5", "elmo_options.json", "vocab.txt"], "elmo"),
        (["config.json", "model/model.bin", "model/shared_vocabulary.json"], "hf"),
    ],
)
def test_a_folder_is_recognised_by_what_is_in_it(files, scheme, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    for spec in (str(folder), "./mine", "mine", "mine/"):
        assert recognised(spec) == f"{scheme}:{spec}"


def test_a_gguf_file_is_recognised_by_how_it_begins(tmp_path):
    (tmp_path / "a.gguf").write_bytes(b"GGUF\x03\x00\x00\x00")
    assert recognised(str(tmp_path / "a.gguf")) == f"gguf:{tmp_path / 'a.gguf'}"
    (tmp_path / "a.bin").write_bytes(b"PK")
    refused(str(tmp_path / "a.bin"), "is a file, expected a model folder or a GGUF file")
    refused(str(tmp_path), rf"is a folder without a model, .*; did you mean {tmp_path}/a.gguf\?$")


def test_a_path_needs_no_scheme(tiny_models, tmp_path, monkeypatch):
    folder = tiny_models.folder("gpt2")
    monkeypatch.chdir(folder.parent)
    plain, schemed = resolve_model("./gpt2", device="cpu"), resolve_model("hf:./gpt2", device="cpu")
    assert (plain.name, plain.short) == (schemed.name, schemed.short) == ("hf:./gpt2", "gpt2")
    assert plain.fingerprint == schemed.fingerprint
    (tmp_path / "out" / "checkpoint-5").mkdir(parents=True)
    shutil.copy(folder / "config.json", tmp_path / "out" / "checkpoint-5")
    refused(str(tmp_path / "out"), "did you mean .*/out/checkpoint-5")


def test_a_preset_wins_over_a_folder_of_its_name_and_says_so(tiny_models, monkeypatch, tmp_path):
    monkeypatch.chdir(tiny_models.folder("gpt2").parent)
    assert shadowed_by_preset("gpt2") == (
        "'gpt2' is the preset; for the path of that name, write ./gpt2"
    )
    assert shadowed_by_preset("./gpt2") is None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()  # no model is in it
    assert shadowed_by_preset("smollm2") is None
    assert shadowed_by_preset("gpt2") is None


def test_things_that_are_no_checkpoint(tiny_models, tmp_path):
    refused(f"hf:{tmp_path}", "has no config.json")
    file = tmp_path / "model.gguf"
    file.write_bytes(b"PK\x03\x04 not a model")
    refused(f"hf:{file}", "is not a checkpoint folder")
    refused(f"gguf:{file}", "is not a GGUF file")
    file.write_bytes(b"")
    refused(f"gguf:{file}", "is not a GGUF file")
    refused(f"ct2:{tmp_path}", "no model.bin")
    refused((*tiny_models.pair("gpt2"), 1), "found 3 values")
    (tmp_path / "config.json").write_text("{ not json", "utf-8")
    refused(f"hf:{tmp_path}", "configuration cannot be loaded")


def test_a_gguf_file_that_breaks_off(tmp_path, monkeypatch):
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(8))
    refused(f"gguf:{file}", "cannot be loaded")


@pytest.mark.parametrize("damage", ["cut", "noise", "gone"])
def test_damaged_weights(damage, tiny_models, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_models.folder("gpt2"), folder)
    path = folder / "model.safetensors"
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else b"\xff" * 4096)
    refused(f"hf:{folder}", "weights cannot be loaded", use=True)


def test_a_damaged_tokenizer(tiny_models, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(tiny_models.folder("gpt2"), folder)
    (folder / "tokenizer.json").write_text("{}", "utf-8")
    refused(f"hf:{folder}", "tokenizer cannot be loaded")


def test_a_hub_name_without_a_hub(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    refused(
        "hf:boxpen-nobody/boxpen-nothing",
        "not in the cache and HF_HUB_OFFLINE is set; .* a local folder",
    )


def test_dtype(tiny_models, score_all):
    model = tiny_models.model("gpt2", dtype="bfloat16")
    assert model.dtype == "bfloat16"
    assert model.module.dtype == torch.bfloat16
    assert model.fingerprint != tiny_models.model("gpt2").fingerprint


def test_a_dtype_that_a_pair_does_not_have_is_not_ignored(tiny_models):
    """Asked for bf16, given float32, nothing said."""
    with pytest.raises(BoxpenError, match="float32"):
        resolve_model(tiny_models.pair("gpt2"), dtype="bfloat16")


def test_loading_leaves_the_terminal_alone(tiny_models, capfd):
    model = tiny_models.model("bert")
    assert model.module is not None
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_languages_of_a_model_card(tiny_models, tmp_path):
    folder = tmp_path / "carded"
    shutil.copytree(tiny_models.folder("gpt2"), folder)
    for front, expected in (
        ("language: en", {"en"}),
        ("language:\n- en\n- zho", {"en", "zh"}),
        ("language: [en, zh-CN]", {"en", "zh"}),
        ("license: mit\nlanguage:\n  - de\ntags:\n  - en", {"de"}),
        ("language: multilingual", None),
        ("license: mit", None),
    ):
        (folder / "README.md").write_text(f"---\n{front}\n---\nA model.\n", "utf-8")
        found = resolve_model(f"hf:{folder}", device="cpu").languages
        assert found == (None if expected is None else frozenset(expected))


def test_what_a_training_leaves_does_not_make_another_model(tiny_models, tmp_path):
    folder = shutil.copytree(tiny_models.folder("gpt2"), tmp_path / "trained")
    known = of_directory(folder)
    for name in ("log.jsonl", "result.json", "training.json", "held-out.txt", ".lock"):
        (folder / name).write_text("5 seconds")
        assert of_directory(folder) == known, name
    (folder / "generation_config.json").write_text("{}")
    assert of_directory(folder) != known


def test_models_know_nothing_of_suites():
    for path in Path(resolve.__file__).parent.glob("*.py"):
        assert "boxpen.catalog" not in path.read_text("utf-8"), path
