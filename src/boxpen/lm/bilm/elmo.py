"""The public weights of ELMo: options (JSON), weights (HDF5), vocabulary, and the softmax.

The commonly used weights lack the softmax, which word vectors do not need. It is in the TensorFlow
checkpoint that was published beside them, or in an HDF5 file converted from it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from boxpen.errors import ModelError
from boxpen.lm.bilm.characters import CHARACTERS
from boxpen.lm.bilm.config import BiLMConfig
from boxpen.lm.bilm.model import BiLMForLanguageModeling
from boxpen.lm.bilm.tensor_bundle import read_bundle
from boxpen.lm.bilm.vocabulary import word_tokenizer

__all__ = ["ElmoFiles", "find_elmo"]

Array = NDArray[np.float32]

_SOFTMAX = ("softmax/W", "softmax/b")
_CHARACTERS = (CHARACTERS, CHARACTERS + 1)  # as trained; as used, where 0 is the filling of texts
_LONGEST = 1000  # characters of a word: ELMo's 50 do, and no weight tells what is too many
_LEFT_OUT = "!!!MAXTERMID"  # a line of the public vocabulary that is no word


@dataclass(frozen=True)
class ElmoFiles:
    """The files of a public model.

    Attributes:
        options: Its shape, JSON.
        weights: All but the softmax, HDF5.
        softmax: The index of the TensorFlow checkpoint, or HDF5.
        vocabulary: Words in the order of the softmax, one per line.
    """

    options: Path
    weights: Path
    softmax: Path
    vocabulary: Path

    def config(self) -> BiLMConfig:
        """Return the shape of the model."""
        options = _options(self.options)
        words = _words(self.vocabulary)
        rows = _softmax_rows(self.softmax)
        if rows != len(words):
            raise ModelError(
                f"{self.softmax} has a softmax over {rows:,} words, but {self.vocabulary} has "
                f"{len(words):,}: they do not belong together"
            )
        try:
            lstm, cnn = options["lstm"], options["char_cnn"]
            if not lstm.get("use_skip_connections"):
                raise ModelError(f"{self.options} is of a model without residuals, expected ELMo's")
            if (ways := options.get("bidirectional", True)) is not True:
                raise ModelError(
                    f"{self.options} has bidirectional {ways!r}, expected true, as ELMo reads"
                )
            if (ids := cnn.get("n_characters", CHARACTERS)) not in _CHARACTERS:
                raise ModelError(
                    f"{self.options} has n_characters {ids!r}, expected "
                    f"{' or '.join(map(str, _CHARACTERS))}: the bytes of UTF-8 and ELMo's own signs"
                )
            return BiLMConfig(
                vocab_size=len(words),
                hidden_size=self._whole("projection_dim", lstm["projection_dim"]),
                cell_size=self._whole("dim", lstm["dim"]),
                num_hidden_layers=self._whole("n_layers", lstm["n_layers"]),
                cell_clip=self._clip(lstm, "cell_clip"),
                projection_clip=self._clip(lstm, "proj_clip"),
                character_size=self._whole("dim", cnn["embedding"]["dim"]),
                filters=[
                    (self._whole("filters", width), self._whole("filters", count))
                    for width, count in cnn["filters"]
                ],
                highways=self._whole("n_highway", cnn.get("n_highway") or 0, least=0),
                activation=cnn["activation"],
                max_characters=self._whole(
                    "max_characters_per_token", cnn["max_characters_per_token"], most=_LONGEST
                ),
                bos_token_id=words["<S>"],
                eos_token_id=words["</S>"],
                unk_token_id=words["<UNK>"],
            )
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(
                f"{self.options} has no options of an ELMo that reads characters "
                f"({type(error).__name__}: {error})"
            ) from None

    def tokenizer(self) -> Any:
        """Return a tokenizer of its words."""
        return word_tokenizer(list(_words(self.vocabulary)), self.config().max_characters)

    def load(self) -> BiLMForLanguageModeling:
        """Return the model with its weights, on the CPU.

        Raises:
            ModelError: If a weight is missing, is not of the shape that the options say or not a
                number, or if there are weights that the options do not name.
        """
        config = self.config()
        with _hdf5(self.weights) as file:
            read = _Reader(self.weights, file)
            weights = dict(_weights(config, read))
            if rest := read.rest():
                raise ModelError(
                    f"{self.weights} has the weights '{rest[0]}' ({len(rest)} such in all), "
                    f"which {self.options} does not mention: they do not belong together"
                )
        weights["lm_head.weight"], weights["lm_head.bias"] = _softmax(self.softmax, config)
        # Not before the weights are there: millions of layers would take hours to build.
        with torch.device("meta"):
            model = BiLMForLanguageModeling(config)
        tensors = {
            name: torch.from_numpy(np.array(value, order="C")) for name, value in weights.items()
        }
        model.load_state_dict(tensors, assign=True)
        model.eval()
        return model

    def _clip(self, lstm: Mapping[str, Any], name: str) -> float | None:
        """Return a bound of the options; None for none."""
        found = lstm.get(name)
        number = isinstance(found, int | float) and not isinstance(found, bool)
        if found is None or (number and 0 < found < math.inf):
            return found
        raise ModelError(f"{self.options} has {name} {found!r}, expected a number above 0, or null")

    def _whole(self, name: str, found: Any, *, least: int = 1, most: float = math.inf) -> int:
        """Return a size or a count of the options."""
        if isinstance(found, int) and not isinstance(found, bool) and least <= found <= most:
            return found
        bounds = f"from {least} on" if most == math.inf else f"from {least} to {most:,}"
        raise ModelError(f"{self.options} has {name} {found!r}, expected a whole number {bounds}")


def find_elmo(folder: Path) -> ElmoFiles:
    """Return the files of a folder: one of each kind is expected, whatever its name begins with.

    Raises:
        ModelError: If one is missing (the softmax in particular), or there are several.
    """
    if not folder.is_dir():
        raise ModelError(f"there is no folder {folder}, expected one with the files of ELMo")
    every = sorted(p for p in folder.iterdir() if p.is_file())
    hdf5 = [p for p in every if p.suffix in (".hdf5", ".h5")]
    weights = _only(folder, [p for p in hdf5 if "softmax" not in p.name], "weights", "*.hdf5")
    beside = weights.with_name(weights.stem.replace("weights", "options") + ".json")
    options = [beside] if beside in every else [p for p in every if p.suffix == ".json"]
    softmax = [p for p in every if p.suffix == ".index"] or [p for p in hdf5 if p != weights]
    if not softmax:
        raise ModelError(
            f"{folder} has no softmax, without which ELMo gives no probabilities; expected the "
            "TensorFlow checkpoint (*.index and *.data-*) or *softmax*.hdf5 beside its weights"
        )
    texts = [p for p in every if p.suffix == ".txt"]
    words = [p for p in texts if "vocab" in p.name] or texts  # not the licence beside it
    return ElmoFiles(
        options=_only(folder, options, "options", "*options.json"),
        weights=weights,
        softmax=_only(folder, softmax, "softmax", "*.index"),
        vocabulary=_only(folder, words, "vocabulary", "vocab*.txt"),
    )


def _only(folder: Path, found: list[Path], what: str, pattern: str) -> Path:
    if len(found) != 1:
        names = ", ".join(p.name for p in found) or "none"
        raise ModelError(
            f"{folder} must have one file for the {what} of ELMo ({pattern}), found {names}"
        )
    return found[0]


def _options(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({error})") from None
    if not isinstance(found, dict) or not isinstance(found.get("char_cnn"), dict):
        raise ModelError(f"{path} has no 'char_cnn', expected the options of ELMo")
    return found


def _words(path: Path) -> dict[str, int]:
    """Return the words of a vocabulary, numbered."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as a vocabulary ({error})") from None
    if lines and not lines[-1]:
        lines.pop()
    words = [line.strip() for line in lines]
    words = [word for word in words if word != _LEFT_OUT]
    numbered = {word: number for number, word in enumerate(words)}
    if len(numbered) < len(words):
        twice = next(w for n, w in enumerate(words) if numbered[w] != n)
        raise ModelError(f"{path} has the word {twice!r} twice, expected each once")
    for special in ("<S>", "</S>", "<UNK>"):
        if special not in numbered:
            raise ModelError(f"{path} has no {special}, expected it among the words")
    return numbered


def _hdf5(path: Path) -> Any:
    try:
        h5py = import_module("h5py")
    except ImportError:
        raise ModelError(
            "the weights of ELMo need h5py; install it with: pip install h5py"
        ) from None
    try:
        return h5py.File(path, "r")
    except OSError:
        raise ModelError(f"{path} cannot be read as HDF5") from None


@dataclass(frozen=True)
class _Reader:
    """Weights of an HDF5 file, each checked for its shape and numbers."""

    path: Path
    file: Any
    names: set[str] = field(default_factory=set)
    """Of what was read."""

    def __call__(self, name: str, *shape: int) -> Array:
        found = self.file.get(name)
        if found is None or not hasattr(found, "shape"):
            raise ModelError(f"{self.path} has no weights '{name}'")
        if tuple(found.shape) != shape:
            raise ModelError(
                f"{self.path} has the weights '{name}' of the shape {tuple(found.shape)}, expected "
                f"{shape}, as the options say"
            )
        self.names.add(name)
        return _numbers(self.path, name, found[...])

    def rest(self) -> list[str]:
        """Return the names of the weights that were not read, but for a softmax."""
        found: list[str] = []
        self.file.visit(found.append)
        return sorted(
            name
            for name in found
            if hasattr(self.file[name], "shape")  # and no group of weights
            and name not in self.names
            and not name.startswith("softmax/")
        )


def _numbers(path: Path, name: str, found: Any) -> Array:
    """Return weights in float32; reject NaN and Inf."""
    out = np.asarray(found, dtype=np.float32)
    if not np.isfinite(out).all():
        raise ModelError(
            f"{path} has NaN or Inf in the weights '{name}': the file is damaged, or comes from a "
            "failed training"
        )
    return out


def _weights(config: BiLMConfig, read: _Reader) -> Iterator[tuple[str, Array]]:
    """Yield all weights but the softmax under the names that they have here."""
    width, hidden = config.character_size, config.hidden_size
    yield "characters.embedding.weight", read("char_embed", CHARACTERS, width)
    for i, (span, count) in enumerate(config.filters):
        filters = read(f"CNN/W_cnn_{i}", 1, span, width, count)
        yield f"characters.filters.{i}.weight", filters[0].transpose(2, 1, 0)
        yield f"characters.filters.{i}.bias", read(f"CNN/b_cnn_{i}", count)
    total = sum(count for _, count in config.filters)
    for i in range(config.highways):
        # What they call carry lets the transformed word through, not the word itself.
        for theirs, ours in (("carry", "gate"), ("transform", "transform")):
            name = f"characters.highways.{i}.{ours}"
            yield f"{name}.weight", read(f"CNN_high_{i}/W_{theirs}", total, total).T
            yield f"{name}.bias", read(f"CNN_high_{i}/b_{theirs}", total)
    yield "characters.projection.weight", read("CNN_proj/W_proj", total, hidden).T
    yield "characters.projection.bias", read("CNN_proj/b_proj", hidden)
    for number, direction in enumerate(("forwards", "backwards")):
        for layer in range(config.num_hidden_layers):
            place = f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            for name, value in _lstm(config, read, place):
                yield f"{direction}.layers.{layer}.{name}_l0", value


def _lstm(config: BiLMConfig, read: _Reader, place: str) -> Iterator[tuple[str, Array]]:
    """Yield the weights of one LSTM.

    TensorFlow has the gates in the order input, new, forget, output, PyTorch input, forget, new,
    output; and it adds 1 to the forget gate when it runs.
    """
    hidden, cells = config.hidden_size, config.cell_size
    matrix = read(f"{place}/W_0", 2 * hidden, 4 * cells).T  # (4 cells, input and state)
    bias = read(f"{place}/B", 4 * cells)
    bias[2 * cells : 3 * cells] += 1
    order = np.concatenate([np.arange(cells) + gate * cells for gate in (0, 2, 1, 3)])
    yield "weight_ih", matrix[order, :hidden]
    yield "weight_hh", matrix[order, hidden:]
    yield "weight_hr", read(f"{place}/W_P_0", cells, hidden).T
    yield "bias_ih", bias[order]
    yield "bias_hh", np.zeros_like(bias)


def _softmax_rows(path: Path) -> int:
    """Return the number of words of a softmax without reading the matrix."""
    if path.suffix == ".index":
        bundle = read_bundle(path)
        if any(f"lm/{name}" not in bundle.tensors for name in _SOFTMAX):
            raise ModelError(
                f"{path} has no 'lm/softmax/W' and 'lm/softmax/b', without which ELMo gives no "
                "probabilities; expected the checkpoint of a training of ELMo"
            )
        return _only_size(path, bundle.shape("lm/softmax/b"))
    with _hdf5(path) as file:
        if any(name not in file for name in _SOFTMAX):
            raise ModelError(f"{path} has no 'softmax/W' and 'softmax/b', expected a softmax")
        return _only_size(path, getattr(file["softmax/b"], "shape", ()))


def _only_size(path: Path, shape: tuple[int, ...]) -> int:
    if len(shape) != 1:
        raise ModelError(
            f"{path} has a 'softmax/b' of the shape {tuple(shape)}, expected one number per word"
        )
    return int(shape[0])


def _softmax(path: Path, config: BiLMConfig) -> tuple[Array, Array]:
    """Return the matrix of the softmax, (words, width), and its bias."""
    if path.suffix == ".index":
        bundle = read_bundle(path)
        weight, bias = (bundle.read(f"lm/{name}") for name in _SOFTMAX)
    else:
        with _hdf5(path) as file:
            weight, bias = (file[name][...] for name in _SOFTMAX)
    if weight.shape[::-1] == (config.vocab_size, config.hidden_size):
        weight = weight.T  # some store it lying
    if weight.shape != (config.vocab_size, config.hidden_size):
        raise ModelError(
            f"{path} has a softmax of the shape {weight.shape}, expected "
            f"{(config.vocab_size, config.hidden_size)}, as the options say"
        )
    return _numbers(path, _SOFTMAX[0], weight), _numbers(path, _SOFTMAX[1], bias)
