"""Reading and checking templates."""

from pathlib import Path

import pytest

from boxpen.build.kg.triples import ATOMIC, CONCEPTNET
from boxpen.build.kg.wording.templates import FIELDS, form_counts, load_templates
from boxpen.errors import BuildError

# Table 3 of the paper.
PAPER = {
    "nli": dict(zip(CONCEPTNET, (8, 8, 16, 2, 8, 4, 8), strict=True)) | dict.fromkeys(ATOMIC, 15),
    "qa": dict.fromkeys(CONCEPTNET, 10) | {"desires": 100} | dict.fromkeys(ATOMIC, 15),
    "pairs": dict.fromkeys((*CONCEPTNET, *ATOMIC), 3),
}


def test_there_are_as_many_forms_as_in_the_paper() -> None:
    counts = form_counts(load_templates())
    for task, relations in PAPER.items():
        for relation, least in relations.items():
            assert counts[task, relation] >= least, (task, relation)
    assert set(counts) == {(task, r) for task in FIELDS for r in (*CONCEPTNET, *ATOMIC)}


def test_no_form_stands_twice() -> None:
    for key, forms in load_templates().forms.items():
        texts = [(form.texts, form.heads, form.forms) for form in forms]
        assert len(set(texts)) == len(texts), key


def _load(tmp_path: Path, text: str):  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return load_templates([path])


def test_a_file_adds_relations_and_tasks(tmp_path: Path) -> None:
    templates = _load(
        tmp_path,
        """
[tasks]
riddle = "qa"

[[partof.nli]]
name = "part"
head = ["thing", "mass"]
form = "np"
label = "neutral"
premise = "(Here|There) {head.be} {head}."
hypothesis = "{it} {it.belong} to {tail}."

[[partof.riddle]]
name = "riddle"
goal = "What (on earth|in the world) is part of what?"
solution = "{head} (is|may be) part of {tail} (for sure)."
""",
    )
    first, second = templates.of("nli", "partof")
    assert first.texts == ("Here {head.be} {head}.", "{it} {it.belong} to {tail}.")
    assert second.texts[0] == "There {head.be} {head}."
    assert (first.heads, first.forms, first.label) == (("thing", "mass"), ("np",), "neutral")
    assert templates.tasks["riddle"] == "qa"
    assert len(templates.of("riddle", "partof")) == 4
    assert templates.of("riddle", "partof")[0].texts[1].endswith("(for sure).")


HEADER = '\n[[hasa.pairs]]\nname = "mine"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + 'sentence = "{hed} has {tail}."', "known slots: '{hed}' is unknown; did you"),
        (HEADER + 'sentence = "{head:plurl} have."', "expected known helpers: '{head:plurl}' has"),
        (
            HEADER + 'sentence = "{head.dogly} it."',
            "a verb that agrees with a slot in '{head.dogly}'",
        ),
        (
            HEADER + 'sentence = "{tail.have} it."',
            "a verb that agrees with a slot in '{tail.have}'",
        ),
        (HEADER + 'sentence = "{head has {tail}."', "expected balanced braces with a slot in each"),
        (HEADER + 'sentence = "{} has it."', "expected balanced braces with a slot in each"),
        (HEADER + 'sentence = "{head} (has|had {tail}."', "expected alternations that are closed"),
        (HEADER + 'sentence = "{head} has {tail}"', "'{head} has {tail}', expected final punct"),
        (HEADER + 'sentence = "{head}  has it."', "'{head}  has it.', expected single spaces"),
        (HEADER + 'sentence = ""', "line 4: sentence is '', expected a text"),
        (HEADER + "sentence = 3", "line 4: sentence is 3, expected a text"),
        (HEADER, "line 2: sentence is missing"),
        (HEADER + 'sentence = "A."\nhead = []', "line 5: head is [], expected any, person"),
        (HEADER + 'sentence = "A."\nhead = "cat"', "line 5: head is 'cat', expected any, person"),
        (HEADER + 'sentence = "A."\nform = "pp"', "line 5: form is 'pp', expected np"),
        (HEADER + 'sentence = "A."\nlabel = "x"', "line 5: label is 'x', expected 'entailment'"),
        (HEADER + 'sentence = "A."\nlikely = 3', "line 5: likely is 3, expected"),
        (
            HEADER + 'sentence = "A."\nlabel = "neutral"\nlikely = true',
            "line 6: likely is true, and label is 'neutral'; expected entailment",
        ),
        (HEADER + 'sentence = "A."\nsentense = "B."', "line 5: unknown key 'sentense', did you"),
        ('[[hasa.nil]]\nname = "a"', "line 1: [[hasa.nil]] has an unknown task; did"),
        ("[hasa]\nnli = []", "line 2: expected tables [[hasa.nli]]"),
        ("[hasa]\nnli = 3", "line 2: expected tables [[hasa.nli]]"),
        ("hasa = 3", "line 1: expected tables [[hasa.task]]"),
        ('[tasks]\nriddle = "quiz"', "line 2: task 'riddle' is 'quiz', expected nli"),
        ('[tasks]\nqa = "nli"', "line 2: task 'qa' is of the kind 'qa' already"),
        ("[hasa", "is not TOML: "),
        (
            HEADER + 'sentence = "A."\n' + HEADER + 'sentence = "B."',
            "line 6: a template 'mine' is at",
        ),
    ],
)
def test_an_error_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BuildError) as error:
        _load(tmp_path, text)
    assert "mine.toml" in str(error.value)
    named = message.startswith(("line", "is not TOML"))
    assert named or "mine.toml, line 4: sentence is " in str(error.value)
    assert message in str(error.value)


def test_the_right_one_of_two_like_templates_is_named(tmp_path: Path) -> None:
    one = '[[hasa.pairs]]\nname = "{}"\nsentence = "{{head}} has {{{}}}."\n'
    with pytest.raises(BuildError, match=r"line 6: sentence is .* '\{tale\}' is unknown"):
        _load(tmp_path, one.format("a", "tail") + one.format("b", "tale"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"none\.toml cannot be read"):
        load_templates([tmp_path / "none.toml"])


def test_what_has_no_template_is_said() -> None:
    templates = load_templates()
    with pytest.raises(
        BuildError, match=r"'partof' has no template for the task 'nli'; add a file"
    ):
        templates.of("nli", "partof")
    with pytest.raises(BuildError, match=r"there is no task 'nlii'; did you mean 'nli'"):
        templates.of("nlii", "hasa")
