"""OPUS in XML: a file of sentences for every document, and one of links between them.

A link such as ``<link xtargets="1 2;3"/>`` joins sentences 1 and 2 of the first document with
sentence 3 of the second. One document is held in memory at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from boxpen.errors import BuildError
from boxpen.scoring.recipe import UNSPACED
from boxpen.text.corpus import Pair
from boxpen.text.lines import reading_errors, unpacked
from boxpen.text.normal import base_language

__all__ = ["documents", "read_opus"]

Link = tuple[str, str]
_LATIN = re.compile(r"[0-9A-Za-z]")


def read_opus(
    path: Path,
    folder: Path,
    text: str,
    languages: tuple[str, str],
    counts: Counter[str],
    progress: Callable[[float, int], None],
) -> Iterator[Pair]:
    """Yield the pairs of an alignment; an unlinked sentence makes a pair with an empty side.

    Raises:
        BuildError: If a file is missing or not such XML, or a link names what does not exist.
    """
    for names, links in _groups(path):
        sides = [
            _sentences(
                _document(path, folder, name), spaced=base_language(language) not in UNSPACED
            )
            for name, language in zip(names, languages, strict=True)
        ]
        document = f"{text}/{names[0]} {names[1]}"
        for number, link in enumerate(links, start=1):
            counts["lines"] += 1
            joined = []
            for name, known, ids in zip(names, sides, link, strict=True):
                for one in ids.split():
                    if one not in known:
                        raise BuildError(
                            f"{path} links sentence '{one}' of {name}, which has no such sentence"
                        )
                joined.append(" ".join(known[one] for one in ids.split()))
            yield Pair(joined[0], joined[1], document, number, text)
        progress(0.0, counts["lines"])


def documents(path: Path, folder: Path) -> list[Path]:
    """Return the files of all documents that an alignment names, each once.

    Raises:
        BuildError: If one does not exist.
    """
    names = dict.fromkeys(name for both, _ in _groups(path) for name in both)
    return [_document(path, folder, name) for name in names]


def _groups(path: Path) -> Iterator[tuple[tuple[str, str], list[Link]]]:
    """Yield the two documents of every group of links, and the links."""
    found = 0
    for group in _elements(path, "linkGrp"):
        found += 1
        names = group.get("fromDoc"), group.get("toDoc")
        if names[0] is None or names[1] is None:
            raise BuildError(f"{path}, <linkGrp> {found}: expected fromDoc and toDoc")
        links = []
        for number, link in enumerate(group.iter("link"), start=1):
            ids = (link.get("xtargets") or "").split(";")
            if len(ids) != 2:
                raise BuildError(
                    f"{path}, <link> {number} of {names[0]}: found xtargets = "
                    f"{link.get('xtargets')!r}, expected sentences of both sides, separated by ';'"
                )
            links.append((ids[0], ids[1]))
        yield (names[0], names[1]), links
    if not found:
        raise BuildError(f"{path} has no <linkGrp>, expected the links of OPUS")


def _document(alignment: Path, folder: Path, name: str) -> Path:
    """Return the file of a document, which may have been compressed or unpacked since."""
    place = folder / name
    # By the name alone: folders of a corpus may be links to another disk.
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise BuildError(f"{alignment} names {name}, which is not in {folder}")
    other = place.with_suffix("") if place.suffix == ".gz" else place.with_name(f"{place.name}.gz")
    for path in (place, other):
        if path.is_file():
            return path
    raise BuildError(f"{alignment} names {name}, and there is no {place}")


def _sentences(path: Path, *, spaced: bool) -> dict[str, str]:
    """Return the sentences of a document by their ids."""
    found = {}
    for element in _elements(path, "s"):
        words = [word.text or "" for word in element.iter("w")]
        if not words:
            text = " ".join("".join(element.itertext()).split())
        else:
            text = " ".join(words) if spaced else _joined(words)
        found[element.get("id") or ""] = text
    return found


def _joined(words: Sequence[str]) -> str:
    """Return Chinese words as they are written: with a space only between two Latin ones."""
    text = ""
    for word in words:
        apart = text and word and _LATIN.match(text[-1]) and _LATIN.match(word[0])
        text += f" {word}" if apart else word
    return text


def _elements(path: Path, tag: str) -> Iterator[Element]:
    """Yield the elements of a name, and forget each after use."""
    try:
        with path.open("rb") as file, unpacked(file, path, BuildError) as stream:
            root = None
            for event, element in iterparse(stream, ("start", "end")):
                if root is None:
                    root = element
                if event == "end" and element.tag == tag:
                    yield element
                    root.clear()
    except FileNotFoundError:
        raise BuildError(f"there is no {path}") from None
    except ParseError as error:
        raise BuildError(f"{path} is not XML: {error}") from None
    except reading_errors() as error:
        reason = getattr(error, "strerror", None) or error
        raise BuildError(f"{path} cannot be read: {reason}; is it a whole download?") from None
