"""A causal language model behind an API.

Texts are sent as token ids where the tokenizer is known, otherwise as they are. Each answer is
handed on as soon as it arrives, so that the score cache commits it; with the access ``forced`` the
nodes of the prefix tree are committed, too: after a kill, no finished request is sent again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from boxpen.errors import ModelError, PolicyError
from boxpen.models.base import Encoded, Model, ModelSpec, ResolvedPolicy, Scores
from boxpen.models.remote.checks import close
from boxpen.models.remote.client import Budget, Call, Client, UnansweredError
from boxpen.models.remote.findings import Findings
from boxpen.models.remote.forced import Node, force
from boxpen.models.remote.probe import probe, token_bound
from boxpen.models.remote.protocol import (
    MismatchError,
    Prompt,
    TokenScores,
    body_of,
    read_prompt,
    spans,
)
from boxpen.models.remote.settings import settings_of
from boxpen.models.remote.tokenizer import FolderTokenizer
from boxpen.models.tokens import Pieces
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

__all__ = ["RemoteModel", "from_api", "limit_cost"]

_CHUNK = 1024  # texts whose tokens are in memory at once


def from_api(spec: ModelSpec) -> RemoteModel:
    """Probe the server of ``api:…`` or ``openai:…`` and return its model.

    Raises:
        ModelError: If the server cannot be reached, or its numbers cannot be trusted.
    """
    if spec.dtype != "auto" or spec.device is not None:
        option = "--dtype" if spec.device is None else "--device"
        raise ModelError(f"{option} is up to the server of '{spec.name}'; leave it out")
    client = Client(spec.name, settings_of(spec.name))
    findings = probe(client)
    if findings.refusal:
        raise ModelError(f"model '{spec.name}' cannot be scored: {findings.refusal}")
    return RemoteModel(spec.name, client, findings)


def limit_cost(models: Sequence[Model], limit: float) -> None:
    """Let all models behind an API share a limit on their cost.

    Raises:
        PolicyError: If there is none, or the price of one is unknown.
    """
    remote = {id(m): m for m in models if isinstance(m, RemoteModel)}.values()
    if not remote:
        raise PolicyError("--max-cost is for models behind an API; leave it out")
    for model in remote:
        if not model.client.settings.priced:
            raise PolicyError(
                f"--max-cost needs the prices of '{model.name}': set prompt_price and "
                "completion_price in api:FILE.toml"
            )
    budget = Budget(limit, spent=sum(model.client.usage.cost for model in remote))
    for model in remote:
        model.client.budget = budget


class _Reading(NamedTuple):
    """What is sent for a request, and which of its tokens are scored."""

    prompt: Prompt
    start: int = 0
    unscored: int = 0
    unknown: int = 0
    truncated: bool = False
    crossing: bool = False


class RemoteModel(Model):
    """A model behind an API, found fit by the probe.

    Attributes:
        client: The server.
        findings: What the probe found.
    """

    kind = "causal"
    dtype = "server"

    def __init__(self, name: str, client: Client, findings: Findings) -> None:
        self.name = name
        self.client = client
        self.findings = findings
        self.access = findings.access
        self._cache: ScoreCache | None = None
        self._texts: dict[int, str] = {}
        self._identity = {
            "model": findings.model,
            "system": findings.system,
            "access": findings.access,
            "ids": findings.tokenizer is not None,
        }
        self.fingerprint = self._fingerprint(findings.values)

    @property
    def short(self) -> str:
        """The server's name for the model, without folders."""
        return self.findings.model.rstrip("/").rsplit("/", 1)[-1]

    @property
    def engine(self) -> str:  # type: ignore[override]
        """How texts are scored, and what was sent."""
        used = self.client.usage
        cost = f", cost {used.cost:.4g}" if self.client.settings.priced else ""
        return (
            f"api:{self.access}: {used.requests:,} requests, {used.retries:,} of them repeated, "
            f"{used.prompt_tokens:,} prompt tokens, {used.completion_tokens:,} completion tokens"
            f"{cost}"
        )

    def detail(self, done: int, total: int) -> str:
        """Return tokens and cost so far, and the cost to come."""
        used = self.client.usage
        text = f"{used.prompt_tokens + used.completion_tokens:,} tokens"
        if self.client.settings.priced:
            text += f", cost {used.cost:.3g}"
            if self._fresh and done < total:
                text += f" + about {(used.cost - self._before) / self._fresh * (total - done):.2g}"
        return text

    def attach(self, cache: ScoreCache) -> None:
        """Use a cache for nodes, and recognise the model as one that it knows.

        Log-probabilities of a server are noisy, so a hash of them would change from day to day.
        The probe's are compared with those of earlier sessions instead; a model that differs gets
        a fingerprint of its own, even if it hides behind the same name.
        """
        self._cache = cache
        values = np.array(self.findings.values, dtype=np.float32)
        for number in range(1000):
            key = cache_key("api", self._identity, ("probe", number))
            known = cache.records([key]).get(key)
            if known is None:
                cache.add_records([(key, Record(np.zeros(len(values), dtype=np.int32), values))])
                break
            earlier = known.logprobs.tolist()
            if len(earlier) == len(values) and all(map(close, earlier, values.tolist())):
                values = known.logprobs
                break
        self.fingerprint = self._fingerprint(values.tolist())

    def _fingerprint(self, values: Sequence[float]) -> str:
        rounded = [float(np.float32(value)) for value in values]
        text = json.dumps([sorted(self._identity.items()), rounded])
        return hashlib.sha256(text.encode()).hexdigest()

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this server."""
        tokenizer = self.findings.tokenizer
        if tokenizer is None:
            adds = bool(self.findings.bos)
            if policy.bos not in ("auto", "always" if adds else "never"):
                does = "adds BOS to every text" if adds else "adds no BOS"
                raise ModelError(
                    f"the server of '{self.name}' {does}; leave out --bos, or set `tokenizer` in "
                    "api:FILE.toml"
                )
            if policy.eos == "always" or policy.max_length is not None:
                option = "--eos always" if policy.eos == "always" else "--max-length"
                raise ModelError(
                    f"{option} needs the tokenizer of '{self.name}': set `tokenizer` in "
                    "api:FILE.toml"
                )
            return ResolvedPolicy(bos=adds, eos=False)
        if policy.bos == "always" and tokenizer.bos is None:
            raise ModelError(f"{self.name} has no BOS token; use --bos never")
        if policy.eos == "always" and (tokenizer.eos is None or self.access == "forced"):
            raise ModelError(f"{self.name} cannot score EOS; leave out --eos always")
        longest = min((n for n in (policy.max_length, self.findings.max_length) if n), default=None)
        return ResolvedPolicy(
            bos=tokenizer.bos is not None if policy.bos == "auto" else policy.bos == "always",
            eos=policy.eos == "always",
            max_length=longest,
        )

    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Return tokens as far as they are known here; a server's vocabulary has no unknowns."""
        tokenizer = self.findings.tokenizer
        if not isinstance(tokenizer, FolderTokenizer):
            return [Encoded((), range(0)) for _ in requests]
        out = []
        for _, found in tokenizer.pieces(requests):
            assert isinstance(found, Pieces)
            reading = self._framed(found, policy)
            ids = tuple(reading.prompt)
            scored = range(reading.start, len(ids))
            out.append(Encoded(ids, scored, unknown=reading.unknown))  # type: ignore[arg-type]
        return out

    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:
        """Not used: ``score`` asks the server itself."""
        raise NotImplementedError

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """Return the texts of tokens; [] if one is not known."""
        tokenizer = self.findings.tokenizer
        if tokenizer is not None:
            return tokenizer.texts(ids) or []
        known = [self._texts.get(i) for i in ids]
        return [t for t in known if t is not None] if None not in known else []

    def score(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Score requests, yielding each as soon as its answer is there.

        Requests that fail for good are not yielded; ``unanswered`` has the reason.
        """
        self._fresh, self._before = 0, self.client.usage.cost
        for start in range(0, len(requests), _CHUNK):
            few = requests[start : start + _CHUNK]
            for batch in self._score(few, policy):
                self._fresh += len(batch)
                yield [(start + number, record) for number, record in batch]

    _fresh = 0  # texts scored, and the cost before them
    _before = 0.0

    def _score(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        users: dict[Any, list[tuple[int, _Reading]]] = {}  # by prompt
        for number, reading in self._readings(requests, policy):
            if isinstance(reading, UnansweredError):
                self.unanswered[requests[number]] = reading.reason
            else:
                users.setdefault(reading.prompt, []).append((number, reading))
        self.tally.add(texts=len(users))
        ways = self._forced(users) if self.access == "forced" else self._prompts(users)
        for prompt, answer in ways:
            batch = []
            for number, reading in users[prompt]:
                try:
                    if isinstance(answer, str):
                        raise MismatchError(answer)
                    batch.append((number, self._record(requests[number], reading, answer, policy)))
                except MismatchError as error:
                    self.unanswered[requests[number]] = str(error)
            if batch:
                yield batch

    def _readings(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[tuple[int, _Reading | UnansweredError]]:
        tokenizer = self.findings.tokenizer
        if tokenizer is None:
            for number, request in enumerate(requests):
                yield number, _Reading(request.prefix + request.text)
            return
        for number, found in tokenizer.pieces(requests):
            yield (
                number,
                found if isinstance(found, UnansweredError) else self._framed(found, policy),
            )

    def _framed(self, pieces: Pieces, policy: ResolvedPolicy) -> _Reading:
        """Put special tokens around pieces, and cut from the left what is too long."""
        tokenizer = self.findings.tokenizer
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
        return _Reading(
            ids,
            first,
            unscored=first - start,
            unknown=sum(1 for i in pieces.ids[pieces.start :] if i == unknown),
            truncated=cut > 0,
            crossing=pieces.crossing,
        )

    def _prompts(
        self, prompts: Mapping[Prompt, object]
    ) -> Iterator[tuple[Prompt, TokenScores | str]]:
        """Ask for the log-probabilities of whole prompts; a failure is a reason."""
        access, model = self.findings.access, self.findings.model
        calls = (
            Call("/completions", body_of(access, model, prompt), token_bound(prompt), prompt)
            for prompt in prompts
        )
        for call, answer in self.client.each(calls):
            if isinstance(answer, UnansweredError):
                yield call.tag, answer.reason
                continue
            try:
                scores = read_prompt(access, answer, call.tag)
            except MismatchError as error:
                yield call.tag, str(error)
                continue
            count = len(scores.logprobs)
            self.tally.add(tokens=count, nodes=count, computed=count)
            yield call.tag, scores

    def _record(
        self, request: Request, reading: _Reading, scores: TokenScores, policy: ResolvedPolicy
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
            self._texts.update(zip(scores.ids, scores.texts, strict=True))
        return Record(
            token_ids=np.array(scores.ids[reading.start :], dtype=np.int32),
            logprobs=np.minimum(np.array(scores.logprobs[reading.start :], dtype=np.float32), 0.0),
            unscored=reading.unscored,
            unknown=reading.unknown,
            truncated=reading.truncated,
            crossing=reading.crossing,
        )

    def _forced(
        self, prompts: Mapping[Node, Sequence[tuple[int, _Reading]]]
    ) -> Iterator[tuple[Prompt, TokenScores | str]]:
        """Ask for every node of the prefix tree once, and put prompts together from them."""
        tokenizer = self.findings.tokenizer
        assert tokenizer is not None
        wanted = {  # the nodes of a prompt: its beginnings, each with the token that is scored
            ids: [ids[: i + 1] for i in range(min(r.start for _, r in users), len(ids))]
            for ids, users in prompts.items()
        }
        nodes = list(dict.fromkeys(node for some in wanted.values() for node in some))
        self.tally.add(tokens=sum(map(len, wanted.values())), nodes=len(nodes))
        keys = {node: cache_key(self.fingerprint, {"access": "forced"}, node) for node in nodes}
        known: dict[Node, float | str] = {}
        if self._cache is not None:
            found = self._cache.records(list(keys.values()))
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
        asked = force(self.client, self.findings.model, tokenizer, list(users))
        for node, answer in asked:
            self.tally.add(computed=1)
            value = answer.reason if isinstance(answer, UnansweredError) else answer
            known[node] = value
            if self._cache is not None and not isinstance(value, str):
                token = np.array(node[-1:], dtype=np.int32)
                record = Record(token, np.array([value], dtype=np.float32))
                self._cache.add_records([(keys[node], record)])
            for ids in users[node]:
                waiting[ids] -= 1
                if not waiting[ids]:
                    yield ids, _assembled(ids, wanted[ids], known)


def _assembled(
    ids: Node, nodes: Sequence[Node], known: Mapping[Node, float | str]
) -> TokenScores | str:
    """Put a prompt together from its nodes; the reason if one of them failed."""
    values: list[float] = []
    for node in nodes:
        value = known[node]
        if isinstance(value, str):
            return value
        values.append(value)
    before = [float("nan")] * (len(ids) - len(values))
    return TokenScores(ids, (), (*before, *values))
