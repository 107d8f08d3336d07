"""Normal forms: equal for the same thing in other words, different for other things."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.english.normal import lemma, normal, normal_column, unordered, unordered_column


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("To brush your teeth", "brush tooth"),
        ("brush the tooth", "brush tooth"),
        ("Running fast", "run fast"),
        ("PersonX's dogs", "personx dog"),
        ("the dogs' tails", "dog tail"),
        ("god 's plan", "god plan"),
        ("'s", "'s"),
        ("can't swim", "can not swim"),
        ("cannot swim", "can not swim"),
        ("won’t go", "will not go"),
        ("bigger", "bigger"),  # another degree is another property
        ("no dogs", "no dog"),
        ("go to school", "go to school"),  # only the first 'to' says nothing
        ("to", "to"),
        ("the", "the"),  # better than nothing at all
        ("it flurbs", "it flurb"),
        ("grass", "grass"),
        ("a bus", "bus"),
        ("people", "person"),
        ("café", "café"),
        ("___", "___"),
        ("", ""),
        (" ?! ", ""),
    ],
)
def test_normal_forms(text: str, expected: str) -> None:
    assert normal(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("leaf", "leave"), ("want", "not want"), ("bus", "bush"), ("like", "do not like")],
)
def test_other_things_have_other_forms(one: str, other: str) -> None:
    assert normal(one) != normal(other)


def test_members_of_a_list_have_no_order() -> None:
    assert unordered("red, a round and cheap") == unordered("cheap and round, red")
    assert unordered("salt and water") != unordered("salt water")
    assert unordered("sand") == "sand"


@given(st.text(st.sampled_from("aDs to'’,?")))
def test_capitals_and_marks_are_no_matter(text: str) -> None:
    assert normal(text.upper()) == normal(text.lower()) == normal(f" {text}!")
    assert bool(normal(text)) == any(c.isalpha() for c in text)


@given(st.lists(st.none() | st.sampled_from(["Dogs", "a dog", "", "b, a", "a and b", "ran"])))
def test_columns_are_mapped_row_by_row(texts: list[str | None]) -> None:
    column = pl.Series("x", texts, dtype=pl.String)
    assert normal_column(column).to_list() == [None if t is None else normal(t) for t in texts]
    assert unordered_column(column).to_list() == [
        None if t is None else unordered(t) for t in texts
    ]


def test_long_columns_are_mapped_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("boxpen.english.normal._PART", 2)
    texts = ["a dog", None, "dogs", "the cats", "a dog"]
    found = normal_column(pl.Series("head", texts))
    assert found.to_list() == ["dog", None, "dog", "cat", "dog"]
    assert found.name == "head"
    assert found.n_chunks() == 1


def test_lemmas_bring_inflections_together() -> None:
    assert {lemma(w) for w in ("eat", "eats", "ate", "eaten", "eating")} == {"eat"}
    assert {lemma(w) for w in ("knife", "knives")} == {"knife"}
    assert {lemma(w) for w in ("be", "is", "are", "was", "were", "been")} == {"be"}
