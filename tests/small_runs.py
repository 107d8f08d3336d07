"""Small real runs whose outcome can be read off their making."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from boxpen import Card, Choice, Model, Run, Suite, evaluate
from boxpen.models.base import Encoded, ResolvedPolicy


class Liking(Model):
    """A model that prefers the texts it likes."""

    kind, dtype = "causal", "float32"

    def __init__(self, name: str, liked: set[str], fingerprint: str = "f" * 64) -> None:
        self.name, self.liked, self.fingerprint = name, liked, fingerprint

    def resolve_policy(self, policy) -> ResolvedPolicy:
        return ResolvedPolicy(bos=True, eos=False, max_length=100)

    def encode(self, requests, policy) -> list[Encoded]:
        texts = [r.text.encode() for r in requests]
        return [Encoded(ids=tuple(t), scored=tuple(range(len(t)))) for t in texts]

    def run(self, encoded: Sequence[Encoded], policy) -> Iterator:
        yield [(n, self._scores(bytes(e.ids))) for n, e in enumerate(encoded)]

    def _scores(self, text: bytes):
        total = -1.0 if text.decode() in self.liked else -2.0
        return np.full(len(text), total / len(text), dtype=np.float32)


def small_suite(n: int = 20, name: str = "small", k: int = 2) -> Suite:
    """Items ``i0``, ``i1`` …, the even ones of the set A, two and two in a block."""
    items = tuple(
        Choice(
            id=f"i{i}",
            candidates=(f"right {i}", *(f"wrong {i}.{j}" for j in range(k - 1))),
            gold=0,
            block=f"b{i // 2}",
            tags={"set": "AB"[i % 2]},
        )
        for i in range(n)
    )
    return Suite(name, items, Card(language="en"))


def small_run(
    outcome: str, *, suite: str = "small", model: str = "one", k: int = 2, **settings
) -> Run:
    """A run in which item i is right (``+``), wrong (``-``) or a tie (``=``) as ``outcome[i]``."""
    liked = {f"right {i}" for i, sign in enumerate(outcome) if sign == "+"}
    liked |= {f"wrong {i}.0" for i, sign in enumerate(outcome) if sign == "-"}
    fingerprint = settings.pop("fingerprint", "f" * 64)
    return evaluate(
        Liking(model, liked, fingerprint),
        small_suite(len(outcome), suite, k),
        cache=":memory:",
        **settings,
    )


def without_checksums(folder: Path) -> None:
    """Make a run one of earlier versions, whose tables may be changed."""
    path = folder / "run.json"
    about = json.loads(path.read_text("utf-8"))
    del about["checksums"]
    path.write_text(json.dumps(about), "utf-8")


def human_table(folder: Path, text: str, name: str = "answers.csv") -> Path:
    """A table of answers, written."""
    path = folder / name
    path.write_text(text, "utf-8")
    return path
