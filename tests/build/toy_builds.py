"""Small configurations of every builder, with the data that they read."""

from importlib import resources
from pathlib import Path

from boxpen.build.builders import open_build
from boxpen.catalog import write_suite
from boxpen.items import Card, Choice, Suite

GRAPH = Path(str(resources.files("boxpen.catalog").joinpath("data", "starter", "triples.jsonl")))
KG = """
name = "toy"
seed = 7
folder = "out"
[[graphs]]
name = "starter"
files = ["GRAPH"]
columns = {head = "head", relation = "relation", tail = "tail"}
language = "en"
[rank]
model = "none"
keep = 1.0
[sample]
per_relation = 8
by = "random"
[negatives]
wordnet = false
"""
DISCOURSE = """
name = "toy"
folder = "out"
[[texts]]
name = "films"
tsv = "films.tsv"
[sample]
pronoun = 2
connective = 2
"""
FILMS = [
    ("The girls wait.", "女孩们在等"), ("They sing a song every night.", "她们每天晚上都唱歌"),
    ("The nurses are here.", "护士们来了"), ("They brought a big cake.", "她们带来了一个大蛋糕"),
    ("My sisters left.", "我的姐妹们走了"), ("They took a train home.", "她们坐火车回家了"),
    ("The queens slept.", "女王们睡了"), ("They woke up at noon.", "她们中午才醒"),
    ("Take your coat.", "带上外套"), ("Hurry, or you miss the train.", "快点 否则你就赶不上火车了"),
    ("♪ La la la ♪", "♪ 啦啦啦 ♪"), ("Okay.", "Okay."),
]  # fmt: skip
DUALS = """
suite = "pairs.jsonl"
folder = "out"
model = "none"
top = 2
"""
PAIRS = [
    ("A box is in a pen.", "A pen is in a tree."),
    ("A tree is in a house.", "A tree is in a box."),
    ("A bell is not cast of wax.", "A bell is not cast of tin."),
]
NMT = """
source = "zh"
target = "en"
folder = "model"
data = "out"
[[corpora]]
name = "films"
tsv = "films.tsv"
columns = {source = 3, target = 2}
[valid]
tsv = "films.tsv"
columns = {source = 3, target = 2}
limit = 2
[clean]
held_out = "keep"
[subwords]
size = 420
"""
TEXTS = {"kg": KG, "discourse": DISCOURSE, "duals": DUALS, "nmt": NMT}


def write_toy(folder, name, *changes):
    """Write a configuration and its data; changes are pairs of old and new text."""
    text = TEXTS[name]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    lines = [f"{n // 2}\t{n % 2}\t{en}\t{zh}\n" for n, (en, zh) in enumerate(FILMS)]
    (folder / "films.tsv").write_text("".join(lines))
    items = [Choice(id=f"p{n}", candidates=pair, gold=0) for n, pair in enumerate(PAIRS)]
    three = Choice(id="three", candidates=("a", "b", "c"), gold=0)
    card = Card(language="en")
    write_suite(Suite("pairs", (*items, three), card), folder / "pairs.jsonl")
    path = folder / f"{name}.toml"
    path.write_text(text.replace("GRAPH", str(GRAPH)))
    return path


def toy_runner(folder, name, *changes):
    """Return the runner of a small build."""
    builder, config = open_build(write_toy(folder, name, *changes))
    return builder.runner(config)
