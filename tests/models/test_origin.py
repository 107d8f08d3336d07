"""A model in memory shares the fingerprint of its folder while the two are the same."""

from __future__ import annotations

import copy
import shutil
import warnings
from typing import Any

import pytest
import tiny
import torch
import transformers

from boxpen import Choice, Suite, evaluate, resolve_model


def loaded(folder, module: Any, **options: Any) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            type(module).from_pretrained(folder, **options),
            transformers.AutoTokenizer.from_pretrained(folder),
        )


@pytest.fixture
def pair(tiny_models):
    return loaded(tiny_models.folder("gpt2"), tiny_models.pair("gpt2")[0])


@pytest.mark.parametrize("name", list(tiny.BUILDERS))
def test_a_model_is_the_same_from_its_folder_and_from_memory(name, tiny_models):
    folder = tiny_models.folder(name)
    memory = resolve_model(loaded(folder, tiny_models.pair(name)[0]))
    disk = tiny_models.model(name)
    assert memory.fingerprint == disk.fingerprint
    assert (memory.name, memory.short) == (disk.name, disk.short) == (f"hf:{folder}", name)
    assert memory.languages == disk.languages


def test_scores_are_shared(tiny_models, pair, tmp_path):
    items = (Choice(id="1", candidates=("The box was in the pen.", "The pen."), gold=0),)
    suite, cache = Suite("one", items), tmp_path / "scores.sqlite"
    first = evaluate(f"hf:{tiny_models.folder('gpt2')}", suite, cache=cache, device="cpu")
    model = resolve_model(pair)
    again = evaluate(model, suite, cache=cache)
    assert again.signature == first.signature
    assert model.tally.texts == 0  # nothing was scored again
    assert again.verdicts == first.verdicts


def test_using_it_changes_nothing(tiny_models, pair):
    module, tokenizer = pair
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    tokenizer(["a", "a box in a pen"], padding=True, truncation=True, max_length=4)
    module.train()
    assert resolve_model((module, tokenizer)).fingerprint == tiny_models.model("gpt2").fingerprint


def weight(module: Any, _tokenizer: Any) -> None:
    with torch.no_grad():
        module.transformer.ln_f.bias[0] += 1e-6


def configuration(module: Any, _tokenizer: Any) -> None:
    module.config.scale_attn_weights = False


def layer(module: Any, _tokenizer: Any) -> None:
    module.transformer.ln_f.eps = 1e-2


def hook(module: Any, _tokenizer: Any) -> None:
    module.transformer.h[0].register_forward_hook(lambda _module, _input, output: output)


def method(module: Any, _tokenizer: Any) -> None:
    module.transformer.forward = module.transformer.forward


def replaced_method(module: Any, _tokenizer: Any) -> None:
    part = module.transformer.wte
    part.reset_parameters = part.reset_parameters


def attribute(module: Any, _tokenizer: Any) -> None:
    for block in module.transformer.h:
        block.attn.scaling = 5 * getattr(block.attn, "scaling", 1.0)


def hidden_attribute(module: Any, _tokenizer: Any) -> None:
    module.transformer.h[0].attn.split_size = (1, 2, None)


def token(_module: Any, tokenizer: Any) -> None:
    tokenizer.add_tokens(["boxpen"])


def special_token(_module: Any, tokenizer: Any) -> None:
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})


def longest(_module: Any, tokenizer: Any) -> None:
    tokenizer.model_max_length = 8


def precision(module: Any, _tokenizer: Any) -> None:
    module.to(torch.bfloat16).to(torch.float32)  # the same type, but rounded


@pytest.mark.parametrize(
    "change",
    [
        weight,
        configuration,
        layer,
        hook,
        method,
        replaced_method,
        attribute,
        hidden_attribute,
        token,
        special_token,
        longest,
        precision,
    ],
)
def test_whatever_differs_makes_another_model(change, tiny_models, pair):
    change(*pair)
    found = resolve_model(pair)
    assert found.fingerprint != tiny_models.model("gpt2").fingerprint
    assert found.short == "gpt2"  # the name says where it is from, the fingerprint what it is


@pytest.mark.parametrize("named", [True, False])
def test_models_with_different_hooks_share_nothing(pair, named, tmp_path):
    module, tokenizer = pair
    if not named:
        module.name_or_path = module.config._name_or_path = ""
    items = (Choice(id="1", candidates=("The box was in the pen.", "The pen."), gold=0),)
    suite, runs = Suite("one", items), []
    for factor in (3, -7):
        added = module.lm_head.register_forward_hook(lambda _m, _i, out, by=factor: out * by)
        runs.append(evaluate((module, tokenizer), suite, cache=tmp_path / "c", device="cpu"))
        added.remove()
    one, other = runs
    assert one.signature != other.signature
    assert one.verdicts[0].scores != other.verdicts[0].scores


@pytest.mark.parametrize("change", [layer, attribute, hidden_attribute])
def test_an_edited_pair_without_a_folder_is_another_model(change, pair):
    module, tokenizer = pair
    module.name_or_path = module.config._name_or_path = ""
    before = resolve_model(pair).fingerprint
    assert resolve_model(copy.deepcopy(pair)).fingerprint == before
    module.train()
    assert resolve_model(pair).fingerprint == before
    change(module, tokenizer)
    assert resolve_model(pair).fingerprint != before


def test_a_folder_that_was_written_over_is_another_model(tiny_models, tmp_path):
    module, _ = tiny_models.pair("gpt2")
    folder = tmp_path / "mine"
    shutil.copytree(tiny_models.folder("gpt2"), folder)
    pair = loaded(folder, module)
    before = resolve_model(pair).fingerprint
    other = copy.deepcopy(pair[0])
    weight(other, None)
    other.save_pretrained(folder)
    assert resolve_model(pair).fingerprint != resolve_model(f"hf:{folder}").fingerprint
    shutil.rmtree(folder)
    gone = resolve_model(pair)
    assert gone.fingerprint != before
    assert gone.short == "mine"


def test_half_precision_is_the_folders_too(tiny_models):
    folder, (module, _) = tiny_models.folder("gpt2"), tiny_models.pair("gpt2")
    half = resolve_model(loaded(folder, module, dtype=torch.bfloat16))
    assert half.fingerprint == tiny_models.model("gpt2", dtype="bfloat16").fingerprint
    assert half.fingerprint != tiny_models.model("gpt2").fingerprint


@pytest.mark.parametrize("name", ["", "a\nb", "..", "x" * 300])
def test_a_model_without_a_sensible_name_has_that_of_its_class(name, tiny_models):
    module, tokenizer = copy.deepcopy(tiny_models.pair("gpt2"))
    module.name_or_path = module.config._name_or_path = name
    assert resolve_model((module, tokenizer)).name == "GPT2LMHeadModel"
