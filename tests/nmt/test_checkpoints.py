"""Weights of a checkpoint: saved once each, wherever they lie in memory, and put back whole."""

import pytest
import torch
from safetensors.torch import load_file, save_file

from boxpen.errors import TrainError
from boxpen.nmt.architectures.sizes import new_model
from boxpen.training.checkpoints import Checkpoints, load_weights, weights_of


def make(architecture):
    return new_model(
        architecture, "tiny", source_vocabulary=40, target_vocabulary=30, shared=False, pad=2, eos=0
    )


def in_one_piece(model):
    """Let the weights of every LSTM be views of one piece of memory, as cuDNN lays them."""
    for lstm in (m for m in model.modules() if isinstance(m, torch.nn.LSTM)):
        weights = list(lstm.parameters())
        piece = torch.cat([w.detach().flatten() for w in weights])
        for weight, part in zip(weights, piece.split([w.numel() for w in weights]), strict=True):
            weight.data = part.view_as(weight)


def test_weights_in_one_piece_of_memory_are_saved_and_put_back(tmp_path):
    torch.manual_seed(1)
    model = make("rnnsearch")
    in_one_piece(model)
    save_file(weights_of(model), tmp_path / "model.safetensors")
    other = make("rnnsearch")
    load_weights(other, load_file(tmp_path / "model.safetensors"))
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name


def test_tied_weights_are_saved_once():
    model = make("transformer")
    found = weights_of(model)
    assert len(found) < len(model.state_dict())
    other = make("transformer")
    load_weights(other, found)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name


def test_what_torch_says_of_a_full_disk_is_one_sentence_and_other_errors_are_not(tmp_path):
    kept = Checkpoints(tmp_path / "checkpoints")
    torn = RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 9 vs 8\nmore")
    torn.__context__ = OSError(28, "No space left on device")
    alone = RuntimeError(str(torn))

    def fails(error):
        def write(folder):
            (folder / "model.safetensors").write_bytes(b"1")
            raise error

        return write

    for error, reason in ((torn, "No space left on device"), (alone, "unexpected pos 9 vs 8")):
        with pytest.raises(TrainError) as found:
            kept.save(3, fails(error), ())
        assert str(found.value).startswith("the checkpoint of step 3 cannot be written to ")
        assert reason in str(found.value)
        assert "\n" not in str(found.value)
        assert not list(kept.folder.iterdir())
    with pytest.raises(RuntimeError, match="CUDA"):
        kept.save(3, fails(RuntimeError("CUDA is lost")), ())
