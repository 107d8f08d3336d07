"""Short names for the models that the papers name, and for the embedded default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["PRESETS", "TRIED", "Preset", "tried"]

Tried = Literal["real", "random"]

TRIED: dict[Tried, str] = {
    "real": "real weights",
    "random": "same architecture, random weights",
}
"""What boxpen was run on: the published weights, or a tiny model of the same classes only."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A model under a short name.

    Attributes:
        name: The short name.
        spec: What it resolves to.
        kind: What its scores mean.
        languages: What it reads.
        note: Where it is used, and its size.
        tried: What boxpen was run on, see ``TRIED``.
    """

    name: str
    spec: str
    kind: str
    languages: tuple[str, ...]
    note: str
    tried: Tried = "random"


_EN = ("en",)
_ALL = (
    Preset("smollm2", "embedded:smollm2", "causal", _EN, "the default; 135 M, CPU, no hub", "real"),
    Preset("gpt", "hf:openai-community/openai-gpt", "causal", _EN, "CommonMT, CATs; 117 M"),
    Preset("gpt2", "hf:openai-community/gpt2", "causal", _EN, "CommonMT, CATs; 124 M"),
    Preset("gpt2-medium", "hf:openai-community/gpt2-medium", "causal", _EN, "both; 355 M"),
    Preset("bert-base", "hf:google-bert/bert-base-uncased", "masked", _EN, "all papers; 110 M"),
    Preset("bert-large", "hf:google-bert/bert-large-uncased", "masked", _EN, "all papers; 340 M"),
    Preset("roberta-base", "hf:FacebookAI/roberta-base", "masked", _EN, "CATs; 125 M"),
    Preset("roberta-large", "hf:FacebookAI/roberta-large", "masked", _EN, "CATs; 355 M"),
    Preset("xlnet-base", "hf:xlnet/xlnet-base-cased", "permuted", _EN, "CATs; 117 M"),
    Preset("xlnet-large", "hf:xlnet/xlnet-large-cased", "permuted", _EN, "CATs; 360 M"),
    Preset("roberta-large-mnli", "hf:FacebookAI/roberta-large-mnli", "nli", _EN, "355 M"),
    Preset("bart-large-mnli", "hf:facebook/bart-large-mnli", "nli", _EN, "407 M"),
    Preset("opus-mt-zh-en", "hf:Helsinki-NLP/opus-mt-zh-en", "seq2seq", ("zh", "en"), "77 M"),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def tried(name: str) -> Tried | None:
    """Return what boxpen was run on of a preset or of ELMo; None for other checkpoints."""
    if name in PRESETS:
        return PRESETS[name].tried
    return "random" if name.startswith("elmo:") else None
