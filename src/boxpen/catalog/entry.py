"""What the registry knows about a suite before anything is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from boxpen.items import Card, Item
from boxpen.scoring.recipe import Recipe

__all__ = ["TOPICS", "Entry", "Importer", "RemoteFile", "github_file", "github_files"]

TOPICS = ("common sense", "inference", "grammar", "translation", "discourse", "robustness")

Importer = Callable[[Mapping[str, Path]], Iterable[Item]]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One published file.

    Attributes:
        url: Its URL, of a fixed version if possible.
        sha256: Hex digest of its bytes; other contents are rejected.
        path: Its place in the cache and in a mirror folder.
        member: Its name in the zip archive at the URL, if it was published in one.
    """

    url: str
    sha256: str
    path: str
    member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One suite of the registry.

    Attributes:
        name: Its name; without a full stop, which separates a suite from its part.
        card: Title, languages, licence, citation and home.
        importer: Turns the local files, by their ``path``, into items.
        topic: What the suite tests, one of ``TOPICS``; empty if a plug-in does not say.
        items: How many items it has; 0 if a plug-in does not say.
        chance: The accuracy of guessing, the mean over its items of 1/k, or of the right labels'
            share of three; None if a plug-in does not say, or there is nothing to choose from.
        languages: Its languages, and pairs such as ``et-en``, if the card does not name them.
        files: What must be fetched; nothing for a suite that comes with boxpen.
        recipes: Recipes of the suite's own; they take precedence over the common ones.
        part_tag: The tag whose values can be loaded as ``name.value``.
        parts: Those values.
    """

    name: str
    card: Card
    importer: Importer
    topic: str = ""
    items: int = 0
    chance: float | None = None
    languages: tuple[str, ...] = ()
    files: tuple[RemoteFile, ...] = ()
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    part_tag: str | None = None
    parts: tuple[str, ...] = ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """Its languages and pairs of languages; none if neither the card nor the entry says."""
        pair = "-".join(filter(None, (self.card.source_language, self.card.language)))
        return self.languages or ((pair,) if pair else ())


def github_file(repository: str, commit: str, file: str, *, sha256: str, path: str) -> RemoteFile:
    """Return a file of a GitHub repository at one commit."""
    url = f"https://raw.githubusercontent.com/{repository}/{commit}/{quote(file)}"
    return RemoteFile(url, sha256, path)


def github_files(
    repository: str, commit: str, sha256: Mapping[str, str], *, path: str, under: str = ""
) -> tuple[RemoteFile, ...]:
    """Return files of a GitHub repository at one commit.

    Args:
        repository: Its owner and name.
        commit: The commit.
        sha256: The checksum of each file.
        path: The folder of all in the cache and in a mirror.
        under: Their folder in the repository, which is not part of that path.
    """
    return tuple(
        github_file(repository, commit, f"{under}{file}", sha256=found, path=f"{path}/{file}")
        for file, found in sha256.items()
    )
