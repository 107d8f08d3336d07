"""The shape of a bidirectional language model, and the shapes that have a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from transformers.configuration_utils import PreTrainedConfig

from boxpen.errors import ModelError

__all__ = ["SIZES", "BiLMConfig", "Input"]

Input = Literal["characters", "pieces"]

_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))

SIZES: Mapping[str, Mapping[str, Any]] = MappingProxyType({
    "tiny": {
        "hidden_size": 64, "cell_size": 128, "filters": ((1, 16), (2, 16), (3, 32), (4, 64)),
        "highways": 1,
    },
    "small": {"hidden_size": 128, "cell_size": 1024, "filters": _FILTERS, "highways": 1},
    "base": {"hidden_size": 256, "cell_size": 2048, "filters": _FILTERS, "highways": 1},
    "public": {"hidden_size": 512, "cell_size": 4096, "filters": _FILTERS, "highways": 2},
})  # fmt: skip
"""``small``, ``base`` and ``public`` are the small, the medium and the original ELMo; ``tiny`` is
for tests. A new model has none of their clipping, which would keep cuDNN out."""


class BiLMConfig(PreTrainedConfig):  # type: ignore[misc]
    """The shape of a model.

    Args:
        vocab_size: Words (or pieces) of the softmax, which both directions share.
        input: What a token is read by: the characters of its word, or its number.
        hidden_size: Width of what goes into a layer and, projected, comes out of it.
        cell_size: Width of an LSTM's memory; more than ``hidden_size``.
        num_hidden_layers: Layers of LSTM in either direction.
        dropout: Share of what goes into a layer, or comes out of the last, that is set to zero in
            training.
        cell_clip: What the memory is kept within at every step; None for no bound.
        projection_clip: What the projected output is kept within; None for no bound.
        character_size: Width of a character's embedding.
        filters: Width and number of the filters over characters.
        highways: Highway layers above the filters.
        activation: What follows the filters: ``relu`` or ``tanh``.
        max_characters: Characters of a word, with the two that mark its beginning and end.
        bos_token_id: Begins a sentence; the backward model predicts it last.
        eos_token_id: Ends a sentence.
        unk_token_id: Stands for words outside of the softmax, if there can be any.
    """

    model_type = "bilm"
    attribute_map = {"intermediate_size": "cell_size"}  # noqa: RUF012
    # A list, to which the Trainer adds another.
    keys_to_ignore_at_inference = [  # noqa: RUF012
        "tokens", "forward_log_probabilities", "backward_log_probabilities", "last_hidden_state",
    ]  # fmt: skip

    def __init__(
        self,
        vocab_size: int = 50_000,
        input: Input = "characters",  # noqa: A002
        hidden_size: int = 512,
        cell_size: int = 4096,
        num_hidden_layers: int = 2,
        dropout: float = 0.1,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
        character_size: int = 16,
        filters: Sequence[Sequence[int]] = _FILTERS,
        highways: int = 2,
        activation: str = "relu",
        max_characters: int = 50,
        bos_token_id: int = 1,
        eos_token_id: int = 0,
        unk_token_id: int | None = 2,
        **others: Any,
    ) -> None:
        super().__init__(**others)
        self.vocab_size = vocab_size
        self.input = input
        self.hidden_size = hidden_size
        self.cell_size = cell_size
        self.num_hidden_layers = num_hidden_layers
        self.dropout = dropout
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.character_size = character_size
        self.filters = [list(pair) for pair in filters]
        self.highways = highways
        self.activation = activation
        self.max_characters = max_characters
        self.bos_token_id = bos_token_id
        self.eos_token_id = eos_token_id
        self.unk_token_id = unk_token_id
        self.tie_word_embeddings = False
        self._check()

    def _check(self) -> None:
        if self.input not in ("characters", "pieces"):
            raise ModelError(
                f"a bidirectional model cannot read {self.input!r}, expected characters or pieces"
            )
        if self.activation not in ("relu", "tanh"):
            raise ModelError(
                f"the filters of a bidirectional model cannot be followed by {self.activation!r}, "
                "expected relu or tanh"
            )
        if self.num_hidden_layers < 1 or not 0 < self.hidden_size < self.cell_size:
            raise ModelError(
                f"a bidirectional model cannot have {self.num_hidden_layers} layer(s) with a "
                f"memory of {self.cell_size} projected to {self.hidden_size}, expected one layer "
                "or more, and a memory wider than its projection"
            )
        widest = max((width for width, _ in self.filters), default=0)
        if self.input == "characters" and not 0 < widest <= self.max_characters:
            raise ModelError(
                f"a filter over {widest} characters does not fit words of {self.max_characters}, "
                "expected filters that are not wider"
            )
