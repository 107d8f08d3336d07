"""Samples: fair to every set, whole blocks, and visible wherever their numbers are."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import boxpen
from boxpen import Card, Choice, PolicyError, RunError, Suite
from boxpen.cli.app import app
from boxpen.report.formats.latex import matrix_latex
from boxpen.report.formats.markdown import run_markdown
from boxpen.report.tables import matrix
from boxpen.runs.directory import read_run
from boxpen.sampling import draw_sample

EN = Card(language="en")


@st.composite
def suites(draw):
    """Some sets, each of some blocks of some items; block 0 stands for items without one."""
    items = []
    spanning = draw(st.booleans())
    for name in draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)):
        for block, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=1, max_size=12))):
            items += [
                Choice(
                    id=f"{name}-{block}-{n}",
                    candidates=("x", "y"),
                    gold=0,
                    block=f"{'' if spanning else name}-{block}" if size > 1 else None,
                    tags={"set": name},
                )
                for n in range(size)
            ]
    return Suite("drawn", tuple(items), EN)


def sizes_of_blocks(suite):
    return Counter(i.block or i.id for i in suite)


@settings(max_examples=200, deadline=None)
@given(suite=suites(), count=st.integers(1, 60), seed=st.integers(0, 5), data=st.data())
def test_a_sample_is_fair(suite, count, seed, data):
    sample = draw_sample(suite, count, seed)
    whole = sizes_of_blocks(suite)
    if count >= len(suite):
        assert sample is suite
        assert sample.sample is None
        return
    assert sample.sample == f"{len(sample)}/{len(suite)}@{seed}"
    assert list(sample) == [i for i in suite if i in set(sample.items)]  # in the suite's order
    assert all(whole[name] == size for name, size in sizes_of_blocks(sample).items())
    largest = max(whole.values())
    assert 1 <= len(sample) <= max(count, largest)
    assert len(sample) > count - largest
    larger = draw_sample(suite, data.draw(st.integers(count, 80)), seed)
    assert {i.id for i in sample} <= {i.id for i in larger} or len(sample) > count
    mixed = suite.take(data.draw(st.permutations(suite.items)))
    assert {i.id for i in draw_sample(mixed, count, seed)} == {i.id for i in sample}


def test_seeds_draw_differently_and_evenly():
    items = [Choice(id=str(n), candidates=("x", "y"), gold=0) for n in range(100)]
    suite = Suite("many", tuple(items), EN)
    drawn = Counter(i.id for seed in range(400) for i in draw_sample(suite, 25, seed))
    assert len(drawn) == 100
    assert max(abs(n - 100) for n in drawn.values()) < 50  # 100 expected, standard deviation 9
    assert draw_sample(suite, 25, 0) == draw_sample(suite, 25, 0)
    assert draw_sample(suite, 25, 0).items != draw_sample(suite, 25, 1).items
    with pytest.raises(PolicyError, match="suite 'many' is already a sample"):
        draw_sample(draw_sample(suite, 25), 10)


def frequencies(sizes: list[int], count: int, seeds: int = 800) -> dict[str, float]:
    """How often an item of every set is drawn, for sets of some sizes in blocks of their own."""
    items = [
        Choice(id=f"{s}-{n}", candidates=("x", "y"), gold=0, tags={"set": f"s{s}"})
        for s, size in enumerate(sizes)
        for n in range(size)
    ]
    suite = Suite("sets", tuple(items), EN)
    drawn = Counter(i.tags["set"] for seed in range(seeds) for i in draw_sample(suite, count, seed))
    return {f"s{s}": drawn[f"s{s}"] / size / seeds for s, size in enumerate(sizes)}


@pytest.mark.parametrize(
    ("sizes", "count"),
    [([5] * 30, 20), ([100] + [2] * 10, 12), ([1, 2, 3, 4, 50], 10), ([40, 40, 20], 50)],
)
def test_every_item_is_equally_likely(sizes, count):
    """Over many seeds no set is drawn more often than its share, however small it is."""
    expected = count / sum(sizes)
    for name, found in frequencies(sizes, count).items():
        size = sizes[int(name[1:])]
        error = (expected * (1 - expected) / 800 / size) ** 0.5
        assert abs(found - expected) < 6 * max(error, 0.003), name


def test_shares_of_sets_are_kept_to_one_block():
    items = [
        Choice(id=f"{s}{n}", candidates=("x", "y"), gold=0, block=f"{s}{n // 2}", tags={"set": s})
        for s, size in (("a", 120), ("b", 60), ("c", 20))
        for n in range(size)
    ]
    suite = Suite("sets", tuple(items), EN)
    for seed in range(50):
        drawn = Counter(i.tags["set"] for i in draw_sample(suite, 50, seed))
        assert all(abs(drawn[s] - size / 4) <= 4 for s, size in (("a", 120), ("b", 60), ("c", 20)))


def test_every_set_of_starter_has_its_share():
    starter = boxpen.load_suite("starter")
    sample = draw_sample(starter, 300)
    shares = Counter(i.tags["set"] for i in starter)
    drawn = Counter(i.tags["set"] for i in sample)
    assert 299 <= len(sample) <= 300
    for name, n in shares.items():
        assert abs(drawn[name] - 300 * n / 860) <= 2


@pytest.mark.parametrize(("count", "seed", "said"), [(0, 0, "limit is 0"), (3, -1, "seed is -1")])
def test_impossible_samples_are_refused(count, seed, said):
    suite = boxpen.load_suite("starter")
    with pytest.raises(PolicyError, match=said):
        draw_sample(suite, count, seed)


@pytest.fixture
def sampled(gpt2):
    words = ["box", "pen", "house", "river", "stone", "garden", "window", "letter"]
    items = [
        Choice(
            id=f"{name}{n}",
            candidates=(f"The {word} is here.", f"The {word} are here."),
            gold=n % 2,
            block=f"{name}{n // 2}",
            tags={"set": name},
        )
        for name in "ab"
        for n, word in enumerate(words)
    ]
    random.Random(1).shuffle(items)
    suite = Suite("words", tuple(items), EN)
    return boxpen.evaluate(gpt2, suite, cache=":memory:", limit=9, seed=4)


def test_a_sample_is_visible_in_every_table(sampled, tmp_path):
    assert "|sample:8/16@4|" in sampled.signature
    title = "words (sample of 8 of 16, seed 4)"
    assert title in run_markdown(sampled)
    assert title in matrix_latex(matrix([sampled]))
    place = str(sampled.save(tmp_path))
    for command in (["report", place], ["slices", place], ["report", place, "--markdown"]):
        shown = CliRunner().invoke(app, command)
        assert shown.exit_code == 0, shown.output
        assert title in " ".join(shown.output.split()), command
    assert boxpen.Run.load(place).rescore(norm="token").suite_title == title


def test_a_whole_run_and_a_sample_stand_in_different_columns(sampled, gpt2):
    suite = Suite("words", tuple(boxpen.load_suite("starter.dual").items[:8]), EN)
    whole = boxpen.evaluate(gpt2, suite, cache=":memory:")
    titles = [column.title for column in matrix([sampled, whole]).columns]
    assert titles == ["words (sample of 8 of 16, seed 4)", "words"]


def test_check_refuses_a_sample_unless_told_otherwise(sampled, tmp_path):
    place = str(sampled.save(tmp_path))
    refused = CliRunner().invoke(app, ["check", place, "--min", "accuracy>=0"])
    assert refused.exit_code == 2
    assert "is a run on a sample of the suite" in refused.output
    assert (
        CliRunner()
        .invoke(app, ["check", place, "--min", "accuracy>=0", "--allow-sample"])
        .exit_code
        == 0
    )


def test_a_damaged_sample_is_refused(sampled, tmp_path):
    place = sampled.save(tmp_path)
    text = (place / "run.json").read_text()
    (place / "run.json").write_text(text.replace('"8/16@4"', '"some"'))
    with pytest.raises(RunError, match="it has the sample 'some'"):
        read_run(place)
