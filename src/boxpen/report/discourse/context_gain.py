"""Tables of context gain: accuracy by context, differences, and CXMI.

Rows are ``all``, sets or classes; every system has its own tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from boxpen.analysis.discourse.context_gain import CONTRASTS, ContextGains, Gain, System
from boxpen.metrics.intervals import Estimate
from boxpen.report.numbers import p_value, percent
from boxpen.report.plain_table import Grid, Page

__all__ = ["context_notes", "context_object", "context_page"]

_BESIDE = 2  # differences of accuracy that find room in 80 columns


def context_page(found: ContextGains) -> Page:
    """Return the tables of every system."""
    return Page(
        [grid for system in found.systems for grid in _grids(found, system)],
        context_notes(found),
        [run.signature for system in found.systems for run in system.runs.values()],
    )


def context_object(found: ContextGains) -> dict[str, Any]:
    """Return what ``--json`` prints; the keys are public and stable. Shares are from 0 to 1."""
    return {
        "suite": found.suite,
        "systems": [
            {
                "system": system.name,
                "items": system.items,
                "most_items": system.most,
                "reads_context": system.reads,
                "signatures": {c: run.signature for c, run in system.runs.items()},
            }
            for system in found.systems
        ],
        "accuracy": [
            {"system": system, "slice": part, "context": context, **right._asdict()}
            for (system, part, context), right in found.accuracy.items()
        ],
        "gains": [
            {"system": system, "slice": part, "more": more, "less": less, **_gain(gain)}
            for (system, part, (more, less)), gain in found.gains.items()
        ],
        "notes": context_notes(found),
    }


def context_notes(found: ContextGains) -> list[str]:
    """Return notes for the reader."""
    notes = [
        f"{system.name}: {system.items:,} item(s) that all its runs have scored, "
        + f"of up to {system.most:,}"
        for system in found.systems
    ]
    notes += [
        f"{system.name} gives every reference the same log-probability whatever the context: it "
        "reads none, and its CXMI is exactly 0"
        for system in found.systems
        if not system.reads
    ]
    notes.append(
        "CXMI (Fernandes et al. 2021): nats of log p(reference | source, context) that a context "
        "gives, by sentence and by token; below 0 it misleads"
    )
    if any("shuffled" in system.runs for system in found.systems):
        notes.append(
            "shuffled: the context of another item; a gain that is real is gone with it, so "
            "shuffled − none should be near 0 or below"
        )
    tests = sorted({gain.accuracy.test for gain in found.gains.values()})
    notes.append(
        f"p: of accuracy {' or '.join(tests)}, of CXMI a sign-flip test; Holm: corrected for "
        f"{len(found.systems)} system(s), not for the number of lines"
    )
    return notes


def _grids(found: ContextGains, system: System) -> Iterator[Grid]:
    name = system.name
    parts = [
        part for part in found.slices if (name, part, next(iter(system.runs))) in found.accuracy
    ]
    contrasts = [contrast for contrast in CONTRASTS if set(contrast) <= set(system.runs)]

    def accuracies(part: str) -> list[str]:
        rights = [found.accuracy[name, part, context] for context in system.runs]
        return [f"{rights[0].n:,}", *map(percent, rights)]

    def differences(part: str) -> list[str]:
        pairs = [found.gains[name, part, contrast].accuracy for contrast in contrasts]
        return [
            cell for pair in pairs for cell in (_points(pair.difference), p_value(pair.adjusted))
        ]

    def nats(part: str, contrast: tuple[str, str]) -> list[str]:
        gain = found.gains[name, part, contrast]
        return [_nats(gain.sentence), _nats(gain.token), p_value(gain.p), p_value(gain.adjusted)]

    def grid(title: str, heads: Sequence[str], cells: Callable[[str], list[str]]) -> Grid:
        lines = [[part, *cells(part)] for part in parts]
        return Grid(title=f"{name}: {title}", heads=["", *heads], lines=lines, fold=False)

    yield grid("contrastive accuracy by context, % [95 %]", ["n", *system.runs], accuracies)
    heads = [title for a, b in contrasts for title in (f"{a} − {b}", "Holm")]
    wide = grid("difference of accuracy, points [95 %]", heads, differences)
    yield replace(wide, beside=[range(1, 1 + len(heads[: 2 * _BESIDE]))])
    for more, less in contrasts:
        yield grid(
            f"CXMI, {more} − {less}, nats [95 %]",
            ["a sentence", "a token", "p", "Holm"],
            partial(nats, contrast=(more, less)),
        )


def _gain(gain: Gain) -> dict[str, Any]:
    pair = gain.accuracy
    return {
        "n": gain.n,
        "accuracy": {
            "difference": pair.difference._asdict(),
            "only_more": pair.only_a,
            "only_less": pair.only_b,
            "test": pair.test,
            "p": pair.p,
            "adjusted": pair.adjusted,
        },
        "cxmi": {
            "sentence": gain.sentence._asdict(),
            "token": gain.token._asdict(),
            "test": "sign-flip",
            "p": gain.p,
            "adjusted": gain.adjusted,
        },
    }


def _points(gap: Estimate) -> str:
    value, low, high = (_signed(100 * number, 1) for number in gap[:3])
    return f"{value} [{low}, {high}]"


def _nats(gap: Estimate) -> str:
    value, low, high = (_signed(number, 3) for number in gap[:3])
    return f"{value} [{low}, {high}]"


def _signed(value: float, digits: int) -> str:
    """Return a number with its sign; of 0, and of what a single item does not tell, none."""
    if math.isnan(value):
        return "–"
    shown = f"{value:+.{digits}f}"
    return shown[1:] if not float(shown) else shown
