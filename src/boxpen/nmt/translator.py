"""A model that translates windows of lines, with the settings of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from boxpen.errors import NmtError
from boxpen.nmt.limits import MOST_BEAM, MOST_PENALTY
from boxpen.text.documents import LinesBefore
from boxpen.training.device import check_device

__all__ = ["Translator", "check_settings", "checkpoint_of"]

_MOST_TOKENS = 100_000_000


def check_settings(
    *, beam: int | None, length_penalty: float | None, tokens: int | None, device: str
) -> None:
    """Refuse settings that are out of range.

    Raises:
        NmtError: If one is; ``ModelError`` if the device is not available.
    """
    for name, value, most in (("beam", beam, MOST_BEAM), ("tokens", tokens, _MOST_TOKENS)):
        if value is not None and not 1 <= value <= most:
            raise NmtError(f"--{name} is {value}, expected 1 to {most:,}")
    if length_penalty is not None and not -MOST_PENALTY <= length_penalty <= MOST_PENALTY:
        raise NmtError(
            f"--length-penalty is {length_penalty:g}, expected {-MOST_PENALTY:g} to "
            f"{MOST_PENALTY:g}"
        )
    check_device(device)


def checkpoint_of(model: str) -> str:
    """Return the name for Transformers; only ``hf:NAME`` may refer to the hub.

    Raises:
        NmtError: If the model is a folder that does not exist.
    """
    name = model.removeprefix("hf:")
    if name == model and not Path(name).is_dir():
        raise NmtError(f"folder {name} does not exist; expected a model folder or hf:NAME")
    return name


class Translator:
    """Translates lines in windows.

    Attributes:
        window: How many lines to translate at once: enough to group sentences of similar length,
            and few enough that output appears soon.
        truncated: How many sentences, or contexts of sentences, exceeded the maximum length so far.

    Args:
        model: A model folder or ``hf:NAME``.
        beam: Beam size; that of the model if None.
        length_penalty: Exponent of the length penalty; that of the model if None.
        tokens: Maximum tokens per batch, including beams; by device if None.
        context: For models that read context: the lines before, or none.
        scores: Put the score and a tab before each translation.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        NmtError: If the model cannot be loaded, or reads context and none is chosen.
    """

    def __init__(
        self,
        model: str,
        *,
        beam: int | None = None,
        length_penalty: float | None = None,
        tokens: int | None = None,
        context: Literal["lines", "none"] | None = None,
        scores: bool = False,
        device: str = "auto",
    ) -> None:
        import torch

        from boxpen.nmt.loading import load_model
        from boxpen.nmt.reading import context_limits, reads_context

        self._model, self._tokenizer = load_model(checkpoint_of(model))
        if reads_context(self._model) != (context is not None):
            raise NmtError(
                f"{model} reads context; give --context lines or --context none"
                if context is None
                else f"--context is {context}, but {model} does not read context; leave it out"
            )
        self._context = context
        self._before = LinesBefore(context_limits(self._model.config).context_sentences)
        self._scores = scores
        cuda = device != "cpu" and torch.cuda.is_available()
        own = self._model.generation_config
        half = cuda and self._model.config.model_type != "rnnsearch"
        budget = tokens or (131_072 if cuda else 4_096)
        self._options: dict[str, Any] = {
            "beam": beam or own.num_beams or 5,
            "length_penalty": own.length_penalty if length_penalty is None else length_penalty,
            "tokens": budget,
            "scores": scores,
            "device": "cuda" if cuda else "cpu",
            "dtype": torch.bfloat16 if half else None,
        }
        self.window = max(1, budget // 4)
        self.truncated = 0

    def translate(self, lines: list[str]) -> str:
        """Return the translations of lines, one per line."""
        from boxpen.nmt.translate import translate_lines

        contexts = None
        if self._context is not None:
            lines_before = self._context == "lines"
            contexts = self._before.contexts(lines) if lines_before else [""] * len(lines)
        text = []
        for made in translate_lines(
            self._model, self._tokenizer, lines, contexts=contexts, **self._options
        ):
            self.truncated += made.cut
            score = f"{made.score:.4f}\t" if self._scores else ""
            text.append(f"{score}{made.text}\n")
        return "".join(text)
