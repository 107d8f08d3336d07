"""Small files in the layout of the public ELMo, and a plain loop over them.

The loop reads the HDF5 file as TensorFlow's cell computes it: one matrix for input and state, the
gates in the order input, new, forget, output, and 1 added to the forget gate at every step.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bilm_twin as twin
import bundle_writer
import numpy as np

WORDS = ["</S>", "<S>", "<UNK>", "the", "box", "is", "in", "pen", ".", "'s", "naïve"]
FILTERS = [[1, 3], [2, 4], [3, 5]]
WIDTH, HIDDEN, CELLS, LONGEST, CLIP = 4, 6, 9, 14, 0.8
OPTIONS = {
    "bidirectional": True,
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": WIDTH},
        "filters": FILTERS,
        "max_characters_per_token": LONGEST,
        "n_characters": 262,
        "n_highway": 2,
    },
    "lstm": {
        "cell_clip": CLIP,
        "dim": CELLS,
        "n_layers": 2,
        "proj_clip": CLIP,
        "projection_dim": HIDDEN,
        "use_skip_connections": True,
    },
}


def weights() -> dict[str, Any]:
    dice = np.random.default_rng(4)
    total = sum(count for _, count in FILTERS)
    shapes: dict[str, tuple[int, ...]] = {"char_embed": (261, WIDTH)}
    for i, (span, count) in enumerate(FILTERS):
        shapes |= {f"CNN/W_cnn_{i}": (1, span, WIDTH, count), f"CNN/b_cnn_{i}": (count,)}
    for i in range(2):
        for gate in ("carry", "transform"):
            shapes |= {
                f"CNN_high_{i}/W_{gate}": (total, total),
                f"CNN_high_{i}/b_{gate}": (total,),
            }
    shapes |= {"CNN_proj/W_proj": (total, HIDDEN), "CNN_proj/b_proj": (HIDDEN,)}
    for way in range(2):
        for layer in range(2):
            place = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            shapes |= {
                f"{place}/W_0": (2 * HIDDEN, 4 * CELLS),
                f"{place}/B": (4 * CELLS,),
                f"{place}/W_P_0": (CELLS, HIDDEN),
            }
    return {n: dice.normal(0, 0.6, shape).astype("float32") for n, shape in shapes.items()}


def softmax() -> dict[str, Any]:
    dice = np.random.default_rng(5)
    return {
        "lm/softmax/W": dice.normal(size=(len(WORDS), HIDDEN)).astype("float32"),
        "lm/softmax/b": dice.normal(size=len(WORDS)).astype("float32"),
        "global_step": np.array(3, dtype="int64"),
    }


def write(folder: Path, *, with_softmax: bool = True) -> Path:
    import h5py

    folder.mkdir(exist_ok=True)
    (folder / "elmo_tiny_options.json").write_text(json.dumps(OPTIONS))
    (folder / "options.json").write_text(json.dumps(OPTIONS))  # of the checkpoint
    (folder / "vocab-2016-09-10.txt").write_text("\n".join([*WORDS, "!!!MAXTERMID"]) + "\n")
    with h5py.File(folder / "elmo_tiny_weights.hdf5", "w") as file:
        for name, value in weights().items():
            file[name] = value
    if with_softmax:
        bundle_writer.write_bundle(folder / "model.ckpt-935588", softmax())
    return folder


def scores(words: list[str]) -> tuple[list[float], list[float]]:
    """Forward and backward log-probabilities of words, without <S> and </S> around them."""
    w = {name: value.astype("float64") for name, value in weights().items()}
    read = twin.Words(
        w["char_embed"],
        [
            (w[f"CNN/W_cnn_{i}"][0].transpose(2, 0, 1), w[f"CNN/b_cnn_{i}"])
            for i in range(len(FILTERS))
        ],
        [
            (
                w[f"CNN_high_{i}/W_carry"].T,
                w[f"CNN_high_{i}/b_carry"],
                w[f"CNN_high_{i}/W_transform"].T,
                w[f"CNN_high_{i}/b_transform"],
            )
            for i in range(2)
        ],
        (w["CNN_proj/W_proj"].T, w["CNN_proj/b_proj"]),
        twin.relu,
    )
    both = [[_cell(w, way, layer) for layer in range(2)] for way in range(2)]
    every = ["<S>", *words, "</S>"]
    ids = [WORDS.index(word) if word in WORDS else 2 for word in every]
    out = softmax()
    clips = SimpleNamespace(cell_clip=CLIP, projection_clip=CLIP)
    ahead, behind = twin.two_ways(
        [read(twin.letters(word, LONGEST)) for word in every],
        ids,
        *both,
        out["lm/softmax/W"].astype("float64"),
        out["lm/softmax/b"].astype("float64"),
        clips,
    )
    return ahead, behind


def _cell(w: dict[str, Any], way: int, layer: int) -> twin.Cell:
    place = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    matrix, bias = w[f"{place}/W_0"], w[f"{place}/B"]
    order = ("enter", "new", "keep", "show")  # TensorFlow's i, j, f, o
    columns = {gate: slice(n * CELLS, (n + 1) * CELLS) for n, gate in enumerate(order)}
    return twin.Cell(
        {gate: matrix[:HIDDEN, part].T for gate, part in columns.items()},
        {gate: matrix[HIDDEN:, part].T for gate, part in columns.items()},
        {gate: bias[part] + (gate == "keep") for gate, part in columns.items()},
        w[f"{place}/W_P_0"].T,
    )
