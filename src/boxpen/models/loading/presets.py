"""Short names for the models that the papers name, and for the embedded default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ELMO", "PRESETS", "TRIED", "Preset", "Trial", "trial"]

Tried = Literal["real", "kin", "random"]

TRIED: dict[Tried, str] = {
    "real": "real weights",
    "kin": "same architecture, real weights of another model",
    "random": "same architecture, random weights",
}
"""What boxpen was run on: the published weights, those of a relative, or only a tiny model."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What boxpen was run on, and the test that compares its scores with a brute-force twin.

    Attributes:
        on: See ``TRIED``.
        test: The test, as pytest names it.
        case: The architecture in the test, which pytest selects with ``-k``.
    """

    on: Tried
    test: str
    case: str

    def __str__(self) -> str:
        return f"{self.test} ({self.case})"


_TWINS = "tests/models/test_twins.py::test_"
_CLASSIFIERS = "tests/models/test_classifiers.py::TestTwins::test_labels"
_GPT = Trial("random", f"{_TWINS}causal", "gpt")
_GPT2 = Trial("random", f"{_TWINS}causal", "gpt2")
_BERT = Trial("kin", f"{_TWINS}masked", "bert")
_ROBERTA = Trial("random", f"{_TWINS}masked", "roberta")
_XLNET = Trial("random", f"{_TWINS}permuted", "xlnet")
_MARIAN = Trial("kin", f"{_TWINS}seq2seq", "marian")
_SMOLLM2 = Trial(
    "real", "tests/models/test_real_models.py::test_smollm2_equals_its_twin", "smollm2"
)
ELMO = Trial("random", "tests/bilm/test_elmo.py::test_it_scores_as_the_plain_loop_does", "elmo")


@dataclass(frozen=True, slots=True)
class Preset:
    """A model under a short name.

    Attributes:
        name: The short name.
        spec: What it resolves to.
        kind: What its scores mean.
        languages: What it reads.
        note: Where it is used, and its size.
        trial: What boxpen was run on, and its test.
    """

    name: str
    spec: str
    kind: str
    languages: tuple[str, ...]
    note: str
    trial: Trial


_EN = ("en",)
_ALL = (
    Preset(
        "smollm2", "embedded:smollm2", "causal", _EN, "the default; 135 M, CPU, no hub", _SMOLLM2
    ),
    Preset("gpt", "hf:openai-community/openai-gpt", "causal", _EN, "CommonMT, CATs; 117 M", _GPT),
    Preset("gpt2", "hf:openai-community/gpt2", "causal", _EN, "CommonMT, CATs; 124 M", _GPT2),
    Preset("gpt2-medium", "hf:openai-community/gpt2-medium", "causal", _EN, "both; 355 M", _GPT2),
    Preset(
        "bert-base", "hf:google-bert/bert-base-uncased", "masked", _EN, "all papers; 110 M", _BERT
    ),
    Preset(
        "bert-large", "hf:google-bert/bert-large-uncased", "masked", _EN, "all papers; 340 M", _BERT
    ),
    Preset("roberta-base", "hf:FacebookAI/roberta-base", "masked", _EN, "CATs; 125 M", _ROBERTA),
    Preset("roberta-large", "hf:FacebookAI/roberta-large", "masked", _EN, "CATs; 355 M", _ROBERTA),
    Preset("xlnet-base", "hf:xlnet/xlnet-base-cased", "permuted", _EN, "CATs; 117 M", _XLNET),
    Preset("xlnet-large", "hf:xlnet/xlnet-large-cased", "permuted", _EN, "CATs; 360 M", _XLNET),
    Preset(
        "roberta-large-mnli",
        "hf:FacebookAI/roberta-large-mnli",
        "nli",
        _EN,
        "355 M",
        Trial("random", _CLASSIFIERS, "roberta"),
    ),
    Preset(
        "bart-large-mnli",
        "hf:facebook/bart-large-mnli",
        "nli",
        _EN,
        "407 M",
        Trial("random", _CLASSIFIERS, "bart"),
    ),
    Preset(
        "opus-mt-zh-en", "hf:Helsinki-NLP/opus-mt-zh-en", "seq2seq", ("zh", "en"), "77 M", _MARIAN
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _ALL}


def trial(name: str) -> Trial | None:
    """Return what boxpen was run on of a preset or of ELMo; None for other checkpoints."""
    if name in PRESETS:
        return PRESETS[name].trial
    return ELMO if name.startswith("elmo:") else None
