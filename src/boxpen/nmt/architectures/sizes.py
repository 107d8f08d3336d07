"""The shapes of translation models by name, and new models of them.

``base`` is what He et al. (2020) trained: the Transformer of Vaswani et al. (2017), and RNNSearch
with 4 layers of LSTM, 512 wide. ``small`` learns a little in an hour on a modest GPU; ``tiny`` is
for tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from boxpen.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["SIZES", "Architecture", "Shape", "Size", "new_model", "parameters", "size_rows"]

_ADDING = ("v_proj.weight", "out_proj.weight", "fc1.weight", "fc2.weight")
_MOST_PIECES = 1_000_000

Architecture = Literal["transformer", "rnnsearch"]
Size = Literal["tiny", "small", "base"]


@dataclass(frozen=True)
class Shape:
    """The numbers of a model.

    Attributes:
        layers: Of the encoder, and of the decoder.
        width: Of embeddings and states.
        dropout: If none is asked for.
        heads: Of every attention; a Transformer's.
        feed_forward: Width between the two layers of a feed-forward network; a Transformer's.
    """

    layers: int
    width: int
    dropout: float
    heads: int = 0
    feed_forward: int = 0


SIZES: Mapping[Architecture, Mapping[Size, Shape]] = {
    "transformer": {
        "tiny": Shape(2, 64, 0.1, heads=4, feed_forward=128),
        "small": Shape(4, 256, 0.1, heads=4, feed_forward=1024),
        "base": Shape(6, 512, 0.1, heads=8, feed_forward=2048),
    },
    "rnnsearch": {
        "tiny": Shape(2, 64, 0.2),
        "small": Shape(3, 256, 0.2),
        "base": Shape(4, 512, 0.2),
    },
}


def new_model(
    architecture: Architecture,
    size: Size,
    *,
    source_vocabulary: int,
    target_vocabulary: int,
    shared: bool,
    pad: int,
    eos: int,
    dropout: float | None = None,
    max_length: int = 512,
) -> PreTrainedModel:
    """Make a model with random weights (see ``torch.manual_seed``).

    The output layer is tied to the target's embedding, and the decoder starts from the padding
    token, as with Marian.

    Args:
        architecture: ``transformer`` or ``rnnsearch``.
        size: ``tiny``, ``small`` or ``base``.
        source_vocabulary: Tokens of the source.
        target_vocabulary: Tokens of the target.
        shared: Whether the two are one vocabulary, with one embedding.
        pad: The padding token of both sides.
        eos: The token that ends sentences on both sides.
        dropout: Dropout, if not that of the size.
        max_length: Maximum tokens per sentence: the positions of a Transformer, and where
            translation stops.
    """
    shape = SIZES[architecture][size]
    make = _transformer if architecture == "transformer" else _rnnsearch
    model = make(
        shape,
        shape.dropout if dropout is None else dropout,
        max_length,
        vocab_size=source_vocabulary,
        decoder_vocab_size=target_vocabulary,
        share_encoder_decoder_embeddings=shared,
        tie_word_embeddings=True,
        pad_token_id=pad,
        eos_token_id=eos,
        decoder_start_token_id=pad,
    )
    model.generation_config.max_length = max_length
    return model


def size_rows(vocabulary: int) -> list[dict[str, Any]]:
    """Return every shape, and the parameters of a model with two vocabularies of this size.

    Raises:
        ModelError: If the vocabulary is too small or too large.
    """
    if not 3 <= vocabulary <= _MOST_PIECES:
        raise ModelError(f"--vocabulary is {vocabulary}, expected 3 to {_MOST_PIECES:,}")
    import torch

    rows = []
    for architecture, shapes in SIZES.items():
        for size, shape in shapes.items():
            with torch.device("meta"):
                model = new_model(
                    architecture, size, source_vocabulary=vocabulary,
                    target_vocabulary=vocabulary, shared=False, pad=2, eos=0,
                )  # fmt: skip
            rows.append(
                {"architecture": architecture, "size": size, "layers": shape.layers,
                 "width": shape.width, "heads": shape.heads, "parameters": parameters(model)}
            )  # fmt: skip
    return rows


def parameters(model: PreTrainedModel) -> int:
    """Return how many numbers are learnt; tied weights count once, fixed positions not at all."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def _transformer(
    shape: Shape, dropout: float, max_length: int, **vocabularies: Any
) -> PreTrainedModel:
    """Make a Transformer as Vaswani et al. (2017) describe it.

    Marian has the same layers: post-norm, sinusoids, scaled and tied embeddings. The activation is
    their ReLU and not the swish of the OPUS-MT models.
    """
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        d_model=shape.width,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.feed_forward,
        decoder_ffn_dim=shape.feed_forward,
        max_position_embeddings=max_length,
        activation_function="relu",
        dropout=dropout,
        scale_embedding=True,
        forced_eos_token_id=None,
        **vocabularies,
    )
    model = MarianMTModel(config)
    _draw(model, shape.width)
    return model


def _rnnsearch(shape: Shape, dropout: float, _: int, **vocabularies: Any) -> PreTrainedModel:
    from boxpen.nmt.architectures.rnnsearch import (
        RNNSearchConfig,
        RNNSearchForConditionalGeneration,
    )

    layers = shape.layers
    config = RNNSearchConfig(
        hidden_size=shape.width, num_hidden_layers=layers, dropout=dropout, **vocabularies
    )
    return RNNSearchForConditionalGeneration(config)


def _draw(model: PreTrainedModel, width: int) -> None:
    """Draw the weights of a Transformer anew, as for training from scratch.

    Transformers draws all weights with the standard deviation 0.02, which suits the fine-tuning of
    BERT. Glorot & Bengio (2010) keep the scale of signals from layer to layer; embeddings of
    1/√width have unit variance where they are read, times √width, and so have the logits.

    With norms after the layers, a deep model with such weights ends up giving every target the
    same words, unless its learning rate rises over thousands of steps. What layers add to their
    residual is therefore scaled down with their number, as in DeepNorm (Wang et al. 2022), whose
    factors for six layers are of this size.
    """
    from torch import nn

    tied = model.get_output_embeddings()
    for module in model.modules():
        if isinstance(module, nn.Linear) and module is not tied:
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.Embedding) and module.weight.requires_grad:
            nn.init.normal_(module.weight, std=width**-0.5)
    for name, weight in model.named_parameters():
        if name.endswith(_ADDING):
            weight.data.mul_(model.config.encoder_layers**-0.5)
