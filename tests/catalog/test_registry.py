"""The public suites: what is in them, and how they are asked for."""

import functools
import string
from collections import Counter
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from boxpen.catalog import entries, load_suite, recipes_of, suite_names, write_suite
from boxpen.catalog.entry import TOPICS
from boxpen.errors import SuiteError
from boxpen.items import Choice, Entail, Suite, Translate

ENTRIES = entries()
ANY = "any"  # of parts that were not counted
HOMES = ("raw.githubusercontent.com", "s3.amazonaws.com", "storage.googleapis.com")
SIZES = {
    "commonmt": {"LA": 400, "CL-SA": 450, "CT-SA": 350},
    "cats": {
        "ca": 183,
        "wsc": 283,
        "sm": 1877,
        "smr": 2021,
        "swag": 1001,
        "hellaswag": 1000,
        "arct1": 444,
        "arct2": 888,
    },
    "cats-dual": {"add": 184, "del": 164, "sub": 150, "swap": 148},
    "senmaking": {"sen-making": 2021, "explanation": 2021},
    "comve": {"A": 997, "B": 997},
    "comve-train": {"A": 10_000, "B": 10_000},
    "piqa": {None: 1838},
    "discourse": {"pronoun": 400, "connective": 400, "ellipsis": 400},
    "xcopa": dict.fromkeys(["et", "ht", "id", "it", "qu", "sw", "ta", "th", "tr", "vi", "zh"], 500),
    "winogrande": {None: 1267},
    "mucow": {"et-en": 1094, "lt-en": 356, "lv-en": 139},
    "codah": {
        "other": 2080, "idiom": 244, "negation": 115, "reference": 133, "polysemy": 108,
        "quantity": 86, None: 10,
    },
    "blimp": {
        "anaphor_agreement": 2000, "argument_structure": 7000, "binding": 7000,
        "control_raising": 5000, "determiner_noun_agreement": 8000, "ellipsis": 2000,
        "filler_gap_dependency": 7000, "irregular_forms": 2000, "island_effects": 8000,
        "npi_licensing": 7000, "quantifiers": 4000, "s-selection": 2000,
        "subject_verb_agreement": 6000,
    },
    "hellaswag": {ANY: 10_042},
    "commonsenseqa": {None: 1221},
}  # fmt: skip


@functools.cache
def loaded_once(name):
    """A suite that several tests look at; the largest take seconds to load."""
    return load_suite(name)


def need_files(mirror, name):
    absent = [file.path for file in ENTRIES[name].files if not (mirror / file.path).is_file()]
    if absent:
        pytest.skip(f"the mirror of the public data has no {absent[0]}")


def test_every_downloaded_suite_is_counted():
    assert set(SIZES) == {name for name, entry in ENTRIES.items() if entry.files}
    for name, sizes in SIZES.items():
        assert sum(sizes.values()) == ENTRIES[name].items


@pytest.mark.parametrize("name", SIZES)
def test_counts_and_hashes(mirror, name):
    need_files(mirror, name)
    suite = loaded_once(name)
    tag = ENTRIES[name].part_tag or "set"
    found = Counter(item.tags.get(tag) for item in suite)
    assert found == SIZES[name] or SIZES[name] == {ANY: found.total()}
    assert len({item.id for item in suite}) == len(suite)
    assert suite.hash == load_suite(name).hash
    assert suite.card == ENTRIES[name].card


@pytest.mark.parametrize("name", ENTRIES)
def test_every_suite_has_a_topic_a_size_and_a_chance(mirror, name):
    entry = ENTRIES[name]
    assert entry.topic in TOPICS
    need_files(mirror, name)
    suite = loaded_once(name)
    assert entry.items == len(suite)
    chances = [guessed for item in suite if (guessed := chance(item)) is not None]
    if not chances:
        assert entry.chance is None
    else:
        assert entry.chance == pytest.approx(sum(chances) / len(chances), abs=5e-4)


def chance(item):
    if isinstance(item, Entail):
        return (1 + len(item.also)) / 3
    if isinstance(item, Translate):
        return 1 / (1 + len(item.contrast)) if item.contrast else None
    return 1 / len(item.candidates)


WITH_PARTS = [n for n in SIZES if ENTRIES[n].parts]
LARGE = pytest.mark.heavy  # loads 67,000 items three times


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=LARGE if n == "blimp" else ()) for n in WITH_PARTS]
)
def test_parts_are_the_values_of_the_tag(mirror, name):
    need_files(mirror, name)
    suite = loaded_once(name)
    entry = ENTRIES[name]
    parts = [part for part in SIZES[name] if part is not None]
    assert sorted(suite.tag_values()[entry.part_tag]) == sorted(entry.parts)
    assert list(entry.parts) == parts or parts == [ANY]
    part = entry.parts[-1]
    loaded = load_suite(f"{name}.{part}")
    assert loaded.name == f"{name}.{part}"
    assert len(loaded) == SIZES[name].get(part, len(loaded))
    assert load_suite(f"{name}.{part.swapcase()}").hash == loaded.hash


def test_starter_needs_no_download(monkeypatch, tmp_path):
    monkeypatch.delenv("BOXPEN_MIRROR", raising=False)
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "unused"))
    suite = load_suite("starter")
    assert suite.tag_values()["part"] == ["mt", "sense", "dual", "discourse"]
    assert suite.languages_of(load_suite("starter.mt").items[0]) == ("en", "zh")
    assert suite.languages_of(load_suite("starter.sense").items[0]) == ("en", None)
    assert suite.languages_of(load_suite("starter.discourse").items[0]) == ("zh", "en")
    assert not (tmp_path / "unused").exists()


def test_commonmt_blocks(mirror):
    suite = load_suite("commonmt")
    assert [i.id for i in suite.items[:3]] == ["LA-001a", "LA-001b", "LA-002a"]
    assert set(map(len, suite.blocks().values())) == {2}
    assert suite.languages_of(suite.items[0]) == ("en", "zh")


def test_cats_levels(mirror):
    levels = {(i.tags["set"], i.tags["level"]) for i in load_suite("cats")}
    assert {s for s, level in levels if level == "token"} == {"ca", "wsc", "sm"}
    assert len(levels) == 8


def test_cats_dual_blocks(mirror):
    blocks = load_suite("cats-dual").blocks()
    assert Counter(b.partition("-")[0] for b in blocks) == {
        "add": 92,
        "del": 82,
        "sub": 75,
        "swap": 74,
    }
    assert {tuple(i.id[-1] for i in items) for items in blocks.values()} == {("a", "b")}


def test_the_sensible_sentence_is_gold(mirror):
    # Sen-Making 1 and ComVE 1363 name the elephant in the fridge, and skiing in summer, as false.
    first = load_suite("senmaking").items[0]
    assert "turkey" in first.candidates[first.gold]
    first = load_suite("comve").items[0]
    assert "swimming" in first.candidates[first.gold]


@pytest.mark.parametrize(("name", "second"), [("senmaking", "explanation"), ("comve", "B")])
def test_the_nonsense_is_what_is_explained(mirror, name, second):
    suite = load_suite(name)
    wrong = {i.id.rpartition("-")[2]: i.candidates[1 - i.gold] for i in suite if i.context is None}
    explained = {i.id.rpartition("-")[2]: i.context for i in suite.where(set=second)}
    assert len(wrong) == len(explained)
    # In a few instances of ComVE the two subtasks write the same sentence a little differently.
    same = sum(wrong[key] == explained[key] for key in wrong)
    assert same > 0.95 * len(wrong)


def test_options_published_empty_are_dropped(mirror):
    short = [i.id for i in load_suite("comve-train.B") if len(i.candidates) == 2]
    assert short == ["B-5618", "B-7238", "B-9941"]
    short = [i.id for i in load_suite("senmaking.explanation") if len(i.candidates) == 2]
    assert short == ["explanation-1998"]


def test_discourse_is_divided_at_its_marks(mirror):
    suite = load_suite("discourse")
    assert all(isinstance(i, Translate) and i.context and i.reference_context for i in suite)
    texts = [(i.source, i.context, i.reference, i.reference_context) for i in suite]
    assert not any("_eos" in text for four in texts for text in four)
    unmarked = next(i for i in suite if i.id == "pronoun-052")
    assert unmarked.reference_context.endswith("。")
    assert unmarked.reference.startswith("你们")
    assert Counter(i.tags.get("class") for i in suite.where(set="pronoun")) == dict.fromkeys(
        ["你们", "你", "它们", "她们", "他们"], 80
    )
    connectives = Counter(i.tags["class"] for i in suite.where(set="connective"))
    assert set(connectives.values()) == {40}
    assert len(connectives) == 10
    assert {i.tags.get("class") for i in suite.where(set="ellipsis")} == {None}


def test_names_do_not_collide():
    for name, entry in ENTRIES.items():
        assert entry.name == name
        assert not set(name) & set("./\\")
    names = suite_names(parts=True)
    assert len(names) == len({name.lower() for name in names})
    paths = [file.path for entry in ENTRIES.values() for file in entry.files]
    assert len(paths) == len(set(paths))


def test_every_file_has_a_fixed_checksum_and_a_proper_url():
    for entry in ENTRIES.values():
        for file in entry.files:
            assert len(file.sha256) == 64
            assert set(file.sha256) <= set(string.hexdigits.lower())
            parts = urlsplit(file.url)
            assert parts.scheme == "https"
            assert parts.netloc in HOMES
            assert " " not in file.url
            assert not file.path.startswith("/")
    assert "ALL%20data/Training%20%20Data/" in ENTRIES["comve-train"].files[0].url


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("comonmt", "suite 'comonmt' is neither known nor a file .* did you mean 'commonmt'"),
        ("zzzzzz", "known: starter, starter-graph, commonmt, cats"),
        ("commonmt.LX", "suite 'commonmt' has no part 'LX', did you mean 'commonmt.LA'"),
        ("piqa.x", "suite 'piqa' has no parts"),
        ("nowhere.jsonl", r"nowhere\.jsonl cannot be read: No such file"),
        ("folder/commonmt", "has no ending, expected .jsonl"),
    ],
)
def test_unknown_names(name, message):
    with pytest.raises(SuiteError, match=message):
        load_suite(name)


def test_a_file_is_a_suite_too(tmp_path):
    suite = Suite("mine", (Choice(id="1", candidates=("a", "b"), gold=0),))
    write_suite(suite, tmp_path / "x.jsonl")
    assert load_suite(tmp_path / "x.jsonl") == load_suite(str(tmp_path / "x.jsonl")) == suite


RECIPES = {
    "starter": {"sound", "translate", "generate"},
    "starter-graph": {"sound", "paper"},
    "commonmt": {"sound", "translate", "generate", "paper"},
    "cats": {"sound", "paper"},
    "cats-dual": {"sound", "paper"},
    "senmaking": {"sound", "paper"},
    "comve": {"sound"},
    "comve-train": {"sound"},
    "piqa": {"sound"},
    "discourse": {"sound", "translate", "generate"},
    "blimp": {"sound"},
    "xcopa": {"sound"},
    "winogrande": {"sound", "full", "partial"},
    "codah": {"sound"},
    "mucow": {"sound", "translate", "generate"},
    "hellaswag": {"sound"},
    "commonsenseqa": {"sound"},
}


ALWAYS = {"sound", "ask", "ask-letters"}


def test_recipes():
    assert set(RECIPES) == set(ENTRIES)
    for name, expected in RECIPES.items():
        recipes = recipes_of(name)
        assert set(recipes) == expected | ALWAYS
        for key, recipe in recipes.items():
            assert recipe.name == key
            recipe.scoring_policy()
            assert recipe.why or key == "sound"
    assert recipes_of("commonmt.LA") == recipes_of("commonmt")
    assert recipes_of("senmaking")["sound"].prefix.endswith("because")
    assert recipes_of("senmaking")["paper"].scoring_policy().pll == "unmasked"


def test_recipes_of_files_and_suites(tmp_path):
    plain = Suite("mine", (Choice(id="1", candidates=("a", "b"), gold=0),))
    sourced = Suite("my.own", (replace(plain.items[0], source="s"),))
    exported = replace(plain, name="cats", card=ENTRIES["cats"].card)
    namesake = replace(plain, name="cats")
    for suite, expected in ((plain, ALWAYS), (sourced, ALWAYS | {"translate", "generate"})):
        write_suite(suite, tmp_path / "x.jsonl")
        assert set(recipes_of(suite)) == set(recipes_of(tmp_path / "x.jsonl")) == expected
    write_suite(exported, tmp_path / "x.jsonl")
    assert recipes_of(exported) == recipes_of(tmp_path / "x.jsonl") == recipes_of("cats")
    assert set(recipes_of(namesake)) == ALWAYS
    with pytest.raises(SuiteError, match="did you mean 'cats'"):
        recipes_of("catz")
