"""Three ways to ask an OpenAI-compatible server for the log-probabilities of a given text.

- ``prompt_logprobs``: vLLM's own field; answers with the id of every prompt token.
- ``echo``: the prompt is repeated in the answer, with ``logprobs``.
- ``forced``: one token is forced by ``logit_bias``, and its log-probability without the bias is
  part of the answer; one request per token.

Every answer is checked: all tokens that were sent must come back, in order, none more.

    request      BOS   the   box   is          forced: BOS the box -> is
    answer       null  -1.2  -8.1  -2.0                            -2.0
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from boxpen.models.remote.client import Answer, MismatchError

__all__ = [
    "Access", "FirstToken", "MismatchError", "Prompt", "TokenScores", "body_of", "choice_of",
    "first_token", "read_prompt", "spans", "token_bound", "valid",
]  # fmt: skip

Access = Literal["prompt_logprobs", "echo", "forced", "chat", "none"]
Prompt = str | tuple[int, ...]
_LOWEST = -9000.0  # vLLM writes -9999 for minus infinity
_HIGHEST = 1e-3  # rounding may lift a log-probability above 0


class TokenScores(NamedTuple):
    """The tokens of a prompt and their log-probabilities.

    Attributes:
        ids: Token ids; made from the text of a token if the server does not name them.
        texts: What the server shows for each token; empty if unknown.
        logprobs: One for each; NaN for the first if nothing is before it.
    """

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    logprobs: tuple[float, ...]

    def cut(self, count: int) -> TokenScores:
        """Return the first tokens only."""
        return TokenScores(self.ids[:count], self.texts[:count], self.logprobs[:count])


class FirstToken(NamedTuple):
    """The first generated token, and the most likely ones."""

    id: int | None
    text: str
    logprob: float
    top: tuple[tuple[int | None, str, float], ...]


def token_bound(prompt: Prompt) -> int:
    """Return a number of tokens that a prompt cannot exceed."""
    # A token is at least one byte; some tokenizers add a space, BOS, or both.
    return len(prompt.encode()) + 4 if isinstance(prompt, str) else len(prompt)


def body_of(
    access: Access, model: str, prompt: Prompt, *, forced: int | None = None, top: int = 1
) -> dict[str, Any]:
    """Return the body of a request to ``/completions``; with the access ``none``, to generate."""
    body: dict[str, Any] = {
        "model": model,
        "prompt": prompt if isinstance(prompt, str) else list(prompt),
        "max_tokens": 1,  # 0 means "no limit" to some servers
        "temperature": 0,
    }
    if access == "prompt_logprobs":
        return body | {"prompt_logprobs": 1}
    if access == "echo":
        return body | {"echo": True, "logprobs": 1}
    if access == "forced":
        bias = {} if forced is None else {"logit_bias": {str(forced): 100}}
        return body | {"logprobs": top} | bias
    # At temperature 0 some servers report a log-probability of 0 for whatever they generate.
    return body | {"logprobs": top, "temperature": 1, "top_p": 1, "seed": 1}


def valid(logprob: float) -> float:
    """Return a log-probability.

    Raises:
        MismatchError: If it cannot be one.
    """
    if not _LOWEST < logprob <= _HIGHEST:
        raise MismatchError(f"a log-probability is {logprob:g}")
    return logprob


def first_token(answer: Answer, sent: int | None) -> FirstToken:
    """Read the first generated token.

    Args:
        answer: Of ``/completions``.
        sent: Tokens of the prompt, if known: the server must have read as many.

    Raises:
        MismatchError: If it is not there, or the prompt was not read in full.
    """
    read = _prompt_tokens(answer)
    if sent is not None and read is None:
        raise MismatchError("the answer does not say how many tokens were read (no usage)")
    if sent is not None and read != sent:
        few = "fewer" if read is not None and read < sent else "more"
        raise MismatchError(f"the server read {few} tokens than were sent")
    found = _logprobs(answer)
    if isinstance(found.get("content"), list) and found["content"]:
        one = found["content"][0]
        top = [
            (t.get("id"), str(t.get("token", "")), _number(t.get("logprob")))
            for t in one.get("top_logprobs") or ()
        ]
        return FirstToken(
            one.get("id"), str(one.get("token", "")), _number(one.get("logprob")), tuple(top)
        )
    tokens, values = found.get("tokens"), found.get("token_logprobs")
    if not (isinstance(tokens, list) and isinstance(values, list) and tokens and values):
        raise MismatchError("the answer has no log-probability for the generated token")
    most = (found.get("top_logprobs") or [{}])[0] or {}
    return FirstToken(
        None,
        str(tokens[0]),
        _number(values[0]),
        tuple((None, text, _number(value)) for text, value in most.items()),
    )


def read_prompt(access: Access, answer: Answer, prompt: Prompt) -> TokenScores:
    """Read the log-probabilities of a prompt.

    Raises:
        MismatchError: If the answer has none, or not exactly those of the prompt.
    """
    scores = _read_vllm(answer, prompt) if access == "prompt_logprobs" else _read_echo(answer)
    read = _prompt_tokens(answer)
    count = len(scores.logprobs)
    if read is not None and access == "echo" and count > read:  # what was generated comes last
        scores = scores.cut(read)
    elif read is not None and read != count:
        few = "fewer" if count < read else "more"
        raise MismatchError(f"{few} log-probabilities came back than tokens were read")
    elif read is None and access == "echo":
        scores = scores.cut(count - 1)
    if not isinstance(prompt, str):
        if len(scores.logprobs) != len(prompt):
            few = "fewer" if len(scores.logprobs) < len(prompt) else "more"
            raise MismatchError(f"{few} tokens came back than were sent")
        scores = scores._replace(ids=prompt)
    for value in scores.logprobs[1:]:
        valid(value)
    if len(scores.logprobs) > 4 and len(set(scores.logprobs[1:])) == 1:
        raise MismatchError(f"every log-probability is {scores.logprobs[1]:.3f}")
    return scores


def spans(
    texts: Sequence[str], text: str, bos: bool | None = None
) -> tuple[bool, list[tuple[int, int]]]:
    """Return whether a BOS token precedes the tokens of a text, and where each of them is.

    Servers show tokens in several ways: some drop the space before a word, and parts of a
    character are shown as nothing, as a replacement character or as ``bytes:…``. All others must
    rebuild the text.

    Args:
        texts: The tokens as the server shows them.
        text: What was sent.
        bos: Whether the server adds BOS; found out if None, which needs ASCII text.

    Raises:
        MismatchError: If the tokens do not rebuild the text.
    """
    shown = [t.replace("▁", " ") for t in texts]
    cases = (True, False) if not shown[0] else (False, True)
    for way in (_exact, _aligned):
        for case in cases if bos is None else (bos,):
            found = way(shown[case:], text)
            if found is not None:
                return case, [(0, 0), *found] if case else found
    raise MismatchError("the tokens that came back do not rebuild the text")


def check_shown(shown: Sequence[str], expected: Sequence[str]) -> None:
    """Check that a server shows the tokens that were sent.

    Only words and numbers in ASCII are compared: servers show other tokens in their own way.

    Args:
        shown: By the server.
        expected: What was sent; empty where that is not known.

    Raises:
        MismatchError: If they are those of another text.
    """
    for pair in zip(shown, expected, strict=False):
        one, other = map(_plain, pair)
        comparable = all(text.isascii() and text.isalnum() for text in (one, other))
        if comparable and one != other:
            raise MismatchError("the tokens that came back are those of another text")


def _plain(token: str) -> str:
    return token.replace("▁", " ").replace("Ġ", " ").strip()


def _exact(shown: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return where tokens are in the text that they make up; None if they do not."""
    if "".join(shown) != text:
        return None
    ends = list(itertools.accumulate(map(len, shown), initial=0))
    return list(itertools.pairwise(ends))


def _aligned(shown: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Find tokens in a text, white space aside; None if it does not consist of them."""
    out: list[tuple[int, int]] = []
    position, waiting = 0, 0  # tokens whose text is not known
    for token in shown:
        core = token.strip()
        if not core or "\ufffd" in core or core.startswith("bytes:"):
            waiting += 1
            continue
        place = text.find(core, position)
        if place < 0 or not _may_skip(text[position:place], waiting):
            return None
        out += [(position, place)] * waiting
        out.append((position if not waiting else place, place + len(core)))
        position, waiting = place + len(core), 0
    if not _may_skip(text[position:], waiting):
        return None
    return out + [(position, len(text))] * waiting


def _may_skip(skipped: str, waiting: int) -> bool:
    """Whether tokens that are not shown can stand for a part of the text."""
    solid = "".join(skipped.split())
    # A character that is not shown is split, so there are no fewer tokens than characters.
    return not solid or (not any(map(str.isascii, solid)) and len(solid) <= waiting)


def _read_echo(answer: Answer) -> TokenScores:
    found = _logprobs(answer)
    tokens, values = found.get("tokens"), found.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        content = found.get("content")
        if not isinstance(content, list):
            raise MismatchError("the answer has no log-probabilities")
        tokens = [one.get("token") for one in content]
        values = [one.get("logprob") for one in content]
    if len(tokens) != len(values):
        raise MismatchError("there are not as many log-probabilities as tokens")
    if not tokens:
        raise MismatchError("no token came back")
    texts = tuple(str(token) for token in tokens)
    return TokenScores(tuple(map(_made_up, texts)), texts, tuple(map(_number, values)))


def _read_vllm(answer: Answer, prompt: Prompt) -> TokenScores:
    found = choice_of(answer).get("prompt_logprobs")
    if not isinstance(found, list) or not found:
        raise MismatchError("the answer has no prompt_logprobs")
    ids, texts, values = [0], [""], [math.nan]
    for position, one in enumerate(found[1:], 1):
        if not isinstance(one, dict) or not one:
            raise MismatchError("prompt_logprobs lacks a token")
        sent = () if isinstance(prompt, str) else prompt[position : position + 1]
        wanted = str(sent[0]) if sent else ""
        # The prompt's token, and the most likely one if that is another.
        key = wanted or next((k for k, v in one.items() if v.get("rank") != 1), next(iter(one)))
        if key not in one:
            raise MismatchError("other tokens came back than were sent")
        ids.append(int(key))
        texts.append(str(one[key].get("decoded_token") or ""))
        values.append(_number(one[key].get("logprob")))
    if isinstance(prompt, str):
        # The first token is not shown: BOS, or the beginning of the text.
        rest = "".join(texts)
        if rest and prompt.endswith(rest):
            head = prompt[: -len(rest)]
        else:  # the server shows tokens in another way than they are in the text
            second = (texts[1:2] or [""])[0]
            if "\ufffd" in second:  # a part of the first character that is not ASCII
                place = next((i for i, c in enumerate(prompt) if not c.isascii()), 0)
            else:
                place = max(0, prompt.find(second.strip() or second))
            head = prompt[:place]
        ids[0], texts[0] = _made_up(head), head
    return TokenScores(tuple(ids), tuple(texts), tuple(values))


def choice_of(answer: Answer) -> dict[str, Any]:
    """Return the first choice of an answer.

    Raises:
        MismatchError: If there is none.
    """
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MismatchError("the answer has no choices")
    return choices[0]


def _logprobs(answer: Answer) -> dict[str, Any]:
    found = choice_of(answer).get("logprobs")
    if not isinstance(found, dict):
        raise MismatchError("the answer has no log-probabilities")
    return found


def _prompt_tokens(answer: Answer) -> int | None:
    usage = answer.get("usage")
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _made_up(text: str) -> int:
    """Return an id for a token of which only the text is known."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF
