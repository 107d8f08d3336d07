"""The slow twin of a bidirectional model: one word at a time, in float64; no batch, no mask.

Written from Peters et al. (2018) and sharing nothing with the package. ``Weights`` are those of a
direction in the order of the paper's formulas, so that both the model's own weights and the public
files can be put into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass
class Cell:
    """One LSTM with projection: matrices of the input, of the state, biases by gate."""

    read: dict[str, Array]  # (cells, input)
    state: dict[str, Array]  # (cells, width)
    bias: dict[str, Array]  # (cells,)
    project: Array  # (width, cells)


@dataclass
class Words:
    """The input layer over characters."""

    embedding: Array  # (characters, size)
    filters: list[tuple[Array, Array]]  # (count, span, size) and (count,)
    highways: list[tuple[Array, Array, Array, Array]]  # gate, its bias, transform, its bias
    projection: tuple[Array, Array]
    activation: Any

    def __call__(self, characters: list[int]) -> Array:
        found = []
        for filters, biases in self.filters:
            for one, bias in zip(filters, biases, strict=True):
                span = len(one)
                answers = []
                for start in range(len(characters) - span + 1):
                    total = bias
                    for offset in range(span):
                        total = total + one[offset] @ self.embedding[characters[start + offset]]
                    answers.append(total)
                found.append(self.activation(max(answers)))
        x = np.array(found)
        for gate, gate_bias, transform, transform_bias in self.highways:
            g = sigmoid(gate @ x + gate_bias)
            x = g * np.maximum(transform @ x + transform_bias, 0) + (1 - g) * x
        matrix, bias = self.projection
        return matrix @ x + bias


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: float) -> float:
    return max(x, 0.0)


def letters(word: str, longest: int) -> list[int]:
    """The ids of a word: bytes between 258 and 259, filled up with 260."""
    if word in ("<S>", "</S>"):
        ids = [258, 256 if word == "<S>" else 257, 259]
    else:
        ids = [258, *word.encode()[: longest - 2], 259]
    return ids + [260] * (longest - len(ids))


def states(cells: list[Cell], inputs: list[Array], cell_clip: Any, output_clip: Any) -> list[Array]:
    """What the top layer gives after every word."""
    for number, cell in enumerate(cells):
        memory = np.zeros(cell.project.shape[1])
        output = np.zeros(cell.project.shape[0])
        outputs = []
        for x in inputs:
            gate = {
                name: cell.read[name] @ x + cell.state[name] @ output + cell.bias[name]
                for name in ("enter", "keep", "new", "show")
            }
            memory = sigmoid(gate["keep"]) * memory + sigmoid(gate["enter"]) * np.tanh(gate["new"])
            if cell_clip is not None:
                memory = np.clip(memory, -cell_clip, cell_clip)
            output = cell.project @ (sigmoid(gate["show"]) * np.tanh(memory))
            if output_clip is not None:
                output = np.clip(output, -output_clip, output_clip)
            outputs.append(output)
        inputs = outputs if number == 0 else [a + b for a, b in zip(inputs, outputs, strict=True)]
    return inputs


def log_probability(weight: Array, bias: Array, state: Array, word: int) -> float:
    logits = weight @ state + bias
    top = logits.max()
    return float(logits[word] - top - np.log(np.exp(logits - top).sum()))


def of_module(model: Any) -> tuple[Any, list[Cell], list[Cell], Array, Array]:
    """Return the input layer, both directions and the softmax of a model of the package."""
    w = {name: value.double().numpy() for name, value in model.state_dict().items()}
    config = model.config
    if config.input == "pieces":
        embedding = w["pieces.weight"]
        read: Any = lambda piece: embedding[piece]  # noqa: E731
    else:
        read = Words(
            w["characters.embedding.weight"],
            [
                (
                    w[f"characters.filters.{i}.weight"].transpose(0, 2, 1),
                    w[f"characters.filters.{i}.bias"],
                )
                for i in range(len(config.filters))
            ],
            [
                tuple(
                    w[f"characters.highways.{i}.{part}.{kind}"]
                    for part in ("gate", "transform")
                    for kind in ("weight", "bias")
                )
                for i in range(config.highways)
            ],
            (w["characters.projection.weight"], w["characters.projection.bias"]),
            relu if config.activation == "relu" else np.tanh,
        )
    both = [
        [_cell(w, f"{way}.layers.{n}", config.cell_size) for n in range(config.num_hidden_layers)]
        for way in ("forwards", "backwards")
    ]
    return read, both[0], both[1], w["lm_head.weight"], w["lm_head.bias"]


def _cell(w: dict[str, Array], name: str, cells: int) -> Cell:
    def gates(kind: str) -> dict[str, Array]:
        return {
            gate: w[f"{name}.{kind}"][n * cells : (n + 1) * cells]
            for n, gate in enumerate(("enter", "keep", "new", "show"))
        }

    biases = [gates("bias_ih_l0"), gates("bias_hh_l0")]
    bias = {gate: biases[0][gate] + biases[1][gate] for gate in biases[0]}
    return Cell(gates("weight_ih_l0"), gates("weight_hh_l0"), bias, w[f"{name}.weight_hr_l0"])


def scores(model: Any, tokens: list[Any], ids: list[int]) -> tuple[list[float], list[float]]:
    """Forward log-probabilities of all tokens but the first, backward of all but the last.

    Args:
        model: The model.
        tokens: What is read: numbers of pieces, or rows of characters; with <S> and </S>.
        ids: The same as numbers of the softmax.
    """
    read, ahead, behind, weight, bias = of_module(model)
    return two_ways([read(t) for t in tokens], ids, ahead, behind, weight, bias, model.config)


def two_ways(
    inputs: list[Array],
    ids: list[int],
    ahead: list[Cell],
    behind: list[Cell],
    weight: Array,
    bias: Array,
    clips: Any,
) -> tuple[list[float], list[float]]:
    bounds = (clips.cell_clip, clips.projection_clip)
    forwards = [
        # Nothing that stands behind the word is even shown.
        log_probability(weight, bias, states(ahead, inputs[:i], *bounds)[-1], ids[i])
        for i in range(1, len(ids))
    ]
    backwards = [
        log_probability(weight, bias, states(behind, inputs[:i:-1], *bounds)[-1], ids[i])
        for i in range(len(ids) - 1)
    ]
    return forwards, backwards
