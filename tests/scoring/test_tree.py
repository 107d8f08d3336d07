"""The prefix tree against a trie of dicts: nothing lost, nothing doubled, ancestors only."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.scoring.tree import Row, Span, Tree

Sequences = list[tuple[int, ...]]


def trie_size(sequences: Sequences, below: int = 0) -> int:
    """Count the nodes of a trie, the obvious way, deeper than some depth."""
    root: dict = {}
    nodes = 0
    for sequence in sequences:
        place = root
        for depth, token in enumerate(sequence):
            if token not in place:
                place[token] = {}
                nodes += depth >= below
            place = place[token]
    return nodes


def drawn(seed: int, length: int, alphabet: int = 40) -> tuple[int, ...]:
    return tuple(random.Random(seed).choices(range(alphabet), k=length))


@st.composite
def bushes(draw) -> Sequences:
    """Few tokens, so that beginnings are shared; some cut short, some doubled."""
    one = st.lists(st.integers(0, 2), max_size=12).map(tuple)
    some = draw(st.lists(one, min_size=1, max_size=14))
    cuts = [s[: draw(st.integers(0, len(s)))] for s in some if draw(st.booleans())]
    again = [s for s in some if draw(st.booleans())]
    return draw(st.permutations(some + cuts + again))


@st.composite
def groves(draw) -> Sequences:
    """Several long trunks, some growing out of others, each with many short twigs."""
    trunks = [()]
    for number in range(draw(st.integers(1, 4))):
        below = draw(st.sampled_from(trunks))
        trunks.append((*below, 100 + number, *drawn(number, draw(st.integers(1, 250)))))
    out = []
    for number, trunk in enumerate(trunks):
        lengths = draw(st.lists(st.integers(0, 20), min_size=number == 0, max_size=25))
        out += [trunk + drawn(1000 * number + i, n, 3) for i, n in enumerate(lengths)]
    return draw(st.permutations(out))


def row_of(tree: Tree, span: Span) -> Row:
    (row,) = tree.rows([span])
    return row


def paths_of(row: Row) -> list[np.ndarray]:
    return np.split(row.paths, row.ends[:-1])


def spans_of(tree: Tree, width: int, limit: int, size: int | None, stems: bool) -> list[Span]:
    return tree.spans(width=width, limit=limit, size=size, stems=stems)


def check_span(sequences: Sequences, tree: Tree, span: Span) -> None:
    """A row is the trie of its sequences below the stem, and its intervals are ancestry."""
    members = [sequences[i] for i in tree.order[span.start : span.stop]]
    stem = tuple(tree.stem(span).tolist())
    assert len(stem) == span.stem
    assert all(m[: span.stem] == stem for m in members), "a stem that not all members share"
    row = row_of(tree, span)
    count = len(row.tokens)
    assert count == len(row.depths) == len(row.exits) == span.nodes
    assert count == trie_size(members, span.stem)
    assert len(row.ends) == len(members)
    meaning: dict[int, tuple[int, ...]] = {}
    for member, path in zip(members, paths_of(row), strict=True):
        assert row.tokens[path].tolist() == list(member[span.stem :])
        assert row.depths[path].tolist() == list(range(span.stem, len(member)))
        for depth, node in enumerate(path.tolist(), start=span.stem):
            assert meaning.setdefault(node, member[: depth + 1]) == member[: depth + 1]
    assert sorted(meaning) == list(range(count)), "a node that no sequence passes"
    assert len(set(meaning.values())) == count, "a node that stands twice"
    named = {prefix: node for node, prefix in meaning.items()}
    parents = [named.get(meaning[node][:-1], -1) for node in range(count)]
    expected = np.zeros((count, count), dtype=bool)  # (looks, is seen)
    for node in range(count):
        above = node
        while above >= 0:
            expected[node, above] = True
            above = parents[above]
    q, k = np.arange(count)[:, None], np.arange(count)[None, :]
    assert np.array_equal((k <= q) & (q < row.exits[None, :]), expected)


def check(sequences: Sequences, width: int, limit: int, size: int | None, stems: bool) -> None:
    tree = Tree(sequences)
    assert tree.nodes == trie_size(sequences)
    assert tree.tokens == sum(len(s) for s in sequences)
    assert sorted(tree.order) == list(range(len(sequences)))
    spans = spans_of(tree, width, limit, size, stems)
    covered = [i for span in spans for i in range(span.start, span.stop)]
    assert covered == list(range(len(sequences))), "a sequence lost or in two rows"
    for span in spans:
        assert len(span) > 0
        assert span.nodes <= limit or len(span) == 1
        assert size is None or len(span) <= size
        assert stems or span.stem == 0
        check_span(sequences, tree, span)
    for span, row in zip(spans, tree.rows(spans), strict=True):  # made together or one by one
        alone = row_of(tree, span)
        for part in ("tokens", "depths", "exits", "paths", "ends"):
            assert getattr(row, part).tolist() == getattr(alone, part).tolist()


@given(
    sequences=bushes(),
    width=st.integers(1, 40),
    limit=st.integers(1, 40),
    size=st.none() | st.integers(1, 5),
    stems=st.booleans(),
)
def test_rows_are_the_trie_cut_into_pieces(sequences, width, limit, size, stems):
    check(sequences, width, limit, size, stems)


@settings(max_examples=40, deadline=None)
@given(sequences=groves(), limit=st.integers(8, 200), stems=st.booleans())
def test_rows_below_stems_are_the_trie_cut_into_pieces(sequences, limit, stems):
    check(sequences, 192, limit, None, stems)


@given(sequences=bushes(), order=st.randoms())
def test_the_order_of_the_sequences_does_not_matter(sequences, order):
    shuffled = list(sequences)
    order.shuffle(shuffled)
    one, other = Tree(sequences), Tree(shuffled)
    assert [sequences[i] for i in one.order] == [shuffled[i] for i in other.order]
    assert spans_of(one, 9, 12, None, True) == spans_of(other, 9, 12, None, True)


def computed(tree: Tree, spans: list[Span]) -> int:
    """Count what is run: the rows, and a stem whenever it is not the one that was run last."""
    last: list[int] = []
    nodes = 0
    for span in spans:
        stem = tree.stem(span).tolist()
        if stem and stem != last:
            nodes += len(stem)
            last = stem
        nodes += span.nodes
    return nodes


@settings(max_examples=60, deadline=None)
@given(
    length=st.integers(100, 600),
    twigs=st.lists(st.integers(1, 30), min_size=30, max_size=120),
    limit=st.integers(16, 256),
)
def test_a_stem_never_costs_more_than_it_saves(length, twigs, limit):
    trunk = drawn(7, length)
    sequences = [trunk + drawn(i, n) for i, n in enumerate(twigs)]
    tree = Tree(sequences)
    with_stems = computed(tree, spans_of(tree, 192, limit, None, True))
    without = computed(tree, spans_of(tree, 192, limit, None, False))
    assert with_stems <= without
    assert with_stems >= tree.nodes


@settings(max_examples=60, deadline=None)
@given(sequences=groves(), limit=st.integers(16, 256))
def test_stems_that_grow_out_of_stems_cost_no_more_than_none(sequences, limit):
    tree = Tree(sequences)
    with_stems = computed(tree, spans_of(tree, 192, limit, None, True))
    assert with_stems <= computed(tree, spans_of(tree, 192, limit, None, False))


def test_thousands_of_sequences_under_a_long_stem_run_it_once():
    trunk = drawn(1, 2000)
    sequences = [trunk + drawn(i, 6, 1000) for i in range(3000)]
    tree = Tree(sequences)
    started = time.perf_counter()
    spans = spans_of(tree, 192, 1024, None, True)
    assert time.perf_counter() - started < 5
    assert {span.stem for span in spans} == {2000}
    assert computed(tree, spans) == tree.nodes
    assert sum(len(span) for span in spans) == 3000
    check_span(sequences, tree, spans[3])


def test_rows_are_cut_where_little_is_shared():
    groups = [(g, *drawn(g, 30)) for g in range(20)]
    sequences = [group + drawn(100 + i, 4) for group in groups for i in range(4)]
    tree = Tree(sequences)
    spans = spans_of(tree, 100, 200, None, True)
    assert computed(tree, spans) == tree.nodes, "a cut through a group computes its beginning again"


@pytest.mark.parametrize("stems", [True, False])
def test_no_sequences(stems):
    tree = Tree([])
    assert (tree.order, tree.nodes, tree.tokens) == ([], 0, 0)
    assert spans_of(tree, 8, 8, None, stems) == []


@pytest.mark.parametrize("stems", [True, False])
@pytest.mark.parametrize("length", [1, 8, 9, 500])
def test_a_single_sequence_is_one_row(length, stems):
    sequence = drawn(3, length)
    tree = Tree([sequence])
    (span,) = spans_of(tree, 8, 8, None, stems)
    stem = (length - 1) // 8 * 8 if stems else 0  # what is deeper than a row hangs on a stem
    assert span == Span(0, 1, stem, length - stem)
    row = row_of(tree, span)
    assert [*tree.stem(span), *row.tokens] == list(sequence)
    assert row.exits.tolist() == [length - stem] * (length - stem)


def test_a_chain_deeper_than_a_row_is_not_computed_again_and_again():
    chain = drawn(3, 300)
    tree = Tree([chain[:n] for n in range(1, 301)])
    spans = spans_of(tree, 64, 64, None, True)
    assert sum(span.nodes for span in spans) == 300
    assert len(spans) == 5


def test_equal_sequences_are_one_path():
    tree = Tree([(5, 6, 7)] * 4)
    assert (tree.nodes, tree.tokens) == (3, 12)
    (span,) = spans_of(tree, 8, 8, None, True)
    row = row_of(tree, span)
    assert [path.tolist() for path in paths_of(row)] == [[0, 1, 2]] * 4


def test_the_example_of_the_module():
    the, box, is_, in_, was, pen = range(6)
    tree = Tree([(the, box, is_, in_), (the, box, was), (the, pen)])
    (span,) = spans_of(tree, 8, 8, None, True)
    row = row_of(tree, span)
    assert row.tokens.tolist() == [the, box, is_, in_, was, pen]
    assert row.depths.tolist() == [0, 1, 2, 3, 2, 1]
    assert row.exits.tolist() == [6, 5, 4, 4, 5, 6]


def test_one_that_begins_another_ends_on_its_way():
    tree = Tree([(1, 2, 3), (1, 2), (1,)])
    (span,) = spans_of(tree, 8, 8, None, True)
    assert [p.tolist() for p in paths_of(row_of(tree, span))] == [[0], [0, 1], [0, 1, 2]]
    assert tree.order == [2, 1, 0]


@pytest.mark.parametrize("limit", [8, 64, 1024])
@pytest.mark.parametrize("stems", [True, False])
def test_a_chain_three_hundred_deep(limit, stems):
    chain = [(4,) * n for n in range(1, 301)]
    tree = Tree(chain)
    assert tree.nodes == 300
    check(chain, 192, limit, None, stems)


def test_a_chain_of_thousands_does_not_exhaust_the_stack():
    chain = [(4,) * n for n in range(1, 3001)]
    tree = Tree(chain)
    spans = spans_of(tree, 192, 16, None, True)
    assert sum(len(span) for span in spans) == 3000
    for span, following in itertools.pairwise(spans):
        assert span.stop == following.start
