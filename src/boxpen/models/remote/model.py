"""A language model behind an API: it is scored if the probe found a way, and asked if it chats.

Texts are sent as token ids where the tokenizer is known, otherwise as they are. Each answer is
handed on as soon as it arrives, so that the score cache commits it; with the access ``forced`` the
nodes of the prefix tree are committed, too: after a kill, no finished request is sent again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from boxpen.errors import ModelError
from boxpen.models.base import ANSWER, Encoded, ModelSpec, ResolvedPolicy
from boxpen.models.remote.chat import Chat
from boxpen.models.remote.checks import close
from boxpen.models.remote.client import Client, UnansweredError
from boxpen.models.remote.findings import Findings
from boxpen.models.remote.probe import check_chat, check_letters, probe
from boxpen.models.remote.scorer import Scorer
from boxpen.models.remote.served import ServedModel, refuse_options
from boxpen.models.remote.settings import ApiSettings, settings_of
from boxpen.models.remote.tokenizer import FolderTokenizer
from boxpen.models.remote.twins import DistrustError
from boxpen.models.remote.unwrap import PROMPT, prompt_of, unwrapped
from boxpen.models.tokens import Pieces
from boxpen.scoring.ask import Question
from boxpen.scoring.cache import ScoreCache, cache_key
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

__all__ = ["RemoteModel", "from_api"]

_CHUNK = 1024  # texts whose tokens are in memory at once


def from_api(spec: ModelSpec) -> RemoteModel:
    """Probe the server of ``api:…`` or ``openai:…`` and return its model.

    Raises:
        ModelError: If the server cannot be reached, or neither scored nor asked.
    """
    refuse_options(spec)
    settings = settings_of(spec.name)
    client = Client(spec.name, settings)
    findings = probe(client, settings)
    if findings.access == "none":
        raise ModelError(f"model '{spec.name}' cannot be used: {findings.refusal}")
    return RemoteModel(spec.name, client, settings, findings)


class RemoteModel(ServedModel):
    """A model behind an API, found fit by the probe.

    Attributes:
        findings: What the probe found.
    """

    kind = "causal"
    reads_context = True  # in translations
    translates_unasked = False

    def __init__(
        self, name: str, client: Client, settings: ApiSettings, findings: Findings
    ) -> None:
        self.name = name
        self.client = client
        self.settings = settings
        self.findings = findings
        self.access = findings.access
        self._cache: ScoreCache | None = None
        self._scorer = Scorer(client, findings, self.tally)
        self._identity: dict[str, object] = {"model": findings.model, "access": findings.access}
        if findings.refusal:
            # No log-probabilities tell models apart. Replicas of one differ in their
            # system_fingerprint, so that it would not do, either.
            self._identity["url"] = settings.base
        else:
            self._identity |= {"system": findings.system, "ids": findings.tokenizer is not None}
        self.fingerprint = self._fingerprint(findings.values)

    @property
    def short(self) -> str:
        """The server's name for the model, without folders."""
        return self.findings.model.rstrip("/").rsplit("/", 1)[-1]

    def attach(self, cache: ScoreCache) -> None:
        """Use a cache for nodes, and recognise the model as one that it knows.

        Log-probabilities of a server are noisy, so a hash of them would change from day to day.
        The probe's are compared with those of earlier sessions instead; a model that differs gets
        a fingerprint of its own, even if it hides behind the same name.
        """
        self._cache = cache
        if self.findings.refusal:
            return
        times = 0
        while marks := cache.records([self._mark]):
            self.introduction.update(marks)
            times += 1
            self._identity["distrusted"] = times
        values = np.array(self.findings.values, dtype=np.float32)
        for number in range(1000):
            key = cache_key("api", self._identity, ("probe", number))
            known = cache.records([key]).get(key)
            if known is None:
                self.introduction[key] = Record(np.zeros(len(values), dtype=np.int32), values)
                cache.add_records([(key, self.introduction[key])], self.name)
                break
            self.introduction[key] = known
            earlier = known.logprobs.tolist()
            if len(earlier) == len(values) and all(map(close, earlier, values.tolist())):
                values = known.logprobs
                break
        self.fingerprint = self._fingerprint(values.tolist())

    def distrust(self, cache: ScoreCache) -> None:
        """Let nothing be used again that a cache has of this server."""
        empty = np.zeros(0)
        mark = Record(empty.astype(np.int32), empty.astype(np.float32))
        cache.add_records([(self._mark, mark)], self.name)

    @property
    def _mark(self) -> bytes:
        """The key under which a cache says that these scores are wrong."""
        return cache_key("api", self._identity, ("distrusted",))

    def _fingerprint(self, values: Sequence[float]) -> str:
        rounded = [float(np.float32(value)) for value in values]
        text = json.dumps([sorted(self._identity.items()), rounded])
        return hashlib.sha256(text.encode()).hexdigest()

    def cannot_score(self) -> str | None:
        """Return why texts cannot be scored: what the probe saw."""
        if self.findings.refusal is None:
            return None
        return f"'{self.name}' cannot be scored: {self.findings.refusal}"

    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this server."""
        tokenizer = self.findings.tokenizer
        if self.findings.refusal:
            return ResolvedPolicy()
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
            return super().encode(requests, policy)
        out = []
        for _, found in tokenizer.pieces(requests):
            assert isinstance(found, Pieces)
            reading = self._scorer.framed(found, policy)
            ids = tuple(reading.prompt)
            scored = range(reading.start, len(ids))
            out.append(Encoded(ids, scored, unknown=reading.unknown))  # type: ignore[arg-type]
        return out

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """Return the texts of tokens; [] if one is not known."""
        tokenizer = self.findings.tokenizer
        if tokenizer is not None:
            return tokenizer.texts(ids) or []
        known = [self._scorer.texts.get(i) for i in ids]
        return [t for t in known if t is not None] if None not in known else []

    def score(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Score requests, yielding each as soon as its answer is there.

        Requests that fail for good are not yielded; ``unanswered`` has the reason.
        """
        return self.handed_on(self._records(requests, policy), requests)

    def _records(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[tuple[int, Record | UnansweredError]]:
        for start in range(0, len(requests), _CHUNK):
            few = requests[start : start + _CHUNK]
            scored = self._scorer.score(few, policy, self._cache, self.fingerprint)
            try:
                for number, found in scored:
                    yield start + number, found
            except DistrustError:
                if self._cache is not None:
                    self.distrust(self._cache)
                raise

    def cannot_answer(self, asks: str = "text") -> str | None:
        """Return why the model cannot be asked: what its server did when it was."""
        if self._chat is None:
            return f"'{self.name}' answers no chats ({self.findings.rejected['chat']})"
        if asks == "letters":
            if self.findings.letters is None:
                check_letters(self.findings)
            if lack := self.findings.letters:
                return f"'{self.name}' gives no log-probabilities of letters ({lack})"
        return None

    @cached_property
    def _chat(self) -> Chat | None:
        """The chats of the server, checked when they are first needed; None if there are none."""
        if self.findings.chat is None and "chat" not in self.findings.rejected:
            check_chat(self.client, self.settings, self.findings)
        if self.findings.chat is not None:
            self.remarks.extend(self.findings.chat.notes)
        return self.findings.chat

    @property
    def chat_access(self) -> str:  # type: ignore[override]
        """``chat``, with the settings that differ from the default."""
        extra = self.settings.extra
        digest = hashlib.sha256(json.dumps(extra, sort_keys=True, default=str).encode()).hexdigest()
        most = self.settings.max_answer
        parts = [f"max_answer={most}"] * (most != ANSWER) + [f"extra@{digest[:6]}"] * bool(extra)
        return ",".join(("chat", *parts))

    @property
    def engine(self) -> str:  # type: ignore[override]
        """What was sent so far, and the versions of the server that answered chats."""
        systems = sorted(self.findings.chat.systems) if self.findings.chat else ()
        return super().engine + "".join(f", system_fingerprint {one}" for one in systems)

    def answer_settings(self) -> dict[str, object]:
        """Return the settings that answers depend on."""
        extra = {"extra": self.settings.extra} if self.settings.extra else {}
        return {"most": self.settings.max_answer, **extra}

    def answer(self, questions: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
        """Answer questions, yielding each answer as soon as it arrives."""
        return self.handed_on(self._asked().answers(questions), questions)

    def letters(
        self, questions: Sequence[Question], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Ask for the likeliest first tokens of answers, and look for letters among them."""
        del policy  # nothing of it applies
        prompts = [question.prompt for question in questions]
        return self.handed_on(self._asked().letters(questions), prompts)

    def _asked(self) -> Chat:
        if self._chat is None:
            raise ModelError(f"{self.cannot_answer()}")
        return self._chat

    def can_translate(self) -> bool:
        """Whether the server chats; asking for that may take a request."""
        return self._chat is not None

    def translation_settings(self) -> dict[str, object]:
        """Return the settings that translations depend on."""
        return {"prompt": PROMPT, **self.answer_settings()}

    def translate(
        self,
        sources: Sequence[str],
        languages: tuple[str | None, str | None],
        *,
        beam: int,
        contexts: Sequence[str] | None = None,
    ) -> Iterator[list[tuple[int, str]]]:
        """Translate by asking for it; what is around a translation is removed."""
        del beam  # up to the server
        prompts = [
            prompt_of(source, languages, context)
            for source, context in zip(sources, contexts or [""] * len(sources), strict=True)
        ]
        most = [self.settings.max_answer + 2 * len(source.encode()) for source in sources]

        def translations() -> Iterator[tuple[int, str | UnansweredError]]:
            for number, reply in self._asked().ask(prompts, most):
                if isinstance(reply, UnansweredError):
                    yield number, reply
                    continue
                text = unwrapped(reply.text, sources[number], languages[1])
                wrong = {
                    "refused to translate": reply.refused,
                    "a translation was cut off": reply.cut,
                    "a translation is empty": not text,
                }
                why = next((reason for reason, is_so in wrong.items() if is_so), None)
                yield number, text if why is None else UnansweredError(self.name, why)

        return self.handed_on(translations(), sources)
