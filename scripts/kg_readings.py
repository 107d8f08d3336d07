"""Tables of what readers said of tests from graphs; ``kg_judged.py`` writes them.

Items of one triple are nearly the same item, so all intervals are clustered by triple.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from results import shown

from boxpen.build.kg.triples import ATOMIC, CONCEPTNET
from boxpen.metrics.agreement import cohen_kappa, percent_agreement
from boxpen.metrics.intervals import Estimate, between, mean_of_shares, share

RELATIONS = (*CONCEPTNET, *ATOMIC)
# What counted as good in each sample of the earlier reading, and what the table calls it.
SAMPLES = {
    "before": ("sensible", "triples of the graphs: sensible"),
    "filtered": ("sensible", "triples after filter and ranking: sensible"),
    "reviewed": ("sensible", "triples after review: sensible"),
    "automatic tests": ("right", "tests without review: English right"),
    "reviewed tests": ("right", "tests after review: English right"),
    "starter": ("right", "tests of `starter-graph`: English right"),
    "tails": ("wrong", "wrong tails after review: surely wrong"),
}
# The samples of the later ones, and what the table calls them.
READINGS = {
    "sure tails": "`kg@7401dcdb`, blind",
    "sure tails by their author": "the same tests, read twice by the model that wrote the rules",
    "new wordings": "`kg@d47fd46b`, blind",
    "with rules": "`kg@11741d62`",
    "reviewed": "`kg@04fa6c99`",
    "automatic": "`kg@99f1565a`, without review",
    "starter": "all wrong answers of `starter-graph`",
    "last exchange": "those of its effects, after exchanges",
}
BEFORE, NOW, AUTHOR = "new wordings", "sure tails", "sure tails by their author"
EARLIER = (BEFORE, "with rules", "reviewed")
MADE_ON = EARLIER[:2]  # the rule for open questions
# What is asked, with the verdicts that are kept, the good one first.
ASKED = {"english": "yn", "answer": "yn", "tail": "war"}
HEADS = ("English right", "answer right and unambiguous", "wrong tail surely wrong")
TASKS = ("nli", "nli, wrong tails", "qa", "pairs")
CONTROL = "right answers"  # among the wrong ones of starter-graph
FEW = 10  # shares of fewer tests are not shown by relation
FEW_TRIPLES = 5  # nor intervals of fewer triples

Said = dict[str, list[str]]
"""The verdicts on each item, in the order of the readers."""


def judged(rows: list[dict[str, str]]) -> list[str]:
    """Return the shares of the earlier reading; an item that one of two accepts counts half."""
    out = ["| sample | share | readers agree | Cohen's kappa |", "|---|---|---|---|"]
    for sample, (good, title) in SAMPLES.items():
        said = _verdicts(row for row in rows if row["sample"] == sample)
        out.append(f"| {title} | {_cell(_share(said, (good,)))} | {_agreement(said)} |")
    return out


def readings(rows: list[dict[str, str]]) -> list[str]:
    """Return what readers found in every sample."""
    return _by_sample(rows, lambda said: _cell(_share(said)))


def agreements(rows: list[dict[str, str]]) -> list[str]:
    """Return how far the readers of every sample agree."""
    return _by_sample(rows, lambda said: _agreement(said).replace(" | ", ", kappa "))


def _by_sample(rows: list[dict[str, str]], cell: Callable[[Said], str]) -> list[str]:
    out = ["| sample | " + " | ".join(HEADS) + " |", "|---|" + "---|" * len(HEADS)]
    rows = [row for row in rows if row["task"] != CONTROL]
    for sample, title in READINGS.items():
        of = [_of(rows, sample, what) for what in ASKED]
        if any(of):
            out.append(
                f"| {title} | " + " | ".join(cell(said) if said else "–" for said in of) + " |"
            )
    return out


def by_relation(rows: list[dict[str, str]]) -> list[str]:
    """Return how many tests of the last two suites are good and unambiguous English."""
    questions = dict(zip(ASKED, HEADS, strict=True))
    del questions["tail"]
    samples = (BEFORE, NOW)
    titles = [f"{head}: {READINGS[s]}" for head in questions.values() for s in samples]
    out = ["| | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    for group, some in _groups(rows).items():
        cells = [
            _cell(_share(said)) if len(said) >= FEW else "–"
            for what in questions
            for said in (_of(some, sample, what) for sample in samples)
        ]
        out.append(f"| {group} | " + " | ".join(cells) + " |")
    cells = []
    for what in questions:
        before, now = (_share(_of(rows, sample, what)) for sample in samples)
        cells += ["", _points(between(now, before))]
    out.append("| difference, points | " + " | ".join(cells) + " |")
    return out


def by_triple(rows: list[dict[str, str]], weights: dict[str, int]) -> list[str]:
    """Return how many wrong tails are surely wrong, with the number of triples they are of.

    Args:
        weights: How many wrong tails of each relation the suite has.
    """
    samples = (NOW, AUTHOR, BEFORE)
    titles = ["wrong tails in the suite", "tests (triples)", *(READINGS[s] for s in samples)]
    out = ["| | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    for group, some in _groups(rows).items():
        of = [_of(some, sample, "tail") for sample in samples]
        if not any(of):
            continue
        number = weights.get(group) if group in RELATIONS else None
        size = f"{len(of[0])} ({len(_triples(of[0]))})" if of[0] else "–"
        if group == "**all**":
            number = sum(weights.values())
        shown = [
            _cell(_share(said)) if len(_triples(said)) >= FEW_TRIPLES and len(said) >= FEW else "–"
            for said in of
        ]
        out.append(
            f"| {group} | {'' if number is None else f'{number:,}'} | {size} "
            f"| {' | '.join(shown)} |"
        )
    tails = [row for row in rows if row["question"] == "tail"]
    mine, his, old = (
        {r: _of([row for row in tails if row["relation"] == r], s, "tail") for r in RELATIONS}
        for s in samples
    )
    both = [r for r in RELATIONS if mine[r] and old[r]]
    whole = [_cell(weighted(s, weights)) for s in (mine, his)]
    out.append(f"| **weighted by the suite's wrong tails** | | | {' | '.join(whole)} | – |")
    alike = [weighted(s, dict.fromkeys(both, 1)) for s in (mine, his, old)]
    out.append(
        f"| **mean of the {len(both)} relations in both samples** | | "
        f"| {' | '.join(map(_cell, alike))} |"
    )
    gains = [_points(between(e, alike[-1])) for e in alike[:2]]
    out.append(f"| minus `kg@d47fd46b`, points | | | {' | '.join(gains)} | |")
    return out


def weighted(said: dict[str, Said], weights: dict[str, int]) -> Estimate:
    """Return the mean of the shares of relations, by their weights."""
    names = [name for name in RELATIONS if weights.get(name) and said[name]]
    groups = [(_credits(said[name]), _triples_of(said[name])) for name in names]
    return mean_of_shares(groups, [weights[name] for name in names])


def wrong_tails() -> dict[str, int]:
    """Return how many wrong tails of each relation kg@7401dcdb has, as its page shows."""
    rows = [line.split("|") for line in shown("kg", "open").splitlines()[2:]]
    counts = {cells[1].strip(): int(cells[4].replace(",", "")) for cells in rows}
    return {name: counts[name] for name in RELATIONS}


def triples_read_before(rows: list[dict[str, str]]) -> tuple[int, int, int]:
    """Return how many triples with a wrong tail were read, how many of them had been read before.

    Returns:
        All of them, those in an earlier sample of ``kg``, and those in a sample that the rule for
        open questions was made on.
    """
    now = _triples(_of(rows, NOW, "tail"))
    of = [
        {triple_of(row["item"]) for row in rows if row["sample"] in samples}
        for samples in (EARLIER, MADE_ON)
    ]
    return len(now), *(len(now & some) for some in of)


def _groups(rows: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    groups = {name: [row for row in rows if row["relation"] == name] for name in RELATIONS}
    groups |= {name: [row for row in rows if row["task"] == name] for name in TASKS}
    return groups | {"**all**": rows}


def _of(rows: Iterable[dict[str, str]], sample: str, question: str) -> Said:
    return _verdicts(r for r in rows if (r["sample"], r["question"]) == (sample, question))


def _verdicts(rows: Iterable[dict[str, str]]) -> Said:
    """Return the verdicts on each item, in the order of the readers."""
    said: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        said[row["item"]][row["reader"]] = row["verdict"]
    return {item: [of[reader] for reader in sorted(of)] for item, of in said.items()}


def _share(said: Said, good: Sequence[str] = ("y", "w")) -> Estimate:
    """Return the share of items that readers find good; half where one of two does.

    Items of one triple are not independent: the interval is clustered by triple.
    """
    return share(_credits(said, good), _triples_of(said))


def _credits(said: Said, good: Sequence[str] = ("y", "w")) -> list[float]:
    return [sum(verdict in good for verdict in of) / len(of) for of in said.values()]


def _triples_of(said: Said) -> list[str]:
    return [triple_of(item) for item in said]


def triple_of(item: str) -> str:
    """Return the triple of an item: ``isa-1`` of ``isa-1-qa-3``."""
    return re.sub(r"-(nli|qa|pairs)-.*", "", item)


def _triples(said: Said) -> set[str]:
    return set(_triples_of(said))


def _agreement(said: Said) -> str:
    both = list(said.values())
    kappa = cohen_kappa([b[0] for b in both], [b[1] for b in both])
    shown = "–" if math.isnan(kappa) else f"{kappa:.2f}"
    return f"{percent_agreement(both):.1%} | {shown}"


def _cell(e: Estimate) -> str:
    shown = f"{e.value:.1%}" if 0.995 <= e.value < 1 else f"{e.value:.0%}"
    return f"{shown} [{e.low:.0%}, {e.high:.0%}] of {e.n}"


def _points(e: Estimate) -> str:
    """Return a difference of shares in points of a per cent."""
    return f"{100 * e.value:+.0f} [{100 * e.low:+.0f}, {100 * e.high:+.0f}]"
