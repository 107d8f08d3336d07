"""The kind of a model by its configuration, and the classes that load it and score with it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.models.base import Kind
from boxpen.plugins import ARCHITECTURES, SCORERS

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["auto_class", "introduce", "kind_of", "scorer_of"]

_AUTO: dict[Kind, str] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "permuted": "AutoModelForCausalLM",
    "bidirectional": "AutoModel",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "nli": "AutoModelForSequenceClassification",
    "choice": "AutoModelForMultipleChoice",
}

_CODE: tuple[Kind, ...] = ("causal", "masked", "seq2seq")


def kind_of(
    config: Any, name: str, *, architecture: str | None = None, trusted: bool = False
) -> Kind:
    """Return the kind of a checkpoint by its architecture, or else by its model type.

    Args:
        config: The model's configuration.
        name: The model, for messages.
        architecture: The class of a model in memory.
        trusted: Whether code of the checkpoint runs; then it tells what it is for.

    Raises:
        ModelError: If it is a kind that gives no probabilities to texts.
    """
    from transformers.models.auto import modeling_auto as auto

    tables: dict[Kind, dict[str, Any]] = {
        "seq2seq": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    if config.model_type == "xlnet":
        tables = {"permuted": {"xlnet": "XLNetLMHeadModel"}}
    own = ARCHITECTURES.builtin.get(config.model_type)
    if own is not None:
        tables = {
            scorer_of("seq2seq", config.model_type).kind: {config.model_type: own.split(":")[1]}
        }
    in_memory = architecture is not None
    architecture = architecture or _architecture(config)
    if architecture is not None and architecture.endswith("ForMultipleChoice"):
        return "choice"
    if architecture is not None and architecture.endswith("ForSequenceClassification"):
        return "choice" if config.num_labels == 1 else "nli"
    for kind, table in tables.items():
        names = {n for v in table.values() for n in ((v,) if isinstance(v, str) else v)}
        if architecture in names:
            return kind
    # A checkpoint may name a class without the output layer and still hold it: loading will tell.
    bare = architecture is None or re.search(r"(Model|ForPreTraining)$", architecture)
    if bare and not in_memory:
        for kind, table in tables.items():
            if config.model_type in table:
                return kind
    named = getattr(config, "auto_map", None) if trusted else None
    for kind in _CODE:
        if isinstance(named, dict) and _AUTO[kind] in named:
            return kind
    raise ModelError(
        f"model '{name}' is a {architecture or config.model_type}, which gives no probabilities to "
        "texts; expected a causal, masked, permuted, bidirectional or sequence-to-sequence "
        "language model, an inference classifier or a multiple-choice model"
    )


def _architecture(config: Any) -> str | None:
    return next(iter(getattr(config, "architectures", None) or ()), None)


def auto_class(kind: Kind, config: Any) -> str:
    """Return the class that loads a checkpoint; there are two forms of multiple choice."""
    if kind == "choice" and str(_architecture(config)).endswith("ForSequenceClassification"):
        return _AUTO["nli"]
    return _AUTO[kind]


def scorer_of(kind: Kind, model_type: str) -> type[TransformersModel]:
    """Return the class that scores with a checkpoint; boxpen's own may have one of theirs."""
    found: type[TransformersModel] = SCORERS.load(model_type if model_type in SCORERS else kind)
    return found


def introduce(architecture: str) -> None:
    """Register an architecture of boxpen's own with Transformers; doing so twice is harmless."""
    import_module(ARCHITECTURES.builtin[architecture].split(":")[0]).register()
