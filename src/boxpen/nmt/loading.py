"""Load trained translation models with their tokenizers, and refuse what is incomplete."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from boxpen.config import AtLeast1, check_config
from boxpen.errors import ConfigError, NmtError
from boxpen.models.engine.quiet import quiet
from boxpen.models.loading.kinds import introduce
from boxpen.models.loading.trust import foreign_attention
from boxpen.models.vocabulary import foreign_vocabulary
from boxpen.nmt.limits import MOST_BEAM, MOST_PENALTY
from boxpen.nmt.reading import context_limits
from boxpen.plugins import ARCHITECTURES

__all__ = ["check_numbers", "load_base", "load_model", "load_tokenizer"]

_SUBWORDS = ("vocab.json", "target_vocab.json", "tokenizer_config.json")

_Size = AtLeast1 | None
_Rate = Annotated[float, Ge(0), Le(1)] | None


@dataclass(frozen=True)
class _Shape:
    """Settings of a config.json that Transformers accepts or fails on, whatever they are."""

    vocab_size: _Size = None
    decoder_vocab_size: _Size = None
    max_position_embeddings: _Size = None
    d_model: _Size = None
    hidden_size: _Size = None
    encoder_layers: _Size = None
    decoder_layers: _Size = None
    num_hidden_layers: _Size = None
    encoder_attention_heads: _Size = None
    decoder_attention_heads: _Size = None
    encoder_ffn_dim: _Size = None
    decoder_ffn_dim: _Size = None
    dropout: _Rate = None
    attention_dropout: _Rate = None
    activation_dropout: _Rate = None


@dataclass(frozen=True)
class _Generation:
    """Settings of a generation_config.json that translation would fail with."""

    decoder_start_token_id: Annotated[int, Ge(0)]
    eos_token_id: int | tuple[int, ...] | None = None
    pad_token_id: int | None = None
    num_beams: Annotated[int, Ge(1), Le(MOST_BEAM)] | None = None
    length_penalty: Annotated[float, Ge(-MOST_PENALTY), Le(MOST_PENALTY)] | None = None


def load_model(folder: Path | str) -> tuple[Any, Any]:
    """Load a model and its tokenizer, from a folder or by the name of a checkpoint.

    Raises:
        NmtError: If it is missing or incomplete, its weights have NaN or Inf, or the two do not
            belong together.
    """
    path = Path(folder)
    for architecture in ARCHITECTURES:
        introduce(architecture)
    if path.is_dir() and not (path / "config.json").is_file():
        unfinished = (path / "training.json").is_file()
        why = "its training is not finished" if unfinished else "it has no config.json"
        raise NmtError(f"{folder} is not a translation model: {why}")
    config = _config(path, str(folder))
    model = _model(str(folder), config)
    tokenizer = load_tokenizer(folder)
    source = getattr(config, "vocab_size", None)
    target = getattr(config, "decoder_vocab_size", None) or source
    _check_vocabulary(str(folder), tokenizer, "source", source)
    _check_vocabulary(str(folder), tokenizer, "target", target)
    _check_generation(str(folder), model.generation_config, target)
    check_numbers(model, str(folder))
    if wrong := foreign_vocabulary(path):
        raise NmtError(f"{folder} {wrong}")
    return model.eval(), tokenizer


def load_base(folder: Path, subwords: Path, dropout: float | None = None) -> Any:
    """Return the trained Transformer that another model begins from.

    Args:
        folder: Where it is.
        subwords: The tokenizer of the training corpus.
        dropout: New dropout, if not the one it was trained with.

    Raises:
        NmtError: If it is not a Transformer, or has another vocabulary.
    """
    base, _ = load_model(folder)
    if type(base).__name__ != "MarianMTModel":
        raise NmtError(
            f"[model] base = {folder} is a {base.config.model_type}, expected a Transformer"
        )
    for name in ("source.spm", "target.spm", "vocab.json"):
        ours, theirs = subwords / name, folder / name
        if not theirs.is_file() or ours.read_bytes() != theirs.read_bytes():
            raise NmtError(
                f"[model] base = {folder} has another vocabulary than the corpus in "
                f"{subwords.parent}; prepare the corpus with the tokenizer of the base, or train "
                "the base on this corpus"
            )
    if dropout is not None:
        base.config.dropout = dropout
    # Layers take dropout from the configuration when they are made, and only the sinusoidal
    # positions of a model that was made, not loaded, are left out of the training.
    made = type(base)(base.config)
    made.load_state_dict(base.state_dict())
    made.generation_config = base.generation_config
    return made


def load_tokenizer(folder: Path | str) -> Any:
    """Load a tokenizer.

    Raises:
        NmtError: If there is none.
    """
    from transformers import AutoTokenizer, MarianTokenizer

    try:
        for name in _SUBWORDS:
            _object(Path(folder) / name)
        with quiet():
            if (Path(folder) / "source.spm").is_file():
                return MarianTokenizer.from_pretrained(folder, trust_remote_code=False)
            return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of many kinds, for its files may be broken in many ways
        raise NmtError(f"{folder} has no tokenizer that can be loaded: {_reason(error)}") from error


def check_numbers(model: Any, told: str) -> None:
    """Reject weights with NaN or Inf.

    Args:
        model: The model.
        told: What the message calls it.

    Raises:
        NmtError: If there are some; the message names the first.
    """
    learnt = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name, weight in model.state_dict().items():
        # What is not learnt may be infinite: a bias can forbid a token so.
        wrong = ~weight.isfinite() if name in learnt else weight.isnan()
        if wrong.any():
            raise NmtError(
                f"{told} has NaN or Inf in its weight '{name}', expected a trained model"
            )


def _config(path: Path, name: str) -> Any:
    """Return the settings of a model."""
    from transformers import AutoConfig

    try:
        _object(path / "generation_config.json")
        _check(_Shape, _object(path / "config.json"), "its config.json")
        with quiet():
            config = AutoConfig.from_pretrained(name, trust_remote_code=False)
        context_limits(config)
    except Exception as error:  # of many kinds: no JSON, no number, no known model
        raise NmtError(f"{name} cannot be loaded: {_reason(error)}") from error
    if why := foreign_attention(config):
        raise NmtError(f"{name} cannot be loaded: {why}")
    if not config.is_encoder_decoder:
        raise NmtError(
            f"{name} is a {config.model_type} model, expected one that reads a source and writes a "
            "target"
        )
    return config


def _check(cls: type[Any], settings: dict[str, Any], where: str) -> None:
    known = {field.name for field in fields(cls)}
    try:
        check_config(cls, {k: v for k, v in settings.items() if k in known}, where)
    except ConfigError as error:
        raise NmtError(str(error)) from None


def _object(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file; nothing if there is no such file."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise NmtError(f"its {path.name} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise NmtError(f"its {path.name} is not a JSON object")
    return found


def _model(name: str, config: Any) -> Any:
    """Return the model; Transformers would draw weights that are missing, and only warn."""
    from transformers import AutoModelForSeq2SeqLM

    try:
        with quiet():
            model, info = AutoModelForSeq2SeqLM.from_pretrained(
                name,
                config=config,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                trust_remote_code=False,
            )
    except Exception as error:  # of many kinds: a file is missing, cut short, of another model
        raise NmtError(f"{name} cannot be loaded: {_reason(error)}") from error
    if info["mismatched_keys"]:
        weight, found, expected = min(info["mismatched_keys"])
        raise NmtError(
            f"{name} has the weight '{weight}' of the shape {tuple(found)}, expected "
            f"{tuple(expected)}, as its config.json says"
        )
    # Weights that are computed, or tied to one that is there, do not count as missing.
    if missing := sorted(info["missing_keys"]):
        raise NmtError(
            f"{name} lacks {len(missing)} weight(s), such as '{missing[0]}', expected all of them"
        )
    return model


def _check_vocabulary(name: str, tokenizer: Any, side: str, rows: int | None) -> None:
    """Reject pieces that the model has no row of its embedding for."""
    if rows is None:
        return
    separate = getattr(tokenizer, "separate_vocabs", None)  # None: not Marian's tokenizer
    known = {}
    if separate is not None:
        known = tokenizer.target_encoder if separate and side == "target" else tokenizer.encoder
    pieces = len(known) if separate else len(tokenizer)
    if pieces > rows:
        raise NmtError(
            f"{name} has a {side} vocabulary of {pieces:,} pieces, but its model knows {rows:,}: "
            "they are not of one training"
        )
    if not pieces:
        raise NmtError(f"{name} has a {side} vocabulary of no pieces, expected some")
    for piece, number in known.items():
        if type(number) is not int or not 0 <= number < rows:
            raise NmtError(
                f"{name} has the number {number!r} for the piece {piece!r} of its {side} "
                f"vocabulary, expected 0 to {rows - 1}"
            )


def _check_generation(name: str, kept: Any, rows: int | None) -> None:
    """Reject settings that translation would fail with; Transformers checks few of them."""
    settings = {**kept.to_dict(), "decoder_start_token_id": kept.decoder_start_token_id}
    if kept.decoder_start_token_id is None:
        settings["decoder_start_token_id"] = kept.bos_token_id
    _check(_Generation, settings, f"{name} cannot translate: its generation_config.json")
    start = settings["decoder_start_token_id"]
    if rows is not None and start >= rows:
        raise NmtError(
            f"{name} cannot translate: its generation_config.json: decoder_start_token_id is "
            f"{start}, expected 0 to {rows - 1}"
        )


def _reason(error: Exception) -> str:
    """Return the first line of a message, and the next where that only announces it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if isinstance(error, KeyError) and " " not in lines[0]:
        return f"no {lines[0]} is known"
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
