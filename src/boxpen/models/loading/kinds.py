"""The kind of a model by its configuration, and the classes that load it and score with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from boxpen.errors import ModelError
from boxpen.models.base import Kind
from boxpen.models.loading.own import BIDIRECTIONAL, CONTEXTUAL, OWN

if TYPE_CHECKING:
    from boxpen.models.hf import TransformersModel

__all__ = ["auto_class", "class_of", "kind_of"]

_AUTO: dict[Kind, str] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "permuted": "AutoModelForCausalLM",
    "bidirectional": "AutoModel",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "nli": "AutoModelForSequenceClassification",
    "choice": "AutoModelForMultipleChoice",
}


def kind_of(config: Any, name: str, *, architecture: str | None = None) -> Kind:
    """Return the kind of a checkpoint by its architecture, or else by its model type.

    Raises:
        ModelError: If it is a kind that gives no probabilities to texts.
    """
    from transformers.models.auto import modeling_auto as auto

    tables: dict[Kind, dict[str, Any]] = {
        "seq2seq": {
            **auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
            **OWN,
        },
        "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    if config.model_type == "xlnet":
        tables = {"permuted": {"xlnet": "XLNetLMHeadModel"}}
    if config.model_type in BIDIRECTIONAL:
        tables = {"bidirectional": BIDIRECTIONAL}
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


def class_of(kind: Kind, architecture: str = "") -> type[TransformersModel]:
    """Return the class that scores with a kind of model; some architectures have their own."""
    if kind == "causal":
        from boxpen.models.causal import CausalModel

        return CausalModel
    if kind == "masked":
        from boxpen.models.masked import MaskedModel

        return MaskedModel
    if kind == "permuted":
        from boxpen.models.permuted import PermutedModel

        return PermutedModel
    if kind == "bidirectional":
        from boxpen.lm.bilm.scorer import BidirectionalModel

        return BidirectionalModel
    if kind == "nli":
        from boxpen.models.classifier import NliModel

        return NliModel
    if kind == "choice":
        from boxpen.models.choosing import ChoiceModel

        return ChoiceModel
    if architecture in CONTEXTUAL:
        from boxpen.nmt.context.scorer import ContextualModel

        return ContextualModel
    from boxpen.models.seq2seq import Seq2SeqModel

    return Seq2SeqModel
