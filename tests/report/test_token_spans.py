"""Tokens find their place in a text, whatever signs a vocabulary puts into them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.report.html.token_spans import token_spans


def cut(text: str, pieces: list[str], **kwargs: bool) -> list[str] | None:
    spans = token_spans(text, pieces, [1.0] * len(pieces), **kwargs)
    if spans is None:
        return None
    at, out = 0, []
    for span in spans:
        out.append(text[at : at + span.length])
        at += span.length
    assert at == len(text)
    return out


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("The box.", ["The", " box", "."], ["The", " box", "."]),
        ("The box.", [" The", " box", "."], ["The", " box", "."]),
        ("The box.", ["▁The", "▁box", "."], ["The", " box", "."]),
        ("The box.", ["ĠThe", "Ġbox", "."], ["The", " box", "."]),
        ("The boxes.", ["the", " box", "##es", "."], ["The", " box", "es", "."]),
        ("在圈里。", ["▁", "在", "圈", "里", "。"], ["在", "圈", "里", "。"]),
        ("a 𠮷 b", ["a", " \ufffd", "\ufffd", " b"], ["a", " 𠮷", " b"]),
        ("a 𠮷", ["a", " \ufffd", "\ufffd"], ["a", " 𠮷"]),
        ("The zyx ran.", ["The", "[UNK]", "ran", "."], ["The", " zyx", " ran", "."]),
        ("The box.", ["The", " box", ".", "</s>"], ["The", " box", ".", ""]),
        ("The box. ", ["The", " box", "."], ["The", " box", ".", " "]),
        ("The box.", ["Der", " Kasten"], ["The box."]),
        ("The box.", ["The"], None),
    ],
)
def test_every_token_finds_its_place(text, pieces, expected):
    assert cut(text, pieces) == expected


def test_what_was_not_scored_has_no_surprisal():
    spans = token_spans("The box.", [" box", "."], [3.0, 0.5], unscored=True)
    assert [s.length for s in spans] == [3, 4, 1]
    assert math.isnan(spans[0].nats)
    assert [s.nats for s in spans[1:]] == [3.0, 0.5]


def test_surprisals_of_tokens_without_a_place_are_added_up():
    spans = token_spans("a 𠮷 b", ["a", " \ufffd", "\ufffd", " b"], [1.0, 2.0, 4.0, 8.0])
    assert [s.nats for s in spans] == [1.0, 6.0, 8.0]


def test_a_text_of_other_tokens_is_given_up():
    pieces = [f"x{n}" for n in range(20)]
    assert token_spans("Nothing of that stands here.", pieces, [1.0] * 20) is None


@given(
    st.text("ab é在𠮷.,'\u00a0", min_size=1, max_size=40),
    st.lists(st.integers(1, 5), min_size=40, max_size=40),
    st.sampled_from(["plain", "stripped", "signs", "lower"]),
)
def test_no_character_and_no_bit_is_lost(text, sizes, form):
    pieces, at = [], 0
    for size in sizes:
        if at < len(text):
            pieces.append(text[at : at + size])
            at += size
    changed = {
        "plain": lambda p: p,
        "stripped": lambda p: p.strip(),
        "signs": lambda p: p.replace(" ", "▁"),
        "lower": lambda p: p.lower(),
    }[form]
    nats = [float(n + 1) for n in range(len(pieces))]
    spans = token_spans(text, [changed(p) for p in pieces], nats)
    if spans is not None:
        assert sum(s.length for s in spans) == len(text)
        assert math.fsum(s.nats for s in spans if not math.isnan(s.nats)) == math.fsum(nats)
    if form == "plain":
        assert [s.nats for s in spans] == nats
