"""Conjunctions that are exchanged, and those that are not."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.build.builders import open_build
from boxpen.build.conjunctions import stages
from boxpen.build.conjunctions.swap import PAPER, Refused, paper_swaps, sound_swaps
from boxpen.catalog import load_suite, read_suite
from boxpen.errors import BuildError


@pytest.mark.parametrize(
    ("sentence", "swaps"),
    [
        ("We took a taxi because we were late.", {"because>so"}),
        ("She couldn't sleep because the room was cold.", {"because>so", "because>but"}),
        ("The soup was cold, so we drove home.", {"so>because"}),
        ("He knocked twice, but nobody opened the door.", {"but>so"}),
        ("Although it was cold, he wore no coat.", {"although>because"}),
    ],
)
def test_exchanged(sentence, swaps):
    found = sound_swaps(sentence)
    assert {one.swap for one in found} == swaps
    for one in found:
        old, new = one.swap.split(">")
        assert one.right == sentence
        assert one.wrong.lower() == re.sub(rf"\b{old}\b", new, sentence.lower())
        assert one.wrong[0].isupper()


@pytest.mark.parametrize(
    ("sentence", "step"),
    [
        ("The soup is hot.", "none"),
        ("He smiled at her because she waved back.", "meaning"),  # either may lead to the other
        ("She is poor, but she is happy.", "meaning"),
        ("I live by the sea, so I often swim.", "meaning"),  # a habit may be the reason
        ("The train was late because of the snow.", "clauses"),
        ("He did nothing but sleep all day.", "clauses"),
        ("It was so cold that the lake froze.", "clauses"),
        ("I'm sorry, but I can't help you today.", "clauses"),
        ("I know, but he won't listen to us.", "clauses"),
        ("I came because I was asked, but nobody was there.", "conjunction"),
        ("Did he leave because he was tired?", "form"),
        ("He left so.", "length"),
        ("I'm only saying this because I am your friend.", "meaning"),
    ],
)
def test_refused(sentence, step):
    found = sound_swaps(sentence)
    assert isinstance(found, Refused), found
    assert found.step == step


@given(st.lists(st.sampled_from(["he", "and", "but", "because", "sand", "when", "slept"])))
def test_the_papers_way_exchanges_every_conjunction(words):
    sentence = " ".join(words)
    found = paper_swaps(sentence)
    counts = {name: words.count(name) for name in ("and", "but", "because", "when", "before")}
    assert len(found) == sum(counts[swap.partition(">")[0]] for swap in PAPER)
    for one in found:
        changed = [(a, b) for a, b in zip(words, one.wrong.split(), strict=True) if a != b]
        assert changed == [tuple(one.swap.split(">"))]


def test_a_build(tmp_path):
    (tmp_path / "text.tsv").write_text(
        "1\tWe took a taxi because we were late.\n"
        "2\tWe took a taxi because we were late.\n"
        "3\tHe knocked twice, but nobody opened the door.\n"
        "4\tShe searched the attic, but she found nothing.\n"
        "5\tHe smiled at her because she waved back.\n"
    )
    config = tmp_path / "c.toml"
    config.write_text(
        'builder = "conjunctions"\nname = "mine"\nfolder = "out"\ntext = "text.tsv"\ncolumn = 1\n'
        "per_swap = 1\n"
    )
    builder, settings = open_build(config)
    runner = builder.runner(settings)
    [done] = runner.run()
    assert done.report["says"] == "2 items of 4 sentences"
    suite = read_suite(tmp_path / "out" / "mine.jsonl")
    assert {item.tags["swap"] for item in suite} == {"because>so", "but>so"}
    for item in suite:
        old = item.tags["swap"].partition(">")[0]
        assert f" {old} " in item.candidates[item.gold]
        assert f" {old} " not in item.candidates[1 - item.gold]
    rows, count = runner.dropped()
    assert count == 2
    assert {row["step"] for row in rows} == {"meaning", "per_swap"}


def test_ids_that_begin_alike(tmp_path, monkeypatch):
    class Alike:
        def __init__(self, text):
            self.text = text

        def hexdigest(self):
            return "0" * 8 + hashlib.md5(self.text).hexdigest()

    monkeypatch.setattr(stages.hashlib, "sha256", Alike)
    config = stages.ConjunctionsConfig(
        path=tmp_path, name="mine", folder=tmp_path, text=tmp_path, swaps="paper"
    )
    suite = stages._suite(config, paper_swaps("He ate and she slept and they ran."))
    assert [len(item.id) for item in suite] == [8, 40, 40, 40]


def test_bad_input(tmp_path):
    (tmp_path / "text.txt").write_text("The soup is hot.\n")
    config = tmp_path / "c.toml"
    for column, message in ((0, "no conjunction of 1 sentences"), (3, "line 1 has 1 column")):
        config.write_text(f'name = "mine"\nfolder = "out"\ntext = "text.txt"\ncolumn = {column}\n')
        builder, settings = open_build(config)
        with pytest.raises(BuildError, match=message):
            list(builder.runner(settings).run())


def test_the_papers_pairs_are_among_those_of_its_way(mirror):
    for item in load_suite("cats.ca"):
        right, wrong = item.candidates[item.gold], item.candidates[1 - item.gold]
        assert wrong in {one.wrong for one in paper_swaps(right)}, item.id
