"""Runs for reports: real ones, of a model whose tokens are words and whose taste is known."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from boxpen import Card, Choice, Model, Run, Suite, evaluate
from boxpen.models.base import Encoded, ResolvedPolicy
from boxpen.runs.run import Translation

HOSTILE = '</script><img src=x onerror="window.hacked=1"><b>\'&amp;'


class Words(Model):
    """A model of words: each costs it 2 to 9 nats, in a text that it likes a third of that."""

    kind, dtype = "causal", "float32"

    def __init__(self, name: str, liked: set[str], *, tells: bool = True) -> None:
        self.name, self.liked, self.tells = name, liked, tells
        self.fingerprint = f"{zlib.crc32(name.encode()):08x}" * 8
        self.vocabulary: dict[str, int] = {}

    def resolve_policy(self, policy) -> ResolvedPolicy:
        return ResolvedPolicy(bos=True, eos=False, max_length=100)

    def encode(self, requests, policy) -> list[Encoded]:
        out = []
        for request in requests:
            pieces = re.findall(r"\s*(?:[\w'-]+|[^\w\s])", request.text)
            ids = [self.vocabulary.setdefault(p, len(self.vocabulary)) for p in pieces]
            out.append(Encoded(ids=tuple(ids), scored=tuple(range(len(ids)))))
        return out

    def run(self, encoded: Sequence[Encoded], policy) -> Iterator:
        words = list(self.vocabulary)
        for n, one in enumerate(encoded):
            text = [words[i] for i in one.ids]
            share = 1 / 3 if "".join(text).strip() in self.liked else 1
            costs = [2 + zlib.crc32((self.name + w.strip()).encode()) % 700 / 100 for w in text]
            yield [(n, np.array([-share * c for c in costs], dtype=np.float32))]

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        words = list(self.vocabulary)
        return [words[i] for i in ids] if self.tells else []


LOGPROBS = {
    "e": (-0.1, -3.0, -5.0),  # right in both settings
    "n": (-2.0, -0.3, -4.0),  # neutral: wrong in three ways, right when forced
    "c": (-4.0, -2.0, -0.2),  # wrong in both
}


class Labelling(Model):
    """A classifier whose answer is the first letter of the hypothesis, or its turn."""

    kind, dtype, pairs = "nli", "float32", True

    def __init__(self, name: str, turn: str = "", labels: Sequence[int] = (0, 1, 2)) -> None:
        self.name, self.turn, self.labels = name, turn, tuple(labels)
        self.fingerprint = f"{sum(name.encode()):08x}" * 8

    def resolve_policy(self, policy) -> ResolvedPolicy:
        return ResolvedPolicy(max_length=100)

    def encode(self, requests, policy) -> list[Encoded]:
        return [
            Encoded(ids=tuple((r.prefix + r.text).encode()), scored=range(len(self.labels)),
                    labels=self.labels, source=(ord(r.text[0]),))
            for r in requests
        ]  # fmt: skip

    def run(self, encoded, policy) -> Iterator:
        for number, one in enumerate(encoded):
            values = LOGPROBS[self.turn or chr(one.source[0])]
            if len(self.labels) == 2:
                values = (values[0], float(np.logaddexp(*values[1:])))
            yield [(number, np.array(values, dtype=np.float32))]


def suite_of(
    items: Sequence[tuple[str, ...]],
    *,
    name: str = "little",
    blocks: bool = True,
    card: Card | None = None,
) -> Suite:
    """A suite of candidates, the first of which is sensible; two and two in a block."""
    made = tuple(
        Choice(
            id=f"i{n}",
            candidates=candidates,
            gold=0,
            block=f"b{n // 2}" if blocks else None,
            tags={"set": "AB"[n % 2], "topic": ("home", "street", "sea")[n % 3]},
        )
        for n, candidates in enumerate(items)
    )
    return Suite(name, made, card or Card(language="en", title="A little suite"))


SENTENCES = (
    ("She put the milk into the fridge.", "She put the elephant into the fridge."),
    ("The boat crossed the lake.", "The boat crossed the soup."),
    ("He read a book before he slept.", "He read a spoon before he slept."),
    ("Rain makes the street wet.", "Rain makes the street dry."),
    ("The cat chased a mouse.", "The cat chased a mountain."),
    ("We ate bread with butter.", "We ate bread with gravel."),
    ("They planted a tree in spring.", "They planted a car in spring."),
    ("A key opens the door.", "A key opens the sky."),
)


def made_run(
    outcome: str,
    suite: Suite | None = None,
    *,
    model: str = "one",
    tells: bool = True,
    **settings: object,
) -> Run:
    """A run in which item i is right (``+``) or wrong (``-``) as ``outcome[i]`` says.

    ``=`` makes a tie of the item after the fact; where a sign is missing the model is right.
    """
    suite = suite or suite_of(SENTENCES)
    liked = set()
    for n, item in enumerate(suite):
        assert isinstance(item, Choice)
        sign = outcome[n] if n < len(outcome) else "+"
        liked.add(item.candidates[1 if sign == "-" else item.gold])
    run = evaluate(Words(model, liked, tells=tells), suite, cache=":memory:", **settings)
    verdicts = [
        replace(v, tied=2, credit=0.5, margin=0.0, scores=(v.scores[0],) * len(v.scores))
        if outcome[n : n + 1] == "="
        else v
        for n, v in enumerate(run.verdicts)
    ]
    return replace(run, verdicts=tuple(verdicts))


def translated(run: Run) -> Run:
    """The same run, of a model that also translated."""
    made = tuple(
        Translation(
            v.id, f"她在做第 {n} 件事。", f"She does thing {n}.", f"She does thing {n}!", "en"
        )
        for n, v in enumerate(run.verdicts)
    )
    return replace(run, translations=made)
