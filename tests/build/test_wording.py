"""Bare triples and the ways to say them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxpen.build.kg.triples import ATOMIC, CONCEPTNET
from boxpen.build.kg.wording.wordings import form_of, reflected, unwordable, wordings
from boxpen.english.grammar import article, pronouns_of
from boxpen.english.nouns import UnwordableError
from boxpen.english.phrase import noun_phrases, verb_phrases


def _sentences(relation: str, head: str, tail: str) -> list[str]:
    return [wording.sentence for wording in wordings(relation, head, tail)]


@pytest.mark.parametrize(
    ("relation", "head", "tail", "among"),
    [
        ("capableof", "pencil", "shade sketch", "A pencil can shade a sketch."),
        ("capableof", "pencil", "shade sketch", "Pencils can shade sketches."),
        ("capableof", "song", "make person feel good", "A song can make people feel good."),
        ("capableof", "vase", "be break", "A vase can be broken."),
        (
            "capableof",
            "cook",
            "peel apple before eat it",
            "Cooks can peel apples before eating it.",
        ),
        ("desires", "sailor", "live on boat", "A sailor wants to live on a boat."),
        ("desires", "nurse", "long and happy life", "A nurse wants a long and happy life."),
        ("desires", "child", "not be bore", "Children want not to be bored."),
        ("createdby", "bread", "baker", "Bread is created by a baker."),
        ("createdby", "steam", "heat water", "Steam is created by heating water."),
        ("usedfor", "kettle", "boil water", "A kettle is used for boiling water."),
        ("usedfor", "wall", "privacy", "Walls are used for privacy."),
        ("usedfor", "pen", "sign your name", "A pen is used for signing your name."),
        ("usedfor", "glass", "drink", "Glasses are used for drinking."),
        ("desires", "nurse", "be leave alone", "A nurse wants to be left alone."),
        ("capableof", "guide", "name type of owl", "A guide can name a type of owl."),
        ("hasa", "nurse", "doctor coat", "A nurse has a doctor's coat."),
        ("hasa", "nurse", "doctor coat", "A nurse has a doctor coat."),
        ("capableof", "hen", "lie egg", "Hens can lay eggs."),
        ("createdby", "tide", "moon", "A tide is created by the moon."),
        ("isa", "otter", "animal", "An otter is an animal."),
        ("isa", "otter", "animal", "Otters are animals."),
        ("isa", "tea", "hot and bitter drink", "Tea is a hot and bitter drink."),
        ("desires", "nurse", "be active", "A nurse wants to be active."),
        ("desires", "nurse", "be truly independent", "A nurse wants to be truly independent."),
        ("desires", "boy", "become adult", "A boy wants to become an adult."),
        ("desires", "nurse", "keep secret", "A nurse wants to keep a secret."),
        ("desires", "nurse", "get present", "A nurse wants to get a present."),
        ("madeof", "boot", "leather", "A boot is made of leather."),
        ("madeof", "wall", "brick", "Walls are made of bricks."),
        ("hasa", "dog", "tail", "Dogs have tails."),
        ("hasa", "dog", "tail", "A dog has a tail."),
        ("hasa", "violin", "4 string", "A violin has 4 strings."),
        ("hasa", "tree", "green leave", "A tree has green leaves."),
        ("hasa", "moon", "crater on it", "The moon has a crater on it."),
        ("hasa", "goose", "feather to keep it warm", "Geese have feathers to keep them warm."),
    ],
)
def test_conceptnet(relation: str, head: str, tail: str, among: str) -> None:
    assert among in _sentences(relation, head, tail)


@pytest.mark.parametrize(
    ("relation", "head", "tail", "never"),
    [
        ("isa", "otter", "animal", "Otters are an animal."),
        ("isa", "otter", "animal", "An otter is animals."),
        ("hasa", "dog", "tail", "Dogs has tails."),
        ("madeof", "boot", "leather", "A boot is made of a leather."),
        ("hasa", "dog", "tail", "Dog has tail."),
        ("desires", "nurse", "be truly independent", "A nurse wants to be truly an independent."),
    ],
)
def test_what_is_never_said(relation: str, head: str, tail: str, never: str) -> None:
    assert never not in _sentences(relation, head, tail)


@pytest.mark.parametrize(
    ("relation", "head", "tail", "reason"),
    [
        ("capableof", "this", "bark", "the head begins with 'this'"),
        ("capableof", "computer", "arithmetic", "tail: 'arithmetic' is not a verb"),
        ("usedfor", "take nap", "rest", "the head is an action"),
        ("usedfor", "play piano", "relax", "the head is an action"),
        ("hasa", "cart", "become heavy", "tail: 'heavy' is not a noun"),
        ("hasa", "cart", "whele", "tail: 'whele' is not in the dictionary"),
        ("isa", "mist", "what fog be", "tail: 'what' opens a clause"),
        ("isa", "mist", "not fog", "tail: 'not' precedes a noun"),
        ("hasa", "library", "fold chair", "tail: 'fold' precedes a noun"),
        ("xWant", "PersonX eats ___", "to sleep", "something is left open"),
        ("xWant", "It rains", "to sleep", "the event does not begin with PersonX"),
        ("xWant", "PersonX eats", "a drink", "'a' is not a verb in its base form"),
        ("xWant", "PersonX eats", "to thank PersonY", "somebody is spoken of who has no part"),
        ("xNeed", "PersonX rides bike", "to rest", "a noun of the event lacks its article"),
        ("xEffect", "PersonX bakes", "flour everywhere", "'flour' does not say what happens"),
        ("xAttr", "PersonX bakes", "attitude", "'attitude' is not an adjective"),
        ("xAttr", "PersonX draws PersonY portrait", "kind", "'PersonY portrait' is not English"),
        ("xAttr", "PersonX stops and get", "kind", "'stops' and 'get' are of two tenses"),
    ],
)
def test_what_is_refused_says_why(relation: str, head: str, tail: str, reason: str) -> None:
    assert wordings(relation, head, tail) == []
    said = unwordable(relation, head, tail)
    assert said is not None
    assert reason in said


def test_what_can_be_said_has_no_reason() -> None:
    assert unwordable("hasa", "dog", "tail") is None
    assert 2 <= len(wordings("hasa", "dog", "tail")) <= 8


@pytest.mark.parametrize(
    ("relation", "tail", "expected", "form", "said"),
    [
        ("xWant", "to find work", "find work", "vp", "After that, he wants to find work."),
        ("xWant", "find work", "find work", "vp", "After that, he wants to find work."),
        (
            "xNeed",
            "to have saved money",
            "save money",
            "vp",
            "Before that, he needs to save money.",
        ),
        ("xIntent", "to be kind", "be kind", "vp", "He wants to be kind."),
        ("xIntent", "to be truly active", "be truly active", "vp", "He wants to be truly active."),
        ("xEffect", "finds work", "find work", "vp", "As a result, he finds work."),
        ("xEffect", "PersonX is thanked", "be thanked", "vp", "As a result, he is thanked."),
        ("xEffect", "person x sighs", "sigh", "vp", "As a result, he sighs."),
        ("xEffect", "tired", "become tired", "vp", "As a result, he becomes tired."),
        ("xEffect", "they get lost", "get lost", "vp", "As a result, he gets lost."),
        ("xEffect", "trips and falls", "trip and fall", "vp", "As a result, he trips and falls."),
        ("xAttr", "brave", "brave", "adj", "He is brave."),
        ("xAttr", "very brave", "very brave", "adj", "He is very brave."),
        ("xAttr", "leader", "a leader", "np", "He is a leader."),
        ("xAttr", "a honest man", "an honest man", "np", "He is an honest man."),
    ],
)
def test_tails_of_events_come_to_one_form(
    relation: str, tail: str, expected: str, form: str, said: str
) -> None:
    made = wordings(relation, "PersonX pays the bill", tail)
    assert [(w.head, w.tail, w.form) for w in made] == [("PersonX pays the bill", expected, form)]
    assert made[0].sentence == f"Tom pays the bill. {said}"


def test_people_of_an_event() -> None:
    made = wordings("xWant", "PersonX hugs PersonY", "to brush their hair and see himself")
    assert made[0].tail == "brush PersonX's hair and see PersonX-self"
    assert made[0].sentence.startswith("Tom hugs Anna. After that, he wants to brush his hair")
    pushed = wordings("xWant", "PersonX hugs person y", "to thank him")
    assert pushed[0].sentence == "Tom hugs Anna. After that, he wants to thank Anna."


def test_missing_articles_of_events_are_offered() -> None:
    tails = [w.tail for w in wordings("xNeed", "PersonX eats", "to call restaurant")]
    assert {"call a restaurant", "call the restaurant", "call restaurants"} <= set(tails)
    assert "call restaurant" not in tails


def test_articles_are_not_doubled() -> None:
    for tail in ("to get a better job", "to see an upsetting film", "to buy the very old car"):
        made = wordings("xIntent", "PersonX eats", tail)
        assert [w.tail for w in made] == [tail.removeprefix("to ")]


def test_the_stem_ends_before_the_tail() -> None:
    for wording in wordings("usedfor", "kettle", "boil water"):
        assert wording.sentence == f"{wording.stem} boiling water."
    for wording in wordings("xEffect", "PersonX eats", "smiles"):
        assert wording.sentence == f"{wording.stem} smiles."


def test_what_is_written_out_already_is_among_the_ways() -> None:
    for relation, head, tail in [
        ("capableof", "a pencil", "shade a sketch"),
        ("capableof", "pencils", "shade sketches"),
        ("hasa", "otters", "wet noses"),
    ]:
        said = [(w.head, w.tail) for w in wordings(relation, head, tail)]
        assert (head, tail) in said


@pytest.mark.parametrize(
    ("relation", "tail", "form"),
    [
        ("capableof", "sing", "vp"),
        ("desires", "a new hat", "np"),
        ("desires", "eat cake", "vp"),
        ("desires", "water", "np"),
        ("usedfor", "privacy", "np"),
        ("xAttr", "a leader", "np"),
        ("xAttr", "kind", "adj"),
        ("xWant", "sleep", "vp"),
    ],
)
def test_the_form_of_a_tail(relation: str, tail: str, form: str) -> None:
    assert form_of(relation, tail) == form


def test_reflected() -> None:
    assert reflected("wash your face", "a child") == "wash their face"
    assert reflected("wash its face", "a king") == "wash his face"
    assert reflected("wash its face", "cats") == "wash their face"
    assert reflected("fur on their bodies", "a bear") == "fur on its body"
    assert reflected("leaves on its branches", "a tree") == "leaves on its branches"
    assert reflected("wake your dog", "an alarm") == "wake your dog"
    assert reflected("clean itself", "girls") == "clean themselves"


PIECES = "of|to|in|and|not|be|the|a|very|my|2|dog|water|queen|england|type|leave|fold|make|person"
MORE = "feel|good|get|pay|you|them|quickly|PersonX|PersonY|PersonY's|gives|had|young|because|___|x"


@given(
    st.sampled_from((*CONCEPTNET, *ATOMIC)),
    st.lists(st.sampled_from(f"{PIECES}|{MORE}".split("|")), max_size=4),
    st.lists(st.sampled_from(f"{PIECES}|{MORE}".split("|")), max_size=6),
)
def test_any_text_is_said_or_refused(relation: str, head: list[str], tail: list[str]) -> None:
    event = relation in ATOMIC
    triple = relation, " ".join(["PersonX gives", *head] if event else head), " ".join(tail)
    said = wordings(*triple)
    assert bool(said) == (unwordable(*triple) is None)
    assert len(said) <= 8
    for wording in said:
        assert wording.head
        assert wording.tail
        assert "  " not in wording.sentence


NOUNS = "dog apple hour university water honest-man old-owl scissors sun nurse unicorn person leaf"
VERBS = "eat apple|carry old umbrella|see unicorn|write|be happy|watch owl in tree|walk to school"


@given(
    st.sampled_from(CONCEPTNET),
    st.sampled_from(NOUNS.split()),
    st.sampled_from([*NOUNS.split(), *VERBS.split("|")]),
)
def test_sentences_are_clean(relation: str, head: str, tail: str) -> None:
    triple = relation, head.replace("-", " "), tail.replace("-", " ")
    found = wordings(*triple)
    assert found or unwordable(*triple) is not None
    for wording in found:
        _check(wording.sentence)
        assert wording.sentence.startswith(wording.stem)


@given(st.sampled_from(ATOMIC), st.sampled_from([*VERBS.split("|"), "happy", "to rest", "sings"]))
def test_event_sentences_are_clean(relation: str, tail: str) -> None:
    triple = relation, "PersonX finds PersonX's umbrella", tail
    found = wordings(*triple)
    assert found or unwordable(*triple) is not None
    for wording in found:
        _check(wording.sentence)


def _check(sentence: str) -> None:
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "  " not in sentence
    assert "Person" not in sentence
    words = sentence.rstrip(".").split(" ")
    for place, word in enumerate(words[:-1]):
        if word in {"a", "an", "A", "An"}:
            assert word.lower() == article(" ".join(words[place + 1 :])), sentence


def test_phrases_keep_set_phrases_bare() -> None:
    assert verb_phrases("give birth") == ["give birth"]
    assert "go to work" in verb_phrases("go to work")
    assert noun_phrases("queen of england") == ["the queen of England"]
    with pytest.raises(UnwordableError, match="empty"):
        noun_phrases(" ")


def test_things_that_come_in_numbers_are_in_the_plural() -> None:
    assert {w.tail for w in wordings("hasa", "hawk", "sharp claw")} == {"sharp claws"}
    assert "a long tail" in {w.tail for w in wordings("hasa", "hawk", "long tail")}
    assert {w.tail for w in wordings("desires", "puppy", "chew on thing")} == {"chew on things"}


def test_a_plural_head_has_no_single_object() -> None:
    found = {(w.head, w.tail) for w in wordings("desires", "toad", "eat beetle")}
    assert ("toads", "eat beetles") in found
    assert ("toads", "eat a beetle") not in found
    assert ("a toad", "eat a beetle") in found


def test_materials_stand_without_article() -> None:
    for wording in wordings("madeof", "bench", "wood or stone"):
        assert " a " not in f" {wording.tail}"


def test_of_needs_a_noun_that_goes_with_it() -> None:
    assert noun_phrases("page of diary")[0] == "a page of diaries"
    assert noun_phrases("collection of stamp") == [
        "a collection of stamps",
        "collections of stamps",
    ]
    reason = unwordable("isa", "clock", "passage of time")
    assert "'passage of' may need another article" in str(reason)


def test_the_definite_article_needs_a_reason() -> None:
    assert "help the person" not in verb_phrases("help person")
    assert "open the window" in verb_phrases("open window")


def test_chess_pieces_are_no_people() -> None:
    assert pronouns_of("a chess bishop").they == "it"
    assert pronouns_of("a bishop").they != "it"


def test_what_was_named_is_not_named_as_new() -> None:
    assert unwordable("xWant", "PersonX meets a neighbour", "to invite a neighbour") is not None
    assert unwordable("xWant", "PersonX meets a neighbour", "to invite the neighbour") is None


def test_somebody_named_twice_is_refused() -> None:
    reason = unwordable("xAttr", "PersonX puts PersonY's hat on PersonY's head", "helpful")
    assert "twice" in str(reason)
