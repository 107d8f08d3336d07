"""A server that only chats: it reads the question as a person would, and errs on demand."""

from __future__ import annotations

import math
import re
from typing import Any

from json_server import JsonServer

BASE = ("model", "messages", "max_tokens", "temperature")


class ChatServer(JsonServer):
    """Answers with the letter of the option that is the longest, or that ``brain`` says.

    Args:
        brain: From a question to the content of an answer, or to a whole choice.
        rejects: Parameters that are answered with an error, or values as in ``temperature=0``.
        top: Most tokens that may be listed; 0 if log-probabilities are not offered at all.
    """

    def __init__(
        self, *, brain: Any = None, rejects: tuple[str, ...] = (), top: int = 20, **more: Any
    ) -> None:
        super().__init__(**more)
        self.brain = brain or longest
        self.rejects, self.top = rejects, top
        self.spec = f"api:{self.url}#chatty"

    def asked(self) -> list[str]:
        """Return all questions about items."""
        with self.lock:
            found = [body["messages"][0]["content"] for path, body in self.log if "chat" in path]
        return [question for question in found if not re.match("Name an|Which one is", question)]

    def answer(self, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        if denied := self.denied(headers):
            return denied
        if path == "/v1/models":
            return 200, {"data": [{"id": "chatty"}]}
        if path != "/v1/chat/completions":
            return 404, {"error": {"message": f"no {path}"}}
        for name in self.rejects:
            name, _, value = name.partition("=")
            if name in body and value in ("", str(body[name])):
                return 400, {"error": {"message": f"Unsupported parameter: '{name}' is not here."}}
        if body.get("top_logprobs", 0) > self.top:
            return 400, {"error": {"message": f"top_logprobs is more than {self.top}"}}
        made = self.brain(body["messages"][0]["content"])
        if isinstance(made, int):
            return made, {"error": {"message": "no", "code": "content_filter" * (made == 400)}}
        if isinstance(made, str) or made is None:
            made = {"message": {"role": "assistant", "content": made}, "finish_reason": "stop"}
        if body.get("logprobs"):
            made = {**made, "logprobs": {"content": [self.listed(made["message"]["content"])]}}
        usage = {"prompt_tokens": 10, "completion_tokens": 1}
        return 200, {"choices": [made], "usage": usage, "system_fingerprint": "fp_9"}

    def listed(self, content: str) -> dict[str, Any]:
        """List the answer in two variants that add up, and another letter between them."""
        other = "B" if content == "A" else "A"
        shares = {content: 0.3, f" {content}": 0.25, other: 0.35, "the": 0.05, "Sure": 0.01}
        if self.fault == "random":
            shares[content] -= 0.25 * self.chance.random()
        values = {token: math.log(share) for token, share in shares.items()}
        if self.fault == "constant":
            values = dict.fromkeys(values, -4.0)
        elif self.fault == "positive":
            values = {token: -value for token, value in values.items()}
        elif self.fault == "sum":
            values = {token: value / 9 for token, value in values.items()}
        elif self.fault == "deaf":
            values = {"A": -0.1, "B": -3.0}
        top = [{"token": token, "logprob": value} for token, value in values.items()]
        return {"token": content, "logprob": values.get(content, -1.0), "top_logprobs": top}


def options(question: str) -> dict[str, str]:
    """Return the lettered options of a question."""
    return dict(re.findall(r"^([A-Z])\. (.*)$", question, re.M))


def longest(question: str) -> str:
    """Return the letter of the longest option; of equal ones, the alphabet decides."""
    found = options(question)
    return max(found, key=lambda letter: (len(found[letter]), found[letter])) if found else "A dog."
