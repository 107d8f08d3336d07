"""Architectures of our own, which Transformers must be told of before it loads one."""

from __future__ import annotations

from importlib import import_module

__all__ = ["BIDIRECTIONAL", "CONTEXTUAL", "OWN", "introduce"]

BIDIRECTIONAL = {"bilm": "BiLMForLanguageModeling"}
"""Language models that read both ways; those below translate."""

CONTEXTUAL = {
    "concat": "ConcatForConditionalGeneration",
    "thumt": "ThumtForConditionalGeneration",
    "cadec": "CADecForConditionalGeneration",
    "bert_fused": "BertFusedForConditionalGeneration",
}
"""Those that also read the sentences before, and their classes."""

OWN = {"rnnsearch": "RNNSearchForConditionalGeneration", **CONTEXTUAL}


def introduce(architecture: str) -> None:
    """Let Transformers know an architecture; to do so twice does no harm."""
    if architecture in BIDIRECTIONAL:
        import_module("boxpen.bilm.model").register()
        return
    inside = "context." if architecture in CONTEXTUAL else ""
    import_module(f"boxpen.nmt.{inside}{architecture}").register()
