"""Read the sentences of a training, exclude test items, and split them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boxpen.errors import TrainError
from boxpen.lm.exclude import exclude as without_suites
from boxpen.lm.folder import digest
from boxpen.lm.split import given_sentences, hold_out_sentences
from boxpen.text.sentences import Sentence, read_text

__all__ = ["Data", "digest_of", "read_data"]


@dataclass(frozen=True)
class Data:
    """The training and held-out sentences.

    Attributes:
        train: Training sentences.
        held_out: Sentences to test on.
        counts: How many were read and left out, and why.
        digests: Of the sentences by the option that gave them.
        suites: The hashes of the suites that were excluded.
        notes: Messages for the user.
    """

    train: list[Sentence]
    held_out: list[Sentence]
    counts: dict[str, Any]
    digests: dict[str, str | None]
    suites: dict[str, str]
    notes: list[str]


def read_data(
    *,
    text: Sequence[str | Path],
    triples: Sequence[str | Path],
    valid: Sequence[str | Path],
    ways: int,
    holdout: float,
    exclude: Sequence[str],
    language: str,
    seed: int,
) -> Data:
    """Read sentences and divide them; see ``train_lm``."""
    lines, blank = read_text([Path(path) for path in text])
    said, notes, unsaid = _said(triples, ways)
    tested, blank_tested = read_text([Path(path) for path in valid])
    counts: dict[str, Any] = {
        "text": len(lines),
        "triples": len(said),
        "valid": len(tested),
        "blank": blank + blank_tested,
        "unsaid": unsaid,
    }
    sources = {"text": lines, "triples": said, "valid": tested}
    digests = {name: digest_of(some) if some else None for name, some in sources.items()}
    suites = _suites(exclude)
    learnt = without_suites([*lines, *said], suites, language)
    held = without_suites(tested, suites, language)
    counts["excluded"] = {name: learnt.counts[name] + held.counts[name] for name in learnt.counts}
    if not learnt.kept or (tested and not held.kept):
        raise TrainError("every sentence occurs in a suite of --exclude, so nothing is left")
    if tested:
        split = given_sentences(learnt.kept, held.kept, language)
    else:
        split = hold_out_sentences(learnt.kept, holdout, seed, language)
    counts["shared_with_valid"] = split.removed
    side = held.kept if tested else learnt.kept
    return Data(
        train=[learnt.kept[i] for i in split.train],
        held_out=[side[i] for i in split.held_out],
        counts=counts,
        digests=digests,
        suites={name: suite.hash for name, suite in suites.items()},
        notes=notes,
    )


def digest_of(sentences: Sequence[Sentence]) -> str:
    """Return the digest of sentences in their order."""
    return digest(f"{text}\t{pair or ''}" for text, pair in sentences)


def _said(sources: Sequence[str | Path], ways: int) -> tuple[list[Sentence], list[str], int]:
    """Return the sentences of graphs, notes for the user, and the number of triples without one."""
    out: list[Sentence] = []
    notes: list[str] = []
    unsaid = 0
    if not sources:
        return out, notes, unsaid
    from boxpen.build.kg.sentences import verbalise

    for source in sources:
        found = verbalise(source, ways=ways)
        out += found.sentences
        unsaid += found.unsaid + sum(found.relations.values())
        notes.append(f"{source}: {found.says}")
    return out, notes, unsaid


def _suites(names: Sequence[str]) -> dict[str, Any]:
    if not names:
        return {}
    from boxpen.catalog import load_suite

    suites = {name: load_suite(name) for name in names}
    called = Counter(suite.name for suite in suites.values())
    # Two files may have one name: then each goes by its path.
    return {s.name if called[s.name] == 1 else given: s for given, s in suites.items()}
