"""Clauses, verbs, articles and capitals: what the rules of duals rest on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.english.clauses import clauses
from boxpen.english.sentence import Word, is_name, plain, read, shown
from boxpen.english.subjects import is_lasting
from boxpen.english.verbs import affirmed, negated, unlikely, with_modal

pytest.importorskip("lemminflect")
pytest.importorskip("inflect")

NEGATED = [
    ("The shed is for tools.", "The shed is not for tools."),
    ("I'm sure of it.", "I'm not sure of it."),
    ("Birds can fly.", "Birds cannot fly."),
    ("Old goats climb very steep hills.", "Old goats do not climb very steep hills."),
    ("The baby sleeps a lot.", "The baby does not sleep a lot."),
    ("She caught some fish.", "She did not catch any fish."),
    ("People usually rest here.", "People do not usually rest here."),
    ("He has eaten some bread.", "He has not eaten any bread."),
    ("Lena had no time.", "Lena did not have no time."),
    ("The boys have a boat.", "The boys do not have a boat."),
    ("You should go home.", "You should not go home."),
]


@pytest.mark.parametrize(("before", "after"), NEGATED)
def test_a_negation_has_its_auxiliary(before: str, after: str) -> None:
    words = read(before)
    [clause] = clauses(words)
    assert shown(negated(words, clause), words) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("He didn't bake any rolls.", "He baked some rolls."),
        ("Dogs do not lay eggs.", "Dogs lay eggs."),
        ("My son doesn't usually eat soup.", "My son usually eats soup."),
        ("We can't open the gate.", "We can open the gate."),
        ("We cannot open the gate.", "We can open the gate."),
        ("It won't rain.", "It will rain."),
        ("My house isn't big.", "My house is big."),
        ("They were not at home.", "They were at home."),
    ],
)
def test_without_its_negation_a_verb_is_inflected(before: str, after: str) -> None:
    words = read(before)
    [clause] = clauses(words)
    assert clause.verb.negation is not None
    assert shown(affirmed(words, clause), words) == after


@pytest.mark.parametrize(
    ("before", "after"), [pair for pair in NEGATED if "no time" not in pair[0]]
)
def test_a_negation_comes_off_again(before: str, after: str) -> None:
    words = read(after)
    [clause] = clauses(words)
    assert plain(affirmed(words, clause)) == plain(read(before))


def test_modals_and_rare_things() -> None:
    words = read("Tom poured the noodles into a bucket.")
    [clause] = clauses(words)
    changed = shown(with_modal(words, clause, "would never"), words)
    assert changed == "Tom would never pour the noodles into a bucket."
    words = read("Sailors usually like rum.")
    [clause] = clauses(words)
    assert shown(unlikely(words, clause, "hardly ever"), words) == "Sailors hardly ever like rum."


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I was late because the bus broke down.", [("", "was"), ("because", "broke")]),
        ("If it rains, we stay at home.", [("if", "rains"), ("", "stay")]),
        ("When they feel bored they play chess.", [("when", "feel"), ("", "play")]),
        ("The ice was thin, so we walked around it.", [("", "was"), ("so", "walked")]),
        ("People who are tired can make mistakes.", [("who", "are"), ("", "can")]),
        ("The fog was so thick that I lost my way.", [("", "was"), ("that", "lost")]),
        ("She ran home and cried.", [("", "ran"), ("and", "cried")]),
        ("Ropes made of nylon are strong.", [("", "are")]),
        ("After a while the kettle was empty.", [("after", "was")]),
        ("I put the tin into my watering can.", [("", "put")]),
        ("He left early.", [("", "left")]),
        ("Most boys love tales.", [("", "love")]),
        ("People often shed tears.", [("", "shed")]),
        ("The school opens at ten.", [("", "opens")]),
        ("A long night under the stars.", []),
        ("Wash the cup.", []),
        ("It was dusk, so from the hut we saw it.", [("", "was"), ("so", "saw")]),
        ("Because in May she left we wept.", [("because", "left"), ("", "wept")]),
    ],
)
def test_clauses_have_their_verbs(sentence: str, expected: list[tuple[str, str]]) -> None:
    words = read(sentence)
    found = [(one.opener, words[one.verb.place].low) for one in clauses(words)]
    assert found == expected


def test_articles_and_capitals_follow_the_words() -> None:
    before = read("A big apple fell.")
    assert shown([Word("An"), *before[2:]], before) == "An apple fell."
    assert shown([Word("A"), *before[2:]], before) == "An apple fell."
    assert (
        shown([Word("yesterday"), Word(",", False), *before], before)
        == "Yesterday, a big apple fell."
    )
    wrong = read("he ate a apple and an apple")  # a slip of the source is not ours to mend
    assert shown([*wrong, Word("today")], wrong) == "he ate a apple and an apple today"
    named = read("Tom saw a fox.")
    assert shown([Word("yesterday"), *named], named) == "Yesterday Tom saw a fox."
    low = read("he is tall")
    assert shown([Word("Few"), *low], low) == "few he is tall"


def test_names_are_known_by_their_capital_or_by_no_dictionary() -> None:
    assert is_name(Word("Rita"))
    assert is_name(Word("tom"))
    assert is_name(Word("janice"), first=True)
    assert not is_name(Word("The"), first=True)
    assert not is_name(Word("House"), first=True)
    assert not is_name(Word("I"))


@pytest.mark.parametrize(
    ("sentence", "lasting"),
    [
        ("Goats eat grass.", True),
        ("A goat can climb.", True),
        ("The sun is hot.", True),
        ("It is always dark here.", True),
        ("The hut is hot.", False),
        ("Goats ate grass.", False),
        ("Goats are eating grass.", False),
        ("Goats have eaten grass.", False),
        ("Goats eat grass now.", False),
        ("Goats may eat grass.", False),
        ("Two goats eat grass.", False),
        ("It is dark here.", False),
        ("My goats eat grass.", False),
    ],
)
def test_what_is_always_so_is_told_from_what_is_so_now(sentence: str, lasting: bool) -> None:
    words = read(sentence)
    [clause] = clauses(words)
    assert is_lasting(words, clause) == lasting


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)


@given(TEXT)
def test_any_text_is_read_and_shown_again(text: str) -> None:
    words = read(text)
    assert "".join(shown(words).split()) == "".join(
        sign for sign in text if not sign.isspace() and any(sign in word.text for word in words)
    )
    clauses(words)


TOKENS = ["the", "dog", "can", "not", "eats", ",", "because", "so", "and", "who", "is", "tom", "."]


@given(st.lists(st.sampled_from(TOKENS)))
def test_no_order_of_words_breaks_the_clauses(some: list[str]) -> None:
    words = read(" ".join(some))
    for one in clauses(words):
        assert 0 <= one.opens <= one.start <= one.end <= len(words)
        assert one.verb.place < len(words)
        negated(words, one)
