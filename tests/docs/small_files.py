"""Suites, tables and configurations that commands of the documentation name, made small."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

from pages import ROOT

from boxpen.catalog import entries
from boxpen.items import Card, Choice, Entail, Item, Suite, Translate

sys.path += [str(ROOT / "tests" / room) for room in ("build", "nmt", "catalog")]

import toy_builds
import toy_corpus
from test_frames import SCHEMA

PAIRS = [(f"The box {n} is in the pen.", f"The pen {n} is in the box.") for n in range(8)]
LABELS = ("entailment", "neutral", "contradiction")
SETS = ("LA", "CL-SA", "CT-SA")


def suite(name: str) -> Suite:
    """Return eight items in blocks of two, with the card of a public suite if it is one."""
    known = entries().get(name.partition(".")[0])
    card = known.card if known else Card(language="en")
    for public in ("discourse", "commonmt"):
        if public in name or (name == "starter.mt" and public == "commonmt"):
            card = entries()[public].card
    items: list[Item] = []
    for n, pair in enumerate(PAIRS):
        if name.startswith("senmaking"):
            pair = (pair[0], pair[0].replace("pen", "river"))
        tags = {"set": SETS[n // 2 % 3], "lang_tag": "de-en"}
        tags |= {"operation": "add", "expected": "flipped"}
        own: dict[str, Any] = {"id": f"i{n}", "block": f"b{n // 2}", "tags": tags}
        if "nli" in name:
            items.append(Entail(**own, premise=pair[0], hypothesis=pair[1], label=LABELS[n % 3]))
        elif card.source_language == "en":
            tags |= {"set": "pronoun", "class": "她们"}
            big = {
                "source": "The big cat sees the small dog.",
                "context": f"The cat sees {n} dogs.",
            }
            items.append(
                Translate(**own, **big, reference="大猫看小狗。", contrast=("小猫看小狗。",))
            )
        else:
            own |= {"source": "大猫看小狗。"} if card.source_language else {}
            own |= {"context": "Where is it?"} if name in ("piqa", "winogrande") else {}
            gold = n // 2 % 2
            items.append(Choice(**own, candidates=pair[:: 1 - 2 * gold], gold=gold))
    return Suite(name, tuple(items), card)


def _table(header: str, rows: list[tuple[str, ...]], mark: str = ",") -> str:
    return "".join(mark.join(row) + "\n" for row in [tuple(header.split()), *rows])


_MANY = [(good.replace("box", f"box {m}"), bad) for m in range(5) for good, bad in PAIRS]
_NLI = _table("premise hypothesis label", [(*p, LABELS[n % 3]) for n, p in enumerate(_MANY)])
_QUIZ = [(f"Where is box {n}?", "pen", "tree", "river", "1", "space", "1") for n in range(4)]
_CHOICES = [
    json.dumps({"goal": f"Where is box {n}?", "sol1": good, "sol2": bad})
    for n, (good, bad) in enumerate(_MANY)
]
_TRIPLES = [
    json.loads(line)
    for line in resources.files("boxpen.catalog")
    .joinpath("data", "starter", "triples.jsonl")
    .read_text("utf-8")
    .splitlines()
]
FILES = {
    **dict.fromkeys(("mine.csv", "pairs.csv", "my.csv"), _table("good bad", PAIRS)),
    "pairs.tsv": _table("german good bad", [("Haus.", *pair) for pair in PAIRS], "\t"),
    "quiz.csv": _table("question answer_a answer_b answer_c solution topic level", _QUIZ),
    "mnli.csv": _NLI,
    "train.jsonl": "\n".join(_CHOICES) + "\n",
    "train-labels.lst": "0\n1\n" * (len(_MANY) // 2),
    "text.txt": "".join(f"{good}\n" for good, _ in _MANY),
    "sentences.txt": "We took a taxi because we were late.\nThe soup was cold, so we left.\n",
    "conceptnet100k/train.txt": _table(
        "IsA baseball sport",
        [(t["relation"], t["head"], t["tail"]) for t in _TRIPLES[:80]],
        "\t",
    ),
    "news.zh": "大猫看小狗。\n红鸟吃小鱼。\n",
    "episode.en": "The big cat sees the small dog.\nThe red bird eats the small fish.\n",
    "sentences.en": "The big cat sees the small dog.\nThe red bird eats the small fish.\n",
    "WSCollection.xml": f"<collection>{SCHEMA.format(pron='it', end='was large.', right='A')}"
    "</collection>",
    "test.tsv": "#id\twarrant0\twarrant1\tcorrectLabelW0orW1\treason\tclaim\n"
    "x1\tsoup is hot\tsoup is cold\t1\tIt snows.\tEat soup\n",
    "val.csv": "video-id,startphrase,sent1,sent2,ending0,ending1,ending2,ending3,label\n"
    'v,"He opens the box. He",He opens the box.,He,eats it.,sings.,looks in.,naps.,2\n',
}
"""Files by name; ``conceptnet100k`` is a folder."""

GERMAN = [
    ("Wo ist der Tisch geblieben?", "Where did the table go?"),
    ("Er steht im Keller.", "It is in the cellar."),
    ("Wo ist dein Bruder heute?", "Where is your brother today?"),
    ("Er schläft im Keller.", "He sleeps in the cellar."),
    ("Er selbst ist im Keller.", "He himself is in the cellar."),  # an excluded word
]


def config(path: Path) -> str:
    """Return the text of a configuration, whose data are written beside it."""
    folder, name = path.parent, path.stem
    folder.mkdir(parents=True, exist_ok=True)
    if name in toy_builds.TEXTS:
        build = {"kg": "my-graph"}.get(name, f"my-{name}")
        changes = [] if name == "nmt" else [('folder = "out"', f'folder = "{build}"')]
        if name in ("kg", "discourse"):
            changes.append(('name = "toy"', f'name = "{build}"'))
        return toy_builds.write_toy(folder, name, *changes).read_text("utf-8")
    toy_corpus.write_corpus(folder, 60)
    text = toy_corpus.DOCUMENTS if name == "cadec" else toy_corpus.CONFIG
    text = text.replace("max_steps = 30", "max_steps = 10")
    if name in ("sentence", "cadec"):  # English to Chinese
        for one, other in (("zh", "en"), ("train.zh", "train.en"), ("valid.zh", "valid.en")):
            text = text.replace(f'"{one}"', '"\0"').replace(f'"{other}"', f'"{one}"')
            text = text.replace('"\0"', f'"{other}"')
    if name == "cadec":
        model = 'architecture = "cadec"\nbase = "sentence"'
        text = text.replace('architecture = "transformer"\nsize = "tiny"', model)
    text = text.replace('data = "data"', f'data = "{name}-data"')
    return text.replace('folder = "out"', f'folder = "{FOLDERS.get(name, name)}"')


FOLDERS = {"zh-en": "zh-en-transformer"}
"""Folders of models that have another name than their configuration."""
