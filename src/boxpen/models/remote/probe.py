"""The probe: what a server can do, and whether its numbers can be trusted.

Before any score, a server is asked a few short texts in two orders. Each way of asking
(``protocol.py``) must pass all checks that apply to it, and the first that does is used:

- the same request has the same answer, in either order (within the noise of low precision);
- all tokens come back, none is positive, and they are neither constant nor zero;
- two texts that differ in the last word have the same log-probabilities before it and others at it
  (a server that shifts by one fails here), and a text scores the same if more follows;
- a generated token has the log-probability that it has as part of a prompt;
- a forced token has the log-probability that it has without the bias;
- the beginning of a long text matters (silent truncation);
- token ids mean to the server what they mean to the tokenizer.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from functools import partial

from boxpen.errors import ModelError, nearest
from boxpen.models.remote.chat import Chat
from boxpen.models.remote.checks import (
    all_close,
    as_scores,
    check_sums,
    close,
    first_difference,
    noise,
    not_constant,
    same_before,
    tops,
)
from boxpen.models.remote.client import Answer, Call, Client, MismatchError, UnansweredError
from boxpen.models.remote.findings import Findings
from boxpen.models.remote.forced import Node, force
from boxpen.models.remote.protocol import (
    Access,
    FirstToken,
    Prompt,
    TokenScores,
    body_of,
    first_token,
    read_prompt,
    spans,
    token_bound,
)
from boxpen.models.remote.settings import ApiSettings
from boxpen.models.remote.tokenizer import FolderTokenizer, ServerTokenizer, Tokenizer
from boxpen.models.tokens import Pieces
from boxpen.scoring.requests import Request

__all__ = ["check_chat", "check_letters", "probe"]

_PAIRS = (
    ("The box was in the", " pen", " sea"),
    ("He drank a cup of", " coffee", " sand"),
    ("The sun rises in the", " east", " shoe"),
)
_LONGER = "The box was in the pen, and nobody knew who had put it there."
_FOREIGN = "盒子在围栏里。"
_FILLER = " The little boy looked for his toy box."
_TOP = 5

Ask = Callable[[Sequence[Prompt]], list[TokenScores]]


def probe(client: Client, settings: ApiSettings, *, chat: bool = False) -> Findings:
    """Ask a server what it can do, and check what it says.

    Args:
        client: The server.
        settings: How to reach and to ask it.
        chat: Whether to check chats and letters even if texts can be scored.

    Raises:
        ModelError: If the server cannot be used at all.
    """
    findings = _listed(client, settings.model)
    work = _Probe(client, settings, findings)
    work.find_tokenizer()
    for access in ("prompt_logprobs", "echo", "forced"):
        reason = _failure(partial(work.check, access))
        if reason is None:
            findings.access = access
            break
        findings.rejected[access] = reason
    if chat or findings.access == "none":
        check_chat(client, settings, findings)
    if chat:
        check_letters(findings)
    return findings


def check_chat(client: Client, settings: ApiSettings, findings: Findings) -> None:
    """Find out whether a server answers questions, and how it wants to be asked."""
    chat = Chat(client, settings, findings.model)
    reason = _failure(chat.check)
    if reason is not None:
        findings.rejected["chat"] = reason
        return
    findings.chat = chat
    if findings.access == "none":
        findings.access = "chat"


def check_letters(findings: Findings) -> None:
    """Find out whether a server that chats gives the log-probabilities of letters."""
    if findings.chat is not None:
        findings.letters = _failure(findings.chat.check_letters) or ""


def _failure(check: Callable[[], None]) -> str | None:
    """Run a check, and return why it fails; None if it passes.

    Raises:
        UnansweredError: If the server did not answer, so that nothing is known.
    """
    try:
        check()
    except MismatchError as error:
        return str(error)
    except UnansweredError as error:
        if error.status is None:
            raise
        return error.reason
    return None


def _listed(client: Client, wanted: str | None) -> Findings:
    """Find the model in the server's list."""
    try:
        listed = client.call("/models").get("data")
    except UnansweredError as error:
        if error.status is None:
            raise
        listed = None
    known = [m for m in listed or () if isinstance(m, dict) and isinstance(m.get("id"), str)]
    names = [m["id"] for m in known]
    if wanted is None:
        if len(names) != 1:
            offer = f"; the server has {', '.join(names[:8])}" if names else ""
            raise ModelError(f"model '{client.name}' names no model, expected URL#MODEL{offer}")
        wanted = names[0]
    found = next((m for m in known if wanted == m["id"] or m["id"].endswith(f"/{wanted}")), None)
    if found is None and names:
        aliases = [alias for m in known for alias in m.get("aliases") or ()]
        if wanted not in aliases:
            raise ModelError(
                f"model '{client.name}': the server has no model '{wanted}', "
                + nearest(wanted, names[:20])
            )
    meta = (found or {}).get("meta") or {}
    length = (found or {}).get("max_model_len") or meta.get("n_ctx")
    return Findings(found["id"] if found else wanted, max_length=length)


class _Probe:
    """The checks of one server."""

    def __init__(self, client: Client, settings: ApiSettings, findings: Findings) -> None:
        self.client = client
        self.settings = settings
        self.findings = findings

    def find_tokenizer(self) -> None:
        folder = self.settings.tokenizer
        if folder is not None:
            self.findings.tokenizer = FolderTokenizer(folder)
            return
        with contextlib.suppress(ModelError):  # gateways deny paths that they do not know
            self.findings.tokenizer = ServerTokenizer(self.client, self.findings.model)

    def check(self, access: Access) -> None:
        """Run the checks of one way of asking.

        Raises:
            MismatchError: If one fails.
            UnansweredError: If the server rejects a request.
        """
        tokenizer = self.findings.tokenizer
        if access == "forced":
            if tokenizer is None:
                raise MismatchError(
                    "no token ids: the server has no /tokenize and no folder is set"
                )
            self._check_forced(tokenizer)
            return
        if tokenizer is not None:
            try:
                self._check_prompts(access, tokenizer)
                return
            except UnansweredError as error:
                if error.status is None:
                    raise
                reason = error.reason
            self._check_prompts(access, None)
            self.findings.notes.append(f"token ids are not accepted as a prompt ({reason})")
            self.findings.tokenizer = None
        else:
            self._check_prompts(access, None)

    def _ask(self, access: Access, prompts: Sequence[Prompt], top: int = 1) -> list[Answer]:
        model = self.findings.model
        return self._send([(p, body_of(access, model, p, top=top)) for p in prompts])

    def _send(self, bodies: Sequence[tuple[Prompt, dict[str, object]]]) -> list[Answer]:
        """Send prompts concurrently; answers come back in their order."""
        calls = [
            Call("/completions", body, token_bound(prompt), number)
            for number, (prompt, body) in enumerate(bodies)
        ]
        found: dict[int, Answer] = {}
        for call, answer in self.client.each(calls):
            if isinstance(answer, UnansweredError):
                raise answer
            found[call.tag] = answer
            self.findings.system = str(answer.get("system_fingerprint") or "")
        return [found[number] for number in range(len(calls))]

    def _ids(self, tokenizer: Tokenizer, texts: Sequence[str]) -> list[tuple[int, ...]]:
        found: dict[int, tuple[int, ...]] = {}
        for number, pieces in tokenizer.pieces([Request(text=text) for text in texts]):
            if not isinstance(pieces, Pieces):
                raise pieces
            found[number] = pieces.ids
        return [found[number] for number in range(len(texts))]

    def _framed(self, tokenizer: Tokenizer, texts: Sequence[str]) -> list[tuple[int, ...]]:
        before = () if tokenizer.bos is None else (tokenizer.bos,)
        return [(*before, *ids) for ids in self._ids(tokenizer, texts)]

    def _prompts(self, tokenizer: Tokenizer | None, texts: Sequence[str]) -> list[Prompt]:
        return [*self._framed(tokenizer, texts)] if tokenizer else [*texts]

    def _check_prompts(self, access: Access, tokenizer: Tokenizer | None) -> None:
        findings = self.findings

        def ask(prompts: Sequence[Prompt]) -> list[TokenScores]:
            answers = self._ask(access, prompts)
            pairs = zip(answers, prompts, strict=True)
            out = [read_prompt(access, answer, prompt) for answer, prompt in pairs]
            for scores, prompt in zip(out, prompts, strict=True):
                if isinstance(prompt, str) and tokenizer is None:
                    findings.bos, _ = spans(scores.texts, prompt)
            return out

        texts = [head + word for head, *words in _PAIRS for word in words] + [_LONGER]
        prompts = self._prompts(tokenizer, texts)
        scores = ask(prompts)
        again = ask(prompts[::-1])[::-1]
        findings.noise = noise(scores, again)
        findings.values = tuple(v for s in scores for v in s.logprobs[1:])
        not_constant(findings.values)
        for number in range(len(_PAIRS)):
            same_before(scores[2 * number], scores[2 * number + 1])
        firsts = [first_difference(*scores[2 * n : 2 * n + 2]) for n in range(len(_PAIRS))]
        if not any(firsts):
            raise MismatchError(
                "two different words have the same log-probability: it is shifted by one"
            )
        same_before(scores[0], scores[-1])
        self._check_beginning(ask, tokenizer)
        self._check_generated(ask, tokenizer)
        self._check_foreign(ask, tokenizer)
        if tokenizer is not None:
            one, other = ask(texts[:2])
            self._check_tokenizer(
                tokenizer,
                texts[:2],
                [one.logprobs[1:], other.logprobs[1:]],
                lambda sent: [found.logprobs[1:] for found in ask(sent)],
            )

    def _check_tokenizer(
        self,
        tokenizer: Tokenizer,
        texts: Sequence[str],
        values: Sequence[Sequence[float]],
        ask: Callable[[Sequence[Prompt]], Sequence[Sequence[float]]],
    ) -> None:
        """Compare the values of texts with those of their tokens; find out what is added."""
        plain = self._ids(tokenizer, texts)
        bos = () if tokenizer.bos is None else (tokenizer.bos,)
        for adds in dict.fromkeys((tokenizer.adds, (), bos)):
            found = ask([(*adds, *ids) for ids in plain])
            if all(all_close(*pair) for pair in zip(values, found, strict=True)):
                self.findings.bos = bool(adds)
                return
        raise MismatchError(f"the tokenizer ({tokenizer.source}) is not the server's")

    def _check_beginning(self, ask: Ask, tokenizer: Tokenizer | None) -> None:
        """Check that the beginning of a long text is read."""
        for times in (16, 3):
            texts = [head + _FILLER * times for head in ("Red.", "No.")]
            try:
                one, other = ask(self._prompts(tokenizer, texts))
            except UnansweredError as error:
                if error.status is None:
                    raise
                reason = error.reason
                continue
            if one.logprobs[-20:] == other.logprobs[-20:]:
                raise MismatchError("the beginning of a long text changes nothing: it is cut off")
            return
        self.findings.notes.append(f"long texts were not checked ({reason})")

    def _check_foreign(self, ask: Ask, tokenizer: Tokenizer | None) -> None:
        prompts = self._prompts(tokenizer, [_FOREIGN])
        bos = self.findings.bos
        try:
            ask(prompts)
        except MismatchError as error:
            self.findings.notes.append(f"Chinese text will be unanswered: {error}")
        self.findings.bos = bos

    def _check_generated(self, ask: Ask, tokenizer: Tokenizer | None) -> None:
        """Compare the log-probability of generated tokens with that in a prompt."""
        texts = ["One, two, three, four,", "Monday, Tuesday,", *(head for head, *_ in _PAIRS)]
        prompts = self._prompts(tokenizer, texts)
        compared = 0
        try:
            made = [first_token(a, None) for a in self._ask("none", prompts, top=_TOP)]
        except (MismatchError, UnansweredError) as error:
            if isinstance(error, UnansweredError) and error.status is None:
                raise
            self.findings.notes.append(f"generated tokens were not compared ({error})")
            return
        check_sums(made)
        usable = [n for n, token in enumerate(made) if token.text and token.text.isascii()]
        texts, made = [texts[n] for n in usable], [made[n] for n in usable]
        prompts = [prompts[n] for n in usable]
        whole = [text + token.text for text, token in zip(texts, made, strict=True)]
        longer = self._prompts(tokenizer, whole)
        for before, after, token in zip(ask(prompts), ask(longer), made, strict=True):
            # A generated token may be tokenised differently behind a text.
            if after.ids[:-1] != before.ids:
                continue
            compared += 1
            if not close(token.logprob, after.logprobs[-1]):
                raise MismatchError(
                    f"{token.text!r} has the log-probability {token.logprob:.3f} if generated, but "
                    f"{after.logprobs[-1]:.3f} in the prompt"
                )
        if not compared:
            self.findings.notes.append("generated tokens could not be compared")

    def _check_forced(self, tokenizer: Tokenizer) -> None:
        heads = [head for head, *_ in _PAIRS]
        prompts = self._framed(tokenizer, heads)
        self._check_tokenizer(
            tokenizer,
            heads,
            [*map(tops, self._first(heads))],
            lambda p: [*map(tops, self._first(p))],
        )
        made = self._first(prompts)
        check_sums(made)
        expected: dict[Node, float] = {}
        nodes: list[Node] = []
        for prompt, token, (_, *words) in zip(prompts, made, _PAIRS, strict=True):
            for number, text, logprob in sorted(token.top, key=lambda one: -one[2])[1:]:
                ids = (number,) if number is not None else self._ids(tokenizer, [text])[0]
                if len(ids) == 1:
                    expected[*prompt, ids[0]] = logprob
            nodes += [(*prompt, self._ids(tokenizer, [word])[0][0]) for word in words]
        if len(expected) < 2:
            raise MismatchError("the answer has no log-probabilities of the most likely tokens")
        nodes = list(dict.fromkeys((*expected, *nodes)))
        found = self._forced(tokenizer, nodes)
        again = self._forced(tokenizer, nodes[::-1])[::-1]
        for node, value in zip(nodes, found, strict=True):
            if not close(expected.get(node, value), value):
                raise MismatchError(
                    f"a token has the log-probability {expected[node]:.3f}, but {value:.3f} if it "
                    "is forced: the bias is part of it"
                )
        self.findings.noise = max(abs(a - b) for a, b in zip(found, again, strict=True))
        if not all(map(close, found, again)):
            raise MismatchError("the same request has different answers")
        not_constant(found)
        self.findings.values = (*itertools.chain.from_iterable(map(tops, made)), *found)
        self._check_beginning(lambda long: [*map(as_scores, self._first(long))], tokenizer)
        (foreign,) = self._framed(tokenizer, [_FOREIGN])
        try:
            self._forced(tokenizer, [foreign[: i + 1] for i in range(1, min(4, len(foreign)))])
        except MismatchError as error:
            self.findings.notes.append(f"Chinese text will be unanswered: {error}")

    def _first(self, prompts: Sequence[Prompt]) -> list[FirstToken]:
        answers = self._ask("none", prompts, top=_TOP)
        pairs = zip(answers, prompts, strict=True)
        return [first_token(a, None if isinstance(p, str) else len(p)) for a, p in pairs]

    def _forced(self, tokenizer: Tokenizer, nodes: Sequence[Node]) -> list[float]:
        found: dict[Node, float] = {}
        for node, value in force(self.client, self.findings.model, tokenizer, nodes):
            if isinstance(value, UnansweredError):
                if value.status == 200:
                    raise MismatchError(value.reason)
                raise value
            found[node] = value
        return [found[node] for node in nodes]
