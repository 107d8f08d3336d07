"""Log-probabilities of forced tokens: one request per node of the prefix tree.

A node is a beginning of a text with the token that is scored last. The token is forced by
``logit_bias``, and its log-probability without the bias is read from the answer. Servers withhold
a token that is only a part of a character (llama.cpp does); such a token is looked for among the
most likely ones instead, if need be in the whole vocabulary.

A server keeps what it has read in a few slots, and a request is fast if all but its last token is
in one of them. So each thread walks through a part of the tree of its own, depth first, and no more
threads than slots do.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence

from boxpen.models.remote.client import Answer, Call, Client, MismatchError, UnansweredError
from boxpen.models.remote.protocol import body_of, first_token, valid
from boxpen.models.remote.tokenizer import Tokenizer
from boxpen.models.remote.twins import DistrustError, agree, chosen
from boxpen.scoring.requests import Request

__all__ = ["Node", "Walk", "force"]

Node = tuple[int, ...]

_PART = "\ufffd"  # shown for a part of a character
_TOP = (500, 1_000_000)  # likely tokens to look through, the second time in the whole vocabulary


def force(
    client: Client,
    model: str,
    tokenizer: Tokenizer,
    nodes: Sequence[Node],
    *,
    check: bool = False,
) -> Iterator[tuple[Node, float | UnansweredError]]:
    """Yield every node with its log-probability as soon as it is known.

    Args:
        client: The server.
        model: The server's name for the model.
        tokenizer: Of the model.
        nodes: What to ask for.
        check: Whether to ask for some nodes twice.

    Raises:
        DistrustError: If such a node has two answers.
    """
    hidden: list[Node] = []
    checked = dict.fromkeys(chosen(nodes) if check else (), math.nan)

    def read(call: Call, answer: Answer) -> float:
        return _value(answer, call.tag, tokenizer)

    for call, value in client.read_each(Walk(model, nodes, tokenizer.slots), read):
        if call.tag in checked and not isinstance(value, UnansweredError):
            checked[call.tag] = value
        seen = not isinstance(value, UnansweredError) or value.status != 200
        if seen or tokenizer.texts(call.tag[-1:]) != [_PART]:
            yield call.tag, value
        else:
            hidden.append(call.tag)
    known = [node for node, value in checked.items() if not math.isnan(value)]
    for call, again in client.read_each(Walk(model, known, tokenizer.slots, top=2), read):
        if not isinstance(again, UnansweredError) and not agree(checked[call.tag], again):
            answers = f"{checked[call.tag]:.3f} and {again:.3f}"
            raise DistrustError(client.name, f"the same request has the answers {answers}")
    for top in _TOP if hidden else ():
        by_prefix: dict[Node, list[Node]] = {}
        for node in hidden:
            by_prefix.setdefault(node[:-1], []).append(node)
        shown = _shown(tokenizer)  # forced, or the most likely token might be withheld as well
        calls = (
            Call(
                "/completions",
                body_of("forced", model, prefix, forced=shown, top=top),
                len(prefix) + 1,
                prefix,
            )
            for prefix in by_prefix
        )
        hidden = []
        for call, likely in client.read_each(
            calls, lambda call, answer: first_token(answer, len(call.tag)).top
        ):
            for node in by_prefix[call.tag]:
                if isinstance(likely, UnansweredError):
                    yield node, likely
                    continue
                listed = next((value for token, _, value in likely if token == node[-1]), None)
                if listed is not None:
                    try:
                        yield node, valid(listed)
                    except MismatchError as error:
                        yield node, UnansweredError(client.name, str(error), 200)
                elif top == _TOP[-1]:
                    reason = "the server withholds tokens that are parts of a character"
                    yield node, UnansweredError(client.name, reason, 200)
                else:
                    hidden.append(node)


class Walk(Iterator[Call]):
    """Hands each thread the request for the next node of its own part of a tree.

    Parts are contiguous in depth-first order. A thread without one takes half of the longest;
    threads beyond the number of slots get nothing.

    Args:
        model: The server's name for the model.
        nodes: In any order.
        slots: Of the server; None if unknown.
        top: Most likely tokens to ask for besides.
    """

    def __init__(
        self, model: str, nodes: Sequence[Node], slots: int | None = None, *, top: int = 1
    ) -> None:
        self._model = model
        self._nodes = sorted(nodes)  # a node follows its parent, and its siblings follow its own
        self._slots = slots
        self._top = top
        self._parts: dict[int, range] = {}  # by thread

    def __next__(self) -> Call:
        me = threading.get_ident()
        if me not in self._parts and self._slots and len(self._parts) >= self._slots:
            raise StopIteration
        if not self._parts.get(me):
            self._parts[me] = self._part()
        if not self._parts[me]:
            raise StopIteration
        node = self._nodes[self._parts[me][0]]
        self._parts[me] = self._parts[me][1:]
        body = body_of("forced", self._model, node[:-1], forced=node[-1], top=self._top)
        if self._slots:  # llama.cpp might choose the slot of another thread
            body["id_slot"] = list(self._parts).index(me)
        return Call("/completions", body, len(node), node)

    def _part(self) -> range:
        """Return a part for a thread that has none, taken from the longest one."""
        if not self._parts:
            return range(len(self._nodes))
        owner = max(self._parts, key=lambda thread: len(self._parts[thread]))
        longest = self._parts[owner]
        middle = len(longest) // 2
        self._parts[owner] = longest[:middle]
        return longest[middle:]


def _shown(tokenizer: Tokenizer) -> int:
    """Return a token that is a whole character."""
    for _, pieces in tokenizer.pieces([Request(text="a")]):
        if isinstance(pieces, UnansweredError):
            raise pieces
        return pieces.ids[-1]
    raise AssertionError


def _value(answer: Answer, node: Node, tokenizer: Tokenizer) -> float:
    """Read the log-probability of a forced token.

    Raises:
        MismatchError: If it is that of another token, or none.
    """
    found = first_token(answer, len(node) - 1)
    named = found.id is not None
    if (found.id != node[-1]) if named else (tokenizer.texts(node[-1:]) != [found.text]):
        raise MismatchError("another token came back than was forced")
    return valid(found.logprob)
