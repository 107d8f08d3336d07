"""The interface that every kind of model implements.

A subclass defines how a request becomes tokens (``encode``) and how encoded requests, all of them
at once, get their log-probabilities (``run``). Merging equal requests, checking results and
tokenising ahead of the model happen here, once for all kinds.
"""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxpen.ahead import Turns, ahead
from boxpen.errors import ModelError, ScoringError
from boxpen.models.encoded import (
    ANSWER,
    Encoded,
    Kind,
    ModelSpec,
    ResolvedPolicy,
    Scores,
    Tally,
)
from boxpen.plugins import MODELS
from boxpen.scoring.ask import Question
from boxpen.scoring.cache import ScoreCache
from boxpen.scoring.policy import ScoringPolicy
from boxpen.scoring.requests import Record, Request

__all__ = ["ANSWER", "Encoded", "Kind", "Model", "ModelSpec", "ResolvedPolicy", "Scores", "Tally"]

_NOTHING: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
_CHUNK = 1 << 16  # requests that are tokenised together, while the chunk before them is scored
_STEP = 512  # requests that are tokenised in one turn


class _Merged(NamedTuple):
    """Distinct requests as tokens, each with the numbers of those that come to them.

    Attributes:
        new: What is scored.
        again: What an earlier chunk has, or nothing is to be scored of.
    """

    new: list[tuple[Encoded, list[int]]]
    again: list[tuple[Encoded, list[int]]]


class Model(ABC):
    """A model that gives log-probabilities to texts.

    Attributes:
        name: As the user named it.
        kind: What the scores mean.
        fingerprint: Hex digest of weights, tokenizer and dtype.
        dtype: Floating-point type of the weights.
        languages: What it reads, as two-letter codes; None if that is not known.
        encoder: Whether it reads a source sentence on a side of its own.
        reads_context: Whether it reads the sentence before the source there.
        pairs: Whether it reads two texts: premise and hypothesis, or context and candidate.
        labels: What an inference classifier chooses between: numbers of ``scoring.labels.NAMES``.
        direction: The one language pair it translates, if there is only one.
        token_budget: Maximum tokens per batch, including padding; based on free memory if None.
        batch_size: Maximum sequences per batch.
        deterministic: Whether to run every text by itself, so that its score depends on nothing
            else and is bit-identical across runs.
        engine: How texts are scored, in a few words; empty before the first one.
        access: How a model behind an API is asked, as in ``echo``; empty for local models.
        chat_access: How it is asked questions, as in ``chat``.
        translates_unasked: Whether a model that can translate does so without being told to.
    """

    name: str
    kind: Kind
    fingerprint: str
    dtype: str
    languages: frozenset[str] | None = None
    encoder: bool = False
    reads_context: bool = False
    pairs: bool = False
    labels: tuple[int, ...] = ()
    direction: tuple[str, str] | None = None
    token_budget: int | None = None
    batch_size: int | None = None
    deterministic: bool = False
    engine: str = ""
    access: str = ""
    chat_access: str = ""
    translates_unasked: bool = True

    def __repr__(self) -> str:
        device = getattr(self, "device", None)
        facts = [repr(self.name), self.kind, self.dtype, *([str(device)] if device else [])]
        return f"{type(self).__name__}({', '.join(facts)})"

    @cached_property
    def unanswered(self) -> dict[Request | str, str]:
        """Requests, questions and sources without an answer, with reasons."""
        return {}

    @cached_property
    def remarks(self) -> list[str]:
        """What readers of the results should know about the model."""
        return []

    @cached_property
    def introduction(self) -> dict[bytes, Record]:
        """Rows of a cache that tell another process which model it has; local ones need none."""
        return {}

    def attach(self, cache: ScoreCache) -> None:  # noqa: B027 (local models have nothing to keep)
        """Prepare for scoring with a cache."""

    def detail(self, done: int, total: int) -> str:  # noqa: ARG002
        """Return what progress shows besides texts; empty for local models."""
        return ""

    @cached_property
    def tally(self) -> Tally:
        """The cost of scoring so far."""
        return Tally()

    def adjust(
        self,
        *,
        batch_size: int | None = None,
        token_budget: int | None = None,
        deterministic: bool | None = None,
    ) -> None:
        """Change how texts are run; None keeps a setting.

        Raises:
            ModelError: If a number is not positive, or the model does not support a setting.
        """
        for name, value in (("batch_size", batch_size), ("token_budget", token_budget)):
            if value is not None and value < 1:
                raise ModelError(f"{name} is {value}, expected 1 or more")
        for name, setting in (
            ("batch_size", batch_size),
            ("token_budget", token_budget),
            ("deterministic", deterministic),
        ):
            if setting is not None and setting != getattr(self, name):
                setattr(self, name, setting)
                self.forget_settings()

    def forget_settings(self) -> None:  # noqa: B027 (most keep nothing)
        """Discard cached objects that depend on the settings."""

    def exactness(self) -> dict[str, object]:
        """Return the settings that scores depend on bit by bit; empty if there are too many."""
        return {"deterministic": True} if self.deterministic else {}

    @property
    def rounds(self) -> bool:
        """Whether its precision is so low that scores depend on the batch."""
        return False

    @property
    def rounded(self) -> Model | None:
        """The same model in a faster precision; None if there is none on this hardware."""
        return None

    @property
    def batch(self) -> str | None:
        """How texts are batched: ``1`` for one by one, or ``any``; None if it does not matter."""
        if not self.rounds:
            return None
        return "1" if self.deterministic else "any"

    @abstractmethod
    def resolve_policy(self, policy: ScoringPolicy) -> ResolvedPolicy:
        """Resolve a policy for this model.

        Raises:
            ModelError: If the model cannot do what the policy asks for.
        """

    @abstractmethod
    def encode(self, requests: Sequence[Request], policy: ResolvedPolicy) -> list[Encoded]:
        """Turn requests into tokens."""

    @abstractmethod
    def run(self, encoded: Sequence[Encoded], policy: ResolvedPolicy) -> Iterator[Scores]:
        """Score distinct requests, yielding them in batches, in no particular order.

        Every one of them has something to score.
        """

    @property
    def short(self) -> str:
        """The name without ``hf:`` and the folders of a path, for narrow places."""
        scheme, colon, rest = self.name.partition(":")
        bare = rest if colon and scheme in MODELS else self.name
        bare = bare.rstrip("/").rsplit("/", 1)[-1]
        return bare if bare.strip(".") else self.name  # the folder that one is in has no name here

    def token_texts(self, ids: Sequence[int]) -> list[str]:  # noqa: ARG002
        """Return the texts of tokens, with the space before a word; [] if unknown."""
        return []

    def load(self) -> None:  # noqa: B027 (a model without weights to load has nothing to do)
        """Load the weights now instead of on first use."""

    def probes(self) -> Sequence[Request]:
        """Return simple requests that reveal a misconfigured model; most kinds need none."""
        return ()

    def verify(self, records: Sequence[Record]) -> str | None:  # noqa: ARG002
        """Check the records of ``probes``, and return a note for readers of the results, if any.

        Raises:
            ModelError: If the answers show that the model is misconfigured.
        """
        return None

    def cannot_score(self) -> str | None:
        """Return why the model cannot score texts; None if it can."""
        return None

    def cannot_answer(self, asks: str = "text") -> str | None:  # noqa: ARG002
        """Return why the model cannot be asked questions; None if it can.

        Args:
            asks: For an answer as ``text``, or for the log-probabilities of ``letters``.
        """
        return f"'{self.name}' is a {self.kind} model, which answers none"

    def answer_settings(self) -> dict[str, object]:
        """Return the settings that answers depend on."""
        return {"most": ANSWER}

    def translation_settings(self) -> dict[str, object]:
        """Return the settings that translations depend on, besides those of the interface."""
        return {}

    def chat_prompt(self, question: str) -> str:  # noqa: ARG002
        """Return the text that the model continues with its answer to a question."""
        raise ModelError(f"{self.cannot_answer()}")

    def answer(self, questions: Sequence[str]) -> Iterator[list[tuple[int, str]]]:  # noqa: ARG002
        """Yield batches of (index, answer), at most ``ANSWER`` tokens each.

        A question whose answer cannot be had is left out, with the reason in ``unanswered``.
        """
        raise ModelError(f"{self.cannot_answer()}")

    def letters(
        self, questions: Sequence[Question], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Yield batches of (index, log-probabilities of a question's letters).

        The "tokens" of a record are the places of the letters. A question whose letters cannot be
        had is left out, with the reason in ``unanswered``.
        """
        asked = [(number, letter) for number, q in enumerate(questions) for letter in q.letters]
        prompts = [self.chat_prompt(question.prompt) for question in questions]
        requests = [Request(text=letter, prefix=prompts[number]) for number, letter in asked]
        found: dict[int, dict[str, Record]] = {}
        for batch in self.score(requests, policy):
            whole = []
            for index, record in batch:
                number, letter = asked[index]
                question = questions[number]
                of = found.setdefault(number, {})
                of[letter] = record
                if len(of) < len(question.letters):
                    continue
                if any(one.truncated for one in of.values()):
                    self.unanswered[question.prompt] = "longer than the model reads"
                    continue
                totals = [of[letter].total for letter in question.letters]
                places = np.arange(len(totals), dtype=np.int32)
                whole.append((number, Record(places, np.array(totals, dtype=np.float32))))
            if whole:
                yield whole

    def can_translate(self) -> bool:
        """Whether the model can also produce translations."""
        return False

    def translate(
        self,
        sources: Sequence[str],  # noqa: ARG002
        languages: tuple[str | None, str | None],  # noqa: ARG002
        *,
        beam: int,  # noqa: ARG002
        contexts: Sequence[str] | None = None,  # noqa: ARG002
    ) -> Iterator[list[tuple[int, str]]]:
        """Yield batches of (index, translation).

        A source that cannot be translated is left out, with the reason in ``unanswered``.

        Args:
            sources: The sentences to translate.
            languages: Source and target language.
            beam: Beam size.
            contexts: The text before each source, for models that read it.
        """
        raise ModelError(f"{self.name} is a {self.kind} model and does not translate")

    def require_sources(self, requests: Sequence[Request]) -> None:
        """Reject requests that a model with an encoder cannot score.

        Raises:
            ModelError: If a request has no source, or a prefix, which would be ignored.
        """
        for request in requests:
            if request.source is None:
                raise ModelError(f"'{self.name}' translates, and a text came without a source")
            if request.prefix:
                raise ModelError(f"'{self.name}' translates, and a text came with a prefix")

    def reads(self, language: str | None) -> bool:
        """Whether the model reads a language, as far as known."""
        return language is None or self.languages is None or language in self.languages

    def score(
        self, requests: Sequence[Request], policy: ResolvedPolicy
    ) -> Iterator[list[tuple[int, Record]]]:
        """Score requests, yielding batches of (index, record) in no particular order.

        Requests with the same tokens are run once and get identical scores, so that a tie between
        them is a tie in any batch.
        """
        order = list(range(len(requests)))
        if not order:
            return
        if len(order) > self.first_chunk:  # what begins alike stays together
            order.sort(
                key=lambda i: (requests[i].source or "", requests[i].prefix, requests[i].text)
            )
        merged = _Merged([], [])
        known: dict[Encoded, NDArray[np.float32]] = {}
        for batch in self.stream(self._chunks(requests, order, policy, merged), policy):
            if batch:
                yield self._finished(batch, merged.new, known)
        for item, indices in merged.again:
            values = known[item] if item.scored else _NOTHING
            yield [(i, _record(item, values, item.targets)) for i in indices]

    def stream(
        self, chunks: Iterable[Sequence[Encoded]], policy: ResolvedPolicy
    ) -> Iterator[Scores]:
        """Score requests while they are still being tokenised, numbered consecutively.

        Args:
            chunks: Distinct requests; the iterable is asked for more of them by another thread.
            policy: How to score.
        """
        tokenised = ahead(chunks, depth=1)
        with contextlib.closing(tokenised):
            self.load()  # while the first chunk is being tokenised
            start = 0
            for chunk in tokenised:
                for few in [[item] for item in chunk] if self.deterministic else [chunk]:
                    for batch in self.run(few, policy) if few else ():
                        yield [(start + number, values) for number, values in batch]
                    start += len(few)

    @property
    def turns(self) -> Turns | None:
        """What the threads that prepare texts take with the one that runs them, if they must."""
        return None

    @property
    def first_chunk(self) -> int:
        """How many requests to tokenise before scoring starts; chunks grow from there."""
        return _CHUNK

    def _chunks(
        self,
        requests: Sequence[Request],
        order: Sequence[int],
        policy: ResolvedPolicy,
        merged: _Merged,
    ) -> Iterator[list[Encoded]]:
        """Tokenise requests, and yield those that differ from all earlier ones."""
        seen: set[Encoded] = set()
        for indices in _cut(order, self.first_chunk):
            encoded: list[Encoded] = []
            step = len(indices) if self.turns is None else _STEP
            for start in range(0, len(indices), step):
                few = [requests[i] for i in indices[start : start + step]]
                encoded += self.encode(few, policy)
                if self.turns is not None:
                    self.turns.pause()
            equal: dict[Encoded, list[int]] = {}
            for index, item in zip(indices, encoded, strict=True):
                equal.setdefault(item, []).append(index)
            new: list[tuple[Encoded, list[int]]] = []
            for pair in equal.items():
                (new if pair[0].scored and pair[0] not in seen else merged.again).append(pair)
            seen.update(item for item, _ in new)
            # In an order of their own: the batches do not depend on that of the requests.
            new.sort(key=lambda pair: _rank(pair[0]))
            merged.new.extend(new)
            self.tally.add(texts=len(new))
            yield [item for item, _ in new]

    def _finished(
        self,
        batch: Scores,
        items: Sequence[tuple[Encoded, list[int]]],
        known: dict[Encoded, NDArray[np.float32]],
    ) -> list[tuple[int, Record]]:
        """Check the scores of a batch, keep them, and turn them into records."""
        if not np.isfinite(np.concatenate([values for _, values in batch])).all():
            hint = "" if self.dtype == "float32" else "; try --dtype float32"
            raise ScoringError(f"model '{self.name}' produced NaN or Inf in {self.dtype}{hint}")
        out = []
        # The targets of all at once: thousands of little arrays take longer to make.
        targets = [items[number][0].targets for number, _ in batch]
        every = np.fromiter(itertools.chain.from_iterable(targets), dtype=np.int32)
        end = 0
        for (number, values), tokens in zip(batch, targets, strict=True):
            item, indices = items[number]
            known[item] = values
            start, end = end, end + len(tokens)
            if len(values) != len(tokens):
                raise ScoringError(
                    f"model '{self.name}' gave {len(values)} log-probabilities for {len(tokens)} "
                    "tokens"
                )
            record = _record(item, values, every[start:end])
            out += [(index, record) for index in indices]
        return out


def _rank(item: Encoded) -> tuple[object, ...]:
    return item.source, item.ids, item.context, item.aside, *item.scored[:1]


def _cut(order: Sequence[int], first: int) -> Iterator[Sequence[int]]:
    start, size = 0, first
    while start < len(order):
        yield order[start : start + size]
        # A chunk is prepared while the one before it is scored, which takes twice as long.
        start, size = start + size, min(size + size // 2, 4 * first)


def _record(
    encoded: Encoded, logprobs: NDArray[np.float32], tokens: Sequence[int] | NDArray[np.int32]
) -> Record:
    return Record(
        token_ids=np.asarray(tokens, dtype=np.int32),
        logprobs=logprobs,
        unscored=encoded.unscored,
        unknown=encoded.unknown,
        truncated=encoded.truncated,
        crossing=encoded.crossing,
    )
