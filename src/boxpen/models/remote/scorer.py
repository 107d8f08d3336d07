"""Scores of texts through a server: what is sent for a request, and how its answer is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from boxpen.models.base import ResolvedPolicy, Tally
from boxpen.models.remote.client import (
    Call,
    Client,
    MismatchError,
    UnansweredError,
    as_mismatch,
)
from boxpen.models.remote.findings import Findings
from boxpen.models.remote.forced import Node, force
from boxpen.models.remote.protocol import (
    Prompt,
    TokenScores,
    body_of,
    check_shown,
    read_prompt,
    spans,
    token_bound,
)
from boxpen.models.remote.twins import Twins
from boxpen.models.tokens import Pieces
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.requests import Record, Request

__all__ = ["Reading", "Scorer"]


class Reading(NamedTuple):
    """What is sent for a request, and which of its tokens are scored."""

    prompt: Prompt
    start: int = 0
    unscored: int = 0
    unknown: int = 0
    truncated: bool = False
    crossing: bool = False


class Scorer:
    """Scores texts in the way that the probe found.

    Attributes:
        texts: The texts of tokens as far as the server has shown them.
    """

    def __init__(self, client: Client, findings: Findings, tally: Tally) -> None:
        self.texts: dict[int, str] = {}
        self._client = client
        self._findings = findings
        self._tally = tally

    def score(
        self,
        requests: Sequence[Request],
        policy: ResolvedPolicy,
        cache: ScoreCache | None,
        fingerprint: str,
    ) -> Iterator[tuple[int, Record | UnansweredError]]:
        """Yield the number of every request with its record, or why there is none.

        Args:
            requests: What to score.
            policy: How.
            cache: For the nodes of the prefix tree, if there is one.
            fingerprint: Of the model.
        """
        users: dict[Any, list[tuple[int, Reading]]] = {}  # by prompt
        for number, reading in self._readings(requests, policy):
            if isinstance(reading, UnansweredError):
                yield number, reading
            else:
                users.setdefault(reading.prompt, []).append((number, reading))
        self._tally.add(texts=len(users))
        if self._findings.access == "forced":
            ways = self._forced(users, cache, fingerprint)
        else:
            ways = self._prompts(users)
        for prompt, answer in ways:
            for number, reading in users[prompt]:
                if isinstance(answer, UnansweredError):
                    yield number, answer
                    continue
                try:
                    with as_mismatch():
                        record = self._record(requests[number], reading, answer, policy)
                        empty = not len(record.logprobs) and not record.unscored
                        if empty and requests[number].text.strip():  # it would score best of all
                            raise MismatchError("no token of the text came back")
                except MismatchError as error:
                    yield number, UnansweredError(self._client.name, str(error))
                else:
                    yield number, record

    def _readings(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[tuple[int, Reading | UnansweredError]]:
        tokenizer = self._findings.tokenizer
        if tokenizer is None:
            for number, request in enumerate(requests):
                yield number, Reading(request.prefix + request.text)
            return
        for number, found in tokenizer.pieces(requests):
            yield (
                number,
                found if isinstance(found, UnansweredError) else self.framed(found, policy),
            )

    def framed(self, pieces: Pieces, policy: ResolvedPolicy) -> Reading:
        """Put special tokens around pieces, and cut from the left what is too long."""
        tokenizer = self._findings.tokenizer
        assert tokenizer is not None
        doubled = pieces.ids[:1] == (tokenizer.bos,)
        before = (tokenizer.bos,) if policy.bos and not doubled else ()
        after = (tokenizer.eos,) if policy.eos else ()
        # One token is generated besides.
        room = (policy.max_length or 1 << 40) - len(before) - len(after) - 1
        cut = max(0, len(pieces.ids) - room)
        ids = (*before, *pieces.ids[cut:], *after)
        start = max(0, pieces.start - cut) + len(before)
        first = max(start, 1)  # nothing predicts the first token
        unknown = getattr(tokenizer, "unknown", None)
        return Reading(
            ids,
            first,
            unscored=first - start,
            unknown=sum(1 for i in pieces.ids[pieces.start :] if i == unknown),
            truncated=cut > 0,
            crossing=pieces.crossing,
        )

    def _prompts(
        self, prompts: Mapping[Prompt, object]
    ) -> Iterator[tuple[Prompt, TokenScores | UnansweredError]]:
        """Ask for the log-probabilities of whole prompts."""
        access, model = self._findings.access, self._findings.model
        twins = Twins(self._client.name)

        def calls() -> Iterator[Call]:
            for prompt in prompts:
                for tag in (*twins.of(prompt), None):
                    sent = tag.prompt if tag else prompt
                    body = body_of(access, model, sent)
                    yield Call("/completions", body, token_bound(sent), (sent, tag))

        for call, scores in self._client.read_each(
            calls(), lambda call, answer: read_prompt(access, answer, call.tag[0])
        ):
            prompt, twin = call.tag
            if isinstance(scores, UnansweredError):
                if twin is None:
                    yield prompt, scores
            elif twin is not None:
                twins.add(twin, scores)
            else:
                count = len(scores.logprobs)
                self._tally.add(tokens=count, nodes=count, computed=count)
                yield prompt, scores
                twins.add_text(prompt, scores)

    def _record(
        self, request: Request, reading: Reading, scores: TokenScores, policy: ResolvedPolicy
    ) -> Record:
        """Return the scored tokens of a request.

        Raises:
            MismatchError: If the tokens are not those of the text.
        """
        if isinstance(reading.prompt, str):
            bos, places = spans(scores.texts, reading.prompt, policy.bos)
            join = len(request.prefix)
            start = next((i for i, (_, end) in enumerate(places) if end > join), len(places))
            first = max(start, 1)
            reading = reading._replace(
                start=first,
                unscored=first - start,
                crossing=any(begin < join < end for begin, end in places[bos:]),
            )
            self.texts.update(zip(scores.ids, scores.texts, strict=True))
        elif scores.texts and self._findings.tokenizer is not None:
            named = [self._findings.tokenizer.texts((i,)) for i in reading.prompt]
            check_shown(scores.texts, [text[0] if text else "" for text in named])
        return Record(
            token_ids=np.array(scores.ids[reading.start :], dtype=np.int32),
            logprobs=np.minimum(np.array(scores.logprobs[reading.start :], dtype=np.float32), 0.0),
            unscored=reading.unscored,
            unknown=reading.unknown,
            truncated=reading.truncated,
            crossing=reading.crossing,
        )

    def _forced(
        self,
        prompts: Mapping[Node, Sequence[tuple[int, Reading]]],
        cache: ScoreCache | None,
        fingerprint: str,
    ) -> Iterator[tuple[Prompt, TokenScores | UnansweredError]]:
        """Ask for every node of the prefix tree once, and put prompts together from them."""
        tokenizer = self._findings.tokenizer
        assert tokenizer is not None
        wanted = {  # the nodes of a prompt: its beginnings, each with the token that is scored
            ids: [ids[: i + 1] for i in range(min(r.start for _, r in users), len(ids))]
            for ids, users in prompts.items()
        }
        nodes = list(dict.fromkeys(node for some in wanted.values() for node in some))
        self._tally.add(tokens=sum(map(len, wanted.values())), nodes=len(nodes))
        keys = {node: cache_key(fingerprint, {"access": "forced"}, node) for node in nodes}
        known: dict[Node, float | UnansweredError] = {}
        if cache is not None:
            found = cache.records(list(keys.values()))
            known = {n: float(found[k].logprobs[0]) for n, k in keys.items() if k in found}
        waiting = {ids: sum(node not in known for node in some) for ids, some in wanted.items()}
        users: dict[Node, list[Node]] = {}
        for ids, some in wanted.items():
            for node in some:
                if node not in known:
                    users.setdefault(node, []).append(ids)
        for ids, left in waiting.items():
            if not left:
                yield ids, _assembled(ids, wanted[ids], known)
        asked = force(self._client, self._findings.model, tokenizer, list(users), check=True)
        for node, value in asked:
            self._tally.add(computed=1)
            known[node] = value
            if cache is not None and not isinstance(value, UnansweredError):
                token = np.array(node[-1:], dtype=np.int32)
                record = Record(token, np.array([value], dtype=np.float32))
                cache.add_records([(keys[node], record)], self._client.name)
            for ids in users[node]:
                waiting[ids] -= 1
                if not waiting[ids]:
                    yield ids, _assembled(ids, wanted[ids], known)


def _assembled(
    ids: Node, nodes: Sequence[Node], known: Mapping[Node, float | UnansweredError]
) -> TokenScores | UnansweredError:
    """Put a prompt together from its nodes, unless one of them failed."""
    values: list[float] = []
    for node in nodes:
        value = known[node]
        if isinstance(value, UnansweredError):
            return value
        values.append(value)
    before = [float("nan")] * (len(ids) - len(values))
    return TokenScores(ids, (), (*before, *values))
