"""Sentences with a rule that is easy to learn."""

from __future__ import annotations

import random
from pathlib import Path

from easy_rules import NOUNS, OBJECTS, VERBS

BASES = {"causal": "llama", "masked": "bert"}


def lines(count: int, seed: int = 1) -> list[str]:
    """Every object has one verb; sentences are of different lengths."""
    draw = random.Random(seed)
    out = []
    for _ in range(count):
        thing = draw.choice(OBJECTS)
        verb = VERBS[OBJECTS.index(thing) % len(VERBS)]
        before = " ".join(f"the {draw.choice(NOUNS)}" for _ in range(draw.randint(1, 3)))
        out.append(f"{before} {verb} the {thing}")
    return out


def write_text(path: Path, count: int, seed: int = 1) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines(count, seed)))
    return path
