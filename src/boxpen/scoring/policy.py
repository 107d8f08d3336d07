"""The scoring policy: every choice that changes a number, in one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from boxpen.errors import PolicyError, nearest

__all__ = ["ScoringPolicy"]

Bos = Literal["auto", "always", "never"]
Eos = Literal["auto", "always", "never"]
Norm = Literal["sum", "token", "word", "char", "byte", "pmi"]
Pll = Literal["within_word_l2r", "original", "unmasked"]
Ties = Literal["half", "strict", "first"]
Nli = Literal["3-way", "2-way"]
Context = Literal["given", "none", "shuffled"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Precision = Literal["full", "fast"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "bos": get_args(Bos),
    "eos": get_args(Eos),
    "norm": get_args(Norm),
    "pll": get_args(Pll),
    "ties": get_args(Ties),
    "nli": get_args(Nli),
    "context": get_args(Context),
    "dtype": get_args(Dtype),
    "precision": get_args(Precision),
}


@dataclass(frozen=True, slots=True)
class ScoringPolicy:
    """How log-probabilities are taken from a model and turned into a decision.

    Attributes:
        bos: Whether to prepend a beginning-of-sequence token. ``auto``: if the tokenizer has
            one. Without it a causal model cannot score the first token.
        eos: Whether the end-of-sequence token is scored. ``auto``: for sequence-to-sequence
            models only.
        norm: What the sum of log-probabilities is divided by, or ``pmi``: the score without the
            context is subtracted.
        pll: For masked models. ``original`` masks one token at a time (Salazar et al. 2020),
            ``within_word_l2r`` also the rest of its word (Kauf & Ivanova 2023), ``unmasked``
            nothing at all (a flaw of a published script, kept to reproduce it).
        ties: ``half``: a tie of k candidates earns 1/k; ``strict``: nothing; ``first``: the first
            candidate wins (a flaw of published scripts, kept to reproduce them).
        nli: For inference classifiers. ``3-way``: all labels compete; ``2-way``: entailment and
            contradiction only (the forced choice of Razeghi et al. 2021).
        context: What a model reads before the source or the candidates: what the item gives,
            nothing, or what another item gives (a control: a gain from context must vanish).
        dtype: Floating-point type of the weights; logits are always float32. ``auto``: float32
            on a CPU, the checkpoint's own on a GPU.
        precision: ``fast``: float32 weights are rounded to bfloat16 where the hardware multiplies
            that faster, and items near a tie are scored again in float32.
        max_length: Longest sequence in tokens; the model's own limit if None. What is longer is
            cut (a language model's from the left) and flagged.
    """

    bos: Bos = "auto"
    eos: Eos = "auto"
    norm: Norm = "sum"
    pll: Pll = "within_word_l2r"
    ties: Ties = "half"
    nli: Nli = "3-way"
    dtype: Dtype = "auto"
    max_length: int | None = None
    context: Context = "given"
    precision: Precision = "full"

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise PolicyError(
                    f"{name} is {value!r}, expected {', '.join(allowed[:-1])} or {allowed[-1]}"
                )
        if self.max_length is not None and self.max_length < 2:
            raise PolicyError(f"max_length is {self.max_length}, expected 2 or more")

    def but(self, **changes: Any) -> ScoringPolicy:
        """Return this policy with the changes that are not None.

        Raises:
            PolicyError: If a name or a value is unknown.
        """
        known = [f.name for f in fields(self)]
        for name in changes:
            if name not in known:
                raise PolicyError(f"policy field '{name}' is unknown, {nearest(name, known)}")
        return replace(self, **{k: v for k, v in changes.items() if v is not None})
