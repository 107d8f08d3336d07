"""Articles, plurals, number, verb forms and pronouns."""

import sys
from importlib import import_module

import pytest
import typeguard
from hypothesis import given
from hypothesis import strategies as st

from boxpen.english import conjugation, grammar
from boxpen.english.lexicon import is_adverb, is_known, is_verb, listed

AN = (
    "apple|egg|hour|honest answer|heir|hourglass|honour|MRI|X-ray|umbrella|usher|urn|igloo|owl|"
    "FBI agent|SUV|LED|8-bit chip|11-year-old|18th birthday|old university|honorary degree"
)
A = (
    "dog|university|European|one-way street|unicorn|union|useful tool|uniform|ukulele|ewe|eulogy|"
    "hotel|historian|yacht|UFO|US citizen|NASA engineer|one-eyed cat|unit|utensil|house|euro"
)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [(word, "an") for word in AN.split("|")] + [(word, "a") for word in A.split("|")],
)
def test_the_article_goes_by_the_sound(phrase: str, expected: str) -> None:
    assert grammar.article(phrase) == expected
    assert grammar.indefinite(phrase) == f"{expected} {phrase}"


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("dog", "dogs"),
        ("leaf", "leaves"),
        ("person", "people"),
        ("old man", "old men"),
        ("tooth", "teeth"),
        ("mouse", "mice"),
        ("box", "boxes"),
        ("city", "cities"),
        ("toy", "toys"),
        ("potato", "potatoes"),
        ("photo", "photos"),
        ("roof", "roofs"),
        ("sheep", "sheep"),
        ("lens", "lenses"),
    ],
)
def test_plural_and_singular_undo_each_other(one: str, many: str) -> None:
    assert grammar.plural(one) == many
    assert grammar.singular(many) == one


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("a dog", "singular"),
        ("dogs", "plural"),
        ("movies", "plural"),
        ("water", "mass"),
        ("news", "mass"),
        ("scissors", "plural"),
        ("sheep", "plural"),
        ("a sheep", "singular"),
        ("a lot of rooms", "plural"),
        ("a lot of room", "mass"),
        ("a pair of shoes", "singular"),
        ("descendants of a king", "plural"),
        ("a descendant of kings", "singular"),
        ("two legs", "plural"),
        ("the sun", "singular"),
        ("flour and water", "plural"),
        ("Nazis", "plural"),
    ],
)
def test_number(phrase: str, expected: str) -> None:
    assert grammar.number(phrase) == expected


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("a dog", "dogs"),
        ("an old king of France", "old kings of France"),
        ("dogs", "dogs"),
        ("water", None),
        ("the sun", None),
    ],
)
def test_pluralised(phrase: str, expected: str | None) -> None:
    assert grammar.pluralised(phrase) == expected


@pytest.mark.parametrize(
    ("phrase", "they"),
    [
        ("a king", "he"),
        ("a policewoman", "she"),
        ("a nurse", "they"),
        ("children", "they"),
        ("a table", "it"),
        ("a twist", "it"),
        ("a psychologist", "they"),
        ("rain", "it"),
    ],
)
def test_pronouns_of_a_phrase(phrase: str, they: str) -> None:
    assert grammar.pronouns_of(phrase).they == they


def test_people_are_told_from_things() -> None:
    people = ["a sailor", "old men", "human beings", "children", "a biologist", "a fisherman"]
    things = ["a table", "water", "a wrist", "a computer", "mats", "a human body"]
    assert [grammar.is_person(phrase) for phrase in people] == [True] * len(people)
    assert [grammar.is_person(phrase) for phrase in things] == [False] * len(things)


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("run", "runs running ran run"),
        ("lie", "lies lying lay lain"),
        ("be", "is being was been"),
        ("have", "has having had had"),
        ("panic", "panics panicking panicked panicked"),
        ("hit", "hits hitting hit hit"),
        ("fly", "flies flying flew flown"),
        ("tie", "ties tying tied tied"),
        ("go", "goes going went gone"),
        ("smell", "smells smelling smelled smelled"),
        ("can", "can can can can"),
    ],
)
def test_forms_of_a_verb(verb: str, forms: str) -> None:
    made = [conjugation.verb_form(verb, form) for form in ("third", "gerund", "past", "participle")]
    assert made == forms.split()


@pytest.mark.parametrize(
    ("phrase", "third", "gerund", "past", "present"),
    [
        ("find work", "finds work", "finding work", "found work", "find work"),
        ("be tired", "is tired", "being tired", "was tired", "are tired"),
        (
            "build and mend walls",
            "builds and mends walls",
            "building and mending walls",
            "built and mended walls",
            "build and mend walls",
        ),
        ("not be late", "is not late", "not being late", "was not late", "are not late"),
        (
            "not feel pain",
            "does not feel pain",
            "not feeling pain",
            "did not feel pain",
            "do not feel pain",
        ),
        (
            "always eat bread and butter",
            "always eats bread and butter",
            "always eating bread and butter",
            "always ate bread and butter",
            "always eat bread and butter",
        ),
    ],
)
def test_forms_of_a_phrase(phrase: str, third: str, gerund: str, past: str, present: str) -> None:
    assert conjugation.third(phrase) == third
    assert conjugation.gerund(phrase) == gerund
    assert conjugation.past(phrase) == past
    assert conjugation.present(phrase) == present


def test_infinitive_and_participle() -> None:
    assert conjugation.infinitive("find work") == "to find work"
    assert conjugation.infinitive("not lose it") == "not to lose it"
    assert conjugation.participle("take a walk") == "taken a walk"


@pytest.mark.parametrize(
    ("event", "past", "perfect"),
    [
        ("PersonX pays the bill", "PersonX paid the bill", "PersonX has paid the bill"),
        ("PersonX quickly runs", "PersonX quickly ran", "PersonX quickly has run"),
        ("PersonX is tired", "PersonX was tired", "PersonX has been tired"),
        ("PersonX trips and falls", "PersonX tripped and fell", "PersonX has tripped and fallen"),
        ("PersonX can swim", "PersonX can swim", "PersonX can swim"),
        ("PersonX lost a shoe", "PersonX lost a shoe", "PersonX lost a shoe"),
    ],
)
def test_tenses_of_an_event(event: str, past: str, perfect: str) -> None:
    assert conjugation.event_tense(event, "past") == past
    assert conjugation.event_tense(event, "participle") == perfect


@pytest.mark.parametrize(
    ("event", "clear"),
    [
        ("PersonX breaks one promise after another", True),
        ("PersonX opens a can after shaking it", True),
        ("PersonX silences the phone and shuts the door", True),
        ("PersonX was always fighting", True),
        ("PersonX drives until the tank is empty", False),
        ("PersonX claps as the curtain falls", False),
        ("PersonX puts on a coat and gloves", False),
        ("PersonX holds the door and always says thanks", False),
        ("PersonX swims, cycles and dances", False),
        ("PersonX double-checks the belts", False),
        ("PersonX and PersonY sing", False),
    ],
)
def test_events_whose_verbs_are_surely_found(event: str, clear: bool) -> None:
    assert conjugation.has_clear_tense(event) == clear


@given(st.sampled_from(sorted(listed("verbs"))))
def test_verbs_agree(verb: str) -> None:
    one, many = conjugation.agree(verb, many=False), conjugation.agree(verb, many=True)
    assert one != many
    assert one.endswith("s")
    assert many == ("are" if verb == "be" else verb)
    assert conjugation.verb_form(verb, "gerund").endswith("ing")
    assert conjugation.is_finite(one)
    assert conjugation.root_of(one) == verb


@pytest.mark.parametrize(
    "noun", sorted(word for word in listed("people") - listed("proper") if " " not in word)
)
def test_every_person_counts(noun: str) -> None:
    many = grammar.plural(noun)
    assert grammar.number(grammar.indefinite(noun)) == "singular"
    assert grammar.number(many) == "plural", many
    assert grammar.is_person(many)


def test_words_are_known_and_classed() -> None:
    for word in ("dogs", "2,000", "t-shirt", "dog's"):
        assert is_known(word), word
    assert not is_known("perscussion")
    assert [is_verb(word) for word in ("write", "bathe", "walk", "open")] == [
        True,
        True,
        False,
        False,
    ]
    assert [is_adverb(word) for word in ("quickly", "never", "fly")] == [True, True, False]


def test_types_are_unchecked_only_while_a_library_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = typeguard.typechecked
    monkeypatch.delitem(sys.modules, "inflect", raising=False)
    with grammar._unchecked():
        import inflect
    assert typeguard.typechecked is before
    with pytest.raises(ImportError), grammar._unchecked():
        import_module("no_such_library")
    assert typeguard.typechecked is before
    assert "typeguard" not in inflect.engine.plural.__code__.co_names


def test_others_are_checked_meanwhile_and_two_threads_leave_nothing_behind() -> None:
    before = typeguard.typechecked
    first, second = grammar._unchecked(), grammar._unchecked()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    try:
        assert typeguard.typechecked is not before, "inflect is imported in the other thread still"

        @typeguard.typechecked
        def plain(n: int) -> int:
            return n

        @typeguard.typechecked(
            collection_check_strategy=typeguard.CollectionCheckStrategy.ALL_ITEMS
        )
        def with_options(n: int) -> int:
            return n

        def theirs(n: int) -> int:
            return n

        theirs.__module__ = "inflect.compat"
        assert typeguard.typechecked(theirs) is theirs
    finally:
        second.__exit__(None, None, None)
    assert typeguard.typechecked is before
    for function in (plain, with_options):
        assert function(1) == 1
        with pytest.raises(typeguard.TypeCheckError):
            function("1")
