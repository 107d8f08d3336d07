"""Slices: the items of a run, divided by a tag, a length, or two things at once.

A *cut* divides a run by one property. Every tag with a handful of values is one; so are the length
of the right candidate (or of the hypothesis) and that of its source, in five groups of about equal
size (the five groups of CommonMT's Figure 6). The word class of what differs between English
candidates is a cut on request. Two cuts can be crossed: ``set x length``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from boxpen.errors import RunError, nearest
from boxpen.metrics.choice import Interval
from boxpen.metrics.summary import MOST_VALUES, estimates, labelled, slicing_tags
from boxpen.runs.run import Run
from boxpen.scoring.normalise import words
from boxpen.scoring.verdicts import Scored, Verdict

__all__ = ["CROSS", "GROUPS", "MEASURED", "ON_REQUEST", "cut", "cuts", "slice_rows"]

CROSS = " x "
GROUPS = 5

Slices = dict[str, list[Verdict]]


def cuts(run: Run, least: int = 2) -> dict[str, Slices]:
    """Return every cut of a run: its tags, then lengths."""
    tags = slicing_tags([v.tags for v in run.verdicts])
    found = {name: _by_tag(run.verdicts, name) for name in tags}
    found |= {name: measured(run) for name, measured in MEASURED.items()}
    return {name: slices for name, slices in found.items() if least <= len(slices) <= MOST_VALUES}


def cut(run: Run, name: str) -> Slices:
    """Divide a run by one property, or by two: ``set x length``.

    Raises:
        RunError: If the run has no such property, or no item in any of the slices.
    """
    parts = [part.strip() for part in name.split(CROSS)]
    slices: Slices = {"": list(run.verdicts)}
    for part in parts:
        found = _one(run, part)
        slices = {
            f"{before}{CROSS}{value}" if before else value: both
            for before, some in slices.items()
            for value, others in found.items()
            if (both := _common(some, others))
        }
    if not slices:
        raise RunError(f"the run of {run.info.suite.name} has no item that '{name}' divides")
    return slices


def slice_rows(
    run: Run, by: Sequence[str] = (), interval: Interval = "wilson"
) -> list[dict[str, Any]]:
    """Return the metrics of every slice as data.

    Args:
        run: The run.
        by: Names of cuts, as for ``cut``; if empty, all cuts of the run.
        interval: How intervals are computed.
    """
    divided = {name: cut(run, name) for name in by} if by else cuts(run)
    return [
        {
            "suite": run.suite_title,
            "model": run.info.model.name,
            "cut": name,
            "value": value,
            "n": len(verdicts),
            "share": len(verdicts) / len(run.verdicts),
            **{metric: found._asdict() for metric, found in estimates(verdicts, interval)},
            "signature": labelled(run.signature, run.info.suite.labels or {}, name.split(CROSS)),
        }
        for name, parts in divided.items()
        for value, verdicts in parts.items()
    ]


def _one(run: Run, name: str) -> Slices:
    tags = _tags(run.verdicts)
    if name in tags:
        return _by_tag(run.verdicts, name)
    if name in MEASURED or name in ON_REQUEST:
        found = (MEASURED.get(name) or ON_REQUEST[name])(run)
        if not found:
            raise RunError(f"the run of {run.info.suite.name} keeps no texts to take '{name}' from")
        return found
    known = [*tags, *(name for name, measured in MEASURED.items() if measured(run)), *ON_REQUEST]
    raise RunError(
        f"the run of {run.info.suite.name} cannot be divided by '{name}'; " + nearest(name, known)
    )


def _tags(verdicts: Sequence[Verdict]) -> list[str]:
    return list(dict.fromkeys(tag for v in verdicts for tag in v.tags))


def _by_tag(verdicts: Sequence[Verdict], tag: str) -> Slices:
    out: Slices = {}
    for verdict in verdicts:
        if tag in verdict.tags:
            out.setdefault(verdict.tags[tag], []).append(verdict)
    if all(value.isdecimal() for value in out):  # numbers of steps, say
        return {value: out[value] for value in sorted(out, key=int)}
    return out


def _by_length(run: Run, text: Callable[[Verdict], str | None]) -> Slices:
    lengths = {v.id: len(words(t)) for v in run.verdicts if (t := text(v)) is not None}
    if not lengths:
        return {}
    edges = _edges(sorted(lengths.values()))
    out: Slices = {_label(low, high): [] for low, high in edges}
    for verdict in run.verdicts:
        if verdict.id in lengths:
            place = next((a, b) for a, b in edges if lengths[verdict.id] <= b)
            out[_label(*place)].append(verdict)
    return out


def _by_word_class(run: Run) -> Slices:
    """Group items by the class of the words in which the right candidate and others differ."""
    from boxpen.english.word_class import CLASSES, differing_class

    if find_spec("lemminflect") is None:
        raise RunError(
            "slices by word class need lemminflect; install it with: pip install 'boxpen[build]'"
        )
    language = run.info.suite.language
    if language is not None and language.partition("-")[0] != "en":
        raise RunError(
            f"the candidates of {run.info.suite.name} are in '{language}'; word classes are known "
            "of English only"
        )
    found: Slices = {name: [] for name in CLASSES}
    for verdict in run.verdicts:
        texts = _whole_texts(run.candidates.get(verdict.id, ()))
        if run.labels or len(texts) < 2:
            continue
        right = texts.pop(verdict.gold)
        classes = {name for text in texts if (name := differing_class(right, text)) is not None}
        if classes:
            found[classes.pop() if len(classes) == 1 else "several"].append(verdict)
    return {name: some for name, some in found.items() if some}


def _whole_texts(candidates: Sequence[Scored]) -> list[str]:
    """Return the texts of candidates, with what is before them if they differ there."""
    if len({scored.prefix for scored in candidates}) > 1:  # a common ending was scored
        return [scored.prefix + scored.text for scored in candidates]
    return [scored.text for scored in candidates]


def _edges(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return the least and greatest length of groups that have about as many items each."""
    lasts: list[int] = []
    for group in range(1, GROUPS + 1):
        last = lengths[-(-group * len(lengths) // GROUPS) - 1]
        if not lasts or last > lasts[-1]:
            lasts.append(last)
    firsts = [lengths[0], *(last + 1 for last in lasts[:-1])]
    return list(zip(firsts, lasts, strict=True))


def _label(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"


def _common(some: Sequence[Verdict], others: Sequence[Verdict]) -> list[Verdict]:
    ids = {v.id for v in others}
    return [v for v in some if v.id in ids]


def _right(run: Run, verdict: Verdict) -> str | None:
    scored = _scored(run, verdict)
    return scored.text if scored else None


def _source(run: Run, verdict: Verdict) -> str | None:
    scored = _scored(run, verdict)
    return scored.source if scored else None


def _scored(run: Run, verdict: Verdict) -> Scored | None:
    """Return the right candidate; all labels of an entailment item belong to one hypothesis."""
    members = run.candidates.get(verdict.id)
    return members[0 if run.labels else verdict.gold] if members else None


MEASURED: Mapping[str, Callable[[Run], Slices]] = {
    "length": lambda run: _by_length(run, lambda v: _right(run, v)),
    "source length": lambda run: _by_length(run, lambda v: _source(run, v)),
}
ON_REQUEST: Mapping[str, Callable[[Run], Slices]] = {"word class": _by_word_class}
"""Cuts that take long, or need a library: only made by name."""
