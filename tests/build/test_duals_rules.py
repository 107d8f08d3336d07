"""The rules of duals: what each operation makes of pairs, which label is expected, and when not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.duals.pair import Edit, Pair, UnchangedError, pair_of, unfit
from boxpen.build.duals.propose import OPERATIONS, edits, propose, sentence_pairs
from boxpen.build.duals.sentence import plain, read
from boxpen.build.wordnet_files import find_wordnet
from boxpen.errors import BuildError
from boxpen.items import Card, Choice, Entail, Suite

pytest.importorskip("lemminflect")
pytest.importorskip("inflect")
pytest.importorskip("nltk")
pytest.importorskip("spellchecker")


@pytest.fixture(scope="module", autouse=True)
def _wordnet() -> None:
    try:
        find_wordnet(download=False)
    except BuildError as error:
        pytest.skip(str(error))


def made(first: str, second: str, operation: str) -> dict[tuple[str, str], Edit]:
    """All duals of a pair whose first sentence makes sense."""
    return {edit.texts: edit for edit in edits(Pair((first, second), 0), operation)}


# (sensible, senseless), operation, (dual of the first, dual of the second), kind, flipped
DUALS = [
    (("A shed is for tools.", "A shed is for whales."), "add",
     ("A shed is not for tools.", "A shed is not for whales."), "negation", True),
    (("Tom ate an apple.", "Tom ate a stone."), "add",
     ("Tom could not eat an apple.", "Tom could not eat a stone."), "negation", True),
    (("Plants need water.", "Plants need sugar."), "add",
     ("Most plants need water.", "Most plants need sugar."), "degree", False),
    (("Teachers like chalk.", "Teachers like hail."), "add",
     ("Few teachers like chalk.", "Few teachers like hail."), "degree", True),
    (("He drank some tea.", "He drank some sand."), "add",
     ("Yesterday, he drank some tea.", "Yesterday, he drank some sand."), "restriction", False),
    (("The ice was thin, so we walked around it.", "The ice was thin, so we jumped on it."), "add",
     ("The ice was thin, so we did not walk around it.",
      "The ice was thin, so we did not jump on it."), "negation", True),
    (("We went east, so it got light.", "We went west, so it got light."), "add",
     ("We went east, so it did not get light.", "We went west, so it did not get light."),
     "negation", True),
    (("Bells are not cast of wool.", "Bells are not cast of bronze."), "del",
     ("Bells are cast of wool.", "Bells are cast of bronze."), "negation", True),
    (("Dad had no ladder, so he stayed low.", "Dad had no ladder, so he got high."), "del",
     ("Dad had a ladder, so he stayed low.", "Dad had a ladder, so he got high."),
     "negation", True),
    (("The cellar is very cool.", "The cellar is very proud."), "del",
     ("The cellar is cool.", "The cellar is proud."), "degree", False),
    (("He feeds his old dog.", "He feeds his old shoe."), "del", None, "restriction", False),
    (("I sleep in a bed every night.", "I sleep in a lake every night."), "del",
     ("I sleep in a bed.", "I sleep in a lake."), "restriction", False),
    (("He smiled because he had won.", "He wept because he had won."), "sub",
     ("He smiled although he had won.", "He wept although he had won."), "antonym", True),
    (("My socks were wet after the storm.", "My socks were wet after the song."), "sub",
     ("My socks were dry after the storm.", "My socks were dry after the song."), "antonym", True),
    (("He hung his coat on a hook.", "He hung his coat on a river."), "sub",
     ("She hung her coat on a hook.", "She hung her coat on a river."), "role", False),
    (("I gave her my seat.", "I gave her my street."), "sub",
     ("I gave him my seat.", "I gave him my street."), "role", False),
    (("My aunt wore her hat.", "My aunt wore her tree."), "sub",
     ("My uncle wore his hat.", "My uncle wore his tree."), "role", False),
    (("I ate soup, so I was full.", "I ate soup, so I was starving."), "swap",
     ("I was full because I ate soup.", "I was starving because I ate soup."), "clauses", False),
    (("He sings when he is happy.", "He sings when he is asleep."), "swap",
     ("When he is happy, he sings.", "When he is asleep, he sings."), "clauses", False),
    (("Grandma hums when she knits.", "Grandma hums when she sneezes."), "swap",
     ("When she knits, Grandma hums.", "When she sneezes, Grandma hums."), "clauses", False),
    (("If it rains, we get wet.", "If it rains, we get old."), "swap",
     ("We get wet if it rains.", "We get old if it rains."), "clauses", False),
    (("She is smaller than her pony.", "She is bigger than her pony."), "swap",
     ("Her pony is smaller than her.", "Her pony is bigger than her."), "arguments", True),
    (("A snail moves more slowly than cars.", "A snail moves more rashly than cars."), "swap",
     ("Cars move more slowly than a snail.", "Cars move more rashly than a snail."),
     "arguments", True),
    (("Ann paid for Bob's lunch, so Ann was kind.", "Ann paid for Bob's lunch, so Bob was kind."),
     "swap",
     ("Bob paid for Ann's lunch, so Ann was kind.", "Bob paid for Ann's lunch, so Bob was kind."),
     "differing", True),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "operation", "dual", "kind", "flipped"), DUALS)
def test_a_rule_makes_its_dual(
    pair: tuple[str, str], operation: str, dual: tuple[str, str] | None, kind: str, flipped: bool
) -> None:
    if dual is None:  # 'old' stands beside the word that differs
        with pytest.raises(UnchangedError):
            made(*pair, operation)
        return
    found = made(*pair, operation)
    assert dual in found, list(found)
    assert (found[dual].kind, found[dual].flipped) == (kind, flipped)
    assert found[dual].operation == operation
    assert found[dual].reason


def test_a_thing_of_the_same_kind_takes_the_place_of_the_senseless_one() -> None:
    found = made("Rosa rang the bell with her finger.", "Rosa rang the bell with her knee.", "sub")
    siblings = [edit for edit in found.values() if edit.kind == "sibling"]
    assert siblings
    for edit in siblings:
        assert edit.texts[0] == "Rosa rang the bell with her finger."
        assert edit.texts[1].startswith("Rosa rang the bell with her ")
        assert not edit.flipped


@pytest.mark.parametrize(
    ("pair", "operation", "reason"),
    [
        (("All birds can fly.", "All stones can fly."), "add", "'not' would not turn 'all'"),
        (("He never eats soup.", "He never eats sand."), "add", "'never' stands in the way"),
        (
            ("We can't chew bells.", "We can chew bells."),
            "del",
            "no negation, degree or restriction",
        ),
        (("Today I sat and read.", "Today I sat and flew."), "add", "no subject of its own"),
        (("I know men who can't swim.", "I know boats who can't swim."), "del", "no negation, deg"),
        (("Wash the cup.", "Wash the cloud."), "add", "no finite verb"),
        (("The box is red.", "The box is hungry."), "swap", "no two arguments"),
        (("Ann is taller than Bob.", "Bob is taller than Ann."), "swap", "in the other order"),
    ],
)
def test_what_no_rule_can_change_is_told(
    pair: tuple[str, str], operation: str, reason: str
) -> None:
    with pytest.raises(UnchangedError, match=reason):
        edits(Pair(pair, 0), operation)


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        (("A box.", "a box"), "the same words"),
        (("Is it a box?", "Is it a pen?"), "a question"),
        (("The dog barks.", "Nobody knew her."), "too few words in common"),
        (("word " * 61 + "a", "word " * 61 + "b"), "more than 60 words"),
    ],
)
def test_a_pair_that_is_none_is_told(candidates: tuple[str, str], reason: str) -> None:
    with pytest.raises(UnchangedError, match=reason):
        pair_of(Choice(id="1", candidates=candidates, gold=0))


def test_only_pairs_are_taken() -> None:
    three = Choice(id="three", candidates=("a", "b", "c"), gold=0)
    placed = Choice(id="placed", candidates=("a", "b"), gold=0, context="Before.")
    foreign = Choice(id="zh", candidates=("一", "二"), gold=0, language="zh")
    nli = Entail(id="nli", premise="a", hypothesis="b", label="neutral")
    translated = Choice(id="mt", candidates=("a", "b"), gold=0, source="甲")
    good = Choice(id="good", candidates=("It is hot.", "It is sad."), gold=0)
    items = (three, placed, foreign, nli, translated, good)
    pairs, others = sentence_pairs(Suite("s", items, Card(language="en")))
    assert pairs == [good]
    assert [one.item for one in others] == ["three", "placed", "zh", "nli", "mt"]
    assert unfit(three) == "it has 3 candidates, not two"
    with pytest.raises(
        BuildError, match="suite 's' has no pair of English sentences among 5 items"
    ):
        sentence_pairs(Suite("s", items[:-1], Card(language="en")))


def test_labels_follow_the_expectation() -> None:
    item = Choice(id="1", candidates=("A shed is for whales.", "A shed is for tools."), gold=1)
    found = propose([item])
    assert found.proposals
    for one in found.proposals:
        assert one.gold == (0 if one.expected == "flipped" else 1)
    told = {one.operation for one in found.unchanged}
    assert told | {one.edit.operation for one in found.proposals} == set(OPERATIONS)


def test_the_order_of_the_sentences_is_no_matter() -> None:
    for pair, operation, dual, _, flipped in DUALS:
        if dual is None:
            continue
        turned = {e.texts: e for e in edits(Pair((pair[1], pair[0]), 1), operation)}
        assert (dual[1], dual[0]) in turned, (pair, list(turned))
        assert turned[dual[1], dual[0]].flipped == flipped


WORDS = [
    "the",
    "a",
    "dog",
    "dogs",
    "tom",
    "he",
    "she",
    "eats",
    "eat",
    "ate",
    "can",
    "not",
    "n't",
    "very",
    "because",
    "so",
    "if",
    "when",
    "and",
    "but",
    "than",
    "is",
    "are",
    "was",
    "bigger",
    "older",
    "usually",
    "no",
    ",",
    ".",
    "hot",
    "cold",
    "old",
    "every",
    "day",
    "before",
    "after",
    "stone",
    "house",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=12),
    st.integers(0, 11),
    st.sampled_from(WORDS),
)
def test_whatever_stands_there_duals_are_new_and_two(some: list[str], at: int, other: str) -> None:
    changed = [*some[: at % len(some)], other, *some[at % len(some) + 1 :]]
    pair = Pair((" ".join(some), " ".join(changed)), 0)
    old = [plain(words) for words in pair.words]
    for operation in OPERATIONS:
        try:
            found = edits(pair, operation)
        except UnchangedError:
            continue
        assert len({edit.texts for edit in found}) == len(found)
        for edit in found:
            one, two = (plain(read(text)) for text in edit.texts)
            assert one != two
            assert {one, two} != set(old)
            assert edit.operation == operation
