"""Checks during a run: some texts are sent once more, changed in a way whose effect is known.

The probe sees a server before a run. One that is wrong now and then, or for long texts only, passes
it. So some texts of the run itself have twins:

- *shorter*: without the last token. What both share must have the same log-probabilities.
- *other*: with another first word, if a text is longer than any before. Its end must change.

With the access ``forced``, some nodes are asked for twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Literal, NamedTuple, TypeVar

from boxpen.errors import ModelError
from boxpen.models.remote.protocol import Prompt, TokenScores

__all__ = ["DistrustError", "Twin", "Twins", "agree", "chosen"]

_T = TypeVar("_T")
_FIRST, _EACH = 8, 32  # the first texts, and one of so many after them
_LONG = 600  # bytes of a text that is longer than the probe's
_END = 20  # tokens


class DistrustError(ModelError):
    """A server that passed the probe gives wrong numbers during a run; none of them is used."""

    def __init__(self, model: str, seen: str) -> None:
        super().__init__(
            f"model '{model}' cannot be trusted: {seen}; its scores so far will not be used"
        )


class Twin(NamedTuple):
    """A changed text.

    Attributes:
        prompt: What is sent.
        of: The text of the run.
        kind: How they differ.
    """

    prompt: Prompt
    of: Prompt
    kind: Literal["shorter", "other"]


def chosen(some: Iterable[_T]) -> Iterator[_T]:
    """Yield those that are checked: the first few, and then one of many."""
    return (one for number, one in enumerate(some) if number < _FIRST or number % _EACH == 0)


def agree(one: float, other: float) -> bool:
    """Whether two log-probabilities can be the same, computed among other requests.

    Low precision makes a difference of a few tenths then; a wrong number is off by more.
    """
    return abs(one - other) <= 0.5 + 0.05 * abs(one)


class Twins:
    """The twins of some texts, and the comparison.

    Args:
        model: Its name, for messages.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._number = 0
        self._longest = _LONG
        self._sent: set[Prompt] = set()
        self._found: dict[Prompt, TokenScores | None] = {}  # of texts with twins
        self._waiting: dict[Prompt, list[tuple[Twin, TokenScores]]] = {}

    def of(self, prompt: Prompt) -> list[Twin]:
        """Return the twins of the next text, before it is sent."""
        number, self._number = self._number, self._number + 1
        size = len(prompt.encode()) if isinstance(prompt, str) else 4 * len(prompt)
        twins: list[Twin] = []
        if number < _FIRST or number % _EACH == 0:
            twins += (Twin(p, prompt, "shorter") for p in _shorter(prompt))
        if size > self._longest:
            self._longest = size * 3 // 2
            twins += (Twin(p, prompt, "other") for p in _other(prompt))
        twins = [twin for twin in twins if twin.prompt not in self._sent]
        self._sent.update(twin.prompt for twin in twins)
        if twins:
            self._found.setdefault(prompt, None)
        return twins

    def add(self, twin: Twin, scores: TokenScores) -> None:
        """Compare a twin with its text, now or when that arrives.

        Raises:
            DistrustError: If both cannot be right.
        """
        known = self._found[twin.of]
        if known is not None:
            self._compare(twin, scores, known)
        else:
            self._waiting.setdefault(twin.of, []).append((twin, scores))

    def add_text(self, prompt: Prompt, scores: TokenScores) -> None:
        """Compare a text with its twins, now or when they arrive.

        Raises:
            DistrustError: If both cannot be right.
        """
        if prompt in self._found:
            self._found[prompt] = scores
        for twin, other in self._waiting.pop(prompt, ()):
            self._compare(twin, other, scores)

    def _compare(self, twin: Twin, scores: TokenScores, of: TokenScores) -> None:
        if twin.kind == "other":
            if scores.logprobs[-_END:] == of.logprobs[-_END:]:
                seen = f"the beginning of a text of {len(of.logprobs)} tokens changes nothing"
                raise DistrustError(self._model, seen)
            return
        pairs = zip(scores.ids, of.ids, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        for one, other in zip(scores.logprobs[1:shared], of.logprobs[1:shared], strict=True):
            if not agree(one, other):
                seen = f"a token has the log-probability {one:.3f} in one answer and {other:.3f}"
                raise DistrustError(self._model, f"{seen} in another")


def _shorter(prompt: Prompt) -> Iterator[Prompt]:
    """Yield a text without its end, if something is left to compare."""
    cut: Prompt
    if isinstance(prompt, str):
        cut = prompt.rstrip().rpartition(" ")[0] or prompt[: len(prompt) * 2 // 3]
        enough = len(cut) > 1
    else:
        cut = prompt[:-1]
        enough = len(cut) > 2
    if enough:
        yield cut


def _other(prompt: Prompt) -> Iterator[Prompt]:
    """Yield a long text with another beginning."""
    if isinstance(prompt, str):
        yield "No" + prompt
        return
    instead = next((i for i in prompt[2:] if i != prompt[1]), None)
    if instead is not None:
        yield (prompt[0], instead, *prompt[2:])
