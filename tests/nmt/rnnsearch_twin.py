"""The slow twin of RNNSearch: one sentence, one word at a time, in float64; no batch, no mask."""

from __future__ import annotations

import torch
from torch import Tensor

Weights = dict[str, Tensor]
State = tuple[Tensor, Tensor]


def logits(model: torch.nn.Module, source: list[int], target: list[int]) -> Tensor:
    """Return what the model should say after every token of the target, (target, vocab)."""
    w = {name: value.double() for name, value in model.state_dict().items()}
    width, layers = model.config.hidden_size, model.config.num_hidden_layers
    h = _encoded(w, source, layers, width)
    first = torch.tanh(w["decoder.start.weight"] @ (sum(h) / len(h)) + w["decoder.start.bias"])
    pieces = list(first.split(width))  # outputs of all layers, then their memories
    states: list[State] = [(pieces[n], pieces[layers + n]) for n in range(layers)]
    rows = []
    for token in target:
        e = w["decoder.embed_tokens.weight"][token] * width**0.5
        states[0] = _cell(w, "decoder.layers.0", "", e, states[0])
        x = states[0][0]
        c = _context(w, x, h)
        for n in range(1, layers):
            states[n] = _cell(w, f"decoder.layers.{n}", "", torch.cat([x, c]), states[n])
            x = x + states[n][0]
        read = torch.cat([x, c, e])
        out = torch.tanh(w["decoder.readout.weight"] @ read + w["decoder.readout.bias"])
        rows.append(w["lm_head.weight"] @ out)
    return torch.stack(rows)


def _encoded(w: Weights, source: list[int], layers: int, width: int) -> list[Tensor]:
    x = [w["encoder.embed_tokens.weight"][token] * width**0.5 for token in source]
    for n in range(layers):
        forwards = _read(w, f"encoder.layers.{n}", "", x)
        backwards = _read(w, f"encoder.layers.{n}", "_reverse", x[::-1])[::-1]
        y = [torch.cat(pair) for pair in zip(forwards, backwards, strict=True)]
        x = y if n == 0 else [a + b for a, b in zip(x, y, strict=True)]
    return x


def _read(w: Weights, name: str, direction: str, inputs: list[Tensor]) -> list[Tensor]:
    half = w[f"{name}.weight_hh_l0{direction}"].shape[1]
    state = (torch.zeros(half).double(), torch.zeros(half).double())
    outputs = []
    for x in inputs:
        state = _cell(w, name, direction, x, state)
        outputs.append(state[0])
    return outputs


def _cell(w: Weights, name: str, direction: str, x: Tensor, state: State) -> State:
    """Hochreiter & Schmidhuber (1997), with gates of forgetting."""
    end = f"l0{direction}"
    gates = w[f"{name}.weight_ih_{end}"] @ x + w[f"{name}.bias_ih_{end}"]
    gates = gates + w[f"{name}.weight_hh_{end}"] @ state[0] + w[f"{name}.bias_hh_{end}"]
    enter, keep, new, show = gates.chunk(4)
    memory = torch.sigmoid(keep) * state[1] + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(memory), memory


def _context(w: Weights, s: Tensor, h: list[Tensor]) -> Tensor:
    query = w["decoder.attention.query.weight"] @ s + w["decoder.attention.query.bias"]
    scores = [
        w["decoder.attention.score.weight"][0]
        @ torch.tanh(query + w["decoder.attention.key.weight"] @ one)
        for one in h
    ]
    weights = torch.softmax(torch.stack(scores), dim=0)
    return sum(weight * one for weight, one in zip(weights, h, strict=True))
