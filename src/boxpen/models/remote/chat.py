"""Chats: answers to questions through ``/chat/completions``, and the letters of their options.

Which parameters a server accepts is found out once, with the first question: reasoning models
reject ``temperature``, or want ``max_completion_tokens`` instead of ``max_tokens``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from boxpen.models.remote.checks import all_close, check_sums, not_constant, tops
from boxpen.models.remote.client import Answer, Call, Client, MismatchError, UnansweredError
from boxpen.models.remote.protocol import FirstToken, choice_of, first_token
from boxpen.models.remote.settings import ApiSettings
from boxpen.scoring.ask import REFUSED, Question
from boxpen.scoring.requests import Record

__all__ = ["Chat", "Reply"]

_T = TypeVar("_T")

_QUESTION = "Name an animal, a colour and a number."  # varied answers at a temperature above 0
_LETTERS = tuple(
    f"Which one is {what}\n\nAnswer with A or B and nothing else."
    for what in ("an animal?\n\nA. a white horse\nB. a table", "blue?\n\nA. grass\nB. the sky")
)
_TOP = (20, 5)  # likeliest tokens to ask for, the second if the server refuses the first
_FRAME = 64  # tokens that a chat template adds, at most
_FILTERED = ("content_filter", "refusal")


class Reply(NamedTuple):
    """An answer.

    Attributes:
        text: What the model said; empty if it said nothing.
        refused: Whether the model or a filter refused.
        cut: Whether it was cut off at the maximum length.
    """

    text: str
    refused: bool = False
    cut: bool = False


class Chat:
    """The chats of a server.

    Attributes:
        notes: What the server does not accept, and other remarks.
        systems: The values of ``system_fingerprint`` so far.
    """

    def __init__(self, client: Client, settings: ApiSettings, model: str) -> None:
        self.notes: list[str] = []
        self.systems: set[str] = set()
        self._client = client
        self._settings = settings
        self._model = model
        self._limit = "max_tokens"
        self._temperature = True
        self._top = _TOP[0]

    def check(self) -> None:
        """Ask one question twice, and find out which parameters are accepted.

        Raises:
            MismatchError: If the answer is not one.
            UnansweredError: If the server rejects every way of asking.
        """
        most = self._settings.max_answer
        first = self._adapted(most)
        again = self._read(self._call(self._body(_QUESTION, most)))
        if first.text != again.text:
            self.notes.append("the same question has different answers: they are drawn at random")

    def _adapted(self, most: int) -> Reply:
        """Ask a question, leaving out parameters that the server rejects by name."""
        while True:
            try:
                return self._read(self._call(self._body(_QUESTION, most)))
            except UnansweredError as error:
                if error.status not in (400, 422):
                    raise
                if self._limit == "max_tokens" and "max_tokens" in error.reason:
                    self._limit = "max_completion_tokens"
                    self.notes.append("the server wants max_completion_tokens")
                elif self._temperature and "temperature" in error.reason:
                    self._temperature = False
                    self.notes.append("the server rejects temperature 0, so its own is used")
                else:
                    raise

    def check_letters(self) -> None:
        """Check the log-probabilities of likely tokens.

        Raises:
            MismatchError: If they cannot be right.
            UnansweredError: If the server rejects the request.
        """
        for top in _TOP:
            self._top = top
            try:
                found = [self._tops(question) for question in (*_LETTERS, *_LETTERS[::-1])]
                break
            except UnansweredError as error:
                if error.status not in (400, 422) or top == _TOP[-1]:
                    raise
        check_sums(found)
        for token in found:
            values = tops(token)
            if len(values) < 2:
                raise MismatchError("the answer has no log-probabilities of the likeliest tokens")
            if max(values) > 1e-3 or not all(map(math.isfinite, values)):
                raise MismatchError(f"a log-probability is {max(values):g}")
            not_constant(values)
        one, other, other_again, again = map(tops, found)
        if not (all_close(one, again) and all_close(other, other_again)):
            raise MismatchError("the same request has different log-probabilities")
        if found[0].top == found[1].top:
            raise MismatchError("two different questions have the same log-probabilities")

    def _tops(self, question: str) -> FirstToken:
        return first_token(self._call(self._letter_body(question)), None)

    def ask(
        self, prompts: Sequence[str], most: Sequence[int]
    ) -> Iterator[tuple[int, Reply | UnansweredError]]:
        """Yield the number of every prompt with its reply, or why there is none.

        Args:
            prompts: What to say to the model.
            most: Maximum tokens of each answer.
        """
        bodies = (self._body(*pair) for pair in zip(prompts, most, strict=True))
        for number, reply in self._each(prompts, bodies, self._read):
            filtered = isinstance(reply, UnansweredError) and reply.code in _FILTERED
            yield number, Reply("", refused=True) if filtered else reply

    def answers(self, questions: Sequence[str]) -> Iterator[tuple[int, str | UnansweredError]]:
        """Yield the number of every question with its answer, or why there is none."""
        most = [self._settings.max_answer] * len(questions)
        for number, reply in self.ask(questions, most):
            if isinstance(reply, UnansweredError):
                yield number, reply
                continue
            yield number, f"{REFUSED} {reply.text}" if reply.refused else reply.text

    def letters(
        self, questions: Sequence[Question]
    ) -> Iterator[tuple[int, Record | UnansweredError]]:
        """Yield the number of every question with the log-probabilities of its listed letters."""
        prompts = [question.prompt for question in questions]
        for number, found in self._each(prompts, map(self._letter_body, prompts), self._first):
            if isinstance(found, FirstToken):
                yield number, _listed(found, questions[number].letters)
            elif found is None or found.code in _FILTERED:
                yield number, Record(np.array([-1], np.int32), np.zeros(1, np.float32))
            else:
                yield number, found

    def _first(self, answer: Answer) -> FirstToken | None:
        """Read the likeliest first tokens; None if a filter refused."""
        self._seen(answer)
        refused = choice_of(answer).get("finish_reason") in _FILTERED
        return None if refused else first_token(answer, None)

    def _each(
        self,
        prompts: Sequence[str],
        bodies: Iterable[dict[str, Any]],
        read: Callable[[Answer], _T],
    ) -> Iterator[tuple[int, _T | UnansweredError]]:
        calls = (
            Call("/chat/completions", body, _bound(prompt), number)
            for number, (prompt, body) in enumerate(zip(prompts, bodies, strict=True))
        )
        for call, found in self._client.read_each(calls, lambda _, answer: read(answer)):
            yield call.tag, found

    def _body(self, prompt: str, most: int) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            self._limit: most,
            **({"temperature": 0} if self._temperature else {}),
            **self._settings.extra,
        }

    def _letter_body(self, prompt: str) -> dict[str, Any]:
        body = self._body(prompt, 1) | {"logprobs": True, "top_logprobs": self._top}
        # Some servers apply the temperature to log-probabilities: at 0, one of them is 0.
        return body | ({"temperature": 1} if self._temperature else {})

    def _call(self, body: dict[str, Any]) -> Answer:
        bound = _bound(json.dumps(body["messages"]))
        return self._client.call("/chat/completions", body, tokens=bound)

    def _seen(self, answer: Answer) -> None:
        if system := answer.get("system_fingerprint"):
            self.systems.add(str(system))

    def _read(self, answer: Answer) -> Reply:
        """Read an answer.

        Raises:
            MismatchError: If it has no message.
        """
        self._seen(answer)
        choice = choice_of(answer)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise MismatchError("the answer has no message")
        content = message.get("content") or ""
        if isinstance(content, list):  # parts, of which only texts are read
            content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
        refusal = message.get("refusal")
        end = choice.get("finish_reason")
        return Reply(
            str(refusal or content).strip(),
            refused=bool(refusal) or end in _FILTERED,
            cut=end == "length",
        )


def _bound(prompt: str) -> int:
    """Return a number of tokens that a question cannot exceed."""
    return len(prompt.encode()) + _FRAME


def _listed(token: FirstToken, letters: str) -> Record:
    """Return the log-probabilities of letters by place; 'A' and ' A' are one letter."""
    found: dict[int, float] = {}
    for _, text, value in token.top:
        bare = text.strip(" \n▁Ġ")
        place = letters.find(bare) if len(bare) == 1 else -1
        if place >= 0:
            found[place] = float(np.logaddexp(found.get(place, -math.inf), value))
    return Record(np.array(list(found), np.int32), np.array(list(found.values()), np.float32))
