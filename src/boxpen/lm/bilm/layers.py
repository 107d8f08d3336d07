"""The parts of a bidirectional language model: words from characters, and LSTMs one way."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from boxpen.lm.bilm.characters import CHARACTERS
from boxpen.lm.bilm.config import BiLMConfig
from boxpen.models.engine.cudnn import full_precision, run_lstm

__all__ = ["CharacterCNN", "Direction", "Highway"]


class CharacterCNN(nn.Module):
    """Words from their characters: filters, the highest answer of each, highways, a projection."""

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        self.activation = torch.tanh if config.activation == "tanh" else torch.relu
        self.embedding = nn.Embedding(CHARACTERS, config.character_size)
        self.filters = nn.ModuleList(
            nn.Conv1d(config.character_size, count, width) for width, count in config.filters
        )
        width = sum(count for _, count in config.filters)
        self.highways = nn.ModuleList(Highway(width) for _ in range(config.highways))
        self.projection = nn.Linear(width, config.hidden_size)

    def forward(self, characters: Tensor) -> Tensor:
        """Return words, (batch, time, width), from characters, (batch, time, characters).

        A word that occurs several times in the batch is computed once.
        """
        words, which = torch.unique(characters.flatten(0, 1), dim=0, return_inverse=True)
        read = self.embedding(words).transpose(1, 2)  # (words, width, characters)
        # Filling is read like any character, as ELMo was trained.
        with full_precision(read.device.type):
            found = [self.activation(f(read).amax(dim=-1)) for f in self.filters]
        x = torch.cat(found, dim=-1)
        for highway in self.highways:
            x = highway(x)
        return self.projection(x)[which].view(*characters.shape[:2], -1)  # type: ignore[no-any-return]


class Highway(nn.Module):
    """Srivastava et al. (2015): g · relu(W x) + (1 - g) · x with the gate g = σ(V x)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.transform = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Return as many rows of the same width."""
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.relu(self.transform(x)) + (1 - gate) * x


class Direction(nn.Module):
    """Layers of LSTM with projection, read one way; a residual joins all but the lowest.

    Rows are padded on the right, where no state of a text looks: nothing need be masked.
    """

    def __init__(self, config: BiLMConfig) -> None:
        super().__init__()
        self.cell_clip = config.cell_clip
        self.projection_clip = config.projection_clip
        width = config.hidden_size
        self.layers = nn.ModuleList(
            nn.LSTM(width, config.cell_size, proj_size=width, batch_first=True)
            for _ in range(config.num_hidden_layers)
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states after every token, (batch, time, width)."""
        for number, layer in enumerate(self.layers):
            y = self._run(layer, self.dropout(x))
            x = x + y if number else y
        return self.dropout(x)  # type: ignore[no-any-return]

    def _run(self, layer: Any, read: Tensor) -> Tensor:
        if self.cell_clip is None and self.projection_clip is None:
            with warnings.catch_warnings():
                # On a CPU it says once that oneDNN knows none, which is no one's concern.
                warnings.filterwarnings("ignore", "LSTM with projections")
                found: Tensor = run_lstm(layer, read)[0]
            return found
        with torch.autocast(read.device.type, enabled=False):
            return _clipped(layer, read, self.cell_clip, self.projection_clip)


def _clipped(
    layer: Any, read: Tensor, cell_clip: float | None, projection_clip: float | None
) -> Tensor:
    """Run an LSTM step by step, for no library clips its memory and its output."""
    weight = layer.weight_hh_l0
    inputs = functional.linear(
        read.to(weight.dtype), layer.weight_ih_l0, layer.bias_ih_l0 + layer.bias_hh_l0
    )  # (batch, time, 4 cells)
    memory = weight.new_zeros(len(read), layer.hidden_size)
    output = weight.new_zeros(len(read), layer.proj_size)
    outputs = []
    for step in inputs.unbind(1):
        enter, keep, new, show = (step + functional.linear(output, weight)).chunk(4, dim=-1)
        memory = torch.sigmoid(keep) * memory + torch.sigmoid(enter) * torch.tanh(new)
        memory = _within(memory, cell_clip)
        shown = torch.sigmoid(show) * torch.tanh(memory)
        output = _within(functional.linear(shown, layer.weight_hr_l0), projection_clip)
        outputs.append(output)
    return torch.stack(outputs, dim=1)


def _within(x: Tensor, bound: float | None) -> Tensor:
    return x if bound is None else x.clamp(-bound, bound)
