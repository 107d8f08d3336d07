"""What must hold for any requests to any model."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from boxpen import Request, ScoringPolicy
from boxpen.models.segment import fewest_pieces

few = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
WORDS = st.sampled_from(
    ["The", "box", "was", "in", "the", "pen.", "souvenir", "unforgettable", "箱子", "大雨,", "a"]
)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@few
@given(words=st.lists(WORDS, min_size=2, max_size=8), data=st.data())
def test_prefix_and_text_sum_to_the_whole(name, words, data, tiny_models, score_all):
    model = tiny_models.shared(name)
    model.batch_size = None
    cut = data.draw(st.integers(1, len(words) - 1))
    prefix, text = " ".join(words[:cut]), " " + " ".join(words[cut:])
    before, after, whole = score_all(
        model,
        [Request(text=prefix), Request(text=text, prefix=prefix), Request(text=prefix + text)],
    )
    if after.crossing:
        return
    assert [*before.token_ids, *after.token_ids] == [*whole.token_ids]
    assert before.total + after.total == pytest.approx(whole.total, abs=1e-4)


def test_no_requests(tiny_models):
    for name in ("gpt2", "bert", "xlnet", "marian"):
        model = tiny_models.model(name)
        assert list(model.score([], model.resolve_policy(ScoringPolicy()))) == []


# --- Segmentation


def cost(pieces: tuple[str, ...], vocabulary: list[str]) -> tuple[int, int, int]:
    ranks = {piece: i for i, piece in enumerate(vocabulary)}
    return (
        sum(p not in ranks for p in pieces),
        len(pieces),
        sum(ranks.get(p, 0) for p in pieces),
    )


def brute_force(word: str, vocabulary: list[str]) -> tuple[int, int, int]:
    """The least cost over all ways to cut a word; only single characters may be unknown."""
    best = (math.inf, math.inf, math.inf)
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        pieces, piece = [], word[0]
        for cut, character in zip(cuts, word[1:], strict=True):
            if cut:
                pieces.append(piece)
                piece = ""
            piece += character
        pieces.append(piece)
        if all(len(p) == 1 or p in vocabulary for p in pieces):
            best = min(best, cost(tuple(pieces), vocabulary))
    return best


@given(
    vocabulary=st.lists(st.text("▁abc", min_size=1, max_size=4), max_size=12, unique=True),
    word=st.text("abc", min_size=1, max_size=7),
)
def test_fewest_pieces_against_all_segmentations(vocabulary, word):
    made = fewest_pieces(vocabulary)(word)
    known = ["?" if p == "<unk>" else p for p in made]
    assert cost(tuple(known), vocabulary) == brute_force("▁" + word, vocabulary)
    if "?" not in known:
        assert "".join(known) == "▁" + word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the box", ["▁the", "▁box"]),
        ("  the\tbox \n", ["▁the", "▁box"]),
        ("boxes", ["▁box", "es"]),
        ("ｔhe", ["▁the"]),
        ("the 箱", ["▁the", "▁", "<unk>"]),
        ("", []),
        ("</s>", ["▁", "<unk>", "<unk>", "s", "<unk>"]),
    ],
)
def test_fewest_pieces_examples(text, expected):
    vocabulary = ["<unk>", "</s>", "▁", "▁the", "▁box", "es", "e", "s", "b", "o", "x"]
    assert fewest_pieces(vocabulary)(text) == expected
