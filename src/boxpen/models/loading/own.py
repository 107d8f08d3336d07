"""Boxpen's own architectures, which must be registered before Transformers can load them."""

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
    """Register an architecture with Transformers; doing so twice is harmless."""
    if architecture in BIDIRECTIONAL:
        import_module("boxpen.lm.bilm.model").register()
        return
    inside = "context." if architecture in CONTEXTUAL else ""
    import_module(f"boxpen.nmt.{inside}{architecture}").register()
