"""Weights of a checkpoint: saved once each, wherever they lie in memory, and put back whole."""

import torch
from safetensors.torch import load_file, save_file

from boxpen.nmt.checkpoints import load_weights, weights_of
from boxpen.nmt.sizes import new_model


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
