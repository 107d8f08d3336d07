"""The bidirectional model against its twin, the two directions apart, and how it is kept."""

from __future__ import annotations

import copy
from typing import Any

import bilm_twin as twin
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402
from transformers import AutoConfig, AutoModel, PreTrainedModel  # noqa: E402

from boxpen.errors import ModelError  # noqa: E402
from boxpen.lm.bilm.config import BiLMConfig  # noqa: E402
from boxpen.lm.bilm.model import BiLMForLanguageModeling, register  # noqa: E402
from boxpen.lm.bilm.softmax import log_probabilities  # noqa: E402

WORDS, LONGEST, BOS, EOS = 30, 12, 1, 0
SHAPE = {
    "vocab_size": WORDS, "hidden_size": 6, "cell_size": 10, "character_size": 4,
    "filters": ((1, 3), (2, 4), (3, 5)), "highways": 2, "max_characters": LONGEST, "dropout": 0.3,
}  # fmt: skip
CLIPS = {"cell_clip": 0.4, "projection_clip": 0.3}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def made(seed: int = 1, **changes: Any) -> BiLMForLanguageModeling:
    """A model of widely spread weights, so that a slip moves a score by far."""
    model = BiLMForLanguageModeling(BiLMConfig(**(SHAPE | changes)))
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=dice) * 0.6)
    return model.eval()


def sentence(length: int, seed: int) -> tuple[list[str], list[int]]:
    """Words and their numbers in the softmax, between <S> and </S>."""
    dice = np.random.default_rng(seed)
    numbers = dice.integers(3, WORDS, length).tolist()
    spelt = ["".join(dice.choice(list("abcé"), 1 + n % 14)) for n in numbers]
    return ["<S>", *spelt, "</S>"], [BOS, *numbers, EOS]


def batch(kind: str, lengths: list[int]) -> tuple[dict[str, Any], list[Any], list[list[int]]]:
    """A padded batch, and the same rows alone, as the twin reads them."""
    rows, ids = zip(*(sentence(n, seed) for seed, n in enumerate(lengths)), strict=True)
    width = max(map(len, ids))
    labels = torch.full((len(ids), width), -100)
    mask = torch.zeros((len(ids), width), dtype=torch.long)
    read = torch.full((len(ids), width, LONGEST) if kind == "characters" else labels.shape, 7)
    tokens = []
    for i, (words, numbers) in enumerate(zip(rows, ids, strict=True)):
        tokens.append(
            [twin.letters(w, LONGEST) for w in words] if kind == "characters" else numbers
        )
        read[i, : len(numbers)] = torch.tensor(tokens[-1])
        labels[i, 1 : len(numbers)] = torch.tensor(numbers[1:])
        mask[i, : len(numbers)] = 1
    return {"input_ids": read, "attention_mask": mask, "labels": labels}, tokens, list(ids)


@pytest.mark.parametrize("clips", [{}, CLIPS, {"cell_clip": 0.4}], ids=["free", "clip", "cell"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("kind", ["characters", "pieces"])
def test_scores_are_those_of_the_twin(kind, activation, clips):
    model = made(input=kind, activation=activation, **clips)
    given, tokens, ids = batch(kind, [5, 1, 8, 0])
    with torch.no_grad():
        found = model(**given, output_log_probabilities=True)
    total = []
    for row, (read, numbers) in enumerate(zip(tokens, ids, strict=True)):
        ahead, behind = twin.scores(model, read, numbers)
        end = len(numbers)
        got = found.forward_log_probabilities[row, 1:end]
        np.testing.assert_allclose(got, ahead, rtol=0, atol=1e-5)
        got = found.backward_log_probabilities[row, : end - 1]
        np.testing.assert_allclose(got, behind, rtol=0, atol=1e-5)
        assert (
            found.forward_log_probabilities[row, [0, *range(end, given["labels"].shape[1])]]
            .isnan()
            .all()
        )
        assert found.backward_log_probabilities[row, end - 1 :].isnan().all()
        total += [(a + b) / 2 for a, b in zip(ahead, behind, strict=True)]
    assert int(found.tokens) == len(total)
    assert float(found.loss) == pytest.approx(-np.mean(total), abs=1e-5)


def test_clips_matter_to_that_test():
    given, _, _ = batch("pieces", [8])
    free, bound = made(input="pieces"), made(input="pieces", **CLIPS)
    assert abs(float((free(**given).loss - bound(**given).loss).detach())) > 0.01


def test_step_by_step_and_in_one_go_are_the_same():
    given, _, _ = batch("pieces", [8, 3])
    free, wide = made(input="pieces"), made(input="pieces", cell_clip=1e6, projection_clip=1e6)
    torch.testing.assert_close(free(**given).loss, wide(**given).loss)


@pytest.mark.parametrize("clips", [{}, CLIPS], ids=["free", "clip"])
@pytest.mark.parametrize("kind", ["characters", "pieces"])
def test_each_direction_sees_one_side_only(kind, clips):
    model = made(input=kind, **clips)
    given, _, _ = batch(kind, [7])
    place = 4

    def scores(read: Any) -> Any:
        with torch.no_grad():
            out = model(**(given | {"input_ids": read}), output_log_probabilities=True)
        return out.forward_log_probabilities[0], out.backward_log_probabilities[0]

    changed = given["input_ids"].clone()
    changed[0, place] = (
        given["input_ids"][0, 1]
        if kind == "pieces"
        else torch.tensor(twin.letters("zebra", LONGEST))
    )
    (ahead, behind), (new_ahead, new_behind) = scores(given["input_ids"]), scores(changed)
    # What is read at a place is used for the words behind it, or before it; never for itself.
    assert torch.equal(ahead[1 : place + 1], new_ahead[1 : place + 1])
    assert torch.equal(behind[place:-1], new_behind[place:-1])
    assert (ahead[place + 1 :] != new_ahead[place + 1 :]).all()
    assert (behind[:place] != new_behind[:place]).all()


@pytest.mark.parametrize("kind", ["characters", "pieces"])
def test_padding_changes_nothing(kind):
    model = made(input=kind)
    given, _, _ = batch(kind, [3, 9])
    short = {name: value[:1, :5] for name, value in given.items()}
    with torch.no_grad():
        alone = model(**short, output_log_probabilities=True)
        beside = model(**given, output_log_probabilities=True)
    for name in ("forward_log_probabilities", "backward_log_probabilities"):
        np.testing.assert_allclose(alone[name][0], beside[name][0, :5], rtol=0, atol=1e-5)


def test_labels_left_out_are_not_counted():
    model = made(input="pieces")
    given, _, _ = batch("pieces", [5])
    whole = model(**given, output_log_probabilities=True)
    labels = given["labels"].clone()
    labels[0, [2, 6]] = -100  # a word, and </S>: then <S> is not predicted either
    some = model(**(given | {"labels": labels}), output_log_probabilities=True)
    assert int(some.tokens) == 4
    kept = [1, 3, 4, 5]
    pairs = [whole[n][0, kept] for n in ("forward_log_probabilities", "backward_log_probabilities")]
    torch.testing.assert_close(some.loss, -(pairs[0] + pairs[1]).mean() / 2)
    assert some.backward_log_probabilities[0, 0].isnan()


def test_the_loss_is_divided_by_what_the_trainer_says():
    model = made(input="pieces")
    given, _, _ = batch("pieces", [5, 2])
    mean = model(**given)
    torch.testing.assert_close(model(**given, num_items_in_batch=20).loss, mean.loss * 9 / 20)
    assert int((given["labels"] != -100).sum()) == int(mean.tokens) == 9


def test_without_labels_the_states_of_both_directions_come_back():
    model = made(input="pieces")
    given, _, _ = batch("pieces", [4])
    found = model(input_ids=given["input_ids"])
    assert found.last_hidden_state.shape == (1, 6, 12)
    assert found.loss is None


@pytest.mark.parametrize("tile", [1, 4, 7, 29, 100])
def test_the_softmax_in_tiles_is_the_whole_one(tile):
    torch.manual_seed(3)
    states = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(29, 5, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(29, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 28, 3, 3, 14, 7])
    found = log_probabilities(states, weight, bias, targets, tile=tile)
    whole = torch.log_softmax(states @ weight.T + bias, -1)[torch.arange(6), targets]
    torch.testing.assert_close(found, whole)
    pull = torch.randn(6, dtype=torch.float64)
    given = (states, weight, bias)
    for a, b in zip(
        torch.autograd.grad(found, given, pull),
        torch.autograd.grad(whole, given, pull),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_the_softmax_of_halves_is_summed_in_float32():
    torch.manual_seed(3)
    states, weight = torch.randn(4, 16).bfloat16(), torch.randn(5000, 16).bfloat16()
    bias, targets = torch.zeros(5000).bfloat16(), torch.tensor([0, 1, 2, 4999])
    found = log_probabilities(states, weight, bias, targets, tile=64)
    whole = torch.log_softmax(states.double() @ weight.double().T, -1)[torch.arange(4), targets]
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.numpy(), whole.numpy(), rtol=0, atol=1e-5)


def test_a_word_outside_of_the_softmax_has_no_number():
    states, weight, bias = torch.randn(2, 4), torch.randn(9, 4), torch.zeros(9)
    found = log_probabilities(states, weight, bias, torch.tensor([8, 9]), tile=4)
    assert found.isnan().tolist() == [False, True]


def test_a_gpu_rounds_neither_filters_nor_memories(monkeypatch):
    """What cuDNN is told while a layer runs; a GPU is not needed to see it."""
    from boxpen.lm.bilm import layers
    from boxpen.models.engine import cudnn as settings

    cudnn = torch.backends.cudnn
    before = cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
    seen = []
    full = settings.full_precision
    for place in (layers, settings):
        monkeypatch.setattr(place, "full_precision", lambda _: full("cuda"))
    model = made(input="characters")
    for module in model.modules():
        if isinstance(module, torch.nn.Conv1d | torch.nn.LSTM):
            module.register_forward_hook(
                lambda *_: seen.append((cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision))
            )
    given, _, _ = batch("characters", [5])
    model(**given)
    assert seen == [("ieee", "ieee")] * (3 + 4)
    assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == before
    with full("cpu"):
        assert cudnn.conv.fp32_precision == before[0]
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: True)
    with full("cuda"):
        assert cudnn.conv.fp32_precision == before[0]  # a training rounds anyway


def test_layers_that_run_at_once_leave_the_settings_of_cudnn():
    from boxpen.models.engine.cudnn import full_precision

    cudnn = torch.backends.cudnn
    before = cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
    first, second = full_precision("cuda"), full_precision("cuda")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == ("ieee", "ieee")
    second.__exit__(None, None, None)
    assert (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) == before


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_computes_what_a_cpu_does():
    model, given = wide_model()
    with torch.no_grad():
        there = model.cuda()(**{name: value.cuda() for name, value in given.items()}).loss.cpu()
        exact = model.cpu().double()(**given).loss.float()
    torch.testing.assert_close(there, exact, rtol=0, atol=1e-4)


def test_what_a_gpu_is_compared_with_tells_rounding_from_none():
    """The exact loss is that of a CPU, and not that of filters or memories rounded to TF32."""
    model, given = wide_model()
    with torch.no_grad():
        exact = copy.deepcopy(model).double()(**given).loss.float()
        torch.testing.assert_close(model(**given).loss, exact, rtol=0, atol=1e-4)
        for part in ("filters", "layers"):
            rounded = copy.deepcopy(model)
            for name, weight in rounded.named_parameters():
                if f".{part}." in name:
                    weight.copy_(to_tf32(weight))
            assert (rounded(**given).loss - exact).abs() > 3e-4, part


def wide_model() -> tuple[BiLMForLanguageModeling, dict[str, Any]]:
    """A model as wide as those that are trained, of weights that keep what they read in bounds."""
    model = made(input="characters", hidden_size=64, cell_size=128, filters=((3, 256), (5, 256)))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight *= 4 * weight[0].numel() ** -0.5
    return model, batch("characters", [9, 4])[0]


def to_tf32(weight: torch.Tensor) -> torch.Tensor:
    """Round to the 10 bits that TF32 has behind the point."""
    bits = weight.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def test_mixed_precision_trains_every_weight():
    model = made(input="characters").train()
    given, _, _ = batch("characters", [5, 2])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(**given).loss
    loss.backward()
    assert loss.dtype == torch.float32
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.abs().sum() > 0, name


def in_one_piece(model: Any) -> None:
    """Let the weights of every LSTM be views of one piece of memory, as cuDNN lays them."""
    for lstm in (m for m in model.modules() if isinstance(m, torch.nn.LSTM)):
        weights = list(lstm.parameters())
        piece = torch.cat([w.detach().flatten() for w in weights])
        for weight, part in zip(weights, piece.split([w.numel() for w in weights]), strict=True):
            weight.data = part.view_as(weight)


@pytest.mark.parametrize("given", [False, True], ids=["none given", "given"])
def test_each_weight_is_saved_from_memory_of_its_own(tmp_path, monkeypatch, given):
    """As long as one shares its memory with others, safetensors may refuse what a GPU holds."""
    model = made()
    in_one_piece(model)
    handed: dict[str, Any] = {}

    def keep(self, save_directory, is_main_process=True, state_dict=None, **options):
        handed.update(state_dict or self.state_dict())

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", keep)
    state = model.state_dict()
    assert any(t.untyped_storage().nbytes() > t.nbytes for t in state.values())
    model.save_pretrained(tmp_path, **({"state_dict": state} if given else {}))
    assert handed.keys() == state.keys()
    for name, tensor in handed.items():
        assert tensor.untyped_storage().nbytes() == tensor.nbytes, name
        assert torch.equal(tensor, state[name]), name


@pytest.mark.parametrize("pieces", [False, True], ids=["apart", "in one piece"])
def test_it_is_saved_and_loaded_by_the_auto_classes(tmp_path, pieces):
    register()
    model = made(**CLIPS)
    if pieces:
        in_one_piece(model)
    model.save_pretrained(tmp_path)
    assert load_file(tmp_path / "model.safetensors").keys() == model.state_dict().keys()
    other = AutoModel.from_pretrained(tmp_path)
    assert isinstance(other, BiLMForLanguageModeling)
    assert AutoConfig.from_pretrained(tmp_path).filters == [[1, 3], [2, 4], [3, 5]]
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name
    given, _, _ = batch("characters", [5, 2])
    torch.testing.assert_close(model(**given).loss, other.eval()(**given).loss)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"input": "bytes"}, "cannot read 'bytes', expected characters or pieces"),
        ({"activation": "gelu"}, "followed by 'gelu', expected relu or tanh"),
        ({"cell_size": 6}, "a memory of 6 projected to 6"),
        ({"num_hidden_layers": 0}, "0 layer"),
        ({"filters": ((13, 2),)}, "over 13 characters does not fit words of 12"),
    ],
)
def test_shapes_that_cannot_be(changes, said):
    with pytest.raises(ModelError, match=said):
        BiLMConfig(**(SHAPE | changes))


def test_input_that_does_not_fit():
    given, _, _ = batch("pieces", [3, 2])
    with pytest.raises(ModelError, match="of characters was given input_ids of 2 dimensions"):
        made()(**given)
    given["attention_mask"][0, 1] = 0
    with pytest.raises(ModelError, match="a 0 before a 1"):
        made(input="pieces")(**given)
