"""A toy language pair, made up for the tests: what it means can be learnt in seconds."""

import random
from pathlib import Path

NOUNS = {"猫": "cat", "狗": "dog", "鸟": "bird", "鱼": "fish", "人": "man", "马": "horse"}
VERBS = {"看": "sees", "吃": "eats", "爱": "loves", "追": "chases"}
KINDS = {"大": "big", "小": "small", "红": "red"}

CONFIG = """
source = "zh"
target = "en"
folder = "out"
data = "data"
[[corpora]]
name = "toy"
source = "train.zh"
target = "train.en"
[valid]
source = "valid.zh"
target = "valid.en"
[clean]
duplicates = "keep"
[subwords]
size = 450
[model]
architecture = "transformer"
size = "tiny"
[train]
tokens = 400
warmup = 20
learning_rate = 3e-3
max_steps = 30
validate_every = 10
log_every = 5
valid_sentences = 10
"""

DOCUMENTS = CONFIG.replace('.en"\n', '.en"\ndocuments = "blank"\n')
"""The same for a model that reads context."""


def write_corpus(folder: Path, pairs: int = 300) -> None:
    """Write a training and a validation set."""
    dice = random.Random(0)
    for name, count in (("train", pairs), ("valid", 24)):
        made = [_pair(dice) for _ in range(count)]
        for number, side in enumerate(("zh", "en")):
            text = "".join(pair[number] + "\n" for pair in made)
            (folder / f"{name}.{side}").write_text(text, "utf-8")


def write_config(folder: Path, text: str = CONFIG, **changes: str) -> Path:
    """Write a configuration in which some values are changed."""
    lines = []
    for line in text.splitlines():
        key = line.split(" = ")[0]
        lines.append(f"{key} = {changes.pop(key)}" if key in changes else line)
    lines += [f"{key} = {value}" for key, value in changes.items()]  # into [train], the last
    path = folder / "toy.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _pair(dice: random.Random) -> tuple[str, str]:
    one, other = (dice.choice(sorted(NOUNS)) for _ in range(2))
    first, second = (dice.choice(sorted(KINDS)) for _ in range(2))
    verb = dice.choice(sorted(VERBS))
    return (
        f"{first}{one}{verb}{second}{other}。",
        f"The {KINDS[first]} {NOUNS[one]} {VERBS[verb]} the {KINDS[second]} {NOUNS[other]}.",
    )
