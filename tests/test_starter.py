"""The starter suite keeps the promises of docs/explanation/starter.md."""

import csv
import lzma
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise, repeat
from pathlib import Path

import polars as pl
import pytest
from starter_context import answers, settled
from starter_figures import PARTS, PRONOUNS, STARTER, group, sets
from starter_graph import rendered

import boxpen
from boxpen.analysis.suites import shortcuts
from boxpen.catalog.releases.starter import starter_triples
from boxpen.english.normal import normal

DOCS = Path(__file__).parents[1] / "docs"
KNOWLEDGE = {
    "properties", "behaviors", "taxonomy", "action", "structures", "emotions", "procedural",
}  # fmt: skip
SETS = sets()


class TestShape:
    def test_counts(self):
        assert Counter(i.tags["set"] for i in PARTS["mt"]) == {"LA": 100, "CL-SA": 70, "CT-SA": 70}
        assert Counter(i.tags["set"] for i in PARTS["sense"]) == {
            "sen-making": 160,
            "explanation": 160,
        }
        assert Counter(i.tags["set"] for i in PARTS["dual"]) == dict.fromkeys(
            ("add", "del", "sub", "swap"), 40
        )
        assert Counter(i.tags["set"] for i in PARTS["discourse"]) == {
            "pronoun": 50,
            "connective": 40,
            "ellipsis": 50,
        }
        assert set(Counter(t["relation"] for t in starter_triples()).values()) == {30}
        assert len({t["relation"] for t in starter_triples()}) == 12

    def test_blocks_are_complete(self):
        for part in ("mt", "dual", "discourse"):
            blocks = PARTS[part].blocks()
            assert {len(b) for b in blocks.values()} == {2}
            assert sum(map(len, blocks.values())) == len(PARTS[part])

    def test_tags_are_filled(self):
        for item in STARTER:
            assert all(value.strip() for value in item.tags.values()), item.id
        for item in PARTS["mt"]:
            assert item.tags["knowledge"] in KNOWLEDGE
            assert ("word" if item.tags["set"] == "LA" else "pattern") in item.tags
        assert {i.tags["knowledge"] for i in PARTS["mt"]} == KNOWLEDGE
        for item in PARTS["sense"]:
            assert {"topic", "steps", "knowledge"} <= set(item.tags)
        steps = Counter(i.tags["steps"] for i in PARTS["sense"].where(set="sen-making"))
        assert min(steps[s] for s in "123") >= 40

    def test_every_ambiguous_word_is_used_once_and_stands_in_both_sources(self):
        blocks = PARTS["mt"].where(set="LA").blocks()
        words = [{i.tags["word"] for i in block} for block in blocks.values()]
        assert all(len(w) == 1 for w in words)
        assert len({w for ws in words for w in ws}) == 50
        for item in PARTS["mt"].where(set="LA"):
            assert item.tags["word"] in item.source

    def test_at_least_eight_patterns(self):
        for name in ("CL-SA", "CT-SA"):
            assert len({i.tags["pattern"] for i in PARTS["mt"].where(set=name)}) >= 8

    def test_classes_of_discourse(self):
        classes = Counter(i.tags["class"] for i in PARTS["discourse"])
        assert all(classes[p] == 10 for p in PRONOUNS)
        senses = [c for c in classes if "-" in c]
        assert len(senses) == 8
        assert all(classes[c] == 5 for c in senses)
        for item in PARTS["discourse"]:
            assert item.context
            assert item.reference_context
            assert len(item.contrast) == 1

    def test_a_block_of_discourse_differs_by_its_context_alone(self):
        for one, other in PARTS["discourse"].blocks().values():
            assert one.source == other.source
            assert one.context != other.context
            assert one.reference_context != other.reference_context
            assert (one.reference, one.contrast) == (other.contrast[0], (other.reference,))
            assert one.tags["set"] == other.tags["set"]
            # An ellipsis has two verbs, everything else two classes of one English word.
            assert (one.tags["class"] == other.tags["class"]) == (one.tags["set"] == "ellipsis")

    def test_most_but_not_all_duals_flip(self):
        for name in ("add", "del", "sub", "swap"):
            blocks = PARTS["dual"].where(set=name).blocks().values()
            flips = sum(a.gold != b.gold for a, b in blocks)
            assert 14 <= flips <= 18
            for a, b in blocks:
                assert (a.tags["flip"] == "yes") == (a.gold != b.gold)

    def test_triples_have_five_wrong_tails(self):
        for triple in starter_triples():
            assert len({triple["tail"], *triple["wrong"]}) == 6, triple["id"]

    def test_the_graph_is_what_the_templates_make_of_its_triples(self):
        made = {item.id: item for item in rendered()}
        kept = {item.id: item for item in PARTS["graph"]}
        assert set(made) == set(kept)
        for name, item in kept.items():
            assert item == replace(made[name], language="en"), name
            assert item.tags == made[name].tags

    def test_every_triple_is_asked_in_three_ways(self):
        tasks = {
            block: Counter(i.tags["task"] for i in items)
            for block, items in PARTS["graph"].blocks().items()
        }
        assert set(tasks) == {t["id"] for t in starter_triples()}
        assert all(found == {"nli": 2, "qa": 5, "pairs": 5} for found in tasks.values())

    def test_lint_finds_nothing(self):
        assert boxpen.lint(STARTER) == []
        assert boxpen.lint(PARTS["graph"]) == []


class TestShortcuts:
    @pytest.mark.parametrize("name", SETS)
    def test_right_and_wrong_are_equally_long(self, name):
        assert abs(shortcuts.length(SETS[name]).gap) < 0.02

    @pytest.mark.parametrize("name", SETS)
    def test_negation_is_on_both_sides_alike(self, name):
        sides = shortcuts.negation(SETS[name])
        assert abs(sides.right - sides.wrong) < 0.03

    @pytest.mark.parametrize("name", SETS)
    def test_no_position_is_favoured(self, name):
        counts = shortcuts.positions(SETS[name])
        n, k = sum(counts.values()), len(counts)
        spread = 2 * (n * (1 / k) * (1 - 1 / k)) ** 0.5
        assert all(abs(count - n / k) <= spread for count in counts.values()), counts

    @pytest.mark.parametrize("name", SETS)
    def test_a_bag_of_words_is_at_chance(self, name):
        items = SETS[name]
        found = shortcuts.bag_of_words(items, [group(name, i) for i in items])
        chance = sum(1 / len(i.candidates) for i in items) / len(items)
        assert found.low <= chance <= found.high, found


class TestLanguage:
    def test_chinese_is_simplified_with_its_own_punctuation(self):
        texts = [i.source for i in PARTS["mt"]]
        for i in PARTS["discourse"]:
            texts += [i.reference, i.reference_context, *i.contrast]
        for text in texts:
            text.replace("——", "").encode("gb2312")  # no traditional form is in that set
            assert re.fullmatch(r"[\u4e00-\u9fff，。？！：；、“”…—]+", text), text
            assert text[-1] in "。？！”…", text

    def test_english_is_plain_ascii_and_ends_in_a_stop(self):
        for part in ("mt", "sense", "dual", "graph"):
            for item in PARTS[part]:
                for text in _texts(item):
                    if text == getattr(item, "source", None):
                        continue
                    assert text.isascii(), text
                    assert text[0].isupper() or text[0].isdigit(), text
                    assert text[-1] in ".?!", text
                    assert "  " not in text, text

    def test_no_text_stands_twice(self):
        for part in ("mt", "discourse"):
            sources = [(i.source, i.context) for i in PARTS[part]]
            assert len(set(sources)) == len(sources)
        sentences = [c for i in SETS["sen-making"] + SETS["dual"] for c in i.candidates]
        assert len(set(sentences)) == len(sentences)


class TestOriginality:
    @pytest.mark.parametrize(
        "largest", [3e6, pytest.param(math.inf, marks=pytest.mark.heavy)], ids=["small", "all"]
    )
    def test_no_run_of_words_is_shared_with_a_public_set(self, data_dir, largest):
        mine = _runs_of_the_starter()
        shared = {}
        lines = _lines(data_dir, largest)
        while few := list(islice(lines, 500_000)):
            for place in _suspects([line for line, _ in few], mine):
                line, file = few[place]
                shared |= {run: (mine[run], file) for run in _runs(line) if run in mine}
        assert shared == {}

    def test_the_quick_look_finds_what_a_slow_one_does(self):
        mine = _runs_of_the_starter()
        lines = ["", "one", "One two three four five six seven.", "一二三四五六七八九"]
        for number, text in enumerate(t for i in STARTER for t in _texts(i)):
            words = text.split()
            lines += [
                f'{number},"{text}"\n',
                f"<p>{text.upper()}</p>".replace(" ", "--").replace("'", "’"),
                f"{text[:10]} x {text[10:]}",
                " ".join([*words[:5], "x", *words[5:10]]),
                f"{text[:7]}人{text[7:]}",
                "、 ".join(text[:8]),
            ]
        slow = [n for n, line in enumerate(lines) if not mine.keys().isdisjoint(_runs(line))]
        assert 0 < len(slow) < len(lines)
        assert _suspects(lines, mine) == slow


class TestReadings:
    """Every item was answered twice by readers who did not see its label."""

    def test_every_item_was_read_twice_and_answered_right(self):
        with (DOCS / "data" / "starter-readings.csv").open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        # Of the graph, triples were read: which of six tails is the right one?
        ids = {i.id for i in STARTER} | {i.block for i in PARTS["graph"]}
        last: dict[tuple[str, str], dict[str, str]] = {}
        for row in rows:  # a later round replaces an earlier one; some items were given up
            if row["id"] in ids:
                last[row["id"], row["reader"]] = row
        by_item = Counter(item for item, _ in last)
        assert set(by_item) == ids
        assert set(by_item.values()) == {2}
        assert [r["id"] for r in last.values() if r["right"] != "yes"] == []
        right = {t["id"]: t["tail"] for t in starter_triples()}
        for items in SETS.values():
            right = {i.id: i.candidates[i.gold] for i in items} | right
        # Tails stood in the gerund or the third person then, where they are infinitives now.
        assert [
            r["id"] for r in last.values() if normal(r["chosen"]) != normal(right[r["id"]])
        ] == []

    def test_no_sentence_of_discourse_is_settled_without_its_context(self):
        blocks = {item.block for item in PARTS["discourse"]}
        last = {(r["id"], r["reader"]): r for r in answers() if r["id"] in blocks}
        assert Counter(name for name, _ in last) == dict.fromkeys(blocks, 2)
        assert settled(list(last.values())) == set()
        assert (
            len(settled([r for r in answers() if r["round"] == "1"])) == 43
        )  # of the first version


def _texts(item: boxpen.Item) -> list[str]:
    if isinstance(item, boxpen.Translate):
        return [item.source, item.context, item.reference, item.reference_context, *item.contrast]
    if isinstance(item, boxpen.Entail):
        return [item.premise, item.hypothesis]
    return [t for t in (*item.candidates, item.source, item.context) if t]


def _runs_of_the_starter() -> dict[str, str]:
    texts = {i.id: _texts(i) for i in STARTER}
    texts |= {t["id"]: [t["head"], t["tail"], *t["wrong"]] for t in starter_triples()}
    return {run: name for name, found in texts.items() for text in found for run in _runs(text)}


def _lines(folder: Path, largest: float) -> Iterator[tuple[str, str]]:
    """All lines of the public sets' files up to a size in bytes, each with its file."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "SOURCES.md" and path.stat().st_size <= largest:
            opened = lzma.open if path.suffix == ".xz" else open
            with opened(path, "rt", encoding="utf-8", errors="replace") as lines:
                yield from zip(lines, repeat(path.name))


def _suspects(lines: list[str], mine: dict[str, str]) -> list[int]:
    """The places of lines with one of my runs: as ``_runs`` finds them, but for millions."""
    text = pl.Series(lines, dtype=pl.String)
    words = text.str.to_lowercase().str.replace_all("’", "'", literal=True)
    words = " " + words.str.replace_all(r"[^a-z0-9']+", " ") + " "
    han = text.str.replace_all(r"[^\x{4e00}-\x{9fff}]+", "")
    english = [f" {run} " for run in mine if run.isascii()]
    chinese = [run for run in mine if not run.isascii()]
    found = words.str.contains_any(english) | han.str.contains_any(chinese)
    return found.arg_true().to_list()


def _runs(text: str) -> list[str]:
    words = re.findall(r"[a-z0-9']+", text.lower().replace("’", "'"))
    runs = [" ".join(words[i : i + 6]) for i in range(len(words) - 5)]
    han = re.findall(r"[\u4e00-\u9fff]", text)
    return runs + ["".join(han[i : i + 8]) for i in range(len(han) - 7)]


def test_the_pieces_of_the_overlap_check_find_a_planted_run():
    assert set(_runs("One two three four five six, seven.")) == {
        "one two three four five six",
        "two three four five six seven",
    }
    assert _runs("一二三四五六七，八") == ["一二三四五六七八"]
    assert all(a != b for a, b in pairwise(_runs("a b c d e f g h")))
