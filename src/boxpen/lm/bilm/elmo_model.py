"""ELMo as a model that scores."""

from __future__ import annotations

from typing import Any

from boxpen.models.base import Model, ModelSpec
from boxpen.models.loading import fingerprint
from boxpen.models.loading.assembly import assemble, transformers

__all__ = ["from_elmo"]


def from_elmo(spec: ModelSpec) -> Model:
    """Return the model of a folder with the public files of ELMo.

    Raises:
        ModelError: If files are missing, above all the softmax, or do not belong together.
    """
    transformers()
    from boxpen.lm.bilm.elmo import find_elmo

    files = find_elmo(spec.local)

    def load(dtype: str, device: str) -> Any:
        import torch

        return files.load().to(device, getattr(torch, dtype))

    digest = fingerprint.of_directory(spec.local)
    return assemble(spec, "bidirectional", files.config(), files.tokenizer(), digest, load)
